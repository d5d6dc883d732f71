"""iperf's result lines: which of them is the run's rate."""

from pathlib import Path

import pytest

from weft.results.model import INTERFACE, Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results" / "iperf"
MB_S_OF_GBIT = 125.0


def tables(name: str) -> tuple[Table, ...]:
    return read_results(SAMPLES / name).tables


def rates(text: str) -> list[float]:
    found = read_results_text(text.encode(), "x").tables
    return [row.metrics["bandwidth_mb_s"] for table in found for row in table.rows]


@pytest.mark.parametrize(
    ("name", "gbit_s"),
    [
        ("iperf3-3.12-loopback.txt", [8.58]),
        ("iperf3-3.12-bidirectional.txt", [3.59, 7.38]),
        ("iperf-2.1.8-two-streams.txt", [11.8]),
    ],
)
def test_the_receiver_of_all_streams_counts(name: str, gbit_s: list[float]) -> None:
    (table,) = tables(name)
    found = [row.metrics["bandwidth_mb_s"] / MB_S_OF_GBIT for row in table.rows]
    assert found == pytest.approx(gbit_s)
    assert table.conditions[INTERFACE] == "sockets"
    assert table.n_nodes == 1, "both addresses are of the loopback"


def test_runs_one_after_the_other_are_two_tables() -> None:
    first, second = tables("iperf3-1gbe.txt")
    assert first.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(36.0)
    assert second.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(117.0)
    assert first.n_nodes is None


def test_a_rate_of_udp_is_of_no_benchmark() -> None:
    """It is what the sender offered."""
    (table,) = tables("iperf3-3.12-udp.txt")
    assert table.conditions["transport"] == "UDP"
    assert table.benchmark == ""


@pytest.mark.parametrize(
    ("lines", "protocol"),
    [
        (
            "Client connecting to n2, UDP port 5001\n[  3]  0.0-10.0 sec  1.2 MBytes  1 Mbits/sec",
            "UDP",
        ),
        (
            "Client connecting to n2, TCP port 5001\n[  3]  0.0-10.0 sec  1.2 MBytes  1 Mbits/sec",
            "TCP",
        ),
        (
            "[ ID] Interval Transfer Bitrate Retr Cwnd\n[  5] 0.0-1.0 sec  1 MBytes  8 Mbits/sec",
            "TCP",
        ),
        ("[  5]   0.00-10.00  sec  1.1 GBytes  940 Mbits/sec   receiver", "TCP"),
        ("[  4] 0.00-10.00  sec  1.2 MBytes  1.02 Mbits/sec  0.034 ms  0/156 (0%)", "UDP"),
        ("[  3]  0.0-10.0 sec  1.2 MBytes  1 Mbits/sec", None),
    ],
)
def test_the_protocol_is_that_of_the_lines_or_unknown(lines: str, protocol: str | None) -> None:
    (table,) = read_results_text(f"{lines}\n".encode(), "x").tables
    assert table.conditions.get("transport") == protocol
    assert (table.benchmark == "") == (protocol == "UDP")


@pytest.mark.parametrize(
    "row",
    [
        "[ 15] 0.00-10.00sec  9.45 GBytes  8114 Mbits/sec   0      sender",
        "[  4]   0.00-10.00  sec  9.45 GBytes  8.114 Gbits/sec1 sender",
        "[  3]  0.0-10.0 sec  9.45 GBytes  8114 Mbits/sec",
        "[SUM]  0.0-10.0 sec  9.45 GBytes  1014.25 MBytes/sec",
    ],
)
def test_versions_and_torn_blanks(row: str) -> None:
    (rate,) = rates(f"[ ID] Interval       Transfer     Bandwidth\n{row}\n")

    assert rate == pytest.approx(1014.25 * (2**20 / 1e6 if "MBytes/sec" in row else 1))


def test_a_run_without_summary_is_the_mean_of_its_intervals() -> None:
    lines = [f"[  5]   {i}.00-{i + 1}.00   sec  1.1 GBytes  {9 + i}.0 Gbits/sec" for i in range(3)]
    (rate,) = rates("\n".join(["[ ID] Interval           Transfer     Bitrate", *lines, ""]))
    assert rate == pytest.approx(10 * MB_S_OF_GBIT)


def test_streams_without_a_sum_are_added() -> None:
    (rate,) = rates(
        "Client connecting to n2, TCP port 5001\n"
        "[  3]  0.0-10.0 sec  5.5 GBytes  4.7 Gbits/sec\n"
        "[  4]  0.0-10.0 sec  5.5 GBytes  4.7 Gbits/sec\n"
    )
    assert rate == pytest.approx(9.4 * MB_S_OF_GBIT)


def test_both_ways_at_once_are_not_added() -> None:
    """-d of iperf 2: a client that also listens. Each stream is one direction."""
    (rate,) = rates(
        "Server listening on TCP port 5001\nClient connecting to n2, TCP port 5001\n"
        "[  3]  0.0-10.0 sec  5.5 GBytes  4.7 Gbits/sec\n"
        "[  4]  0.0-10.0 sec  5.6 GBytes  4.8 Gbits/sec\n"
    )
    assert rate == pytest.approx(4.8 * MB_S_OF_GBIT)


def test_a_line_that_the_file_cuts_is_no_rate() -> None:
    whole = "[  5]   0.00-10.0  sec  1.1 GBytes  940 Mbits/sec   receiver\n"
    assert rates(whole + "[  5]   0.00-20.0  sec  2.2 GBytes  9") == pytest.approx([117.5])


def test_two_clients_of_iperf2_one_after_the_other_are_two_tables() -> None:
    text = "".join(
        f"Client connecting to {host}, TCP port 5001\n"
        f"[  1] local 10.0.0.1 port 4000 connected with {host} port 5001\n"
        f"[  1]  0.0-10.0 sec  11.0 GBytes  {rate} Gbits/sec\n"
        for host, rate in (("10.0.0.2", "9.41"), ("10.0.0.3", "0.94"))
    )
    first, second = read_results_text(text.encode(), "x").tables
    assert first.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(9410 / 8)
    assert second.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(940 / 8)


def test_the_zero_of_a_servers_sender_is_no_summary() -> None:
    lines = ["Server listening on 5101 port", "[ ID] Interval           Transfer     Bandwidth",
             "[  5]   0.00-1.00   sec   375 MBytes  3.14 Gbits/sec",
             "[  5]   1.00-2.00   sec   392 MBytes  3.30 Gbits/sec",
             "[  5]   0.00-2.04  sec  0.00 Bytes  0.00 bits/sec                  sender",
             ""]  # fmt: skip
    (rate,) = rates("\n".join(lines))
    assert rate == pytest.approx(3.22 * MB_S_OF_GBIT)
