from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.mock_backend import MockBackend

from weft.bench.model import Launch, Sample, State, Trial
from weft.core.errors import BenchmarkError, InputError, MissingError
from weft.core.work.progress import WorkStanding
from weft.study.run.loop import Progress, RunOutcome, execute
from weft.study.run.store import Failure, RunStore, read_run

NODES = ("n001", "n002")


def _launches(*benchmarks: str, repeats: int = 4) -> list[Launch]:
    trials = [Trial(f"t{i:03d}-{name}", name, (8,), NODES, 1) for i, name in enumerate(benchmarks)]
    pairs = [(trial, repeat) for repeat in range(repeats) for trial in trials]
    return [Launch(trial, repeat, order) for order, (trial, repeat) in enumerate(pairs)]


def _run(path: Path, launches: list[Launch], backend: MockBackend) -> RunOutcome:
    with RunStore.create(path, {}) as store:
        return execute(launches, backend, store)


class Log(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def started(self, todo: Sequence[Launch], n_before: int) -> None:
        self.lines.append(f"{len(todo) + n_before} launches, {n_before} before")

    def launching(self, launch: Launch) -> None:
        self.lines.append(f"launching {launch.name}")

    def measured(self, launch: Launch, samples: Sequence[Sample]) -> None:
        self.lines.append(f"{len(samples)} from {launch.name}")

    def failed(self, launch: Launch, failure: Failure) -> None:
        self.lines.append(f"{launch.name} {failure.state}")


def test_a_failure_and_a_hang_are_results_and_the_run_goes_on(tmp_path: Path) -> None:
    backend = MockBackend(failing=["t000-latency.r01"], hanging=["t001-barrier.r02"])
    outcome = _run(tmp_path / "run", _launches("latency", "barrier"), backend)
    assert outcome.complete
    assert outcome.stopped is None
    assert [(f.trial, f.repeat, f.state) for f in outcome.failures] == [
        ("t000-latency", 1, State.FAILED),
        ("t001-barrier", 2, State.HUNG),
    ]
    assert "rank 1 exited with code 134" in outcome.failures[0].message
    assert read_run(tmp_path / "run").failures == outcome.failures
    assert backend.closed


def test_a_benchmark_that_never_works_does_not_end_the_run(tmp_path: Path) -> None:
    launches = _launches("latency", "alltoall", repeats=10)
    outcome = _run(tmp_path / "run", launches, MockBackend(failing=["alltoall"]))
    assert outcome.complete
    assert len(outcome.failures) == 10


def test_three_failures_in_a_row_with_nothing_working_end_the_run(tmp_path: Path) -> None:
    backend = MockBackend(failing=["latency", "barrier"])
    outcome = _run(tmp_path / "run", _launches("latency", "barrier"), backend)
    assert not outcome.complete
    assert len(outcome.failures) == 3
    assert outcome.stopped is not None
    assert "3 launches in a row failed" in outcome.stopped
    assert "rank 1 exited with code 134" in outcome.stopped


def test_a_fabric_that_dies_midway_ends_the_run(tmp_path: Path) -> None:
    names = ("latency", "barrier")
    dead = [f"t{i:03d}-{name}.r{r:02d}" for i, name in enumerate(names) for r in range(2, 9)]
    outcome = _run(tmp_path / "run", _launches(*names, repeats=9), MockBackend(failing=dead))
    assert outcome.stopped is not None
    assert outcome.n_done == 4
    assert len(outcome.failures) == 3


def test_launches_for_which_a_host_is_gone_do_not_end_the_run(tmp_path: Path) -> None:
    launches = [
        *_launches("latency", repeats=1),
        *(
            one
            for one in _launches("latency", "barrier", repeats=9)
            if one.key[0] != "t000-latency"
        ),
    ]
    outcome = _run(tmp_path / "run", launches, _WithoutHost())
    assert outcome.complete
    assert outcome.lost == {"n002": 8}
    assert {one.lost for one in read_run(tmp_path / "run").failures} == {("n002",)}


def test_resuming_runs_what_is_not_over_and_nothing_else(tmp_path: Path) -> None:
    launches = _launches("latency", "barrier")
    interrupted = _Interrupted(after=3)
    with RunStore.create(tmp_path / "run", {}) as store, pytest.raises(KeyboardInterrupt):
        execute(launches, interrupted, store)
    assert interrupted.closed
    log = Log()
    with RunStore.open(tmp_path / "run") as store:
        outcome = execute(launches, MockBackend(), store, progress=log)
    assert (outcome.n_before, outcome.n_done) == (3, 5)
    assert log.lines[0] == "8 launches, 3 before"
    assert log.lines[1:3] == ["launching t001-barrier.r01", "1 from t001-barrier.r01"]
    assert read_run(tmp_path / "run").complete


def test_a_failed_launch_is_over_and_not_run_again(tmp_path: Path) -> None:
    launches = _launches("latency")
    _run(tmp_path / "run", launches, MockBackend(failing=["t000-latency.r01"]))
    with RunStore.open(tmp_path / "run") as store:
        assert execute(launches, MockBackend(), store).n_done == 0
    assert len(read_run(tmp_path / "run").failures) == 1


def test_a_benchmark_that_never_worked_does_not_end_a_resumed_run_either(tmp_path: Path) -> None:
    launches = _launches("latency", "alltoall", repeats=5)
    launches.sort(key=lambda launch: launch.trial.id)
    with RunStore.create(tmp_path / "run", {}) as store, pytest.raises(KeyboardInterrupt):
        execute(launches, _Interrupted(after=4), store)
    with RunStore.open(tmp_path / "run") as store:
        outcome = execute(launches, MockBackend(failing=["alltoall"]), store)
    assert outcome.complete
    assert len(outcome.failures) == 5


def test_what_the_machine_lacks_ends_the_run_and_leaves_it_resumable(tmp_path: Path) -> None:
    launches = _launches("latency")
    with RunStore.create(tmp_path / "run", {}) as store, pytest.raises(MissingError):
        execute(launches, _Lacking(), store)
    with RunStore.open(tmp_path / "run") as store:
        assert execute(launches, MockBackend(), store).complete


@pytest.mark.parametrize("existed", [False, True])
def test_a_run_that_cannot_be_prepared_leaves_its_directory_free(
    tmp_path: Path, existed: bool
) -> None:
    if existed:
        (tmp_path / "run").mkdir()
    unknown = [Launch(Trial("t000-nap", "nap", (8,), NODES, 1), 0, 0)]
    with pytest.raises(InputError, match="no benchmark 'nap'"):
        _run(tmp_path / "run", unknown, MockBackend())
    assert (tmp_path / "run").exists() == existed
    assert _run(tmp_path / "run", _launches("latency"), MockBackend()).complete


def test_a_resumed_run_that_cannot_be_prepared_keeps_all_it_has(tmp_path: Path) -> None:
    launches = _launches("latency")
    _run(tmp_path / "run", launches, MockBackend())
    before = read_run(tmp_path / "run")
    with RunStore.open(tmp_path / "run") as store, pytest.raises(InputError):
        execute(launches, _Unprepared(), store)
    assert read_run(tmp_path / "run") == before


def test_what_prepare_left_behind_is_kept_with_the_run(tmp_path: Path) -> None:
    with RunStore.create(tmp_path / "run", {}) as store:
        (tmp_path / "run" / "raw" / "meeting.err").write_text("why")
        with pytest.raises(InputError, match="not with me"):
            execute(_launches("latency"), _Unprepared(), store)
    assert (tmp_path / "run" / "run.toml").exists()
    assert (tmp_path / "run" / "raw" / "meeting.err").read_text() == "why"


def test_samples_before_a_failure_are_not_results(tmp_path: Path) -> None:
    launches = _launches("latency", repeats=1)
    outcome = _run(tmp_path / "run", launches, _FailsLate())
    assert len(outcome.failures) == 1
    assert read_run(tmp_path / "run").samples == ()


def test_seconds_come_from_the_clock(tmp_path: Path) -> None:
    ticks = iter(range(0, 1000, 5))
    with RunStore.create(tmp_path / "run", {}) as store:
        execute(_launches("latency", repeats=1), MockBackend(), store, clock=lambda: next(ticks))
    (path,) = (tmp_path / "run" / "samples").iterdir()
    assert '"seconds":5' in path.read_text()


class _Interrupted(MockBackend):
    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def measure(self, launch: Launch) -> Iterator[Sample]:
        yield from super().measure(launch)
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1


class _Unprepared(MockBackend):
    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        raise InputError("not with me")


class _Lacking(MockBackend):
    def measure(self, launch: Launch) -> Iterator[Sample]:
        raise MissingError("no mpiexec")


class _WithoutHost(MockBackend):
    def measure(self, launch: Launch) -> Iterator[Sample]:
        if launch.trial.benchmark == "barrier" and launch.repeat > 0:
            raise BenchmarkError("not started", where="host n002", lost=("n002",))
        yield from super().measure(launch)


class _FailsLate(MockBackend):
    def measure(self, launch: Launch) -> Iterator[Sample]:
        yield from super().measure(launch)
        yield from MockBackend(failing=[launch.name]).measure(launch)


def test_a_run_stops_where_a_person_has_to_switch_and_resuming_is_the_word(tmp_path: Path) -> None:
    def launch(order: int, setting: str) -> Launch:
        trial = Trial(f"t{setting}", "latency", (8,), NODES, 1, condition={"ar": setting})
        return Launch(trial, order, order)

    launches = [launch(order, word) for order, word in enumerate(("off", "off", "on", "off"))]
    by_hand = {"ar": {"on": "in opensm.conf", "off": ""}}
    path, outcomes = tmp_path / "run", []
    for number in range(3):
        with RunStore.open(path) if number else RunStore.create(path, {}) as store:
            outcomes.append(execute(launches, MockBackend(), store, by_hand=by_hand))
    first, second, third = outcomes
    assert (first.n_done, first.complete) == (2, False)
    assert "from here on ar has to be on (in opensm.conf)" in str(first.stopped)
    assert (second.n_done, second.complete) == (1, False)
    assert "from here on ar has to be off;" in str(second.stopped)
    assert (third.complete, third.stopped) == (True, None)


class _Ahead(MockBackend):
    """Takes launches together, each of so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds, self.now = seconds, 0.0
        self.batches: list[list[Launch]] = []

    def ahead(self, launches: Sequence[Launch]) -> None:
        self.batches.append(list(launches))
        self.now += self.seconds * len(launches)


@pytest.mark.parametrize(
    ("seconds", "sizes"),
    [(0.01, [8, 16, 32, 64, 64, 16]), (1.9, [8] * 25), (2.5, [8] * 25), (1.0, [8, 16, 16])],
    ids=("moments", "some-seconds", "long", "in-between"),
)
def test_more_launches_are_taken_together_while_they_are_short(
    tmp_path: Path, seconds: float, sizes: list[int]
) -> None:
    backend = _Ahead(seconds)
    launches = _launches("latency", repeats=200)
    with RunStore.create(tmp_path / "run", {}) as store:
        execute(launches, backend, store, clock=lambda: backend.now, together=8)
    assert [len(batch) for batch in backend.batches][: len(sizes)] == sizes
    assert [launch for batch in backend.batches for launch in batch] == launches


class _Watched(_Ahead):
    """Takes launches together, and asks for the share when a batch begins."""

    def __init__(self) -> None:
        super().__init__(seconds=2.0)
        self.shares: list[float] = []

    def ahead(self, launches: Sequence[Launch]) -> None:
        super().ahead(launches)
        now = WorkStanding.now()
        assert now is not None
        self.shares.append(now.share)


def test_a_batch_that_has_just_begun_is_not_nearly_done(tmp_path: Path) -> None:
    backend = _Watched()
    with RunStore.create(tmp_path / "run", {}) as store:
        execute(
            _launches("latency", repeats=40),
            backend,
            store,
            clock=lambda: backend.now,
            together=8,
        )
    assert backend.shares == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
