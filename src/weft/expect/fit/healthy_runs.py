"""Several runs of one machine: the medians to fit, and the band that healthy runs scatter.

The range of n runs over `range_of_normals(n)` estimates their standard deviation. SOURCE: Shewhart,
"Economic Control of Quality of Manufactured Product" (1931): mean range over d2, limits at three
standard deviations.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist, fmean, median

from weft.catalog.document import SourceClass
from weft.catalog.machine.fit_report import HealthyBand
from weft.catalog.machine.platform import Platform
from weft.core.errors import InputError
from weft.core.units import in_force
from weft.expect.fit.tables import METRICS, MeasuredTable
from weft.expect.model import SPREAD

SIGMAS = 3.0
"""Standard deviations beyond the runs' own range that a further healthy run may lie.
SOURCE: Shewhart (1931): control limits."""
LEAST_FACTOR = SPREAD[SourceClass.PUBLISHED][1]
"""Two runs may agree by chance: what a measured figure is taken to be off by at least."""


@dataclass(frozen=True, slots=True)
class HealthyRuns:
    """The tables of one benchmark, one a run."""

    runs: tuple[MeasuredTable, ...]

    @property
    def table(self) -> MeasuredTable:
        """Their medians by size. Raises InputError where their windows differ."""
        first = self.runs[0]
        if len(self.runs) == 1:
            return first
        other = next((run for run in self.runs if run.window != first.window), None)
        if other is not None:
            raise InputError(
                f"{first.benchmark} in windows of {first.window} and of {other.window} messages",
                where=f"{first.source} and {other.source}",
                expected="runs of one test, with the same window",
            )
        rows = tuple((size, median(values)) for size, values in self.values.items())
        return replace(
            first,
            rows=rows,
            source=_joined(run.source for run in self.runs),
            sha256=_joined(run.sha256 for run in self.runs if run.sha256),
            tool=_joined(run.tool for run in self.runs if run.tool),
            conditions=_joined((f"median of {len(self.runs)} runs", first.conditions)),
        )

    @property
    def values(self) -> dict[int, list[float]]:
        """The values of each size, by rising size."""
        found: dict[int, list[float]] = defaultdict(list)
        for run in self.runs:
            for size, value in run.rows:
                found[size].append(value)
        return dict(sorted(found.items()))

    def bands(self, platform: Platform) -> tuple[HealthyBand, ...]:
        """A band for each protocol regime of the fitted platform; none of a single run."""
        assert platform.host is not None
        by_limit: dict[int | None, list[tuple[int, list[float]]]] = defaultdict(list)
        for size, values in self.values.items():
            if len(values) > 1 and min(values) > 0:
                limit = in_force(platform.host.regimes, size).max_bytes
                by_limit[limit].append((size, values))
        first = self.runs[0]
        return tuple(
            HealthyBand(
                benchmark=first.benchmark,
                metric=METRICS[first.benchmark],
                library="verbs" if first.tool.startswith("perftest") else "mpi",
                max_bytes=limit,
                n_runs=min(len(values) for _, values in rows),
                factor=round(widened([values for _, values in rows]), 4),
                rows=tuple((size, min(values), max(values)) for size, values in rows),
                source=_joined(run.source for run in self.runs),
            )
            for limit, rows in by_limit.items()
        )


def healthy_runs(tables: Sequence[MeasuredTable]) -> tuple[HealthyRuns, ...]:
    """The tables by benchmark, in their order."""
    found: dict[str, list[MeasuredTable]] = defaultdict(list)
    for table in tables:
        found[table.benchmark].append(table)
    return tuple(HealthyRuns(tuple(runs)) for runs in found.values())


def with_bands(platform: Platform, runs: Sequence[HealthyRuns]) -> Platform:
    """The fitted platform with the bands of its runs."""
    if platform.fit is None:
        return platform
    bands = tuple(band for one in runs for band in one.bands(platform))
    return platform.model_copy(update={"fit": platform.fit.model_copy(update={"bands": bands})})


def widened(rows: Sequence[Sequence[float]]) -> float:
    """The factor beyond their least and greatest value that a further run may lie.

    `rows` are the values of several runs at each size; their scatter is taken as one. A further
    value is off their mean by its own scatter and that of the mean.
    """
    sigma = fmean(
        math.log(max(values) / min(values))
        / range_of_normals(len(values))
        * math.sqrt(1 + 1 / len(values))
        for values in rows
    )
    return max(LEAST_FACTOR, math.exp(SIGMAS * sigma))


@cache
def range_of_normals(n: int) -> float:
    """The mean range of n normal values, in standard deviations (Shewhart's d2): the integral of
    1 - F(x)^n - (1 - F(x))^n."""
    step, reach = 0.01, 800
    below = (NormalDist().cdf(step * k) for k in range(-reach, reach + 1))
    return step * math.fsum(1 - share**n - (1 - share) ** n for share in below)


def _joined(texts: Iterable[str]) -> str:
    """Texts once each."""
    return ", ".join(dict.fromkeys(text for text in texts if text))
