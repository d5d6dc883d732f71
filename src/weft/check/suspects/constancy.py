"""Whether something accused is slow in every reading. A fault is; other traffic and a link that
flaps come and go."""

import numpy as np
from scipy.stats import binom, norm

from weft.check.readings.readings import Bools, Floats, Ints, Metric
from weft.check.suspects.crowding.crowded_paths import MEDIAN_ERROR
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.longer_paths import slower_by
from weft.check.suspects.out_of_use.repeated_rounds import numbers_of_rounds
from weft.check.suspects.survey import Survey


def comes_and_goes(survey: Survey, suspect: Suspect) -> bool:
    """Whether more readings over a suspect look normal, by any metric that accuses it, than noise
    and disturbances explain of a constant fault (binomial, `contradicted_sigma`).

    Only flows that were slow once count: others may have lacked the load that shows a fault.
    Readings that another suspect slows say nothing. A reading is normal if it is slow by less than
    half of what the suspect costs.
    """
    others = [one for one in survey.explanation.suspects if one.best != suspect.best]
    free = survey.judged & (survey.explainer.predicted(others) == 0)
    return any(_is_missing(survey, suspect, metric, free) for metric in suspect.slower)


def _is_missing(survey: Survey, suspect: Suspect, metric: Metric, free: Bools) -> bool:
    slower = suspect.slower[metric]
    rows = survey.candidates.rows(suspect.best)
    rows = rows[free[rows] & (survey.readings.metric[rows] == metric.code)]
    if survey.crossings.shared_paths[suspect.best]:
        return is_normal_at_times(survey, rows, slower)
    normal = survey.normed.slower[rows] < slower / 2
    flow = survey.readings.a[rows] * len(survey.readings.endpoints) + survey.readings.b[rows]
    rows = rows[np.isin(flow, flow[~normal])]
    # The scatter of a constant fault: its own, and what differs from path to path.
    uneven = np.hypot(survey.normed.sigma[rows], survey.limits.uneven_share * slower)
    return _are_too_many(survey, survey.normed.slower[rows], uneven, slower)


def is_normal_at_times(survey: Survey, rows: Ints, slower: float) -> bool:
    """Whether paths that messages share are normal in too many moments, or at times in a round that
    is slow at others. In a moment some messages take a fast path, so its median counts."""
    moment = survey.readings.moment[rows]
    of_moment = [rows[moment == one] for one in np.unique(moment)]
    medians = np.array([float(np.median(survey.normed.slower[of])) for of in of_moment])
    sigma = np.array([float(np.median(survey.normed.sigma[of])) for of in of_moment])
    n = np.array([of.size for of in of_moment])
    sigma = MEDIAN_ERROR * sigma / np.sqrt(n)
    number = numbers_of_rounds(survey.crossings)
    _, rounds, times = np.unique(
        [number[of].min() for of in of_moment], return_inverse=True, return_counts=True
    )
    again = (times[rounds] > 1) & np.isin(rounds, rounds[medians >= slower / 2])
    uneven = np.hypot(sigma, survey.limits.uneven_share * slower)
    return _are_too_many(survey, medians, uneven, slower, n) or _are_too_many(
        survey, medians[again], sigma[again], slower, n[again]
    )


def _are_too_many(
    survey: Survey, values: Floats, scatter: Floats, slower: float, n: Ints | int = 1
) -> bool:
    """Whether more of the values, medians of `n` readings, are normal than of a constant fault that
    costs `slower`, by the scatter of each."""
    limits, n_normal = survey.limits, int((values < slower / 2).sum())
    if not n_normal:
        return False
    quick = limits.disturbed_share * (1 - limits.disturbed_slow_share)
    # A median is normal once half of its readings are.
    chance = norm.cdf(-slower / 2 / scatter) + binom.sf((np.asarray(n) + 1) // 2 - 1, n, quick)
    by_chance = float(binom.sf(n_normal - 1, values.size, min(1.0, float(chance.mean()))))
    return by_chance < float(norm.sf(limits.contradicted_sigma))


def is_longer_path(survey: Survey, suspect: Suspect) -> bool:
    """Whether messages over a path between switches only take longer, and are carried at full rate:
    a longer path than the tables say does that, and no slow cable."""
    if set(suspect.slower) != {Metric.LATENCY} or not survey.crossings.is_path(suspect.best):
        return False
    rows = survey.candidates.rows(suspect.best)
    if survey.crossings.is_switch_pair(suspect.best):
        return _is_longer_between_switches(survey, suspect, rows)
    carried = survey.judged & (survey.readings.metric == Metric.BANDWIDTH.code)
    return bool(carried[rows].any())


def _is_longer_between_switches(survey: Survey, suspect: Suspect, rows: Ints) -> bool:
    """Whether the pairs between two switches have their bandwidth alone, if that was measured, and
    are slower by no more than as many links more as the longest path has, if the cost of a link is
    known. In rounds messages that take other paths meet others."""
    readings = survey.readings
    carried = survey.judged & (readings.metric == Metric.BANDWIDTH.code)
    carried &= np.isin(readings.pair, readings.pair[rows]) & ~survey.in_rounds
    if carried.any() and survey.slow[carried].mean() > survey.limits.contradicted_share:
        return False
    judged = rows[survey.judged[rows]]
    most = max((norm.hop_class.most_links for norm in survey.normed.norms), default=0)
    bound = slower_by(survey.normed, judged, np.full(judged.size, float(most)))
    most_slower = float(bound.max(initial=0.0))
    return not most_slower or suspect.slower[Metric.LATENCY] <= most_slower
