"""Tables that the readings contradict accuse no cable."""

import json
from pathlib import Path

import pytest
from tests.unit.check.misfits.sample_edits import with_exchanged_cables

from weft.check.misfits.wrong_tables import WrongTablesFacts
from weft.check.pipeline import judge_run
from weft.core.errors import ExitCode
from weft.core.finding import Severity
from weft.study.run.store import read_run


def test_cables_that_carry_more_than_they_can_contradict_the_tables(healthy: Path) -> None:
    document = json.loads((healthy / "fabric.json").read_text())
    verdict = judge_run(read_run(healthy), with_exchanged_cables(document))
    first = verdict.findings[0]
    assert isinstance(first.facts, WrongTablesFacts)
    assert first.severity is Severity.UNKNOWN
    assert first.facts.measured > 1.4 * first.facts.limit
    assert verdict.exit_code is ExitCode.NO_VERDICT
    assert not any(one.severity is Severity.BAD for one in verdict.findings)
    assert verdict.survey.crossings.network is None


def test_a_slow_node_is_named_without_the_tables(slow_node: Path) -> None:
    document = json.loads((slow_node / "fabric.json").read_text())
    verdict = judge_run(read_run(slow_node), with_exchanged_cables(document))
    bad = [one.sentence for one in verdict.findings if one.severity is Severity.BAD]
    assert len(bad) == 1
    assert "n005" in bad[0]


@pytest.mark.parametrize("run_dir", ["healthy", "slow_node"])
def test_tables_in_force_are_not_contradicted(run_dir: str, request: pytest.FixtureRequest) -> None:
    verdict = judge_run(read_run(request.getfixturevalue(run_dir)))
    assert not any(isinstance(one.facts, WrongTablesFacts) for one in verdict.findings)
