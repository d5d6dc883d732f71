"""`--plant random` draws anew each time, and its seed plants the same fault again."""

import re
import shlex
from pathlib import Path

import click
import pytest

from weft.cli import VERBS, run
from weft.cli.lazy import LazyVerbs

Capture = pytest.CaptureFixture[str]
CHECK = ["check", "--twin", "fat-tree", "--nodes", "16", "--no-report", "--plant"]
PLANTED = re.compile(r"^planted: (.*); named: (.*)$", re.MULTILINE)
DRAWN = re.compile(r"^planted  .*, seed (\d+); the same again: weft (.*)$", re.MULTILINE)


def test_the_printed_command_plants_the_same_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    run([*CHECK, "random", "--dir", "first"])
    first = capsys.readouterr()
    drawn = DRAWN.search(first.err)
    assert drawn is not None
    assert f"--plant random:{drawn[1]}" in drawn[2]
    assert "--dir" not in drawn[2]
    run(shlex.split(drawn[2]))
    second = capsys.readouterr()
    assert DRAWN.search(second.err) is None
    assert PLANTED.findall(second.out) == PLANTED.findall(first.out) != []


@pytest.mark.parametrize(
    "argv",
    [
        ["check", "--no-report"],
        ["bench", "latency"],
        ["study", "run", "smoke", "--repeats", "2"],
        ["study", "plan", "smoke"],
    ],
    ids=lambda argv: " ".join(argv[:2]),
)
def test_each_verb_that_plants_draws_anew_and_prints_its_seed(
    argv: list[str], capsys: Capture
) -> None:
    seeds = set()
    for _ in range(3):
        twin = ["--twin", "fat-tree", "--nodes", "8", "--plant", "random"]
        dry = [] if "plan" in argv else ["--dry-run"]
        assert run([*argv, *twin, *dry]) == 0
        drawn = DRAWN.search(capsys.readouterr().err)
        assert drawn is not None
        seeds.add(drawn[1])
    assert len(seeds) == 3, "a chance of 3 in a million"


def test_the_verbs_that_plant_are_the_ones_tried_above() -> None:
    verbs = LazyVerbs(name="weft", verbs=VERBS)
    context = click.Context(verbs)
    planting = set()
    for name in verbs.list_commands(context):
        command = verbs.get_command(context, name)
        inner = command.commands.items() if isinstance(command, click.Group) else [("", command)]
        for sub, one in inner:
            if one is not None and any("--plant" in p.opts for p in one.params):
                planting.add(f"{name} {sub}".strip())
    assert planting == {"check", "bench", "replay", "study run", "study plan"}


@pytest.mark.parametrize(
    "text", ["random:", "random:x", "random:-1", "random:1.5", "random:" + "9" * 400]
)
def test_a_seed_that_is_no_number_is_refused(text: str, capsys: Capture) -> None:
    assert run([*CHECK, text]) == 2
    assert "random:SEED" in capsys.readouterr().err


def test_a_new_fault_cannot_go_on_with_an_earlier_run(tmp_path: Path, capsys: Capture) -> None:
    argv = ["bench", "latency", "--twin", "fat-tree", "--nodes", "4", "--repeats", "2"]
    where = ["--dir", str(tmp_path / "run")]
    assert run([*argv, *where]) == 0
    assert run([*argv, *where, "--resume", "--plant", "random"]) == 2
    assert "--plant random:SEED" in capsys.readouterr().err
