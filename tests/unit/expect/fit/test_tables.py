"""Tables that can be fitted, and what is said about those that cannot."""

import pytest

from weft.core.errors import InputError
from weft.expect.fit.tables import CheckedTable, MeasuredTable, checked, message_us, pace_rows

SIZES = [2**k for k in range(12)]


def latency(source: str = "latency.txt") -> MeasuredTable:
    return MeasuredTable("latency", tuple((s, 2 + 1e-3 * s) for s in SIZES), source)


def windows(benchmark: str, pace_us: float, window: int = 64) -> MeasuredTable:
    """Windows of n take n - 1 paces and a latency of 2 us (and of the answer, one way)."""
    n_latencies = 1 if benchmark == "bidirectional" else 2
    ways = 2 if benchmark == "bidirectional" else 1
    took_us = (window - 1) * pace_us + n_latencies * 2.0
    rows = tuple((s, ways * window * s / took_us) for s in SIZES)
    return MeasuredTable(benchmark, rows, f"{benchmark}.txt", window=window)


@pytest.mark.parametrize("benchmark", ["bandwidth", "bidirectional"])
@pytest.mark.parametrize("window", [2, 16, 64])
def test_a_pace_is_what_a_window_takes_without_its_latencies(benchmark: str, window: int) -> None:
    _, table = checked([latency(), windows(benchmark, 1.5, window)])
    for _, pace in pace_rows(table, lambda _: 2.0):
        assert pace == pytest.approx(1.5)


def test_latency_comes_first_whatever_order_files_have() -> None:
    tables = checked([windows("bidirectional", 1), windows("bandwidth", 1), latency()])
    assert [t.table.benchmark for t in tables] == ["latency", "bandwidth", "bidirectional"]


def test_halves_take_every_second_row_and_share_none() -> None:
    (table,) = checked([latency()])
    first, second = table.half(0), table.half(1)
    assert first.sizes == tuple(SIZES[::2])
    assert second.sizes == tuple(SIZES[1::2])


def test_an_anomaly_of_a_bandwidth_is_found_in_its_times() -> None:
    table = windows("bandwidth", 1.5)
    rows = tuple((s, v / 4 if s == 64 else v) for s, v in table.rows)
    _, found = checked([latency(), MeasuredTable("bandwidth", rows, "b.txt")])
    assert [anomaly.size_bytes for anomaly in found.anomalies] == [64]
    assert 64 not in found.sizes
    assert found.all_rows == rows


def test_empty_messages_have_no_bandwidth() -> None:
    table = windows("bandwidth", 1.5)
    rows = ((0, 0.0), *table.rows)
    _, found = checked([latency(), MeasuredTable("bandwidth", rows, "b.txt")])
    assert 0 not in found.sizes


def test_a_message_takes_its_share_of_a_window() -> None:
    assert message_us(windows("bandwidth", 1), 100, 50.0) == pytest.approx(2.0)
    assert message_us(windows("bidirectional", 1), 100, 50.0) == pytest.approx(4.0)
    assert message_us(latency(), 100, 3.0) == 3.0


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "no latency table between two ranks"),
        ([windows("bandwidth", 1)], "bandwidth.txt: no latency table between two ranks"),
        ([latency("a"), latency("b")], "a and b: two latency tables"),
        (
            [MeasuredTable("latency", ((1, 2.0), (2, 2.0), (2, 2.1), (4, 2.0)), "t")],
            "t: 2 B appears twice in the latency table",
        ),
        (
            [MeasuredTable("latency", ((1, 2.0), (2, 2.0), (4, 2.0)), "t")],
            "t: 3 rows of the latency table are too few to fit half and predict the others",
        ),
        (
            [MeasuredTable("latency", tuple((s, 2.0) for s in range(300)), "t")],
            "t: 300 rows in the latency table",
        ),
        (
            [MeasuredTable("latency", ((1, 2.0), (2, -2.0), (4, 2.0), (8, 2.0)), "t")],
            "t: a value of the latency table is not a positive number",
        ),
        (
            [MeasuredTable("latency", ((1, 2.0), (2, float("inf")), (4, 2.0), (8, 2.0)), "t")],
            "not a positive number",
        ),
        (
            [
                MeasuredTable(
                    "latency", tuple((s, 9.0 if k % 2 else 1.0) for k, s in enumerate(SIZES)), "t"
                )
            ],
            "rows of the latency table break the rise with size",
        ),
    ],
)
def test_what_cannot_be_fitted_is_said_with_its_file(
    tables: list[MeasuredTable], message: str
) -> None:
    with pytest.raises(InputError) as error:
        checked(tables)
    assert message in str(error.value)


def one(table: MeasuredTable) -> CheckedTable:
    return checked([latency(), table])[1]


def test_a_window_shorter_than_one_latency_is_of_another_machine() -> None:
    fast = windows("bandwidth", 0.001)
    with pytest.raises(InputError, match="less than the latency of one") as error:
        pace_rows(one(fast), lambda _: 500.0)
    assert "--window" in str(error.value)


def test_windows_of_one_message_are_latencies() -> None:
    with pytest.raises(InputError, match="windows of one message"):
        pace_rows(one(windows("bandwidth", 1.0, window=1)), lambda _: 2.0)
