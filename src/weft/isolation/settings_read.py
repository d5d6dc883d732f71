"""The settings that a fabric's own tools tell, against its tenants: lanes, weights, keys, levels.

What no file tells is said, and makes no verdict.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from weft.core.errors import InputError
from weft.core.words import counted
from weft.isolation.arrangement import DROPPED, N_LEVELS, WEIGHT, Arrangement, Weights
from weft.isolation.opensm_files import KEY_INDEX
from weft.isolation.tenants import DEFAULT_PARTITION, FULL_MEMBER, Tenancy
from weft.topology.subnet.place_names import Places, host_of
from weft.topology.subnet.subnet import Endport, Subnet

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The arrangement in force, what is `wrong` with keys and levels, what was not read, and in
    words what was."""

    arrangement: Arrangement
    wrong: tuple[str, ...]
    unread: tuple[str, ...]
    read: str


def settings_read(subnet: Subnet, tenancy: Tenancy, gbps: float) -> SettingsRead:
    """The settings of the files; `gbps` is the rate of hosts. Raises InputError where ports differ
    in lanes or weights, which no twin has, a tenant's packets are dropped, or tenants have no
    service levels."""
    levels = _levels(tenancy)
    unread: list[str] = []
    if not subnet.has_tables:
        unread.append("forwarding tables (opensm-lfts.dump): routed as OpenSM's minhop would")
    lanes = _lanes(subnet, unread)
    for name, level in levels.items():
        if lanes[level] == DROPPED:
            raise InputError(
                f"tenant '{name}': packets of service level {level} are dropped (lane 15)",
                expected="a lane for each level that a tenant uses",
            )
    low, high = _weights(subnet, lanes, unread)
    law = tenancy.congestion_control
    if high:
        unread.append("how much high priority sends before low (VLHighLimit): taken as all")
    if law != "off":
        unread.append(f"congestion control: taken as {law}, as the list of tenants has it")
    hosts = _Hosts(subnet, tenancy)
    wrong = [*hosts.wrong_keys(unread), *hosts.wrong_levels(unread)]
    described = subnet.description
    read = ", ".join(
        (
            f"lanes of {sum(one['n_paths'] for one in described['lanes']):,} paths through ports",
            f"shares of {sum(len(one['ends']) for one in described['arbitration']):,} ports",
            f"keys of {len(hosts.keys):,} ports of hosts",
            f"levels of {hosts.n_levels:,} paths of tenants",
        )
    )
    arrangement = Arrangement("as read", levels, lanes, low, high, law, gbps)
    return SettingsRead(arrangement, tuple(wrong), tuple(unread), read)


def _levels(tenancy: Tenancy) -> dict[str, int]:
    found = {}
    for tenant in tenancy.tenants:
        if tenant.service_level is None:
            raise InputError(
                f"tenant '{tenant.name}' has no service_level",
                expected="the levels that the tenants use",
                hint="tenants.toml of 'weft recipe isolation --dir DIR' has them",
            )
        found[tenant.name] = tenant.service_level
    return found


def _lanes(subnet: Subnet, unread: list[str]) -> tuple[int, ...]:
    lists: list[Mapping[str, Any]] = subnet.description["lanes"]
    if not lists:
        unread.append("lanes of service levels (opensm-sl2vl.dump): taken as one lane")
        return (0,) * N_LEVELS
    missing = subnet.description["n_without_lanes"]
    if missing:
        unread.append(
            f"lanes of service levels of {missing:,} paths through ports: taken as the others"
        )
    if len(lists) > 1:
        counts = ", ".join(f"{one['n_paths']:,}" for one in lists)
        raise InputError(
            f"{len(lists)} lists of lanes by service level, of {counts} paths through ports",
            expected="one for all: no twin has lanes that differ by port",
        )
    return tuple(lists[0]["by_level"])


def _weights(subnet: Subnet, lanes: tuple[int, ...], unread: list[str]) -> tuple[Weights, Weights]:
    tables: list[Mapping[str, Any]] = subnet.description["arbitration"]
    read = {(node, port) for one in tables for node, port in one["ends"]}
    missing = [end for end in subnet.cable_at if end not in read]
    used = {lane for lane in lanes if lane != DROPPED}
    if not tables:
        unread.append("shares of lanes (smpquery vlarb, of each port): taken as equal")
        return tuple((lane, WEIGHT) for lane in sorted(used)), ()
    if missing:
        unread.append(
            f"shares of lanes of {counted(len(missing), 'port')}, {subnet.name(*missing[0])} "
            "first: taken as the others"
        )
    if len(tables) > 1:
        counts = ", ".join(f"{len(one['ends']):,}" for one in tables)
        raise InputError(
            f"{len(tables)} pairs of arbitration tables, of {counts} ports",
            expected="one for all: no twin has shares that differ by port",
        )
    # Lanes of no service level carry nothing.
    low, high = (
        tuple((lane, weight) for lane, weight in tables[0][name] if lane in used)
        for name in ("low", "high")
    )
    starved = sorted(used - {lane for lane, _ in (*low, *high)})
    if starved:
        raise InputError(
            f"lane {starved[0]} is in no arbitration table, and service levels take it",
            expected="a weight above 0 for every lane in use: else its packets never leave",
        )
    return low, high


class _Hosts:
    """Keys and levels of the ports of hosts."""

    def __init__(self, subnet: Subnet, tenancy: Tenancy) -> None:
        self._subnet, self._tenancy = subnet, tenancy
        self._tenant_of = {
            self._host(end): tenant.name
            for tenant in tenancy.tenants
            for end in self._ends(tenant.node_names)
        }
        self._ports = {one.lid: one for one in subnet.endports}
        is_switch = [node.is_switch for node in subnet.nodes]
        self.keys: dict[tuple[int, int], dict[int, int]] = {
            (node, port): {int(at): key for at, key in keys.items()}
            for node, port, keys in subnet.description["partition_keys"]
            if not is_switch[node]
        }
        self.n_levels = 0

    def _host(self, end: tuple[int, int]) -> str:
        return host_of(self._subnet.nodes[end[0]].description)

    def wrong_keys(self, unread: list[str]) -> list[str]:
        """Who is no full member of its own partition at the index that NCCL is told, strangers in
        it, and members of others' or of the default one who should not be."""
        silent = [end for one in self._subnet.endports if (end := _end(one)) not in self.keys]
        if silent:
            unread.append(
                f"partition keys (saquery PKTR LID) of {counted(len(silent), 'port')} of hosts, "
                f"{self._subnet.name(*silent[0])} first"
            )
        wrong = []
        for tenant in self._tenancy.tenants:
            own = {end: self.keys[end] for end in self._ends(tenant.node_names) if end in self.keys}
            whole = tenant.key | FULL_MEMBER
            missing = [end for end, keys in own.items() if whole not in keys.values()]
            if missing:
                wrong.append(
                    f"{tenant.name}: no full member of partition {tenant.partition_key}: "
                    f"{self._some(missing)}"
                )
            moved = [
                end
                for end, keys in own.items()
                if whole in keys.values() and keys.get(KEY_INDEX) != whole
            ]
            if moved:
                wrong.append(
                    f"{tenant.name}: its key is not at index {KEY_INDEX}, which NCCL_IB_PKEY "
                    f"names: {self._some(moved)}"
                )
            strangers = [
                end
                for end, keys in self.keys.items()
                if self._tenant_of.get(self._host(end)) != tenant.name
                and tenant.key in {key & ~FULL_MEMBER for key in keys.values()}
            ]
            if strangers:
                wrong.append(f"{tenant.name}: others are in its partition: {self._some(strangers)}")
        return [*wrong, *self._wrong_in_common()]

    def _wrong_in_common(self) -> list[str]:
        """Of the default partition and of those of no tenant."""
        whole, limited = DEFAULT_PARTITION | FULL_MEMBER, DEFAULT_PARTITION
        wrong = []
        services = self._tenancy.service_nodes
        deaf = [
            end
            for end in self._ends(services)
            if end in self.keys and whole not in self.keys[end].values()
        ]
        if deaf:
            wrong.append(f"services: no full member of the default partition: {self._some(deaf)}")
        ours = [end for end in self.keys if self._host(end) in self._tenant_of]
        full = [end for end in ours if whole in self.keys[end].values()]
        # One may be the subnet manager's own port.
        if len(full) > 1:
            wrong.append(
                f"tenants' nodes are full members of the default partition, and reach each other "
                f"there: {self._some(full)}"
            )
        outside = [end for end in ours if not {whole, limited} & set(self.keys[end].values())]
        if outside and services:
            wrong.append(f"not in the default partition, so no service: {self._some(outside)}")
        tenants = {tenant.key for tenant in self._tenancy.tenants}
        members: dict[int, set[str]] = {}
        for end in ours:
            for key in self.keys[end].values():
                if key & ~FULL_MEMBER not in {*tenants, DEFAULT_PARTITION}:
                    members.setdefault(key & ~FULL_MEMBER, set()).add(
                        self._tenant_of[self._host(end)]
                    )
        wrong += [
            f"partition {key:#06x} has nodes of {', '.join(sorted(names))}"
            for key, names in members.items()
            if len(names) > 1
        ]
        return wrong

    def wrong_levels(self, unread: list[str]) -> list[str]:
        """Levels that the subnet manager answers for paths between nodes of a tenant, and that it
        does not use."""
        by_key = {tenant.key: tenant for tenant in self._tenancy.tenants}
        wrong: dict[str, str] = {}
        asked: Counter[str] = Counter()
        for path in self._subnet.description["path_levels"]:
            tenant = by_key.get(path["key"] & ~FULL_MEMBER)
            ends = [self._ports.get(path[name]) for name in ("source", "target")]
            if tenant is None or any(
                end is None or self._tenant_of.get(self._host(_end(end))) != tenant.name
                for end in ends
            ):
                continue
            asked[tenant.name] += 1
            if path["level"] != tenant.service_level:
                wrong[tenant.name] = (
                    f"{tenant.name}: the subnet manager answers service level {path['level']} from "
                    f"LID {path['source']} to {path['target']}, not {tenant.service_level}"
                )
        self.n_levels = asked.total()
        silent = [one.name for one in self._tenancy.tenants if one.name not in asked]
        if silent:
            unread.append(
                f"service levels of paths (saquery PR) of {', '.join(silent)}: those that "
                "UCX_IB_SL and NCCL_IB_SL name"
            )
        return list(wrong.values())

    def _ends(self, names: Iterable[str]) -> list[tuple[int, int]]:
        places = Places(self._subnet)
        return [(place.node, place.port) for name in names for place in places.find(name)]

    def _some(self, ends: list[tuple[int, int]]) -> str:
        names = list(dict.fromkeys(map(self._host, ends)))
        more = len(names) - MOST_NAMED
        return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _end(port: Endport) -> tuple[int, int]:
    return port.node, port.port
