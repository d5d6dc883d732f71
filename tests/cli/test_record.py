"""`weft record` on real ranks, and `weft replay` of what it kept."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kernel.conftest import compiler_and_launcher
from tests.unit.trace.trace_files import record, ring, write

from weft.cli import run
from weft.study.run.store import read_run
from weft.trace.recording import command_of
from weft.trace.trace import read_trace

Capture = pytest.CaptureFixture[str]
HERE = Path(__file__).parents[1] / "kernel"
FABRIC = ("--twin", "frontera", "--nodes", "8")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The launch of four ranks of a program with calls of every kind, by the embedded MPICH."""
    compiler, launcher = compiler_and_launcher("embedded")
    binary = tmp_path_factory.mktemp("program") / "app"
    words = [str(compiler), "-o", str(binary), str(HERE / "recorded_program.c"), "-lpthread"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [*launcher, "-n", "4", str(binary)]


def test_a_program_is_recorded_and_replayed(
    program: list[str], tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "trace"
    assert run(["record", "--dir", str(where), "--format", "json", "--", *program]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["n_ranks"], said["exit_code"], said["calls"]["allreduce"]) == (4, 0, 28)
    assert sorted(one.name for one in where.iterdir()) == [
        "rank-00000.trace.zst", "rank-00001.trace.zst", "rank-00002.trace.zst",
        "rank-00003.trace.zst", "recording.json",
    ]  # fmt: skip
    assert command_of(where).endswith(program[-1])
    again = ["--iteration", "allreduce:32", "--compute", "0", "--dir", str(tmp_path / "run")]
    assert run(["replay", str(where), *FABRIC, *again, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert "4 ranks of: " in shown.err
    assert "5 iterations, from allreduce:32B to the next; recorded median" in shown.err
    (sample,) = read_run(tmp_path / "run").samples
    assert sample.iterations == 5
    # Two exchanges of a message each, and no computing.
    assert sample.times_ns is not None
    assert all(1000 < time < 10_000 for time in sample.times_ns[:4])


def test_a_program_that_fails_leaves_its_trace(
    program: list[str], tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "trace"
    assert run(["record", "--dir", str(where), "--", *program, "crash"]) == 4
    said = capsys.readouterr()
    assert "the program ended with exit code" in said.out
    assert "did not end in MPI_Finalize" in said.out
    assert not all(rank.is_whole for rank in read_trace(where).ranks)


def test_what_records_nothing_says_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    mpi = ["--mpi", str(Path(sys.executable).with_name("mpicc"))]
    where = tmp_path / "trace"
    assert run(["record", *mpi, "--dir", str(where), "--", "true"]) == 3
    said = capsys.readouterr().err
    assert "no rank recorded anything" in said
    assert "--mpi names the mpicc of another MPI" in said
    assert not where.exists()
    assert run(["record", *mpi, "--dir", str(where), "--", "false"]) == 4
    assert "exit code 1, and no rank recorded" in capsys.readouterr().err
    assert run(["record", *mpi, "--dir", str(where), "--", "/no/such/program"]) == 3
    assert "'/no/such/program' cannot be started" in capsys.readouterr().err
    where.mkdir(exist_ok=True)
    (where / "file").touch()
    assert run(["record", *mpi, "--dir", str(where), "--", "true"]) == 2
    assert "the directory is not empty" in capsys.readouterr().err


def test_secrets_of_the_command_are_not_kept(
    program: list[str], tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "trace"
    secret = "AKIAIOSFODNN7EXAMPLE"
    assert run(["record", "--dir", str(where), "--", *program, f"--token={secret}"]) == 0
    capsys.readouterr()
    assert secret not in (where / "recording.json").read_text()


def iterative(folder: Path, n_ranks: int = 4) -> Path:
    """Six iterations: a ring, and a sum of all."""
    bodies = []
    for rank in range(n_ranks):
        parts = [
            record("allreduce", 8, 0, 0, 0, gap=20_000) + ring(rank, n_ranks, 1 << 16, 2 * k + 1)
            for k in range(7)
        ]
        bodies.append(b"".join(parts))
    return write(folder, bodies)


def test_a_replay_beside_an_aggressor_has_an_impact(tmp_path: Path, capsys: Capture) -> None:
    trace = iterative(tmp_path / "t")
    asked = ["--aggressor", "alltoall:64K@8", "--dir", str(tmp_path / "run"), "--format", "json"]
    assert run(["replay", str(trace), "--twin", "fat-tree", "--nodes", "16", *asked]) == 0
    (row,) = json.loads(capsys.readouterr().out)["impact"]
    assert (row["benchmark"], row["n_nodes"], row["n_units"]) == ("replay", 4, 6)
    assert row["figures"]["mean"]["impact"] >= 1


def test_what_no_replay_repeats_is_in_the_run(tmp_path: Path, capsys: Capture) -> None:
    parts = (record("allreduce", 8, 0, 0, 0, gap=20_000), record("one_sided", 8))
    bodies = [b"".join(parts) * 7] * 4
    bodies[1] += record("send", 3, 8, 1, 0)
    trace = write(tmp_path / "t", bodies)
    where = tmp_path / "run"
    assert run(["replay", str(trace), *FABRIC, "--dir", str(where)]) == 0
    assert "! 28 one sided calls: not replayed" in capsys.readouterr().err
    assert run(["report", str(where)]) == 0
    page = (where / "report.html").read_text()
    assert "Of the recorded program: 28 one sided calls: not replayed." in page
    assert "Of the recorded program: 1 message recorded at one end only: left out." in page


def test_a_replay_on_more_ranks_says_its_grid(tmp_path: Path, capsys: Capture) -> None:
    trace = iterative(tmp_path / "t")
    asked = ["--scale", "2x", "--twin", "fat-tree", "--nodes", "8", "--dir", str(tmp_path / "run")]
    assert run(["replay", str(trace), *asked]) == 0
    assert "scaled from a grid of 4 ranks to 8; weak: each rank does as much" in (
        capsys.readouterr().err
    )
    out = tmp_path / "larger.goal"
    assert run(["replay", str(trace), "--scale", "2x", "--goal", str(out)]) == 0
    assert out.read_text().startswith("num_ranks 8\n")
    strong = [*asked[:-1], str(tmp_path / "strong"), "--strong"]
    assert run(["replay", str(trace), *strong]) == 0
    weak_us, strong_us = (
        read_run(tmp_path / name).samples[0].metrics["latency_us"] for name in ("run", "strong")
    )
    # Half of the computing, and in one dimension messages as large as before.
    assert 5 < weak_us - strong_us < 11


def test_a_replay_writes_goal_without_a_twin(tmp_path: Path, capsys: Capture) -> None:
    trace = iterative(tmp_path / "t")
    out = tmp_path / "app.goal"
    assert run(["replay", str(trace), "--goal", str(out)]) == 0
    text = out.read_text()
    assert text.startswith("num_ranks 4\nrank 0 {\nl0: calc 20000\n")
    assert "send 65536b to 1" in text
    assert f"wrote {out}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ((), "weft replay needs a twin"),
        ((*FABRIC, "--tasks-per-node", "3"), "4 ranks do not fill whole nodes of 3"),
        ((*FABRIC, "--iteration", "barrier"), "iterations by 'barrier': 0 calls of all ranks"),
        ((*FABRIC, "--iteration", "walk"), "iteration 'walk' names no collective"),
        ((*FABRIC, "--scale", "0x"), "'0x' is no scale"),
        ((*FABRIC, "--scale", "4x"), "16"),
        ((*FABRIC, "--compute", "nan"), "nan"),
        ((*FABRIC, "--strong"), "--strong without --scale"),
        (("--goal", "g", "--aggressor", "alltoall@2"), "--goal with --aggressor"),
        (("--twin", "frontera", "--nodes", "2"), "2"),
    ],
)
def test_a_replay_that_cannot_be_is_refused(
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    what: str,
) -> None:
    trace = iterative(tmp_path / "t")
    monkeypatch.chdir(tmp_path)
    assert run(["replay", str(trace), *words]) == 2
    assert what in capsys.readouterr().err
    assert run(["replay", str(tmp_path), *FABRIC]) == 2
    assert "no trace of a rank" in capsys.readouterr().err
