from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.model import ResultFile, Row, Table
from weft.results.perftest.tables import opens
from weft.results.result_file import read_results, read_results_text

FIXTURES = Path(__file__).parents[3] / "fixtures" / "results" / "perftest"
GBITS = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
OLD_MB = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]"
MIB = OLD_MB.replace("MB/", "MiB/")
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] "
)


def read(name: str) -> ResultFile:
    return read_results(FIXTURES / name)


def text_of(*lines: str) -> ResultFile:
    return read_results_text(("\n".join(lines) + "\n").encode(), "result.txt")


def table_of(*lines: str) -> Table:
    [table] = text_of(*lines).tables
    return table


def rows_of(data: bytes) -> list[Row]:
    try:
        results = read_results_text(data, "result.txt")
    except InputError:
        return []
    return [row for table in results.tables for row in table.rows]


def test_gigabits_become_megabytes_and_no_peak_is_no_metric() -> None:
    row = table_of(GBITS, " 65536      4159603          0.00   363.47   0.693268").rows[0]
    assert row.metrics == {
        "iterations": 4159603.0,
        "bandwidth_mb_s": pytest.approx(363.47e3 / 8),
        "msg_rate_mps": 0.693268,
    }


@pytest.mark.parametrize("header", [OLD_MB, MIB])
def test_its_megabytes_are_two_to_the_twenty(header: str) -> None:
    row = table_of(header, " 65536  1000  46567.34  46557.03   0.744912").rows[0]
    assert row.metrics["bandwidth_mb_s"] == pytest.approx(46557.03 * 1.048576)
    assert row.metrics["bandwidth_peak_mb_s"] == pytest.approx(46567.34 * 1.048576)
    assert row.metrics["bandwidth_mb_s"] == pytest.approx(65536 * 0.744912, rel=1e-5)


def test_a_header_in_megabytes_over_a_row_in_gigabits_is_seen_through() -> None:
    [table] = read("write-bw-server-header-mb.txt").tables
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(196.07e3 / 8)
    assert table.conditions["unit_in_header"] == "MB/sec"
    assert table.conditions["unit"].startswith("Gb/sec (proved")


def test_the_parameters_and_addresses_are_conditions() -> None:
    [bandwidth, latency] = read("send-bw-and-lat-mib.txt").tables
    assert (bandwidth.test, bandwidth.benchmark) == ("ib_send_bw", "bandwidth")
    assert (latency.test, latency.benchmark) == ("ib_write_lat", "latency")
    assert bandwidth.devices == ("mlx5_0",)
    assert (bandwidth.n_ranks, bandwidth.n_nodes, bandwidth.tasks_per_node) == (2, 2, 1)
    assert bandwidth.memory == "host"
    said = {k: bandwidth.conditions[k] for k in ("connection", "link_type", "mtu", "tx_depth")}
    assert said == {"connection": "RC", "link_type": "IB", "mtu": "4096", "tx_depth": "128"}
    assert latency.conditions["latency_is"] == "half the round trip"
    assert "latency_is" not in bandwidth.conditions


def test_a_latency_table_gives_average_median_and_tails() -> None:
    [_, table] = read("send-bw-and-lat-mib.txt").tables
    assert table.rows[0].size_bytes == 2
    assert table.rows[0].metrics == {
        "iterations": 1000.0,
        "latency_us_min": 1.76,
        "latency_us_max": 6.12,
        "latency_us_p50": 1.79,
        "latency_us": 1.80,
        "latency_us_stdev": 0.06,
        "latency_us_p99": 1.88,
        "latency_us_p999": 6.12,
    }


def test_the_oldest_latency_table_has_its_median_for_latency() -> None:
    table = table_of(
        " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]",
        " 2       1000          1.76           6.12         1.79",
    )
    assert table.rows[0].metrics["latency_us"] == 1.79


def test_a_latency_by_duration_has_an_average_and_a_rate() -> None:
    [table] = read("read-lat-duration.txt").tables
    assert (table.test, table.conditions["op"]) == ("ib_read_lat", "read")
    assert table.conditions["latency_is"] == "the round trip"
    assert table.n_nodes == 1
    assert table.rows[0].metrics == {
        "iterations": 62078352.0,
        "latency_us": 2.42,
        "transactions_per_s": 413812.77,
    }


def test_two_directions_are_another_benchmark() -> None:
    row = " 65536 5000 0.00 363.47 0.693268"
    table = table_of("                    RDMA_Write Bidirectional BW Test", GBITS, row)
    assert (table.benchmark, table.conditions["directions"]) == ("bidirectional", "2")
    launched = table_of("ib_write_bw -d mlx5_0 -b host2", GBITS, row)
    assert (launched.benchmark, launched.test) == ("bidirectional", "ib_write_bw")


def test_gpu_memory_is_known_by_the_launch_or_the_log() -> None:
    [rocm] = read("write-bw-rocm.txt").tables
    row = " 65536 5000 0.00 363.47 0.693268"
    cuda = table_of("ib_write_bw --use_cuda=0 -d mlx5_0 host2", GBITS, row)
    log = table_of(
        "initializing CUDA",
        "[pid = 42, dev = 0] device name = [NVIDIA A100-SXM4-80GB]",
        "---------------------------------------------------------------------------------------",
        "                    RDMA_Write BW Test",
        GBITS,
        row,
    )
    assert [table.memory for table in (rocm, cuda, log)] == ["gpu", "gpu", "gpu"]
    assert log.conditions["gpu"] == "NVIDIA A100-SXM4-80GB"


def test_rows_by_port_follow_the_row_of_both() -> None:
    header = (
        GBITS + "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]"
    )
    table = table_of(header, " 65536 5000 0.00 160.00 0.305176 100.00 0.190735 60.00 0.114441")
    assert [row.labels.get("port", "") for row in table.rows] == ["", "1", "2"]
    both, first, second = (row.metrics["bandwidth_mb_s"] for row in table.rows)
    assert both == pytest.approx(first + second)
    assert table.rows[2].metrics["msg_rate_mps"] == 0.114441


def test_service_levels_and_processor_load_are_reported() -> None:
    header = (
        " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
    )
    row = table_of(header, " 65536    3   20000   111.72   111.71   0.213070").rows[0]
    assert row.labels == {"service_level": "3"}
    load = table_of(GBITS + "    CPU_Util[%]", " 65536 20000 111.72 111.71 0.213070   3.14").rows[0]
    assert load.metrics["cpu_percent"] == 3.14


def test_a_table_without_message_rates_has_the_unit_of_its_header() -> None:
    header = " #bytes #iterations    BW peak[MB/sec]    BW average[MB/sec]  "
    table = table_of("Perftest v1.2", header, "  65536        5000           3250.70     3250.69")
    assert table.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(3250.69 * 1.048576)
    version = table_of("ib_write_bw host2", "Perftest v4.5", header, " 2 5 1.00 0.99").version
    assert version == "4.5"


def test_an_unknown_column_is_kept_by_its_whole_heading() -> None:
    row = table_of(GBITS + "   BW min[Gb/sec]", " 65536 20000 111.72 111.71 0.213070  99.5").rows[0]
    assert row.other == {"BW min[Gb/sec]": "99.5"}


def test_both_ends_on_one_terminal_are_read() -> None:
    results = read("both-ends-interleaved.txt")
    rows = [row for table in results.tables for row in table.rows]
    assert [row.size_bytes for row in rows] == [1000, 1000]
    assert rows[0].metrics["bandwidth_mb_s"] == rows[1].metrics["bandwidth_mb_s"]
    assert results.tables[0].n_nodes == 1
    assert results.n_unread == 0


def test_results_of_either_side_follow_those_of_both() -> None:
    row = " 65536 5000 0.00 363.47 0.693268"
    tables = text_of(
        "                    Send Bidirectional BW Test",
        GBITS,
        row,
        "---------------------------------------------------------------------------------------",
        " Local results: ",
        GBITS,
        row,
    ).tables
    assert [table.benchmark for table in tables] == ["bidirectional", "bidirectional"]
    assert [table.conditions.get("side") for table in tables] == [None, "local"]


def test_a_list_of_rows_without_header_proves_its_unit() -> None:
    # Jose and Shainer, UCF 2022: 16 pairs in host memory, 16 in GPU memory, two rows a pair.
    host, gpu = read("gpudirect-16-pairs.txt").tables
    assert (len(host.rows), len(gpu.rows)) == (16, 16)
    assert (host.memory, gpu.memory) == ("host", "gpu")
    assert host.hosts == ("compute000000", "compute000001")
    assert host.rows[0].metrics["bandwidth_mb_s"] == pytest.approx(196.09e3 / 8)
    assert [row.labels["pair"] for row in host.rows] == [str(i // 2) for i in range(16)]
    assert gpu.conditions["unit"] == "Gb/sec (proved: average bandwidth = size x message rate)"


@pytest.mark.parametrize(
    "line",
    [
        "8388608 2922 0.00 196.59 0.002922",
        "8388608 2922 100.00 196.09 0.002922",
        "8388608 2922 0.00 24.51 0.002922",
        "8388608 2922 0.00 196.09",
        "8388608 2922 0.00 0.00 0.000000",
        "65536 640 11.20 12.30 11.90",
        "1 2 3 4 5",
    ],
)
def test_a_row_without_header_that_proves_nothing_opens_no_table(line: str) -> None:
    assert not opens(line)


def test_a_row_without_header_after_a_pair_says_why_it_is_refused() -> None:
    refused = "8388608 2922 0.00 24.51 0.002922"
    results = text_of("Pair 0:", refused, GBITS, " 2 5 0.00 0.08 4.900000")
    assert results.unread[0].reason == (
        "no header above, and size x message rate does not prove the unit"
    )


def test_negative_and_other_absurd_numbers_cost_their_line() -> None:
    # linux-rdma/perftest issue 82: a counter that overflowed.
    results = text_of(
        GBITS,
        " 65536 5000 0.00 -12.50 -0.023842",
        " 65536 5000 0.00 nan 0.693268",
        " 65536 5000 0.00 363.47 0.693268",
    )
    assert [row.line for row in results.tables[0].rows] == [4]
    assert [line.line for line in results.unread] == [2, 3]


def test_samples_of_a_histogram_are_no_rows() -> None:
    table = table_of(
        "                    RDMA_Write Latency Test",
        "#, usec",
        "1, 2.37",
        "2, 2.41",
        LATENCY,
        " 2 1000 1.76 6.12 1.79 1.80 0.06 1.88 6.12",
    )
    assert [row.line for row in table.rows] == [6]


@settings(max_examples=150)
@given(
    size=st.integers(1, 23).map(lambda power: 1 << power),
    rate=st.integers(1_000, 200_000_000).map(lambda millionths: millionths / 1e6),
)
def test_a_run_in_gigabits_and_in_mebibytes_is_the_same(size: int, rate: float) -> None:
    gbits, mib = size * rate * 8e-3, size * rate * 1e6 / 2**20
    found = []
    for header, value in ((GBITS, gbits), (MIB, mib), (MIB, gbits), (GBITS, mib)):
        row = table_of(header, f" {size} 5000 0.00 {value:.2f} {rate:.6f}").rows[0]
        found.append(row.metrics["bandwidth_mb_s"])
    half = 0.0051
    slack = half * 125 + half * 1.048576
    assert abs(found[0] - found[1]) <= slack
    for bandwidth in found[:2]:
        assert abs(bandwidth - size * rate) <= size * 0.5e-6 + slack
    if gbits > 1 and mib > 1:
        # A header with the wrong unit is seen through where the numbers are fine enough.
        assert found[2:] == found[:2]


WHOLE = (FIXTURES / "write-bw-old-mb.txt").read_bytes()
LATENCIES = (FIXTURES / "send-bw-and-lat-mib.txt").read_bytes()
BARE = (FIXTURES / "gpudirect-16-pairs.txt").read_bytes()


@settings(max_examples=150)
@given(whole=st.sampled_from([WHOLE, LATENCIES, BARE]), share=st.floats(0, 1))
def test_a_file_cut_anywhere_gives_the_first_rows_of_the_whole(whole: bytes, share: float) -> None:
    cut = round(share * len(whole))
    all_rows, rows = rows_of(whole), rows_of(whole[:cut])
    assert [(row.line, row.metrics) for row in rows] == [
        (row.line, row.metrics) for row in all_rows[: len(rows)]
    ]


SAMPLES = sorted(path for path in FIXTURES.iterdir() if path.suffix != ".md")


@settings(max_examples=200)
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
