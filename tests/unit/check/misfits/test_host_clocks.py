"""A host whose clock runs at another speed accuses no cable."""

from pathlib import Path

import pytest
from tests.unit.check.misfits.conftest import measured
from tests.unit.check.misfits.sample_edits import edited, with_clock

from weft.bench.model import Pair, Sample, State
from weft.check.misfits.host_clocks import WrongClockFacts, with_one_clock
from weft.check.pipeline import judge_run
from weft.check.trials import SURVEY
from weft.check.verdict.verdict import Verdict
from weft.core.errors import ExitCode
from weft.core.finding import Severity
from weft.study.run.store import read_run


def clocks_of(verdict: Verdict) -> list[WrongClockFacts]:
    return [one.facts for one in verdict.findings if isinstance(one.facts, WrongClockFacts)]


@pytest.mark.parametrize("factor", [0.5, 1.25, 2.0])
@pytest.mark.parametrize("host", ["n001", "n003", "n010"])
def test_a_clock_that_is_off_is_said_and_nothing_is_accused(
    healthy: Path, tmp_path: Path, host: str, factor: float
) -> None:
    verdict = judge_run(read_run(edited(healthy, tmp_path / "r", with_clock(host, factor))))
    (clock,) = clocks_of(verdict)
    assert clock.node == host
    assert clock.factor == pytest.approx(factor, rel=0.02)
    assert not any(one.severity is Severity.BAD for one in verdict.findings)
    assert verdict.exit_code is ExitCode.NO_VERDICT


def test_a_slow_node_beside_a_wrong_clock_is_named(slow_node: Path, tmp_path: Path) -> None:
    verdict = judge_run(read_run(edited(slow_node, tmp_path / "r", with_clock("n009", 1.5))))
    assert [clock.node for clock in clocks_of(verdict)] == ["n009"]
    (bad,) = (one for one in verdict.findings if one.severity is Severity.BAD)
    assert "n005" in bad.sentence


@pytest.mark.parametrize("host", ["n011", "n012"])
def test_of_the_last_hosts_the_clock_is_one_of_the_explanations(
    healthy: Path, tmp_path: Path, host: str
) -> None:
    """They time one latency at most."""
    verdict = judge_run(read_run(edited(healthy, tmp_path / "r", with_clock(host, 2.0))))
    (bad,) = (one for one in verdict.findings if one.severity is Severity.BAD)
    assert host in bad.sentence
    assert any("a wrong clock looks the same" in line for line in bad.evidence)


@pytest.mark.parametrize(
    "fault", ["n003 slow=2", "n001 slow=1.2", "n003/hca0[1] rate=0.5", "leaf-01[6] rate=0.5"]
)
def test_faults_are_no_clocks(tmp_path: Path, fault: str) -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")
    where = measured(tmp_path / "r", "--nodes", "12", "--plant", fault)
    assert not clocks_of(judge_run(read_run(where)))


def test_of_samples_that_missed_the_fabric_no_clock_is_told() -> None:
    """One direction twice as fast as the other, in readings that support no verdict."""
    both = {"bandwidth_ab_mb_s": 1000.0, "bandwidth_ba_mb_s": 2000.0}
    lost = State.NOT_ON_FABRIC
    pair = Pair("alpha", "beta", 0, 1)
    sample = Sample(SURVEY, 1, "pairs", 1 << 20, both, 20, 0.0, state=lost, pair=pair)
    assert with_one_clock([sample], None, adaptive=False) == ([sample], ())
