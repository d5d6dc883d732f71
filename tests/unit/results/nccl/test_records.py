from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.model import Table
from weft.results.nccl.records import opens, read_json
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "rccl-tests"
LINES = (FIXTURES / "output-file.jsonl").read_text()


def table_of(name: str) -> Table:
    [table] = read_results(FIXTURES / name).tables
    return table


def test_json_lines_are_one_table_with_a_row_a_record() -> None:
    table = table_of("output-file.jsonl")
    assert (table.tool, table.test, table.benchmark) == (
        "rccl-tests",
        "all_reduce_perf",
        "allreduce",
    )
    assert table.n_ranks == 4
    assert [row.line for row in table.rows] == [1, 2, 3, 4]
    assert [row.labels["placement"] for row in table.rows[:2]] == ["out-of-place", "in-place"]
    assert table.rows[0].metrics == {
        "latency_us": 19.184150000000002,
        "algbw_gb_s": 0.05337739748698796,
        "busbw_gb_s": 0.08006609623048194,
        "n_wrong": 0.0,
    }


def test_records_between_log_lines_keep_their_line_numbers() -> None:
    first, second, *_ = LINES.splitlines()
    text = f"starting\n{first}\nhost:1:2 [0] NCCL INFO AllReduce\n{second}\n"
    results = read_results_text(text.encode(), "log.txt")
    assert [row.line for table in results.tables for row in table.rows] == [2, 4]


@pytest.mark.parametrize(
    "name", ["output-file.csv", "output-file-13-names-14-fields.csv", "output-file-list.json"]
)
def test_list_and_csv_say_the_same_even_where_the_header_lacks_a_name(name: str) -> None:
    table = table_of(name)
    row = table.rows[0]
    assert table.n_ranks == 8
    assert (row.size_bytes, row.labels["type"], row.labels["redop"]) == (1048576, "float", "sum")
    assert row.metrics == {
        "latency_us": 55.66,
        "algbw_gb_s": 18.84,
        "busbw_gb_s": 32.97,
        "n_wrong": 0.0,
    }


def test_the_number_of_communicators_is_not_taken_for_nodes() -> None:
    assert table_of("output-file-list.json").n_nodes is None


def test_a_row_with_other_columns_than_the_header_is_refused() -> None:
    text = (FIXTURES / "output-file.csv").read_text() + "0,AllReduce,1\n"
    results = read_results_text(text.encode(), "x.csv")
    assert [line.line for line in results.unread] == [3]
    assert "other columns than its header" in results.unread[0].reason


def test_a_cut_record_is_refused() -> None:
    data = (LINES.splitlines()[0] + "\n" + '{"algBw":1.0,"busBw":').encode()
    results = read_results_text(data, "x.jsonl")
    assert len(results.tables[0].rows) == 1
    assert results.n_unread == 1


def test_other_json_is_left_alone() -> None:
    assert read_json('[{"name": 1}]') is None
    assert read_json('{"algBw": 1, "busBw": 2}') is None
    assert not opens('{"name": 1}')


@settings(max_examples=150)
@given(cut=st.integers(0, len(LINES)), new=st.text(max_size=6))
def test_no_damage_raises_anything_but_an_input_error(cut: int, new: str) -> None:
    text = LINES[:cut] + new + LINES[cut:]
    try:
        results = read_results_text(text.encode("utf-8", "replace"), "x.jsonl")
    except InputError:
        return
    assert all(row.size_bytes is not None for table in results.tables for row in table.rows)
