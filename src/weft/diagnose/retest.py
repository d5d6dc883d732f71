"""A check in two launches: all pairs, then the suspects alone, chosen while the run goes on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.bench.model import Backend, Launch, Sample, Trial
from weft.core.errors import BenchmarkError
from weft.diagnose.crossing import Crossings, Flow, Wiring
from weft.diagnose.schedule import Rounds, alone_rounds, rail_rounds, without_collisions
from weft.diagnose.thresholds import thresholds
from weft.diagnose.verdict import pairs_to_retest

SURVEY = "t001-all-pairs"
RETEST = "t002-suspects-alone"
SUSPECTS_ALONE = "suspects-alone"
"""The `rounds` option of the retest in the plan: its pairs are known once the survey is done."""


def check_launches(
    nodes: tuple[str, ...],
    *,
    tasks_per_node: int,
    sizes_bytes: tuple[int, int],
    rounds: Rounds,
    options: Mapping[str, Any],
    timeout_s: float,
) -> tuple[Launch, Launch]:
    """The plan of a check."""
    trial = Trial(
        id=SURVEY,
        benchmark="pairs",
        sizes_bytes=sizes_bytes,
        nodes=nodes,
        tasks_per_node=tasks_per_node,
        options={**options, "rounds": [[list(pair) for pair in pairs] for pairs in rounds]},
        timeout_s=timeout_s,
    )
    retest = replace(trial, id=RETEST, options={**options, "rounds": SUSPECTS_ALONE})
    return (Launch(trial, repeat=1, order=0), Launch(retest, repeat=1, order=1))


def rounds_without_collisions(
    nodes: tuple[str, ...], n_rails: int, fabric: Wiring | None
) -> Rounds:
    """All pairs of nodes, each rail with its own kind, split by the fabric's paths if known."""
    rounds = rail_rounds(len(nodes), n_rails)
    if fabric is None:
        return rounds
    names = [
        node if n_rails == 1 else f"{node}:{i * n_rails + rail}"
        for i, node in enumerate(nodes)
        for rail in range(n_rails)
    ]
    directed = [pair for pairs in rounds for a, b in pairs for pair in ((a, b), (b, a))]
    flows = [Flow(names[a], names[b], both_ways=False) for a, b in directed]
    crossings = Crossings(flows, fabric)
    return without_collisions(
        rounds, {(a, b): crossings.path(names[a], names[b]) for a, b in directed}
    )


class RetestBackend:
    """A backend that fills in the pairs of the retest from the survey's samples.

    `survey` holds the samples of a survey finished before this process began (a resumed check).
    """

    def __init__(
        self, inner: Backend, fabric: Wiring | None, survey: Sequence[Sample] = ()
    ) -> None:
        self._inner = inner
        self._fabric = fabric
        self._survey = list(survey)
        self.name = inner.name
        self.fabric_document = None if fabric is None else fabric.document

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Prepare the inner backend for the trials whose pairs are known."""
        self._inner.prepare([t for t in trials if not _is_retest(t)], run_dir)

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The survey as it is; of the retest only what the survey made suspicious."""
        if not _is_retest(launch.trial):
            for sample in self._inner.measure(launch):
                self._survey.append(sample)
                yield sample
            return
        pairs = pairs_to_retest(self._survey, self._fabric)
        if pairs:
            yield from self._inner.measure(_with_pairs(launch, pairs))

    def recipe(self, launch: Launch) -> str:
        """The inner backend's recipe; words for a retest nobody can know yet."""
        if _is_retest(launch.trial):
            return "the pairs that the first launch finds slow, one at a time"
        return self._inner.recipe(launch)

    def facts(self) -> Mapping[str, Any]:
        """The inner backend's facts."""
        return self._inner.facts()

    def close(self) -> None:
        """Close the inner backend."""
        self._inner.close()


def _is_retest(trial: Trial) -> bool:
    return bool(trial.options.get("rounds") == SUSPECTS_ALONE)


def _with_pairs(launch: Launch, pairs: Sequence[tuple[str, str]]) -> Launch:
    ranks = [(rank_of(a, launch.trial), rank_of(b, launch.trial)) for a, b in pairs]
    rounds = [
        [list(pair) for pair in pairs] for pairs in alone_rounds(ranks, thresholds().retest_times)
    ]
    options = {**launch.trial.options, "rounds": rounds}
    return replace(launch, trial=replace(launch.trial, options=options))


def rank_of(endpoint: str, trial: Trial) -> int:
    """The rank behind 'n007' or 'host:3'. Raises BenchmarkError where the trial has no such node.

    A host may call itself by a longer or shorter name than the one it was addressed by.
    """
    host, _, rank = endpoint.partition(":")
    if rank:
        return int(rank)
    short = [node.partition(".")[0] for node in trial.nodes]
    for names, name in ((list(trial.nodes), host), (short, host.partition(".")[0])):
        if names.count(name) == 1:
            return names.index(name)
    raise BenchmarkError(
        f"a sample names the node '{endpoint}', which is not one of this run",
        where=f"trial {trial.id}",
        expected=f"one of {', '.join(trial.nodes[:8])}",
        hint="name each host as it names itself (`hostname`)",
    )
