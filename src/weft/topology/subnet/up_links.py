"""Up-links of switches against those of their siblings: how many are usual, and where some lack.

`weft fabric show` and `weft fabric audit` both judge by this.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from weft.core.natural import natural_key
from weft.topology.subnet.labels import labels_of
from weft.topology.subnet.siblings import SMALLEST_GROUP, sibling_groups, usual_of_group
from weft.topology.subnet.subnet import Subnet
from weft.topology.subnet.traffic import AGGREGATION_NODE


@dataclass(frozen=True, slots=True)
class Pattern:
    """Siblings in the order of their names: `usual` cables up, which the `whole` ones have and
    `lacking` ones should have. Others with fewer: `even` ones are perhaps built so, `small` ones
    perhaps another kind of switch; `stray` ones have none, and no plane."""

    usual: int
    members: tuple[int, ...]
    whole: tuple[int, ...]
    lacking: tuple[int, ...]
    even: tuple[int, ...] = ()
    small: tuple[int, ...] = ()
    stray: tuple[int, ...] = ()

    @property
    def unsettled(self) -> tuple[int, ...]:
        """Switches with fewer cables up, of which it is unknown whether they lack some."""
        return (*self.even, *self.small, *self.stray)


@dataclass(frozen=True)
class UpLinks:
    """`level`: switches with a level; `spread`: by switch its cables up, by the director or the
    switch that they lead to; `n_hosts`: by switch its adapters; `has_below`: switches with anything
    at a lower level; `sideways`: switches with a cable to another one of their level."""

    level: Mapping[int, int]
    spread: Mapping[int, Counter[Hashable]]
    n_hosts: Mapping[int, int]
    has_below: frozenset[int]
    sideways: frozenset[int] = frozenset()
    patterns: tuple[Pattern, ...] = field(default=())

    def n_ups(self, switch: int) -> int:
        """Its cables up."""
        return self.spread[switch].total()

    @cached_property
    def usual(self) -> Mapping[int, int]:
        """By switch the number that is usual, as far as its siblings tell."""
        return {
            switch: pattern.usual
            for pattern in self.patterns
            for switch in pattern.members
            if switch not in pattern.unsettled
        }

    @cached_property
    def n_lacking(self) -> Mapping[int, int]:
        """By switch how many it has less than its siblings."""
        return {
            switch: pattern.usual - self.n_ups(switch)
            for pattern in self.patterns
            for switch in pattern.lacking
        }

    @cached_property
    def without_siblings(self) -> tuple[int, ...]:
        """Switches of which no siblings tell how many cables up there should be; where some have
        more than is usual, those with the usual number may be the ones that lack some."""
        judged: set[int] = set()
        for pattern in self.patterns:
            has_more = any(self.n_ups(switch) > pattern.usual for switch in pattern.members)
            judged |= set(pattern.members) - set(pattern.whole if has_more else ())
        with_ups = {level for switch, level in self.level.items() if self.n_ups(switch)}
        below = (switch for switch, level in sorted(self.level.items()) if level in with_ups)
        return tuple(switch for switch in below if switch not in judged)

    @cached_property
    def unknown(self) -> tuple[int, ...]:
        """Switches of which neither siblings nor an even spread tell whether they lack cables."""
        unsettled = [switch for pattern in self.patterns for switch in pattern.unsettled]
        return tuple(dict.fromkeys([*self.without_siblings, *unsettled]))

    def nearest(self, pattern: Pattern, switch: int) -> Sequence[int]:
        """Whole siblings that go up to the same switches: those of the same pod."""
        own = set(self.spread[switch])
        near = [s for s in pattern.whole if own and len(own & set(self.spread[s])) * 2 >= len(own)]
        return near if len(near) >= SMALLEST_GROUP - 1 else pattern.whole


def up_links_of(subnet: Subnet, level: Mapping[int, int]) -> UpLinks:
    """The up-links of switches with a level, and the pattern of every group of siblings that has
    one: of two, the wrong one is unknown. Most of a group have no cable to another one of their
    level: on a dragonfly those without hosts seem to be a level above."""
    links = _cables_of(subnet, level)
    groups = sibling_groups(subnet, level)
    found = [usual_of_group([links.spread[switch] for switch in group]) for group in groups]
    planes: dict[tuple[int, int | None], set[int | None]] = defaultdict(set)
    for group, usual in zip(groups, found, strict=True):
        planes[level[group[0]], subnet.nodes[group[0]].device].add(usual)
    patterns = []
    for group, usual in zip(groups, found, strict=True):
        members = sorted(group, key=lambda it: natural_key(subnet.nodes[it].description))
        whole = tuple(switch for switch in members if links.n_ups(switch) == usual)
        is_tree = 2 * len(links.sideways.intersection(group)) < len(group)
        if usual is not None and whole and is_tree:
            fewer = tuple(switch for switch in members if links.n_ups(switch) < usual)
            alike = len(planes[level[group[0]], subnet.nodes[group[0]].device]) == 1
            pattern = Pattern(usual, tuple(members), whole, fewer)
            patterns.append(_settled(links, pattern, are_planes_alike=alike))
    return replace(links, patterns=tuple(patterns))


def _cables_of(subnet: Subnet, level: Mapping[int, int]) -> UpLinks:
    systems = {node: label.system for node, label in labels_of(subnet).items()}
    n_boards = Counter(systems.values())
    spread: dict[int, Counter[Hashable]] = {switch: Counter() for switch in level}
    n_hosts: Counter[int] = Counter()
    has_below: set[int] = set()
    sideways: set[int] = set()
    for cable in subnet.cables:
        for here, there in ((a.node, b.node) for a, b in (cable.ends, cable.ends[::-1])):
            if here not in level:
                continue
            if here != there and level.get(there) == level[here]:
                sideways.add(here)
            if level.get(there, 0) > level[here]:
                system = systems[there]
                is_outside = n_boards[system] > 1 and system and system != systems[here]
                spread[here][system if is_outside else there] += 1
            elif level.get(there, level[here]) < level[here] or _is_host(subnet, there):
                n_hosts[here] += there not in level
                has_below.add(here)
    return UpLinks(level, spread, n_hosts, frozenset(has_below), frozenset(sideways))


def _is_host(subnet: Subnet, node: int) -> bool:
    found = subnet.nodes[node]
    return not found.is_switch and AGGREGATION_NODE not in found.description


def _settled(links: UpLinks, pattern: Pattern, *, are_planes_alike: bool) -> Pattern:
    """The pattern with those set apart that may be as they should."""
    stray, even, small, lacking = [], [], [], []
    for switch in pattern.lacking:
        if not links.n_ups(switch) and not are_planes_alike:
            stray.append(switch)
        elif _is_even(links, pattern, switch):
            even.append(switch)
        elif _is_small(links, pattern, switch):
            small.append(switch)
        else:
            lacking.append(switch)
    return replace(
        pattern,
        lacking=tuple(lacking),
        even=tuple(even),
        small=tuple(small),
        stray=tuple(stray),
    )


def _is_even(links: UpLinks, pattern: Pattern, switch: int) -> bool:
    """At most half of the usual cables, as many to each place that siblings reach, or that one of
    them does; of a switch without anything below, to any: built so."""
    own = links.spread[switch]
    each = [set(links.spread[other]) for other in links.nearest(pattern, switch)]
    is_half = 0 < own.total() * 2 <= pattern.usual
    is_place = switch not in links.has_below or set(own) in (set().union(*each), *each)
    return is_half and len(set(own.values())) == 1 and is_place


def _is_small(links: UpLinks, pattern: Pattern, switch: int) -> bool:
    """Half of the up-links or fewer at a leaf with fewer hosts than its siblings: a core that lost
    its cables has few hosts, too."""
    most = max(links.n_hosts.get(member, 0) for member in pattern.members)
    is_half = 0 < links.n_ups(switch) * 2 <= pattern.usual
    is_leaf = links.level[switch] == 1 and most > 0
    return is_half and is_leaf and links.n_hosts.get(switch, 0) * 4 <= most * 3
