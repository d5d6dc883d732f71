"""Messages that may be sent at the same time without loading anything above its rate."""

import numpy as np

from weft.check.readings.readings import Bools, Floats, Ints

FULL = 1.001
"""Rates are sums of floating-point numbers: this much above a rate is still the rate."""


def admitted(uses: Ints, load: Floats, room: Floats) -> Bools:
    """Which of n bundles of messages fit, each in turn after the earlier ones; none is left out
    that would fit.

    `uses` (n x w): the places that a bundle crosses, the last place of `room` filling up rows;
    `load` (n x w): how much of the place it takes. A place stands once in a row. `room` is the
    remaining rate of each place, and less afterwards.
    """
    n, width = uses.shape
    taken = np.zeros(n, np.bool_)
    nowhere = room.size - 1
    left = np.arange(n)
    first = np.empty(room.size, np.int64)
    while left.size:
        left = left[(load[left] <= room[uses[left]] * FULL).all(axis=1)]
        crossed = uses[left]
        order = np.repeat(np.arange(left.size), width)
        # INVARIANT: of equal places the last assignment stays, so that the first bundle has it.
        first[crossed.reshape(-1)[::-1]] = order[::-1]
        mine = first[crossed] == np.arange(left.size)[:, None]
        now = (mine | (crossed == nowhere)).all(axis=1)
        taken[left[now]] = True
        gone, which = np.unique(crossed[now], return_inverse=True)
        room[gone] -= np.bincount(which.reshape(-1), weights=load[left[now]].reshape(-1))
        room[nowhere] = np.inf
        left = left[~now]
    return taken
