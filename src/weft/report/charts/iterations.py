"""Times of iterations in their order: a thin line a series, on a logarithmic axis."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.report.charts.axes import Row, chart_of, finished, layered, log_field
from weft.report.charts.vega import DASHES, PALETTE


def iterations(rows: Sequence[Row], *, y_title: str, description: str) -> dict[str, Any]:
    """`rows`: iteration (from 1), value, series; the first series is drawn last, on top."""
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    x = alt.X("iteration:Q", axis=alt.Axis(title="iteration", format="d", tickMinStep=1))
    y = log_field(alt.Y, rows, y_title)
    colour = alt.Color("series:N", scale=alt.Scale(domain=names, range=list(PALETTE)))
    base = chart_of(rows).encode(x=x, color=colour)
    lines = [
        base.transform_filter(alt.FieldEqualPredicate(field="series", equal=name))
        .mark_line(strokeWidth=1.4, strokeDash=list(dash))
        .encode(y=y("value"))
        for name, dash in zip(names, DASHES, strict=False)
    ]
    return finished(layered(*reversed(lines)), description)
