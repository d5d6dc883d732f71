"""The cables that a switch lacks by the pattern of its siblings: ports, and the other ends."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft.audit.cabling.wiring import CableSide, most_common
from weft.audit.case import AuditCase
from weft.core.natural import SortKey, natural_key
from weft.topology.subnet.up_links import Pattern


def spread(case: AuditCase, switch: int) -> Counter[str]:
    """How many cables a switch has to each upper switch, or to each director."""
    unit = case.wiring.unit
    return Counter(unit(switch, side.there.node) for side in case.wiring.ups[switch])


@dataclass(frozen=True, slots=True)
class MissingCable:
    """A port where siblings have a cable up, and where that should lead.

    `unit` and `port` are None where the siblings disagree.
    """

    switch: int
    own_port: int | None
    unit: str | None = None
    node: int | None = None
    port: int | None = None


def missing_cables(case: AuditCase, pattern: Pattern, switch: int) -> list[MissingCable]:
    """One for every cable that a switch has less than its siblings."""
    wanted = pattern.usual - len(case.wiring.ups[switch])
    near = case.up_links.nearest(pattern, switch)
    # A switch without any cable up may be of another plane, and planes may differ in their ports.
    level = case.wiring.level(switch)
    planes = [it for it in case.up_links.patterns if case.wiring.level(it.members[0]) == level]
    is_lost = not case.wiring.ups[switch] and len(planes) > 1
    groups = [it.whole for it in planes] if is_lost else [near]
    ports = set.intersection(*(_usual_ports(case, group, switch) for group in groups))
    found = [
        MissingCable(switch, port) if is_lost else _with_far_end(case, near, switch, port)
        for port in sorted(ports)[:wanted]
    ]
    lost = [MissingCable(switch, None) for _ in range(wanted - len(found))]
    return [*found, *lost]


def _usual_ports(case: AuditCase, siblings: Sequence[int], switch: int) -> set[int]:
    """Free ports of a switch in which most of its siblings have a cable up."""
    uses = Counter(side.here.port for other in siblings for side in case.wiring.ups[other])
    least = case.thresholds.sibling_share.value * len(siblings)
    return {port for port in case.wiring.free_ports[switch] if uses[port] >= least}


def _with_far_end(case: AuditCase, near: Sequence[int], switch: int, port: int) -> MissingCable:
    sides = {s: side for s in near for side in case.wiring.ups[s] if side.here.port == port}
    units = most_common(case.wiring.unit(s, side.there.node) for s, side in sides.items())
    if units is None or units[1] < case.thresholds.sibling_share.value:
        return MissingCable(switch, port)
    unit = units[0]
    there = {s: w for s, w in sides.items() if case.wiring.unit(s, w.there.node) == unit}
    guess = _in_sequence(case, there, switch)
    if guess is None:
        nodes = {side.there.node for side in there.values()}
        free = [(node, it) for node in nodes for it in case.wiring.free_ports[node]]
        guess = free[0] if len(free) == 1 else None
    if guess is None:
        return MissingCable(switch, port, unit)
    return MissingCable(switch, port, unit, *guess)


def _in_sequence(
    case: AuditCase, sides: dict[int, CableSide], switch: int
) -> tuple[int, int] | None:
    """The free port that continues what the neighbours' cables do, where two of them show it.

    Cabling goes in order: the n-th switch is in a port that rises evenly with n.
    """

    def name(it: int) -> SortKey:
        return natural_key(case.subnet.nodes[it].description)

    # INVARIANT: all siblings are in the order, also those whose cable is missing here.
    own = next((group for group in case.wiring.siblings if switch in group), [switch])
    members = sorted({*own, *sides, switch}, key=name)
    at = members.index(switch)
    for first, second in ((at - 1, at + 1), (at - 2, at - 1), (at + 2, at + 1)):
        if not (0 <= first < len(members) and 0 <= second < len(members)):
            continue
        if members[first] not in sides or members[second] not in sides:
            continue
        a, b = sides[members[first]].there, sides[members[second]].there
        step, remainder = divmod(b.port - a.port, second - first)
        port = a.port + step * (at - first)
        if a.node == b.node and remainder == 0 and port in case.wiring.free_ports[a.node]:
            return a.node, port
    return None
