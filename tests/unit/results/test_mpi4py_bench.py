from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "results" / "mpi4py"


def table(name: str) -> Table:
    results = read_results(FIXTURES / name)
    assert results.n_unread == 0
    [found] = results.tables
    return found


def test_times_become_microseconds_exactly() -> None:
    found = table("pingpong_4.1.2.txt")
    assert (found.tool, found.benchmark, found.n_ranks) == ("mpi4py", "latency", 2)
    printed = (FIXTURES / "pingpong_4.1.2.txt").read_text().splitlines()[2].split()
    assert found.rows[0].metrics == {
        "bandwidth_mb_s": float(printed[1]),
        "latency_us": float(printed[3].replace("e-06", "")),
        "latency_us_stdev": float(printed[5].replace("e-07", "e-01")),
        "iterations": float(printed[6]),
    }


@pytest.mark.parametrize("name", ["pingpong_4.1.2.txt", "pingpong_pickle_4.1.2.txt"])
def test_bandwidth_is_size_over_time(name: str) -> None:
    for row in table(name).rows:
        by_time = (row.size_bytes or 0) / row.metrics["latency_us"]
        assert row.metrics["bandwidth_mb_s"] == pytest.approx(by_time, abs=0.005, rel=1e-5)


def test_rows_without_any_header_are_known_by_their_form() -> None:
    found = table("pingpong_no_header_4.1.2.txt")
    assert (found.test, len(found.rows)) == ("pingpong", 11)
    assert found.rows[0].metrics["latency_us"] == 1.4999389


def test_without_statistics_there_is_only_a_bandwidth() -> None:
    found = table("pingpong_no_stats_4.1.2.txt")
    assert found.rows[-1].metrics == {"bandwidth_mb_s": 7268.88}


def test_the_ring_gives_the_time_of_one_loop() -> None:
    found = table("ringtest_4.1.2.txt")
    assert (found.test, found.benchmark, found.n_ranks) == ("ringtest", "", 4)
    assert found.rows[0].metrics["latency_us"] == pytest.approx(0.00806843 / 100 * 1e6)
    assert found.rows[0].size_bytes == 1024


def test_a_pool_of_executors_gives_tasks_per_second() -> None:
    found = table("futures_4.1.2.txt")
    assert (found.test, found.benchmark) == ("futures", "")
    assert found.conditions["workers"] == "1"
    assert found.rows[0].metrics["transactions_per_s"] == 1654


def test_latin_1_costs_no_row() -> None:
    text = (FIXTURES / "pingpong_4.1.2.txt").read_text()
    latin = read_results_text(text.encode("latin-1"), "x")
    assert latin.tables == read_results_text(text.encode(), "x").tables
