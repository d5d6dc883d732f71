"""Which component explains the slow readings.

A component explains a set of slow readings when all of them cross it and no normal reading does.
Components that the same slow readings cross cannot be told apart: they are one suspect, a tie.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from weft.diagnose.crossing import Component, Crossings, Part
from weft.diagnose.readings import Metric, Reading

_WIDEST_FIRST = (
    Part.NODE,
    Part.NODE_SENDING,
    Part.NODE_RECEIVING,
    Part.HCA,
    Part.RANK,
    Part.CABLE,
    Part.DIRECTION,
    Part.SWITCH,
)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Components that explain the same slow readings; more than one component is a tie."""

    components: tuple[Component, ...]
    slow: frozenset[Reading]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics it slows, in fixed order."""
        return tuple(metric for metric in Metric if any(r.metric is metric for r in self.slow))

    @property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The slow pairs it explains."""
        return frozenset(reading.pair for reading in self.slow)


@dataclass(frozen=True, slots=True)
class Explanation:
    """`named` must each be faulty; of each group in `alternatives` at least one is, and the
    readings do not say which; `unexplained` crosses no component that only slow readings cross."""

    named: tuple[Suspect, ...]
    alternatives: tuple[tuple[Suspect, ...], ...]
    unexplained: tuple[Reading, ...]


def explain(
    slow: Sequence[Reading], normal: Sequence[Reading], crossings: Crossings
) -> Explanation:
    """The fewest components that explain every slow reading, metric by metric, then joined.

    INVARIANT: a component crossed by a normal reading of the same metric is never named.
    """
    by_metric = [
        _explain_metric(
            [r for r in slow if r.metric is metric],
            [r for r in normal if r.metric is metric],
            crossings,
        )
        for metric in Metric
    ]
    named: list[Suspect] = []
    for part in by_metric:
        for suspect in part.named:
            _join(named, suspect)
    alternatives = tuple(group for part in by_metric for group in part.alternatives)
    unexplained = tuple(reading for part in by_metric for reading in part.unexplained)
    return Explanation(tuple(sorted(named, key=_weight)), alternatives, unexplained)


def clean_suspects(
    slow: Iterable[Reading], normal: Iterable[Reading], crossings: Crossings
) -> list[Suspect]:
    """Every suspect that no normal reading crosses and no wider suspect contains."""
    covers: dict[Component, set[Reading]] = {}
    for reading in slow:
        for component in crossings.components(reading.flow):
            covers.setdefault(component, set()).add(reading)
    for reading in normal:
        for component in crossings.components(reading.flow):
            covers.pop(component, None)
    ties: dict[frozenset[Reading], list[Component]] = {}
    for component in sorted(covers):
        ties.setdefault(frozenset(covers[component]), []).append(component)
    suspects = [Suspect(one_a_thing(components), readings) for readings, components in ties.items()]
    return [s for s in suspects if not any(s.slow < other.slow for other in suspects)]


def one_a_thing(components: Iterable[Component]) -> tuple[Component, ...]:
    """One component for each physical thing, the widest: a cable rather than its direction."""
    widest: dict[tuple[str, tuple[str, ...]], Component] = {}
    for component in sorted(components, key=lambda c: (_WIDEST_FIRST.index(c.part), c.ends)):
        widest.setdefault(component.thing, component)
    return tuple(widest.values())


def _explain_metric(
    slow: Sequence[Reading], normal: Sequence[Reading], crossings: Crossings
) -> Explanation:
    if not slow:
        return Explanation((), (), ())
    suspects = clean_suspects(slow, normal, crossings)
    named = [s for s in suspects if _is_needed(s, suspects)]
    explained = {reading for suspect in named for reading in suspect.slow}
    rest = [s for s in suspects if s not in named and not s.slow <= explained]
    possible = {reading for suspect in rest for reading in suspect.slow}
    unexplained = tuple(r for r in slow if r not in explained and r not in possible)
    return Explanation(tuple(named), _groups(rest, explained), unexplained)


def _is_needed(suspect: Suspect, suspects: Sequence[Suspect]) -> bool:
    """Some slow reading crosses no other suspect: without this one it stays unexplained."""
    others = {reading for other in suspects if other is not suspect for reading in other.slow}
    return not suspect.slow <= others


def _groups(
    suspects: Sequence[Suspect], explained: set[Reading]
) -> tuple[tuple[Suspect, ...], ...]:
    """Suspects that share readings nobody named explains, gathered: one of each group is faulty."""
    groups: list[list[Suspect]] = []
    for suspect in suspects:
        touching = [
            group
            for group in groups
            if any((suspect.slow & other.slow) - explained for other in group)
        ]
        merged = [suspect, *(other for group in touching for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append(merged)
    return tuple(tuple(sorted(group, key=_weight)) for group in groups)


def _join(named: list[Suspect], suspect: Suspect) -> None:
    """Two metrics that point at a common thing are one fault: keep what both allow."""
    for place, known in enumerate(named):
        common = _common(known.components, suspect.components)
        if common and known.metrics != suspect.metrics:
            named[place] = Suspect(common, known.slow | suspect.slow)
            return
    named.append(suspect)


def _common(one: tuple[Component, ...], other: tuple[Component, ...]) -> tuple[Component, ...]:
    by_thing = {component.thing: component for component in other}
    return tuple(
        max(component, by_thing[component.thing], key=lambda c: _WIDEST_FIRST.index(c.part))
        for component in one
        if component.thing in by_thing
    )


def _weight(suspect: Suspect) -> tuple[int, tuple[Component, ...]]:
    return (-len(suspect.slow), suspect.components)
