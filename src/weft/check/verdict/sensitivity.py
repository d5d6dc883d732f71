"""The sensitivity of a check: how slow a component must be to show."""

import numpy as np

from weft.check.readings.readings import METRICS
from weft.check.suspects.survey import Survey


def caveats(survey: Survey) -> tuple[str, ...]:
    """A sentence for each metric in which only a node slower than `least_shown` would be named.

    n readings of normal noise sigma give evidence n (d / sigma)^2 / 2 for a slowness d that is
    there in all of them; named is what reaches `named_evidence`.
    """
    readings, limits = survey.readings, survey.limits
    found = []
    for metric in METRICS:
        rows = survey.judged & survey.in_rounds & (readings.metric == metric.code)
        if not rows.any():
            continue
        of_one = 2 * int(rows.sum()) / len(readings.endpoints)
        sigma = float(np.median(survey.normed.sigma[rows]))
        least = sigma * np.sqrt(2 * (limits.named_evidence + limits.evidence_a_metric) / of_one)
        if least > limits.least_shown:
            found.append(
                f"{metric.word} scatters by a factor of {np.exp(sigma):.2g}: a component less than"
                f" {np.exp(least):.2g} times slower than its kind does not show; measure when the"
                " hosts are quiet"
            )
    return tuple(found)
