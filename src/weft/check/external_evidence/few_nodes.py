"""Few nodes: each pair is compared with the platform."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from weft.check.external_evidence.class_expectation import beyond_expectation
from weft.check.external_evidence.expectation import Expectations, ExpectedNorm
from weft.check.facts import NamedPair, PairFacts
from weft.check.readings.norms import hop_classes
from weft.check.readings.readings import Ints, Metric, host_of
from weft.check.suspects.survey import Survey
from weft.check.wording.figures import list_pairs
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted
from weft.judge.model import RowState


@dataclass(frozen=True, slots=True)
class SlowPair:
    """All readings of a pair in a hop class are slower than expected; `value` is their
    median. `sure`: by more than chance, and by more than any room that an expectation needs."""

    pair: NamedPair
    of: ExpectedNorm
    value: float
    sure: bool


def compared_with_platform(
    survey: Survey,
    expectations: Expectations,
    explained: Set[tuple[Metric, NamedPair]] = frozenset(),
) -> list[Finding]:
    """Findings about whole classes that are slower than expected or impossibly fast. With too few
    nodes to compare with one another, also about pairs, if only some are slow: those that are slow
    for sure, and others that may be. `explained`: pairs that a bad component slows, by metric."""
    if len(survey.crossings.hosts) > survey.limits.few_nodes:
        return beyond_expectation(survey, expectations)
    slow = list(_slow_pairs(survey, expectations))
    measured = _by_pair(survey, np.arange(len(survey.readings)))
    if not slow or {one.pair for one in slow} == set(measured):
        return beyond_expectation(survey, expectations)
    others = {
        hop_class: one
        for hop_class, one in expectations.of.items()
        if one.state is not RowState.LOW
    }
    of_classes = beyond_expectation(survey, replace(expectations, of=others))
    left = [one for one in slow if (one.of.norm.hop_class.metric, one.pair) not in explained]
    sure = [one for one in left if one.sure]
    surely = {one.pair for one in sure}
    perhaps = [one for one in left if one.pair not in surely]
    of_pairs = [_finding(expectations, such) for such in (sure, perhaps) if such]
    if not of_pairs:
        return of_classes
    fine = {p for p, rows in measured.items() if _as_expected(survey, expectations, rows)}
    hint = tuple(_in_common({one.pair for one in slow}, measured, fine))
    return [
        *of_classes,
        replace(of_pairs[0], evidence=(*of_pairs[0].evidence, *hint)),
        *of_pairs[1:],
    ]


def _slow_pairs(survey: Survey, expectations: Expectations) -> Iterator[SlowPair]:
    limits = survey.limits
    classes, place = hop_classes(survey.crossings)
    for number, hop_class in enumerate(classes):
        one = expectations.of.get(hop_class)
        if one is None:
            continue
        by_pair = _by_pair(survey, np.flatnonzero(place == number))
        for pair, rows in by_pair.items():
            values = survey.readings.value[rows]
            each = [one.at(float(value)) for value in values]
            if all(of.state is RowState.LOW for of in each):
                chance = len(by_pair) * limits.disturbed_share**rows.size
                sure = all(of.sure for of in each) and chance <= limits.chance_of_a_pair
                yield SlowPair(pair, one, float(np.median(values)), sure)


def _as_expected(survey: Survey, expectations: Expectations, rows: Ints) -> bool:
    """Whether each of these readings has an expectation, and none is slower."""
    classes, place = hop_classes(survey.crossings)
    of = [(expectations.of.get(classes[place[row]]), row) for row in rows.tolist()]
    return all(
        one is not None and one.at(float(survey.readings.value[row])).state is not RowState.LOW
        for one, row in of
    )


def _by_pair(survey: Survey, rows: Ints) -> dict[NamedPair, Ints]:
    found: dict[NamedPair, list[int]] = {}
    for row in rows.tolist():
        found.setdefault(survey.readings.unordered(row), []).append(row)
    return {pair: np.array(of, np.int64) for pair, of in found.items()}


def _finding(expectations: Expectations, slow: Sequence[SlowPair]) -> Finding:
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
        evidence=(list_pairs(pairs),) if len(pairs) > 1 else (),
        facts=PairFacts(tuple(pairs)),
    )


def _in_common(
    slow: Set[NamedPair], measured: Iterable[NamedPair], fine: Set[NamedPair]
) -> Iterator[str]:
    """The one node that all slow pairs have and no other pair has, where all others are fine."""
    common = set.intersection(*({host_of(end) for end in pair} for pair in slow))
    others = set(measured) - slow
    with_it = any(host_of(end) in common for pair in others for end in pair)
    if len(common) == 1 and others and others <= fine and not with_it:
        (node,) = common
        yield f"{node} is in all slow pairs, and pairs without it are as expected: look at it first"
