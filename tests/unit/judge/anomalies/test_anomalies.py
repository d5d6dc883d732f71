"""What a table says against its own rows, without any platform."""

from weft.judge.anomalies.anomalies import row_anomalies, series_of
from weft.judge.rules import rules
from weft.results.model import Row, Table

SIZES = [2**i for i in range(20)]


def table(rows: list[Row], tool: str = "osu") -> Table:
    return Table(tool, "t", "latency", tuple(rows), 1)


def latency(size: int) -> float:
    return 2 + 2.6e-4 * size


def test_a_row_outside_its_curve_is_reported_with_its_factor_and_side() -> None:
    rows = [Row(i, size, {"latency_us": latency(size)}) for i, size in enumerate(SIZES)]
    rows[9] = Row(9, SIZES[9], {"latency_us": 4 * latency(SIZES[9])})
    (anomaly,) = row_anomalies(table(rows), None, rules()).values()
    assert anomaly.of_curve
    assert "latency_us at 512 B is a factor of" in anomaly.text
    assert "above" in anomaly.text


def test_series_with_different_labels_are_different_curves() -> None:
    rows = [
        Row(i, size, {"latency_us": factor * latency(size)}, {"placement": place})
        for place, factor in (("in-place", 1.0), ("out-of-place", 1.4))
        for i, size in enumerate(SIZES)
    ]
    assert row_anomalies(table(rows, "nccl-tests"), None, rules()) == {}


def test_an_algorithm_that_changes_with_the_size_does_not_break_a_curve() -> None:
    assert series_of(Row(1, 8, {}, {"algorithm": "Ring", "placement": "in-place"})) == series_of(
        Row(2, 16, {}, {"algorithm": "Tree", "placement": "in-place"})
    )


def test_one_of_many_repeats_that_lies_apart_is_found() -> None:
    rows = [Row(i, 8388608, {"bandwidth_mb_s": 24500.0 + i}, {}) for i in range(8)]
    rows[3] = Row(3, 8388608, {"bandwidth_mb_s": 12250.0})
    assert list(row_anomalies(table(rows, "perftest"), None, rules())) == [3]


def test_in_place_and_out_of_place_that_differ_are_both_doubted() -> None:
    rows = [
        Row(1, 2**34, {"latency_us": 92190.0}, {"placement": "out-of-place"}),
        Row(1, 2**34, {"latency_us": 2 * 92190.0}, {"placement": "in-place"}),
    ]
    found = row_anomalies(table(rows, "nccl-tests"), None, rules())
    assert sorted(found) == [0, 1]
    assert "differ by a factor of 2" in found[0].text
