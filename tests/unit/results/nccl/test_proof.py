from pathlib import Path

import pytest

from weft.core.errors import InputError
from weft.results.model import ResultFile
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "nccl-tests"
HEADER = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
GROUP = "100.0 10.49 18.35 0"
OLD = "1048576 262144 float {0} {0}\n"


def read(text: str) -> ResultFile:
    return read_results_text(text.encode(), "x")


def test_old_rows_without_header_are_proved_by_size_over_time_and_the_footer() -> None:
    # Two GPUs: size / (count x 4) is 2, and the bandwidth counts one block of two.
    results = read_results(FIXTURES / "old-all-gather-without-header.txt")
    [table] = results.tables
    assert (table.test, table.benchmark, table.n_ranks) == ("all_gather_perf", "allgather", 2)
    assert table.conditions["ranks_from"] == "size over count x bytes of the type"
    assert table.conditions["algbw_counts"].startswith("(n - 1) / n of size over time")
    assert len(table.rows) == 10
    last = table.rows[-1]
    assert last.metrics == {"latency_us": 3070.3, "busbw_gb_s": 21.86}
    assert (last.size_bytes, last.other["algbw"]) == (134217728, "21.86")
    assert results.n_unread == 0


def test_rows_without_header_and_footer_need_three_that_agree() -> None:
    row = OLD.format("100.0 10.49 18.35 0e+00")
    assert len(read(row * 3).tables[0].rows) == 6
    with pytest.raises(InputError, match="do not prove its columns"):
        read(row * 2)


def test_rows_whose_numbers_do_not_agree_are_refused_by_line() -> None:
    rows = OLD.format("100.0 99.99 18.35 0e+00") * 4
    good = HEADER + f"1048576 262144 float sum -1 {GROUP} {GROUP}\n"
    results = read(rows + good)
    assert [row.line for row in results.tables[0].rows] == [6, 6]
    assert [line.line for line in results.unread] == [1, 2, 3, 4]


def test_a_first_size_whose_head_was_cut_is_refused() -> None:
    cut = f"48576 262144 float sum -1 {GROUP} {GROUP}\n"
    whole = f"1048576 262144 float sum -1 {GROUP} {GROUP}\n"
    results = read(cut + whole)
    assert [row.size_bytes for row in results.tables[0].rows] == [1048576, 1048576]
    assert [line.line for line in results.unread] == [1]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (f"1 1048576 262144 float -1 {GROUP} {GROUP}", "the type is a number"),
        (f"2 262144 float sum -1 {GROUP} {GROUP}", "more elements than bytes"),
        (f"1 1048576 262144 float sum -1 {GROUP} {GROUP}", "14 columns where the header has 13"),
    ],
)
def test_a_column_that_the_header_does_not_name_makes_no_size(row: str, reason: str) -> None:
    results = read(f"{HEADER}{row}\n1048576 262144 float sum -1 {GROUP} {GROUP}\n")
    assert {row.size_bytes for row in results.tables[0].rows} == {1048576}
    assert reason in results.unread[0].reason


def test_a_row_behind_an_unnamed_column_opens_no_table() -> None:
    with pytest.raises(InputError, match="no table of a known tool"):
        read(f"1 1048576 262144 float sum -1 {GROUP} {GROUP}\n")


def test_blocks_of_all_ranks_say_how_many_there_are() -> None:
    group = "100.0 10.49 9.18 0"
    [table] = read(f"{HEADER}1048576 32768 float none -1 {group} {group}\n").tables
    assert (table.test, table.n_ranks) == ("all_gather_perf", 8)
    unchecked = group[:-1] + "N/A"
    [table] = read(f"{HEADER}1048576 32768 float none -1 {unchecked} {unchecked}\n").tables
    assert (table.test, table.n_ranks) == ("", 8)
    assert table.conditions["test_could_be"] == "all_gather_perf, alltoall_perf"
