"""A model fitted to half of a run's latencies, judged by how it predicts the other half."""

from collections.abc import Mapping
from dataclasses import dataclass

from weft.core.errors import InputError
from weft.expect.fit.loggp import OutOfSample, judge_out_of_sample
from weft.expect.fit.tables import FRESH_ROWS_PER_PARAMETER
from weft.stats.summary import Summary

MIN_FITTED_ROWS = 8
"""With fewer rows, half of them cannot show a protocol step."""


@dataclass(frozen=True, slots=True)
class LatencyFit:
    """Median latency by size (bytes), and how a model of half the sizes predicts the others;
    `why_not`: the reason that no model was fitted."""

    medians: Mapping[int, Summary]
    judged: OutOfSample | None
    why_not: str = ""


def latency_fit(medians: Mapping[int, Summary]) -> LatencyFit | None:
    """The fit of the median latencies by size (bytes); None where there are too few sizes."""
    if len(medians) < MIN_FITTED_ROWS:
        return None
    table = [(size, found.median) for size, found in medians.items()]
    try:
        judged = judge_out_of_sample(table, rows_per_parameter=FRESH_ROWS_PER_PARAMETER)
    except InputError as error:
        return LatencyFit(medians, None, error.what)
    return LatencyFit(medians, judged)
