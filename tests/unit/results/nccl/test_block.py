from pathlib import Path

import pytest

from weft.results.model import ResultFile, Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "nccl-tests"
HEADER = "size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
GROUP = "100.0 10.49 18.35 0"


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def table_of(text: str) -> Table:
    [table] = read_results_text(text.encode(), "x").tables
    return table


def test_a_column_before_the_size_is_read_by_its_header() -> None:
    # NVIDIA/nccl issue 527: the poster put the number of machines first.
    results = read("column-before-size.txt")
    values = [table.conditions["before_size"] for table in results.tables]
    assert values == ["p4dn 1", "p4dn 2", "p4dn 3", "p4dn 4"]
    assert [table.n_ranks for table in results.tables] == [8, 16, 24, 32]
    assert {row.size_bytes for table in results.tables for row in table.rows} == {1073741824}
    assert {table.benchmark for table in results.tables} == {"allreduce"}
    assert results.tables[1].rows[0].labels["before_size"] == "p4dn 2"
    assert results.n_unread == 0


@pytest.mark.parametrize("value", ["4", "n4", "run-4"])
def test_any_word_may_stand_before_the_size(value: str) -> None:
    row = f"{value} 1048576 262144 float sum -1 {GROUP} {GROUP}\n"
    table = table_of(f"# nodes {HEADER}{row}")
    assert [row.size_bytes for row in table.rows] == [1048576, 1048576]
    assert table.rows[0].labels["before_size"] == f"nodes {value}"


def test_devices_and_footer_that_lost_their_hash_are_read() -> None:
    [table] = read("devices-without-hash.txt").tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (8, 1, 8)
    assert table.devices == ("NVIDIA H100 80GB HBM3",) * 8
    table = table_of(
        f"{HEADER}1048576 262144 float sum -1 {GROUP} {GROUP}\n"
        "Out of bounds values : 0 OK\nAvg bus bandwidth    : 18.35\n"
    )
    assert table.conditions["average_bus_bandwidth_gb_s"] == "18.35"


def test_a_device_list_cut_at_its_head_counts_by_its_highest_rank() -> None:
    [table] = read("device-list-cut-at-its-head.txt").tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (16, 2, 8)
    assert table.conditions["ranks_listed"] == "9"


def test_one_process_with_all_gpus_is_one_node() -> None:
    [table] = read("one-process-four-gpus.txt").tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (4, 1, 4)
    assert table.conditions["ranks_from"].startswith("-g and -t of the command")
    assert table.conditions["nodes_from"].startswith("one process drives all GPUs")


def test_the_gpus_of_a_process_are_not_all_ranks_where_the_bandwidths_say_more() -> None:
    table = table_of(
        f"./build/all_reduce_perf -g 4\n{HEADER}1048576 262144 float sum -1 {GROUP} {GROUP}\n"
    )
    assert (table.n_ranks, table.n_nodes) == (8, None)
