from pathlib import Path

import pytest

from weft.results.model import ResultFile, Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "osu"


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def test_a_title_without_version_and_a_row_of_zero_bytes_are_read() -> None:
    results = read("kaneshiro_2014_latency.txt")
    [table] = results.tables
    assert (table.tool, table.test, table.benchmark) == ("osu", "osu_latency", "latency")
    assert table.version == ""
    assert len(table.rows) == 24
    assert (table.rows[0].size_bytes, table.rows[0].metrics) == (0, {"latency_us": 3.28})
    assert (table.rows[-1].size_bytes, table.rows[-1].line) == (4194304, 26)
    assert results.n_unread == 0


def test_a_header_with_single_blanks_is_read() -> None:
    [table] = read("kaneshiro_2014_bibw.txt").tables
    assert (table.test, table.benchmark) == ("osu_bibw", "bidirectional")
    assert table.conditions["directions"] == "2"
    assert table.rows[-1].metrics == {"bandwidth_mb_s": 7479.3}


def tables(name: str) -> dict[str, Table]:
    return {table.test: table for table in read(name).tables}


@pytest.mark.parametrize(
    ("name", "test", "benchmark", "memory", "n_rows", "last"),
    [
        ("alps_7.5_bw_host.txt", "osu_bw", "bandwidth", "host", 23, 23982.18),
        ("alps_7.5_bw_gpu.txt", "osu_bw", "bandwidth", "gpu", 23, 23989.54),
        ("alps_7.5_bibw_gpu.txt", "osu_bibw", "bidirectional", "gpu", 23, 46417.53),
        ("alps_7.5_latency_host.txt", "osu_latency", "latency", "host", 23, 182.39),
        ("alps_7.5_latency_no_cxi.txt", "osu_latency", "latency", "host", 23, 1455.18),
        ("alps_7.5_alltoall_host.txt", "osu_alltoall", "alltoall", "host", 21, 519.85),
    ],
)
def test_version_7_5_with_validation_behind_loader_warnings(
    name: str, test: str, benchmark: str, memory: str, n_rows: int, last: float
) -> None:
    results = read(name)
    [table] = results.tables
    assert (table.test, table.benchmark, table.memory) == (test, benchmark, memory)
    assert (table.version, table.conditions["datatype"]) == ("7.5", "MPI_CHAR")
    assert len(table.rows) == n_rows
    [metric] = table.rows[-1].metrics.values()
    assert metric == last
    assert {row.labels["validation"] for row in table.rows} == {"Pass"}
    assert results.n_unread == 0
    assert results.n_noise == (3 if "launch" in table.conditions else 2)


def test_ranks_and_nodes_come_from_the_launch_line() -> None:
    [table] = read("alps_7.5_alltoall_host.txt").tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (8, 2, 4)


def test_tails_minimum_maximum_and_iterations_have_columns() -> None:
    [row] = tables("omb_7.4_run.txt")["osu_allreduce"].rows
    assert row.metrics == {
        "latency_us": 0.26,
        "latency_us_min": 0.26,
        "latency_us_max": 0.26,
        "iterations": 1000,
        "latency_us_p50": 0.25,
        "latency_us_p90": 0.28,
        "latency_us_p99": 0.34,
    }


def test_a_barrier_has_no_size() -> None:
    table = tables("omb_7.4_run.txt")["osu_barrier"]
    assert [(row.size_bytes, row.metrics) for row in table.rows] == [(None, {"latency_us": 0.12})]


def test_message_rates_are_in_millions_and_pairs_are_two_ranks() -> None:
    table = tables("omb_7.4_run.txt")["osu_mbw_mr"]
    assert table.rows[0].metrics == {"bandwidth_mb_s": 26.07, "msg_rate_mps": 26.07391956}
    assert (table.conditions["pairs"], table.conditions["window"]) == ("1", "64")
    assert table.n_ranks == 2


def test_overlap_is_no_latency_of_the_blocking_collective() -> None:
    for name in ("omb_7.4_run.txt", "omb_5.3.2_iallgather.txt"):
        overlapped = [t for t in read(name).tables if t.conditions.get("blocking") == "no"]
        assert overlapped
        for table in overlapped:
            assert table.benchmark == ""
            assert set(table.rows[0].metrics) == {
                "overall_us",
                "compute_us",
                "pure_comm_us",
                "overlap_percent",
            }


def test_start_up_is_in_microseconds_over_ranks() -> None:
    table = tables("omb_7.4_run.txt")["osu_init"]
    assert (table.benchmark, table.n_ranks) == ("startup", 2)
    assert table.rows[0].metrics == {
        "latency_us": 217_000,
        "latency_us_min": 217_000,
        "latency_us_max": 218_000,
    }


def test_the_line_about_buffers_outweighs_the_title() -> None:
    [table] = read("omb_5.4.1_bw_cuda_host.txt").tables
    assert (table.memory, table.conditions["buffers"]) == ("host", "H H")
    device = (
        (FIXTURES / "omb_5.4.1_bw_cuda_host.txt")
        .read_bytes()
        .replace(b"HOST (H) and", b"DEVICE (D) and")
    )
    [table] = read_results_text(device, "x").tables
    assert (table.memory, table.conditions["buffers"]) == ("gpu", "D H")


def test_nccl_under_osu_is_a_collective_of_gpus() -> None:
    results = read("omb_7.5_xccl_allreduce.txt")
    [table] = results.tables
    assert (table.test, table.benchmark) == ("osu_xccl_allreduce", "allreduce")
    assert (table.memory, table.conditions["library"]) == ("gpu", "NCCL")
    assert results.n_unread == 0


def test_one_row_for_each_window_size() -> None:
    bandwidths, rates = read("omb_mbw_mr_windows_form.txt").tables
    assert [(row.size_bytes, row.labels["window"]) for row in bandwidths.rows] == [
        (size, window) for size in (1, 2) for window in ("1", "2", "4")
    ]
    assert bandwidths.rows[-1].metrics == {"bandwidth_mb_s": 3.5}
    assert rates.rows[-1].metrics == {"msg_rate_mps": 1.75}
    assert rates.test == bandwidths.test == "osu_mbw_mr"


def test_a_table_for_each_data_type_under_one_title() -> None:
    header = "# Size       Avg Latency(us)\n"
    text = (
        "# OSU MPI Latency Test v7.4\n"
        f"# Datatype: MPI_CHAR.\n{header}8      1.25\n"
        f"# Datatype: MPI_FLOAT.\n{header}8      1.50\n"
    )
    first, second = read_results_text(text.encode(), "x").tables
    assert (first.conditions["datatype"], first.rows[0].metrics) == (
        "MPI_CHAR",
        {"latency_us": 1.25},
    )
    assert (second.conditions["datatype"], second.rows[0].metrics) == (
        "MPI_FLOAT",
        {"latency_us": 1.5},
    )
    assert second.test == "osu_latency"


def test_a_title_no_one_knows_keeps_its_words() -> None:
    text = b"# OSU MPI Frobnicate Cube Test v9.1\n# Size  Avg Latency(us)\n8   1.25\n"
    [table] = read_results_text(text, "x").tables
    assert (table.test, table.benchmark, table.version) == ("osu_frobnicate_cube", "", "9.1")


@pytest.mark.parametrize(
    "header",
    [
        "# Size          Latency (us)",
        "# Size\t\tLatency (us) ",
        "# Size Latency (us)",
        "# Size       Avg Latency(us)",
        "# Size (B)      Latency (us)",
        "#  Size   Latency (us)",
    ],
)
def test_every_form_of_the_header_means_the_same(header: str) -> None:
    text = f"# OSU MPI Latency Test (Version 2.1)\n{header}\n0\t\t4.84\n1\t\t5.06\n"
    [table] = read_results_text(text.encode(), "x").tables
    assert [(row.size_bytes, row.metrics) for row in table.rows] == [
        (0, {"latency_us": 4.84}),
        (1, {"latency_us": 5.06}),
    ]


def test_a_column_no_one_knows_is_kept_as_printed() -> None:
    text = (
        b"# OSU MPI Latency Test v7.4\n# Size       Avg Latency(us)   Transmit Size\n8  1.25  64\n"
    )
    [table] = read_results_text(text, "x").tables
    assert table.rows[0].other == {"Transmit Size": "64"}


@pytest.mark.parametrize(
    "row",
    ["nan 1.25", "8 nan", "8 -1.25", "-8 1.25", "8 1e999", "8 1.25 3", "8", "8.5 1.25", "x y"],
)
def test_a_row_that_cannot_be_is_refused_and_the_next_one_read(row: str) -> None:
    text = f"# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n{row}\n16   1.35\n"
    results = read_results_text(text.encode(), "x")
    assert [found.size_bytes for found in results.tables[0].rows] == [16]
    assert [(line.line, line.reason) for line in results.unread] == [(3, "not a row of this table")]


@pytest.mark.parametrize("line", ["8   0.9", "8   123"])
def test_a_first_row_cut_at_the_end_of_the_file_is_no_row(line: str) -> None:
    text = "# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n4  1.25\n# Datatype: X.\n"
    text += f"# Size  Avg Latency(us)\n{line}"
    [table] = read_results_text(text.encode(), "x").tables
    assert [row.size_bytes for row in table.rows] == [4]
