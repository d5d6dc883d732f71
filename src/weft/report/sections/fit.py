"""The LogGP model fitted to half of a run's rows, judged by how it predicts the other half."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

from weft.core.units import format_significant, format_size
from weft.expect.fit.loggp import OutOfSample
from weft.report.charts import vega as charts
from weft.report.charts.median_interval import MedianInterval
from weft.report.model import ReportFigure, ReportTable, Section, TableColumn, cut_table
from weft.report.verdict import LatencyFit

POINTS_PER_OCTAVE = 8


def section(fit: LatencyFit, prefix: str) -> Section:
    """The fit of the latency benchmark's first series."""
    judged = fit.judged
    if judged is None:
        return Section("Predicted", (f"No model was fitted: {fit.why_not}.",))
    rows = tuple(_Row(size, median, _role(size, judged)) for size, median in fit.medians.items())
    return Section("Held-out prediction", figures=(_figure(rows, judged, prefix),))


@dataclass(frozen=True, slots=True)
class _Row:
    size_bytes: int
    median: MedianInterval
    role: str


def _role(size_bytes: int, judged: OutOfSample) -> str:
    if size_bytes in judged.anomalies:
        return charts.ANOMALY
    held_out = {row.size_bytes for row in judged.held_out}
    return charts.HELD_OUT if size_bytes in held_out else charts.FITTED


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
    lines = "1 line" if len(regimes) == 1 else f"{len(regimes)} lines"
    text = (
        f"LogGP, {lines} (latency = a + b x size), {judged.fit.n_parameters} parameters; "
        "every second size is used for the fit, the others are held out. "
        "Below: error of each held-out size, predicted / measured - 1."
    )
    gaps = _gaps(judged)
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


def _gaps(judged: OutOfSample) -> list[tuple[int, int]]:
    """Last size of one regime and first of the next, as fitted."""
    regimes = judged.fit.regimes
    return [(a.last_bytes, b.first_bytes) for a, b in pairwise(regimes)]


def _measured_rows(rows: Sequence[_Row], judged: OutOfSample) -> list[dict[str, object]]:
    errors = {row.size_bytes: 100 * row.error for row in judged.held_out}
    return [
        {
            "size_bytes": row.size_bytes,
            "size": format_size(row.size_bytes),
            "value": row.median.value,
            "low": row.median.low,
            "high": row.median.high,
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
    columns = (
        TableColumn("size"),
        TableColumn("measured (µs)"),
        TableColumn("predicted (µs)"),
        TableColumn("error (%)"),
        TableColumn("role", is_figure=False),
    )
    cells = [
        (
            format_size(row.size_bytes),
            format_significant(row.median.value),
            format_significant(judged.fit.predict(row.size_bytes)),
            f"{100 * (judged.fit.predict(row.size_bytes) / row.median.value - 1):+.1f}",
            row.role,
        )
        for row in rows
    ]
    return cut_table("latency: measured and predicted", columns, cells)
