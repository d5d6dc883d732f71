"""Laws of reading: what is around a table, and in what order its columns stand, changes nothing."""

import time
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results.model import Row, Table
from weft.results.result_file import read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "results"
SAMPLES = [
    *(FIXTURES / "osu" / name for name in ("omb_7.4_run.txt", "alps_7.5_bw_gpu.txt")),
    *(FIXTURES / "imb" / name for name in ("imb_2021.11_excerpts.txt", "imb_4.0_pingpong.txt")),
    FIXTURES / "mpi4py" / "pingpong_4.1.2.txt",
    FIXTURES / "osu" / "kaneshiro_2014_bibw.txt",
]
PREFIXES = [
    "",
    "[1,0]<stdout>:",
    "[1,0]<stdout>: ",
    "0: ",
    "[0] ",
    "nccl-worker-0: ",
    "worker-1  | ",
    "[pod/nccl-worker-0/main] ",
    "2024-05-01T12:00:00.123Z ",
    "[2024-05-01 12:00:00] ",
    "May  1 12:00:00 node17 run.sh[4242]: ",
    "2024-05-01T12:00:00Z [1,0]<stdout>:",
]
NOISE = [
    "node7:4242:4250 [0] NCCL INFO Using network IB",
    "[2024-05-01 12:00:00] node7:4242:4250 [0] NCCL WARN slow",
    "[node7:04242] mca_base_component_repository_open: unable to open mca_btl_openib",
    "x: /lib/libnl-3.so.200: no version information available (required by y)",
    "Conflicting CPU frequency values detected: 2400.0 != 1873.4. CPU Frequency is not max.",
    "+ export UCX_TLS=rc",
    "srun: job 4242 queued and waiting for resources",
    "libfabric:4242:1714564800::cxi:mr:x():12<info> y",
    "",
]
COLOURS = ["\x1b[31m", "\x1b[0m", "\x1b[1;32m", "\x1b[K"]
EACH_SAMPLE = pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)


def tables_of(data: bytes) -> tuple[Table, ...]:
    try:
        return read_results_text(data, "x").tables
    except InputError:
        return ()


def content_of(tables: tuple[Table, ...]) -> list[tuple[object, ...]]:
    """The tables but for line numbers."""
    return [
        (
            (table.tool, table.test, table.benchmark, table.version, table.memory, table.n_ranks),
            dict(table.conditions),
            [(row.size_bytes, row.metrics, row.labels, row.other) for row in table.rows],
        )
        for table in tables
    ]


@EACH_SAMPLE
@settings(max_examples=40)
@given(
    st.sampled_from(PREFIXES),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
    st.integers(0, 2**32),
)
def test_prefixes_colours_and_noise_change_nothing(
    path: Path, prefix: str, ending: str, encoding: str, seed: int
) -> None:
    original = path.read_text()
    random = Random(seed)
    shuffled: list[str] = []
    for line in original.splitlines():
        while random.random() < 0.2:
            shuffled.append(prefix + random.choice(NOISE))
        colour = random.choice(COLOURS) if random.random() < 0.2 else ""
        shuffled.append(f"{colour}{prefix}{colour}{line}{colour}")
    data = (ending.join(shuffled) + ending).encode(encoding)
    assert content_of(tables_of(data)) == content_of(tables_of(original.encode()))


@EACH_SAMPLE
def test_line_numbers_are_those_of_the_file(path: Path) -> None:
    lines = path.read_text().splitlines()
    for table in tables_of(path.read_bytes()):
        numbers = [row.line for row in table.rows]
        assert numbers == sorted(numbers)
        for row in table.rows:
            if row.size_bytes is not None:
                assert lines[row.line - 1].split()[0] == str(row.size_bytes)


@EACH_SAMPLE
def test_a_file_cut_anywhere_gives_the_first_of_its_rows(path: Path) -> None:
    whole = path.read_text()
    rows = flat(tables_of(whole.encode()))
    start = whole.index("\n", whole.index("Size") if "Size" in whole else whole.index("#bytes"))
    n_read = 0
    for end in range(start, len(whole)):
        found = flat(tables_of(whole[:end].encode()))
        assert found == rows[: len(found)], f"cut after {whole[:end][-40:]!r}"
        n_read = max(n_read, len(found))
    assert n_read >= len(rows) - 1


def flat(tables: tuple[Table, ...]) -> list[tuple[str, Row]]:
    return [(table.test, row) for table in tables for row in table.rows]


VALUES = {
    "Size": "4096",
    "Avg Latency(us)": "1.25",
    "Min Latency(us)": "1.05",
    "Max Latency(us)": "1.75",
    "Iterations": "1000",
    "P99 Tail Lat(us)": "1.65",
    "Validation": "Pass",
    "Something Else": "x7",
}
OSU = "# OSU MPI Allreduce Latency Test v7.4\n"


def row_of(names: list[str]) -> Row:
    header = "# " + "   ".join(names)
    row = "   ".join(VALUES[name] for name in names)
    [table] = tables_of(f"{OSU}{header}\n{row}\n".encode())
    return table.rows[0]


@given(st.permutations([name for name in VALUES if name not in ("Size", "Avg Latency(us)")]))
def test_the_order_of_columns_changes_nothing(names: list[str]) -> None:
    row = row_of(["Size", *names, "Avg Latency(us)"])
    assert row.size_bytes == 4096
    assert row.metrics == {
        "latency_us": 1.25,
        "latency_us_min": 1.05,
        "latency_us_max": 1.75,
        "iterations": 1000,
        "latency_us_p99": 1.65,
    }
    assert row.labels == {"validation": "Pass"}
    assert row.other == {"Something Else": "x7"}


IMB_VALUES = {
    "#repetitions": "640",
    "t_min[usec]": "5.10",
    "t_max[usec]": "5.90",
    "t_avg[usec]": "5.50",
    "Mbytes/sec": "22000.00",
    "defects": "0.00",
}


@given(st.permutations(list(IMB_VALUES)))
def test_the_order_of_imb_columns_changes_nothing(names: list[str]) -> None:
    values = {"#bytes": "65536"} | IMB_VALUES
    columns = ["#bytes", *names]
    text = "# Benchmarking Sendrecv\n" + "  ".join(columns) + "\n"
    text += "  ".join(values[name] for name in columns) + "\n"
    [table] = tables_of(text.encode())
    assert table.rows[0].metrics == {
        "iterations": 640,
        "latency_us_min": 5.1,
        "latency_us_max": 5.9,
        "latency_us": 5.5,
        "bandwidth_mb_s": 22000,
    }
    assert table.rows[0].other == {"defects": "0.00"}


UNITS = {
    "Latency (us)": ("latency_us", 1.0),
    "Latency (ms)": ("latency_us", 1000.0),
    "Latency (ns)": ("latency_us", 0.001),
    "Bandwidth (MB/s)": ("bandwidth_mb_s", 1.0),
    "Bandwidth (GB/s)": ("bandwidth_mb_s", 1000.0),
    "Bandwidth (MiB/s)": ("bandwidth_mb_s", 1.048576),
    "Messages/s": ("msg_rate_mps", 1e-6),
}


@given(st.sampled_from(sorted(UNITS)), st.integers(0, 10**12), st.integers(0, 99))
def test_units_are_those_of_the_header(name: str, whole: int, cents: int) -> None:
    metric, factor = UNITS[name]
    header = f"# Size   {name}" if name != "Messages/s" else "# Size   MB/s   Messages/s"
    value = f"{whole}.{cents:02d}"
    row = f"8   {value}" if name != "Messages/s" else f"8   1.00   {value}"
    [table] = tables_of(f"{OSU}{header}\n{row}\n".encode())
    assert table.rows[0].metrics[metric] == pytest.approx(float(value) * factor, rel=1e-15)


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_no_bytes_bring_a_reader_down(data: bytes) -> None:
    tables_of(data)
    tables_of(OSU.encode() + b"# Size  Avg Latency(us)\n8  1.25\n" + data)
    tables_of(b"# Benchmarking PingPong\n#bytes #repetitions t[usec] Mbytes/sec\n" + data)


@pytest.mark.parametrize("begun", ["", OSU + "# Size  Avg Latency(us)\n8  1.25\n"])
@pytest.mark.parametrize(
    "piece",
    [
        "# OSU MPI ",
        "# Size ",
        "[",
        "> ",
        "\x1b]",
        "\r",
        "9",
        "a: \n",
        "0: # OSU MPI Latency Test v5\n",
        "-" * 74 + "\n",
        "    1 node:1:2 [0] NCCL INFO x\n",
        "$ mpirun -np 2 osu_latency\n",
        "{\n",
    ],
)
def test_time_grows_with_length_only(begun: str, piece: str) -> None:
    def cpu_seconds(n_bytes: int) -> float:
        data = (begun + piece * (n_bytes // len(piece))).encode()
        started = time.process_time()
        tables_of(data)
        return time.process_time() - started

    cpu_seconds(20_000)
    assert cpu_seconds(200_000) < 10 * 4 * cpu_seconds(20_000) + 0.2


CUT = [
    *(FIXTURES / "osu" / name for name in ("omb_2.0_bw_six_decimals.txt", "omb_7.4_run.txt")),
    *(FIXTURES / "clusterkit" / name for name in ("matrix-bandwidth.txt", "matrix-latency.txt")),
    *(FIXTURES / "nccl-tests" / name for name in ("old-all-gather-without-header.txt",)),
    *(FIXTURES / "rccl-tests" / name for name in ("output-file-13-names-14-fields.csv",)),
    *(FIXTURES / "perftest" / name for name in ("header-without-message-rate.txt",)),
    FIXTURES / "mpi4py" / "pingpong_no_stats_4.1.2.txt",
]


@pytest.mark.parametrize("path", CUT, ids=lambda path: path.stem)
def test_no_figure_of_a_file_cut_anywhere_is_another_than_the_whole_has(path: Path) -> None:
    whole = path.read_bytes()
    figures = set(figures_of(whole))
    for end in range(1, min(len(whole), 1500)):
        assert figures.issuperset(figures_of(whole[:end])), f"cut after {whole[:end][-40:]!r}"


def figures_of(data: bytes) -> list[tuple[object, ...]]:
    return [
        (row.line, row.size_bytes, metric, value)
        for _, row in flat(tables_of(data))
        for metric, value in row.metrics.items()
        if metric != "algbw_gb_s"
    ]
