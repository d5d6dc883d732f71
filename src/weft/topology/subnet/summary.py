"""A subnet in numbers: levels of switches, rates of cables, taper, files that were read."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from weft.topology.subnet.subnet import CableEnd, PortKey, Subnet


@dataclass(frozen=True, slots=True)
class LevelSummary:
    """Switches of one level: cables down and up by rate, and what goes down for what goes up."""

    level: int
    n_switches: int
    down: Mapping[str, int]
    up: Mapping[str, int]
    down_gbps: float
    up_gbps: float

    @property
    def taper(self) -> float | None:
        """Gb/s down for one up; None without up-links or without rates."""
        return self.down_gbps / self.up_gbps if self.up_gbps and self.down_gbps else None


@dataclass(frozen=True, slots=True)
class SubnetSummary:
    """A subnet in numbers."""

    n_adapters: int
    n_endports: int
    n_switches: int
    n_routers: int
    n_cables: int
    rates: Mapping[str, int]
    n_tables: int
    n_readings: int
    levels: tuple[LevelSummary, ...]

    def to_record(self) -> dict[str, Any]:
        """The summary as plain JSON values."""
        levels = [{**asdict(level), "taper": level.taper} for level in self.levels]
        return {**asdict(self), "levels": levels}


def summarise(subnet: Subnet) -> SubnetSummary:
    """The subnet in numbers."""
    kinds = Counter(node.kind for node in subnet.nodes)
    return SubnetSummary(
        n_adapters=kinds["ca"],
        n_endports=len(subnet.endports),
        n_switches=kinds["switch"],
        n_routers=kinds["router"],
        n_cables=len(subnet.cables),
        rates=_rates(cable.rate for cable in subnet.cables),
        n_tables=int(subnet.description["n_tables"]),
        n_readings=len(subnet.description["readings"]),
        levels=_levels(subnet),
    )


def level_of(subnet: Subnet, node: int) -> int:
    """0 for an adapter, from 1 for switches; a switch that no adapter reaches counts as highest."""
    found = subnet.nodes[node]
    if not found.is_switch:
        return 0
    return found.level if found.level is not None else 255


def levels_of(subnet: Subnet, port: PortKey) -> tuple[int, int]:
    """The level of a port's node, and of the node that its cable leads to."""
    return level_of(subnet, port[0]), level_of(subnet, subnet.cable_at[port].beyond(port).node)


def _levels(subnet: Subnet) -> tuple[LevelSummary, ...]:
    switches = Counter(level_of(subnet, node.index) for node in subnet.nodes if node.is_switch)
    ends_of: dict[int, tuple[list[CableEnd], list[CableEnd]]] = {n: ([], []) for n in switches}
    for cable in subnet.cables:
        for here, there in (cable.ends, cable.ends[::-1]):
            levels = level_of(subnet, here.node), level_of(subnet, there.node)
            if levels[0] in ends_of and levels[0] != levels[1]:
                ends_of[levels[0]][levels[1] > levels[0]].append(here)
    return tuple(
        LevelSummary(
            level=level,
            n_switches=switches[level],
            down=_rates(end.rate for end in ends_of[level][0]),
            up=_rates(end.rate for end in ends_of[level][1]),
            down_gbps=_total(ends_of[level][0]),
            up_gbps=_total(ends_of[level][1]),
        )
        for level in sorted(switches)
    )


def _rates(rates: Iterable[str | None]) -> dict[str, int]:
    return dict(Counter(rate or "unknown" for rate in rates))


def _total(ends: list[CableEnd]) -> float:
    return sum(end.gbps or 0.0 for end in ends)


def reading_problems(description: Mapping[str, Any]) -> list[str]:
    """One line for everything that was not understood or does not fit together."""
    misfits = [misfit_line(misfit, description["sources"]) for misfit in description["misfits"]]
    return unread_lines(description) + misfits


def unread_lines(description: Mapping[str, Any]) -> list[str]:
    """One line for everything that was not understood."""
    sources = [source["name"] for source in description["sources"]]
    lines = []
    for unread in description["unread"]:
        place = f"{sources[unread['place']['source']]}:{unread['place']['line']}"
        if description["sources"][unread["place"]["source"]]["format"]:
            lines.append(f"{place}: {unread['what']} (expected: {unread['expected']})")
        else:
            lines.append(f"{place}: weft cannot read this format: {unread['what']}")
    kept = Counter(unread["place"]["source"] for unread in description["unread"])
    for number, source in enumerate(description["sources"]):
        if source["n_unread"] > kept[number]:
            more = source["n_unread"] - kept[number]
            lines.append(f"{source['name']}: {more} more lines like these")
    return lines


def misfit_line(misfit: Mapping[str, Any], sources: Sequence[Mapping[str, Any]]) -> str:
    """A line for statements of files that do not fit together."""

    def at(place: Mapping[str, int]) -> str:
        return f"{sources[place['source']]['name']}:{place['line']}"

    kind = misfit["kind"]
    if kind == "duplicate-guid":
        names = " and ".join(f"'{name}'" for name in misfit["descriptions"])
        first, second = (at(place) for place in misfit["places"])
        return f"node GUID {misfit['guid']:#018x} twice: {names} ({first}, {second})"
    if kind == "duplicate-lid":
        return f"LID {misfit['lid']} twice: " + " and ".join(
            f"'{n}'" for n in misfit["descriptions"]
        )
    if kind == "port-used-twice":
        node, port = misfit["port"]
        return f"{at(misfit['place'])}: a second cable in {node}[{port}]; the first one holds"
    if kind == "stranger":
        return (
            f"{at(misfit['place'])}: {misfit['about']} of {misfit['what']}, which no file describes"
        )
    if kind == "no-such-port":
        return f"{at(misfit['place'])}: '{misfit['node']}' has no port {misfit['port']}"
    return (
        f"{at(misfit['place'])}: {misfit['about']} is {misfit['second']} here, "
        f"{misfit['first']} before; the first one holds"
    )
