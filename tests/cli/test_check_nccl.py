"""`weft check --with nccl`: the plan, and input that it refuses."""

from pathlib import Path

import pytest
from tests.needs import need_mpi

from weft.cli import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    found = tmp_path / "nccl-tests" / "build" / "all_reduce_perf"
    found.parent.mkdir(parents=True)
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    return found


def planned(tests: Path, *more: str, with_: str = "nccl") -> int:
    options = ("--tests", str(tests), "--mpi", "embedded", "--tasks-per-node", "8", "--dry-run")
    return run(["check", "--with", with_, *options, *more])


def test_sixty_four_nodes_are_planned_in_ten_minutes(program: Path, capsys: Capture) -> None:
    assert planned(program.parent.parent, "--hosts", "n[001-064]") == 0
    out = capsys.readouterr().out
    assert out.startswith("plan     64 nodes alone twice, then 8 random matchings: 256 of 2,016")
    assert "one launch of nccl-tests a pair on 8 GPUs of each node," in out
    assert "time     at most about 9 min" in out
    assert "# the first of 256 launches in 8 rounds" in out
    assert str(program) in out


def test_few_nodes_are_measured_in_all_pairs(program: Path, capsys: Capture) -> None:
    assert planned(program, "--hosts", "n[1-6]", "--large", "256M", with_="rccl") == 0
    out = capsys.readouterr().out
    assert "then all pairs: 15 of 15 pairs of 6 nodes" in out
    assert f"-b {256 << 20} -e {256 << 20} " in out


def test_open_mpi_is_started_with_its_own_words(program: Path, capsys: Capture) -> None:
    need_mpi("mpicc.openmpi")
    assert planned(program, "--hosts", "n[1-6]", "--mpi", "mpicc.openmpi") == 0
    assert "-n 16 --map-by slot --bind-to none -x " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--twin", "fat-tree"), 2, "--twin and --with contradict"),
        (("--hosts", "n[1-6]", "--quick"), 2, "--quick"),
        (("--hosts", "n[1-6]", "--small", "3", "--large", "1M"), 2, "no sizes of one sweep"),
        (("--hosts", "n1"), 2, "one node has no pair to measure"),
    ],
)
def test_what_it_cannot_do_is_refused(
    program: Path, capsys: Capture, options: tuple[str, ...], code: int, words: str
) -> None:
    assert planned(program, *options) == code
    assert words in capsys.readouterr().err


def test_a_missing_program_is_named_with_the_next_step(tmp_path: Path, capsys: Capture) -> None:
    assert planned(tmp_path / "nowhere", "--hosts", "n[1-6]") == 3
    err = capsys.readouterr().err
    assert "no program of nccl-tests that can be executed" in err
    assert "build nccl-tests with MPI=1" in err


def test_without_a_path_the_program_is_looked_for_on_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["check", "--with", "nccl", "--hosts", "n[1-6]", "--dry-run"]) == 3
    err = capsys.readouterr().err
    assert "no all_reduce_perf of nccl-tests on PATH" in err
    assert "load its module before weft starts" in err


def test_its_options_need_with(capsys: Capture) -> None:
    assert run(["check", "--launch-limit", "30s", "--dry-run"]) == 2
    assert "--launch-limit needs --with" in capsys.readouterr().err


def test_the_number_of_gpus_is_asked_for_where_this_machine_has_none(
    program: Path, capsys: Capture
) -> None:
    if list(Path("/dev").glob("nvidia[0-9]")) or list(Path("/dev").glob("dri/renderD*")):
        pytest.skip("this machine has GPUs")
    options = ("--tests", str(program), "--mpi", "embedded", "--hosts", "n[1-6]", "--dry-run")
    assert run(["check", "--with", "nccl", *options]) == 2
    assert "--tasks-per-node N, one rank a GPU" in capsys.readouterr().err


SRUN = """#!/bin/sh
echo 'MPI plugin types are...' >&2
printf '\\tnone\\n\\tpmi2\\n\\tpmix\\n' >&2
"""


def test_in_a_slurm_job_srun_starts_a_step_a_pair(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    need_mpi("mpicc.openmpi")
    srun = tmp_path / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(SRUN)
    srun.chmod(0o755)
    monkeypatch.setenv("PATH", str(srun.parent), prepend=":")
    for name in ("SLURM_JOB_NODELIST", "SLURM_NODELIST"):
        monkeypatch.setenv(name, "n[1-6]")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert planned(program, "--mpi", "mpicc.openmpi") == 0
    out = capsys.readouterr().out
    words = "--nodes=2 --ntasks=16 --ntasks-per-node=8 --nodelist=n"
    assert f"{srun} --mpi=pmix {words}" in out
    assert "hosts" not in out.split("# t001-survey")[1].split("srun")[0]
