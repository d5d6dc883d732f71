"""A step against GPUs: its parts stacked under the model's band, and the efficiency."""

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
    padded_scale,
)
from weft.report.charts.vega import PALETTE

COLOURS = (PALETTE[0], PALETTE[5], PALETTE[1], PALETTE[4], PALETTE[3])
"""Neighbours of a stack differ in lightness, so that grey shows them too; black is the band."""


def _gpus(counts: Sequence[int]) -> alt.X:
    axis = alt.Axis(title="GPUs", labelAngle=0, labelOverlap=True, format=",d")
    return alt.X("n_gpus:O", sort=list(counts), axis=axis)


def stacked_parts(
    rows: Sequence[Row], totals: Sequence[Row], parts: Sequence[str], *, description: str
) -> dict[str, Any]:
    """`rows`: n_gpus, part (of `parts`, from the bottom), low and high (seconds between which it
    lies in the stack), value. `totals`: n_gpus, value, low and high of the whole step."""
    counts = [row["n_gpus"] for row in totals]
    top = 1.05 * max(row["high"] for row in totals)
    scale = alt.Scale(domain=[0, top], nice=False)
    y = field_on(alt.Y, scale, alt.Axis(title="time of a step (s)", tickCount=6))
    x = _gpus(counts)
    colour = alt.Color(
        "part:N", sort=list(parts), scale=alt.Scale(domain=list(parts), range=list(COLOURS))
    )
    bars = (
        chart_of(rows)
        .mark_bar(stroke="white", strokeWidth=1)
        .encode(
            x=x,
            y=y("low"),
            y2="high:Q",
            color=colour,
            tooltip=[
                alt.Tooltip("n_gpus:O", title="GPUs"),
                alt.Tooltip("part:N"),
                alt.Tooltip("value:Q", title="seconds", format=",.3~r"),
            ],
        )
    )
    base = chart_of(totals)
    halo = base.mark_rule(color="white", strokeWidth=5).encode(x=x, y=y("low"), y2="high:Q")
    band = base.mark_rule(color=INK, strokeWidth=1.6).encode(x=x, y=y("low"), y2="high:Q")
    ends = [
        base.mark_tick(color=INK, thickness=1.6, size=9).encode(x=x, y=y(end))
        for end in ("low", "high")
    ]
    return finished(layered(bars, halo, band, *ends), description)


def efficiency(rows: Sequence[Row], *, description: str) -> dict[str, Any]:
    """`rows`: n_gpus, value (1 is that of the first)."""
    counts = [row["n_gpus"] for row in rows]
    axis = alt.Axis(title="tokens/s a GPU, of the first", format=".0%", tickCount=5)
    y = field_on(alt.Y, padded_scale([*(row["value"] for row in rows), 1.0]), axis)
    x = _gpus(counts)
    base = chart_of(rows)
    one = chart_of([{"one": 1}]).mark_rule(color=INK, strokeDash=[2, 2]).encode(y=y("one"))
    line = base.mark_line(color=PALETTE[0], strokeWidth=1.8).encode(x=x, y=y("value"))
    points = base.mark_point(filled=True, size=46, opacity=1, color=PALETTE[0]).encode(
        x=x,
        y=y("value"),
        tooltip=[
            alt.Tooltip("n_gpus:O", title="GPUs"),
            alt.Tooltip("value:Q", title="efficiency", format=".1%"),
        ],
    )
    return finished(layered(one, line, points), description, height=180)
