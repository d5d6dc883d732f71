"""sockperf's summaries."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "sockperf"


def table_of(name: str) -> Table:
    (table,) = read_results(SAMPLES / name).tables
    return table


def test_a_latency_with_its_percentiles() -> None:
    table = table_of("ping-pong-3.7.txt")
    (row,) = table.rows
    assert (table.benchmark, row.size_bytes, table.n_nodes) == ("latency", 14, 1)
    assert row.metrics["latency_us"] == 11.735
    assert row.metrics["latency_us_p50"] == 8.05
    assert row.metrics["latency_us_p999"] == 1646.672
    assert row.metrics["latency_us_max"] == 3159.499


def test_a_round_trip_is_two_latencies() -> None:
    table = table_of("full-rtt-3.8.txt")
    (row,) = table.rows
    assert row.metrics["latency_us"] == pytest.approx(1892.6 / 2)
    assert row.size_bytes == 350, "as the command line says"


def test_its_megabytes_are_binary() -> None:
    """The message rate times the size is the bandwidth."""
    (row,) = table_of("throughput-3.7.txt").rows
    assert row.size_bytes == 14000
    rate = row.metrics["msg_rate_mps"] * row.size_bytes
    assert row.metrics["bandwidth_mb_s"] == pytest.approx(rate, rel=1e-4)
