"""Rounds of the survey that came again: messages around a dead cable meet the same ones again,
messages that met the traffic of others do not."""

from functools import lru_cache

import numpy as np
from scipy.sparse import csr_matrix
from scipy.stats import binom, norm

from weft.check.readings.crossing import Crossings
from weft.check.readings.norms import Normed
from weft.check.readings.readings import Ints, Metric, Readings
from weft.check.suspects.out_of_use.detour import Detour
from weft.check.trials import SURVEY, TOGETHER


def slow_each_time(crossings: Crossings, against: Normed, detour: Detour) -> bool:
    """Whether the messages of a detour that were slow in the survey are slow whenever the same
    rounds come again, but for as many as noise and disturbances explain (binomial,
    `contradicted_sigma`)."""
    readings, limits = crossings.readings, crossings.limits
    again = np.isin(np.arange(len(readings)), readings.of_trial(TOGETHER))
    number = numbers_of_rounds(crossings)
    slow_once = np.unique(number[detour.rows[~again[detour.rows]]])
    sending = readings.metric == Metric.BANDWIDTH.code
    rows = np.flatnonzero(again & sending & (against.norm >= 0) & np.isin(number, slow_once))
    n_normal = int((against.slower[rows] < detour.slower / 2).sum())
    if not n_normal:
        return True
    sigma = np.hypot(against.sigma[rows], limits.uneven_share * detour.slower)
    chance = float(norm.cdf(-detour.slower / 2 / sigma).mean()) + limits.disturbed_share
    by_chance = float(binom.sf(n_normal - 1, rows.size, min(1.0, chance)))
    return by_chance >= float(norm.sf(limits.contradicted_sigma))


def rows_of_tests(crossings: Crossings) -> Ints:
    """The readings, after the survey, in rounds that repeat none of it; none where switches choose
    the paths. A round repeats another with most of its flows: a reading may be missing."""
    readings = crossings.readings
    again, survey = readings.of_trial(TOGETHER), readings.of_trial(SURVEY)
    if crossings.adaptive or not again.size:
        return np.zeros(0, np.int64)
    of_survey, of_later = (_flows_of_moments(readings, rows) for rows in (survey, again))
    shared = (of_later @ of_survey.T).tocoo()
    n_flows = np.asarray(of_survey.sum(axis=1)).reshape(-1)
    repeats = np.unique(shared.row[2 * shared.data > n_flows[shared.col]])
    tests: Ints = again[~np.isin(readings.moment[again], repeats)]
    return tests


def _flows_of_moments(readings: Readings, rows: Ints) -> csr_matrix:
    """Moments x flows: 1 where a row of the moment is of the flow."""
    n = len(readings.endpoints)
    shape = (int(readings.moment.max()) + 1, n * n)
    flow = readings.a[rows] * n + readings.b[rows]
    return csr_matrix((np.ones(rows.size), (readings.moment[rows], flow)), shape=shape)


@lru_cache(maxsize=2)
def numbers_of_rounds(crossings: Crossings) -> Ints:
    """By reading: a number that the readings of a flow share whose moments have the same flows."""
    readings = crossings.readings
    n = len(readings.endpoints)
    flow = readings.a * n + readings.b
    order = np.lexsort((flow, readings.moment))
    starts = np.flatnonzero(np.diff(readings.moment[order], prepend=-1))
    alike: dict[bytes, int] = {}
    found = np.zeros(len(readings), np.int64)
    for rows in np.split(order, starts[1:]):
        kind = alike.setdefault(flow[rows].tobytes(), len(alike))
        found[rows] = kind * n * n + flow[rows]
    return found
