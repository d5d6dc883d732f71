"""Components that may be slow now and then: how much more often than chance explains."""

import numpy as np
from scipy.special import xlogy

from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import METRICS, Bools, Floats, Metric
from weft.check.suspects.survey import Survey


def unsteady_nodes(survey: Survey) -> list[str]:
    """Of few nodes those slow in a part of their readings, the strongest evidence first: too little
    of it to name them, enough to measure them again. Among many each has enough readings; under
    adaptive routing a message avoids a slow path."""
    limits, few = survey.limits, survey.limits.partners_again + 1
    is_small = 1 < len(survey.crossings.hosts) <= few
    if survey.crossings.adaptive or not len(survey.candidates) or not is_small:
        return []
    free = survey.judged & survey.in_rounds & ~survey.explained
    slow = free & survey.beyond_noise
    found: dict[str, float] = {}
    for metric in METRICS:
        of = evidence_of(survey, metric, free, slow)
        for candidate in np.flatnonzero(of >= limits.evidence_a_metric).tolist():
            for part, number in survey.candidates.members[candidate]:
                if PARTS[part] is Part.NODE:
                    name = survey.crossings.hosts[number]
                    found[name] = max(found.get(name, 0.0), float(of[candidate]))
    return sorted(found, key=lambda name: -found[name])[: limits.unsteady_again]


def evidence_of(survey: Survey, metric: Metric, free: Bools, slow: Bools) -> Floats:
    """By candidate, less the logarithm of the number of candidates: the best of so many."""
    columns, of = survey.candidates.columns, survey.readings.metric == metric.code
    n = np.asarray(columns.T @ (free & of).astype(np.float64)).reshape(-1)
    n_slow = np.asarray(columns.T @ (slow & of).astype(np.float64)).reshape(-1)
    least = survey.limits.disturbed_share
    found = evidence(n, n_slow, int((free & of).sum()), int((slow & of).sum()), least)
    return np.asarray(found - np.log(max(1, found.size)), np.float64)


def evidence(n: Floats, n_slow: Floats, n_all: int, n_all_slow: int, least: float) -> Floats:
    """The logarithm of a binomial likelihood ratio: `n_slow` of `n` readings at their own rate,
    against the rate of all others, which is `least` at least."""
    # One more slow reading than elsewhere: a small sample is weak evidence.
    elsewhere = (n_all_slow - n_slow + 1) / (n_all - n + 1)
    elsewhere = np.clip(elsewhere, least, 0.5)
    own = n_slow / np.maximum(n, 1)
    ratio = xlogy(n_slow, own / elsewhere) + xlogy(n - n_slow, (1 - own) / (1 - elsewhere))
    return np.asarray(np.where((own > elsewhere) & (n_slow > 1), ratio, 0.0), np.float64)
