"""`weft check --quick`: bounded in time, every pair of a handful of nodes, codes for a prolog."""

from pathlib import Path

import pytest

from weft.bench.failure import HangError
from weft.bench.live import LiveBackend
from weft.bench.model import Trial
from weft.cli import run
from weft.diagnose.check.rounds.cost import figures
from weft.study.store import read_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


def test_what_each_step_may_take_adds_up_to_less_than_half_a_minute() -> None:
    known = figures()
    assert 2 * known.quick_survey_s + 2 * known.quick_follow_up_s < 30
    assert known.quick_s < known.quick_survey_s


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("nodes", [2, 5, 8])
def test_a_handful_of_nodes_meets_in_every_pair(
    nodes: int, tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    argv = ["check", "--quick", "--twin", "fat-tree", "--nodes", str(nodes), "--dir", str(where)]
    assert run(argv) == 0
    n_pairs = nodes * (nodes - 1) // 2
    assert f"pairs {n_pairs} of {n_pairs} measured" in capsys.readouterr().out
    assert [launch.trial.timeout_s for launch in read_run(where).launches] == [9.0, 5.0, 5.0]


@pytest.mark.usefixtures("_engine")
def test_a_bad_node_is_1_and_the_next_command_is_quick_too(tmp_path: Path, capsys: Capture) -> None:
    where = tmp_path / "run"
    argv = ["check", "--quick", "--twin", "azure-ndv4", "--nodes", "8", "--dir", str(where)]
    assert run([*argv, "--plant", "n003 slow=2"]) == 1
    out = capsys.readouterr().out
    assert out.startswith("BAD  1 node   n003 ")
    assert f"--against {where} --quick --only n003" in out


def test_a_thousand_hosts_are_measured_as_far_as_the_time_allows(
    tmp_path: Path, capsys: Capture
) -> None:
    """Without a rate a round is bounded by the kernel's time limit: some matchings fit."""
    argv = ["check", "--quick", "--hosts", "node[1-1000]", "--dir", str(tmp_path), "--dry-run"]
    assert run(argv) == 0
    out = capsys.readouterr().out
    assert " of 499,500 pairs of 1000 nodes in " in out or " of 499,500 pairs of 1,000 nodes" in out


def test_quick_and_a_budget_contradict_each_other(tmp_path: Path, capsys: Capture) -> None:
    argv = ["check", "--quick", "--budget", "5s", "--mock", "--dir", str(tmp_path / "run")]
    assert run(argv) == 2
    assert "--quick and --budget contradict each other" in capsys.readouterr().err


def test_hosts_that_do_not_meet_are_given_up_in_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits: list[float] = []

    def refuse(self: LiveBackend, launch) -> None:  # type: ignore[no-untyped-def]
        limits.append(launch.trial.timeout_s)
        raise HangError("nobody came")

    from weft.launch.mpi import find_mpi

    monkeypatch.setattr(LiveBackend, "_run", refuse)
    monkeypatch.setattr("weft.bench.live.build_kernel", lambda mpi: Path("weft-kernel"))
    backend = LiveBackend(find_mpi(None), ("one.invalid", "two.invalid"), ())
    options = {"rounds": [[[0, 1]]]}
    for timeout_s, allowed in ((9.0, 9.0), (3600.0, 120.0)):
        trial = Trial(
            "t", "pairs", (8, 1024), backend.nodes, 1, options=options, timeout_s=timeout_s
        )
        with pytest.raises(HangError):
            backend.prepare([trial], tmp_path)
        assert limits.pop() == allowed
