"""The time of a study, and a study thinned to fit one."""

import json
import re
from pathlib import Path

import pytest

from weft.cli import run as weft

TWIN = ("--twin", "fat-tree", "--nodes", "64")
STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 1
nodes = [2, 4, 8, 16, 32]
node_sets = 2
[[benchmarks]]
name = "alltoall"
sizes = "8,1K,4K"
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def mine(tmp_path: Path) -> str:
    """A study of ten launches."""
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return str(path)


def test_a_plan_says_how_long_a_twin_takes(mine: str, capsys: Capture) -> None:
    assert weft(["study", "plan", mine, *TWIN]) == 0
    assert re.search(r"^about [0-9].* on [0-9]+ cores?$", capsys.readouterr().out, re.MULTILINE)


def test_a_budget_that_nothing_fits_is_refused(mine: str, capsys: Capture) -> None:
    assert weft(["study", "run", mine, *TWIN, "--budget", "1ms"]) == 2
    error = capsys.readouterr().err
    assert "study 'mine' does not fit 1 ms: its smallest form of 4 cells takes about" in error


def test_a_machine_has_no_budget(mine: str, capsys: Capture) -> None:
    assert weft(["study", "run", mine, "--mock", "--nodes", "64", "--budget", "10m"]) == 2
    assert "--budget: weft cannot predict how long this takes" in capsys.readouterr().err


def test_a_thinned_study_is_what_the_run_records_and_goes_on_with(
    mine: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.cli.study.cost.StudyCost.seconds", lambda self, launches: len(launches)
    )
    words = ["study", "run", mine, *TWIN, "--dir", str(tmp_path / "run")]
    assert weft([*words, "--budget", "7s"]) in {0, 5}
    assert "thinned to fit 7.0 s: without nodes 4, 8" in capsys.readouterr().err
    assert weft(["study", "show", str(tmp_path / "run"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["nodes"] == [2, 16, 32]
    # Another day the machine is faster: the run keeps its matrix.
    monkeypatch.setattr("weft.cli.study.cost.StudyCost.seconds", lambda self, launches: 0.0)
    assert weft([*words, "--budget", "7s", "--resume"]) in {0, 5}
    assert "6 of 6 launches complete" in capsys.readouterr().out


def test_a_thinned_run_says_so_wherever_it_is_read(
    mine: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "weft.cli.study.cost.StudyCost.seconds", lambda self, launches: len(launches)
    )
    run = str(tmp_path / "run")
    weft(["study", "run", mine, *TWIN, "--dir", run, "--budget", "7s"])
    assert "thinned to fit" in (tmp_path / "run" / "run.toml").read_text()
    other = tmp_path / "other.toml"
    other.write_text(STUDY.replace('name = "mine"', 'name = "other"'))
    words = ["study", "run", str(other), *TWIN, "--dir", run, "--budget", "7s", "--resume"]
    capsys.readouterr()
    assert weft(words) == 2
    assert "the run is of study 'mine', not 'other'" in capsys.readouterr().err


def test_what_the_twin_refuses_is_said_by_its_launches(tmp_path: Path, capsys: Capture) -> None:
    """No estimate, and no crash of one."""
    path = tmp_path / "mine.toml"
    option = 'sizes = "8,1K,4K"\noptions = { algorithm = "rabenseifner" }'
    path.write_text(STUDY.replace('sizes = "8,1K,4K"', option))
    assert weft(["study", "plan", str(path), *TWIN]) in {0, 2}
    assert weft(["study", "run", str(path), *TWIN, "--dir", str(tmp_path / "run")]) == 2
    assert "algorithm" in capsys.readouterr().err
