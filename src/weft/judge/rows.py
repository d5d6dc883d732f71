"""Rows with their state: measured against expected, against their own columns and their curve."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.catalog.document import SourceClass
from weft.catalog.machine.platform import Platform
from weft.expect.model import Conditions, Expectation, largest
from weft.judge.anomalies.anomalies import RowAnomaly, row_anomalies, series_of
from weft.judge.anomalies.column_agreement import half_digit
from weft.judge.expectation.conditions import Given, conditions_of, n_ranks_of, setting_of
from weft.judge.expectation.expected_value import (
    ExpectedValue,
    Predict,
    convert,
    expected_of,
    is_published,
    with_least_share,
    with_twice_the_limit,
)
from weft.judge.expectation.link_generations import least_share_of
from weft.judge.expectation.same_condition import OwnFleet, compared
from weft.judge.model import JudgedRow, RowState
from weft.judge.rules import Rules
from weft.results.lines.unit_conflict import UNIT_CONFLICT
from weft.results.model import Row, Table

METRICS = ("busbw_gb_s", "bandwidth_mb_s", "latency_us", "msg_rate_mps", "algbw_gb_s", "impact")
"""Which column of a row is looked at where nothing is expected, in this order."""
LINK_NOT_NAMED = "the link was not named: a slower one gives lower rates as well (--link)"
UNITS_DISPUTED = "the units of the file contradict each other: which column is right is unknown"
LINK_BINDS = 0.5
"""On a link class only sizes at which the link alone would allow no more than twice the expected
rate are judged: below, the host decides, and a link class has none."""


@dataclass(frozen=True, slots=True)
class JudgedTable:
    """The rows of one table, in its order, and what was taken for granted about it."""

    table: Table
    rows: tuple[JudgedRow, ...]
    remarks: tuple[str, ...] = ()


def judge_table(
    table: Table,
    given: Given,
    platform: Platform | None,
    ask: Predict | None,
    rules: Rules,
    *,
    link_class: bool = False,
    fleet: OwnFleet | None = None,
) -> JudgedTable:
    """Every row of a table that has a metric of ours, judged as far as anything carries."""
    setting = setting_of(table, given, platform, link_class=link_class)
    disputed = UNITS_DISPUTED if UNIT_CONFLICT in table.conditions else ""
    judged: list[JudgedRow | None] = []
    for row in table.rows:
        if disputed or setting.conditions is None or platform is None or ask is None:
            why = disputed or setting.why_not or "no platform to judge against (--platform)"
            unjudged = _unjudged(table, row, rules, why)
            judged.append(unjudged and replace(unjudged, lacks_layout=setting.lacks_layout))
            continue
        conditions = conditions_of(row, setting.conditions)
        expected = expected_of(row, conditions, platform, ask, rules)
        found = _against(
            table,
            row,
            conditions,
            expected,
            rules,
            link_class=link_class,
            link_is_known=not link_class or _link_is_known(platform),
            least_share=least_share_of(platform) if link_class else None,
            twice=setting.twice,
        )
        judged.append(found)
    judged = _lone_rows_excused(judged, rules)
    judged = compared(judged, setting, fleet, rules, platform=platform, ask=ask)
    anomalies = row_anomalies(table, n_ranks_of(table, given), rules)
    rows = [
        row if row is None or index not in anomalies else _odd(row, anomalies[index], judged, index)
        for index, row in enumerate(judged)
    ]
    return JudgedTable(table, tuple(row for row in rows if row is not None), setting.remarks)


def _link_is_known(platform: Platform) -> bool:
    """Whether the rate of the adapters' link is more than an assumption."""
    links = platform.links
    return links is None or links.host.rate.class_ is not SourceClass.ASSUMED


def _odd(
    row: JudgedRow, anomaly: RowAnomaly, judged: Sequence[JudgedRow | None], index: int
) -> JudgedRow:
    """The row marked. A single outlier between normal neighbours is no evidence about the
    machine, so it is neither low nor high."""
    known = anomaly.of_curve and row.state is RowState.NORMAL and is_published(row.expectation)
    as_known = "the published table has the same row: a known anomaly" if known else ""
    note = "; ".join(text for text in (anomaly.text, as_known, row.note) if text)
    alone = anomaly.of_curve and all(
        neighbour.state not in (RowState.LOW, RowState.IMPOSSIBLE)
        for neighbour in _neighbours(judged, index)
    )
    beyond = row.state in (RowState.LOW, RowState.HIGH)
    state = RowState.UNJUDGED if alone and beyond else row.state
    return replace(row, odd=True, contradictory=not anomaly.of_curve, note=note, state=state)


def _lone_rows_excused(judged: Sequence[JudgedRow | None], rules: Rules) -> list[JudgedRow | None]:
    """A row just beyond its limit whose neighbours are not accuses nothing: a link that carries too
    much does so at every large size."""
    return [
        replace(row, state=RowState.UNJUDGED, note=_lone_note(row))
        if row is not None and _is_just_beyond(row, rules) and _is_alone(judged, index)
        else row
        for index, row in enumerate(judged)
    ]


def _is_just_beyond(row: JudgedRow, rules: Rules) -> bool:
    return row.state is RowState.IMPOSSIBLE and excess_of(row) <= 1 + rules.lone_row_slack


def _is_alone(judged: Sequence[JudgedRow | None], index: int) -> bool:
    return all(excess_of(row) <= 1 for row in _neighbours(judged, index))


def excess_of(row: JudgedRow) -> float:
    """A row over its limit, as a factor: above one it is beyond it; 0 where it has no limit."""
    found = row.expectation
    if found is None or not found.limit or row.value <= 0:
        return 0.0
    return found.limit / row.value if found.lower_is_better else row.value / found.limit


def _lone_note(row: JudgedRow) -> str:
    percent = f"{100 * (excess_of(row) - 1):.1f} %"
    limit = row.expectation.limit_name if row.expectation else ""
    return f"{percent} beyond the limit ({limit}), and no row next to it is: a timer's error"


def _neighbours(judged: Sequence[JudgedRow | None], index: int) -> list[JudgedRow]:
    """The rows before and after in the same series."""
    row = judged[index]
    series = [
        (i, other)
        for i, other in enumerate(judged)
        if other is not None and row is not None and series_of(other.row) == series_of(row.row)
    ]
    at = next(k for k, (i, _) in enumerate(series) if i == index)
    return [other for k, (_, other) in enumerate(series) if abs(k - at) == 1]


def _unjudged(table: Table, row: Row, rules: Rules, why: str) -> JudgedRow | None:
    metric = _metric(table, row, rules)
    if metric is None:
        return None
    return JudgedRow(table, row, metric, row.metrics[metric], RowState.UNJUDGED, note=why)


def _metric(table: Table, row: Row, rules: Rules) -> str | None:
    present = [name for name in METRICS if row.metrics.get(name, 0.0) > 0]
    if table.benchmark == "message_rate" and "msg_rate_mps" in present:
        present.insert(0, "msg_rate_mps")
    exact = [name for name in present if _is_exact(table.tool, name, row, rules)]
    return next(iter(exact or present), None)


def _is_exact(tool: str, metric: str, row: Row, rules: Rules) -> bool:
    """Whether a figure has digits enough to be judged by."""
    value = row.metrics[metric]
    return 2 * half_digit(value, tool, metric) * rules.digits_to_judge <= value


def _against(
    table: Table,
    row: Row,
    conditions: Conditions,
    expected: ExpectedValue,
    rules: Rules,
    *,
    link_class: bool,
    link_is_known: bool,
    least_share: float | None,
    twice: str,
) -> JudgedRow | None:
    found = expected.expectation
    if found is None:
        judged = _unjudged(table, row, rules, expected.why_not)
        return judged if judged is None else replace(judged, conditions=conditions)
    found = _in_exact_metric(table, row, found, conditions, rules)
    if table.benchmark == "pairs" and not found.lower_is_better:
        found = replace(found, low=found.low * rules.pairs_share)
    value, link_binds = row.metrics[found.metric], _link_binds(found)
    if least_share is not None:
        found = with_least_share(found, least_share)
    if twice:
        found = with_twice_the_limit(found, twice)
    state = state_of(value, found, rules)
    note = ""
    beyond = state in (RowState.LOW, RowState.HIGH)
    if beyond and link_class and not link_binds:
        state = RowState.UNJUDGED
        note = "the host limits this size, and a link generation has no host"
    elif beyond and rests_on_assumption(found):
        state = RowState.UNJUDGED
        note = f"outside the range, but the range is an assumption ({found.bound})"
    if not link_is_known and not conditions.inside_node and state is not RowState.IMPOSSIBLE:
        state, note = RowState.UNJUDGED, LINK_NOT_NAMED
    return JudgedRow(table, row, found.metric, value, state, conditions, found, note=note)


def _in_exact_metric(
    table: Table, row: Row, found: Expectation, conditions: Conditions, rules: Rules
) -> Expectation:
    """The same expectation in another column where the expected one has too few digits."""
    if _is_exact(table.tool, found.metric, row, rules):
        return found
    metric = _metric(table, row, rules)
    converted = convert(found, metric, conditions) if metric else None
    return converted or found


def state_of(value: float, found: Expectation, rules: Rules) -> RowState:
    """Where a value lies. Slower than the interval is LOW, for times and for rates alike."""
    slower = value > found.high if found.lower_is_better else value < found.low
    faster = value < found.low if found.lower_is_better else value > found.high
    if found.limit is not None:
        slack = rules.limit_slack * found.limit
        beyond = (
            value < found.limit - slack if found.lower_is_better else value > found.limit + slack
        )
        if beyond:
            return RowState.IMPOSSIBLE
    if slower:
        return RowState.LOW
    return RowState.HIGH if faster else RowState.NORMAL


def rests_on_assumption(found: Expectation) -> bool:
    """Whether the largest part of the time is an assumed figure: it supports no accusation."""
    if not found.terms:
        return False
    return largest(found.terms).class_ in (SourceClass.ASSUMED, SourceClass.UNVERIFIED)


def _link_binds(found: Expectation) -> bool:
    if found.limit is None or found.limit <= 0 or found.value <= 0:
        return False
    share = found.limit / found.value if found.lower_is_better else found.value / found.limit
    return share >= LINK_BINDS
