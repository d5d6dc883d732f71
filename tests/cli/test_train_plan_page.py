"""`weft train plan --sweep --report`: the curve as a page, and its rows in narrow terminals."""

import re
from pathlib import Path

import pytest

from weft.cli import run
from weft.cli.train import curve_text

SWEEP = ("train", "plan", "azure-ndv5", "--model", "llama-3-8b", "--tp", "2", "--micro-batch", "1")
Capture = pytest.CaptureFixture[str]


def test_the_parts_of_the_page_make_the_step(tmp_path: Path, capsys: Capture) -> None:
    page = tmp_path / "curve.html"
    argv = [*SWEEP, "--sweep", "8:32", "--vp", "1", "--cp", "1", "--report", str(page)]
    assert run([*argv, "--format", "csv"]) == 0
    rows = [line.split(",") for line in capsys.readouterr().out.splitlines()]
    at = rows[0].index("step_s")
    steps = {int(row[0]): float(row[at]) for row in rows[1:] if row[0].isdecimal()}
    text = page.read_text()
    parts = re.findall(r'"n_gpus":(\d+),"part":"[a-z ]+","value":([\d.e-]+)', text)
    assert parts
    totals = dict.fromkeys(steps, 0.0)
    for n_gpus, seconds in parts:
        totals[int(n_gpus)] += float(seconds)
    assert totals == pytest.approx(steps)
    assert "half of published steps lie" in text
    assert "from 8 to 32 GPUs" in text


def test_a_report_without_a_curve_is_refused(tmp_path: Path, capsys: Capture) -> None:
    assert run([*SWEEP, "--gpus", "8", "--report", str(tmp_path / "page.html")]) == 2
    assert "--report draws the curve of --sweep" in capsys.readouterr().err


@pytest.mark.parametrize("width", [60, 80])
def test_rows_of_a_sweep_fit_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(curve_text, "terminal_width", lambda: width)
    assert run([*SWEEP, "--sweep", "8:32", "--vp", "1", "--cp", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if "#" in line) <= width
