"""Arms of a study that are ways to launch: two MPIs, each with its launcher; what makes none."""

import json
from pathlib import Path

import pytest
from tests.needs import need_mpi

from weft.cli import run as weft

STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Which?"
repeats = 2
nodes = [2]
[[benchmarks]]
name = "allreduce"
sizes = "8"
options = { iterations = 50, warmup = 5 }
"""

Capture = pytest.CaptureFixture[str]


def test_each_arm_is_measured_with_its_mpi_and_the_ranks_prove_it(
    tmp_path: Path, capsys: Capture
) -> None:
    need_mpi("mpicc.openmpi")
    study, run = tmp_path / "mine.toml", tmp_path / "run"
    study.write_text(STUDY)
    words = ["study", "run", str(study), "--mpi", "embedded,mpicc.openmpi", "--dir", str(run)]
    assert weft([*words, "--format", "json"]) in {0, 1, 5}
    record = json.loads(capsys.readouterr().out)
    assert (record["n_done"], record["n_failed"], record["excluded"]) == (5, 0, {})
    libraries = {}
    for line in next((run / "samples").iterdir()).read_text().splitlines():
        sample = json.loads(line)
        if sample["record"] == "sample":
            libraries.setdefault(sample["evidence"]["mpi-library"], []).append(sample["trial"])
    assert sorted(name.split()[0] for name in libraries) == ["mpich", "openmpi"]
    assert not set(libraries[min(libraries)]) & set(libraries[max(libraries)])
    assert weft([*words, "--resume"]) in {0, 1, 5}
    assert "5 of 5 launches complete" in capsys.readouterr().out


def test_one_mpi_twice_proves_nothing_and_other_verbs_take_one(
    tmp_path: Path, capsys: Capture
) -> None:
    study, run = tmp_path / "mine.toml", tmp_path / "run"
    study.write_text(STUDY.replace("repeats = 2", "repeats = 6"))
    words = ["study", "run", str(study), "--mpi", "embedded,embedded", "--dir", str(run)]
    assert weft(words) == 0
    capsys.readouterr()
    weft(["compare", str(run), "--format", "json"])
    record = json.loads(capsys.readouterr().out)
    # Chance may call one of them faster; nothing may call them equal.
    assert "equal" not in {row["outcome"] for row in record["rows"]}
    assert any("names no evidence" in one["sentence"] for one in record["findings"])
    assert weft(["check", "--mpi", "embedded,site"]) == 2
    assert "names several" in capsys.readouterr().err
    assert weft(["study", "run", str(study), "--mpi", "embedded,"]) == 2
    assert "names an empty MPI" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--mpi", "embedded,mpicc.openmpi", "--launcher", "mpiexec,srun"], "both name several"),
        (["--launcher", "mpiexec,mpirun"], "'mpirun' is not one of srun, mpiexec"),
        (["--launcher", "srun,srun"], "has a word twice"),
        (["--container", "none"], "'none' alone changes nothing"),
        (["--container", "none,podman"], "--container goes with --image"),
    ],
)
def test_what_makes_no_arms_is_refused(
    tmp_path: Path, capsys: Capture, options: list[str], said: str
) -> None:
    study = tmp_path / "mine.toml"
    study.write_text(STUDY)
    assert weft(["study", "run", str(study), *options, "--dir", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_a_check_compares_no_launchers(capsys: Capture) -> None:
    assert weft(["check", "--launcher", "mpiexec,srun"]) == 2
    said = capsys.readouterr().err
    assert "--launcher 'mpiexec,srun' names several" in said
    assert "compare several" in said


@pytest.mark.parametrize("factor", ["launcher", "container"])
def test_a_factor_of_machines_names_its_option_or_is_refused(
    tmp_path: Path, capsys: Capture, factor: str
) -> None:
    study = tmp_path / "mine.toml"
    settings = {"launcher": '["mpiexec", "srun"]', "container": '["none", "podman"]'}[factor]
    study.write_text(f'{STUDY}[[factors]]\nname = "{factor}"\nsettings = {settings}\n')
    words = ["study", "run", str(study), "--dir", str(tmp_path / "run")]
    assert weft(words) == 2
    assert f"--{factor} " in capsys.readouterr().err
    assert weft([*words, "--twin", "fat-tree", "--nodes", "4"]) == 2
    assert f"factor '{factor}' on a twin, which launches nothing" in capsys.readouterr().err
    assert weft(["study", "submit", str(study), "--dry-run"]) == 2
    assert f"factor '{factor}' with submit" in capsys.readouterr().err
