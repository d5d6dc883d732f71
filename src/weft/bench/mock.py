"""A backend that computes what it measures: the whole product runs in tests at zero time.

Its figures describe no machine. They are a function of (seed, trial, repeat, size) alone, so two
runs of one plan are equal and a test can plant a known effect and look for it.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from weft.bench import metrics as measured
from weft.bench.live.failure import HangError
from weft.bench.model import Launch, Pair, Sample, Trial
from weft.bench.phase import phases_of
from weft.bench.twin.fault import Fault
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

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:  # noqa: ARG002
        """Nothing to get ready; refuses a benchmark it has no figures for."""
        for trial in trials:
            _samples_of(trial)
            if trial.benchmark == "pairs":
                phases_of(trial.options)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of one launch. Raises BenchmarkError where the script says so."""
        names = {launch.name, launch.trial.id, launch.trial.benchmark}
        if names & self._hanging:
            raise _hung(launch)
        if names & self._failing:
            raise BenchmarkError(
                "rank 1 exited with code 134",
                where=f"{launch.name} on {launch.trial.nodes[-1]}",
                expected="every rank to exit with 0",
            )
        for sample in _samples_of(launch.trial)(self, launch):
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
        rng = Random(f"{self._seed}/{trial.id}/{launch.repeat}/{name}")  # noqa: S311
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


def _samples_of(trial: Trial) -> "_Samples":
    known = _SAMPLES_OF.get(trial.benchmark)
    if known is None:
        raise unknown_name(
            f"no benchmark '{trial.benchmark}'", trial.benchmark, _SAMPLES_OF, where=trial.id
        )
    return known


def _hung(launch: Launch) -> HangError:
    return HangError(
        f"no result within {launch.trial.timeout_s:g} s",
        where=f"{launch.name} on {launch.trial.nodes[-1]}",
        expected="an end record",
    )


def _message_ns(size: int) -> float:
    return LATENCY_NS + size * NS_PER_BYTE


def _by_size(
    mock: MockBackend, launch: Launch, base_ns: Callable[[int], float]
) -> Iterator[tuple[int, list[int]]]:
    slowness = mock.slowness(launch.trial.nodes)
    for size in launch.trial.sizes_bytes:
        yield size, mock.times_ns(launch, str(size), base_ns(size) * slowness)


def _latency(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    for size, times in _by_size(mock, launch, lambda size: 2 * _message_ns(size)):
        yield mock.sample(launch, size, measured.latency_metrics(times), times_ns=times)


def _window_ns(size: int) -> float:
    return LATENCY_NS + WINDOW * max(size * NS_PER_BYTE, 200.0)


def _bandwidth(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    directions = 2 if launch.trial.benchmark == "bidirectional" else 1
    for size, times in _by_size(mock, launch, _window_ns):
        metrics = measured.bandwidth_metrics(times, size, WINDOW, directions)
        yield mock.sample(launch, size, metrics, times_ns=times)


def _message_rate(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    n_pairs = max(1, launch.trial.n_ranks // 2)
    for size, times in _by_size(mock, launch, _window_ns):
        metrics = measured.message_rate_metrics(times, size, WINDOW, n_pairs)
        yield mock.sample(launch, size, metrics, times_ns=times)


def _collective(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    trial = launch.trial
    steps = max(1, (trial.n_ranks - 1).bit_length())
    for size, times in _by_size(mock, launch, lambda size: steps * _message_ns(size)):
        metrics = measured.collective_metrics(
            times,
            size,
            trial.n_ranks,
            trial.benchmark,
            ranks_mean_ns=[sum(times) / len(times)],
            skew_p50_ns=120.0,
        )
        yield mock.sample(launch, size, metrics, times_ns=times)


def _fan(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    n_others = max(1, launch.trial.n_ranks - 1)
    for size, times in _by_size(mock, launch, lambda size: n_others * _window_ns(size)):
        metrics = measured.fan_metrics(times, size, WINDOW, n_others)
        yield mock.sample(launch, size, metrics, times_ns=times)


def _ring_latency(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    for size, times in _by_size(mock, launch, lambda size: 2 * _message_ns(size)):
        metrics = measured.ring_latency_metrics(times, ranks_mean_ns=[sum(times) / len(times)])
        yield mock.sample(launch, size, metrics, times_ns=times)


def _ring_bandwidth(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    for size, times in _by_size(mock, launch, lambda size: 2 * _window_ns(size)):
        means = [sum(times) / len(times)]
        metrics = measured.ring_bandwidth_metrics(times, size, WINDOW, ranks_mean_ns=means)
        yield mock.sample(launch, size, metrics, times_ns=times)


def _pairs(mock: MockBackend, launch: Launch) -> Iterator[Sample]:
    trial = launch.trial
    phases = phases_of(trial.options)
    for number, pairs in enumerate(trial.options.get("rounds") or _rounds(trial.n_ranks)):
        for rank_a, rank_b in pairs:
            pair = Pair(_endpoint(trial, rank_a), _endpoint(trial, rank_b), number, len(pairs))
            for size, is_small in ((min(trial.sizes_bytes), True), (max(trial.sizes_bytes), False)):
                base_ns = 2 * _message_ns(size) if is_small else _window_ns(size)
                base_ns *= mock.slowness([_node(trial, rank_a), _node(trial, rank_b)])
                series = {
                    kind: mock.times_ns(launch, f"{rank_a}-{rank_b}-{kind}", base_ns)
                    for phase in phases
                    for kind in phase.kinds
                    if phase.is_small is is_small
                }
                if series:
                    metrics = measured.one_pair_metrics(series, size, WINDOW)
                    yield mock.sample(launch, size, metrics, pair=pair)


def _node(trial: Trial, rank: int) -> str:
    return trial.nodes[rank // trial.tasks_per_node]


def _endpoint(trial: Trial, rank: int) -> str:
    node = _node(trial, rank)
    return node if trial.tasks_per_node == 1 else f"{node}:{rank}"


def _rounds(n_ranks: int) -> list[list[tuple[int, int]]]:
    """Every pair of ranks once, one pair a round."""
    return [[(a, b)] for a in range(n_ranks) for b in range(a + 1, n_ranks)]


_Samples = Callable[[MockBackend, Launch], Iterator[Sample]]
_SAMPLES_OF: dict[str, _Samples] = {
    "latency": _latency,
    "bandwidth": _bandwidth,
    "bidirectional": _bandwidth,
    "message_rate": _message_rate,
    "fan_in": _fan,
    "fan_out": _fan,
    "random_ring_latency": _ring_latency,
    "random_ring_bandwidth": _ring_bandwidth,
    "natural_ring_bandwidth": _ring_bandwidth,
    **dict.fromkeys(measured.COLLECTIVES, _collective),
    "pairs": _pairs,
}
