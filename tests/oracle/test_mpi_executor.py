"""`weft study run --executor mpi`: launches of a twin on the ranks of real MPI jobs."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.needs import need_mpi
from tests.oracle.slurm_cluster import SlurmCluster, slurm_cluster
from tests.oracle.virtual import need_in_hosts

from weft.cli import run as weft

pytestmark = pytest.mark.timeout(300)
WEFT = (sys.executable, "-c", "import sys; from weft.cli import run; sys.exit(run(sys.argv[1:]))")
EMBEDDED = f"{sys.prefix}/bin/mpiexec"
STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Which?"
repeats = 1
nodes = [4, 8]
node_sets = 6
[[benchmarks]]
name = "allreduce"
sizes = "8:4K"
[[benchmarks]]
name = "pairs"
options = { rounds = [[[0, 1], [2, 3]]] }
[[factors]]
name = "adaptive-routing"
settings = ["off", "on"]
"""
OF_A_CLOCK = ("started_unix_s", "seconds", "writer")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "mine.toml"
    path.write_text(STUDY)
    return path


def words(study: Path, run: Path, *more: str) -> list[str]:
    twin = ["--twin", "fat-tree", "--nodes", "32"]
    return ["study", "run", str(study), *twin, "--dir", str(run), *more]


@pytest.fixture(scope="module")
def on_own_cores(study: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("own") / "run"
    assert weft(words(study, run)) == 0
    return run


def records(run: Path) -> Iterator[dict[str, Any]]:
    for path in sorted((run / "samples").iterdir()):
        for line in path.read_text().splitlines():
            record = json.loads(line)
            yield {key: one for key, one in record.items() if key not in OF_A_CLOCK}


def launched(
    launcher: list[str], argv: list[str], env: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*launcher, *WEFT, *argv],
        env=dict(env),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.mark.parametrize(
    ("launcher", "wheel"),
    [
        ([EMBEDDED, "-n", "3"], {}),
        (
            ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "3"],
            {"MPI4PY_MPIABI": "openmpi"},
        ),
    ],
    ids=("mpich", "openmpi"),
)
def test_the_ranks_of_a_job_give_what_own_cores_give(
    study: Path,
    on_own_cores: Path,
    tmp_path: Path,
    launcher: list[str],
    wheel: dict[str, str],
) -> None:
    need_mpi(launcher[0])
    run = tmp_path / "run"
    end = launched(launcher, words(study, run, "--executor", "mpi"), {**os.environ, **wheel})
    assert end.returncode == 0, end.stderr
    assert end.stdout.count("48 of 48 launches complete") == 1, end.stdout
    assert "48 launches, about" in end.stderr
    assert list(records(run)) == list(records(on_own_cores))
    for folder in ("recipes", "plan.jsonl", "platform.toml"):
        own, theirs = on_own_cores / folder, run / folder
        paths = [own] if own.is_file() else sorted(own.iterdir())
        for path in paths:
            other = theirs if own.is_file() else theirs / path.name
            assert other.read_bytes() == path.read_bytes()


def test_constants_at_other_values_are_tried_on_the_ranks_too(
    tmp_path: Path, capsys: Capture
) -> None:
    study = tmp_path / "small.toml"
    study.write_text(STUDY.replace("[4, 8]", "[4]").replace("adaptive-routing", "sharp"))
    twin = ["--twin", "frontera", "--nodes", "128", "--node-sets", "6", "--sensitivity"]
    argv = ["study", "run", str(study), *twin, "--dir", str(tmp_path / "own")]
    assert weft(argv) in {0, 1, 5}
    argv = [*argv[:-1], str(tmp_path / "ranks"), "--executor", "mpi"]
    end = launched([EMBEDDED, "-n", "3"], argv)
    assert end.returncode in {0, 1, 5}, end.stderr
    capsys.readouterr()
    own, ranks = (tmp_path / name / "sensitivity.jsonl" for name in ("own", "ranks"))
    assert own.read_text().count("\n") > 1
    assert ranks.read_bytes() == own.read_bytes()


def test_a_run_that_cannot_be_ends_all_ranks(study: Path, tmp_path: Path) -> None:
    """The other ranks wait for the first one, which finds the mistake."""
    argv = words(study, tmp_path / "run", "--executor", "mpi", "--job-nodes", "99")
    end = launched([EMBEDDED, "-n", "3"], argv)
    assert end.returncode == 2, end.stderr
    assert end.stderr.count("the study needs 99 nodes, 32 available") == 1


def test_an_mpi_that_does_not_load_is_named(study: Path, tmp_path: Path) -> None:
    """The wheel of PyPI would take any of this ABI that the loader finds: here none."""
    env = {**os.environ, "MPI4PY_MPIABI": "mpich", "LD_LIBRARY_PATH": ""}
    end = launched([], words(study, tmp_path / "run", "--executor", "mpi"), env)
    if "one process alone" in end.stderr:
        pytest.skip("an MPICH is in the loader's own folders")
    assert end.returncode == 3, end.stderr
    assert "mpi4py does not load: libmpi.so.12" in end.stderr
    assert "MPI4PY_MPIABI=openmpi" in end.stderr


def test_one_process_and_a_machine_are_refused(
    study: Path, tmp_path: Path, capsys: Capture
) -> None:
    end = launched([], words(study, tmp_path / "run", "--executor", "mpi"))
    assert end.returncode == 2
    assert "one process alone has no other to simulate on" in end.stderr
    assert "srun -n RANKS weft study run" in end.stderr
    argv = ["study", "run", str(study), "--executor", "mpi", "--dir", str(tmp_path / "live")]
    end = launched([EMBEDDED, "-n", "2"], argv)
    assert end.returncode == 2
    assert end.stderr.count("--executor mpi needs a twin") == 1
    capsys.readouterr()


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmCluster]:
    need_in_hosts("mpicc.openmpi", package="libopenmpi-dev")
    with slurm_cluster(2) as cluster:
        yield cluster


@pytest.mark.slow
def test_under_srun_two_nodes_simulate(
    slurm: SlurmCluster, study: Path, on_own_cores: Path
) -> None:
    run = slurm.folder / "run"
    mine = slurm.folder / "mine.toml"
    mine.write_text(study.read_text())
    job = ("srun", "--mpi=pmix", "--nodes=2", "--ntasks=3", "--overcommit", "--quiet")
    argv = slurm.weft_argv(*words(mine, run, "--executor", "mpi"))
    end = slurm.on("node1", *job, "env", "MPI4PY_MPIABI=openmpi", *argv, timeout_s=200)
    assert end.code == 0, end
    assert "48 of 48 launches complete" in end.out
    assert list(records(run)) == list(records(on_own_cores))


def test_a_rank_that_cannot_simulate_ends_the_job(study: Path, tmp_path: Path) -> None:
    """The first rank would wait for it for ever."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "from weft.bench.twin import backend\n"
        "def fails(*_, **__):\n"
        "    raise RuntimeError('no engine on this node')\n"
        "backend.TwinBackend.__init__ = fails\n"
    )
    own = [*WEFT, *words(study, tmp_path / "run", "--executor", "mpi")]
    other = ["-n", "1", "-env", "PYTHONPATH", str(broken), *own]
    end = subprocess.run(
        [EMBEDDED, "-n", "1", *own, ":", *other],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert end.returncode != 0
    assert "weft: rank 1 on " in end.stderr
    assert "no engine on this node" in end.stderr
