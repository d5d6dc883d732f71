"""Readings that the plan has and the run lacks are said, and make no verdict good."""

from pathlib import Path

import pytest
from tests.unit.check.misfits.sample_edits import Record, edited, is_survey, without

from weft.check.pipeline import judge_run
from weft.check.verdict.good_nodes import good_columns
from weft.core.errors import ExitCode
from weft.core.finding import Severity
from weft.study.run.store import read_run


@pytest.mark.parametrize(
    ("metric", "what"), [("", ""), ("latency", " of latency"), ("bandwidth", " of bandwidth")]
)
def test_a_node_without_readings_is_unknown_and_not_counted_as_good(
    healthy: Path, tmp_path: Path, metric: str, what: str
) -> None:
    verdict = judge_run(read_run(edited(healthy, tmp_path / "r", without("n003", metric))))
    first = verdict.findings[0]
    assert first.severity is Severity.UNKNOWN
    assert first.sentence.startswith(f"1 of 12 nodes has no reading{what}: n003.")
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert good_columns(verdict)[0] == "11 of 12 nodes"
    assert not any(one.severity is Severity.BAD for one in verdict.findings)


def test_a_slow_node_without_readings_is_not_passed(slow_node: Path, tmp_path: Path) -> None:
    verdict = judge_run(read_run(edited(slow_node, tmp_path / "r", without("n005"))))
    assert verdict.exit_code is ExitCode.NO_VERDICT


def test_a_part_of_the_readings_of_a_node_is_a_caveat(healthy: Path, tmp_path: Path) -> None:
    def edit(record: Record) -> Record | None:
        near = record["pair"][0] == "n003" and record["pair"][1] in ("n004", "n007")
        return None if near and is_survey(record) else record

    verdict = judge_run(read_run(edited(healthy, tmp_path / "r", edit)))
    # Of each pair the latency and what n003 sends.
    assert "n003 lacks 4 readings that the survey planned" in verdict.caveats[0]
    assert verdict.exit_code is ExitCode.GOOD


def test_a_whole_run_has_no_misfit(healthy: Path) -> None:
    verdict = judge_run(read_run(healthy))
    assert verdict.exit_code is ExitCode.GOOD
    assert not any("lacks" in caveat for caveat in verdict.caveats)
