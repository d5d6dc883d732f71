"""The pattern that switches of one level follow to higher levels, and the switches outside it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from weft.audit.cabling.wiring import CableSide, most_common
from weft.audit.case import AuditCase
from weft.core.natural import SortKey, natural_key
from weft.topology.subnet.siblings import usual_of_group


@dataclass(frozen=True, slots=True)
class Pattern:
    """Switches of a level: `usual` cables up, which the `whole` ones have and `lacking` do not."""

    usual: int
    members: tuple[int, ...]
    whole: tuple[int, ...]
    lacking: tuple[int, ...]


def up_patterns(case: AuditCase) -> list[Pattern]:
    """The pattern of every group of siblings that has one: of two, the wrong one is unknown."""
    wiring = case.wiring
    found = []
    for group in wiring.siblings:
        share, least = case.thresholds.sibling_share.value, case.thresholds.smallest_group.value
        spreads = [Counter(side.there.node for side in wiring.ups[switch]) for switch in group]
        usual = usual_of_group(spreads, share, int(least))
        if usual is None:
            continue
        members = sorted(group, key=lambda it: natural_key(case.subnet.nodes[it].description))
        whole = [switch for switch in members if len(wiring.ups[switch]) == usual]
        if not whole:
            continue
        lacking = [switch for switch in members if len(wiring.ups[switch]) < usual]
        found.append(Pattern(usual, tuple(members), tuple(whole), tuple(lacking)))
    return found


def without_pattern(case: AuditCase) -> list[int]:
    """Switches of which no siblings tell how many cables up there should be; where some have more
    than is usual, those with the usual number may be the ones that lack some."""
    n_ups = {switch: len(ups) for switch, ups in case.wiring.ups.items()}
    judged: set[int] = set()
    for pattern in up_patterns(case):
        has_more = any(n_ups[switch] > pattern.usual for switch in pattern.members)
        judged |= set(pattern.members) - set(pattern.whole if has_more else ())
    with_ups = {level for switch, level in case.wiring.levels.items() if n_ups[switch]}
    below = [it for it in case.wiring.switches if case.wiring.levels[it] in with_ups]
    return [switch for switch in below if switch not in judged]


def spread(case: AuditCase, switch: int) -> Counter[str]:
    """How many cables a switch has to each upper switch, or to each director."""
    unit = case.wiring.unit
    return Counter(unit(switch, side.there.node) for side in case.wiring.ups[switch])


def is_even(counts: Counter[str]) -> bool:
    """Whether all have equally many."""
    return len(set(counts.values())) <= 1


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
    near = nearest(case, pattern, switch)
    uses = Counter(side.here.port for other in near for side in case.wiring.ups[other])
    free = set(case.wiring.free_ports[switch])
    share = case.thresholds.sibling_share.value * len(near)
    ports = sorted(port for port, n in uses.items() if n >= share and port in free)
    # A switch without any cable up may be of another plane.
    level = case.wiring.level(switch)
    planes = [group for group in case.wiring.siblings if case.wiring.level(group[0]) == level]
    is_lost = not case.wiring.ups[switch] and len(planes) > 1
    found = [
        MissingCable(switch, port) if is_lost else _with_far_end(case, near, switch, port)
        for port in ports[:wanted]
    ]
    lost = [MissingCable(switch, None) for _ in range(wanted - len(found))]
    return [*found, *lost]


def nearest(case: AuditCase, pattern: Pattern, switch: int) -> list[int]:
    """Whole siblings that go up to the same switches: those of the same pod."""
    own = set(spread(case, switch))
    near = [s for s in pattern.whole if own and len(own & set(spread(case, s))) * 2 >= len(own)]
    return near if len(near) >= case.thresholds.smallest_group.value - 1 else list(pattern.whole)


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
