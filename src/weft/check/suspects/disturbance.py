"""The share of disturbed readings: slow for a reason outside their path.

On a quiet fabric it is one reading in fifty, at most. On hosts that share their CPUs it may be
every third one, and two slow readings in a row are then frequent.
"""

import numpy as np

from weft.check.readings.norms import Normed
from weft.check.readings.readings import METRICS, Bools, Floats, Readings
from weft.check.thresholds import CheckThresholds


def shares(readings: Readings, against: Normed, among: Bools, limits: CheckThresholds) -> Floats:
    """By metric: the share of readings that are disturbed, `among` those that nothing explains; but
    never less than is always reckoned with."""
    disturbed = against.slower > limits.noise_sigma * against.sigma
    found = np.full(len(METRICS), limits.disturbed_share)
    for metric in METRICS:
        rows = among & (against.norm >= 0) & (readings.metric == metric.code)
        if rows.any():
            # One more than was seen: a small sample is weak evidence.
            share = (int(disturbed[rows].sum()) + 1) / (int(rows.sum()) + 1)
            found[metric.code] = max(limits.disturbed_share, share)
    # Where half of the readings are disturbed, slow is as normal as fast.
    return np.asarray(np.minimum(found, 0.5), np.float64)
