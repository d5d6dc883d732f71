"""Findings about whole hop classes: slower than the machine should be, or faster than it can."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from weft.catalog.cause import causes
from weft.check.external_evidence.expectation import Expectations, ExpectedNorm, slow_first
from weft.check.readings.norms import HopClass, of_one_node
from weft.check.readings.readings import METRICS
from weft.check.suspects.survey import Survey
from weft.check.wording.figures import capital
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted
from weft.judge.causes.causes import CauseCase, likely_causes
from weft.judge.expectation.expected_value import predictor
from weft.judge.model import JudgedRow, LikelyCause, RowState
from weft.judge.rules import rules
from weft.results.model import Row, Table

MOST_CAUSES = 3
MOST_READINGS = 4
FULL = 100
"""Percent: nothing shares the links of a class."""


@dataclass(frozen=True, slots=True)
class ClassFacts(FindingFacts):
    """Hop classes that differ from their expectation, the worst, and its likely causes by name."""

    platform: str
    worst: ExpectedNorm
    hop_classes: tuple[HopClass, ...]
    causes: tuple[str, ...]

    def to_record(self) -> dict[str, Any]:
        """The classes as plain JSON values."""
        norm = self.worst.norm
        return {
            "platform": self.platform,
            "metric": norm.hop_class.metric.value,
            "measured": norm.expected,
            "expectation": record_of(self.worst),
            "hop_classes": [hop_class.words for hop_class in self.hop_classes],
            "causes": list(self.causes),
        }


@dataclass(frozen=True, slots=True)
class ImpossibleReadings(FindingFacts):
    """How many readings are faster than their platform allows."""

    readings: int


def beyond_expectation(survey: Survey, expectations: Expectations) -> list[Finding]:
    """For each metric one finding where classes are impossible, and one where they are slow; and
    one for single readings that are faster than can be."""
    found = _impossible_readings(survey, expectations)
    for metric in METRICS:
        of = [one for c, one in expectations.of.items() if c.metric is metric]
        impossible = slow_first([one for one in of if one.state is RowState.IMPOSSIBLE])
        if impossible:
            found.append(_impossible(expectations, impossible, len(of)))
        low = slow_first([one for one in of if one.state is RowState.LOW])
        if low:
            where = _where_first(of_one_node(survey.crossings), low, of)
            found.append(_slow(expectations, low, len(of), where))
    return found


def _where_first(
    nodes: Mapping[HopClass, str], low: Sequence[ExpectedNorm], of: Sequence[ExpectedNorm]
) -> tuple[str, ...]:
    """The difference of slow classes (`low`, of all `of` a metric) from the others: a node in all
    of their pairs (`nodes`), or longer paths."""
    such = {one.norm.hop_class for one in low}
    node = {nodes.get(hop_class) for hop_class in such}
    if len(node) == 1 and None not in node:
        return (f"{node.pop()} is in all of these pairs: look at this node before their distance",)
    fine = [one for one in of if one.state is RowState.NORMAL]
    if fine and max(_n_links(one) for one in fine) < min(_n_links(one) for one in low):
        nearest = min(fine, key=_n_links)
        return (f"pairs {_where(nearest)} are as expected: look at the longer paths first",)
    return ()


def _n_links(one: ExpectedNorm) -> int:
    return one.norm.hop_class.n_links


def _slow(
    expectations: Expectations, such: Sequence[ExpectedNorm], n_classes: int, where: tuple[str, ...]
) -> Finding:
    sure = any(one.sure for one in such)
    worst = next((one for one in such if one.sure), such[0])
    text = f"{_subject(such, n_classes)} {_delivers(worst)}: expected {worst.words}"
    text += f"; limited by {worst.found.bound}."
    doubt = f"the expectation is a guess, so this is no proven fault: {worst.found.source}"
    likely = causes_of(expectations, such[0].state)[:MOST_CAUSES]
    return Finding(
        FindingKind.BELOW_EXPECTED,
        Severity.BAD if sure else Severity.WARNING,
        text,
        evidence=(
            *where,
            *_each(such),
            *_slower_cables(expectations, such),
            *map(_cause_line, likely),
            *(() if sure else (doubt,)),
            _why(expectations),
        ),
        facts=_facts(expectations, such, likely),
    )


def _impossible(
    expectations: Expectations, such: Sequence[ExpectedNorm], n_classes: int
) -> Finding:
    worst, unit = such[0], such[0].norm.hop_class.metric.unit
    limit = format_significant(worst.found.limit or 0.0)
    likely = causes_of(expectations, worst.state)[:MOST_CAUSES]
    return Finding(
        FindingKind.BEYOND_LIMIT,
        Severity.BAD,
        f"{_subject(such, n_classes)} {_delivers(worst)}: impossible, the limit is"
        f" {limit} {unit} ({worst.found.limit_name}).",
        evidence=(*_each(such), *map(_cause_line, likely), _why(expectations)),
        facts=_facts(expectations, such, likely),
    )


def _impossible_readings(survey: Survey, expectations: Expectations) -> list[Finding]:
    """Readings beyond the limit of a class that is not: of clocks, or of pairs on one host."""
    readings, normed = survey.readings, survey.normed
    slack = rules().limit_slack
    beyond: list[tuple[int, ExpectedNorm]] = []
    for number, norm in enumerate(normed.norms):
        one = expectations.of.get(norm.hop_class)
        if one is None or one.found.limit is None or one.state is RowState.IMPOSSIBLE:
            continue
        rows = np.flatnonzero(normed.norm == number)
        ratio = readings.value[rows] / one.found.limit
        wrong = ratio < 1 - slack if one.found.lower_is_better else ratio > 1 + slack
        beyond += [(row, one) for row in rows[wrong].tolist()]
    if not beyond:
        return []
    lines = [_reading_line(survey, row, one) for row, one in beyond[:MOST_READINGS]]
    verb = "is" if len(beyond) == 1 else "are"
    return [
        Finding(
            FindingKind.BEYOND_LIMIT,
            Severity.WARNING,
            f"{counted(len(beyond), 'reading')} {verb} faster than platform"
            f" {expectations.platform.name} allows: do not believe them.",
            evidence=(*lines, "possible causes: a clock that jumped, two names of one host"),
            facts=ImpossibleReadings(len(beyond)),
        )
    ]


def _reading_line(survey: Survey, row: int, one: ExpectedNorm) -> str:
    unit = one.norm.hop_class.metric.unit
    value, limit = (
        format_significant(v) for v in (survey.readings.value[row], one.found.limit or 0.0)
    )
    a, b = survey.readings.name(row)
    return f"{a} - {b}: {value} {unit}; the limit is {limit} ({one.found.limit_name})"


def _subject(such: Sequence[ExpectedNorm], n_classes: int) -> str:
    """'All pairs', or those of one kind."""
    every = len(such) == n_classes
    return "All pairs" if every and n_classes > 1 else capital(f"all pairs {_where(such[0])}")


def _where(one: ExpectedNorm) -> str:
    return one.norm.hop_class.words


def _delivers(one: ExpectedNorm) -> str:
    metric, value = one.norm.hop_class.metric, format_significant(one.norm.expected)
    verb = "take" if one.found.lower_is_better else "deliver"
    share = one.norm.expected / one.found.value
    percent = f"{100 * share:.0f} % of the expectation"
    return f"{verb} {value} {metric.unit} of {metric.word} ({percent})"


def _each(such: Sequence[ExpectedNorm]) -> list[str]:
    return [
        f"{_where(one)}: {format_significant(one.norm.expected)}, expected {one.words}"
        for one in such
        if len(such) > 1
    ]


def _why(expectations: Expectations) -> str:
    machine = expectations.machine
    return f"compared with platform {machine.platform.name} ({machine.because})"


def _slower_cables(expectations: Expectations, such: Sequence[ExpectedNorm]) -> list[str]:
    """A line where the fabric files give a lower cable rate than the platform."""
    links = expectations.platform.links
    rates = {one.norm.hop_class.bits_per_s / 1e9 for one in such}
    if links is None or min(rates) <= 0 or max(rates) >= links.host.rate.value:
        return []
    return [
        f"cables on the path run at {max(rates):g} Gb/s according to the fabric files;"
        f" the platform's run at {links.host.rate.value:g} Gb/s"
    ]


def _cause_line(cause: LikelyCause) -> str:
    return f"possible cause: {cause.sentence}: predicts {cause.predicts}; {cause.remedy}"


def causes_of(expectations: Expectations, state: RowState) -> tuple[LikelyCause, ...]:
    """The causes of the catalogue that fit the norms in a state, weighed against all of them."""
    rows = [_row(one) for hop_class, one in expectations.of.items() if hop_class.load <= FULL]
    platform = expectations.platform
    likely = likely_causes(CauseCase(rows, platform, predictor(platform), rules()), state)
    # How many messages a check sends before an answer is its own doing.
    own = {cause.name for cause in causes() if cause.instead and cause.instead.window}
    return tuple(cause for cause in likely if cause.name not in own)


def _row(one: ExpectedNorm) -> JudgedRow:
    conditions = one.conditions
    row = Row(0, conditions.size_bytes, {one.found.metric: one.norm.expected})
    table = Table("weft", "pairs", conditions.benchmark, (row,), 0)
    return JudgedRow(
        table, row, one.found.metric, one.norm.expected, one.state, conditions, one.found
    )


def _facts(
    expectations: Expectations, such: Sequence[ExpectedNorm], likely: Sequence[LikelyCause]
) -> ClassFacts:
    return ClassFacts(
        platform=expectations.platform.name,
        worst=such[0],
        hop_classes=tuple(one.norm.hop_class for one in such),
        causes=tuple(cause.name for cause in likely),
    )


def record_of(one: ExpectedNorm) -> dict[str, object]:
    """An expectation as plain JSON values."""
    return {
        "value": one.found.value,
        "low": one.found.low,
        "high": one.found.high,
        "unit": one.norm.hop_class.metric.unit,
        "bound": one.found.bound,
        "limit": one.found.limit,
        "source": one.found.source,
        "state": one.state.value,
    }
