"""The figures that each hop class should deliver by the closed forms of `weft expect`. Without them
a fabric that is slow everywhere looks healthy against itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.catalog.load import benchmark
from weft.catalog.machine.platform import Links, Platform
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.readings.norms import HopClass, Norm, hop_classes
from weft.check.readings.readings import Floats, Metric, is_rank
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds
from weft.core.units import format_significant
from weft.expect.model import Conditions, Expectation, largest
from weft.expect.taper import taper
from weft.judge.expectation.expected_value import predictor, with_room
from weft.judge.model import RowState
from weft.judge.rows import rests_on_assumption, state_of
from weft.judge.rules import Rules, rules

BENCHMARKS = {
    Metric.LATENCY: "latency",
    Metric.BANDWIDTH: "bandwidth",
    Metric.BIDIRECTIONAL: "bidirectional",
    Metric.BUSBW: "allreduce",
}


@dataclass(frozen=True, slots=True)
class ExpectedNorm:
    """A norm with its expectation. `state`: the norm against the interval; `sure`: it stays so with
    all the room that `weft judge` gives, by figures that are no guess. `small`: the class has too
    few readings for a norm, and `norm` is their median. It is in a state only if all of them are,
    for sure if that is more than chance."""

    norm: Norm
    conditions: Conditions
    found: Expectation
    state: RowState
    sure: bool
    small: bool = False

    @property
    def words(self) -> str:
        """'23570 MB/s (20420 to 24680)'."""
        low, value, high = (
            format_significant(v) for v in (self.found.low, self.found.value, self.found.high)
        )
        return f"{value} {self.norm.hop_class.metric.unit} ({low} to {high})"

    def at(self, value: float) -> "ExpectedNorm":
        """The same with this value as the norm."""
        return _expected(replace(self.norm, expected=value), self.conditions, self.found)


@dataclass(frozen=True, slots=True)
class Expectations:
    """Expectations by hop class; and why others have none."""

    machine: ExpectedPlatform
    of: Mapping[HopClass, ExpectedNorm]
    why_not: tuple[str, ...] = ()

    @property
    def platform(self) -> Platform:
        """The platform that the readings are compared with."""
        return self.machine.platform

    @property
    def small(self) -> tuple[ExpectedNorm, ...]:
        """Those of classes that are compared with the platform only."""
        return tuple(one for one in self.of.values() if one.small)

    def n_held(self, survey: Survey) -> int:
        """How many readings are compared with the platform only."""
        classes, place = hop_classes(survey.crossings)
        small = {one.norm.hop_class for one in self.small}
        numbers = [number for number, hop_class in enumerate(classes) if hop_class in small]
        return int((np.isin(place, numbers) & ~survey.judged).sum())

    def after(self, norm: Norm) -> str:
        """The expectation of a norm as a clause; "" where it has none."""
        one = self.of.get(norm.hop_class)
        return "" if one is None else f"; expected on {self.platform.name}: {one.words}"

    def line(self, norm: Norm) -> tuple[str, ...]:
        """A line with the expectation of a norm; none where it has none."""
        one = self.of.get(norm.hop_class)
        if one is None:
            return ()
        kind = norm.hop_class
        return (
            f"expected on {self.platform.name}: {kind.metric.word} {one.words} {kind.words},"
            f" limited by {one.found.bound}",
        )


def expectations_of(survey: Survey, machine: ExpectedPlatform) -> Expectations:
    """The expectation of each norm, and of classes too small for one. As many messages are sent
    before an answer as the catalogue's benchmark sends."""
    window = int(benchmark("pairs").options["window"])
    found: dict[HopClass, ExpectedNorm] = {}
    why_not: dict[str, None] = {}
    small = _small_classes(survey)
    for norm in (*survey.normed.norms, *small):
        hop_class = norm.hop_class
        conditions = _conditions(survey, hop_class, machine, window)
        expectation = predictor(_with_shared_links(machine, hop_class))(conditions)
        if isinstance(expectation, str):
            why_not[expectation] = None
            continue
        expectation = _compared_with_others(expectation, survey, hop_class, machine.platform)
        one = _expected(norm, conditions, expectation)
        if norm in small:
            one = _of_small_class(one, small[norm], survey.limits)
        found[hop_class] = one
    return Expectations(machine, found, tuple(why_not))


def _small_classes(survey: Survey) -> dict[Norm, Floats]:
    """Classes without a norm, each with its median in place of one, and their readings. Where
    others have norms, only those of more readings than chance may slow together."""
    classes, place = hop_classes(survey.crossings)
    unjudged = ~survey.judged
    limits = survey.limits
    found: dict[Norm, Floats] = {}
    for number, hop_class in enumerate(classes):
        values = survey.readings.value[unjudged & survey.in_rounds & (place == number)]
        few = values.size == 0 or (
            survey.normed.norms and limits.disturbed_share**values.size > limits.chance_of_a_pair
        )
        if not few:
            median = float(np.median(values))
            found[Norm(hop_class, values.size, values.size, median, 0.0)] = values
    return found


def _of_small_class(one: ExpectedNorm, values: Floats, limits: CheckThresholds) -> ExpectedNorm:
    each = [one.at(float(value)) for value in values]
    alike = len({of.state for of in each}) == 1
    chance = limits.disturbed_share**values.size
    sure = alike and all(of.sure for of in each) and chance <= limits.chance_of_a_pair
    return replace(one, state=one.state if alike else RowState.NORMAL, sure=sure, small=True)


def _expected(norm: Norm, conditions: Conditions, found: Expectation) -> ExpectedNorm:
    limits = rules()
    state = state_of(norm.expected, found, limits)
    roomy = found if _is_settled(found, conditions, limits) else with_room(found, limits)
    again = state_of(norm.expected, roomy, limits)
    return ExpectedNorm(
        norm, conditions, found, state, again is state and not rests_on_assumption(found)
    )


def _is_settled(found: Expectation, conditions: Conditions, limits: Rules) -> bool:
    """Whether one stage decides a stream. The last message of a window, whose latency ends it,
    passes that stage as well."""
    if found.lower_is_better or conditions.window < 2 or not found.terms:
        return False
    binding = largest(found.terms).time_ns * conditions.window / (conditions.window - 1)
    return binding >= limits.settled_share * sum(term.time_ns for term in found.terms)


def _conditions(survey: Survey, of: HopClass, machine: ExpectedPlatform, window: int) -> Conditions:
    endpoints, platform = survey.readings.endpoints, machine.platform
    ranks = any(is_rank(name) for name in endpoints)
    if of.metric is Metric.BUSBW:
        return nccl_conditions(machine, of.size_bytes, n_nodes=2, is_of_rails=ranks)
    n_hosts = len(survey.crossings.hosts)
    known = of.n_links >= 0
    return Conditions(
        benchmark=BENCHMARKS[of.metric],
        size_bytes=of.size_bytes,
        n_nodes=1 if of.same_host else 2 if known else n_hosts,
        # A rank of several has one HCA to itself; a rank alone may be given them all.
        n_hcas=1 if ranks and not of.same_host and platform.hcas_per_node > 1 else None,
        window=window,
        n_switches=(of.n_links + of.most_links + 1) // 2 - 1 if known and of.n_links > 1 else None,
    )


def nccl_conditions(
    machine: ExpectedPlatform, size_bytes: int, *, n_nodes: int, is_of_rails: bool = False
) -> Conditions:
    """An allreduce of NCCL over all GPUs of so many nodes; of rails over one GPU and one HCA of
    each."""
    gpus = machine.platform.gpus
    n_gpus = machine.gpus_per_node or (1 if gpus is None else gpus.per_node.whole)
    return Conditions(
        benchmark=BENCHMARKS[Metric.BUSBW],
        size_bytes=size_bytes,
        n_nodes=n_nodes,
        tasks_per_node=1 if is_of_rails else n_gpus,
        memory="gpu",
        library="nccl",
        n_hcas=1 if is_of_rails else None,
    )


def _with_shared_links(machine: ExpectedPlatform, of: HopClass) -> Platform:
    """The platform with hosts' links as fast as the share of the slowest link of their path that
    messages of a class get."""
    platform = machine.platform
    links = platform.links
    if links is None or of.same_host or of.metric is Metric.LATENCY:
        return platform
    host = links.host.rate.value
    slowest = min(host, links.switch.rate.value) if of.n_links > 2 else host
    if machine.has_own_rates and of.bits_per_s > 0:
        slowest = of.bits_per_s / 1e9
    share = slowest / host / max(1.0, of.load / 100)
    if share == 1:
        return platform
    rate = links.host.rate.model_copy(update={"value": host * share})
    slower = links.host.model_copy(update={"rate": rate, "most": None})
    return platform.model_copy(update={"links": Links(host=slower, switch=links.switch)})


def _compared_with_others(
    found: Expectation, survey: Survey, of: HopClass, platform: Platform
) -> Expectation:
    """Pairs at once may get less where shared links are unknown. Where they are known, the share is
    known to a step of the class's load."""
    crossings = survey.crossings
    if found.lower_is_better or of.same_host:
        return found
    less = 1.0 if of.load <= 100 else 2 ** (-0.5 / crossings.limits.load_steps)
    if crossings.network is None:
        less = rules().pairs_share / taper(platform, len(crossings.hosts))
    elif crossings.adaptive:
        less *= rules().pairs_share
    return replace(found, low=found.low * less)


def slow_first(expected: Sequence[ExpectedNorm]) -> list[ExpectedNorm]:
    """The farthest from its expectation first."""

    def off(one: ExpectedNorm) -> float:
        return abs(float(np.log(one.norm.expected / one.found.value)))

    return sorted(expected, key=off, reverse=True)
