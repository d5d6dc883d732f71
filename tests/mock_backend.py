"""A backend that computes its figures: the whole product runs in tests at zero time.

The figures describe no machine. They are a function of (seed, trial, repeat, size) alone, so two
runs of one plan are equal and a test can plant a known effect and look for it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from weft.bench.live.failure import HangError
from weft.bench.metrics import COLLECTIVES, TimeSeries, metrics_of, pair_metrics
from weft.bench.model import Launch, Pair, Sample, Trial
from weft.bench.phase import phases_of
from weft.bench.twin.fault import Fault
from weft.cli.backend import opening
from weft.cli.backend.choice import BackendChoice
from weft.cluster.ssh_failure import SshFailure
from weft.core.errors import BenchmarkError, unknown_name

LATENCY_NS = 1_500.0
NS_PER_BYTE = 0.1
WINDOW = 64


class MockBackend:
    """Samples without measuring.

    `effects` maps "factor=setting" to a factor on every time of that arm (1.25: a quarter slower);
    `slow_nodes` maps a node name to a factor on its times; `failing` and `hanging` name trials
    ("t003-latency"), launches ("t003-latency.r01") or benchmarks; `noise` is the relative standard
    deviation of a launch; `delay_s` is slept before each sample, for tests that kill a run.
    """

    name = "mock"

    def __init__(
        self,
        *,
        seed: int = 1,
        effects: Mapping[str, float] | None = None,
        slow_nodes: Mapping[str, float] | None = None,
        failing: Sequence[str] = (),
        hanging: Sequence[str] = (),
        noise: float = 0.01,
        delay_s: float = 0.0,
        iterations: int = 20,
        fabric_document: Mapping[str, Any] | None = None,
    ) -> None:
        self.fabric_document = fabric_document
        self.faults: tuple[Fault, ...] = ()
        self.lost_hosts: Mapping[str, SshFailure] = {}
        self.closed = False
        self._seed = seed
        self._effects = dict(effects or {})
        self._slow_nodes = dict(slow_nodes or {})
        self._failing = frozenset(failing)
        self._hanging = frozenset(hanging)
        self._noise = noise
        self._delay_s = delay_s
        self._iterations = iterations

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Nothing to get ready; refuses a benchmark it has no figures for."""
        for trial in trials:
            _check(trial)

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: launches follow one another."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of one launch. Raises BenchmarkError where the script says so."""
        _check(launch.trial)
        names = {launch.name, launch.trial.id, launch.trial.benchmark}
        if names & self._hanging:
            raise HangError(
                f"no result within {launch.trial.timeout_s:g} s",
                where=f"{launch.name} on {launch.trial.nodes[-1]}",
                expected="an end record",
            )
        if names & self._failing:
            raise BenchmarkError(
                "rank 1 exited with code 134",
                where=f"{launch.name} on {launch.trial.nodes[-1]}",
                expected="every rank to exit with 0",
            )
        measured = _pairs if launch.trial.benchmark == "pairs" else _sized
        for sample in measured(self, launch):
            if self._delay_s:
                time.sleep(self._delay_s)
            yield sample

    def recipe(self, launch: Launch) -> str:
        """What a launch would be, in words."""
        trial = launch.trial
        return f"mock {trial.benchmark} on {','.join(trial.nodes)} x {trial.tasks_per_node}"

    def facts(self) -> Mapping[str, Any]:
        """The seed is all there is to know."""
        return {"kind": "mock", "seed": self._seed}

    def close(self) -> None:
        """Nothing is held."""
        self.closed = True

    def times_ns(self, launch: Launch, name: str, base_ns: float) -> list[int]:
        """A series around `base_ns` scaled by this launch's arm, noise and slowest node."""
        trial = launch.trial
        rng = Random(f"{self._seed}/{trial.id}/{launch.repeat}/{name}")
        scale = rng.lognormvariate(0.0, self._noise)
        for factor, setting in trial.arm.items():
            scale *= self._effects.get(f"{factor}={setting}", 1.0)
        return [
            max(1, round(base_ns * scale * rng.lognormvariate(0.0, self._noise)))
            for _ in range(self._iterations)
        ]

    def slowness(self, nodes: Sequence[str]) -> float:
        """The factor of the slowest of `nodes`."""
        return max((self._slow_nodes.get(node, 1.0) for node in nodes), default=1.0)

    def sample(
        self,
        launch: Launch,
        size: int,
        metrics: Mapping[str, float],
        *,
        times_ns: Sequence[int] | None = None,
        pair: Pair | None = None,
    ) -> Sample:
        """A sample of this launch, dated by its place in the run."""
        return Sample(
            trial=launch.trial.id,
            repeat=launch.repeat,
            benchmark=launch.trial.benchmark,
            size_bytes=size,
            metrics=dict(metrics),
            iterations=self._iterations,
            started_unix_s=1_700_000_000.0 + launch.order,
            pair=pair,
            times_ns=tuple(times_ns) if times_ns is not None else None,
            evidence={"transport": "mock"},
        )


def open_mock(choice: BackendChoice) -> tuple[MockBackend, tuple[str, ...]]:
    """The backend of `--mock`, and the names of its nodes."""
    nodes = tuple(f"n{i:03d}" for i in range(1, (choice.nodes or 4) + 1))
    return MockBackend(seed=choice.seed), nodes


def put_into_verbs() -> None:
    """Let every verb of this process open a mock for `--mock`."""
    opening.open_mock = open_mock


def _check(trial: Trial) -> None:
    name, known = trial.benchmark, [*_BASE_NS, "pairs"]
    if name not in known:
        raise unknown_name(f"no benchmark '{name}'", name, known, where=trial.id)
    if name == "pairs":
        phases_of(trial.options)


def _pairs(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    trial = launch.trial
    phases = phases_of(trial.options)
    for number, pairs in enumerate(trial.options.get("rounds") or _rounds(trial.n_ranks)):
        for rank_a, rank_b in pairs:
            pair = Pair(trial.endpoint(rank_a), trial.endpoint(rank_b), number, len(pairs))
            for size, is_small in ((min(trial.sizes_bytes), True), (max(trial.sizes_bytes), False)):
                base_ns = 2 * _message_ns(size) if is_small else _window_ns(size)
                base_ns *= mock.slowness([trial.node_of(rank_a), trial.node_of(rank_b)])
                series = {
                    kind: np.array([mock.times_ns(launch, f"{rank_a}-{rank_b}-{kind}", base_ns)])
                    for phase in phases
                    for kind in phase.kinds
                    if phase.is_small is is_small
                }
                if series:
                    columns = pair_metrics(series, size, dict.fromkeys(series, WINDOW))
                    metrics = {name: float(column[0]) for name, column in columns.items()}
                    yield mock.sample(launch, size, metrics, pair=pair)


def _rounds(n_ranks: int) -> list[list[tuple[int, int]]]:
    """Every pair of ranks once, one pair a round."""
    return [[(a, b)] for a in range(n_ranks) for b in range(a + 1, n_ranks)]


def _sized(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    """A sample a size, of any benchmark but `pairs`."""
    trial = launch.trial
    of_fan = trial.benchmark.startswith("fan")
    base_ns = _BASE_NS[trial.benchmark]
    slowness = mock.slowness(trial.nodes)
    for size in trial.sizes_bytes:
        times = mock.times_ns(launch, str(size), base_ns(size, trial.n_ranks) * slowness)
        series = TimeSeries(
            trial.benchmark,
            size,
            trial.n_ranks,
            times,
            window=WINDOW,
            n_pairs=max(1, trial.n_ranks - 1 if of_fan else trial.n_ranks // 2),
            ranks_mean_ns=[sum(times) / len(times)],
            skew_p50_ns=120.0,
        )
        yield mock.sample(launch, size, metrics_of(series), times_ns=times)


def _message_ns(size: int) -> float:
    return LATENCY_NS + size * NS_PER_BYTE


def _window_ns(size: int) -> float:
    return LATENCY_NS + WINDOW * max(size * NS_PER_BYTE, 200.0)


_BASE_NS: dict[str, Callable[[int, int], float]] = {
    **dict.fromkeys(("latency", "random_ring_latency"), lambda size, _: 2 * _message_ns(size)),
    **dict.fromkeys(
        ("bandwidth", "bidirectional", "message_rate"), lambda size, _: _window_ns(size)
    ),
    **dict.fromkeys(
        ("random_ring_bandwidth", "natural_ring_bandwidth"), lambda size, _: 2 * _window_ns(size)
    ),
    **dict.fromkeys(("fan_in", "fan_out"), lambda size, n: max(1, n - 1) * _window_ns(size)),
    **dict.fromkeys(COLLECTIVES, lambda size, n: max(1, (n - 1).bit_length()) * _message_ns(size)),
}
"""Nanoseconds of an iteration by benchmark, of a message size and a number of ranks."""
