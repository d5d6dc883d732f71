"""The sensitivity of a check: how slow a component must be to show."""

import numpy as np

from weft.check.readings.readings import METRICS
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds


def caveats(survey: Survey, limits: CheckThresholds) -> tuple[str, ...]:
    """A sentence for each metric in which only a node slower than `least_told` would be named.

    n readings of normal noise sigma give evidence n (d / sigma)^2 / 2 for a slowness d that is
    there in all of them; named is what reaches `named_evidence`.
    """
    readings, against = survey.readings, survey.normed
    judged = against.norm >= 0
    found = []
    for metric in METRICS:
        rows = judged & (readings.metric == metric.code)
        rows[survey.alone] = False
        if not rows.any():
            continue
        of_one = 2 * int(rows.sum()) / len(readings.endpoints)
        sigma = float(np.median(against.sigma[rows]))
        least = sigma * np.sqrt(2 * (limits.named_evidence + limits.evidence_a_metric) / of_one)
        if least > limits.least_told:
            found.append(
                f"{metric.word} scatters by a factor of {np.exp(sigma):.2g}: a component less than"
                f" {np.exp(least):.2g} times slower than its kind does not show; measure when the"
                " hosts are quiet"
            )
    return tuple(found)
