"""The LogGP model fitted to half of a run's rows, judged by how it predicts the other half."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from weft.core.units import format_significant, format_size
from weft.core.words import counted
from weft.expect.fit.loggp import OutOfSample
from weft.report.charts import vega as charts
from weft.report.model import ReportFigure, ReportTable, Section, cut_table
from weft.stats.summary import Summary
from weft.study.latency_fit import LatencyFit

POINTS_PER_OCTAVE = 8


def section(fit: LatencyFit, prefix: str) -> Section:
    """The fit of the latency benchmark's first series."""
    judged = fit.judged
    if judged is None:
        return Section("Predicted", (f"No model was fitted: {fit.why_not}.",))
    roles = dict.fromkeys(fit.medians, charts.FITTED)
    roles |= {row.size_bytes: charts.HELD_OUT for row in judged.held_out}
    roles |= dict.fromkeys(judged.anomalies, charts.ANOMALY)
    rows = tuple(_Row(size, found, roles[size]) for size, found in fit.medians.items())
    return Section("Held-out prediction", figures=(_figure(rows, judged, prefix),))


@dataclass(frozen=True, slots=True)
class _Row:
    size_bytes: int
    summary: Summary
    role: str


def _figure(rows: Sequence[_Row], judged: OutOfSample, prefix: str) -> ReportFigure:
    title = (
        f"A model fitted to {judged.fit.n_rows} rows predicts the other {len(judged.held_out)} "
        f"to {judged.median_error:.1%} (median), {judged.max_error:.1%} at worst"
    )
    return ReportFigure(
        id=f"{prefix}-fit",
        title=title,
        how_to_read=_how_to_read(rows, judged),
        spec=charts.fit(
            _measured_rows(rows, judged),
            _predicted_rows(rows, judged),
            y_title="latency, one way (µs)",
            description=f"{title}. The table below holds the same figures.",
        ),
        table=_table(rows, judged),
    )


def _how_to_read(rows: Sequence[_Row], judged: OutOfSample) -> str:
    regimes = judged.fit.regimes
    text = (
        f"LogGP, {counted(len(regimes), 'line')} (latency = a + b x size), "
        f"{judged.fit.n_parameters} parameters; "
        "every second size is used for the fit, the others are held out. "
        "Below: error of each held-out size, predicted / measured - 1."
    )
    # Last size of one regime and first of the next, as fitted.
    gaps = [(a.last_bytes, b.first_bytes) for a, b in pairwise(regimes)]
    if gaps:
        ranges = ", ".join(f"{format_size(low)} and {format_size(high)}" for low, high in gaps)
        text += (
            f" The protocol changes between {ranges}; the fitted rows cannot say where in there."
        )
    worst = max(judged.held_out, key=lambda row: abs(row.error)).size_bytes
    within = any(low < worst < high for low, high in gaps)
    text += f" Worst at {format_size(worst)}{', inside such a gap' if within else ''}."
    left_out = [format_size(row.size_bytes) for row in rows if row.role == charts.ANOMALY]
    if left_out:
        text += f" Left out, because they break the rise with size: {', '.join(left_out)}."
    return text


def _measured_rows(rows: Sequence[_Row], judged: OutOfSample) -> list[dict[str, object]]:
    errors = {row.size_bytes: 100 * row.error for row in judged.held_out}
    return [
        {
            "size_bytes": row.size_bytes,
            "size": format_size(row.size_bytes),
            "value": row.summary.median,
            "low": row.summary.ends[0],
            "high": row.summary.ends[1],
            "role": row.role,
            "error_percent": errors.get(row.size_bytes),
        }
        for row in rows
    ]


def _predicted_rows(rows: Sequence[_Row], judged: OutOfSample) -> list[dict[str, object]]:
    low, high = rows[0].size_bytes, rows[-1].size_bytes
    n_steps = max(1, round(log2(high / low) * POINTS_PER_OCTAVE))
    grid = {round(low * (high / low) ** (step / n_steps)) for step in range(n_steps + 1)}
    for regime in judged.fit.regimes:
        if regime.max_bytes is not None and low <= regime.max_bytes < high:
            grid |= {regime.max_bytes, regime.max_bytes + 1}
    return [{"size_bytes": size, "value": judged.fit.predict(size)} for size in sorted(grid)]


def _table(rows: Sequence[_Row], judged: OutOfSample) -> ReportTable:
    columns = ("#size", "#measured (µs)", "#predicted (µs)", "#error (%)", "role")
    cells = [
        (
            format_size(row.size_bytes),
            format_significant(row.summary.median),
            format_significant(judged.fit.predict(row.size_bytes)),
            f"{100 * (judged.fit.predict(row.size_bytes) / row.summary.median - 1):+.1f}",
            row.role,
        )
        for row in rows
    ]
    return cut_table("latency: measured and predicted", columns, cells)
