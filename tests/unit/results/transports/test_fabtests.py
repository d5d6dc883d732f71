"""libfabric's fi_pingpong and fabtests."""

from pathlib import Path

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "fabtests"
HEADER = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
ROWS = "64      20k     1.2m        0.03s     42.74       1.50       0.67\n"


def table_of(name: str) -> Table:
    (table,) = read_results(SAMPLES / name).tables
    return table


def test_a_ping_pong_is_a_latency() -> None:
    table = table_of("pingpong-cxi.txt")
    assert (table.test, table.benchmark) == ("fi_pingpong", "latency")
    assert table.conditions["provider"] == "cxi"
    assert [row.size_bytes for row in table.rows] == [64, 256, 1024, 4096, 65536, 1 << 20]
    assert table.rows[-1].metrics["bandwidth_mb_s"] == 21234.98


def test_a_stream_has_no_latency() -> None:
    table = table_of("tagged-bw-efa.txt")
    assert (table.test, table.benchmark) == ("fi_rdm_tagged_bw", "bandwidth")
    assert all("latency_us" not in row.metrics for row in table.rows)
    assert table.rows[6].size_bytes == 1536 * 1024, "1.5m"


def test_lines_behind_their_rank() -> None:
    table = table_of("pingpong-efa-prefixed.txt")
    assert [row.metrics["latency_us"] for row in table.rows] == [36.25, 17.30, 17.90, 19.00]


def test_without_its_command_a_table_may_be_either() -> None:
    (table,) = read_results_text((HEADER + ROWS).encode(), "x").tables
    assert table.benchmark == ""
    assert "the launch line is missing" in table.conditions["test_could_be"]


def test_numbers_that_contradict_each_other_are_refused() -> None:
    bad = "1k      20k     19m         0.03s    996.41       1.72       0.58\n"
    (table,) = read_results_text((HEADER + ROWS + bad).encode(), "x").tables
    assert len(table.rows) == 1
