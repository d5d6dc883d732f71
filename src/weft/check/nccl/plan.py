"""The plan of a check by nccl-tests: as many rounds as fit, because each is a launch."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.bench.nccl.backend import GIVEN_UP_AFTER
from weft.check.nccl.thresholds import nccl_thresholds
from weft.check.schedule.cost import Cost, figures
from weft.check.schedule.plan import CheckPlan
from weft.check.schedule.rounds.matchings import Round
from weft.check.schedule.schedule import Field, schedule_of
from weft.check.schedule.scheme import Scheme, SchemeKind
from weft.core.units import format_duration
from weft.core.words import counted, times

FOLLOW_UP_KINDS = 2
"""Suspects alone, and suspects in rounds."""


@dataclass(frozen=True)
class LaunchCost(Cost):
    """Each round is one launch a pair, all at the same time."""

    launch_s: float = 0.0

    @property
    def is_bound(self) -> bool:
        """No rate is known: starting takes longer than sending."""
        return True

    @property
    def least_rate_mb_s(self) -> float | None:
        """A slow pair takes longer, up to the time limit of a launch."""
        return None

    def seconds(self, rounds: Sequence[Round]) -> float:
        """Of starting and measuring each round."""
        return self.launch_s * len(rounds)


@dataclass(frozen=True)
class NcclCheckPlan(CheckPlan):
    """A schedule of pairs of nodes, and the launches around it. `n_groups` are measured together
    once, `n_adapters` of slow nodes one by one, each node alone `n_alone` times. A launch of a pair
    takes `n_gpus` of each node; 0: not known. `in_pods`: launches are pods, whose start no figure
    here holds."""

    n_groups: int = 0
    n_adapters: int = 0
    limit_s: float = 0.0
    n_alone: int = 0
    n_gpus: int = 0
    in_pods: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The options that the plan adds to a trial."""
        return {"rounds": self.schedule.option}

    @property
    def most_follow_up_rounds(self) -> int | None:
        """Rounds of each kind of follow-up that the remaining budget bears."""
        budget_s = self.budget_s or figures().nccl_budget_s
        left_s = budget_s - self.seconds - self._reserve_s
        return max(2, int(left_s / self._launch_s / FOLLOW_UP_KINDS))

    @property
    def seconds(self) -> float:
        """Of the launches that are planned before anything is measured."""
        return self._launch_s * (self.n_alone + len(self.schedule) + bool(self.n_groups))

    @property
    def most_seconds(self) -> float:
        """With follow-ups, and with a slow node or one that hangs."""
        again = FOLLOW_UP_KINDS * (self.most_follow_up_rounds or 0)
        return self.seconds + self._reserve_s + self._launch_s * again

    @property
    def time_text(self) -> str:
        """'at most about 9 min 40 s'."""
        return f"at most about {format_duration(self.most_seconds)}"

    @property
    def text(self) -> str:
        """A few lines: which launches, what they cover, how long they take."""
        n = len(self.field.ranks.units)
        each = f"{counted(n, 'node')} alone {times(self.n_alone)}, then " if self.n_alone else ""
        groups = f", {counted(self.n_groups, 'group')} under one switch" if self.n_groups else ""
        gpus = f" on {counted(self.n_gpus, 'GPU')} of each node" if self.n_gpus else ""
        return "\n".join(
            (
                f"plan     {each}{self.schedule.words}: {self.coverage.pairs_text}{groups}",
                f"         one launch of nccl-tests a pair{gpus},"
                " those of a round at the same time",
                f"time     {self.time_text}, suspects again included: a round takes about"
                f" {self._launch_s:g} s; a launch that hangs is ended after {self.limit_s:g} s",
                *(("         and the start of its pods, up to a minute a round",) * self.in_pods),
            )
        )

    @property
    def _launch_s(self) -> float:
        return figures().nccl_launch_s

    @property
    def _reserve_s(self) -> float:
        """Seconds for the adapters of a slow node, or for a node that hangs, whichever is more.
        Each retest may take a launch's whole time limit, and so may two launches of the survey."""
        retests_s = nccl_thresholds().retests * self.limit_s
        hangs = retests_s + GIVEN_UP_AFTER * max(0.0, self.limit_s - self._launch_s)
        return max(self.n_adapters * self._launch_s, hangs)


def plan_nccl(
    field: Field,
    cost: Cost,
    scheme: Scheme | None = None,
    budget_s: float | None = None,
    *,
    n_groups: int = 0,
    n_adapters: int = 0,
    limit_s: float | None = None,
    alone: bool = True,
    n_gpus: int = 0,
    in_pods: bool = False,
) -> NcclCheckPlan:
    """The plan of a scheme, or all pairs where they fit the budget (ten minutes), else as many
    random rounds as fit. Raises InputError."""
    known, limits = figures(), nccl_thresholds()
    launches = (budget_s or known.nccl_budget_s) / known.nccl_launch_s
    most = max(limits.fewest_rounds, int(limits.survey_share * launches))
    n = len(field.ranks.units)
    scheme_is_ours = scheme is None
    if scheme is None:
        fits = n - 1 + n % 2 <= most
        scheme = Scheme(SchemeKind.FULL) if fits else Scheme(SchemeKind.RANDOM, most)
    schedule = schedule_of(scheme, field)
    asked = len(schedule)
    if scheme_is_ours and field.paths is not None:
        # Rounds are split where pairs would meet on a cable: more launches than fit.
        schedule = replace(schedule, rounds=schedule.rounds[:most])
    return NcclCheckPlan(
        field,
        schedule,
        LaunchCost(cost.ranks, cost.paths, cost.effort, launch_s=known.nccl_launch_s),
        budget_s,
        asked,
        n_groups=n_groups,
        n_adapters=n_adapters,
        limit_s=limit_s or known.nccl_limit_s,
        n_alone=limits.node_rounds if alone else 0,
        n_gpus=n_gpus,
        in_pods=in_pods,
    )
