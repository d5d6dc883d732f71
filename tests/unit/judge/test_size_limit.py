"""Long files: judged by an excerpt of their rows, with the verdicts that the whole file gives."""

import gzip
import io
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.catalog.machine.generic import Hardware
from weft.core.errors import InputError
from weft.core.finding import WORST_FIRST, Severity
from weft.judge import size_limit
from weft.judge.judge import judge_results
from weft.judge.model import FileJudgement, JudgedRow, RowState
from weft.judge.size_limit import ReadFile, of_a_part, read_file, read_stream
from weft.results.excerpt import excerpt as excerpts
from weft.results.result_file import read_results_text

FIXTURES = Path(__file__).parents[2] / "fixtures"
FIELD = sorted((FIXTURES / "field").glob("*.txt")) + sorted((FIXTURES / "field").glob("*.out"))
HARDWARE = (None, Hardware(link="edr"), Hardware(link="25gbe"))
FIGURE = re.compile(rb"(?<=[ \t])\d+\.\d+")
ROW = re.compile(rb"\s*\d+[ \t]+[\d.]")
TABLE = b"""# OSU MPI Bandwidth Test v5.9
# Size      Bandwidth (MB/s)
1                       4.10
1024                 3905.20
65536               11400.00
1048576             12050.00
4194304             12100.00
"""


@pytest.fixture(autouse=True)
def _every_file_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limit, "_LEAST_BYTES_OF_A_ROW", 0)
    monkeypatch.setattr(size_limit, "MOST_ROWS", 400)


def scaled(line: bytes, factor: Callable[[], float]) -> bytes:
    """The line with its figures, of as many decimals, times a factor."""

    def times(match: re.Match[bytes]) -> bytes:
        decimals = len(match[0].partition(b".")[2])
        return b"%.*f" % (decimals, float(match[0]) * factor())

    return FIGURE.sub(times, line)


def repeated(base: bytes, rng: random.Random, n: int) -> list[bytes]:
    """The lines of n runs that differ by 3 %."""
    lines = base.splitlines(keepends=True) * n
    return [
        scaled(line, lambda: rng.uniform(0.97, 1.03)) if ROW.match(line) else line for line in lines
    ]


def judged(file: ReadFile, hardware: Hardware | None) -> FileJudgement:
    found = judge_results(file.results, hardware=hardware, log=file.log)
    return of_a_part(found, file.part)


def in_excerpt(content: bytes, hardware: Hardware | None = None) -> FileJudgement:
    return judged(read_stream(io.BytesIO(content), "x"), hardware)


def in_full(content: bytes, hardware: Hardware | None = None) -> FileJudgement:
    return judge_results(read_results_text(content, "x"), hardware=hardware)


def by_line(judgement: FileJudgement) -> dict[tuple[object, ...], tuple[object, ...]]:
    return {
        (row.row.line, row.metric, tuple(row.row.labels.items())): (row.value, row.state)
        for row in judgement.rows
    }


def kinds(judgement: FileJudgement, *states: RowState) -> set[tuple[object, ...]]:
    """Test, size and labels of the rows with these states."""

    def kind(row: JudgedRow) -> tuple[object, ...]:
        return row.table.test, row.row.size_bytes, tuple(row.row.labels.items()), row.state

    return {kind(row) for row in judgement.rows if row.state in states}


def agree(seed: int) -> bool:
    """Whether an excerpt was made; that of some runs with some wrong rows says of each of its rows
    what the whole file says, and misses no kind of row that stands out there."""
    rng = random.Random(seed)
    base = rng.choice(FIELD).read_bytes() + b"\n"
    lines = repeated(base, rng, 2400 // (1 + base.count(b"\n")) + 2)
    rows = [i for i, line in enumerate(lines) if ROW.match(line)]
    for i in rng.sample(rows, min(len(rows), 3)):
        factor = rng.choice((0.1, 0.5, 0.8, 1.3, 8, 1000))
        lines[i] = scaled(lines[i], lambda factor=factor: factor)  # type: ignore[misc]
    content = b"".join(lines)
    hardware = rng.choice(HARDWARE)
    try:
        part, whole = in_excerpt(content, hardware), in_full(content, hardware)
    except InputError:
        return False
    first = part.findings[0]
    if not first.evidence or "least and the greatest figures among" not in first.evidence[0]:
        return False
    assert by_line(part).items() <= by_line(whole).items(), seed
    noticed = (RowState.LOW, RowState.IMPOSSIBLE, RowState.HIGH)
    assert kinds(part, *noticed) == kinds(whole, *noticed), seed
    better = WORST_FIRST.index(first.severity) > WORST_FIRST.index(whole.findings[0].severity)
    assert not better, (seed, first, whole.findings[0])
    return True


@pytest.mark.parametrize("seed", range(12))
def test_an_excerpt_says_of_its_rows_what_the_whole_file_says(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limit, "MOST_ROWS", 1500)
    agree(seed)


@pytest.mark.slow
def test_excerpts_of_many_files_say_what_the_whole_file_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(size_limit, "MOST_ROWS", 1500)
    assert sum(agree(seed) for seed in range(100, 220)) > 40


@pytest.mark.parametrize("place", [0, 7, 1500, 2999])
@pytest.mark.parametrize(("factor", "state"), [(0.5, RowState.LOW), (1.5, RowState.IMPOSSIBLE)])
def test_one_wrong_row_of_thousands_is_found_with_its_line(
    place: int, factor: float, state: RowState
) -> None:
    lines = repeated(TABLE.replace(b"12100", b"11700"), random.Random(3), 3000)
    lines[7 * place + 6] = scaled(lines[7 * place + 6], lambda: factor)
    judgement = in_excerpt(b"".join(lines), Hardware(link="edr"))
    assert judgement.is_bad
    wrong = [row.row.line for row in judgement.rows if row.state is state]
    assert 7 * place + 7 in wrong


def test_healthy_runs_of_any_number_are_good() -> None:
    table = TABLE.replace(b"121", b"116").replace(b"120", b"116")
    content = b"".join(repeated(table, random.Random(4), 2000))
    judgement = in_excerpt(content, Hardware(link="edr"))
    assert judgement.findings[0].severity is Severity.GOOD
    assert judgement.findings[0].evidence[0].startswith("weft read all 10,000 lines of rows")


def test_columns_that_contradict_each_other_in_one_row_are_found() -> None:
    columns = b"Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations"
    heading = b"# OSU MPI Allreduce Latency Test v7.4\n# Size  %s\n" % columns
    rng = random.Random(5)
    lines: list[bytes] = []
    for _ in range(600):
        lines.append(heading)
        for size in (8, 64, 512):
            mean = rng.uniform(3, 6)
            lines.append(b"%d %.2f %.2f %.2f 1000\n" % (size, mean, mean * 0.8, mean * 1.2))
    lines[4 * 300 + 2] = b"64 4.50 4.90 5.40 1000\n"
    judgement = in_excerpt(b"".join(lines))
    assert [row.row.line for row in judgement.rows if row.contradictory] == [5 * 300 + 4]


def test_what_a_log_says_in_the_middle_of_a_long_file_counts() -> None:
    line = b"n1:1:1 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\n"
    content = TABLE * 300 + line + TABLE * 300
    file = read_stream(io.BytesIO(content), "x")
    assert [one.number for one in file.log.lines] == [300 * 7 + 1]


def test_headings_are_kept_with_their_rows() -> None:
    other = TABLE.replace(b"Bandwidth Test", b"Bi-Directional Bandwidth Test")
    rng = random.Random(6)
    content = b"".join(rng.choice((TABLE, other)) for _ in range(1000))
    whole = {row.row.line: row.table.test for row in in_full(content).rows}
    part = {row.row.line: row.table.test for row in in_excerpt(content).rows}
    assert part.items() <= whole.items()
    assert set(part.values()) == {"osu_bw", "osu_bibw"}


def test_sizes_without_end_are_compared_with_their_neighbours_and_never_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excerpts, "MOST_GROUPS", 500)
    rows = b"".join(b"%d %.2f\n" % (n, 11650.0 + n % 7) for n in range(4_000_000, 4_005_000))
    judgement = in_excerpt(b"# OSU MPI Bandwidth Test v5.9\n# Size  Bandwidth (MB/s)\n" + rows)
    assert "sizes within 9 % as one" in judgement.findings[0].evidence[0]
    assert judgement.findings[0].severity is not Severity.GOOD


def test_of_too_many_kinds_of_rows_the_first_are_judged_and_none_is_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(excerpts, "MOST_GROUPS", 3)
    judgement = in_excerpt(TABLE * 200, Hardware(link="edr"))
    first = judgement.findings[0]
    assert first.evidence[0].startswith("only the first 400 lines of rows were judged")
    assert first.severity is not Severity.GOOD
    assert max(row.row.line for row in judgement.rows) == 400 * 7 // 5


def test_packed_and_piped_files_are_cut_as_well(tmp_path: Path) -> None:
    content = TABLE * 300
    (tmp_path / "plain").write_bytes(content)
    (tmp_path / "packed").write_bytes(gzip.compress(content))
    texts = {
        file.part and file.part.text
        for file in (
            read_file(tmp_path / "plain"),
            read_file(tmp_path / "packed"),
            read_stream(io.BytesIO(content), "-"),
        )
    }
    assert len(texts) == 1
    assert None not in texts


def test_a_stream_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_limit, "MOST_RESULT_BYTES", 1 << 22)

    class Endless(io.RawIOBase):
        def read(self, n: int = -1) -> bytes:
            return TABLE * max(1, n // len(TABLE))

    with pytest.raises(InputError, match="the file has more than"):
        read_stream(Endless(), "-")  # type: ignore[arg-type]
