"""The time of rounds on the fabric, from the kernel's phases and the rates on the path."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.bench.phase import phases_of
from weft.catalog.toml_file import shipped_figures
from weft.check.schedule.paths import FlowPaths
from weft.check.schedule.ranks import ScheduleRanks
from weft.check.schedule.rounds.matchings import Round
from weft.check.schedule.rounds.split import crossed_in_both_directions
from weft.core.units import ROUNDING

_TRIAL_ITERATIONS = 3
_LEAST_ITERATIONS = 5
_MOST_TIMES = 33
"""How the kernel keeps a time limit: three untimed iterations set the number it can afford, and it
does five in any case (mpi/measure.c). Of a long series 33 times come back (mpi/pairs.c)."""


@dataclass(frozen=True, slots=True)
class Figures:
    """cost.toml explains each figure."""

    small_iterations: int
    small_warmup: int
    large_iterations: int
    large_warmup: int
    light_iterations: int
    light_warmup: int
    round_trip_us: float
    wire_share: float
    first_contact_us: float
    barrier_step_us: float
    series_us: float
    time_us: float
    max_seconds_per_size: float
    least_seconds_per_size: float
    survey_s: float
    follow_up_share: float
    most_pairs: int
    most_simulated_pairs: int
    quick_s: float
    quick_survey_s: float
    quick_follow_up_s: float
    quick_all_s: float
    nccl_launch_s: float
    nccl_limit_s: float
    nccl_budget_s: float


@functools.cache
def figures() -> Figures:
    """The shipped figures."""
    return shipped_figures(Figures, "cost.toml", "weft.check_cost/1")


@dataclass(frozen=True, slots=True)
class Effort:
    """The work of a pair in a round: sizes in bytes, windows in messages, counts as
    (iterations, warm-up). `n_large` series are of the large size, one of them in each phase and
    direction. `max_seconds` is the kernel's limit for one series, None without."""

    large_bytes: int
    window: int
    small: tuple[int, int]
    large: tuple[int, int]
    has_latency: bool
    n_large: int
    max_seconds: float | None = None

    @property
    def n_series(self) -> int:
        """Series of times of one pair."""
        return self.n_large + self.has_latency

    @property
    def n_times(self) -> int:
        """Times of one pair that come back."""
        small, large = min(self.small[0], _MOST_TIMES), min(self.large[0], _MOST_TIMES)
        return self.has_latency * small + self.n_large * large

    def lighter(self) -> "Effort":
        """The same with as few iterations as a verdict needs."""
        known = figures()
        counts = (known.light_iterations, known.light_warmup)
        return replace(self, small=counts, large=counts)


def effort_of(options: Mapping[str, Any], large_bytes: int) -> Effort:
    """The effort that a trial's options mean, the kernel's defaults where they are silent."""
    known = figures()

    def counts(own: tuple[int, int]) -> tuple[int, int]:
        asked = (options.get("iterations"), options.get("warmup"))
        first, second = (n if n is not None else of for n, of in zip(asked, own, strict=True))
        return int(first), int(second)

    phases = phases_of(options)
    limit = options.get("max_seconds_per_size")
    return Effort(
        large_bytes=large_bytes,
        window=int(options["window"]),
        small=counts((known.small_iterations, known.small_warmup)),
        large=counts((known.large_iterations, known.large_warmup)),
        has_latency=any(phase.is_small for phase in phases),
        n_large=sum(len(phase.kinds) for phase in phases if not phase.is_small),
        max_seconds=None if limit is None else float(limit),
    )


@dataclass(frozen=True)
class Cost:
    """Seconds of rounds of these ranks; without `paths` no rate is known, and the kernel's time
    limit bounds the time of a round. `simulated`: on a twin, where a pair costs computing."""

    ranks: ScheduleRanks
    paths: FlowPaths | None
    effort: Effort
    simulated: bool = False

    @property
    def most_pairs(self) -> int:
        """Most pairs of a plan without a named scheme."""
        known = figures()
        return known.most_simulated_pairs if self.simulated else known.most_pairs

    @property
    def is_bound(self) -> bool:
        """Whether the kernel's time limit gives the seconds, because no rate is known."""
        return self.paths is None

    @property
    def least_rate_mb_s(self) -> float | None:
        """The bandwidth below which a pair breaks the kernel's time limit, because its fewest
        iterations take longer; None where a rate is known."""
        if not self.is_bound:
            return None
        limit_s = self.effort.max_seconds or figures().max_seconds_per_size
        return _LEAST_ITERATIONS * self.effort.large_bytes / limit_s / 1e6

    def seconds(self, rounds: Sequence[Round]) -> float:
        """On the fabric: without starting processes, with warm-up, barriers and results."""
        return math.fsum(self.sending_s(pairs) + self.around_s(pairs) for pairs in rounds)

    def within(self, rounds: Sequence[Round], limit_s: float) -> "Cost":
        """The same with a lower time limit of the kernel's, so that rounds fit `limit_s` if the
        least useful limit allows it. Unchanged where they fit or a rate is known."""
        effort = self.effort
        if not self.is_bound or effort.max_seconds is None or not rounds:
            return self
        around = math.fsum(self.around_s(pairs) for pairs in rounds)
        share = (limit_s - around) / (self.seconds(rounds) - around) - ROUNDING
        lower = max(effort.max_seconds * min(1.0, share), figures().least_seconds_per_size)
        return replace(self, effort=replace(effort, max_seconds=min(lower, effort.max_seconds)))

    def sending_s(self, pairs: Round) -> float:
        """Seconds in which the slowest pair of a round sends, warm-up included."""
        known, effort = figures(), self.effort
        rate = self._slowest(pairs)
        if rate is None:
            return self._most_s()
        trip_s = known.round_trip_us * 1e-6
        window_s = effort.window * effort.large_bytes * 8 / (rate * known.wire_share) + trip_s
        total = effort.n_large * sum(effort.large) * window_s
        return total + effort.has_latency * sum(effort.small) * trip_s

    def around_s(self, pairs: Round) -> float:
        """First contact, barriers between phases, and sending the times to rank 0."""
        known, effort = figures(), self.effort
        steps = max(1, (len(self.ranks) - 1).bit_length())
        barriers = (effort.n_series + 1) * steps * known.barrier_step_us
        rows = len(pairs) * (effort.n_series * known.series_us + effort.n_times * known.time_us)
        return (known.first_contact_us + barriers + rows) * 1e-6

    def _slowest(self, pairs: Round) -> float | None:
        paths = self.paths
        if paths is None:
            return None
        rates = paths.network.rate
        if rates.min() == rates.max():
            return float(rates[0])
        _, _, there, back = crossed_in_both_directions(pairs, self.ranks, paths)
        return float(min(there.min(), back.min()))

    def _most_s(self) -> float:
        """Series that just keep the limit: as long again for the iterations before them."""
        known, effort = figures(), self.effort
        limit = effort.max_seconds or known.max_seconds_per_size
        once_s = limit / _LEAST_ITERATIONS
        large = effort.n_large * (limit + (_TRIAL_ITERATIONS + effort.large[1]) * once_s)
        per_trip = limit / effort.small[0]
        trips = _TRIAL_ITERATIONS + effort.small[1]
        return large + effort.has_latency * (limit + trips * per_trip)
