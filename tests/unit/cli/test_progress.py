"""What a command that takes long shows of its progress, in a log and on a terminal."""

import io
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from weft.cli import output
from weft.cli.progress.watch import ProgressWatch, standing_line
from weft.core.work import progress
from weft.core.work.progress import WorkStanding, WorkUnderWay, by_time, each, working


def standing(done: float, total: float, elapsed_s: float, unit: str = "launch") -> WorkStanding:
    task = WorkUnderWay("reading logs", unit, total, done)
    return WorkStanding(task, done / total, elapsed_s)


@pytest.mark.parametrize(
    ("at", "line"),
    [
        (
            standing(3, 10, 75),
            "3 of 10 launches over in 1 min 15 s, at this pace 2 min 55 s left",
        ),
        (standing(0, 1, 60), "0 of 1 launch over in 1 min 00 s, the time left is unknown"),
        (
            standing(0.25, 1, 60, unit=""),
            "reading logs: 25 % in 1 min 00 s, at this pace 3 min 00 s left",
        ),
        (None, "2 min 00 s so far, the time left is unknown"),
    ],
)
def test_a_line_tells_done_of_total_and_the_time_left(at: WorkStanding | None, line: str) -> None:
    assert standing_line(at, 120) == line


def test_the_share_of_a_step_counts_as_its_part_of_the_whole() -> None:
    with working("launches", unit="launch", total=4) as launches:
        launches.advance()
        with working("simulating", ask=lambda: 0.5):
            now = WorkStanding.now()
    assert now is not None
    assert now.task.what == "launches"
    assert now.share == pytest.approx(1.5 / 4)
    assert WorkStanding.now() is None


def test_steps_of_different_length_have_weights() -> None:
    shares = []
    for _ in each(["read", "judge"], "auditing", weights=[3, 1]):
        now = WorkStanding.now()
        shares.append(now.share if now else None)
    assert shares == [0.0, 0.75]


def test_a_task_by_time_is_not_over_before_it_ends() -> None:
    ask = by_time(0.01)
    time.sleep(0.02)
    assert ask() == progress.NEARLY


ERASED = "\x1b[2K"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Terminal, ProgressWatch]]:
    """A terminal and the watch that shows progress on it from the beginning. pytest puts its own
    stream in place of standard error when a test begins: later than a fixture."""
    stream = Terminal()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", stream)
        patched.setattr("weft.cli.progress.watch.DRAW_EVERY_S", 0.01)
        patched.setattr("weft.cli.progress.watch.SHORT_S", 0.0)
        patched.setenv("TERM", "xterm")
        patched.delenv("NO_COLOR", raising=False)
        watch = ProgressWatch(on_terminal=True)
        patched.setattr(output, "BEFORE_OUTPUT", watch.clear)
        patched.setattr(progress, "WHEN_OVER", watch.clear)
        try:
            yield stream, watch
        finally:
            watch.close()


def until_shown(stream: io.StringIO, text: str) -> None:
    for _ in range(3000):
        if text in stream.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"no '{text}' in {stream.getvalue()!r}")


def test_a_bar_leaves_the_terminal_before_anything_else_is_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with terminal(monkeypatch) as (stream, _):
        with working("alltoall 4 x 1", unit="launch", total=4) as work:
            work.advance()
            until_shown(stream, "1 of 4 launches")
            before = len(stream.getvalue())
            output.talk("a line")
            after = stream.getvalue()[before:]
            assert ERASED in after[: after.index("a line")]
            until_shown(stream, "left")
            before = len(stream.getvalue())
        assert stream.getvalue()[before:].count(ERASED), "the work is over, and the bar is gone"
        n_shown = len(stream.getvalue())
        time.sleep(0.1)
        assert len(stream.getvalue()) == n_shown


def test_quiet_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch) as (stream, watch):
        watch.quiet = True
        with working("alltoall 4 x 1", unit="launch", total=4):
            time.sleep(0.1)
    assert stream.getvalue() == ""


def test_a_log_has_lines_and_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    watch = ProgressWatch(on_terminal=False, line_every_s=0.05)
    with working("alltoall 4 x 1", unit="launch", total=4) as work:
        work.advance()
        time.sleep(0.3)
    watch.close()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("1 of 4 launches over in ")
    assert "\x1b" not in printed.err
