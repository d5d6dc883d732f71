"""From samples of the benchmark `pairs` to readings: one value for one direction of one pair."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from weft.bench.model import Sample, State
from weft.diagnose.crossing import Flow


class Metric(StrEnum):
    """What a reading measures. A latency is a round trip halved: it has no direction."""

    LATENCY = "latency_us"
    BANDWIDTH = "bandwidth_mb_s"

    @property
    def unit(self) -> str:
        """As printed."""
        return "us" if self is Metric.LATENCY else "MB/s"

    @property
    def word(self) -> str:
        """As said in a sentence."""
        return "latency" if self is Metric.LATENCY else "bandwidth"


_DIRECTED = (("bandwidth_ab_mb_s", False), ("bandwidth_ba_mb_s", True))


@dataclass(frozen=True, slots=True)
class Reading:
    """One value: latency in microseconds of the pair, or bandwidth in MB/s from a to b.

    Readings of equal metric, `round` and `backwards` were taken at the same time.
    """

    metric: Metric
    a: str
    b: str
    value: float
    size_bytes: int
    round: int = 0
    n_concurrent: int = 1
    backwards: bool = False

    @property
    def key(self) -> tuple[Metric, str, str]:
        """What identifies the reading in phase one and in the retest."""
        return (self.metric, self.a, self.b)

    @property
    def pair(self) -> tuple[str, str]:
        """The two endpoints, sorted."""
        return (self.a, self.b) if self.a < self.b else (self.b, self.a)

    @property
    def flow(self) -> Flow:
        """What the reading went through."""
        return Flow(self.a, self.b, both_ways=self.metric is Metric.LATENCY)


def readings_of(samples: Iterable[Sample]) -> tuple[Reading, ...]:
    """Readings of the samples that support a verdict, repeats reduced to their median."""
    gathered: dict[tuple[Metric, str, str], list[Reading]] = {}
    for sample in samples:
        if sample.pair is None or sample.state is not State.OK:
            continue
        for reading in _readings_of_one(sample):
            gathered.setdefault(reading.key, []).append(reading)
    return tuple(_middle(repeats) for repeats in gathered.values())


def endpoints(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Every endpoint that any sample names, in order of first appearance."""
    names: dict[str, None] = {}
    for sample in samples:
        if sample.pair is not None:
            names[sample.pair.a] = None
            names[sample.pair.b] = None
    return tuple(names)


def _readings_of_one(sample: Sample) -> Iterable[Reading]:
    pair = sample.pair
    assert pair is not None
    latency = sample.metrics.get(Metric.LATENCY.value)
    if latency is not None:
        a, b = sorted((pair.a, pair.b))
        yield Reading(
            Metric.LATENCY, a, b, latency, sample.size_bytes, pair.round, pair.n_concurrent
        )
    directed = any(name in sample.metrics for name, _ in _DIRECTED)
    # Tools whose files are imported give a pair one figure.
    for name, backwards in _DIRECTED if directed else (("bandwidth_mb_s", False),):
        value = sample.metrics.get(name)
        if value is not None:
            a, b = (pair.b, pair.a) if backwards else (pair.a, pair.b)
            at = (sample.size_bytes, pair.round, pair.n_concurrent)
            yield Reading(Metric.BANDWIDTH, a, b, value, *at, backwards)


def _middle(repeats: list[Reading]) -> Reading:
    """The lower median: a value that was measured, not one between two."""
    return sorted(repeats, key=lambda reading: reading.value)[(len(repeats) - 1) // 2]
