"""The page that `weft check` writes at its end."""

import html
import json
import re
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.cli import run
from weft.core.errors import MissingError
from weft.core.files import HeldFolder

Capture = pytest.CaptureFixture[str]


def slow_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the verb open a mock of eight nodes, one of them slow."""
    nodes = tuple(f"n{i:03d}" for i in range(1, 9))
    backend = MockBackend(slow_nodes={"n005": 4.0})
    monkeypatch.setattr("weft.cli.backend.opening.open_backend", lambda choice: (backend, nodes))


def check(where: Path, *more: str) -> int:
    return run(["check", "--mock", "--dir", str(where), *more])


@pytest.mark.parametrize("options", [["--no-report"], ["--quick"]])
def test_a_check_without_a_report_says_how_to_write_it(
    tmp_path: Path, capsys: Capture, options: list[str]
) -> None:
    where = tmp_path / "run"
    assert check(where, "--nodes", "8", *options) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"report: weft report {where}"
    assert not (where / "report.html").exists()


def test_a_quick_check_is_drawn_where_that_is_asked_for(tmp_path: Path) -> None:
    assert check(tmp_path / "run", "--nodes", "8", "--quick", "--report") == 0
    assert (tmp_path / "run" / "report.html").exists()


def test_the_report_is_the_one_that_the_verb_report_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow_node(monkeypatch)
    assert check(tmp_path / "run") == 1
    assert run(["report", str(tmp_path / "run"), "-o", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "run" / "report.html").read_text() == (tmp_path / "page.html").read_text()


def test_a_report_that_cannot_be_written_takes_no_verdict_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    write_part = HeldFolder.write_part

    def full(self: HeldFolder, name: str, text: str, **more: str) -> None:
        if name == "report.html":
            raise MissingError("the report cannot be written (No space left)", where=name)
        write_part(self, name, text, **more)

    monkeypatch.setattr(HeldFolder, "write_part", full)
    slow_node(monkeypatch)
    where = tmp_path / "run"
    assert check(where, "--format", "json") == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["report"] is None
    assert f"'weft report {where} -o FILE' writes it elsewhere" in captured.err


@pytest.mark.parametrize(
    ("nodes", "label", "code"), [("8", "OK", 0), ("4", "UNKNOWN", 5)], ids=["good", "few"]
)
def test_the_page_begins_as_the_terminal_does(
    tmp_path: Path, capsys: Capture, nodes: str, label: str, code: int
) -> None:
    where = tmp_path / "run"
    assert check(where, "--nodes", nodes) == code
    lines = capsys.readouterr().out.splitlines()
    words = lines[0].split()
    assert words[0] == label
    page = html.unescape((where / "report.html").read_text())
    first = re.search(r'<span class="severity">(\w+)</span> (.*?)</p>', page)
    assert first is not None
    assert first[1] == label
    told = first[2].replace(",", "").split()
    assert told == [word.replace(",", "") for word in words[1 : 1 + len(told)]]
    shown = [line for line in lines if line.startswith("would ")]
    assert bool(shown) == (code == 0)
    assert all(f"<li>{line}</li>" in page for line in shown)


def test_beside_a_fault_the_page_shows_what_would_have_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    slow_node(monkeypatch)
    where = tmp_path / "run"
    assert check(where) == 1
    out = capsys.readouterr().out
    page = html.unescape((where / "report.html").read_text())
    assert "7 of 8 nodes" in out
    assert "7 of 8 nodes" in page
    assert all(f"<li>{line}</li>" in page for line in out.splitlines() if "would show" in line)
