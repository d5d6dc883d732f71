"""Siblings: switches of one part, level and make; and their usual number of up-links."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.subnet import Subnet

Place = TypeVar("Place", bound=Hashable)

SIBLING_SHARE = 0.6
"""A number is usual when this share of the siblings has it."""
COLUMN_SHARE = 0.75
"""A number of cables to one upper switch is usual when this share of the siblings has it."""
SMALLEST_GROUP = 3
"""Of two siblings, the wrong one cannot be known."""


def sibling_groups(subnet: Subnet, level: Mapping[int, int]) -> list[list[int]]:
    """Switches of one part of the fabric (a plane), one level and one make, groups of one left out;
    `level` has the switches with a level. One that no cable joins is of the largest part."""
    parts = _parts(subnet)
    sizes = Counter(parts.values())
    largest = max(sizes, key=lambda part: (sizes[part], -part), default=0)
    groups: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for switch in sorted(level):
        device = subnet.nodes[switch].device or 0
        part = parts[switch] if sizes[parts[switch]] > 1 else largest
        groups[part, level[switch], device].append(switch)
    return [group for _, group in sorted(groups.items()) if len(group) > 1]


def usual_number(
    numbers: Iterable[int], share: float = SIBLING_SHARE, least: int = SMALLEST_GROUP
) -> int | None:
    """The up-links that siblings have; None where they have no pattern, or have none."""
    counts = Counter(numbers)
    if counts.total() < least:
        return None
    value = max(counts, key=lambda it: (counts[it], repr(it)))
    return value if value and counts[value] >= share * counts.total() else None


def usual_of_group(
    spreads: Sequence[Mapping[Place, int]],
    share: float = SIBLING_SHARE,
    least: int = SMALLEST_GROUP,
) -> int | None:
    """The up-links that siblings have, each of which has so many to each place above; None where
    they do not tell. Where many lack one, the upper switches tell: most have equally many there."""
    usual = usual_number((sum(spread.values()) for spread in spreads), share, least)
    if usual is not None or len(spreads) < least:
        return usual
    total = 0
    for above in sorted({place for spread in spreads for place in spread}, key=str):
        counts = Counter(spread.get(above, 0) for spread in spreads)
        value, n = counts.most_common(1)[0]
        if n < COLUMN_SHARE * len(spreads):
            return None
        total += value
    return total or None


def _parts(subnet: Subnet) -> Mapping[int, int]:
    """By switch the first switch that cables or a director's chassis join it to."""
    near: dict[int, set[int]] = {node.index: set() for node in subnet.nodes if node.is_switch}
    for cable in subnet.cables:
        a, b = (end.node for end in cable.ends)
        if a in near and b in near:
            near[a].add(b)
            near[b].add(a)
    boards: dict[str, int] = {}
    for node, label in labels_of(subnet).items():
        first_board = boards.setdefault(label.system or f" {node}", node)
        near[node].add(first_board)
        near[first_board].add(node)
    parts: dict[int, int] = {}
    for first in near:
        todo = [] if first in parts else [first]
        while todo:
            parts |= dict.fromkeys(todo, first)
            beyond = {other for switch in todo for other in near[switch]}
            todo = sorted(other for other in beyond if other not in parts)
    return parts
