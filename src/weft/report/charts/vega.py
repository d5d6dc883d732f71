"""Vega-Lite charts. Shape and dash repeat the colour, so grey and paper show the same."""

from collections.abc import Sequence
from typing import Any, TypeVar

import altair as alt

from weft.report.charts.axes import (
    HEIGHT,
    INK,
    WIDTH,
    Row,
    chart_of,
    field_on,
    finished,
    layered,
    log_field,
    node_axis,
    padded_scale,
    size_axis,
)

# SOURCE: Okabe & Ito, Color Universal Design (2008); ordered dark to light.
PALETTE = ("#0072b2", "#d55e00", "#000000", "#009e73", "#cc79a7", "#e69f00")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3])
MAX_SERIES = len(PALETTE)
SIZES = (260, 190, 140, 100, 70, 46)
BARS = (6.6, 5.6, 4.6, 3.6, 2.6, 1.6)
"""Of points in square pixels, and of intervals: one for each series, of few series the last."""
_Mark = TypeVar("_Mark", alt.Color, alt.Shape)

FITTED, HELD_OUT, ANOMALY = (
    "measured, used for the fit",
    "measured, held out",
    "measured, left out as an anomaly",
)
ROLES = (FITTED, HELD_OUT, ANOMALY)


def curve(rows: Sequence[Row], *, y_title: str, description: str) -> dict[str, Any]:
    """Median over launches by message size, log-log, with intervals.

    `rows`: size_bytes > 0, value, low, high, series, segment (points of one segment are joined).
    """
    base = chart_of(rows).encode(x=size_axis(rows), color=_by_series(alt.Color, rows, PALETTE))
    y = log_field(alt.Y, rows, y_title)
    lines = [
        _of(base, name)
        .mark_line(strokeWidth=1.8, strokeDash=list(dash))
        .encode(y=y("value"), detail="segment:N")
        for name, dash in zip(_names(rows), DASHES, strict=False)
    ]
    bars, points = _told_apart(base, rows)
    bars = [one.encode(y=y("low"), y2="high:Q", tooltip=_tooltips(y_title)) for one in bars]
    points = [one.encode(y=y("value"), tooltip=_tooltips(y_title)) for one in points]
    return finished(layered(*lines, *bars, *points), description)


def strip(
    rows: Sequence[Row], *, x_title: str, description: str, reference: float | None = None
) -> dict[str, Any]:
    """One line a label: median with its interval, and each launch as a small tick.

    `rows`: label, value, low, high, values (one a launch). `reference` draws a line across.
    """
    launches = [{"label": row["label"], "launch": value} for row in rows for value in row["values"]]
    spread = [value for row in rows for value in (row["low"], row["high"], *row["values"])]
    references = [] if reference is None else [{"reference": reference}]
    spread += [row["reference"] for row in references]
    x_axis = alt.Axis(title=x_title, format=",~r", tickCount=6)
    x = field_on(alt.X, padded_scale(spread), x_axis)
    y = alt.Y("label:N", sort=None, axis=alt.Axis(title=None, labelLimit=220))
    medians = chart_of(rows)
    bars = medians.mark_rule(strokeWidth=2, color=PALETTE[0]).encode(x=x("low"), x2="high:Q", y=y)
    points = medians.mark_point(filled=True, size=60, color=PALETTE[0], opacity=1).encode(
        x=x("value"), y=y, tooltip=_tooltips(x_title, by="label")
    )
    ticks = (
        chart_of(launches).mark_tick(color=INK, opacity=0.45, size=16).encode(x=x("launch"), y=y)
    )
    across = chart_of(references).mark_rule(color=INK).encode(x=x("reference"))
    chart = layered(across, ticks, bars, points)
    return finished(chart, description, height=40 + 34 * len(rows))


def fit(
    measured: Sequence[Row], predicted: Sequence[Row], *, y_title: str, description: str
) -> dict[str, Any]:
    """Measured and predicted times by size, and below them the error of each held-out row.

    `measured`: size_bytes, value, low, high, role, error_percent (held-out rows only);
    `predicted`: size_bytes, value.
    """
    everything = [*measured, *predicted]
    x = size_axis(everything)
    y = log_field(alt.Y, everything, y_title)
    present = {row["role"] for row in measured}
    roles = [role for role in ROLES if role in present]
    line = (
        chart_of(predicted)
        .mark_line(color=PALETTE[2], strokeWidth=1.6, strokeDash=[6, 3])
        .encode(x=x, y=y("value"))
    )
    points = (
        chart_of(measured)
        .mark_point(size=60, opacity=1, strokeWidth=1.8)
        .encode(
            x=x,
            y=y("value"),
            color=alt.Color(
                "role:N", scale=alt.Scale(domain=roles, range=list(PALETTE[: len(roles)]))
            ),
            shape=alt.Shape(
                "role:N", scale=alt.Scale(domain=roles, range=["circle", "triangle-up", "cross"])
            ),
            tooltip=_tooltips(y_title),
        )
    )
    top = layered(line, points).properties(width=WIDTH, height=HEIGHT)
    return finished(alt.vconcat(top, _fit_errors(measured, x), spacing=14), description)


def _fit_errors(measured: Sequence[Row], x: alt.X) -> alt.LayerChart:
    held_out = [row for row in measured if row.get("error_percent") is not None]
    y = alt.Y("error_percent:Q", axis=alt.Axis(title="error (%)", tickCount=5, format="+~r"))
    dots = (
        chart_of(held_out)
        .mark_point(shape="triangle-up", size=60, opacity=1, color=PALETTE[1], strokeWidth=1.8)
        .encode(x=x, y=y)
    )
    stems = (
        chart_of([{**row, "zero": 0} for row in held_out])
        .mark_rule(color=PALETTE[1], strokeWidth=1.2)
        .encode(x=x, y=y, y2="zero:Q")
    )
    zero = chart_of([{"zero": 0}]).mark_rule(color=INK).encode(y="zero:Q")
    return layered(zero, stems, dots).properties(width=WIDTH, height=110)


def ratio(rows: Sequence[Row], *, y_title: str, description: str) -> dict[str, Any]:
    """A ratio by message size around 1, with intervals. `rows`: as in `curve`."""
    spread = [row[key] for row in rows for key in ("low", "high")] + [1.0]
    y = field_on(alt.Y, padded_scale(spread), alt.Axis(title=y_title, tickCount=6, format=".2~f"))
    base = chart_of(rows).encode(x=size_axis(rows), color=_by_series(alt.Color, rows, PALETTE))
    one = chart_of([{"one": 1}]).mark_rule(color=INK).encode(y="one:Q")
    bars, points = _told_apart(base, rows)
    bars = [one.encode(y=y("low"), y2="high:Q") for one in bars]
    points = [one.encode(y=y("value"), tooltip=_tooltips(y_title)) for one in points]
    return finished(layered(one, *bars, *points), description)


def scaling(
    rows: Sequence[Row], *, y_title: str, description: str, is_share: bool
) -> dict[str, Any]:
    """A metric by number of nodes. `rows`: nodes, scale (in words), value, low, high, series.
    `is_share`: values are shares of 1, on an axis from 0; else the axis is logarithmic."""
    share_axis = alt.Axis(title=y_title, format=".0%", tickCount=6)
    y = (
        field_on(alt.Y, alt.Scale(domain=[0, 1.05]), share_axis)
        if is_share
        else log_field(alt.Y, rows, y_title)
    )
    base = chart_of(rows).encode(x=node_axis(rows), color=_by_series(alt.Color, rows, PALETTE))
    lines = [
        _of(base, name).mark_line(strokeWidth=1.8, strokeDash=list(dash)).encode(y=y("value"))
        for name, dash in zip(_names(rows), DASHES, strict=False)
    ]
    bars, points = _told_apart(base, rows)
    bars = [one.encode(y=y("low"), y2="high:Q") for one in bars]
    points = [one.encode(y=y("value"), tooltip=_tooltips(y_title, by="scale")) for one in points]
    return finished(layered(*lines, *bars, *points), description)


def _told_apart(base: alt.Chart, rows: Sequence[Row]) -> tuple[list[alt.Chart], list[alt.Chart]]:
    """Intervals and points of the series. Of several the earlier ones are wider and the points
    hollow: where values are equal, no series hides another."""
    names, shape = _names(rows), _by_series(alt.Shape, rows, SHAPES)
    each = [_of(base, name) for name in names]
    bars = [
        one.mark_rule(strokeWidth=width)
        for one, width in zip(each, BARS[-len(names) :], strict=False)
    ]
    points = [
        one.mark_point(size=size, filled=len(names) == 1, strokeWidth=1.8, opacity=1).encode(
            shape=shape
        )
        for one, size in zip(each, SIZES[-len(names) :], strict=False)
    ]
    return bars, points


def _of(base: alt.Chart, name: str) -> alt.Chart:
    """One series. A layer a series: dashes by an encoding would enter the legend and fray its
    symbols, and Vega warns of sizes by name."""
    return base.transform_filter(alt.FieldEqualPredicate(field="series", equal=name))


def _names(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(str(row["series"]) for row in rows))


def _by_series(channel: type[_Mark], rows: Sequence[Row], marks: Sequence[str]) -> _Mark:
    """A mark for each series, with a legend where there are several."""
    scale = alt.Scale(domain=_names(rows), range=list(marks))
    legend = alt.Legend() if len(_names(rows)) > 1 else None
    return channel("series:N", scale=scale, legend=legend)


def _tooltips(title: str, by: str = "size") -> list[alt.Tooltip]:
    return [
        alt.Tooltip(f"{by}:N", title=by),
        alt.Tooltip("value:Q", title=title, format=",.4~r"),
        alt.Tooltip("low:Q", title="low", format=",.4~r"),
        alt.Tooltip("high:Q", title="high", format=",.4~r"),
    ]
