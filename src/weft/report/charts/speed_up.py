"""Speed-up curves: markers of one place stand side by side, with two intervals each."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.report.charts.axes import (
    INK,
    Row,
    chart_of,
    field_on,
    finished,
    layered,
    log_ticks,
    node_axis,
    size_axis,
)
from weft.report.charts.vega import DASHES, PALETTE, SHAPES

_STEP = 0.09
"""Between the markers of one place, in powers of two; sizes are one apart or more."""


def domain_of(rows: Sequence[Row]) -> tuple[float, float]:
    """The axis that holds all intervals and 1, shared by the figures of a benchmark."""
    values = [row[key] for row in rows for key in ("wide_low", "wide_high", "low", "high")]
    return min([*values, 1.0]) / 1.08, max([*values, 1.0]) * 1.08


def speed_up(
    rows: Sequence[Row],
    domain: tuple[float, float],
    *,
    y_title: str,
    description: str,
    by_size: bool,
) -> dict[str, Any]:
    """`rows`: size_bytes (above 0 with `by_size`), nodes, value, low, high, wide_low, wide_high (of
    node sets like these), series, outcome. Series are shifted along the axis by a constant factor,
    so that none hides another."""
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    place = "size_bytes" if by_size else "nodes"
    shifted = [{**row, "x": row[place] * _shift(names, row)} for row in rows]
    x = size_axis(rows, "x") if by_size else node_axis(rows, "x")
    axis = alt.Axis(title=y_title, values=log_ticks(*domain), format=",~r")
    y = field_on(alt.Y, alt.Scale(type="log", domain=list(domain), nice=False), axis)
    legend = alt.Legend() if len(names) > 1 else None
    colour = alt.Color(
        "series:N", scale=alt.Scale(domain=names, range=list(PALETTE)), legend=legend
    )
    shape = alt.Shape("series:N", scale=alt.Scale(domain=names, range=list(SHAPES)), legend=legend)
    base = chart_of(shifted).encode(x=x, color=colour)
    lines = [
        base.transform_filter(alt.FieldEqualPredicate(field="series", equal=name))
        .mark_line(strokeWidth=1.2, strokeDash=list(dash))
        .encode(y=y("value"))
        for name, dash in zip(names, DASHES, strict=False)
    ]
    one = chart_of([{"one": 1}]).mark_rule(color=INK).encode(y=y("one"))
    wide = base.mark_rule(strokeWidth=1).encode(y=y("wide_low"), y2="wide_high:Q")
    bars = base.mark_rule(strokeWidth=3).encode(y=y("low"), y2="high:Q")
    points = base.mark_point(filled=True, size=46, opacity=1).encode(
        y=y("value"),
        shape=shape,
        tooltip=[
            alt.Tooltip("size:N"),
            alt.Tooltip("scale:N"),
            *(alt.Tooltip(f"{key}:Q", format=",.4~r") for key in ("value", "low", "high")),
            alt.Tooltip("outcome:N"),
        ],
    )
    return finished(layered(one, *lines, wide, bars, points), description)


def _shift(names: Sequence[str], row: Row) -> float:
    place = names.index(str(row["series"])) - (len(names) - 1) / 2
    return float(2.0 ** (_STEP * place))
