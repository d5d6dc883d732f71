"""qperf's tests of sockets and verbs."""

from pathlib import Path

import pytest

from weft.results.model import INTERFACE
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "qperf"


def test_a_table_for_each_test() -> None:
    tables = read_results(SAMPLES / "sockets-0.4.11.txt").tables
    assert [table.test for table in tables] == ["tcp_bw", "tcp_lat", "udp_bw", "udp_lat"]
    assert tables[0].rows[0].metrics["bandwidth_mb_s"] == pytest.approx(1990)
    assert tables[1].rows[0].metrics["latency_us"] == 16.6
    assert tables[2].rows[0].metrics["bandwidth_mb_s"] == 348, "what arrived counts"


def test_rate_times_size_is_the_bandwidth() -> None:
    """The unit counts in 1000, and the block is 64 KiB."""
    table = read_results(SAMPLES / "verbose-0.4.11.txt").tables[0]
    (row,) = table.rows
    assert row.size_bytes is not None
    product = row.metrics["msg_rate_mps"] * row.size_bytes
    assert row.metrics["bandwidth_mb_s"] == pytest.approx(product, rel=0.005)


def test_a_loop_over_sizes_is_one_table() -> None:
    (table,) = read_results(SAMPLES / "loop-0.4.11.txt").tables
    assert [row.size_bytes for row in table.rows] == [1, 16, 256, 4096, 65536]
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(0.316)


def test_tests_of_verbs_say_so() -> None:
    tables = read_results(SAMPLES / "rdma.txt").tables
    assert {table.conditions[INTERFACE] for table in tables} == {"verbs"}


def test_a_heading_alone_is_no_table() -> None:
    with pytest.raises(Exception, match="no table"):
        read_results_text(b"tcp_bw:\nfailed to connect\n", "x")
