"""Sentences about a path: what the rows, the tool and the file's own words leave."""

from pathlib import Path

import pytest

from weft.judge.path_class.evidence import evidence_of
from weft.judge.path_class.fit import fit_of
from weft.judge.path_class.proof import proofs_in
from weft.judge.path_class.statement import statement_of
from weft.results.model import INTERFACE, Row, Table
from weft.results.result_file import read_results, read_results_text

SAMPLES = Path(__file__).resolve().parents[3] / "fixtures" / "results"


def table(benchmark: str, metric: str, *rows: tuple[int, float], **extra: object) -> Table:
    read = tuple(Row(i, size, {metric: value}) for i, (size, value) in enumerate(rows, 1))
    tool, memory = str(extra.get("tool", "osu")), str(extra.get("memory", "host"))
    conditions = {INTERFACE: str(extra["interface"])} if "interface" in extra else {}
    return Table(tool, "t", benchmark, read, 1, n_ranks=2, memory=memory, conditions=conditions)


def said(*tables: Table, head: bytes = b"") -> tuple[str, str]:
    """(verdict word and sentence, notes)."""
    evidence = evidence_of(tables, proofs_in(head, {}))
    finding = statement_of("f", evidence, fit_of(evidence))
    return f"{finding.severity.value.upper()} {finding.sentence}", "\n".join(finding.evidence)


def said_of(name: str) -> str:
    path = SAMPLES / name
    return said(*read_results(path).tables, head=path.read_bytes())[0]


RATES = tuple((1 << i, 12_100.0) for i in (16, 18, 20, 22))


def test_small_messages_of_one_pair_may_be_too_many_for_sockets() -> None:
    """7.5 million a second are no kernel's; 0.4 million may be anything's."""
    fast, _ = said(table("bandwidth", "bandwidth_mb_s", (8, 60.0), *RATES))
    assert "RDMA over EDR" in fast
    assert "TCP" not in fast
    slow, _ = said(table("bandwidth", "bandwidth_mb_s", (8, 3.2), *RATES))
    assert "100 GbE (TCP)" in slow


def test_a_rate_that_falls_again_is_of_no_named_link() -> None:
    rates = ((1 << 16, 4_986.0), (1 << 18, 6_644.0), (1 << 20, 4_004.0), (1 << 22, 3_763.0))
    sentence, notes = said(table("bandwidth", "bandwidth_mb_s", (8, 3.2), *rates))
    assert "the rows leave open which kind of path this was" in sentence
    assert "a row of the last size has 57 % of that rate" in notes


def test_two_links_of_gigabit_ethernet() -> None:
    """Open MPI stripes over both."""
    rates = tuple((1 << i, 233.0) for i in (16, 18, 20, 22))
    sentence, _ = said(
        table("latency", "latency_us", (0, 19.2)), table("bandwidth", "bandwidth_mb_s", *rates)
    )
    assert sentence.startswith("NOTE 93 % of 2 Gb/s, 19 us at 0 B: a link like 2 x 1 GbE (TCP)")


@pytest.mark.parametrize("asked", [b"-mca btl self,sm ./osu_bw", b"--mca btl vader,self ./x"])
def test_a_launch_line_that_leaves_shared_memory_alone(asked: bytes) -> None:
    rates = table("bandwidth", "bandwidth_mb_s", (8, 14.0), *RATES)
    assert "inside one host (shared memory)" in said(rates, head=asked)[0]
    slow = table("latency", "latency_us", (0, 2.79), (8, 2.8))
    assert "shared memory" not in said(slow, head=asked)[0], "the rows are too slow for it"


def test_adapters_of_two_families_are_two_machines() -> None:
    head = b"ib_write_bw -d hfi1_0\n Link type       : Ethernet\n"
    sentence, notes = said(table("bandwidth", "bandwidth_mb_s", *RATES, tool="perftest"), head=head)
    assert sentence.startswith("NOTE")
    assert "several machines (line 1, line 2): judge each alone" in notes


def test_gpu_memory_is_touched_by_messages_that_have_bytes() -> None:
    slow = table("latency", "latency_us", (0, 1.26), (1, 1442.9), (8, 1443.7), memory="gpu")
    assert said(slow)[0].startswith("WARNING 1443 us at 1 B: slower than any healthy path")


UDP_LATENCY = """\
MIGRATED UDP REQUEST/RESPONSE TEST from 0.0.0.0 () port 0 AF_INET to n2 () port 0 AF_INET
Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

212992 212992 1        1       10.00    {rate}
"""


def said_of_text(text: str) -> tuple[str, str]:
    return said(*read_results_text(text.encode(), "f").tables, head=text.encode())


def test_udp_is_called_udp() -> None:
    sentence, _ = said_of_text(UDP_LATENCY.format(rate="31250.00"))
    assert sentence == "NOTE 16 us at 1 B: kernel sockets (UDP)"
    asked = b"fi_rdm_pingpong -p udp 10.0.0.2\n"
    sentence, _ = said(table("latency", "latency_us", (1, 16.0)), head=asked)
    assert sentence.endswith("kernel sockets (the command line in the file asks for UDP)")


def test_no_protocol_is_named_that_the_file_does_not_name() -> None:
    ping_pong = "sockperf: Test ended\nsockperf: Summary: Latency is 16.0 usec\n"
    sentence, notes = said_of_text(ping_pong)
    assert sentence == "NOTE 16 us at 14 B: kernel sockets"
    assert "does not say whether over TCP or UDP" in notes
    rate = "sockperf: Test ended\nsockperf: Summary: BandWidth is 688.0 MBps (5504 Mbps)\n"
    assert "does not say whether over TCP or UDP" in said_of_text(rate)[0]
    of_mpi, _ = said(table("latency", "latency_us", (1, 80.0), (4, 81.0), (8, 82.0), (16, 82.5)))
    assert of_mpi == "NOTE 80 us at 1 B: kernel sockets"


def test_sockets_faster_than_the_kernel_are_a_library() -> None:
    """sockperf is also the benchmark of VMA, which passes the kernel by."""
    sentence, _ = said_of_text("sockperf ping-pong -i n2\nsockperf: Summary: Latency is 1.3 usec\n")
    assert sentence.startswith("NOTE 1.3 us at 14 B: sockets (UDP); faster than the kernel's")
    assert "kernel sockets" not in sentence


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("sockperf/full-rtt-3.8.txt", "NOTE 946 us at 350 B: kernel sockets (TCP)"),
        ("qperf/sockets-0.4.11.txt", "NOTE 15.9 Gb/s, 9.5 us at 1 B: kernel sockets (TCP and UDP)"),
        ("iperf/iperf3-3.12-loopback.txt", "NOTE 8.6 Gb/s: inside one host (kernel sockets)"),
        ("iperf/iperf3-3.12-udp.txt", "NOTE a rate of UDP is what the sender offered"),
        ("iperf/iperf3-1gbe.txt", "NOTE 94 % of 1 GbE: kernel sockets (TCP)"),
        ("netperf/stream-100gbe.txt", "NOTE 93 % of 100 GbE: kernel sockets (TCP)"),
        ("qperf/rdma.txt", "NOTE 37.4 Gb/s, 12 us at 1 B: RDMA"),
        ("verbs-pingpong/mlx4-three.txt", "NOTE 1.3 us at 4 KiB: RDMA"),
        (
            "fabtests/pingpong-cxi.txt",
            "NOTE 85 % of 200 Gb/s, 4.2 us at 256 B: RDMA over Slingshot",
        ),
        ("fabtests/tagged-bw-efa.txt", "NOTE 55 % of 100 Gb/s: RDMA over EFA 100"),
        ("ucx-perftest/tag-bw-1.13.txt", "NOTE 22.1 Gb/s: the rows leave open"),
        ("ucx-perftest/old-put-lat.txt", "NOTE 0.85 us at 4 B: RDMA or inside one host"),
        ("markdown/imb-three-tests.txt", "NOTE 0.22 us at 2 B: inside one host (shared memory)"),
        ("perftest/rows-behind-hash.txt", "GOOD 98 % of 25 Gb/s: RDMA over 25 GbE (RoCE)"),
    ],
)
def test_what_strangers_paste(name: str, sentence: str) -> None:
    assert said_of(name).startswith(sentence)


def test_large_messages_far_below_the_stream_are_of_another_path() -> None:
    """A stream over EDR beside messages of 25 GbE: tables of two machines in one file."""
    stream = table("bandwidth", "bandwidth_mb_s", *RATES)
    small = ((1, 1.4), (8, 1.5))
    alike = table("latency", "latency_us", *small, (1 << 20, 95.0), (1 << 22, 355.0))
    other = table("latency", "latency_us", *small, (1 << 20, 348.0), (1 << 22, 1385.0))
    assert said(alike, stream)[0].startswith("GOOD 97 % of 100 Gb/s")
    sentence, notes = said(other, stream)
    assert sentence.startswith("NOTE")
    assert "25 % of it by one large message at a time: tables of two paths" in notes
