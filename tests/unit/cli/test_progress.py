"""The progress of a run in a log and on a terminal."""

import io

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as RichProgress

from weft.bench.model import Launch, Trial
from weft.cli.progress import MOST_CELLS, Bars, MinuteLines


def launches(n_cells: int, n_repeats: int) -> list[Launch]:
    trials = [Trial(f"t{n}", "latency", (8,), ("a", "b"), n + 1) for n in range(n_cells)]
    return [Launch(trial, r, 0) for r in range(n_repeats) for trial in trials]


def test_a_log_has_a_line_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    now = 0.0
    progress = MinuteLines(clock=lambda: now)
    todo = launches(1, 10)
    progress.started(todo, 2)
    for launch in todo:
        now += 25
        progress.measured(launch, ())
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "2 of 12 launches were over before",
        "3 of 10 launches over in 1 min 15 s, at this pace 2 min 55 s left",
        "6 of 10 launches over in 2 min 30 s, at this pace 1 min 40 s left",
        "9 of 10 launches over in 3 min 45 s, at this pace 25.0 s left",
    ]


def test_a_terminal_has_a_bar_a_cell_in_progress_and_no_more_than_fit() -> None:
    console = Console(file=io.StringIO(), width=60, force_terminal=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    rich = RichProgress(*columns, console=console)
    bars = Bars(rich)
    todo = launches(20, 2)
    bars.started(todo, 0)
    for launch in todo[:20]:
        bars.measured(launch, ())
    shown = [task for task in rich.tasks if task.visible]
    assert len(shown) == MOST_CELLS + 1
    assert shown[-1].description == "  latency 2 x 20"
    for launch in todo[20:]:
        bars.measured(launch, ())
    assert [task.completed for task in rich.tasks] == [40]


def test_launches_that_end_together_tell_their_pace_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    now = 0.0
    progress = MinuteLines(clock=lambda: now)
    todo = launches(1, 12)
    progress.started(todo, 0)
    for number, launch in enumerate(todo):
        if number % 4 == 0:
            progress.together(4)
            now += 70
        progress.measured(launch, ())
    assert capsys.readouterr().err.splitlines() == [
        "4 of 12 launches over in 1 min 10 s, at this pace 2 min 20 s left",
        "8 of 12 launches over in 2 min 20 s, at this pace 1 min 10 s left",
    ]
