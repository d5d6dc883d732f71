"""Axes, scales and the look of every chart: sizes and values on logarithmic axes, with units."""

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log2, log10
from typing import Any, TypeVar

import altair as alt

Row = Mapping[str, Any]
Channel = TypeVar("Channel", alt.X, alt.Y)

WIDTH = 470
HEIGHT = 270
INK = "#222222"
_GRID = "#dddddd"
_SIZE_LABEL = (
    "datum.value < 1024 ? datum.value + ' B' : datum.value < 1048576 ? datum.value / 1024 + ' KiB'"
    " : datum.value < 1073741824 ? datum.value / 1048576 + ' MiB'"
    " : datum.value / 1073741824 + ' GiB'"
)
_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, 'Liberation Sans', Arial, sans-serif",
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": _GRID,
        "domainColor": INK,
        "tickColor": INK,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "title": None,
        "orient": "top",
        "direction": "horizontal",
        "columns": 2,
        "labelLimit": 420,
        "symbolStrokeWidth": 2,
    },
    "header": {"labelFontSize": 12},
    "view": {"stroke": None},
}


class _Rows(str):
    """The name of a chart's data that carries the data: Altair copies what stands inside a
    specification a dozen times, and keeps a name as it is."""

    __slots__ = ("rows",)
    rows: list[Row]


def chart_of(rows: Sequence[Row]) -> alt.Chart:
    """A chart of rows, which `finished` puts into the specification."""
    name = _Rows("rows")
    name.rows = list(rows)
    return alt.Chart(alt.NamedData(name=name))


def has_rows(chart: alt.Chart) -> bool:
    """Whether a chart of `chart_of` has any row."""
    return bool(chart.data.name.rows)


def field_on(channel: type[Channel], scale: alt.Scale, axis: alt.Axis) -> Callable[[str], Channel]:
    """By the name of a field of figures, its channel on this scale and axis."""
    return lambda field: channel(f"{field}:Q", scale=scale, axis=axis)


def layered(*charts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Charts on one another, the last on top."""
    layered = alt.layer(*charts)
    assert isinstance(layered, alt.LayerChart)
    return layered


def size_axis(rows: Sequence[Row], field: str = "size_bytes") -> alt.X:
    """`field` on a logarithmic axis with binary units that spans the `size_bytes` (above 0)."""
    sizes = [row["size_bytes"] for row in rows]
    low, high = floor(log2(min(sizes))), ceil(log2(max(sizes)))
    step = max(1, ceil((high - low) / 8))
    return alt.X(
        f"{field}:Q",
        scale=alt.Scale(type="log", base=2, domain=[2.0 ** (low - 0.5), 2.0 ** (high + 0.5)]),
        axis=alt.Axis(
            title="message size",
            values=[2**exponent for exponent in range(low, high + 1, step)],
            labelExpr=_SIZE_LABEL,
            labelOverlap=True,
        ),
    )


def node_axis(rows: Sequence[Row], field: str = "nodes") -> alt.X:
    """`field` on a logarithmic axis with a tick at each number of `nodes` that was measured."""
    counts = sorted({int(row["nodes"]) for row in rows})
    domain = [counts[0] / 1.15, counts[-1] * 1.15]
    axis = alt.Axis(title="nodes", values=counts, format=",~r", labelOverlap=True)
    return alt.X(f"{field}:Q", scale=alt.Scale(type="log", base=2, domain=domain), axis=axis)


def log_field(channel: type[Channel], rows: Sequence[Row], title: str) -> Callable[[str], Channel]:
    """By the name of a field of figures, its channel on a logarithmic axis that holds `value`
    (above 0), `low` and `high` of every row, with ticks at round values."""
    low, high = log_domain(rows)
    scale = alt.Scale(type="log", domain=[low, high], nice=False)
    axis = alt.Axis(title=title, values=log_ticks(low, high), format=",~r")
    return field_on(channel, scale, axis)


def log_domain(rows: Sequence[Row]) -> tuple[float, float]:
    """The ends of such an axis."""
    values = [float(row.get(key, row["value"])) for row in rows for key in ("low", "high")]
    return min(values) / 1.15, max(values) * 1.15


def log_ticks(low: float, high: float) -> list[float]:
    """The coarsest of three ladders with at least four ticks between `low` and `high`, else even
    steps."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    ticks: list[float] = []
    for steps in ((1.0,), (1.0, 2.0, 5.0), (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 4:
            return ticks
    return _even_ticks(low, high)


def _even_ticks(low: float, high: float) -> list[float]:
    """Round values at even distances, where the ends are too close for any ladder."""
    rough = (high - low) / 8
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    first, last = ceil(low / step), floor(high / step)
    return [round(number * step, 12) for number in range(first, last + 1)]


def padded_scale(values: Sequence[float]) -> alt.Scale:
    """A linear scale with some room around the values."""
    low, high = min(values), max(values)
    margin = (high - low) * 0.06 or abs(high) * 0.05 or 1.0
    return alt.Scale(domain=[low - margin, high + margin], nice=False, zero=False)


def finished(
    chart: alt.LayerChart | alt.VConcatChart,
    description: str,
    *,
    width: int = WIDTH,
    height: int = HEIGHT,
) -> dict[str, Any]:
    """The specification, described for screen readers, in the house's look."""
    described = chart.properties(description=description)
    if isinstance(described, alt.LayerChart):
        described = described.properties(width=width, height=height)
    spec: dict[str, Any] = _with_rows(described.to_dict(validate=False))
    # The page renders its own library's dialect; an address in it would only look like a request.
    spec.pop("$schema", None)
    spec["config"] = _CONFIG
    return spec


def _with_rows(part: Any) -> Any:
    """A part of a specification with its rows in the place of their names."""
    if isinstance(part, list):
        return [_with_rows(one) for one in part]
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("name"), _Rows):
        return {"values": part["name"].rows}
    return {key: _with_rows(one) for key, one in part.items()}
