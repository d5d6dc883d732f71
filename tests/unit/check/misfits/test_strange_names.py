"""Hosts with another name after the survey are said, and are no hosts of their own."""

from pathlib import Path

import pytest
from tests.unit.check.misfits.sample_edits import edited, renamed

from weft.check.pipeline import judge_run
from weft.check.verdict.drain_list import accused_node
from weft.core.finding import Severity
from weft.study.run.store import read_run


@pytest.mark.parametrize("new", ["n005-ib", "n006"])
@pytest.mark.parametrize("with_fabric", [True, False])
def test_a_renamed_host_is_said_and_no_other_is_accused(
    slow_node: Path, tmp_path: Path, new: str, *, with_fabric: bool
) -> None:
    run_dir = edited(slow_node, tmp_path / "r", renamed("n005", new))
    if not with_fabric:
        (run_dir / "fabric.json").unlink()
    verdict = judge_run(read_run(run_dir))
    assert any(f"the survey has no host '{new}'" in caveat for caveat in verdict.caveats)
    bad = [one for one in verdict.findings if one.severity is Severity.BAD]
    assert {accused_node(one) for one in bad} <= {"n005"}
    assert verdict.coverage.n_nodes == 12


def test_names_that_stay_leave_no_sample_out(slow_node: Path) -> None:
    verdict = judge_run(read_run(slow_node))
    assert not any("left out" in caveat for caveat in verdict.caveats)
