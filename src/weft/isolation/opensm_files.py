"""An arrangement as files: OpenSM's partitions and options, and each tenant's variables.

SOURCE: opensm(8) of OpenSM 3.3.23 (partition and QoS configuration), the opensm.conf that it
writes; variables: catalogue, UCX and NCCL. The SA answers with a partition's service level.
"""

from collections.abc import Iterable, Mapping, Sequence

from weft.core.errors import InputError
from weft.core.nodeset import fold
from weft.isolation.annex_a10 import opensm_lines
from weft.isolation.arrangement import NO_LIMIT, Arrangement, Weights
from weft.isolation.tenants import Tenancy, Tenant
from weft.topology.subnet.place_names import Places
from weft.topology.subnet.subnet import Subnet

PARTITIONS = "partitions.conf"
OPTIONS = "opensm.conf"
TENANTS = "tenants.toml"
KEY_INDEX = 1
"""Where OpenSM puts the key of a port's only partition beside the default one, which is first."""
_A_LINE = 4


def guids_of(subnet: Subnet, nodes: Iterable[str]) -> dict[str, list[int]]:
    """The port GUIDs of each node. Raises InputError where one has none."""
    guid_at = {(node, port): guid for node, port, _, guid in subnet.port_guids}
    places = Places(subnet)
    found: dict[str, list[int]] = {}
    for node in nodes:
        ends = ((place.node, place.port) for place in places.find(node))
        found[node] = [guid_at[end] for end in ends if end in guid_at]
        if not found[node]:
            raise InputError(
                f"no port GUID of node '{node}' is in the files",
                expected="opensm-subnet.lst, or the output of ibnetdiscover",
            )
    return found


def partitions_conf(tenancy: Tenancy, arrangement: Arrangement, subnet: Subnet) -> str:
    """OpenSM's partitions.conf. In the default partition all but services and the subnet manager
    are limited members, who do not reach each other. Raises InputError."""
    lines = [
        "# Partitions of tenants. All reach the services in the default partition; OpenSM's own",
        "# port is a full member of it.",
        "Default=0x7fff, ipoib : ALL=limited, ALL_SWITCHES=full, SELF=full ;",
    ]
    services = tenancy.service_nodes
    if services:
        lines += [f"# services: {fold(services)}"]
        lines += _members("Default=0x7fff, defmember=full", guids_of(subnet, services))
    for tenant in tenancy.tenants:
        level = arrangement.levels[tenant.name]
        lines += ["", f"# {tenant.name}: {fold(tenant.node_names)}"]
        head = f"{tenant.name}={tenant.partition_key}, ipoib, sl={level}, defmember=full"
        lines += _members(head, guids_of(subnet, tenant.node_names))
    return "\n".join(lines) + "\n"


def _members(head: str, guids: Mapping[str, Sequence[int]]) -> list[str]:
    ports = [f"{guid:#018x}" for own in guids.values() for guid in own]
    rows = [", ".join(ports[at : at + _A_LINE]) for at in range(0, len(ports), _A_LINE)]
    return [f"{head} :", *(f"  {row}," for row in rows[:-1]), f"  {rows[-1]} ;"]


def options_conf(tenancy: Tenancy, arrangement: Arrangement) -> str:
    """The lines for OpenSM's opensm.conf that arrange lanes and congestion control."""
    # Weight 0 keeps a lane out of a table. OpenSM wants both tables.
    none = ((0, 0),)
    lines = [
        "# Add these to opensm.conf, in place of all its lines qos_* and cc_*.",
        "qos TRUE",
        f"qos_max_vls {tenancy.data_lanes}",
        f"qos_high_limit {NO_LIMIT if arrangement.high else 0}",
        f"qos_vlarb_high {_weights(arrangement.high or none)}",
        f"qos_vlarb_low {_weights(arrangement.low or none)}",
        f"qos_sl2vl {','.join(map(str, arrangement.lanes))}",
    ]
    if arrangement.law == "annex_a10":
        lines += ["", *opensm_lines(set(arrangement.levels.values()), arrangement.gbps)]
    elif arrangement.law == "rtt":
        lines += [
            "",
            "# Congestion control by round trips is the adapters' firmware's: NVIDIA's subnet",
            "# manager alone switches it on.",
            "mlnx_congestion_control 2",
        ]
    return "\n".join(lines) + "\n"


def _weights(weights: Weights) -> str:
    return ",".join(f"{lane}:{weight}" for lane, weight in weights)


def variables(tenant: Tenant, arrangement: Arrangement) -> dict[str, str]:
    """The variables of a tenant's job: UCX (MPI) and NCCL."""
    key, level = str(tenant.partition_key), str(arrangement.levels[tenant.name])
    return {
        "UCX_IB_PKEY": key,
        "UCX_IB_SL": level,
        "NCCL_IB_PKEY": str(KEY_INDEX),
        "NCCL_IB_SL": level,
    }


def environment_file(tenant: Tenant, arrangement: Arrangement) -> str:
    """The variables, a line each."""
    named = variables(tenant, arrangement)
    return "".join(f"{name}={value}\n" for name, value in named.items())


def pinned(tenancy: Tenancy, arrangement: Arrangement) -> Tenancy:
    """The tenants with the service levels of the arrangement: what `--as-read` is judged by."""
    tenants = tuple(
        tenant.model_copy(update={"service_level": arrangement.levels[tenant.name]})
        for tenant in tenancy.tenants
    )
    law = arrangement.law
    return tenancy.model_copy(update={"tenants": tenants, "congestion_control": law})
