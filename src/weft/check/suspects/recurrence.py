"""Components that may be slow now and then: how much more often than chance explains."""

import numpy as np
from scipy.special import xlogy

from weft.check.readings.components import PARTS, Part
from weft.check.readings.readings import METRICS, Bools, Floats
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds


def unsteady(survey: Survey) -> list[int]:
    """Candidates slow in a part of their readings, the strongest evidence first: too little of it
    to name them, enough to measure them again. Of those that share readings the first only."""
    if not len(survey.candidates) or len(survey.crossings.hosts) == 1:
        return []
    free = survey.judged & survey.in_rounds & ~survey.explained
    slow = free & survey.beyond_noise
    of = total(evidence_by_metric(survey, free, slow), survey.limits)
    likely = np.flatnonzero(of >= survey.limits.evidence_a_metric)
    found: list[int] = []
    hit = np.zeros(slow.size, np.bool_)
    for candidate in likely[np.argsort(-of[likely], kind="stable")].tolist():
        rows = survey.candidates.rows(candidate)
        if len(found) < survey.limits.unsteady_again and not hit[rows[slow[rows]]].any():
            found.append(candidate)
            hit[rows] = True
    return found


def may_come_and_go(survey: Survey) -> Bools:
    """By candidate: whether its readings can show that it is slow now and then. Under adaptive
    routing messages avoid a slow path where there are several."""
    members = survey.candidates.members
    if not survey.crossings.adaptive:
        return np.ones(len(members), np.bool_)
    is_rail = np.array([of[0][0] == PARTS.index(Part.RAIL) for of in members], np.bool_)
    return np.asarray(~is_rail & ~survey.crossings.shared_paths, np.bool_)


def evidence_by_metric(survey: Survey, free: Bools, slow: Bools) -> Floats:
    """Metrics x candidates: natural logarithms, of readings `free` of which `slow` are slow."""
    columns = survey.candidates.columns
    found = np.zeros((len(METRICS), columns.shape[1]))
    for metric in METRICS:
        of = survey.readings.metric == metric.code
        n = np.asarray(columns.T @ (free & of).astype(np.float64)).reshape(-1)
        n_slow = np.asarray(columns.T @ (slow & of).astype(np.float64)).reshape(-1)
        counts = (int((free & of).sum()), int((slow & of).sum()))
        found[metric.code] = evidence(n, n_slow, *counts, survey.limits.disturbed_share)
    found[:, ~may_come_and_go(survey)] = 0.0
    return found


def total(by_metric: Floats, limits: CheckThresholds) -> Floats:
    """By candidate: the evidence of the strongest metric, and of others what exceeds
    `evidence_a_metric`; less the logarithm of the number of candidates: the best of so many."""
    beyond = np.sort(by_metric, axis=0)
    beyond[:-1] = np.maximum(0.0, beyond[:-1] - limits.evidence_a_metric)
    return np.asarray(beyond.sum(axis=0) - np.log(max(1, by_metric.shape[1])), np.float64)


def evidence(n: Floats, n_slow: Floats, n_all: int, n_all_slow: int, least: float) -> Floats:
    """The logarithm of a binomial likelihood ratio: `n_slow` of `n` readings at their own rate,
    against the rate of all others, which is `least` at least."""
    # One more slow reading than elsewhere: a small sample is weak evidence.
    elsewhere = (n_all_slow - n_slow + 1) / (n_all - n + 1)
    elsewhere = np.clip(elsewhere, least, 0.5)
    own = n_slow / np.maximum(n, 1)
    ratio = xlogy(n_slow, own / elsewhere) + xlogy(n - n_slow, (1 - own) / (1 - elsewhere))
    return np.asarray(np.where((own > elsewhere) & (n_slow > 1), ratio, 0.0), np.float64)
