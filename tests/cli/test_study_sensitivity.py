"""A study again at other values of assumed constants."""

import json
from pathlib import Path

import pytest

from weft.cli import run as weft

TWIN = ("--twin", "fat-tree", "--nodes", "32", "--job-nodes", "16")
STUDY = """
schema = "weft.study/1"
name = "mine"
title = "Mine"
question = "Is it?"
repeats = 1
nodes = [16]
node_sets = 6
[[benchmarks]]
name = "alltoall"
sizes = "32K"
options = { iterations = 1, warmup = 0 }
[[factors]]
name = "adaptive-routing"
settings = ["off", "on"]
[[factors]]
name = "routing-tables"
condition = true
settings = ["opensm-minhop", "dmodk"]
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    """The study, into a run directory."""
    path = tmp_path / "mine.toml"
    path.write_text(STUDY)
    return ["study", "run", str(path), *TWIN, "--dir", str(tmp_path / "run")]


def test_each_assumed_constant_is_tried_once_and_verdicts_that_change_are_named(
    words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert weft([*words, "--sensitivity"]) in {0, 1, 5}
    assert "sensitivity:" in capsys.readouterr().err
    path = tmp_path / "run" / "sensitivity.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    tried = [(record["constant"], record["factor"]) for record in records]
    assert len(set(tried)) == len(tried)
    assert {"switch.buffer", "links.switch.delay"} <= {name for name, _ in tried}
    # What a scenario does not have is not tried.
    assert not any(name.startswith("gpus.") for name, _ in tried)
    # Going on tries nothing again.
    assert weft([*words, "--resume", "--sensitivity"]) in {0, 1, 5}
    assert "sensitivity: 0 more runs" in capsys.readouterr().err
    # Had twice a buffer turned a verdict, the comparison says so.
    records[0]["outcomes"] = [[*one[:-1], "slower"] for one in records[0]["outcomes"]]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    weft(["compare", str(tmp_path / "run")])
    out = capsys.readouterr().out
    assert "fragile  2 of 2 verdicts" in out
    assert f"{tried[0][0]} x {tried[0][1]:g}" in out


def test_a_line_that_weft_did_not_write_is_refused(
    words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    assert weft(words) in {0, 1, 5}
    path = tmp_path / "run" / "sensitivity.jsonl"
    for wrong in ('{"constant": "a"}\n', "\xff\n", '{"constant":1,"factor":"x","outcomes":[3]}\n'):
        path.write_text(wrong, encoding="latin-1")
        assert weft(["compare", str(tmp_path / "run")]) == 2
        assert "sensitivity.jsonl:" in capsys.readouterr().err


def test_a_machine_has_no_assumed_constant(words: list[str], capsys: Capture) -> None:
    mock = [word for word in words if word not in {"--twin", "fat-tree"}]
    assert weft([*mock, "--mock", "--sensitivity"]) == 2
    assert "--sensitivity needs a twin" in capsys.readouterr().err


def test_a_study_of_one_arm_has_no_verdict_to_test(words: list[str], capsys: Capture) -> None:
    study = Path(words[2])
    study.write_text(STUDY.partition("[[factors]]")[0])
    assert weft([*words, "--sensitivity"]) == 2
    assert "has one arm" in capsys.readouterr().err
