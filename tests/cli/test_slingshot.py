"""Twins of Slingshot machines: bench, fabrics, and the study of NCCL's plug-in."""

import json
from pathlib import Path

import pytest

from weft.cli import run as run_weft

MACHINES = ("alps-a100", "alps-gh200", "perlmutter", "frontier")


def weft(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    code = run_weft(list(argv))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.mark.parametrize("name", MACHINES)
def test_a_twin_routes_adaptively_and_holds_senders_back(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    run = str(tmp_path / "run")
    argv = ("bench", "allreduce", "--twin", name, "--nodes", "4", "--sizes", "8", "--dir", run)
    code, out, err = weft(capsys, *argv, "--repeats", "1")
    assert code == 0, err
    assert "allreduce, us, 4 nodes x 1" in out
    (recipe,) = (tmp_path / "run" / "recipes").glob("t000*r00.json")
    scenario = json.loads(recipe.read_text())
    assert scenario["routing"]["adaptive"]["non_minimal"] == "ugal"
    assert scenario["congestion_control"] == {"endpoint": {}}
    assert len(scenario["fabric"]["nodes"][0]["hcas"]) == 4


def test_a_twin_routes_by_tables_where_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("bench", "allreduce", "--twin", "alps-a100", "--nodes", "2", "--sizes", "8")
    off = ("--static", "--congestion-control", "off", "--repeats", "1")
    code, _, err = weft(capsys, *argv, *off, "--dir", str(tmp_path / "run"))
    assert code == 0, err
    (recipe,) = (tmp_path / "run" / "recipes").glob("t000*r00.json")
    scenario = json.loads(recipe.read_text())
    assert "adaptive" not in scenario["routing"]
    assert "congestion_control" not in scenario
    code, _, err = weft(capsys, "bench", "allreduce", "--static")
    assert code == 2
    assert "--static needs a twin" in err


def test_a_machine_is_generated_as_far_as_it_is_known(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    made = tmp_path / "fabric.json"
    code, _, err = weft(
        capsys, "fabric", "generate", "perlmutter", "--nodes", "20", "-o", str(made)
    )
    assert code == 0
    assert "assumed: group_cables = 12 cables" in err
    document = json.loads(made.read_text())
    assert len({switch["group"] for switch in document["switches"]}) == 24
    assert len(document["nodes"]) == 20


def test_the_study_of_the_plug_in_runs_on_a_twin(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("study", "run", "slingshot-plugin", "--twin", "alps-a100", "--nodes", "2")
    code, out, err = weft(capsys, *argv, "--job-nodes", "2", "--dir", str(tmp_path / "run"))
    assert code in (0, 5), err
    assert "27 of 27 launches complete" in out
    for name in ("training_step", "training_step_ddp"):
        assert f"# {name}, images_per_s, 2 nodes x 4, network=ofi-gpudirect" in out


def test_training_without_gpus_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    argv = ("bench", "training_step", "--twin", "alps-a100", "--nodes", "2")
    code, _, err = weft(capsys, *argv, "--dir", str(tmp_path / "run"))
    assert code == 2
    assert "training_step without GPUs" in err
    assert "option 'gpu_network'" in err
