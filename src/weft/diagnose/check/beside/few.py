"""Too few readings for a norm, as two or three nodes give: held against the platform alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted
from weft.diagnose.check.answer.words import list_pairs
from weft.diagnose.check.beside.expectation import Expectations, Expected
from weft.diagnose.check.beside.whole_class import beyond_expectation
from weft.diagnose.check.measured.norms import hop_classes
from weft.diagnose.check.measured.readings import Ints, host_of
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.thresholds import Thresholds
from weft.diagnose.judge.model import RowState

NamedPair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class SlowPair:
    """All readings of a pair in a small class are slower than expected; `value` is their
    median. `sure`: by more than chance, and by more than any room that an expectation needs."""

    pair: NamedPair
    of: Expected
    value: float
    sure: bool


def beside_platform(
    survey: Survey, expectations: Expectations, limits: Thresholds
) -> list[Finding]:
    """Findings about what is slower than expected, or faster than can be: whole classes; and, of
    too few nodes to be held against one another, pairs, where not all of them are slow."""
    if len(survey.crossings.hosts) >= limits.smallest_fabric:
        return beyond_expectation(survey, expectations)
    slow = list(_slow_pairs(survey, expectations, limits))
    measured = _by_pair(survey, np.arange(len(survey.readings)))
    if not slow or {one.pair for one in slow} == set(measured):
        return beyond_expectation(survey, expectations)
    others = {
        hop_class: one
        for hop_class, one in expectations.of.items()
        if not (one.small and one.state is RowState.LOW)
    }
    of_classes = beyond_expectation(survey, replace(expectations, of=others))
    sure = [one for one in slow if one.sure]
    return [*of_classes, _finding(expectations, sure or slow, measured)]


def _slow_pairs(
    survey: Survey, expectations: Expectations, limits: Thresholds
) -> Iterator[SlowPair]:
    classes, place = hop_classes(survey.crossings)
    for number, hop_class in enumerate(classes):
        one = expectations.of.get(hop_class)
        if one is None or not one.small:
            continue
        by_pair = _by_pair(survey, np.flatnonzero(place == number))
        for pair, rows in by_pair.items():
            values = survey.readings.value[rows]
            each = [one.at(float(value)) for value in values]
            if all(of.state is RowState.LOW for of in each):
                chance = len(by_pair) * limits.disturbed_share**rows.size
                sure = all(of.sure for of in each) and chance <= limits.chance_of_a_lone_pair
                yield SlowPair(pair, one, float(np.median(values)), sure)


def _by_pair(survey: Survey, rows: Ints) -> dict[NamedPair, Ints]:
    found: dict[NamedPair, list[int]] = {}
    for row in rows.tolist():
        a, b = survey.readings.name(row)
        found.setdefault((min(a, b), max(a, b)), []).append(row)
    return {pair: np.array(of, np.int64) for pair, of in found.items()}


def _finding(
    expectations: Expectations, slow: Sequence[SlowPair], measured: Iterable[NamedPair]
) -> Finding:
    pairs = sorted({one.pair for one in slow})
    worst = max(slow, key=lambda one: abs(float(np.log(one.value / one.of.found.value))))
    sure = worst.sure
    who = f"Pair {pairs[0][0]} - {pairs[0][1]}" if len(pairs) == 1 else counted(len(pairs), "pair")
    verb = ("is" if len(pairs) == 1 else "are") if sure else "may be"
    metric = worst.of.norm.hop_class.metric
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if sure else Severity.WARNING,
        f"{who} {verb} slower than expected: {metric.word} {format_significant(worst.value)}"
        f" {metric.unit}, expected {worst.of.words} of {expectations.platform.name}.",
        evidence=(list_pairs(pairs), *_in_common(pairs, measured)),
        facts={"pairs": [list(pair) for pair in pairs]},
    )


def _in_common(pairs: Sequence[NamedPair], measured: Iterable[NamedPair]) -> Iterator[str]:
    """The one node that all slow pairs have and no other pair has."""
    of = [{host_of(end) for end in pair} for pair in pairs]
    common = set.intersection(*of)
    normal = [{host_of(end) for end in pair} for pair in measured if pair not in pairs]
    if len(common) == 1 and normal and not any(common & ends for ends in normal):
        (node,) = common
        yield f"{node} is in all of them, and pairs without it are as expected: look there first"
