"""A twin with the faults of a case, also those of one direction and of some moments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from benches.check_kinds import Planted, When

from weft.bench.model import Launch, Pair, Sample
from weft.bench.twin.backend import TwinBackend
from weft.topology.fabric_spec import Document

DIRECTED = ("bandwidth_ab_mb_s", "bandwidth_ba_mb_s")
"""Metrics of messages in one direction; the smaller one is `bandwidth_mb_s`."""

Flow = tuple[str, str]
Ports = Callable[[Flow], frozenset[str]]
"""The ports that send the messages of a flow on, from its first endpoint to the other."""


class WrongEntryTwin(TwinBackend):
    """A twin with wrong entries in its tables, (switch, adapter, port)."""

    entries: Sequence[tuple[str, str, int]] = ()

    def scenario(self, launch: Launch) -> Document:
        """The scenario with these entries."""
        document = super().scenario(launch)
        wrong = [{"switch": at, "dst": to, "port": port} for at, to, port in self.entries]
        return {**document, "faults": [*document["faults"], *wrong]}


@dataclass
class MixedTwin:
    """A backend whose every value is that of the twin with the faults that show in it.

    A fault in one direction of a cable shows in all bandwidths but those of messages that cross the
    cable the other way: also in those of messages that wait behind the slow ones. A fault at times
    shows in all readings of its moments, drawn by `seed`.
    """

    twin_of: Callable[[Sequence[Planted]], Any]
    planted: tuple[Planted, ...]
    ports: Ports
    opposite: Callable[[str], str]
    seed: str
    name: str = "twin"
    faults: tuple[Any, ...] = ()
    _moments: dict[tuple[str, str, int], bool] = field(default_factory=dict)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The samples of a launch."""
        partial = [one for one in self.planted if one.when is not When.ALWAYS]
        always = [one for one in self.planted if one.when is When.ALWAYS]
        runs: dict[frozenset[int], list[Sample]] = {}

        def run(showing: frozenset[int]) -> list[Sample]:
            if showing not in runs:
                planted = [*always, *(partial[i] for i in sorted(showing))]
                runs[showing] = list(self.twin_of(planted).measure(launch))
            return runs[showing]

        for i, sample in enumerate(run(frozenset())):
            metrics = {}
            for name in sample.metrics:
                shown = (k for k, one in enumerate(partial) if self._shows(one, sample, name))
                metrics[name] = run(frozenset(shown))[i].metrics[name]
            yield with_metrics(sample, metrics)

    def _shows(self, one: Planted, sample: Sample, metric: str) -> bool:
        pair = sample.pair
        assert pair is not None
        if one.when is When.AT_TIMES:
            return self._is_moment(one, sample.trial, pair)
        if metric not in DIRECTED:
            return False
        flow = (pair.a, pair.b) if metric == DIRECTED[0] else (pair.b, pair.a)
        return self.opposite(one.first) not in self.ports(flow)

    def _is_moment(self, one: Planted, trial: str, pair: Pair) -> bool:
        moment = (one.text, trial, pair.round)
        if moment not in self._moments:
            draws = Random("/".join(map(str, (self.seed, *moment))))  # noqa: S311
            self._moments[moment] = draws.random() < one.share
        return self._moments[moment]


def with_metrics(sample: Sample, metrics: dict[str, float]) -> Sample:
    """The sample with other values; the series of times are left out."""
    both = [metrics[name] for name in DIRECTED if name in metrics]
    if both:
        metrics["bandwidth_mb_s"] = min(both)
    return replace(sample, metrics=metrics, times_ns=None)
