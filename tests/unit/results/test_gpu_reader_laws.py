"""Laws of the readers of GPU and verbs tools: what stands around their tables changes no row."""

from pathlib import Path
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.results.model import Row
from weft.results.result_file import read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "results"
SAMPLES = [
    *(FIXTURES / "nccl-tests" / name for name in ("gb10-2.20.txt", "alltoall-h20.txt")),
    *(FIXTURES / "nccl-tests" / name for name in ("header-without-hash.txt",)),
    *(FIXTURES / "rccl-tests" / name for name in ("mi300x-8.txt", "output-file.csv")),
    *(FIXTURES / "perftest" / name for name in ("write-bw-old-mb.txt", "read-lat-duration.txt")),
    *(FIXTURES / "perftest" / name for name in ("write-bw-rocm.txt", "post-list-duration.txt")),
]
PREFIXES = ["", "[1,0]<stdout>:", "0: ", "nccl-worker-0: ", "2024-05-01T12:00:00.123Z "]
NOISE = [
    "node7:4242:4250 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [send] via NET/IB/0/GDRDMA",
    "node7:4242:4250 [0] NCCL INFO comm 0x7f rank 1 nranks 2 cudaDev 0 - Init COMPLETE",
    "Conflicting CPU frequency values detected: 2400.0 != 1873.4. CPU Frequency is not max.",
    "[node7:04242] mca_base_component_repository_open: unable to open mca_btl_openib",
    "srun: job 4242 queued and waiting for resources",
    "",
]


def rows_of(text: str) -> list[tuple[object, ...]]:
    tables = read_results_text(text.encode(), "x").tables
    rows: list[Row] = [row for table in tables for row in table.rows]
    return [(row.size_bytes, row.metrics, row.labels, row.other) for row in rows]


@settings(max_examples=120)
@given(
    path=st.sampled_from(SAMPLES),
    prefix=st.sampled_from(PREFIXES),
    ending=st.sampled_from(["\n", "\r\n"]),
    seed=st.integers(0, 2**32),
)
def test_prefixes_and_log_lines_change_no_row(
    path: Path, prefix: str, ending: str, seed: int
) -> None:
    random = Random(seed)
    original = path.read_text()
    lines = []
    for line in original.splitlines():
        if random.random() < 0.3:
            lines.append(random.choice(NOISE))
        lines.append(prefix + line)
    assert rows_of(ending.join(lines) + ending) == rows_of(original)


@given(first=st.sampled_from(SAMPLES), second=st.sampled_from(SAMPLES))
def test_two_outputs_in_one_file_give_the_rows_of_both(first: Path, second: Path) -> None:
    one, two = first.read_text(), second.read_text()
    assert rows_of(one + two) == rows_of(one) + rows_of(two)
