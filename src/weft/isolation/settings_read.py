"""The settings that a fabric's own tools tell, against its tenants: lanes, weights, keys, levels.

What no file tells is said, and makes no verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from weft.core.errors import InputError
from weft.core.words import counted
from weft.isolation.arrangement import Arrangement, Weights
from weft.isolation.tenants import FULL_MEMBER, Tenancy
from weft.topology.subnet.place_names import Places, host_of
from weft.topology.subnet.subnet import Subnet

MOST_NAMED = 3


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The arrangement in force, what is `wrong` with keys and levels, and what was not read."""

    arrangement: Arrangement
    wrong: tuple[str, ...]
    unread: tuple[str, ...]


def settings_read(subnet: Subnet, tenancy: Tenancy) -> SettingsRead:
    """The settings of the files. Raises InputError where ports differ in lanes or weights: no twin
    has that, or where tenants have no service levels."""
    unset = [tenant.name for tenant in tenancy.tenants if tenant.service_level is None]
    if unset:
        raise InputError(
            f"tenant '{unset[0]}' has no service_level",
            expected="the levels that the tenants use",
            hint="tenants.toml of 'weft recipe isolation --dir DIR' has them",
        )
    unread: list[str] = []
    if not subnet.has_tables:
        unread.append("forwarding tables (opensm-lfts.dump): routed as OpenSM's minhop would")
    lanes = _lanes(subnet, unread)
    low, high = _weights(subnet, lanes, unread)
    levels = {tenant.name: tenant.service_level or 0 for tenant in tenancy.tenants}
    law = tenancy.congestion_control
    if high:
        unread.append("how much high priority sends before low (VLHighLimit): taken as all")
    if law != "off":
        unread.append(f"congestion control: taken as {law}, as the list of tenants has it")
    arrangement = Arrangement("as read", levels, lanes, low, high, law)
    wrong = [*_wrong_keys(subnet, tenancy, unread), *_wrong_levels(subnet, tenancy, unread)]
    for name, level in levels.items():
        if lanes[level] == 15:
            wrong.append(f"{name}: packets of service level {level} are dropped (lane 15)")
    return SettingsRead(arrangement, tuple(wrong), tuple(unread))


def _lanes(subnet: Subnet, unread: list[str]) -> tuple[int, ...]:
    lists: list[Mapping[str, Any]] = subnet.description["lanes"]
    if not lists:
        unread.append("lanes of service levels (opensm-sl2vl.dump): taken as one lane")
        return (0,) * 16
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
    if tables and missing:
        unread.append(
            f"shares of lanes of {counted(len(missing), 'port')}, {subnet.name(*missing[0])} "
            "first: taken as the others"
        )
    if not tables:
        unread.append("shares of lanes (smpquery vlarb, of each port): taken as equal")
        return tuple((lane, 64) for lane in sorted(set(lanes)) if lane != 15), ()
    if len(tables) > 1:
        counts = ", ".join(f"{len(one['ends']):,}" for one in tables)
        raise InputError(
            f"{len(tables)} pairs of arbitration tables, of {counts} ports",
            expected="one for all: no twin has shares that differ by port",
        )
    # Lanes of no service level carry nothing.
    low, high = (
        tuple((lane, weight) for lane, weight in tables[0][name] if lane in lanes)
        for name in ("low", "high")
    )
    served = {lane for lane, _ in (*low, *high)}
    starved = sorted({lane for lane in lanes if lane != 15} - served)
    if starved:
        raise InputError(
            f"lane {starved[0]} is in no arbitration table, and service levels take it",
            expected="a weight above 0 for every lane in use: else its packets never leave",
        )
    return low, high


def _wrong_keys(subnet: Subnet, tenancy: Tenancy, unread: list[str]) -> list[str]:
    """Tenants' nodes that are no full members of their partition, and strangers in it."""
    read = {(node, port): keys for node, port, keys in subnet.description["partition_keys"]}
    places = Places(subnet)
    wrong = []
    owner: dict[tuple[int, int], str] = {}
    for tenant in tenancy.tenants:
        missing = []
        for name in tenant.node_names:
            for place in places.find(name):
                end = (place.node, place.port)
                owner[end] = tenant.name
                if end in read and tenant.key | FULL_MEMBER not in read[end].values():
                    missing.append(name)
        if missing:
            wrong.append(
                f"{tenant.name}: no full member of partition {tenant.partition_key}: "
                f"{_some(missing)}"
            )
    for tenant in tenancy.tenants:
        strangers = [
            host_of(subnet.nodes[node].description)
            for (node, port), keys in read.items()
            if not subnet.nodes[node].is_switch
            and owner.get((node, port)) != tenant.name
            and any(key & ~FULL_MEMBER == tenant.key for key in keys.values())
        ]
        if strangers:
            wrong.append(f"{tenant.name}: others are in its partition: {_some(strangers)}")
    silent = [end for one in subnet.endports if (end := (one.node, one.port)) not in read]
    if silent:
        unread.append(
            f"partition keys (saquery PKTR LID) of {counted(len(silent), 'port')} of hosts, "
            f"{subnet.name(*silent[0])} first"
        )
    return wrong


def _wrong_levels(subnet: Subnet, tenancy: Tenancy, unread: list[str]) -> list[str]:
    """Levels that the subnet manager answers and tenants do not use."""
    by_key = {tenant.key: tenant for tenant in tenancy.tenants}
    wrong: dict[str, str] = {}
    asked = set()
    for path in subnet.description["path_levels"]:
        tenant = by_key.get(path["key"] & ~FULL_MEMBER)
        if tenant is None:
            continue
        asked.add(tenant.name)
        if path["level"] != tenant.service_level:
            wrong[tenant.name] = (
                f"{tenant.name}: the subnet manager answers service level {path['level']} from "
                f"LID {path['source']} to {path['target']}, not {tenant.service_level}"
            )
    silent = [tenant.name for tenant in tenancy.tenants if tenant.name not in asked]
    if silent:
        unread.append(
            f"service levels of paths (saquery PR) of {_some(silent)}: those that "
            "UCX_IB_SL and NCCL_IB_SL name"
        )
    return list(wrong.values())


def _some(names: list[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
