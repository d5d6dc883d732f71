"""What a command that takes long shows of its progress, in a log and on a terminal."""

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from weft.cli import output
from weft.cli.progress import watch as watch_module
from weft.cli.progress.watch import ProgressWatch, standing_line
from weft.core.work import progress
from weft.core.work.progress import (
    NEARLY,
    WorkStanding,
    WorkUnderWay,
    by_time,
    each,
    phases,
    working,
)


@contextmanager
def at_time(later_s: float) -> Iterator[None]:
    """So many seconds later."""
    clock = time.monotonic
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress.time, "monotonic", lambda: clock() + later_s)
        yield


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


def test_phases_take_their_part_of_the_whole() -> None:
    with phases("a check", plan=1, measure=8, judge=1) as begin:
        for name, share in {"plan": 0.0, "measure": 0.1, "judge": 0.9}.items():
            begin(name)
            now = WorkStanding.now()
            assert now is not None
            assert now.share == pytest.approx(share)


def test_a_phase_of_known_length_counts_those_before_as_long_as_they_took() -> None:
    with phases("a check", plan=1, measure=8, judge=1) as begin:
        now = WorkStanding.now()
        assert now is not None
        now.task.began -= 3
        for name, expected_s, share in (("measure", 6, 0.3), ("judge", None, 0.9)):
            begin(name, expected_s)
            now = WorkStanding.now()
            assert now is not None
            assert now.share == pytest.approx(share, abs=0.01)


def test_a_phase_goes_on_at_the_pace_of_those_before_it() -> None:
    with phases("what-if", read=1, route=4, judge=5) as begin:
        now = WorkStanding.now()
        assert now is not None
        now.task.began -= 300
        begin("route")
        assert now.task.ask is not None
        for later_s, share in ((0, 0.1), (600, 0.3), (9000, 0.1 + 0.4 * NEARLY)):
            # 300 s for a tenth: 1200 s for the next four.
            with at_time(later_s):
                now = WorkStanding.now()
            assert now is not None
            assert now.share == pytest.approx(share, abs=0.001)
        with working("routing", ask=lambda: 0.25), at_time(600):
            now = WorkStanding.now()
        assert now is not None
        assert now.share == pytest.approx(0.2, abs=0.001)


def test_phases_show_the_task_within_them() -> None:
    with (
        phases("a check", plan=1, measure=1) as begin,
        working("alltoall 4 x 1", unit="launch", total=2),
    ):
        begin("measure")
        now = WorkStanding.now()
    assert now is not None
    assert (now.task.what, now.share) == ("alltoall 4 x 1", 0.5)


def test_a_forked_process_waits_for_the_bar_and_shows_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A fork while the thread writes would leave the stream's lock taken for ever."""
    with terminal(monkeypatch) as (stream, watch), working("judging files", total=4):
        monkeypatch.setattr(watch_module, "_WATCH", watch)
        until_shown(stream, "judging files")
        for _ in range(20):
            child = os.fork()
            if child == 0:
                free = not watch.no_drawing.locked()
                hidden = watch_module._WATCH is None and WorkStanding.now() is None
                os._exit(0 if free and hidden else 1)
            assert os.waitpid(child, 0)[1] == 0
        assert WorkStanding.now() is not None
        until_shown(stream, "judging files", len(stream.getvalue()))


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


def until_shown(stream: io.StringIO, text: str, after: int = 0) -> None:
    for _ in range(3000):
        if text in stream.getvalue()[after:]:
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
            until_shown(stream, "left", before + len(after))
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
