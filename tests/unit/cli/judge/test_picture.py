"""The picture in plain characters."""

import pytest

from weft.cli.judge.picture import picture
from weft.expect.model import Expectation
from weft.judge.model import JudgedRow, RowState
from weft.results.model import Row, Table

TABLE = Table("osu", "t", "bandwidth", (), 1)


def row(
    size: int,
    value: float,
    span: tuple[float, float] | None = None,
    limit: float | None = None,
    metric: str = "bandwidth_mb_s",
) -> JudgedRow:
    found = None
    if span is not None:
        unit = "us" if metric == "latency_us" else "MB/s"
        middle = (span[0] * span[1]) ** 0.5
        found = Expectation(metric, middle, unit, *span, "b", "f", "s", limit=limit)
    made = Row(1, size, {metric: value})
    return JudgedRow(TABLE, made, metric, value, RowState.NORMAL, expectation=found)


def test_measured_band_and_limit_lie_in_order_on_one_axis() -> None:
    legend, line = picture([row(4194304, 50.0, (80.0, 120.0), 150.0)], width=60)
    assert "log scale" in legend
    assert line.startswith("     4 MiB  ")
    marks = [line.index(mark) for mark in "o[]|"]
    assert marks == sorted(marks)


def test_lines_are_as_wide_as_asked_and_plain_ascii() -> None:
    lines = picture([row(8, 1.0, (0.5, 2.0), 3.0), row(16, 900.0, (500.0, 2000.0))], width=50)
    assert all(len(line) <= 62 for line in lines)
    assert all(line.isascii() for line in lines)


def test_rows_of_two_metrics_are_drawn_as_shares_the_better_the_farther_right() -> None:
    slow_time = row(8, 100.0, (9.0, 11.0), metric="latency_us")
    slow_rate = row(1024, 10.0, (90.0, 110.0))
    legend, *lines = picture([slow_time, slow_rate], width=60)
    assert "share of what is expected" in legend
    assert [line.index("o") for line in lines] == [lines[0].index("o")] * 2
    assert all(line.index("o") < line.index("[") for line in lines)


@pytest.mark.parametrize("rows", [[], [row(8, 1.0)]])
def test_nothing_is_drawn_without_an_expectation(rows: list[JudgedRow]) -> None:
    assert picture(rows) == []


def test_a_limit_far_away_is_not_drawn() -> None:
    _, line = picture([row(8, 1.0, (0.5, 2.0), 1e6)], width=60)
    assert "|" not in line
