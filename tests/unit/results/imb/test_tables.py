from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "imb"


def tables(name: str) -> dict[str, Table]:
    return {table.test: table for table in read_results(FIXTURES / name).tables}


def test_each_benchmark_has_its_own_columns() -> None:
    found = tables("imb_2021.11_excerpts.txt")
    assert {test: table.benchmark for test, table in found.items()} == {
        "PingPong": "latency",
        "Sendrecv": "sendrecv",
        "Allreduce": "allreduce",
        "Barrier": "barrier",
    }
    assert found["Allreduce"].rows[0].metrics == {
        "iterations": 1000,
        "latency_us_min": 2.94,
        "latency_us_max": 3.16,
        "latency_us": 3.05,
    }
    assert found["Barrier"].rows[0].size_bytes is None
    assert found["PingPong"].rows[1].metrics["bandwidth_mb_s"] == 11688.60


def test_before_2018_a_mbyte_is_two_to_the_twenty() -> None:
    table = tables("imb_4.0_pingpong.txt")["PingPong"]
    assert table.conditions["mbyte"] == "2^20"
    assert (table.version, table.n_ranks, table.conditions["waiting"]) == ("4.0", 2, "62")
    last = table.rows[-1]
    assert last.size_bytes == 4194304
    assert last.metrics["bandwidth_mb_s"] == pytest.approx(4194304 / 675.20, rel=1e-4)


@pytest.mark.parametrize(("test", "n_times"), [("Sendrecv", 2), ("Exchange", 4)])
def test_sendrecv_counts_twice_and_exchange_four_times(test: str, n_times: int) -> None:
    table = tables("imb_issue_37_excerpts.txt")[test]
    assert table.conditions["mbyte"] == "1e6"
    for row in table.rows:
        by_time = n_times * (row.size_bytes or 0) / row.metrics["latency_us_max"]
        assert row.metrics["bandwidth_mb_s"] == pytest.approx(by_time, rel=1e-3)


def test_the_tables_own_times_outweigh_the_version() -> None:
    text = (FIXTURES / "imb_4.0_pingpong.txt").read_text()
    newer = text.replace("Benchmarks 4.0", "Benchmarks 2021.3").encode()
    [table] = read_results_text(newer, "x").tables
    assert table.version == "2021.3"
    assert table.conditions["mbyte"] == "2^20"


def test_one_table_for_each_number_of_processes() -> None:
    results = read_results(FIXTURES / "imb_2021.2_alltoall.txt")
    assert [table.n_ranks for table in results.tables] == [2, 4]
    assert results.tables[0].rows[-1].line == 40
    assert results.n_unread == 0


def test_groups_run_at_once_are_distinguished() -> None:
    table = tables("imb_2.3_groups.txt")["PingPong"]
    assert table.conditions["multi"] == "yes"
    assert (table.conditions["groups"], table.n_ranks) == ("2", 2)
    assert [(row.size_bytes, row.labels["group"]) for row in table.rows] == [
        (0, "0"),
        (0, "1"),
        (1, "0"),
    ]


def test_overlap_columns_and_an_unknown_one_are_kept() -> None:
    results = read_results(FIXTURES / "imb_2018_nbc.txt")
    [table] = results.tables
    assert (table.benchmark, table.conditions["blocking"]) == ("", "no")
    assert table.rows[0].metrics == {
        "iterations": 1000,
        "overall_us": 0.63,
        "pure_comm_us": 0.30,
        "compute_us": 0.30,
        "overlap_percent": 0.0,
    }
    assert table.rows[0].other == {"defects": "0.00"}
    assert [line.line for line in results.unread] == [22]


def test_message_rates_are_in_millions() -> None:
    [table] = tables("uniband_excerpt.txt").values()
    assert table.benchmark == "message_rate"
    assert table.rows[0].metrics["msg_rate_mps"] == 2.189915


@pytest.mark.parametrize(("test", "directions"), [("Uniband", "1"), ("Biband", "2")])
def test_pairs_and_directions_tell_an_aggregate_from_one_pair(test: str, directions: str) -> None:
    text = (
        f"# Benchmarking {test}\n# #processes = 8\n"
        "#bytes #repetitions   Mbytes/sec      Msg/sec\n1024 1000 1024.00 1000000\n"
    )
    [table] = read_results_text(text.encode(), "x").tables
    assert (table.conditions["pairs"], table.conditions["directions"]) == ("4", directions)


def test_a_title_that_lost_its_hash_and_rows_to_the_left_are_read() -> None:
    results = read_results(FIXTURES / "left_aligned_pingpong.txt")
    assert [len(table.rows) for table in results.tables] == [12]
    assert results.tables[0].conditions["directions"] == "1"
    text = (FIXTURES / "left_aligned_pingpong.txt").read_text().replace("# Bench", "Bench")
    [table] = read_results_text(text.encode(), "x").tables
    assert (table.test, table.n_ranks) == ("PingPong", 2)


def test_a_timed_out_sample_is_no_row() -> None:
    text = (
        "# Benchmarking Alltoall\n# #processes = 64\n"
        "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        "            8         1000         1.00         3.00         2.00\n"
        "      4194304 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over\n"
    )
    results = read_results_text(text.encode(), "x")
    assert [row.size_bytes for row in results.tables[0].rows] == [8]
    assert results.n_unread == 0
