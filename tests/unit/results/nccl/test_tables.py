from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.model import ResultFile, Row, Table
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results"
NAMES = "# size count type redop root"
GROUP = "time algbw busbw #wrong"
PER_ITERATION = "i_min i_max i_p99 i_cv%"


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def table_of(text: str) -> Table:
    [table] = read_results_text(text.encode(), "result.txt").tables
    return table


def rows_of(data: bytes) -> list[Row]:
    try:
        results = read_results_text(data, "result.txt")
    except InputError:
        return []
    return [row for table in results.tables for row in table.rows]


def test_a_run_of_today_says_test_versions_ranks_and_devices() -> None:
    [table] = read("nccl-tests/gb10-2.20.txt").tables
    assert (table.tool, table.test, table.benchmark) == (
        "nccl-tests",
        "all_reduce_perf",
        "allreduce",
    )
    assert (table.version, table.memory) == ("2.20.0", "gpu")
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (2, 2, 1)
    assert table.hosts == ("spark-d708", "spark-dbf4")
    assert table.devices == ("NVIDIA GB10", "NVIDIA GB10")
    assert table.conditions["nccl_version"] == "2.31.2"
    assert table.conditions["iterations"] == "100"


def test_each_line_gives_a_row_for_each_placement() -> None:
    [table] = read("nccl-tests/h100-16-two-nodes.txt").tables
    assert (table.n_ranks, table.n_nodes, table.tasks_per_node) == (16, 2, 8)
    assert len(table.rows) == 22
    last = table.rows[-2:]
    assert [row.labels["placement"] for row in last] == ["out-of-place", "in-place"]
    assert [row.size_bytes for row in last] == [8589934592, 8589934592]
    assert last[0].metrics == {
        "latency_us": 47535.0,
        "algbw_gb_s": 180.71,
        "busbw_gb_s": 338.82,
        "n_wrong": 0.0,
    }
    assert table.conditions["average_bus_bandwidth_gb_s"] == "70.742"
    assert table.conditions["out_of_bounds"] == "0 OK"


def test_a_test_without_name_is_known_by_what_only_it_prints() -> None:
    found = {
        name: read(f"nccl-tests/{name}").tables[0]
        for name in ("alltoall-h20.txt", "sendrecv-a40.txt", "efa-tag-output.txt")
    }
    assert found["alltoall-h20.txt"].test == "alltoall_perf"
    assert found["sendrecv-a40.txt"].benchmark == "sendrecv"
    assert found["efa-tag-output.txt"].benchmark == "allreduce"
    assert all("test_from" in table.conditions for table in found.values())


def test_results_that_were_not_validated_have_no_count_of_wrong_ones() -> None:
    [table] = read("nccl-tests/alltoall-h20.txt").tables
    in_place = [row for row in table.rows if row.labels["placement"] == "in-place"]
    assert all("n_wrong" not in row.metrics for row in in_place)
    assert {row.labels["validation"] for row in in_place} == {"N/A"}


def test_old_columns_are_found_by_their_header() -> None:
    [table] = read("nccl-tests/old-no-root-256-gpus.txt").tables
    assert table.test == "all_reduce_perf"
    assert table.rows[-1].metrics == {
        "latency_us": 29411.0,
        "algbw_gb_s": 36.51,
        "busbw_gb_s": 72.73,
    }
    assert "root" not in table.rows[0].labels
    assert table.rows[0].other["error"] == "N/A"


def test_a_column_that_old_versions_leave_blank_shifts_nothing() -> None:
    results = read("nccl-tests/old-blank-redop-alltoall.txt")
    [table] = results.tables
    assert results.n_unread == 0
    assert "redop" not in table.rows[0].labels
    assert table.rows[-1].metrics["busbw_gb_s"] == 1.95


def test_the_order_of_placements_and_a_blank_one_are_read_from_the_lines() -> None:
    [table] = read("nccl-tests/one-placement-in-place-first.txt").tables
    [row] = table.rows
    assert row.labels["placement"] == "out-of-place"
    assert row.metrics["busbw_gb_s"] == 43.25


def test_a_launch_over_several_lines_says_test_ranks_and_settings() -> None:
    # The form of the commands in H. Affaticati et al., Azure HPC blog.
    table = table_of(
        "mpirun -np 8 \\\n--map-by ppr:8:node \\\n-x NCCL_P2P_DISABLE=1 \\\n-x NCCL_ALGO=Ring \\\n"
        "/opt/nccl-tests/build/all_reduce_perf -b1K -f2 -g1 -e 4G\n"
        f"{NAMES} {GROUP} {GROUP}\n"
        "1024 256 float sum -1 12.90 0.08 0.14 0 12.87 0.08 0.14 0\n"
    )
    assert (table.test, table.n_ranks, table.n_nodes) == ("all_reduce_perf", 8, 1)
    assert table.conditions["p2p_disable"] == "1"
    assert table.conditions["algorithm"] == "Ring"


def test_a_row_that_log_lines_tore_apart_is_put_together() -> None:
    # NVIDIA/nccl issue 1453: NCCL's log of each size between the parts of its row.
    log = "h100-1:497888:497888 [0] NCCL INFO 512 Bytes -> Algo 0 proto 0 time 25.259054"
    table = table_of(
        f"{NAMES} {GROUP} {GROUP}\n"
        f"         512           128     float     sum      -1{log}\n"
        f"{log}\n"
        f"     62.05    0.00    0.01      0{log}\n"
        "     61.25    0.00    0.01      0\n"
    )
    assert [row.size_bytes for row in table.rows] == [512, 512]
    assert [row.labels["placement"] for row in table.rows] == ["out-of-place", "in-place"]
    assert [row.metrics["latency_us"] for row in table.rows] == [62.05, 61.25]


def test_a_header_without_hash_is_read() -> None:
    [table] = read("nccl-tests/header-without-hash.txt").tables
    assert table.rows[-1].metrics == {"latency_us": 43.05, "algbw_gb_s": 0.05, "busbw_gb_s": 0.09}


def test_nccls_log_says_which_network_was_used() -> None:
    [sockets] = read("nccl-tests/sockets-two-nodes.txt").tables
    [efa] = read("nccl-tests/efa-tag-output.txt").tables
    assert sockets.conditions["network"] == "Socket"
    assert efa.conditions["network"] == "OFI"
    assert efa.conditions["nccl_version"] == "2.12.7"


def test_ranks_follow_from_the_bandwidths_where_the_device_list_was_cut() -> None:
    [table] = read("nccl-tests/a100-8-excerpt.txt").tables
    assert table.n_ranks == 8
    assert table.conditions["ranks_listed"] == "1"


def test_amds_fork_is_known_by_its_version_its_devices_and_its_columns() -> None:
    [table] = read("rccl-tests/mi300x-8.txt").tables
    assert (table.tool, table.version) == ("rccl-tests", "develop:83d38d9")
    [bare] = read("rccl-tests/algo-proto-channels-row.txt").tables
    labels = bare.rows[0].labels
    assert (labels["algorithm"], labels["protocol"], labels["channels"]) == (
        "Direct",
        "SIMPLE",
        "32",
    )


def test_several_tests_in_one_file_are_several_tables() -> None:
    parts = [
        (FIXTURES / "nccl-tests" / name).read_text()
        for name in ("gb10-2.20.txt", "a100-8-excerpt.txt", "sendrecv-a40.txt")
    ]
    tables = read_results_text("".join(parts).encode(), "all.txt").tables
    assert [table.test for table in tables] == [
        "all_reduce_perf",
        "all_reduce_perf",
        "sendrecv_perf",
    ]
    assert [table.n_ranks for table in tables] == [2, 8, 2]


def test_the_milliseconds_of_nccl_1_become_microseconds() -> None:
    table = table_of(
        "#      bytes             N    type      op     time  algbw  busbw      res\n"
        "    10000000      10000000    char    prod    1.949   5.13   8.98    0e+00\n"
    )
    [row] = table.rows
    assert row.metrics["latency_us"] == pytest.approx(1949.0)
    assert row.metrics["latency_us"] * row.metrics["algbw_gb_s"] * 1e3 == pytest.approx(
        1e7, rel=1e-3
    )


@pytest.mark.parametrize(
    "cells",
    [
        "9007199254740994 1 float sum -1 1.0 1.0 1.0 0 1.0 1.0 1.0 0",
        "1024 256 float sum -1 nan 1.0 1.0 0 1.0 1.0 1.0 0",
        "1024 256 float sum -1 1.0 -1.0 1.0 0 1.0 1.0 1.0 0",
        "1024 256 float sum -1 1.0 1e400 1.0 0 1.0 1.0 1.0 0",
        "1024 256 float sum -1 1.0 1.0 1.0 0 1.0 1.0",
    ],
)
def test_an_absurd_row_is_refused_by_its_line_and_no_other(cells: str) -> None:
    good = "1024 256 float sum -1 1.0 1.0 1.0 0 1.0 1.0 1.0 0"
    text = f"{NAMES} {GROUP} {GROUP}\n{cells}\n{good}\n"
    results = read_results_text(text.encode(), "result.txt")
    assert [row.line for table in results.tables for row in table.rows] == [3, 3]
    assert [line.line for line in results.unread] == [2]


PREAMBLE = "# %10s  %12s  %8s  %6s  %6s"
ROW_START = "%12s  %12s  %8s  %6s  %6s"
PLACE = "  %7s  %6s  %6s  %6s  %7s  %7s  %7s  %7s"


def test_iterations_and_time_stamps_as_the_tool_lays_them_out() -> None:
    # The formats of nccl-tests, src/util.cu, writeResultHeader with -I 1 and -S 1.
    names = (*GROUP.split(), *PER_ITERATION.split())
    units = ("(us)", "(GB/s)", "(GB/s)", "", "(us)", "(us)", "(us)", "(%)")
    out = ("100.00", "10.49", "18.35", "0", "98.10", "103.20", "103.00", "1.20")
    inside = ("101.00", "10.38", "18.17", "N/A", "99.00", "104.00", "104.00", "1.10")
    table = table_of(
        "# Per-Iteration Report: CUDA event timing; i_* uses max over process rows \n"
        + (PREAMBLE % (("",) * 5))
        + "              out-of-place (+ per-iteration)             in-place (+ per-iteration)\n"
        + (PREAMBLE % ("size", "count", "type", "redop", "root"))
        + (PLACE % names) * 2
        + f"{'timestamp':>20}\n"
        + (PREAMBLE % ("(B)", "(elements)", "", "", ""))
        + (PLACE % units) * 2
        + f"{'%Y-%m-%d %H:%M:%S':>20}\n"
        + (ROW_START % ("1048576", "262144", "float", "sum", "    -1"))
        + (PLACE % out)
        + (PLACE % inside)
        + f"{'2026-11-21 10:00:00':>21}\n"
    )
    first, second = table.rows
    assert first.metrics["latency_us_max"] == 103.2
    assert second.metrics["latency_us_cv_percent"] == 1.1
    assert second.labels["validation"] == "N/A"
    assert first.other["timestamp"] == "2026-11-21 10:00:00"


TIMES = st.floats(0.01, 99999.0).map(lambda value: f"{value:.2f}")


@st.composite
def lines(draw: st.DrawFn) -> tuple[str, list[list[str]], list[list[str]]]:
    """The cells in front of a row, of its two placements, and of their iterations."""
    size = draw(st.integers(1, 1 << 50))
    first = f"{4 * size} {size} float sum -1"
    groups = [
        [*(draw(TIMES) for _ in range(3)), draw(st.sampled_from(["0", "7", "N/A", "0e+00"]))]
        for _ in range(2)
    ]
    iterations = [[draw(TIMES) for _ in range(4)] for _ in range(2)]
    return first, groups, iterations


@settings(max_examples=60)
@given(row=lines(), with_header=st.booleans())
def test_the_number_of_columns_changes_nothing_that_two_forms_share(
    row: tuple[str, list[list[str]], list[list[str]]], with_header: bool
) -> None:
    first, groups, iterations = row
    found = []
    for per_iteration, tail_names, tail in (
        (False, "", ""),
        (False, "timestamp", "2026-11-21 10:00:00"),
        (False, "algo proto nchannels", "RING LL128 64"),
        (True, "", ""),
        (True, "timestamp", "2026-11-21 10:00:00"),
    ):
        group_names = f"{GROUP} {PER_ITERATION}" if per_iteration else GROUP
        cells = [
            " ".join(group + (own if per_iteration else []))
            for group, own in zip(groups, iterations, strict=True)
        ]
        header = f"{NAMES} {group_names} {group_names} {tail_names}\n" if with_header else ""
        rows = table_of(f"{header}{first} {cells[0]} {cells[1]} {tail}\n").rows
        found.append([{k: r.metrics.get(k) for k in SHARED} for r in rows])
        if per_iteration:
            assert [r.metrics["latency_us_p99"] for r in rows] == [float(i[2]) for i in iterations]
    assert all(one == found[0] for one in found)


SHARED = ("latency_us", "algbw_gb_s", "busbw_gb_s", "n_wrong")
WHOLE = (FIXTURES / "nccl-tests" / "alltoall-h20.txt").read_bytes()


@settings(max_examples=120)
@given(cut=st.integers(0, len(WHOLE)))
def test_a_file_cut_anywhere_gives_the_first_rows_of_the_whole(cut: int) -> None:
    whole, rows = rows_of(WHOLE), rows_of(WHOLE[:cut])
    shown = [(row.line, row.size_bytes, row.metrics) for row in whole[: len(rows)]]
    assert [(row.line, row.size_bytes, row.metrics) for row in rows] == shown
    assert len(rows) % 2 == 0


SAMPLES = sorted((FIXTURES / "nccl-tests").glob("*.txt")) + sorted(
    (FIXTURES / "rccl-tests").glob("*.txt")
)


@settings(max_examples=150)
@given(
    which=st.sampled_from(SAMPLES),
    edits=st.lists(st.tuples(st.integers(0, 6000), st.binary(max_size=12)), max_size=6),
)
def test_no_damage_raises_anything_but_an_input_error(
    which: Path, edits: list[tuple[int, bytes]]
) -> None:
    data = which.read_bytes()
    for at, new in edits:
        data = data[: at % (len(data) + 1)] + new + data[at % (len(data) + 1) + len(new) :]
    for row in rows_of(data):
        assert all(0 <= value <= 1e21 for value in row.metrics.values())
