"""Which causes of the catalogue fit the rows that are low (or impossible), best first.

score = misfit + assumptions - evidence, all in ln of a ratio (rules.toml). Misfit is the mean over
the rows of |ln(measured / predicted)|. A cause adds the width of a predicted range, each further
condition that must coincide, and its contradiction by normal rows of the same series.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from weft.catalog.cause import Cause, causes
from weft.catalog.machine.platform import Platform
from weft.core.units import format_significant, format_size
from weft.judge.anomalies.anomalies import Labels, series_of
from weft.judge.causes.effect import Span, applies, predicted_span
from weft.judge.expectation.expected_value import Predict
from weft.judge.log import LogLine
from weft.judge.model import JudgedRow, LikelyCause, RowState
from weft.judge.rules import Rules

MOST_SHOWN = 5
SHOWN = 160
"""Characters of a log line that are quoted."""


@dataclass(frozen=True, slots=True)
class CauseFit:
    """A cause against the rows: its score, its misfit, and what it predicts for the largest row."""

    cause: Cause
    score: float
    misfit: float
    n_rows: int
    predicts: str
    quote: str = ""


@dataclass(frozen=True, slots=True)
class CauseCase:
    """What causes are weighed against: all judged rows, the platform, and what the log says."""

    rows: Sequence[JudgedRow]
    platform: Platform
    ask: Predict
    rules: Rules
    log: Sequence[LogLine] = ()


def likely_causes(case: CauseCase, state: RowState) -> tuple[LikelyCause, ...]:
    """The causes that fit the rows of a state, best first, at most five."""
    rules = case.rules
    wanted = [row for row in case.rows if row.state is state and row.expectation is not None]
    if not wanted:
        return ()
    explains = "impossible" if state is RowState.IMPOSSIBLE else "low"
    fits = [
        fit
        for cause in causes()
        if cause.explains == explains
        if (fit := _fit(cause, wanted, case)) is not None
    ]
    fits.sort(key=lambda fit: fit.score)
    shown = [fit for fit in fits if fit.misfit <= rules.misfit_shown or fit.quote]
    tied = {id(fit) for fit in shown if fit.score <= shown[0].score + rules.tie}
    # Of causes that the file cannot separate, the one with fewer assumptions goes first.
    shown.sort(key=lambda fit: (0, fit.cause.assumptions) if id(fit) in tied else (1, 0))
    return tuple(_likely(fit, tied=id(fit) in tied and len(tied) > 1) for fit in shown[:MOST_SHOWN])


def _likely(fit: CauseFit, *, tied: bool) -> LikelyCause:
    return LikelyCause(
        name=fit.cause.name,
        sentence=fit.cause.sentence + (f" ({fit.quote})" if fit.quote else ""),
        misfit=fit.misfit,
        n_rows=fit.n_rows,
        predicts=fit.predicts,
        confirm=fit.cause.confirm,
        remedy=fit.cause.remedy,
        source=fit.cause.source,
        score=fit.score,
        tied=tied,
    )


def _fit(cause: Cause, wanted: Sequence[JudgedRow], case: CauseCase) -> CauseFit | None:
    rules, platform, ask = case.rules, case.platform, case.ask
    quote, against = _quote(cause, wanted, case.log)
    if against:
        return None
    spans = [
        (row, span)
        for row in wanted
        if applies(cause, row, platform)
        if (span := predicted_span(cause, row, platform, ask)) is not None
    ]
    if not spans or _is_refuted(cause, wanted, case):
        return None
    misfits = [_misfit(row.value, span) for row, span in spans]
    # A cause that leaves rows unexplained misses them by how far they are from what is expected.
    silent = {id(row) for row, _ in spans}
    misfits += [_gap(row) for row in wanted if id(row) not in silent]
    misfit = fmean(misfits)
    width = median(math.log(high / low) for _, (low, high) in spans)
    score = misfit + rules.range_width * width + rules.assumption * (cause.assumptions - 1)
    score += _denied(cause, wanted, case)
    score -= rules.evidence if quote else 0.0
    largest = max(spans, key=lambda pair: pair[0].row.size_bytes or 0)
    return CauseFit(cause, score, misfit, len(spans), _predicts(*largest), quote)


def _is_refuted(cause: Cause, wanted: Sequence[JudgedRow], case: CauseCase) -> bool:
    """Whether a measured row is better than the cause's own bound allows: small messages faster
    than sockets, a rate above a slot's or above that of the adapters left."""
    instead = cause.instead
    is_bound = cause.cap is not None or (
        instead is not None
        and bool(instead.transport == "sockets" or instead.hcas or instead.hcas_share)
    )
    if not is_bound or cause.explains != "low":
        return False
    series = {_series(row) for row in wanted}
    rows = (row for row in case.rows if _series(row) in series and not row.odd)
    return any(_beats(cause, row, case) for row in rows)


def _beats(cause: Cause, row: JudgedRow, case: CauseCase) -> bool:
    """Whether a row is better than the best that a cause predicts for it."""
    if row.expectation is None or not applies(cause, row, case.platform):
        return False
    span = predicted_span(cause, row, case.platform, case.ask)
    if span is None:
        return False
    slack = 1 + case.rules.bound_slack
    if row.expectation.lower_is_better:
        return row.value * slack < span[0]
    return row.value > span[1] * slack


def _quote(cause: Cause, rows: Sequence[JudgedRow], log: Sequence[LogLine]) -> tuple[str, bool]:
    """(the line of the file that supports a cause, whether a line refutes it)."""
    quote = ""
    for evidence in cause.evidence:
        for where, text in _texts(evidence.key, rows, log):
            if not re.search(evidence.pattern, text):
                continue
            if evidence.speaks == "against":
                return "", True
            quote = quote or f"{where}: {text.strip()[:SHOWN]}"
    return quote, False


def _texts(key: str, rows: Sequence[JudgedRow], log: Sequence[LogLine]) -> list[tuple[str, str]]:
    """(where it stands, text) of what evidence is looked for in."""
    if key == "log":
        return [(f"line {line.number} says so", line.text) for line in log]
    found = dict.fromkeys(row.table.conditions.get(key) for row in rows)
    return [("the table says so", f"{key} {text}") for text in found if text]


def _misfit(value: float, span: Span) -> float:
    """How far a value lies outside a span, in ln."""
    low, high = span
    return max(0.0, math.log(low / value), math.log(value / high))


def _gap(row: JudgedRow) -> float:
    if row.expectation is None:
        return 0.0
    return abs(math.log(row.value / row.expectation.value))


def _denied(cause: Cause, wanted: Sequence[JudgedRow], case: CauseCase) -> float:
    """How strongly normal rows of the same series speak against a cause that would change them."""
    series = {_series(row) for row in wanted}
    misfits = []
    platform, ask = case.platform, case.ask
    for row in case.rows:
        if row.state is RowState.NORMAL and _series(row) in series and not row.odd:
            span = (
                predicted_span(cause, row, platform, ask) if applies(cause, row, platform) else None
            )
            misfits.append(0.0 if span is None else _misfit(row.value, span))
    return median(misfits) if misfits else 0.0


def _series(row: JudgedRow) -> tuple[int, Labels]:
    return row.table.first_line, series_of(row.row)


def _predicts(row: JudgedRow, span: Span) -> str:
    low, high = (format_significant(value, 3) for value in span)
    unit = row.expectation.unit if row.expectation else ""
    size = f" at {format_size(row.row.size_bytes)}" if row.row.size_bytes else ""
    between = f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
    return f"{between}{size}; measured {format_significant(row.value, 3)}"
