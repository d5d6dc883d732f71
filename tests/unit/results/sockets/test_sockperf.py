"""sockperf's summaries."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

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


@pytest.mark.parametrize(
    ("line", "protocol"),
    [
        ("[ 0] IP = 10.0.0.4       PORT = 11111 # UDP", "UDP"),
        ("[ 0] IP = 10.0.0.4       PORT = 11111 # TCP", "TCP"),
        ("$ sockperf pp -i 10.0.0.4 -t 10", "UDP"),
        ("$ sockperf pp -i 10.0.0.4 --tcp", "TCP"),
        ("$ sockperf pp -f feed.txt", None),
        ("sockperf: Test ended", None),
    ],
)
@pytest.mark.parametrize(
    "summary", ["Summary: Latency is 11.7 usec", "Summary: BandWidth is 688.0 MBps (5504 Mbps)"]
)
def test_the_protocol_is_that_of_the_lines_or_unknown(
    line: str, protocol: str | None, summary: str
) -> None:
    """The documented default is UDP, where a command line leaves it. A rate counts over TCP only:
    what a sender of UDP counts may be lost behind it."""
    text = f"sockperf: == version #3.7 ==\n{line}\nsockperf: {summary}\n"
    (table,) = read_results_text(text.encode(), "x").tables
    assert table.conditions.get("transport") == protocol
    assert (table.benchmark == "") == ("BandWidth" in summary and protocol != "TCP")


def test_a_fence_of_markdown_parts_no_command_from_its_output() -> None:
    command = "command: `sudo sockperf pp -i n2 -t 30 --msg-size=1472`\n```\n"
    output = "sockperf: == version #3.10 ==\nsockperf: Summary: Latency is 21.323 usec\n```\n"
    (table,) = read_results_text((command + output).encode(), "x").tables
    assert table.rows[0].size_bytes == 1472


def test_the_command_may_stand_lines_above_its_output() -> None:
    text = "\n".join(
        [
            "$ sockperf ping-pong -i 10.0.0.4 --tcp -m 64 -t 10",
            "the client starts now",
            "sockperf: == version #3.8 ==",
            "sockperf: Summary: Latency is 21.880 usec",
            "$ make clean",
            "sockperf: == version #3.8 ==",
            "sockperf: Summary: Latency is 30.000 usec",
        ]
    )
    first, second = read_results_text(text.encode(), "s.out").tables
    assert (first.rows[0].size_bytes, first.conditions["transport"]) == (64, "TCP")
    assert second.rows[0].size_bytes == 14, "the command was that of the first run"
    assert "transport" not in second.conditions


def test_a_paste_may_begin_at_the_address() -> None:
    lines = ["[ 0] IP = 11.4.3.32       PORT =  8302 # TCP", "sockperf: Starting test...",
             "sockperf: Summary: Latency is **121.880 usec**"]  # fmt: skip
    (table,) = read_results_text("\n".join(lines).encode(), "s.out").tables
    assert table.conditions["transport"] == "TCP"
    assert table.rows[0].metrics["latency_us"] == 121.88
