"""The plan of a check: its rounds, their cost and their coverage, before any measurement."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate, islice, takewhile
from typing import Any

import numpy as np

from weft.check.readings.readings import Ints
from weft.check.schedule.cost import Cost, figures
from weft.check.schedule.coverage_plan import PlannedCoverage, planned_coverage
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.rounds.matchings import Round
from weft.check.schedule.schedule import (
    Field,
    Schedule,
    TooManyPairsError,
    n_overloaded,
    schedule_of,
)
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.check.thresholds import thresholds
from weft.core.units import format_duration
from weft.core.words import counted

_COVER_TIMES = (3, 2, 1)


@dataclass(frozen=True)
class CheckPlan:
    """A schedule on its field, at a cost. `budget_s` limits the whole check, None where
    none was given. `asked` rounds were wanted, of which `schedule` holds those that fit."""

    field: Field
    schedule: Schedule
    cost: Cost
    budget_s: float | None = None
    asked: int = 0

    @cached_property
    def seconds(self) -> float:
        """Seconds of the rounds on the fabric; of pairs slower than `cost.least_rate_mb_s` more."""
        return self.cost.seconds(self.schedule.rounds)

    @cached_property
    def coverage(self) -> PlannedCoverage:
        """The coverage of the rounds."""
        field = self.field
        return planned_coverage(self.schedule.rounds, field.ranks, field.paths, field.reach)

    @property
    def options(self) -> dict[str, Any]:
        """The options that the plan adds to a trial."""
        effort = self.cost.effort
        options: dict[str, Any] = {"rounds": self.schedule.option}
        if effort.small == effort.large:
            options |= {"iterations": effort.small[0], "warmup": effort.small[1]}
        if effort.max_seconds is not None:
            options["max_seconds_per_size"] = effort.max_seconds
        return options

    @property
    def most_follow_up_rounds(self) -> int | None:
        """Rounds that the remaining budget bears, each of two follow-ups; None without one."""
        if self.budget_s is None:
            return None
        longest = self.seconds / len(self.schedule)
        return max(1, int((self.budget_s - self.seconds) / longest / 2))

    @property
    def time_text(self) -> str:
        """'about 1.2 s'."""
        return f"about {format_duration(self.seconds)}"

    @property
    def caveats(self) -> tuple[str, ...]:
        """The limits of the rounds: where switches choose among the paths of a leaf, a slow one
        among them shows where all are full."""
        paths = self.field.paths
        if paths is None or not paths.adaptive:
            return ()
        leaves = self._leaves_meant(paths)
        unfilled = self.coverage.unfilled(leaves)
        if not unfilled.size:
            return ()
        why = "--schedule cover or full fills them"
        if 2 * paths.leaves.size < thresholds().crowded_peers:
            why = "a comparison needs more leaves"
        elif self.asked > len(self.schedule):
            why = "a larger --budget has room for more rounds"
        elif self.schedule.fills_leaves:
            why = "their nodes have too few partners"
        return (
            f"the cables of {unfilled.size:,} of {leaves.size:,} leaves are not filled: a slow or"
            f" missing cable among them may not show ({why})",
        )

    @property
    def text(self) -> str:
        """A few lines: which pairs, what they cover, how long it takes."""
        lines = [f"plan     {self.schedule.words}: {self.coverage.pairs_text}"]
        if self.asked > len(self.schedule):
            lines[0] += f", the first of {self.asked:,} that fit the budget"
        lines.append(f"         {self.coverage.cables_text}")
        lines += [f"         {caveat}" for caveat in self.caveats]
        overloaded = n_overloaded(self.schedule, self.field)
        if overloaded:
            share = counted(overloaded, "round")
            lines.append(f"         {share} of the file load a cable beyond its rate")
        lines.append(f"time     {self.time_text} of fabric time{self._remaining_text}")
        slow = self.cost.least_rate_mb_s
        if slow is not None:
            lines.append(f"         pairs below {slow:.0f} MB/s take longer")
        return "\n".join(lines)

    def to_record(self) -> dict[str, Any]:
        """The plan as plain JSON values."""
        return {
            "schedule": self.schedule.words,
            "seconds": round(self.seconds, 3),
            "seconds_are_a_bound": self.cost.is_bound,
            "budget_seconds": self.budget_s,
            "rounds_asked": max(self.asked, len(self.schedule)),
            "rounds_overloaded": n_overloaded(self.schedule, self.field),
            **self.coverage.to_record(),
            "caveats": list(self.caveats),
        }

    def _leaves_meant(self, paths: FlowPaths) -> Ints:
        """The leaf switches (vertices); of a group with nodes those that these are under."""
        field = self.field
        works = field.ranks.has_rail
        if field.only is not None and field.only.inside.any():
            works = works & field.only.inside
        return paths.leaves[np.unique(paths.leaf_of(field.ranks.hca[works]))]

    @property
    def _remaining_text(self) -> str:
        if self.budget_s is None:
            return ", then the suspects again"
        left = format_duration(max(0.0, self.budget_s - self.seconds))
        return f"; {left} of {format_duration(self.budget_s)} left to measure suspects again"


def plan_check(
    field: Field, cost: Cost, scheme: Scheme | None = None, budget_s: float | None = None
) -> CheckPlan:
    """The plan of a scheme, or the best that fits the budget (a minute by default).

    Of a named scheme with a budget, the first rounds that fit. Raises InputError.
    """
    if scheme is not None:
        schedule = schedule_of(scheme, field)
        plan = CheckPlan(field, schedule, cost, budget_s)
        return plan if budget_s is None else _fitting(plan, survey_share(budget_s))
    limit_s = survey_share(budget_s if budget_s is not None else figures().survey_s)
    for plan in _offers(field, cost, limit_s):
        if plan.seconds <= limit_s:
            return replace(plan, budget_s=budget_s)
    return _fitting(replace(plan, budget_s=budget_s), limit_s)


def survey_share(budget_s: float) -> float:
    """The part of a budget (s) for the survey; the remaining part is for its suspects."""
    return budget_s * (1 - figures().follow_up_share)


def _offers(field: Field, cost: Cost, limit_s: float) -> Iterator[CheckPlan]:
    """Plans, the best first; the last is the cheapest."""
    ranks = field.ranks
    n = len(ranks.units)
    light = replace(cost, effort=cost.effort.lighter())
    if n * (n - 1) // 2 * ranks.n_rails <= cost.most_pairs or field.only is not None:
        full = _full(field, cost)
        # All pairs may fill no cable that is faster than a host.
        if full is not None and (field.paths is None or full.coverage.covers_all):
            yield full
            yield replace(full, cost=cost.within(full.schedule.rounds, limit_s))
    if field.paths is None:
        for some in (cost, light):
            yield _random(field, some, limit_s)
        return
    for times in _COVER_TIMES:
        if times > _COVER_TIMES[-1] and _least_pairs(field, times) > cost.most_pairs:
            continue
        cover = schedule_of(Scheme(SchemeKind.COVER, times), field)
        for some in (cost, light):
            plan = CheckPlan(field, cover, some)
            if plan.seconds <= limit_s:
                plan = _with_reflections(plan, limit_s)
            yield plan


def _least_pairs(field: Field, times: int) -> float:
    """Fewer pairs do not fill every cable so many times: each fills the ports of its two paths.
    Under adaptive routing, where a pair fills none by itself, nothing is known: 0."""
    assert field.reach is not None
    assert field.paths is not None
    if field.paths.adaptive:
        return 0.0
    n_ports = int(field.reach.ports.sum())
    return times * n_ports / (2 * int(field.paths.inner.shape[2]))


def _full(field: Field, cost: Cost) -> CheckPlan | None:
    """All pairs (of the group); None where they are more than a check takes."""
    try:
        return CheckPlan(field, schedule_of(Scheme(SchemeKind.FULL), field), cost)
    except TooManyPairsError:
        return None


def _with_reflections(plan: CheckPlan, limit_s: float) -> CheckPlan:
    """The plan and as many reflections after it as fit."""
    n_left = plan.cost.most_pairs - plan.schedule.n_pairs
    if n_left <= 0:
        return plan
    more = _enough_reflections(plan.field, n_left)
    n_pairs = plan.schedule.n_pairs + np.cumsum([len(pairs) for pairs in more.rounds])
    n_few = int((n_pairs <= plan.cost.most_pairs).sum())
    n = _n_that_fit(plan.cost, more.rounds[:n_few], limit_s, plan.seconds)
    if not n:
        return plan
    words = f"{plan.schedule.words}, then {counted(n, 'round')} of reflections"
    rounds = (*plan.schedule.rounds, *more.rounds[:n])
    return replace(plan, schedule=replace(plan.schedule, words=words, rounds=rounds))


def _enough_reflections(field: Field, n_pairs: int) -> Schedule:
    """Reflections of more than so many pairs, or all: of many nodes a few rounds are enough."""
    n_units = len(field.ranks.units)
    # A few rounds may hold no pair of a group.
    n_rounds = 1 if field.only is None else n_units
    while True:
        more = schedule_of(Scheme(SchemeKind.REFLECTIONS, min(n_rounds, n_units)), field)
        if n_rounds >= n_units or more.n_pairs > n_pairs:
            return more
        n_rounds *= 2


def _random(field: Field, cost: Cost, limit_s: float) -> CheckPlan:
    """As many random matchings as fit, at least two: of an odd number one is idle in each."""
    two = schedule_of(Scheme(SchemeKind.RANDOM, 2), field)
    most = int(cost.most_pairs * 2 / two.n_pairs)
    times = max(2, min(int(limit_s * 2 / cost.seconds(two.rounds)), most))
    return CheckPlan(field, schedule_of(Scheme(SchemeKind.RANDOM, times), field), cost)


def _fitting(plan: CheckPlan, limit_s: float) -> CheckPlan:
    """The plan, cut to the rounds that fit; one at least."""
    n = max(1, _n_that_fit(plan.cost, plan.schedule.rounds, limit_s))
    asked = len(plan.schedule)
    kept = replace(plan.schedule, rounds=plan.schedule.rounds[:n])
    return replace(plan, schedule=kept, asked=asked)


def _n_that_fit(cost: Cost, rounds: Sequence[Round], limit_s: float, spent_s: float = 0.0) -> int:
    """How many rounds, one after the other, end within the limit after so many seconds."""
    ends = accumulate((cost.seconds([pairs]) for pairs in rounds), initial=spent_s)
    return sum(1 for _ in takewhile(lambda end_s: end_s <= limit_s, islice(ends, 1, None)))
