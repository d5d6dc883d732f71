"""Names of runs on one page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.report.run_names import run_names, titles
from weft.study.run.store import StudyRun, read_run

from .conftest import Measure


@pytest.fixture
def run(tmp_path: Path, measure: Measure) -> StudyRun:
    return read_run(measure(tmp_path / "r", backend=MockBackend(), nodes=("n1", "n2")))


def made(run: StudyRun, name: str, *argv: str) -> StudyRun:
    return replace(run, directory=Path("runs") / name, meta={**run.meta, "argv": list(argv)})


@pytest.mark.parametrize(
    ("argvs", "names"),
    [
        ([["bench"], ["bench"]], ["r0 (mock)", "r1 (mock)"]),
        (
            [["bench", "--dir", "x"], ["bench", "--dir", "y", "--plant", "n3 slow=2"]],
            ["r0 (mock)", "r1 (mock, --plant 'n3 slow=2')"],
        ),
        (
            [["bench", "--nodes", "4", "--quick"], ["bench", "--nodes", "8", "--quick"]],
            ["r0 (mock, --nodes 4)", "r1 (mock, --nodes 8)"],
        ),
        (
            [["bench"], ["bench", "--a", "x" * 50, "--b", "y" * 50, "--c", "z"]],
            ["r0 (mock)", f"r1 (mock, --a {'x' * 50}, 2 more options)"],
        ),
    ],
)
def test_a_name_says_what_differs(
    run: StudyRun, argvs: Sequence[Sequence[str]], names: list[str]
) -> None:
    runs = [made(run, f"r{number}", *argv) for number, argv in enumerate(argvs)]
    assert run_names(runs) == names


def test_no_two_runs_have_one_name_or_title(run: StudyRun) -> None:
    runs = [made(run, "same", "bench"), made(run, "same", "bench"), made(run, "other", "bench")]
    assert run_names(runs) == ["1: same (mock)", "2: same (mock)", "other (mock)"]
    given = ["bench: latency", "bench: latency", "Check of 4 nodes"]
    assert titles(runs, given) == [
        "bench: latency: 1: same (mock)",
        "bench: latency: 2: same (mock)",
        "Check of 4 nodes",
    ]
