"""Whether something accused is slow in every reading. A fault is; other traffic and a link that
flaps come and go."""

from collections.abc import Sequence

import numpy as np
from scipy.stats import binom, norm

from weft.check.readings.candidates import cable_ports
from weft.check.readings.components import Part
from weft.check.readings.readings import Bools, Floats, Ints, Metric, union
from weft.check.suspects.crowding.crowded_paths import MEDIAN_ERROR
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.out_of_use.longer_paths import slower_by
from weft.check.suspects.out_of_use.repeated_rounds import numbers_of_rounds
from weft.check.suspects.survey import Survey
from weft.stats.summary import robust_sigma

_DIRECTIONS = frozenset({Part.NODE_SENDING, Part.NODE_RECEIVING})
_FULL_SHARE = 0.9
"""Of the most messages that filled a path at once: with three of four, one of four is free."""
_LEAST_SPARED = 2
"""One partner is itself what makes a pair."""


def comes_and_goes(survey: Survey, suspect: Suspect) -> bool:
    """Whether more readings over a suspect look normal, by any metric that accuses it, than noise
    and disturbances explain of a constant fault (binomial, `contradicted_sigma`).

    Only flows that were slow once count: others may have lacked the load that shows a fault.
    Readings that another suspect slows say nothing, unless that one was normal when measured again.
    A reading is normal if it is slow by less than half of what the suspect costs, or costs as many
    messages at once.
    """
    suspects = survey.explanation.suspects
    others = [one for one in suspects if one.best != suspect.best and not survey.has_passed(one)]
    free = survey.judged & (survey.explainer.predicted(others) == 0)
    return any(_is_missing(survey, suspect, metric, free) for metric in suspect.slower)


def _is_missing(survey: Survey, suspect: Suspect, metric: Metric, free: Bools) -> bool:
    slower = suspect.slower[metric]
    over = survey.candidates.rows(suspect.best)
    over = over[survey.readings.metric[over] == metric.code]
    rows = over[free[over]]
    if survey.crossings.shared_paths[suspect.best]:
        # A message alone takes a fast path.
        rows = rows[survey.in_rounds[rows]]
        direction = _directions(survey, suspect, rows)
        each = [rows[direction == one] for one in np.unique(direction)]
        slow = [of for of in each if np.median(survey.normed.slower[of]) >= slower / 2] or each
        return any(is_normal_at_times(survey, of, slower) for of in (*slow, union(slow)))
    level = _levels(survey, suspect, over, rows, slower)
    normal = survey.normed.slower[rows] < level / 2
    flow = survey.readings.a[rows] * len(survey.readings.endpoints) + survey.readings.b[rows]
    counted = np.isin(flow, flow[~normal])
    by_noise = _normal_by_noise(survey, rows, level)
    return _are_too_many(survey, normal[counted], by_noise[counted])


def _levels(survey: Survey, suspect: Suspect, over: Ints, rows: Ints, slower: float) -> Floats:
    """By row what a suspect that costs `slower` costs it: two messages of `over` in one direction
    fill a slow cable, and one alone loses less. The median of moments with as many messages, where
    noise does not explain that; traffic of others is no such level."""
    direction = _directions(survey, suspect, over)
    place = survey.readings.moment[over] * (int(direction.max(initial=0)) + 1) + direction
    _, at, n = np.unique(place, return_inverse=True, return_counts=True)
    n_at_once = n[at.reshape(-1)][np.isin(over, rows)]
    level = np.full(rows.size, slower)
    for number in np.unique(n_at_once):
        alike = n_at_once == number
        median = float(np.median(survey.normed.slower[rows[alike]]))
        sigma = float(np.median(survey.normed.sigma[rows[alike]]))
        if median > survey.limits.meeting_sigma * sigma:
            level[alike] = min(slower, median)
    return level


def _directions(survey: Survey, suspect: Suspect, over: Ints) -> Ints:
    """By row a number for the ports of a path that it crosses: another one for each direction, and
    for both; 0 of a switch."""
    members = survey.candidates.members[suspect.best]
    ports = {port for member in members for port in cable_ports(member)}
    own = [not ports.isdisjoint(stage) for stage in survey.crossings.stages]
    if not any(own):
        return np.zeros(over.size, np.int64)
    crossed = (survey.crossings.by_stage[over][:, np.flatnonzero(own)] > 0).toarray()
    return np.unique(crossed, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _normal_by_noise(survey: Survey, rows: Ints, level: Floats) -> Floats:
    """By row the chance that noise makes it look normal over a constant fault of that level. The
    scatter of a fault: its own, and what differs from path to path."""
    uneven = np.hypot(survey.normed.sigma[rows], survey.limits.uneven_share * level)
    chance: Floats = norm.cdf(-level / 2 / uneven)
    return chance


def is_normal_at_times(survey: Survey, rows: Ints, slower: float) -> bool:
    """Whether paths that messages share are normal in too many moments, or at times in a round that
    is slow at others. In a moment some messages take a fast path, so its median counts. Moments of
    fewer messages say nothing: the other paths carry them."""
    moment = survey.readings.moment[rows]
    _, of, n_messages = np.unique(moment, return_inverse=True, return_counts=True)
    rows = rows[n_messages[of] >= _FULL_SHARE * n_messages.max(initial=0)]
    moment = survey.readings.moment[rows]
    of_moment = [rows[moment == one] for one in np.unique(moment)]
    medians = np.array([float(np.median(survey.normed.slower[of])) for of in of_moment])
    n = np.array([of.size for of in of_moment])
    sigma = MEDIAN_ERROR * _scatter(survey, of_moment) / np.sqrt(n)
    number = numbers_of_rounds(survey.crossings)
    _, rounds, times = np.unique(
        [number[of].min() for of in of_moment], return_inverse=True, return_counts=True
    )
    # Of a path that is slow at times the median lies in between.
    slow = medians >= slower / 2
    slower = max(slower, float(np.median(medians[slow]))) if slow.any() else slower
    # The moments of a path differ by their partners: half of a large loss is no normal one.
    clear = np.maximum(survey.limits.bandwidth_least, survey.limits.meeting_sigma * sigma)
    normal = medians < np.minimum(slower / 2, clear)
    again = (times[rounds] > 1) & np.isin(rounds, rounds[~normal])
    uneven = np.hypot(sigma, survey.limits.uneven_share * slower)
    by_noise, by_noise_alone = (norm.cdf(-slower / 2 / scatter) for scatter in (uneven, sigma))
    return _are_too_many(survey, normal, by_noise, n) or _are_too_many(
        survey, normal[again], by_noise_alone[again], n[again]
    )


def _scatter(survey: Survey, of_moment: Sequence[Ints]) -> Floats:
    """By moment how far its readings scatter: as their class, or less, by what those of one moment
    do: other slow paths widen the class."""
    sigma = np.array([float(np.median(survey.normed.sigma[of])) for of in of_moment])
    within = [robust_sigma(survey.normed.slower[of]) for of in of_moment if of.size > 2]
    least = survey.limits.scale_floor
    return np.minimum(sigma, max(least, float(np.median(within)))) if within else sigma


def _are_too_many(survey: Survey, normal: Bools, by_noise: Floats, n: Ints | int = 1) -> bool:
    """Whether more values, each a median of `n` readings, are normal than of a constant fault;
    `by_noise`: the chance of each that noise makes it so."""
    limits, n_normal = survey.limits, int(normal.sum())
    if not n_normal:
        return False
    quick = limits.disturbed_share * (1 - limits.disturbed_slow_share)
    # A median is normal once half of its readings are.
    chance = by_noise + binom.sf((np.asarray(n) + 1) // 2 - 1, n, quick)
    by_chance = float(binom.sf(n_normal - 1, normal.size, min(1.0, float(chance.mean()))))
    return by_chance < float(norm.sf(limits.contradicted_sigma))


def spares_partners(survey: Survey, suspect: Suspect) -> bool:
    """Whether a node in one direction, over unknown paths, is normal each time with two partners or
    more, more than noise explains, and slow each time with the others: a path that most of its
    messages share does that. A node that is slow and normal with the same partner is unsteady."""
    parts = {survey.crossings.component(m).part for m in survey.candidates.members[suspect.best]}
    if survey.crossings.network is not None or not parts <= _DIRECTIONS:
        return False
    over = survey.candidates.rows(suspect.best)
    over = over[survey.judged[over]]
    return any(
        _spares(survey, over[survey.readings.metric[over] == metric.code], slower)
        for metric, slower in suspect.slower.items()
    )


def _spares(survey: Survey, rows: Ints, slower: float) -> bool:
    sigma, limits = survey.normed.sigma[rows], survey.limits
    most = np.minimum(slower / 2, limits.meeting_sigma * sigma)
    normal = np.abs(survey.normed.slower[rows]) < most
    pair = survey.readings.pair[rows]
    spared = np.setdiff1d(pair[normal], pair[~normal])
    if spared.size < _LEAST_SPARED or np.isin(pair[~normal], pair[normal]).any():
        return False
    uneven = np.hypot(sigma, limits.uneven_share * slower)
    quick = np.exp((most - slower) / limits.disturbance)
    quick -= np.exp(-(most + slower) / limits.disturbance)
    quick *= limits.disturbed_share * (1 - limits.disturbed_slow_share)
    chance = float((norm.cdf((most - slower) / uneven) + quick).mean())
    by_chance = float(binom.sf(int(normal.sum()) - 1, rows.size, min(1.0, chance)))
    return by_chance < float(norm.sf(limits.contradicted_sigma))


def is_longer_path(survey: Survey, suspect: Suspect) -> bool:
    """Whether messages only take longer, and are carried at full rate: over a path between
    switches, or of a node with some partners. A longer path than the tables say does that, and no
    slow cable."""
    if set(suspect.slower) != {Metric.LATENCY} or survey.crossings.network is None:
        return False
    rows = survey.candidates.rows(suspect.best)
    if survey.crossings.is_switch_pair(suspect.best):
        return _is_longer_between_switches(survey, suspect, rows)
    carried = survey.judged & (survey.readings.metric == Metric.BANDWIDTH.code)
    if not carried[rows].any():
        return False
    return survey.crossings.is_path(suspect.best) or _is_quick_at_its_switch(survey, suspect, rows)


def _is_quick_at_its_switch(survey: Survey, suspect: Suspect, rows: Ints) -> bool:
    """Whether the messages of a node to others at its switch are rather as quick as always: they
    cross the nodes' own cables only, and a slow node delays them, too."""
    readings, switch = survey.readings, survey.crossings.switch
    rows = rows[survey.judged[rows] & (readings.metric[rows] == Metric.LATENCY.code)]
    near = rows[switch[readings.a[rows]] == switch[readings.b[rows]]]
    late = float(np.median(survey.normed.slower[near])) if near.size else np.inf
    return late < suspect.slower[Metric.LATENCY] / 2


def _is_longer_between_switches(survey: Survey, suspect: Suspect, rows: Ints) -> bool:
    """Whether the pairs between two switches have their bandwidth alone, if that was measured, and
    are slower by no more than as many links more as the longest path has, if the cost of a link is
    known. In rounds messages that take other paths meet others."""
    readings = survey.readings
    carried = survey.judged & (readings.metric == Metric.BANDWIDTH.code)
    carried &= np.isin(readings.pair, readings.pair[rows]) & survey.is_alone
    if carried.any() and survey.slow[carried].mean() > survey.limits.contradicted_share:
        return False
    judged = rows[survey.judged[rows]]
    most = max((norm.hop_class.most_links for norm in survey.normed.norms), default=0)
    bound = slower_by(survey.normed, judged, np.full(judged.size, float(most)))
    most_slower = float(bound.max(initial=0.0))
    return not most_slower or suspect.slower[Metric.LATENCY] <= most_slower
