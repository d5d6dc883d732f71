"""Predicted from half of its rows: does the LogGP model of this run know the other half?"""

from collections.abc import Sequence
from itertools import pairwise
from math import log2

from weft.core.errors import InputError
from weft.core.units import format_significant, format_size
from weft.expect.loggp import OutOfSample, judge_out_of_sample
from weft.report import charts
from weft.report.cells import Cell, Measured
from weft.report.middle import Middle, middle_of
from weft.report.model import Column, Figure, Section, Table, cut_table

MIN_ROWS = 8
"""Under this, half of the rows cannot show a protocol step, let alone predict one."""
POINTS_PER_OCTAVE = 8


def section(measured: Sequence[Measured], prefix: str) -> Section | None:
    """The fit of the latency benchmark's first series; None where there are too few sizes."""
    latency = next((one for one in measured if one.benchmark.name == "latency"), None)
    if latency is None:
        return None
    cells = latency.cells
    mine = [cell for cell in cells if cell.series == cells[0].series and cell.size_bytes > 0]
    if len(mine) < MIN_ROWS:
        return None
    middles = [middle_of(cell.values) for cell in mine]
    rows = [(cell.size_bytes, middle.value) for cell, middle in zip(mine, middles, strict=True)]
    try:
        judged = judge_out_of_sample(rows)
    except InputError as error:
        return Section("Predicted", (f"No model was fitted: {error.what}.",))
    return Section(
        "Predicted from half of the rows", figures=(_figure(mine, middles, judged, prefix),)
    )


def _figure(
    cells: Sequence[Cell], middles: Sequence[Middle], judged: OutOfSample, prefix: str
) -> Figure:
    n_fitted = judged.fit.n_rows
    title = (
        f"A model fitted to {n_fitted} rows predicts the other {len(judged.held_out)} "
        f"to {judged.median_error:.1%} (median), {judged.max_error:.1%} at worst"
    )
    return Figure(
        id=f"{prefix}-fit",
        title=title,
        how_to_read=_how_to_read(judged),
        spec=charts.fit(
            _measured_rows(cells, middles, judged),
            _predicted_rows(cells, judged),
            y_title="latency, one way (µs)",
            description=f"{title}. The table below holds the same figures.",
        ),
        table=_table(cells, middles, judged),
    )


def _how_to_read(judged: OutOfSample) -> str:
    regimes = judged.fit.regimes
    lines = "1 line" if len(regimes) == 1 else f"{len(regimes)} lines"
    text = (
        f"LogGP, {lines} (latency = a + b x size), {judged.fit.n_parameters} parameters; "
        "every second size is used for the fit, the others are held out. "
        "Below: error of each held-out size, predicted / measured - 1."
    )
    gaps = _gaps(judged)
    if gaps:
        told = ", ".join(f"{format_size(low)} and {format_size(high)}" for low, high in gaps)
        text += f" The protocol changes between {told}; the fitted rows cannot say where in there."
    worst = max(judged.held_out, key=lambda row: abs(row.error)).size_bytes
    within = any(low < worst < high for low, high in gaps)
    text += f" Worst at {format_size(worst)}{', inside such a gap' if within else ''}."
    left_out = judged.fit.anomalies
    if left_out:
        sizes = ", ".join(format_size(anomaly.size_bytes) for anomaly in left_out)
        text += f" Left out as anomalies: {sizes}."
    return text


def _gaps(judged: OutOfSample) -> list[tuple[int, int]]:
    """Last size of one regime and first of the next, as fitted."""
    regimes = judged.fit.regimes
    return [(a.last_bytes, b.first_bytes) for a, b in pairwise(regimes)]


def _role(size_bytes: int, judged: OutOfSample) -> str:
    if size_bytes in {anomaly.size_bytes for anomaly in judged.fit.anomalies}:
        return charts.ANOMALY
    held_out = {row.size_bytes for row in judged.held_out}
    return charts.HELD_OUT if size_bytes in held_out else charts.FITTED


def _measured_rows(
    cells: Sequence[Cell], middles: Sequence[Middle], judged: OutOfSample
) -> list[dict[str, object]]:
    errors = {row.size_bytes: 100 * row.error for row in judged.held_out}
    return [
        {
            "size_bytes": cell.size_bytes,
            "size": format_size(cell.size_bytes),
            "value": middle.value,
            "low": middle.low,
            "high": middle.high,
            "role": _role(cell.size_bytes, judged),
            "error_percent": errors.get(cell.size_bytes),
        }
        for cell, middle in zip(cells, middles, strict=True)
    ]


def _predicted_rows(cells: Sequence[Cell], judged: OutOfSample) -> list[dict[str, object]]:
    low, high = cells[0].size_bytes, cells[-1].size_bytes
    n_steps = max(1, round(log2(high / low) * POINTS_PER_OCTAVE))
    grid = {round(low * (high / low) ** (step / n_steps)) for step in range(n_steps + 1)}
    for regime in judged.fit.regimes:
        if regime.max_bytes is not None and low <= regime.max_bytes < high:
            grid |= {regime.max_bytes, regime.max_bytes + 1}
    return [{"size_bytes": size, "value": judged.fit.predict(size)} for size in sorted(grid)]


def _table(cells: Sequence[Cell], middles: Sequence[Middle], judged: OutOfSample) -> Table:
    columns = (
        Column("size"),
        Column("measured (µs)"),
        Column("predicted (µs)"),
        Column("error (%)"),
        Column("role", is_figure=False),
    )
    rows = [
        (
            format_size(cell.size_bytes),
            format_significant(middle.value),
            format_significant(judged.fit.predict(cell.size_bytes)),
            f"{100 * (judged.fit.predict(cell.size_bytes) / middle.value - 1):+.1f}",
            _role(cell.size_bytes, judged),
        )
        for cell, middle in zip(cells, middles, strict=True)
    ]
    return cut_table("latency: measured and predicted", columns, rows)
