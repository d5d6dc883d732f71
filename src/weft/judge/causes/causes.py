"""Which causes of the catalogue fit the rows that are low (or impossible), best first.

score = misfit + assumptions - evidence, all in ln of a ratio (rules.toml). Misfit is the mean over
the rows of |ln(measured / predicted)|. A cause adds the width of a predicted range, each further
condition that must coincide, and its contradiction by normal rows of the same series. The least
score is first. Causes that are behind it by their width alone fit as well: they follow, and none of
them is left out. The score is the number that is printed.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from weft.catalog.cause import Cause, causes
from weft.catalog.machine.platform import Platform
from weft.core.units import format_significant, format_size
from weft.judge.anomalies.anomalies import Labels, series_of
from weft.judge.causes.effect import Span, applies, best_under, predicted_span, with_one_rate
from weft.judge.expectation.expected_value import Predict
from weft.judge.log import LogLine
from weft.judge.model import JudgedRow, LikelyCause, RowState
from weft.judge.path_class.proof import FoundProof
from weft.judge.rules import Rules

MOST_SHOWN = 5
"""Causes that are listed; more only where more fit equally well."""
PEAK, AVERAGE = "bandwidth_peak_mb_s", "bandwidth_mb_s"
SHOWN = 160
"""Characters of a log line that are quoted."""


@dataclass(frozen=True, slots=True)
class CauseFit:
    """A cause against the rows: its score, its misfit, and what it predicts for the largest row.
    `separating` is the score without the width of what it predicts; `also` are other numbers of
    lost HCAs that fit as well."""

    cause: Cause
    score: float
    separating: float
    misfit: float
    n_rows: int
    predicts: str
    quote: str = ""
    also: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class CauseCase:
    """What causes are weighed against: all judged rows, the platform, and what the file says: its
    log, and the proofs of its path."""

    rows: Sequence[JudgedRow]
    platform: Platform
    ask: Predict
    rules: Rules
    log: Sequence[LogLine] = ()
    proofs: Sequence[FoundProof] = ()

    @property
    def families(self) -> frozenset[str]:
        """Families of paths that the file names."""
        return frozenset(name for one in self.proofs for name in one.proof.families)

    def applies(self, cause: Cause, row: JudgedRow) -> bool:
        """Whether a cause is thinkable for a row."""
        return applies(cause, row, self.platform, self.families)

    def span(self, cause: Cause, row: JudgedRow) -> Span | None:
        """What a row would be under a cause; None where the cause says nothing about it."""
        if not self.applies(cause, row):
            return None
        return predicted_span(cause, row, self.platform, self.ask)


def likely_causes(case: CauseCase, state: RowState) -> tuple[LikelyCause, ...]:
    """The causes that fit the rows of a state: all that fit equally well, then others up to
    `MOST_SHOWN`, each group best first."""
    rules = case.rules
    wanted = [row for row in case.rows if row.state is state and row.expectation is not None]
    if not wanted:
        return ()
    explains = "impossible" if state is RowState.IMPOSSIBLE else "low"
    fits = [
        fit
        for entry in causes()
        if entry.explains == explains
        for cause in entry.expanded(case.platform.hcas_per_node)
        if (fit := _fit(cause, wanted, case)) is not None
    ]
    fits.sort(key=lambda fit: (fit.score, fit.cause.assumptions))
    fits = _one_of_each(fits, rules)
    shown = [fit for fit in fits if fit.misfit <= rules.misfit_shown or fit.quote]
    tied = [fit for fit in shown if fit.separating <= shown[0].separating + rules.tie]
    others = [fit for fit in shown if fit not in tied]
    is_tie = len(tied) > 1
    return tuple(
        _likely(fit, tied=is_tie and rank < len(tied))
        for rank, fit in enumerate([*tied, *others][: max(MOST_SHOWN, len(tied))])
    )


def _one_of_each(fits: Sequence[CauseFit], rules: Rules) -> list[CauseFit]:
    """The same, of the numbers of lost HCAs only the best, with those that fit as well."""
    by_number = [fit for fit in fits if _lost_hcas(fit.cause)]
    if not by_number:
        return list(fits)
    best, *more = by_number
    also = [fit.cause for fit in more if fit.separating <= best.separating + rules.tie]
    together = replace(best, also=tuple(sorted(also, key=_lost_hcas)))
    return [together if fit is best else fit for fit in fits if fit is best or fit not in more]


def _lost_hcas(cause: Cause) -> int:
    return cause.instead.lost_hcas or 0 if cause.instead is not None else 0


def _sentence(fit: CauseFit) -> str:
    """The cause in words, with the other numbers of lost HCAs and the line that speaks for it."""
    text = fit.cause.sentence
    if fit.also:
        numbers = ", ".join(str(_lost_hcas(cause)) for cause in fit.also)
        text += f"; {numbers} lost fit as well"
    return text + (f" ({fit.quote})" if fit.quote else "")


def _likely(fit: CauseFit, *, tied: bool) -> LikelyCause:
    return LikelyCause(
        name=fit.cause.name,
        sentence=_sentence(fit),
        misfit=fit.misfit,
        n_rows=fit.n_rows,
        predicts=fit.predicts,
        confirm=fit.cause.confirm,
        remedy=fit.cause.remedy,
        source=fit.cause.source,
        score=fit.score,
        tied=tied,
        also=tuple(cause.name for cause in fit.also),
    )


def _fit(cause: Cause, wanted: Sequence[JudgedRow], case: CauseCase) -> CauseFit | None:
    rules = case.rules
    quote, against = _quote(cause, wanted, case)
    if against or (cause.only_with_evidence and not quote):
        return None
    of_one_rate = with_one_rate(cause, [row for row in wanted if not row.odd], case.platform)
    spans = [(row, span) for row in wanted if (span := case.span(of_one_rate, row)) is not None]
    if not spans or _is_refuted(cause, wanted, case):
        return None
    misfits = [_misfit(row.value, span) for row, span in spans]
    # A cause that leaves rows unexplained misses them by how far they are from what is expected.
    silent = {id(row) for row, _ in spans}
    misfits += [_gap(row) for row in wanted if id(row) not in silent]
    misfit = fmean(misfits)
    width = median(math.log(high / low) for _, (low, high) in spans)
    separating = misfit + rules.assumption * (cause.assumptions - 1)
    separating += _denied(cause, wanted, case) - (rules.evidence if quote else 0.0)
    score = separating + rules.range_width * width
    largest = max(spans, key=lambda pair: pair[0].row.size_bytes or 0)
    predicts = _predicts(*largest)
    return CauseFit(cause, score, separating, misfit, len(spans), predicts, quote)


def _is_refuted(cause: Cause, wanted: Sequence[JudgedRow], case: CauseCase) -> bool:
    """Whether a measured row is better than the cause's bound allows: small messages faster than
    sockets, a rate above a slot's, above half a link's, above that of the adapters left. Sockets
    are refuted by another test of the same file, too: one library took one transport."""
    if not cause.bounds or cause.explains != "low":
        return False
    series = {_series(row) for row in wanted}
    tests = {_test(row) for row in wanted}
    rows = (
        row
        for row in case.rows
        if not row.odd
        and (_series(row) in series or ("sockets" in cause.bounds and _is_beside(row, tests)))
    )
    return any(_beats(cause, row, case) for row in rows)


def _test(row: JudgedRow) -> tuple[str, str, int, str]:
    conditions = row.conditions
    n_nodes = conditions.n_nodes if conditions else 0
    return row.table.tool, conditions.library if conditions else "", n_nodes, row.table.test


def _is_beside(row: JudgedRow, tests: set[tuple[str, str, int, str]]) -> bool:
    """Whether a row is of another test of the same tool, library and nodes as some."""
    own = _test(row)
    return own not in tests and own[:3] in {test[:3] for test in tests}


def _beats(cause: Cause, row: JudgedRow, case: CauseCase) -> bool:
    """Whether a row is better than a bound of a cause leaves it."""
    found = row.expectation
    if found is None or not case.applies(cause, row):
        return False
    slack = 1 + case.rules.bound_slack
    for bound in cause.bounds:
        best = best_under(cause, bound, row, case.platform, case.ask)
        if best is None:
            continue
        if row.value * slack < best if found.lower_is_better else row.value > best * slack:
            return True
    return False


def _quote(cause: Cause, rows: Sequence[JudgedRow], case: CauseCase) -> tuple[str, bool]:
    """(the line of the file that supports a cause, whether a line refutes it)."""
    quote = ""
    for evidence in cause.evidence:
        for where, text, shown in _texts(evidence.key, rows, case):
            if not re.search(evidence.pattern, text):
                continue
            if evidence.speaks == "against":
                return "", True
            quote = quote or f"{where}: {shown.strip()[:SHOWN]}"
    return quote, False


def _texts(key: str, rows: Sequence[JudgedRow], case: CauseCase) -> list[tuple[str, str, str]]:
    """(where it stands, text that evidence is looked for in, text to quote)."""
    if key == "log":
        return [(f"line {line.number} says so", line.text, line.text) for line in case.log]
    if key == "path":
        return [
            (f"{one.where} says so", " ".join(one.proof.families), one.text) for one in case.proofs
        ]
    if key == "peak":
        return _peaks(rows)
    found = dict.fromkeys(row.table.conditions.get(key) for row in rows)
    return [("the table says so", f"{key} {text}", f"{key} {text}") for text in found if text]


def _peaks(rows: Sequence[JudgedRow]) -> list[tuple[str, str, str]]:
    """The row whose peak is farthest above its average; nothing where the peak itself is low."""
    found = []
    for row in rows:
        peak, average = (row.row.metrics.get(name, 0.0) for name in (PEAK, AVERAGE))
        low = row.expectation.low if row.expectation and row.metric == AVERAGE else math.inf
        if average > 0 and peak >= low:
            found.append((peak / average, row.row.line, peak, average))
    if not found:
        return []
    times, line, peak, average = max(found)
    figures = (format_significant(value, 4) for value in (peak, average))
    return [
        (
            f"line {line} says so",
            f"peak {times:.2f}",
            "peak {} MB/s, average {} MB/s".format(*figures),
        )
    ]


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
    for row in case.rows:
        if row.state is RowState.NORMAL and _series(row) in series and not row.odd:
            span = case.span(cause, row)
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
