"""netperf's streams and request/response tests."""

from pathlib import Path

import pytest

from weft.results.model import Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "netperf"
STREAM = """TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to n2 (10.0.0.2) port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    {unit}    % S      % S      us/KB   us/KB

 87380  16384  16384    10.00       142.94   -2934.86   -5440.08   -401.008  -743.313
"""


def read_text(text: str) -> tuple[Table, ...]:
    return read_results_text(text.encode(), "x").tables


def test_an_exchange_takes_two_messages() -> None:
    exchange, stream = read_results(SAMPLES / "stream-and-rr.txt").tables
    assert exchange.benchmark == "latency"
    assert exchange.rows[0].metrics["latency_us"] == pytest.approx(1e6 / 1255.09 / 2)
    assert exchange.rows[0].size_bytes == 1
    assert stream.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(315.89 / 8)
    assert stream.rows[0].size_bytes == 16384


def test_a_title_that_a_mail_wrapped() -> None:
    (table,) = read_results(SAMPLES / "stream-100gbe.txt").tables
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(92766.69 / 8)


@pytest.mark.parametrize(
    ("unit", "mb_s"), [("10^6bits/sec", 142.94 / 8), ("MBytes  /s", 142.94 * 2**20 / 1e6)]
)
def test_units_and_negative_utilisation(unit: str, mb_s: float) -> None:
    (table,) = read_text(STREAM.format(unit=unit))
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(mb_s)


def test_a_row_without_a_unit_is_refused() -> None:
    lines = STREAM.format(unit="furlongs").replace("TCP STREAM", "MIGRATED TCP STREAM")
    with pytest.raises(Exception, match="no result of this test"):
        read_text(lines)


def test_a_stream_whose_title_was_cut_is_of_no_named_protocol() -> None:
    lines = STREAM.format(unit="10^6bits/sec")
    (titled,) = read_text(lines)
    (cut,) = read_text(lines.partition("\n")[2])
    assert titled.conditions["transport"] == "TCP"
    assert "transport" not in cut.conditions
    assert cut.rows[0].metrics == titled.rows[0].metrics


@pytest.mark.parametrize("to", ["127.0.0.1 (127.0.0)", "::1 (::1)", "\n::1 (::1)", "localhost ()"])
def test_a_test_to_the_loopback_is_of_one_host(to: str) -> None:
    (table,) = read_text(STREAM.format(unit="10^6bits/sec").replace("to n2 (10.0.0.2)", f"to {to}"))
    assert table.n_nodes == 1
    (between,) = read_text(STREAM.format(unit="10^6bits/sec"))
    assert between.n_nodes is None
