"""Readings whose messages may have waited behind a slow one."""

import numpy as np

from weft.check.readings.crossing import Crossings
from weft.check.readings.readings import Ints


def waiting(crossings: Crossings, faulty: Ints) -> Ints:
    """Rows that shared a stage, in their moment, with one of `faulty`: a message that waits
    behind a slow one accuses no component.

    A slow receiver fills the buffers on the paths to it; under adaptive routing these are many.
    """
    moment = crossings.readings.moment
    n = len(crossings.stages)
    if not faulty.size or not n:
        return faulty
    crossed = crossings.by_stage.tocoo()
    place = moment[crossed.row] * n + crossed.col
    held_up = np.isin(crossed.row, faulty)
    behind = np.isin(place, np.unique(place[held_up]))
    return np.unique(np.concatenate([faulty, crossed.row[behind].astype(np.int64)]))
