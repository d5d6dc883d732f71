"""What `weft record` keeps of a real program is the same program as an OTF2 archive."""

import subprocess
from pathlib import Path

import pytest
from tests.kernel.conftest import compiler_and_launcher
from tests.unit.trace.otf2_files import convert, library_folder

from weft.cli import run
from weft.study.run.store import read_run
from weft.trace.program import CollectivePart, RankProgram, rank_programs
from weft.trace.trace import Trace, read_trace

HERE = Path(__file__).parent
N_RANKS = 4


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of four ranks of a program with calls of every kind."""
    folder = tmp_path_factory.mktemp("program")
    compiler, launcher = compiler_and_launcher("embedded")
    words = [str(compiler), "-o", str(folder / "app"), str(HERE / "recorded_program.c")]
    subprocess.run([*words, "-lpthread"], check=True)
    argv = [*launcher, "-n", str(N_RANKS), str(folder / "app")]
    assert run(["record", "--dir", str(folder / "trace"), "--", *argv]) == 0
    return folder / "trace"


def messages(program: RankProgram) -> list[object]:
    """What a rank does, with alltoallv by the sums of its blocks."""
    found: list[object] = []
    for kind, numbers in program.steps:
        part = numbers[0] if kind == "collective" else None
        if isinstance(part, CollectivePart) and part.name == "alltoallv":
            found.append((part.name, part.members, sum(part.blocks)))
        elif isinstance(part, CollectivePart) and part.name in ("gatherv", "scatterv"):
            # Of a root and of others only what becomes a message.
            found.append((part.name, part.members, part.root))
        elif kind != "calc":
            found.append((kind, numbers))
    return found


def blocks(trace: Trace, name: str) -> list[tuple[int, ...]]:
    """What ranks wrote down of a collective."""
    return [call.of("blocks") for rank in trace.ranks for call in rank.calls if call.name == name]


def test_an_archive_of_a_recorded_program_is_that_program(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "library").mkdir()
    library_folder(monkeypatch, tmp_path / "library")
    own = read_trace(recorded)
    anchor = convert(own, tmp_path / "archive")
    other = read_trace(anchor)
    assert (other.n_messages, other.message_bytes) == (own.n_messages, own.message_bytes)
    assert own.n_messages > 60
    assert other.calls == own.calls
    for mine, found in zip(rank_programs(own), rank_programs(other), strict=True):
        assert messages(found) == messages(mine)
    assert blocks(other, "gatherv") == blocks(own, "gatherv")
    assert blocks(other, "allgatherv") == blocks(own, "allgatherv")
    assert blocks(other, "scatterv")[1] == blocks(own, "scatterv")[1]
    times_us = []
    for number, path in enumerate((recorded, anchor)):
        where = ["--twin", "frontera", "--nodes", "8", "--dir", str(tmp_path / f"run{number}")]
        # Without computing, whose parts of a ns are rounded, and that hides all else.
        words = ["--iteration", "allreduce:32", "--compute", "0", *where]
        assert run(["replay", str(path), *words]) == 0
        (sample,) = read_run(tmp_path / f"run{number}").samples
        times_us.append(list(sample.times_ns or ()))
    assert times_us[0] == times_us[1]
