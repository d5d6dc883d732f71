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

import weft
from weft.core.errors import ExitCode, MissingError
from weft.core.parallel import in_parallel
from weft.core.process import (
    CHUNK_BYTES,
    Command,
    CommandError,
    CommandText,
    Ending,
    Limits,
    Process,
    _Silence,
    run,
    run_command,
)

SLEEPER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"


def child(tmp_path: Path, *argv: str, tag: str = "none") -> Command:
    env = dict(os.environ) | {"WEFT_TEST_TAG": tag}
    return Command(argv, env, tmp_path, tmp_path / "out", tmp_path / "err", ends_tree=True)


def python(tmp_path: Path, code: str, tag: str = "none") -> Command:
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


def test_a_silent_child_is_ended_when_its_caller_finds_that_it_stalled(tmp_path: Path):
    answers = [False, True]
    asked: list[float] = []

    def is_stalled(_: object) -> bool:
        asked.append(time.monotonic())
        return answers[len(asked) - 1]

    began = time.monotonic()
    ended = run(child(tmp_path, "sleep", "60"), Limits(30, silent_s=0.5), is_stalled=is_stalled)
    assert ended.ending is Ending.STALLED
    assert ended.seconds < 20
    assert asked[0] - began >= 0.5
    assert asked[1] - began >= 1.0, "it is asked ever more rarely"


def test_a_child_that_goes_on_talking_is_not_asked(tmp_path: Path):
    talks = "import time\nfor _ in range(10): print('.', flush=True); time.sleep(0.1)"
    asked: list[bool] = []
    limits = Limits(30, silent_s=20)
    ended = run(python(tmp_path, talks), limits, is_stalled=lambda _: not asked.append(True))
    assert (ended.ending, asked) == (Ending.EXITED, [])


def test_every_output_starts_the_silence_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    silence, now = _Silence(silent_s=2), 0.0
    monkeypatch.setattr("weft.core.process.time.monotonic", lambda: now)
    asked = []
    for now, n_bytes in enumerate((0, 0, 7, 7, 7, 8, 8, 8, 8, 8, 9)):
        if silence.is_long(n_bytes):
            asked.append(now)
    assert asked == [4, 7, 9], "two seconds after the last output, then four"


def test_both_streams_are_kept_byte_for_byte(tmp_path: Path):
    code = "import os; os.write(1, b'a\\xff\\0b\\r\\n'); os.write(2, b'\\x1b[1mloud')"
    ended = run(python(tmp_path, code), Limits(30))
    assert (ended.ending, ended.exit_code) == (Ending.EXITED, 0)
    assert (tmp_path / "out").read_bytes() == b"a\xff\0b\r\n"
    assert (tmp_path / "err").read_bytes() == b"\x1b[1mloud"


@pytest.mark.parametrize(("code", "expected"), [("raise SystemExit(7)", 7), ("pass", 0)])
def test_the_exit_code_is_the_childs(tmp_path: Path, code: str, expected: int):
    assert run(python(tmp_path, code), Limits(30)).exit_code == expected


def test_a_signal_is_a_negative_exit_code(tmp_path: Path):
    code = "import os; os.kill(os.getpid(), 11)"
    assert run(python(tmp_path, code), Limits(30)).exit_code == -signal.SIGSEGV


def test_an_older_kernel_without_process_descriptors_is_no_obstacle(tmp_path: Path, monkeypatch):
    def refuse(pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse)
    tag = f"old-{os.getpid()}"
    assert run(python(tmp_path, "raise SystemExit(7)"), Limits(30)).exit_code == 7
    ended = run(python(tmp_path, SLEEPER, tag), Limits(1.0, grace_s=0.3))
    assert ended.ending is Ending.TIMED_OUT
    assert alive(tag) == []


def test_a_command_that_is_not_there_is_missing(tmp_path: Path):
    with pytest.raises(MissingError, match="cannot be started") as caught:
        run(child(tmp_path, str(tmp_path / "nosuch")), Limits(5))
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
    ended = run(python(tmp_path, TREES[tree], tag), Limits(1.0, grace_s=0.3))
    assert ended.ending is Ending.TIMED_OUT
    assert alive(tag) == []
    assert time.monotonic() - started < 60, "it does not wait for the tree's own end"


def test_a_launcher_that_dies_does_not_leave_its_ranks_behind(tmp_path: Path):
    tag = f"orphan-{os.getpid()}"
    code = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', "
        f"{SLEEPER!r}], start_new_session=True)"
    )
    ended = run(python(tmp_path, code, tag), Limits(30, grace_s=0.3))
    assert ended.ending is Ending.EXITED
    assert alive(tag) == []


def test_a_child_that_ends_on_term_has_time_to_say_goodbye(tmp_path: Path):
    code = (
        "import signal, sys, time\n"
        "def goodbye(*_): print('goodbye', flush=True); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, goodbye)\ntime.sleep(600)"
    )
    run(python(tmp_path, code), Limits(3.0))
    assert (tmp_path / "out").read_text() == "goodbye\n"


def test_endless_output_is_an_ending_and_the_disk_is_not_filled(tmp_path: Path):
    tag = f"loud-{os.getpid()}"
    code = "import os\nwhile True: os.write(1, b'x' * 4096)"
    loud = python(tmp_path, code, tag)
    ended = run(loud, Limits(60, max_bytes=1_000_000, grace_s=0.3))
    assert ended.ending is Ending.OUTPUT_LIMIT
    assert alive(tag) == []


def test_an_interrupt_ends_the_child_before_it_is_raised(tmp_path: Path):
    tag = f"interrupt-{os.getpid()}"
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(python(tmp_path, TREES["children"], tag), Limits(60, grace_s=0.3))
    assert alive(tag) == []


def test_after_kill_9_of_weft_the_launcher_is_gone_too(tmp_path: Path):
    tag = f"killed-{os.getpid()}"
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import os, sys; from pathlib import Path\n"
            "from weft.core.process import Command, Limits, run\n"
            f"here = Path({str(tmp_path)!r})\n"
            f"run(Command((sys.executable, '-c', {SLEEPER!r}), None, here,\n"
            "    here / 'out', here / 'err', ends_tree=True), Limits(600))",
        ],
        env=dict(os.environ) | {"WEFT_TEST_TAG": tag},
    )
    assert wait_until(lambda: len(alive(tag)) == 2)
    parent.kill()
    parent.wait()
    assert wait_until(lambda: alive(tag) == [])


def test_who_was_alive_at_the_timeout_is_known(tmp_path: Path):
    ended = run(python(tmp_path, SLEEPER), Limits(2.0, grace_s=0.3))
    (process,) = ended.processes
    assert process.state == "S"
    assert "python" in process.command


def test_when_time_runs_out_the_processes_can_still_be_looked_at(tmp_path: Path) -> None:
    tag = f"tag{os.getpid()}look"
    seen: list[int] = []
    look = lambda: seen.append(len(alive(tag)))  # noqa: E731
    run(python(tmp_path, SLEEPER, tag), Limits(1.0, grace_s=0.3), look)
    run(python(tmp_path, "pass"), Limits(30), look)
    assert seen == [1]


LIMIT = 1 << 20


def test_output_in_memory_and_the_code() -> None:
    command = Command(("sh", "-c", "cat; echo no >&2; exit 3"), stdin=b"in")
    end = run(command, Limits(9, LIMIT))
    assert (end.ending, end.exit_code, end.out, end.err) == (Ending.EXITED, 3, b"in", b"no\n")


@pytest.mark.parametrize("stream", ["1", "2"])
def test_endless_output_in_memory_stays_within_the_limit(stream: str) -> None:
    end = run(Command(("sh", "-c", f"yes >&{stream}")), Limits(30, LIMIT))
    assert end.ending is Ending.OUTPUT_LIMIT
    assert max(len(end.out), len(end.err)) <= LIMIT + CHUNK_BYTES


def test_output_beyond_the_limit_just_before_the_end_is_cut() -> None:
    end = run(Command(("head", "-c", str(2 * LIMIT), "/dev/zero")), Limits(30, LIMIT))
    assert end.ending is Ending.OUTPUT_LIMIT
    assert len(end.out) <= LIMIT + CHUNK_BYTES


def test_a_child_that_is_left_behind_and_writes_on_does_not_hold_its_reader() -> None:
    end = run(Command(("sh", "-c", "yes & exit 0")), Limits(30, 2**26))
    assert (end.ending, end.exit_code) == (Ending.EXITED, 0)


def test_a_silent_command_is_ended_in_time() -> None:
    started = time.monotonic()
    assert run(Command(("sleep", "60")), Limits(0.2, LIMIT)).ending is Ending.TIMED_OUT
    assert time.monotonic() - started < 20


def test_much_goes_in_while_much_comes_out() -> None:
    given = bytes(range(256)) * (1 << 14)
    assert run(Command(("cat",), stdin=given), Limits(30, 2 * len(given))).out == given


def test_input_that_the_command_does_not_read_is_no_error() -> None:
    end = run(Command(("true",), stdin=b"x" * LIMIT), Limits(9, LIMIT))
    assert (end.ending, end.exit_code) == (Ending.EXITED, 0)


def test_a_command_that_closes_its_streams_is_waited_for() -> None:
    code = "import os, time; os.close(0); os.close(1); os.close(2); time.sleep(0.2); os._exit(4)"
    assert run(Command((sys.executable, "-c", code)), Limits(9, LIMIT)).exit_code == 4


def test_a_process_that_holds_the_streams_open_is_not_waited_for() -> None:
    started = time.monotonic()
    end = run(Command(("sh", "-c", "sleep 20 & echo done")), Limits(30, LIMIT))
    assert (end.ending, end.out) == (Ending.EXITED, b"done\n")
    assert time.monotonic() - started < 15


def test_at_a_limit_the_whole_group_ends() -> None:
    tag = f"group-{os.getpid()}"
    env = dict(os.environ) | {"WEFT_TEST_TAG": tag}
    assert run(Command(("sh", "-c", "sleep 60 & sleep 60"), env), Limits(0.5)).ending is not None
    assert wait_until(lambda: alive(tag) == [])


def test_standard_input_stays_open_until_the_end() -> None:
    with Process(Command(("cat",), stdin=None)) as process:
        assert process.wait(Limits(0.3)) is Ending.TIMED_OUT
        process.close_stdin()
        assert process.wait(Limits(9)) is Ending.EXITED
        assert process.exit_code == 0


@pytest.mark.parametrize("has_event", [True, False])
def test_the_end_of_a_command_wakes_its_watcher(
    has_event: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    if not has_event:
        monkeypatch.setattr(os, "pidfd_open", refuse)
    monkeypatch.setattr("weft.core.process.WAKE_EVERY_S", 60)
    assert run(Command(("sleep", "0.3")), Limits(50)).seconds < 20


def test_an_interrupt_ends_the_commands_of_all_threads() -> None:
    tag = f"threads-{os.getpid()}"
    command = Command(("sleep", "60"), dict(os.environ) | {"WEFT_TEST_TAG": tag})

    def interrupt() -> None:
        assert wait_until(lambda: len(alive(tag)) == 4)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        in_parallel(range(9), lambda _: run(command, Limits(60)), at_once=4)
    assert alive(tag) == []
    assert time.monotonic() - started < 30


def test_results_of_threads_are_in_the_order_of_the_items() -> None:
    assert in_parallel([3, 1, 2], lambda n: 2 * n, at_once=2) == [6, 2, 4]
    assert in_parallel([], str, at_once=2) == []


def test_the_text_of_a_short_command_and_its_code() -> None:
    argv = ["sh", "-c", "echo out; echo first >&2; echo last >&2; exit 3"]
    text = run_command(argv, timeout_s=9)
    assert text == CommandText(3, "out\n", "first\nlast\n")
    assert text.last_line == "last"


@pytest.mark.parametrize(("script", "last"), [("echo a; echo b", "b"), (":", "no message")])
def test_without_errors_the_last_line_is_of_its_output(script: str, last: str) -> None:
    assert run_command(["sh", "-c", script], timeout_s=9).last_line == last


def test_a_short_command_has_no_input_and_only_the_environment_it_is_given() -> None:
    text = run_command(["/bin/sh", "-c", "cat; echo $ONE$HOME"], timeout_s=9, env={"ONE": "1"})
    assert text.out == "1\n"


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert run_command(["printf", r"\377"], timeout_s=9).out == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("argv", "text"),
    [(["/no/such/command"], "cannot be started"), (["sleep", "60"], "timed out .0.2 s")],
)
def test_a_short_command_that_does_not_start_or_end_is_an_error(argv: list[str], text: str) -> None:
    with pytest.raises(CommandError, match=text):
        run_command(argv, timeout_s=0.2)


def test_processes_are_started_in_one_place() -> None:
    root = Path(weft.__file__).parent
    words = ("Popen(", "subprocess.run", "check_output", "os.fork", "os.system", "posix_spawn")
    starters = {
        str(path.relative_to(root))
        for path in root.rglob("*.py")
        if any(word in path.read_text() for word in words)
    }
    assert starters == {"core/process.py"}
