"""A check in three launches: the survey; suspects alone; suspects in rounds. The last two are
chosen from the samples of the survey."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.bench.model import Backend, Launch, Sample, Trial
from weft.check.external_evidence.resent_segments import hosts_to_measure_again
from weft.check.suspects.crowding.partner_test import Round
from weft.check.suspects.follow_up import FollowUpPlan, follow_up
from weft.check.suspects.survey import Survey, survey_of
from weft.check.thresholds import thresholds
from weft.check.trials import ALONE, SURVEY, TOGETHER
from weft.cluster.ssh_failure import SshFailure
from weft.core.clock import Clock
from weft.core.collection import collection_paused
from weft.core.errors import BenchmarkError
from weft.topology.fabric import Fabric
from weft.validity import validity

Rounds = Sequence[Sequence[tuple[int, int]]]

FOLLOW_UP = "follow-up"
"""The `rounds` option of a follow-up in the plan: its pairs are known once the survey is done."""


def check_launches(
    nodes: tuple[str, ...],
    *,
    tasks_per_node: int,
    sizes_bytes: tuple[int, ...],
    rounds: Rounds,
    options: Mapping[str, Any],
    timeout_s: float,
    arm: Mapping[str, str] | None = None,
) -> tuple[Launch, Launch, Launch]:
    """The plan of a check."""
    survey = Trial(
        id=SURVEY,
        benchmark="pairs",
        sizes_bytes=sizes_bytes,
        nodes=nodes,
        tasks_per_node=tasks_per_node,
        arm=arm or {},
        options={**options, "rounds": [[list(pair) for pair in pairs] for pairs in rounds]},
        timeout_s=timeout_s,
    )
    later = {**options, "rounds": FOLLOW_UP}
    alone = replace(survey, id=ALONE, options=later)
    together = replace(survey, id=TOGETHER, options=later)
    return (
        Launch(survey, repeat=1, order=0),
        Launch(alone, repeat=1, order=1),
        Launch(together, repeat=1, order=2),
    )


def routes_adaptively(launches: Sequence[Launch]) -> bool:
    """Whether a run's messages may have taken any shortest path, by its plan."""
    return any(
        launch.trial.arm.get("routing") == "adaptive"
        or launch.trial.options.get("adaptive_routing") == "on"
        for launch in launches
    )


class FollowUpBackend:
    """A backend that fills in the rounds of the follow-up from the survey's samples.

    `known` holds the samples of launches finished before this process began (a resumed check).
    `within_s` bounds all of it, from `prepare` on: a launch may take the remaining time, by
    `clock`, and does not begin once that is spent.
    """

    def __init__(
        self,
        inner: Backend,
        wiring: Fabric | None,
        known: Sequence[Sample] = (),
        *,
        adaptive: bool = False,
        most_rounds: int | None = None,
        seed: int = 1,
        within_s: float = math.inf,
        clock: Clock = time.monotonic,
    ) -> None:
        self._inner = inner
        self._wiring = wiring
        self._survey = [sample for sample in known if self.is_planned(sample.trial)]
        self._adaptive = adaptive
        self._most_rounds = most_rounds
        self._seed = seed
        self._within_s = within_s
        self._clock = clock
        self._until = math.inf
        self._plan: FollowUpPlan | None = None
        self.name = inner.name
        self.fabric_document = None if wiring is None else wiring.document
        self.faults = inner.faults

    @staticmethod
    def is_planned(trial: str) -> bool:
        """Whether a trial (its id) was planned before anything was measured."""
        return trial == SURVEY

    @property
    def lost_hosts(self) -> Mapping[str, SshFailure]:
        """The inner backend's."""
        return self._inner.lost_hosts

    def prepare(self, trials: Sequence[Trial], run_dir: Path) -> None:
        """Prepare the inner backend for the trials whose pairs are known."""
        self._until = self._clock() + self._within_s
        self._inner.prepare([t for t in trials if not is_follow_up(t)], run_dir)

    def ahead(self, launches: Sequence[Launch]) -> None:
        """Nothing: what a launch measures depends on those before."""

    def measure(self, launch: Launch) -> Iterator[Sample]:
        """The survey as planned; of the follow-up the rounds that test its suspects."""
        if not is_follow_up(launch.trial):
            for sample in self._inner.measure(self._in_time(launch)):
                self._survey.append(sample)
                yield sample
            return
        plan = self._planned()
        rounds = plan.alone if launch.trial.id == ALONE else plan.together
        if rounds:
            yield from self._inner.measure(self._in_time(_with_rounds(launch, rounds)))

    def recipe(self, launch: Launch) -> str:
        """The inner backend's recipe; words for a follow-up, whose pairs are not known yet."""
        if is_follow_up(launch.trial):
            return "the suspects of the first launch, measured again"
        return self._inner.recipe(launch)

    def facts(self) -> Mapping[str, Any]:
        """The inner backend's facts."""
        return self._inner.facts()

    def close(self) -> None:
        """Close the inner backend."""
        self._inner.close()

    def _in_time(self, launch: Launch) -> Launch:
        """The launch, with no more time than is left. Raises BenchmarkError where none is."""
        left_s = self._until - self._clock()
        if left_s <= 0:
            raise BenchmarkError(
                f"the {self._within_s:g} s of a quick check are over",
                where=f"before launch {launch.name}",
                expected="hosts that start and measure in less",
                hint="only --quick limits the time of a check",
            )
        limit_s = min(launch.trial.timeout_s, left_s)
        return replace(launch, trial=replace(launch.trial, timeout_s=limit_s))

    @collection_paused()
    def _planned(self) -> FollowUpPlan:
        if self._plan is None and validity.findings(self._survey).refusal is not None:
            self._plan = FollowUpPlan((), ())
        if self._plan is None:
            survey = survey_of(self._survey, self._wiring, thresholds(), adaptive=self._adaptive)
            hosts = hosts_to_measure_again(self._survey, survey)
            self._plan = self._follow_up(survey, hosts)
        return self._plan

    def _follow_up(self, survey: Survey, hosts: Sequence[str]) -> FollowUpPlan:
        """The rounds for the suspects of a survey, and for hosts that look faulty besides."""
        return follow_up(survey, self._seed, self._most_rounds, hosts)


def is_follow_up(trial: Trial) -> bool:
    """Whether a trial's rounds are chosen while the run goes on."""
    return bool(trial.options.get("rounds") == FOLLOW_UP)


def _with_rounds(launch: Launch, rounds: Sequence[Round]) -> Launch:
    trial = launch.trial
    numbered = [[[rank_of(a, trial), rank_of(b, trial)] for a, b in pairs] for pairs in rounds]
    options = {**trial.options, "rounds": numbered}
    return replace(launch, trial=replace(trial, options=options))


def rank_of(endpoint: str, trial: Trial) -> int:
    """The rank behind 'n007' or 'host:3'. Raises BenchmarkError where the trial has no such node.

    A host may call itself by a longer or shorter name than the one it was addressed by.
    """
    host, _, rank = endpoint.partition(":")
    if rank:
        return int(rank)
    assert trial.tasks_per_node == 1, f"{endpoint} has several ranks"
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
