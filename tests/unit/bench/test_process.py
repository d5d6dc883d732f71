"""Children that behave badly, and the proof that none of them survives."""

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from weft.bench.process import Child, Ending, Limits, run_child
from weft.core.errors import ExitCode, MissingError

SLEEPER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def child(tmp_path: Path, *argv: str, tag: str = "none") -> Child:
    env = dict(os.environ) | {"WEFT_TEST_TAG": tag}
    return Child(argv, env, tmp_path, tmp_path / "out", tmp_path / "err")


def python(tmp_path: Path, code: str, tag: str = "none") -> Child:
    return child(tmp_path, sys.executable, "-c", code, tag=tag)


def alive(tag: str) -> list[int]:
    """Live processes that inherited the tag, found without any code of ours."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environ = (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            if f"WEFT_TEST_TAG={tag}".encode() in environ and state not in "ZX":
                found.append(int(entry.name))
    return found


def wait_until(condition: Callable[[], object], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_silent_child_is_ended_when_somebody_says_it_goes_on_in_vain(tmp_path: Path):
    answers = [False, True]
    asked: list[float] = []

    def in_vain() -> bool:
        asked.append(time.monotonic())
        return answers[len(asked) - 1]

    began = time.monotonic()
    ended = run_child(child(tmp_path, "sleep", "60"), Limits(30, silent_s=0.5), in_vain=in_vain)
    assert ended.ending is Ending.IN_VAIN
    assert ended.seconds < 20
    assert asked[0] - began >= 0.5
    assert asked[1] - began >= 1.0, "it is asked ever more rarely"


def test_a_child_that_goes_on_talking_is_not_asked(tmp_path: Path):
    talks = "import time\nfor _ in range(10): print('.', flush=True); time.sleep(0.1)"
    asked: list[bool] = []
    limits = Limits(30, silent_s=20)
    ended = run_child(python(tmp_path, talks), limits, in_vain=lambda: not asked.append(True))
    assert (ended.ending, asked) == (Ending.EXITED, [])


def test_both_streams_are_kept_byte_for_byte(tmp_path: Path):
    code = "import os; os.write(1, b'a\\xff\\0b\\r\\n'); os.write(2, b'\\x1b[1mloud')"
    ended = run_child(python(tmp_path, code), Limits(30))
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)
    assert (tmp_path / "out").read_bytes() == b"a\xff\0b\r\n"
    assert (tmp_path / "err").read_bytes() == b"\x1b[1mloud"


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("pass", 0)])
def test_the_exit_code_is_the_childs(tmp_path: Path, code: str, expected: int):
    assert run_child(python(tmp_path, code), Limits(30)).exit_code == expected


def test_a_signal_is_a_negative_exit_code(tmp_path: Path):
    code = "import os; os.kill(os.getpid(), 11)"
    assert run_child(python(tmp_path, code), Limits(30)).exit_code == -signal.SIGSEGV


def test_an_older_kernel_without_process_descriptors_is_no_obstacle(tmp_path: Path, monkeypatch):
    def refuse(pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    tag = f"old-{os.getpid()}"
    assert run_child(python(tmp_path, "raise SystemExit(7)"), Limits(30)).exit_code == 7
    ended = run_child(python(tmp_path, SLEEPER, tag), Limits(1.0, grace_s=0.3))
    assert ended.ending is Ending.TIMED_OUT
    assert alive(tag) == []


def test_a_command_that_is_not_there_is_missing(tmp_path: Path):
    with pytest.raises(MissingError, match="cannot be started") as caught:
        run_child(child(tmp_path, str(tmp_path / "nosuch")), Limits(5))
    assert caught.value.exit_code == ExitCode.MISSING


TREES = {
    "one that sleeps": SLEEPER,
    "one that ignores TERM": DEAF,
    "children": f"import subprocess, sys; [subprocess.Popen([sys.executable, '-c', {DEAF!r}]) "
    f"for _ in range(3)]\n{SLEEPER}",
    "a grandchild in a group of its own": "import subprocess, sys; "
    f"subprocess.Popen([sys.executable, '-c', {DEAF!r}], process_group=0)\n{SLEEPER}",
    "a grandchild in a session of its own": "import subprocess, sys; "
    f"subprocess.Popen([sys.executable, '-c', {DEAF!r}], start_new_session=True)\n{SLEEPER}",
}


@pytest.mark.parametrize("tree", list(TREES))
def test_after_a_timeout_nothing_survives(tmp_path: Path, tree: str):
    tag = f"timeout-{os.getpid()}-{tree}"
    started = time.monotonic()
    ended = run_child(python(tmp_path, TREES[tree], tag), Limits(1.0, grace_s=0.3))
    assert ended.ending is Ending.TIMED_OUT
    assert alive(tag) == []
    assert time.monotonic() - started < 8


def test_a_launcher_that_dies_does_not_leave_its_ranks_behind(tmp_path: Path):
    tag = f"orphan-{os.getpid()}"
    code = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        f"{SLEEPER!r}], start_new_session=True)"
    )
    ended = run_child(python(tmp_path, code, tag), Limits(30, grace_s=0.3))
    assert ended.ending is Ending.EXITED
    assert alive(tag) == []


def test_a_child_that_ends_on_term_has_time_to_say_goodbye(tmp_path: Path):
    code = (
        "import signal, sys, time\n"
        "def goodbye(*_): print('goodbye', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, goodbye)\ntime.sleep(600)"
    )
    run_child(python(tmp_path, code), Limits(3.0))
    assert (tmp_path / "out").read_text() == "goodbye\n"


def test_endless_output_is_an_ending_and_the_disk_is_not_filled(tmp_path: Path):
    tag = f"loud-{os.getpid()}"
    code = "import os\nwhile True: os.write(1, b'x' * 4096)"
    loud = python(tmp_path, code, tag)
    ended = run_child(loud, Limits(60, max_bytes=1_000_000, grace_s=0.3))
    assert ended.ending is Ending.TOO_LOUD
    assert alive(tag) == []


def test_an_interrupt_ends_the_child_before_it_is_raised(tmp_path: Path):
    tag = f"interrupt-{os.getpid()}"
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run_child(python(tmp_path, TREES["children"], tag), Limits(60, grace_s=0.3))
    assert alive(tag) == []


def test_after_kill_9_of_weft_the_launcher_is_gone_too(tmp_path: Path):
    tag = f"killed-{os.getpid()}"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys; from pathlib import Path\n"
            "from weft.bench.process import Child, Limits, run_child\n"
            f"here = Path({str(tmp_path)!r})\n"
            f"run_child(Child((sys.executable, '-c', {SLEEPER!r}), dict(os.environ), here,\n"
            "    here / 'out', here / 'err'), Limits(600))",
        ],
        env=dict(os.environ) | {"WEFT_TEST_TAG": tag},
    )
    assert wait_until(lambda: len(alive(tag)) == 2)
    parent.kill()
    parent.wait()
    assert wait_until(lambda: alive(tag) == [])


def test_who_was_alive_at_the_timeout_is_known(tmp_path: Path):
    ended = run_child(python(tmp_path, SLEEPER), Limits(2.0, grace_s=0.3))
    (process,) = ended.last_seen
    assert process.state == "S"
    assert "python" in process.command


def test_when_time_runs_out_the_processes_can_still_be_looked_at(tmp_path: Path) -> None:
    tag = f"tag{os.getpid()}look"
    seen: list[int] = []
    look = lambda: seen.append(len(alive(tag)))  # noqa: E731
    run_child(python(tmp_path, SLEEPER, tag), Limits(1.0, grace_s=0.3), look)
    run_child(python(tmp_path, "pass"), Limits(30), look)
    assert seen == [1]
