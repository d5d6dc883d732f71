"""Step times of a training run in their order: grey where left out, triangles where slow."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.report.charts.axes import INK, Row, chart_of, finished, layered, log_field
from weft.report.charts.vega import PALETTE

LEFT_OUT, STEADY, SLOW = "left out", "steady", "slow"
_GREY = "#aaaaaa"
_SHAPES = {LEFT_OUT: "cross", STEADY: "circle", SLOW: "triangle-up"}
_COLOURS = {LEFT_OUT: _GREY, STEADY: PALETTE[0], SLOW: PALETTE[1]}


def step_times(
    rows: Sequence[Row], band: tuple[float, float, float], *, description: str
) -> dict[str, Any]:
    """`rows`: step, value (seconds), state. `band`: the median of the steady state and the ends of
    its interval, drawn as a line over a grey band."""
    median, low, high = band
    x = alt.X("step:Q", axis=alt.Axis(title="step", format=",d", tickMinStep=1))
    y = log_field(alt.Y, rows, "time of a step (s)")
    states = [state for state in _SHAPES if any(row["state"] == state for row in rows)]
    colours = [_COLOURS[state] for state in states]
    shapes = [_SHAPES[state] for state in states]
    points = (
        chart_of(rows)
        .mark_point(filled=True, size=22, opacity=0.9)
        .encode(
            x=x,
            y=y("value"),
            color=alt.Color("state:N", scale=alt.Scale(domain=states, range=colours)),
            shape=alt.Shape("state:N", scale=alt.Scale(domain=states, range=shapes)),
            tooltip=[alt.Tooltip("step:Q"), alt.Tooltip("value:Q", format=",.4~r")],
        )
    )
    steady = chart_of([{"value": median, "low": low, "high": high}])
    area = steady.mark_rect(color=_GREY, opacity=0.35).encode(y=y("low"), y2="high:Q")
    line = steady.mark_rule(color=INK, strokeWidth=1).encode(y=y("value"))
    return finished(layered(area, line, points), description)
