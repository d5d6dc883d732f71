"""NetPIPE's rows and its np.out."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "results" / "netpipe"
IMPLEMENTATIONS = ["openmpi", "mpich"]


def table_of(name: str) -> Table:
    (table,) = read_results(SAMPLES / name).tables
    return table


def read_text(text: str) -> Table:
    (table,) = read_results_text(text.encode(), "x").tables
    return table


@pytest.mark.parametrize("mpi", IMPLEMENTATIONS)
def test_its_mbps_are_two_to_the_twentieth_bits(mpi: str) -> None:
    """size / time must be the bandwidth, whatever the tool calls its unit."""
    for row in table_of(f"netpipe-3.7.2-{mpi}.out").rows:
        assert row.size_bytes is not None
        time_us = row.metrics["latency_us"]
        # np.out prints seconds with eight decimals: half of the last is 0.005 us.
        low, high = row.size_bytes / (time_us + 0.0051), row.size_bytes / (time_us - 0.0051)
        assert low <= row.metrics["bandwidth_mb_s"] <= high


@pytest.mark.parametrize("mpi", IMPLEMENTATIONS)
def test_screen_and_file_of_one_run_agree(mpi: str) -> None:
    screen = table_of(f"netpipe-3.7.2-{mpi}.txt")
    file = table_of(f"netpipe-3.7.2-{mpi}.out")
    assert [row.size_bytes for row in screen.rows] == [row.size_bytes for row in file.rows]
    for ours, theirs in zip(screen.rows, file.rows, strict=True):
        assert ours.metrics["latency_us"] == pytest.approx(theirs.metrics["latency_us"])
        assert ours.metrics["bandwidth_mb_s"] == pytest.approx(
            theirs.metrics["bandwidth_mb_s"], rel=2e-3
        )


def test_a_ping_pong_is_a_latency_of_two_ranks() -> None:
    table = table_of("netpipe-3.7.2-openmpi.txt")
    assert (table.tool, table.benchmark, table.n_ranks, table.version) == (
        "netpipe", "latency", 2, "3",
    )  # fmt: skip
    assert table.hosts == ("vm",)
    assert table.rows[4].size_bytes == 6
    assert table.rows[4].metrics["iterations"] == 567332


def test_both_directions_at_once_are_read_from_the_heading_and_the_sizes_of_np_out() -> None:
    """np.out counts the bytes of both messages; the screen those of one."""
    screen = table_of("netpipe-3.7.2-openmpi-bidirectional.txt")
    file = table_of("netpipe-3.7.2-openmpi-bidirectional.out")
    for table in (screen, file):
        assert table.conditions["directions"] == "2"
        assert table.benchmark == "sendrecv"
    screen_sizes = [row.size_bytes for row in screen.rows]
    assert [row.size_bytes for row in file.rows][-len(screen_sizes) :] == screen_sizes


def test_a_plain_np_out_is_not_taken_for_both_directions() -> None:
    assert "directions" not in table_of("netpipe-3.7.2-openmpi.out").conditions


def test_a_stream_is_a_bandwidth() -> None:
    table = table_of("netpipe-3.7.2-openmpi-stream.txt")
    assert (table.benchmark, table.conditions["mode"]) == ("bandwidth", "stream")


def test_a_row_split_by_another_process_is_reported() -> None:
    results = read_results(SAMPLES / "netpipe-3.7.2-openmpi-bidirectional.txt")
    assert [(unread.line, unread.text.strip()) for unread in results.unread] == [
        (18, "73.97 Mbps in       0.21 usec")
    ]


CYAN, RED, OFF = "\x1b[36m", "\x1b[31m", "\x1b[0m"
VERSION_5 = f"""\
Start testing with 7 trials for each message size
  1: {RED}      1  B{OFF}  24999 times -->  {CYAN} 16.000 Mbps{OFF}  in {RED}500.000 nsecs{OFF}
 40: {CYAN}  1.024 KB{OFF}  12500 times -->  {RED}  8.192 Gbps{OFF}  in {CYAN}  1.000 usecs{OFF}
 71: {CYAN}  1.049 MB{OFF}    100 times -->  {RED} 83.886 Gbps{OFF}  in {CYAN}100.000 usecs{OFF}
"""


def test_version_5_has_decimal_units_of_its_own() -> None:
    table = read_text(VERSION_5)
    byte, kilobyte, megabyte = table.rows
    assert table.version == "5"
    assert byte.metrics == {"latency_us": 0.5, "bandwidth_mb_s": 2.0, "iterations": 24999.0}
    assert (kilobyte.size_bytes, kilobyte.metrics["bandwidth_mb_s"]) == (1024, 1024.0)
    assert megabyte.labels == {"size": "1.049 MB"}, "a rounded size is shown as printed"


def test_version_5_s_file_has_average_least_and_largest_rate() -> None:
    (row,) = read_text("     1024     8.192     4.096    16.384    1.00\n").rows
    assert row.metrics == pytest.approx(
        {
            "latency_us": 1.0,
            "bandwidth_mb_s": 1024.0,
            "bandwidth_mb_s_min": 512.0,
            "bandwidth_mb_s_max": 2048.0,
        }
    )


@pytest.mark.parametrize(
    "line",
    [
        "       8 460.893141   0.00000099",  # 8 bytes in that time are another rate
        "     1024     8.192     4.096    16.384    9.00",
        "     1024     8.192     9.000    16.384    1.00",  # the least above the average
        "       8          3.28",
        "-8 460.893141   0.00000013",
    ],
)
def test_numbers_that_do_not_fit_each_other_are_no_rows(line: str) -> None:
    good = "       8 460.893141   0.00000013"
    results = read_results_text(f"{good}\n{line}\n".encode(), "x")
    assert len(results.tables[0].rows) == 1
    assert results.n_unread == 1


def test_two_runs_in_one_file_are_two_tables() -> None:
    text = (SAMPLES / "netpipe-3.7.2-openmpi.txt").read_text()
    results = read_results_text((text + text).encode(), "x")
    assert [len(table.rows) for table in results.tables] == [58, 58]


@pytest.mark.parametrize("token", ["nan", "-1.00", "1e99", "1_0"])
def test_a_row_with_an_absurd_number_is_refused(token: str) -> None:
    text = f"  0: 1 bytes 5 times --> {token} Mbps in 0.13 usec\n"
    text += "  1: 8 bytes 5 times --> 460.89 Mbps in 0.13 usec\n"
    results = read_results_text(text.encode(), "x")
    assert [unread.line for unread in results.unread] == [1]
    assert [row.size_bytes for row in results.tables[0].rows] == [8]


def test_an_integrity_check_is_no_measurement() -> None:
    text = "  0:    8192 bytes   6571 times -->  Integrity check passed\n"
    good = "  1: 8 bytes 5 times --> 460.89 Mbps in 0.13 usec\n"
    results = read_results_text((text + good).encode(), "x")
    assert len(results.tables[0].rows) == 1
    assert results.n_unread == 0


def test_hosts_are_read_without_perturbations() -> None:
    """What NetPIPE 3.7.2 prints for `-p 0`, both ranks on one host."""
    table = read_text(
        "Using no perturbations\n\n0: n1\nUsing no perturbations\n\n1: n1\n"
        "Now starting the main loop\n"
        "  0:       1 bytes 157384 times -->      0.58 Mbps in      13.10 usec\n"
    )
    assert table.hosts == ("n1",)
    assert table.n_nodes == 1
