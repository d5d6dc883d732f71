"""ibv_rc_pingpong's two lines."""

from pathlib import Path

import pytest

from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "verbs-pingpong"


def test_an_iteration_is_one_message_each_way() -> None:
    tables = read_results(SAMPLES / "mlx4-three.txt").tables
    names = [table.test for table in tables]
    assert names == ["ibv_rc_pingpong", "ibv_srq_pingpong", "ibv_uc_pingpong"]
    assert [table.rows[0].metrics["latency_us"] for table in tables] == [4.6, 1.33, 4.565]
    assert {table.rows[0].size_bytes for table in tables} == {4096}


def test_its_rate_is_of_both_directions() -> None:
    """8 x bytes of both directions over the time of an iteration is the printed Mbit/s."""
    (row,) = read_results(SAMPLES / "soft-roce.txt").tables[0].rows
    assert row.size_bytes is not None
    assert 8 * row.size_bytes / row.metrics["latency_us"] == pytest.approx(30.79, rel=0.001)


@pytest.mark.parametrize(
    "lines",
    [
        "8192000 bytes in 0.01 seconds = 7121.93 Mbit/sec\n",
        "8192000 bytes in 0.01 seconds = 7.9 Mbit/sec\n0 iters in 0.01 seconds = 9.2 usec/iter\n",
        "8192001 bytes in 0.01 seconds = 7.9 Mbit/sec\n10 iters in 0.01 seconds = 9.2 usec/iter\n",
        "ibv_rc_pingpong n5\nCouldn't connect to n5:18515\n",
    ],
)
def test_halves_and_contradictions_are_no_table(lines: str) -> None:
    with pytest.raises(Exception, match="no table"):
        read_results_text(lines.encode(), "x")
