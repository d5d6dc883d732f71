"""A real fabric as a document that checks and twins take: cables and tables as they were read."""

from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.topology.fabric import TABLES_AS_READ, TABLES_UNREAD
from weft.topology.fabric_spec import Document, picoseconds, twin_parts
from weft.topology.subnet.subnet import Subnet

DEFAULT_GBPS = 100.0
"""The rate of a cable whose rate neither the files nor the platform have."""


def own_fabric(
    subnet: Subnet, name: str, platform: Platform | None = None
) -> tuple[Document, tuple[str, ...]]:
    """The fabric document of a subnet, and in words what it says differently.

    Cables' delays, which no tool tells, are those of the platform (0 without one); a host's part of
    the latency is on its cable, as in the platform's own twin. Without tables in the files, routes
    are those of OpenSM's default engine, minhop. Raises InputError where the platform has no twin,
    or no adapter a cable.
    """
    changed = []
    tables = TABLES_AS_READ if subnet.has_tables else TABLES_UNREAD
    if not subnet.has_tables:
        subnet = subnet.route("minhop")
        changed.append("no forwarding tables were read: routed as OpenSM's minhop would")
    host_ns, switch_ns, gbps = _defaults(platform)
    document, changes = subnet.fabric_document(name, round(gbps * 1e9), 0)
    adapters = {hca for node in document["nodes"] for hca in node["hcas"]}
    for link in document["links"]:
        is_host = any(link[end].rpartition("[")[0] in adapters for end in ("a", "b"))
        link["delay_ps"] = picoseconds(host_ns if is_host else switch_ns)
    if platform is not None:
        guesses = [text for text in document.get("assumed", []) if "delay" not in text]
        guesses.append(f"cables' delays are those of platform {platform.name}")
        document["assumed"] = guesses
    document["assumed"] = [*document.get("assumed", []), tables]
    return document, (*changed, *changes)


def first_nodes(document: Document, n_nodes: int | None) -> tuple[str, ...]:
    """The first nodes of a fabric; all without a number. Raises InputError beyond the last."""
    names = tuple(str(node["name"]) for node in document["nodes"])
    if n_nodes is not None and n_nodes > len(names):
        raise InputError(
            f"{n_nodes} nodes of a fabric of {len(names)}", expected=f"at most {len(names)} nodes"
        )
    return names[:n_nodes]


def _defaults(platform: Platform | None) -> tuple[float, float, float]:
    """Delays of hosts' cables and of those between switches in ns, and a rate in Gb/s."""
    if platform is None:
        return 0.0, 0.0, DEFAULT_GBPS
    _, links, host = twin_parts(platform)
    host_ns = links.host.delay.value + host.adapter_latency.value
    return host_ns, links.switch.delay.value, links.host.rate.value
