"""Charts as documents: valid Vega-Lite, readable without colour, axes with units."""

from typing import Any

import altair as alt
import pytest

from weft.report.charts import vega as charts

ROWS = [
    {
        "size_bytes": size,
        "size": f"{size} B",
        "series": series,
        "segment": series,
        "value": 1.5 + size / 1000,
        "low": 1.4 + size / 1000,
        "high": 1.6 + size / 1000,
    }
    for series in ("a < b", 'with "quotes"')
    for size in (1, 1024, 4 << 20)
]


def fit_chart() -> dict[str, Any]:
    roles = [charts.FITTED, charts.HELD_OUT, charts.ANOMALY]
    measured = [
        {**row, "role": roles[i], "error_percent": 3.0 if i == 1 else None}
        for i, row in enumerate(ROWS[:3])
    ]
    predicted = [{"size_bytes": row["size_bytes"], "value": row["value"]} for row in ROWS[:3]]
    return charts.fit(measured, predicted, y_title="latency (µs)", description="d")


def strip_chart() -> dict[str, Any]:
    rows = [{**ROWS[0], "label": "one", "values": [1.4, 1.5]}]
    return charts.strip(rows, x_title="latency (µs)", description="d", reference=1.0)


def scaling_chart(*, is_share: bool) -> dict[str, Any]:
    rows = [{**row, "nodes": 2, "scale": "2 nodes x 1 rank"} for row in ROWS]
    return charts.scaling(rows, y_title="share", description="d", is_share=is_share)


CHARTS = {
    "scaling": lambda: scaling_chart(is_share=False),
    "scaling of a share": lambda: scaling_chart(is_share=True),
    "curve": lambda: charts.curve(ROWS, y_title="latency (µs)", description="d"),
    "ratio": lambda: charts.ratio(ROWS, y_title="ratio", description="d"),
    "strip": strip_chart,
    "fit": fit_chart,
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_valid_vega_lite(name: str) -> None:
    spec = CHARTS[name]()
    alt.Chart.from_dict(spec, validate=True)
    assert spec["description"] == "d"
    assert "$schema" not in spec


def test_two_series_differ_in_shape_and_dash_as_well_as_colour() -> None:
    layers = CHARTS["curve"]()["layer"]
    dashes = [
        str(layer["mark"].get("strokeDash")) for layer in layers if "strokeDash" in layer["mark"]
    ]
    assert len(dashes) == len(set(dashes)) == 2
    points = next(layer for layer in layers if layer["mark"]["type"] == "point")
    shapes = points["encoding"]["shape"]["scale"]["range"]
    assert len(set(shapes)) == len(shapes) >= 2


def test_the_legend_is_there_only_for_several_series() -> None:
    def legends(spec: dict[str, Any]) -> list[Any]:
        return [layer["encoding"]["color"].get("legend") for layer in spec["layer"]]

    assert all(legend is not None for legend in legends(CHARTS["curve"]()))
    alone = charts.curve(ROWS[:3], y_title="latency (µs)", description="d")
    assert all(legend is None for legend in legends(alone))


@pytest.mark.parametrize(("low", "high"), [(0.9, 1.3), (1.0, 9.0), (0.3, 450.0), (1.5, 26_000.0)])
def test_a_logarithmic_axis_has_several_ticks_inside_its_range(low: float, high: float) -> None:
    rows = [{**ROWS[0], "value": value, "low": value, "high": value} for value in (low, high)]
    spec = charts.curve(rows, y_title="latency (µs)", description="d")
    ticks = next(
        layer["encoding"]["y"]["axis"]["values"]
        for layer in spec["layer"]
        if layer["mark"]["type"] == "point"
    )
    assert 3 <= len(ticks) <= 20
    assert ticks == sorted(ticks)
    assert all(low / 1.2 <= tick <= high * 1.2 for tick in ticks)


def test_the_size_axis_names_binary_sizes_and_covers_every_row() -> None:
    x = CHARTS["curve"]()["layer"][0]["encoding"]["x"]
    low, high = x["scale"]["domain"]
    assert low < 1
    assert high > 4 << 20
    assert x["axis"]["title"] == "message size"
    assert "KiB" in x["axis"]["labelExpr"]
    assert all(value & (value - 1) == 0 for value in x["axis"]["values"])
