"""Lines that differ in their digits only are passed over together: that must change nothing."""

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.results import result_file as read
from weft.results.lines import clean, cursor
from weft.results.model import ResultFile
from weft.results.result_file import read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures" / "results"
SAMPLES = sorted(path for path in FIXTURES.glob("*/*") if path.suffix in (".txt", ".log", ".out"))
LOG_LINES = (
    "step {a} | loss {b}.4213 | lr 3.0e-04",
    "INFO:root:epoch {a} batch {b}",
    "worker-{a}: heartbeat {b} ms late",
    "node{a}: # OSU MPI Latency Test v5.{b}",
    "Latency {a}.{b} us",
    "{a}: loss {b}",
    "[{a}] loss {b}",
    "rank {a} 4096 1.25",
    "mpirun -np {a} ./osu_latency -i {b}",
    "srun -n {a} loss",
    "\x1b[3{a}mloss {b}\x1b[0m",
    "loss {a}\rloss {b}",
    "loss {a}\r",
    "2024-05-01T12:00:{a:02d}Z loss {b}",
    "loss {b}",
    "loss {b}",
    "x {a} {b}",
    "{a} {b}.25",
    "node1:{a}:{b} [0] NCCL INFO Channel {a}",
    "time {a} bytes {b} N",
    "-" * 74,
    "",
)
PREFIXES = ("", "", "[1,0]<stdout>:", "0: ", "[0] ", "node0: ", "node1: ", "node12: ")


def result_of(data: bytes) -> ResultFile | str:
    try:
        return read_results_text(data, "x")
    except InputError as error:
        return str(error)


def mixture(random: Random) -> bytes:
    """Tables among lines nobody knows, some cut short, with an end that may be cut too."""
    lines: list[str] = []
    while len(lines) < 150:
        prefix = random.choice(PREFIXES)
        if random.random() < 0.4:
            sample = random.choice(SAMPLES).read_text("utf-8", "replace").splitlines()
            begin = random.randrange(len(sample)) if random.random() < 0.3 else 0
            lines += [prefix + line for line in sample[begin : begin + random.randrange(1, 40)]]
        few = random.sample(LOG_LINES, 3)
        for _ in range(random.randrange(30)):
            known = random.choice(few).format(a=random.randrange(12), b=random.randrange(1000))
            lines.append(random.choice((prefix, prefix, random.choice(PREFIXES))) + known)
    data = "\n".join(lines).encode()
    return data[: len(data) - random.randrange(100)] if random.random() < 0.5 else data + b"\n"


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Two texts are kept only, so that the others are passed over early."""
    for module in (read, cursor):
        monkeypatch.setattr(module, "MAX_UNREAD_KEPT", 2)
    return monkeypatch


SEEDS_AND_BLOCKS = (st.integers(0, 2**40), st.sampled_from([200, 1000, 1 << 20]))
FIXTURE_IS_FINE = [HealthCheck.function_scoped_fixture]


def check_mixture(few_texts: pytest.MonkeyPatch, seed: int, block_bytes: int) -> None:
    data = mixture(Random(seed))
    few_texts.setattr(clean, "_CHUNK_BYTES", block_bytes)
    few_texts.setattr(clean, "_MAX_ALIKE", 4096)
    together = result_of(data)
    few_texts.setattr(clean, "_MAX_ALIKE", 0)
    assert together == result_of(data)


@settings(max_examples=100, deadline=None, suppress_health_check=FIXTURE_IS_FINE)
@given(*SEEDS_AND_BLOCKS)
def test_passing_over_alike_lines_changes_nothing(
    few_texts: pytest.MonkeyPatch, seed: int, block_bytes: int
) -> None:
    check_mixture(few_texts, seed, block_bytes)


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=FIXTURE_IS_FINE)
@given(*SEEDS_AND_BLOCKS)
def test_passing_over_alike_lines_never_changes_anything(
    few_texts: pytest.MonkeyPatch, seed: int, block_bytes: int
) -> None:
    check_mixture(few_texts, seed, block_bytes)


def test_alike_lines_are_counted_and_not_looked_at(few_texts: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def opens(text: str) -> bool:
        asked.append(text)
        return read.tool_that_opens(text) is not None

    few_texts.setattr(read, "begins_a_table", opens)
    table = b"# OSU MPI Latency Test v7.4\n# Size  Avg Latency(us)\n8  1.25\n"
    logged = b"".join(b"loss %d of step %d\n" % (i, i % 10) for i in range(100, 900))
    found = read_results_text(logged + table + logged + table, "x")
    assert [table.first_line for table in found.tables] == [801, 1604]
    assert (found.n_lines, found.n_unread) == (1606, 1600)
    assert sum(text.startswith("loss") for text in asked) < 20
