"""`weft report` as a user types it."""

from pathlib import Path

import pytest

from weft.cli import run
from weft.core.errors import ExitCode


@pytest.fixture
def a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    directory = tmp_path / "checked"
    run(["check", "--mock", "--nodes", "8", "--no-report", "--dir", str(directory)])
    (tmp_path / "checked.txt").write_text(capsys.readouterr().out)
    return directory


def test_the_page_goes_into_the_run_and_the_verdict_to_stdout(
    a_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(a_run)]) == ExitCode.GOOD
    path, verdict = capsys.readouterr().out.splitlines()
    assert path == str(a_run / "report.html")
    assert verdict.startswith("8 of 8 nodes, ")
    terminal = (a_run.parent / "checked.txt").read_text().splitlines()[0]
    assert all(part in terminal for part in verdict.split(", ", 1))
    page = (a_run / "report.html").read_text()
    assert verdict in page
    assert "No component of 8 nodes is slower than its kind; whether all are slow alike" in page


def test_the_page_goes_where_it_is_reported(
    a_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "page.html"
    assert run(["report", str(a_run), "-o", str(out)]) == ExitCode.GOOD
    assert out.exists()
    assert not (a_run / "report.html").exists()


def test_several_runs_print_one_verdict_each(
    a_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(a_run), str(a_run), "-o", str(tmp_path / "p.html")]) == ExitCode.GOOD
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_directory_that_is_no_run_is_the_users_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["report", str(tmp_path)]) == ExitCode.INPUT
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "not a run directory" in captured.err


def test_an_unfinished_run_needs_partial(a_run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (a_run / "samples").glob("*.jsonl"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[:-1]))
    assert run(["report", str(a_run)]) == ExitCode.INPUT
    assert "launches are missing" in capsys.readouterr().err
    assert run(["report", str(a_run), "--partial"]) == ExitCode.GOOD
