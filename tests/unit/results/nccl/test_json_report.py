import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.results.nccl.json_report import read_json
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results"
DOCUMENT = (FIXTURES / "nccl-tests" / "all-reduce.json").read_text()


def changed(**values: Any) -> str:
    return json.dumps({**json.loads(DOCUMENT), **values})


def test_a_document_gives_the_same_rows_as_the_text_of_the_run() -> None:
    [table] = read_results(FIXTURES / "nccl-tests" / "all-reduce.json").tables
    [text] = read_results(FIXTURES / "nccl-tests" / "a100-8-excerpt.txt").tables
    shared = ("latency_us", "algbw_gb_s", "busbw_gb_s")
    for row, printed in zip(table.rows, text.rows, strict=True):
        assert row.labels["placement"] == printed.labels["placement"]
        assert row.labels["root"] == printed.labels["root"]
        assert row.size_bytes == printed.size_bytes
        assert {k: row.metrics[k] for k in shared} == {k: printed.metrics[k] for k in shared}
    assert (table.test, table.benchmark) == (text.test, text.benchmark)
    assert table.conditions["nccl_version"] == text.conditions["nccl_version"]


def test_times_of_single_iterations_become_percentiles() -> None:
    result = read_json(DOCUMENT)
    assert result is not None
    row = result.tables[0].rows[0]
    assert row.metrics["latency_us_p99"] == 32410.25
    assert row.metrics["latency_us_cv_percent"] == 0.0789
    assert "n_wrong" not in result.tables[0].rows[1].metrics


def test_a_process_with_eight_gpus_counts_eight_ranks() -> None:
    result = read_json(DOCUMENT)
    assert result is not None
    [table] = result.tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (8, 1, 8)
    assert len(table.devices) == 8


def test_a_number_of_threads_that_no_process_has_is_no_number_of_ranks() -> None:
    config = {**json.loads(DOCUMENT)["config"], "nthreads": 56543}
    result = read_json(changed(config=config))
    assert result is not None
    [table] = result.tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (None, 1, None)
    assert table.devices == ("NVIDIA A100-SXM4-80GB",)
    assert table.conditions["threads"] == "56543"
    assert result.remarks == (
        "ranks not counted: 452344 GPUs a process, 1 listed: no job has so many",
    )


@given(n_threads=st.integers(1, 1 << 53), n_gpus=st.integers(1, 1 << 53))
def test_what_is_read_grows_with_the_document_and_not_with_its_numbers(
    n_threads: int, n_gpus: int
) -> None:
    config = {**json.loads(DOCUMENT)["config"], "nthreads": n_threads, "ngpus": n_gpus}
    result = read_json(changed(config=config))
    assert result is not None
    [table] = result.tables
    assert len(table.devices) <= 640
    assert (table.n_ranks is None) == bool(result.remarks)
    assert table.n_ranks in (None, n_threads * n_gpus)


def test_the_environment_leaves_the_reader_whole_and_the_file_without_secrets() -> None:
    result = read_json(DOCUMENT)
    assert result is not None
    assert result.environment["API_TOKEN"] == "verysecret"
    kept = read_results(FIXTURES / "nccl-tests" / "all-reduce.json")
    assert "verysecret" not in json.dumps(kept.to_record())


@pytest.mark.parametrize("value", ["nan", "inf", None, -1.0, True, [1.0], {}, "1e400", 10**400])
def test_a_time_that_is_no_number_costs_its_row_only(value: Any) -> None:
    results = json.loads(DOCUMENT)["results"]
    results[0]["out_of_place"]["time"] = value
    result = read_json(changed(results=results))
    assert result is not None
    [row] = result.tables[0].rows
    assert row.labels["placement"] == "in-place"


def test_numbers_written_as_texts_are_read() -> None:
    results = json.loads(DOCUMENT)["results"]
    results[0]["size"], results[0]["out_of_place"]["time"] = "4294967296", "32336.0"
    result = read_json(changed(results=results))
    assert result is not None
    assert len(result.tables[0].rows) == 2


def test_a_result_without_size_is_remarked() -> None:
    result = read_json(changed(results=[{"type": "float"}]))
    assert result is not None
    assert result.tables == ()
    assert result.remarks == ("1 results without a size, a time or a bandwidth",)


def test_errors_of_the_tool_are_remarks() -> None:
    result = read_json(changed(errors=["unhandled cuda error"]))
    assert result is not None
    assert result.remarks == ("the tool reports: unhandled cuda error",)


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"results": 3, "nccl_version": 1}', '["results", "nccl_version"]', "[" * 100_000],
)
def test_other_documents_are_not_claimed(text: str) -> None:
    assert read_json(text) is None
    assert read_json(text + '"results" "nccl_version"') is None


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(key=st.sampled_from(sorted(json.loads(DOCUMENT))), value=JSON_VALUES)
def test_any_value_under_any_key_is_survived(key: str, value: Any) -> None:
    result = read_json(changed(**{key: value}))
    assert result is None or all(table.rows for table in result.tables)


@settings(max_examples=100)
@given(path=st.sampled_from(["devices", "nthreads", "ngpus"]), value=JSON_VALUES)
def test_any_configuration_is_survived(path: str, value: Any) -> None:
    config = {**json.loads(DOCUMENT)["config"], path: value}
    result = read_json(changed(config=config))
    assert result is not None
    assert len(result.tables[0].rows) == 2


NUMBERS = st.floats(0.5, 5e5).map(lambda value: round(value, 2))


@settings(max_examples=60)
@given(values=st.lists(NUMBERS, min_size=6, max_size=6), size=st.integers(4, 1 << 40))
def test_text_and_document_of_one_run_agree(values: list[float], size: int) -> None:
    header = "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong"
    cells = [f"{value:.2f}" for value in values]
    line = f"{size} {size} int8 sum -1 {' '.join(cells[:3])} 0 {' '.join(cells[3:])} 0"
    bodies = [
        dict(zip(("time", "alg_bw", "bus_bw", "nwrong"), [*part, 0.0], strict=True))
        for part in (values[:3], values[3:])
    ]
    record = {"size": size, "count": size, "type": "int8", "redop": "sum", "root": "    -1"}
    document = {
        "nccl_version": 22605,
        "results": [{**record, "out_of_place": bodies[0], "in_place": bodies[1]}],
    }
    [text] = read_results_text(f"{header}\n{line}\n".encode(), "a").tables
    [found] = read_results_text(json.dumps(document).encode(), "b").tables
    assert [row.metrics for row in found.rows] == [row.metrics for row in text.rows]
    assert [row.labels for row in found.rows] == [row.labels for row in text.rows]
