"""`weft check --quick`: bounded in time, every pair of a handful of nodes, codes for a prolog."""

import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.mock_backend import MockBackend

from weft.bench.live.backend import LiveBackend
from weft.bench.live.failure import HangError
from weft.bench.model import Launch, Sample, Trial
from weft.check.launches import FollowUpBackend, check_launches
from weft.check.schedule.cost import figures
from weft.check.trials import SURVEY
from weft.cli import run
from weft.core.errors import BenchmarkError
from weft.core.process import GRACE_S
from weft.launch.mpi import find_mpi
from weft.study.run.store import read_run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def _engine() -> None:
    pytest.importorskip("weft._engine", reason="the engine is not built")


def test_all_launches_and_the_end_of_one_that_hangs_take_less_than_half_a_minute() -> None:
    known = figures()
    assert known.quick_all_s + GRACE_S < 30
    meeting_s = known.quick_survey_s
    assert meeting_s + known.quick_survey_s + known.quick_follow_up_s < known.quick_all_s
    assert known.quick_s < known.quick_survey_s


class Clock:
    """Seconds that pass only when told."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now


def slow_backend(
    clock: Clock, seconds: Mapping[str, float], limits: dict[str, float]
) -> FollowUpBackend:
    """Of a mock with a slow node, whose launches take so long; `limits` gets what each was given,
    by its id."""

    class Slow(MockBackend):
        def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
            clock.now += seconds["meeting"]

        def measure(self, launch: Launch) -> Iterator[Sample]:
            limits[launch.trial.id] = launch.trial.timeout_s
            clock.now += seconds[launch.trial.id]
            return super().measure(launch)

    inner = Slow(slow_nodes={"n003": 3.0})
    return FollowUpBackend(inner, None, within_s=25.0, clock=clock.monotonic)


def quick_launches() -> tuple[Launch, Launch, Launch]:
    nodes = tuple(f"n{i:03d}" for i in range(1, 9))
    options = {"window": 8, "phases": ["latency", "bandwidth"]}
    pairs = [(a, b) for a in range(8) for b in range(a)]
    return check_launches(
        nodes,
        tasks_per_node=1,
        sizes_bytes=(8, 2**20),
        rounds=[[pair] for pair in pairs],
        options=options,
        timeout_s=9.0,
    )


def test_later_launches_get_what_the_earlier_ones_left(tmp_path: Path) -> None:
    limits: dict[str, float] = {}
    clock = Clock()
    survey, alone, _ = quick_launches()
    backend = slow_backend(clock, {"meeting": 17.0, SURVEY: 8.0}, limits)
    backend.prepare([survey.trial], tmp_path)
    assert list(backend.measure(survey))
    with pytest.raises(BenchmarkError, match="the 25 s of a quick check are over"):
        list(backend.measure(alone))
    assert limits == {SURVEY: 8.0}


def test_a_second_meeting_gets_what_the_first_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Hosts whose first ranks share a core meet twice."""
    limits: list[float] = []
    clock = Clock()

    class Crowded:
        oversubscribed = True

    class Output:
        ranks = (Crowded(),)

    def meet(self: LiveBackend, launch: Launch) -> Output:
        limits.append(launch.trial.timeout_s)
        clock.now += 7.0
        return Output()

    monkeypatch.setattr(LiveBackend, "_run", meet)
    monkeypatch.setattr("weft.bench.live.backend.time", clock)
    backend = LiveBackend(
        find_mpi(None), ("one.invalid", "two.invalid"), (), kernel=Path("weft-kernel")
    )
    options = {"rounds": [[[0, 1]]]}
    trial = Trial("t", "pairs", (8, 1024), backend.nodes, 1, options=options, timeout_s=9.0)
    backend.prepare([trial], tmp_path)
    assert limits == [9.0, 2.0]


def test_a_scheduler_that_hangs_is_waited_for_in_what_the_launch_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("squeue", "sinfo", "scontrol"):
        (tmp_path / name).write_text("#!/bin/sh\nexec sleep 60\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    told: list[Any] = []
    monkeypatch.setattr(LiveBackend, "_run", lambda self, launch: None)
    monkeypatch.setattr(
        "weft.bench.live.backend.samples_of",
        lambda output, launch, beside: told.append(beside) or iter(()),
    )
    backend = LiveBackend(find_mpi(None), ("one.invalid", "two.invalid"), ())
    trial = Trial("t", "pairs", (8, 1024), backend.nodes, 1, options={"quiet": 0.3}, timeout_s=5.0)
    started = time.monotonic()
    assert list(backend.measure(Launch(trial, repeat=1, order=0))) == []
    assert time.monotonic() - started < 4
    assert told == [{"neighbours": {"not_known": "squeue did not answer in time"}}]


@pytest.mark.parametrize(("more", "within_s"), [((), math.inf), (("--quick",), 25.0)])
def test_the_limit_of_a_quick_check_reaches_its_launches(
    more: tuple[str, ...], within_s: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[float] = []

    class Recording(FollowUpBackend):
        def __init__(self, *args: Any, within_s: float, **kwargs: Any) -> None:
            given.append(within_s)
            raise BenchmarkError("that is all")

    monkeypatch.setattr("weft.cli.check.measurement.FollowUpBackend", Recording)
    monkeypatch.setattr("weft.cli.check.command.refuse_unreachable", lambda *_, **__: None)
    argv = ["check", "--hosts", "one.invalid,two.invalid", "--dir", str(tmp_path / "run"), *more]
    assert run(argv) == 4
    assert given == [within_s]


@pytest.mark.usefixtures("_engine")
@pytest.mark.parametrize("nodes", [2, 5, 8])
def test_a_handful_of_nodes_meets_in_every_pair(
    nodes: int, tmp_path: Path, capsys: Capture
) -> None:
    where = tmp_path / "run"
    argv = ["check", "--quick", "--twin", "fat-tree", "--nodes", str(nodes), "--dir", str(where)]
    assert run(argv) == (5 if nodes <= 5 else 0)
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
    assert f"--quick --against {where} --only n003" in out


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

    monkeypatch.setattr(LiveBackend, "_run", refuse)
    monkeypatch.setattr("weft.bench.live.backend.build_kernel", lambda mpi: Path("weft-kernel"))
    backend = LiveBackend(find_mpi(None), ("one.invalid", "two.invalid"), ())
    options = {"rounds": [[[0, 1]]]}
    for timeout_s, allowed in ((9.0, 9.0), (3600.0, 120.0)):
        trial = Trial(
            "t", "pairs", (8, 1024), backend.nodes, 1, options=options, timeout_s=timeout_s
        )
        with pytest.raises(HangError):
            backend.prepare([trial], tmp_path)
        assert limits.pop() == pytest.approx(allowed, abs=0.1)
