"""A fault of weft's own in any verb, thread or engine: exit 70, one line, details in a file."""

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.cli.calls import CALLS, commands
from tests.process_calls import call


class PanicError(BaseException):
    """As PyO3 raises a panic of Rust: no Exception."""


FAULTS: list[tuple[BaseException, int]] = [
    (KeyError("x"), 70),
    (RecursionError("maximum recursion depth exceeded"), 70),
    # Memory that is too small is a lack of this machine, told in two lines.
    (MemoryError(), 3),
    (AssertionError(), 70),
    (PanicError("index out of bounds"), 70),
    (ExceptionGroup("several", [ValueError("x")]), 70),
    (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), 70),
    (ValueError("first\nsecond \x1b[2J"), 70),
    (KeyboardInterrupt(), 130),
]
VERBS = dict(commands())


def test_every_verb_is_tried() -> None:
    assert set(VERBS) == set(CALLS)


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_fault_in_any_verb_is_one_line(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = sorted(VERBS).index(verb)
    error, code = FAULTS[number % len(FAULTS)]
    _is_one_line(verb, error, code, tmp_path, monkeypatch)


@pytest.mark.parametrize(("error", "code"), FAULTS, ids=[type(one).__name__ for one, _ in FAULTS])
def test_a_fault_of_any_kind_is_one_line(
    error: BaseException, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _is_one_line("platform list", error, code, tmp_path, monkeypatch)


def _is_one_line(
    verb: str,
    error: BaseException,
    code: int,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tempfile.tempdir", str(folder))
    command = VERBS[verb]
    monkeypatch.setattr(command, "callback", fails)
    monkeypatch.setattr(command, "params", [])
    monkeypatch.setattr(command, "parse_args", lambda *_: [])
    end = call(verb.split())
    assert (end.code, end.out) == (code, ""), end
    # Click ends the line of a Ctrl-C.
    lines = end.err.strip().splitlines()
    if code == 130:
        said = ["weft: interrupted", "nothing goes on running, nothing is kept"]
        assert lines == [*said, f"next: weft {verb}"]
    else:
        assert len(lines) == (2 if code == 3 else 1), end.err
    assert "Traceback" not in end.err
    assert "\x1b" not in end.err
    details = [path.read_text() for path in folder.glob("weft-fault-*.txt")]
    assert len(details) == (code == 70)
    assert all("in fails" in text for text in details)


def test_where_no_details_can_be_written_the_line_names_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import weft.cli.welcome

    def broken() -> None:
        raise KeyError("x")

    monkeypatch.setattr(weft.cli.welcome, "welcome", broken)
    end = call([], before=lambda: setattr(tempfile, "tempdir", str(tmp_path / "gone")))
    assert end.code == 70
    [line] = end.err.splitlines()
    assert f"{__file__}, line " in line


MAIN = """
import sys, threading, weft.cli, weft.cli.welcome
def welcome():
    def broken():
        raise {error}
    thread = threading.Thread(target=broken)
    thread.start()
    thread.join()
weft.cli.welcome.welcome = welcome
sys.argv = ["weft"]
weft.cli.main()
"""


@pytest.mark.parametrize(("error", "code"), [("KeyError('x')", 70), ("SystemExit(0)", 0)])
def test_a_thread_that_fails_is_a_fault_too(error: str, code: int, tmp_path: Path) -> None:
    end = subprocess.run(
        [sys.executable, "-c", MAIN.format(error=error)],
        env={"TMPDIR": str(tmp_path), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert end.returncode == code, end
    assert "Traceback" not in end.stderr
    assert len(end.stderr.splitlines()) == (code == 70)
    assert len(list(tmp_path.glob("weft-fault-*"))) == (code == 70)
