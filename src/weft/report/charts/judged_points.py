"""Measured points next to the expectation: band, line, limit, and field thresholds.

Shape repeats the colour, so grey and paper show the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from weft.judge.model import RowState
from weft.report.charts.axes import (
    HEIGHT,
    INK,
    WIDTH,
    Row,
    chart_of,
    field_on,
    finished,
    has_rows,
    layered,
    log_domain,
    log_field,
    size_axis,
)

ODD, UNJUDGED = "odd", "not judged"
MARKS: Mapping[str, tuple[str, str]] = {
    RowState.NORMAL.value: ("circle", "#0072b2"),
    RowState.LOW.value: ("triangle-down", "#d55e00"),
    RowState.HIGH.value: ("triangle-up", "#009e73"),
    RowState.IMPOSSIBLE.value: ("cross", "#000000"),
    ODD: ("diamond", "#cc79a7"),
    UNJUDGED: ("square", "#767676"),
}
"""Shape and colour of a row's state. SOURCE: Okabe & Ito, Color Universal Design (2008)."""
BAND = "#c8d4df"
THRESHOLD = "#8a5a00"
_SHARES = (0.001, 0.01, 0.05, 0.1, 0.2, 0.5, 0.7, 1.0, 1.5, 2.0, 4.0, 8.0, 20.0, 100.0, 1000.0)
MAX_NAMED = 8
"""So many rows that are not normal are named next to their points, where rows stand in order."""
MAX_STRIP = 14
"""More rows without an axis of sizes than this are drawn in order, without a name each."""


def curve(
    rows: Sequence[Row],
    thresholds: Sequence[Row],
    *,
    y_title: str,
    lower_is_better: bool,
    description: str,
) -> dict[str, Any]:
    """By message size, log-log; below it the share of the expected speed.

    `rows`: size_bytes > 0, size, value, state, is_main, and where there is an expectation expected,
    low, high, segment (points of one segment are joined), limit, limit_name, and the shares speed,
    speed_low, speed_high. `thresholds`: value, label, size_low, size_high, is_right.
    """
    x = size_axis(rows)
    top = _against(rows, thresholds, x, y_title, lower_is_better=lower_is_better)
    known = _having("expected", rows)
    if not known:
        return finished(top, description)
    top = top.properties(width=WIDTH, height=HEIGHT)
    return finished(alt.vconcat(top, _shares(known, x), spacing=14), description)


def in_order(
    rows: Sequence[Row],
    thresholds: Sequence[Row],
    *,
    x_title: str,
    y_title: str,
    lower_is_better: bool,
    description: str,
) -> dict[str, Any]:
    """By `position`, for many rows of one size. `rows` otherwise as for `curve`."""
    x = alt.X(
        "position:Q",
        scale=alt.Scale(domain=[0, len(rows) + 1], nice=False),
        axis=alt.Axis(title=x_title, tickMinStep=1, tickCount=8, format="d", grid=False),
    )
    top = _against(rows, thresholds, x, y_title, lower_is_better=lower_is_better)
    noticed = [row for row in rows if row["state"] not in (RowState.NORMAL, UNJUDGED)][:MAX_NAMED]
    y = log_field(alt.Y, _spread(rows, thresholds), y_title)
    names = (
        chart_of(noticed)
        .mark_text(align="left", dx=8, fontSize=11, color=INK)
        .encode(x=x, y=y("value"), text="label:N")
    )
    return finished(layered(top, names) if noticed else top, description)


def strip(
    rows: Sequence[Row], thresholds: Sequence[Row], *, x_title: str, description: str
) -> dict[str, Any]:
    """One line a row, with `label`. `rows` otherwise as for `curve`."""
    known = _having("expected", rows)
    y = alt.Y("label:N", sort=None, axis=alt.Axis(title=None, labelLimit=240))
    x = log_field(alt.X, _spread(rows, thresholds), x_title)
    data = chart_of(known)
    chart = layered(
        data.mark_bar(color=BAND, size=22).encode(x=x("low"), x2="high:Q", y=y),
        data.mark_tick(color=INK, thickness=1.6, size=22).encode(x=x("expected"), y=y),
        chart_of(_having("limit", rows))
        .mark_tick(color="black", thickness=3.5, size=26)
        .encode(x=x("limit"), y=y),
        chart_of(thresholds)
        .mark_rule(color=THRESHOLD, strokeDash=[2, 3], strokeWidth=1.6)
        .encode(x=x("value")),
        chart_of(thresholds)
        .mark_text(color=THRESHOLD, align="left", baseline="bottom", dx=2, dy=-4, fontSize=11)
        .encode(x=x("value"), y=alt.value(0), text="label:N"),
        *_points(rows, y, x("value"), x_title),
    )
    return finished(chart, description, height=40 + 34 * len(rows))


def _against(
    rows: Sequence[Row],
    thresholds: Sequence[Row],
    x: alt.X,
    y_title: str,
    *,
    lower_is_better: bool,
) -> alt.LayerChart:
    """Band, expected line, limit, thresholds and points. A limit is named where the figures are
    furthest from it: a least time at small sizes, a greatest rate at large ones."""
    known = _having("expected", rows)
    y = log_field(alt.Y, _spread(rows, thresholds), y_title)
    limits = _having("limit", rows)
    named = limits[:1] if lower_is_better else limits[-1:]
    # The names of a limit and of a threshold stand clear of the points.
    at_limit: dict[str, Any]
    if lower_is_better:
        at_limit = {"align": "left", "baseline": "top", "dy": 4}
        at_threshold = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2}
    else:
        at_limit = {"align": "right", "baseline": "bottom", "dy": -5}
        at_threshold = {"align": "left", "baseline": "top", "dx": 4, "dy": 3}
    expected = chart_of(known)
    return layered(
        expected.mark_area(color=BAND).encode(x=x, y=y("low"), y2="high:Q", detail="segment:N"),
        chart_of(_single_places(known))
        .mark_rule(color=BAND, strokeWidth=12)
        .encode(x=x, y=y("low"), y2="high:Q"),
        expected.mark_line(color=INK, strokeDash=[5, 4], strokeWidth=1.4).encode(
            x=x, y=y("expected"), detail="segment:N"
        ),
        chart_of(limits)
        .mark_line(color="black", strokeWidth=2.6)
        .encode(x=x, y=y("limit"), detail="segment:N"),
        chart_of(named)
        .mark_text(fontSize=11, color="black", **at_limit)
        .encode(x=x, y=y("limit"), text="limit_name:N"),
        *_threshold_marks(thresholds, rows, y("value"), at_threshold),
        *_points(rows, x, y("value"), y_title),
    )


def _threshold_marks(
    thresholds: Sequence[Row], rows: Sequence[Row], y: alt.Y, place: Mapping[str, Any]
) -> list[alt.Chart]:
    """Rules across the chart, or short ones where they are for one size, with their names."""
    rule: dict[str, Any] = {"color": THRESHOLD, "strokeDash": [2, 3], "strokeWidth": 1.8}
    text: dict[str, Any] = {"fontSize": 11, "color": THRESHOLD, **place}
    short = [row for row in thresholds if "size_low" in row]
    across = [row for row in thresholds if "size_low" not in row]
    layers = []
    if across:
        base = chart_of(across)
        layers.append(base.mark_rule(**rule).encode(y=y))
        layers.append(base.mark_text(**text).encode(x=alt.value(0), y=y, text="label:N"))
    if short:
        base = chart_of(short)
        x = size_axis(rows, "size_low")
        layers.append(base.mark_rule(**rule).encode(x=x, x2="size_high:Q", y=y))
    for is_right, field in ((False, "size_low"), (True, "size_high")):
        named = [row for row in short if row["label"] and row["is_right"] is is_right]
        if named:
            aligned = {**text, "align": "right" if is_right else "left", "dx": 0}
            base = chart_of(named).mark_text(**aligned)
            layers.append(base.encode(x=size_axis(rows, field), y=y, text="label:N"))
    return layers


def _shares(rows: Sequence[Row], x: alt.X) -> alt.LayerChart:
    """Measured speed over expected speed, with the expected range around 1."""
    keys = ("speed", "speed_low", "speed_high")
    spread = [{"value": row[key]} for row in rows for key in keys] + [{"value": 1.0}]
    low, high = log_domain(spread)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    ticks = [tick for tick in _SHARES if low <= tick <= high]
    title = "share of expected speed"
    axis = alt.Axis(title=["share of", "expected speed"], values=ticks, format="~r")
    y = field_on(alt.Y, scale, axis)
    known = chart_of(rows)
    single = chart_of(_single_places(rows))
    return layered(
        known.mark_area(color=BAND).encode(
            x=x, y=y("speed_low"), y2="speed_high:Q", detail="segment:N"
        ),
        single.mark_rule(color=BAND, strokeWidth=12).encode(
            x=x, y=y("speed_low"), y2="speed_high:Q"
        ),
        chart_of([{"one": 1.0}]).mark_rule(color=INK, strokeDash=[5, 4]).encode(y=y("one")),
        *_points(rows, x, y("speed"), title),
    ).properties(width=WIDTH, height=110)


def _points(
    rows: Sequence[Row], one: alt.X | alt.Y, other: alt.X | alt.Y, title: str
) -> list[alt.Chart]:
    """Filled for the main series, hollow for the others; the legend names the states."""
    states = [state for state in MARKS if any(row["state"] == state for row in rows)]
    shape = alt.Scale(domain=states, range=[MARKS[state][0] for state in states])
    colour = alt.Scale(domain=states, range=[MARKS[state][1] for state in states])
    tooltip = [
        alt.Tooltip("name:N", title="row"),
        alt.Tooltip("value:Q", title=title, format=",.4~r"),
        alt.Tooltip("state:N", title="judged"),
        alt.Tooltip("expected:Q", title="expected", format=",.4~r"),
    ]
    layers = []
    for is_main in (True, False):
        base = chart_of([row for row in rows if row["is_main"] is is_main])
        mark = base.mark_point(filled=is_main, size=64, opacity=1, strokeWidth=1.8)
        layers.append(
            mark.encode(
                one,
                other,
                color=alt.Color("state:N", scale=colour),
                shape=alt.Shape("state:N", scale=shape),
                tooltip=tooltip,
            )
        )
    return [layer for layer in layers if has_rows(layer)]


def _having(key: str, rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if row.get(key) is not None]


def _single_places(rows: Sequence[Row]) -> list[Row]:
    """Rows whose segment has one place only: an area through it has no width."""
    places: dict[Any, set[Any]] = {}
    for row in rows:
        places.setdefault(row["segment"], set()).add(row.get("size_bytes") or row.get("position"))
    return [row for row in rows if len(places[row["segment"]]) == 1]


def _spread(rows: Sequence[Row], thresholds: Sequence[Row]) -> list[Row]:
    """Every value that needs a place on the value axis, as rows of an axis."""
    keys = ("value", "low", "high", "expected", "limit")
    values = [row[key] for key in keys for row in _having(key, rows)]
    values += [row["value"] for row in thresholds]
    values = [value for value in values if value > 0]
    limits = [row["limit"] for row in _having("limit", rows)]
    if limits:
        # Room for the name of a least time below it.
        values.append(min(limits) * (max(values) / min(values)) ** -0.09)
    return [{"value": value} for value in values]
