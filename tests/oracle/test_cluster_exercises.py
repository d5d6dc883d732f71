"""The exercises of docs/reference/cluster_exercises.md: every command runs, and its answer has the
lines of the page. Figures are left out: they are this machine's.

On a busy machine readings scatter. A check is asked up to ATTEMPTS times, as the page advises.
"""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.oracle.virtual import need_in_hosts, skip_without_namespaces

from weft.cli import run
from weft.cluster.local.start import LOSS_TOOLS, leftovers

PAGE = Path(__file__).parents[2] / "docs/reference/cluster_exercises.md"
ATTEMPTS = 3
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?")
"""A figure, and no number of a host's name."""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


class Exercise(NamedTuple):
    """A section of the page: its commands, and lines of what the last one prints."""

    title: str
    commands: tuple[str, ...]
    lines: tuple[str, ...]


def exercises() -> list[Exercise]:
    found = []
    for section in re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1:]:
        blocks = dict(re.findall(r"^```(sh|text)\n(.*?)^```$", section, re.MULTILINE | re.DOTALL))
        commands, lines = (tuple(blocks[kind].splitlines()) for kind in ("sh", "text"))
        found.append(Exercise(section.partition("\n")[0], commands, lines))
    return found


def without_figures(line: str) -> str:
    return re.sub(r"\s+", " ", NUMBER.sub("#", line)).strip()


def missing(exercise: Exercise, said: str) -> list[str]:
    """The lines of the page that an answer does not have: each may begin in one of its lines."""
    answer = [without_figures(line) for line in said.splitlines()]
    wanted = [without_figures(line) for line in exercise.lines]
    return [line for line in wanted if not any(one.startswith(line) for one in answer)]


def test_a_line_is_compared_without_its_figures_and_with_the_names_of_hosts() -> None:
    exercise = Exercise("", (), ("BAD  1 node   node3   50 % of others",))
    assert not missing(exercise, "BAD   1 node   node3   48 % of others (0.1 of 0.2 Gb/s)")
    assert missing(exercise, "BAD   1 node   node5   50 % of others")


def test_every_exercise_has_the_answer_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skip_without_namespaces()
    need_in_hosts(*LOSS_TOOLS, package="nftables")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    try:
        for exercise in exercises():
            *before, last = (shlex.split(one)[1:] for one in exercise.commands)
            for argv in before:
                assert run(argv) == 0, (argv, capsys.readouterr().err)
            capsys.readouterr()
            for attempt in range(1, ATTEMPTS + 1):
                run(last)
                said = capsys.readouterr().out
                if not missing(exercise, said):
                    break
                assert attempt < ATTEMPTS, (exercise.title, missing(exercise, said), said)
    finally:
        run(["cluster", "down", "--all"])
    assert "local" not in leftovers()
