"""What paths deliver, held against paths of their kind: as many cables, leading up or down."""

from dataclasses import dataclass

import numpy as np

from weft.check.readings.norms import faster_population
from weft.check.readings.readings import Bools, Floats, Ints
from weft.check.thresholds import CheckThresholds
from weft.stats.summary import robust_sigma


@dataclass(frozen=True)
class Delivered:
    """By path (number `paths`, of kind `kind`): how slow it is, and the standard error of that.
    `climbs`: messages that go down meet others from everywhere and are slower than those that go
    up."""

    paths: Ints
    kind: Ints
    climbs: Ints
    slower: Floats
    error: Floats


def out_of_kind(delivered: Delivered, limits: CheckThresholds) -> Floats:
    """By path: standard deviations that it is slower than others of its kind; 0 where these are too
    few."""
    clear = np.zeros(delivered.paths.size)
    for kind in np.unique(delivered.kind):
        of_kind = delivered.kind == kind
        if of_kind.sum() < limits.crowded_peers:
            continue
        values, usual = apart(delivered, of_kind, limits)
        least = np.maximum(delivered.error[of_kind], limits.scale_floor / 2)
        clear[of_kind] = values / np.maximum(robust_sigma(np.concatenate(usual)), least)
    return clear


def apart(
    delivered: Delivered, of_kind: Bools, limits: CheckThresholds
) -> tuple[Floats, list[Floats]]:
    """How much slower paths of a kind are than the median of those that lead as they do, up or
    down, and the same of those that are not clearly slow."""
    values, climbs = delivered.slower[of_kind].copy(), delivered.climbs[of_kind]
    usual: list[Floats] = []
    for path in np.unique(climbs):
        same = climbs == path
        fast = faster_population(np.sort(values[same]), limits.bandwidth_guard, limits)
        values[same] -= np.median(fast)
        usual.append(fast - np.median(fast))
    return values, usual


def beyond(delivered: Delivered, mine: Bools, of_kind: Bools, share: float) -> Floats:
    """Of the paths `mine`: how much slower each is than the fastest `share` of those of its kind
    that lead as it does (0: than the fastest one; natural logarithm)."""
    same = [of_kind & (delivered.climbs == climbs) for climbs in delivered.climbs[mine]]
    fast = [float(np.quantile(delivered.slower[one], share)) for one in same]
    return np.asarray(delivered.slower[mine] - fast, np.float64)
