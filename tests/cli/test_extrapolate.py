"""`--extrapolate`: 16 GiB round 1,024 GPUs, and what a person is told of it."""

import json
from pathlib import Path

import pytest

from weft.cli import run

pytest.importorskip("weft._engine", reason="the engine is not built")

Capture = pytest.CaptureFixture[str]
EXTRAPOLATED = "Steady state: 1 of 1 phases are extrapolated, from up to "


def bench(where: Path, *words: str) -> list[str]:
    given = ["--dir", str(where), "--repeats", "1", "--extrapolate", "0.01"]
    return ["bench", "allreduce", "--twin", "azure-ndv4", *given, *words]


def test_sixteen_gibibytes_on_1024_gpus_say_how_far_they_may_be_off(
    tmp_path: Path, capsys: Capture
) -> None:
    words = ("--nodes", "128", "--tasks-per-node", "8", "--sizes", "16G")
    assert run(bench(tmp_path / "a", *words)) == 0
    said = capsys.readouterr().out
    assert f"! {EXTRAPOLATED}" in said
    assert "with an estimated error of up to 0." in said
    assert "Counters, hops and events are of the simulated part" in said


def test_json_and_a_study_say_it_too(tmp_path: Path, capsys: Capture) -> None:
    words = ("--nodes", "8", "--sizes", "1G", "--format", "json")
    assert run(bench(tmp_path / "a", *words)) == 0
    caveats = json.loads(capsys.readouterr().out)["caveats"]
    assert sum(caveat.startswith(EXTRAPOLATED) for caveat in caveats) == 1
    assert not any("flag" in caveat for caveat in caveats)
    study = tmp_path / "study.toml"
    study.write_text(
        'schema = "weft.study/1"\nname = "s"\ntitle = "s"\nquestion = "s?"\nnodes = [8]\n'
        'tasks_per_node = [1]\nrepeats = 1\n[[benchmarks]]\nname = "allgather"\nsizes = "64M"\n',
        "utf-8",
    )
    argv = ["study", "run", str(study), "--twin", "fat-tree", "--nodes", "8"]
    assert run([*argv, "--dir", str(tmp_path / "b"), "--extrapolate", "0.01"]) == 0
    assert EXTRAPOLATED in capsys.readouterr().out


def test_a_check_says_why_its_pairs_are_simulated_whole(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--twin", "fat-tree", "--nodes", "8", "--extrapolate", "0.01"]
    assert run([*argv, "--dir", str(tmp_path / "c")]) == 0
    assert "simulated whole: it is too short for anything to repeat" in capsys.readouterr().out


def test_a_share_and_a_twin_are_wanted(capsys: Capture) -> None:
    assert run(["bench", "latency", "--extrapolate", "0.01"]) == 2
    assert "--extrapolate needs a twin" in capsys.readouterr().err
    assert run(["bench", "latency", "--twin", "fat-tree", "--extrapolate", "0.7"]) == 2
    assert "--extrapolate" in capsys.readouterr().err
