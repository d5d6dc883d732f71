"""How often readings are disturbed: by what has nothing to do with what they crossed.

On a quiet fabric one reading in fifty, at most. Where hosts share their CPUs with others it may be
every third one, and a reading that is slow twice is then no wonder.
"""

import numpy as np

from weft.check.readings.norms import Normed
from weft.check.readings.readings import METRICS, Bools, Floats, Readings
from weft.check.thresholds import CheckThresholds


def shares(readings: Readings, against: Normed, among: Bools, limits: CheckThresholds) -> Floats:
    """By metric: the share of readings that are disturbed, `among` those that nothing explains; but
    never less than is always reckoned with."""
    disturbed = against.slower > limits.lone_sigma * against.sigma
    found = np.full(len(METRICS), limits.disturbed_share)
    for metric in METRICS:
        rows = among & (against.norm >= 0) & (readings.metric == metric.code)
        if rows.any():
            # One more than was seen: of few readings few tell little.
            share = (int(disturbed[rows].sum()) + 1) / (int(rows.sum()) + 1)
            found[metric.code] = max(limits.disturbed_share, share)
    # Where half of the readings are disturbed, slow is as normal as fast.
    return np.asarray(np.minimum(found, 0.5), np.float64)
