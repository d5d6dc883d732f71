"""Notebooks and the Python of the documents run as they stand, each in a process of its own."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.process_calls import call

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))
PYTHON_PAGE = ROOT / "docs/reference/python.md"
pytestmark = pytest.mark.timeout(300)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def cells(path: Path, kind: str) -> list[str]:
    document = json.loads(path.read_text())
    return ["".join(one["source"]) for one in document["cells"] if one["cell_type"] == kind]


def ended(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # Warnings are errors: a page shows no code that its own packages will refuse tomorrow.
    argv = [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", code]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=280, check=False
    )


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_draws(path: Path, tmp_path: Path) -> None:
    code = "\n".join([*cells(path, "code"), "print(chart.to_json())"])
    end = ended(code, tmp_path)
    assert end.returncode == 0, end.stderr[-2000:]
    chart = json.loads(end.stdout[end.stdout.index('{\n  "$schema"') :])
    assert re.search(r"\d+% faster", chart["title"])
    points = next(layer for layer in chart["layer"] if layer["mark"]["type"] == "point")
    # Eight node sets, two arms, three sizes.
    assert len(points["data"]["values"]) == 48
    assert (tmp_path / "study.html").stat().st_size > 100_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_output_and_no_path(path: Path) -> None:
    document = json.loads(path.read_text())
    assert all(not one.get("outputs") for one in document["cells"])
    assert all(one.get("execution_count") is None for one in document["cells"])
    assert cells(path, "markdown")[0].startswith("# ")


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    twin = ("--twin", "fat-tree", "--nodes", "6")
    runs = (
        ["check", *twin, "--plant", "n003 slow=2", "--no-report", "--dir", str(tmp_path / "check")],
        ["bench", "latency", *twin, "--repeats", "2", "--dir", str(tmp_path / "run")],
    )
    for argv in runs:
        made = call(argv, limit_s=200)
        assert made.code in (0, 1), made.err
    blocks = BLOCK.findall(PYTHON_PAGE.read_text())
    end = ended("\n".join(blocks), tmp_path)
    assert end.returncode == 0, end.stderr[-2000:]
    shown = re.findall(r"^```text\n(.*?)^```$", PYTHON_PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert end.stdout == "".join(shown)
