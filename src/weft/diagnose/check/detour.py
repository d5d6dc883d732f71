"""Cables out of use: what should cross them goes around, and meets the messages of others."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from weft.diagnose.check.accusation import Accusation, Standing, slow_rows
from weft.diagnose.check.readings import Bools, Ints
from weft.diagnose.check.survey import Survey

ALIKE = 0.25
"""Messages that met are slowed by about the same: logarithms closer than this."""

SAME_MOMENTS = 0.9
"""Two cables are slow together when they share this much of the moments of either."""


def without_detours(survey: Survey, made: Sequence[Accusation]) -> tuple[Accusation, ...]:
    """The accusations, with cables that are out of use called so.

    A cable is out of use when its messages are slow beside others only, and messages off it are
    about as slow in the same moments. Those look accused, too, and are nobody's fault. Two cables
    that are slow in the same moments are a tie: either's messages may go over the other. Under
    adaptive routing, and without a fabric, nothing is known of this.
    """
    if survey.crossings.network is None or survey.crossings.adaptive:
        return tuple(made)
    moment, slow = survey.readings.moment, slow_rows(survey)
    kept = [a for a in made if a.standing is not Standing.MET or not _is_cable(a)]
    met = [a for a in made if a not in kept]
    # Where messages should have gone is slow whatever else runs; where they go, beside them only.
    met.sort(key=lambda a: (-_share_slow(survey, a), -a.evidence))
    found: list[tuple[Accusation, set[int]]] = []
    for accusation in met:
        moments = set(moment[accusation.rows].tolist())
        excused = set().union(*(of for _, of in found))
        if len(moments & excused) >= SAME_MOMENTS * len(moments):
            found = [(_tied(a, of, accusation, moments), of) for a, of in found]
        elif _have_company(survey, accusation, slow, moment):
            found.append((replace(accusation, standing=Standing.OUT_OF_USE), moments))
        else:
            kept.append(accusation)
    return tuple(sorted([*kept, *(a for a, _ in found)], key=lambda a: -a.evidence))


def _tied(accusation: Accusation, of: set[int], other: Accusation, moments: set[int]) -> Accusation:
    """The accusation, with the other's components where both are slow in the same moments."""
    if len(moments & of) < SAME_MOMENTS * len(of):
        return accusation
    components = dict.fromkeys((*accusation.components, *other.components))
    return replace(accusation, components=tuple(components))


def _is_cable(accusation: Accusation) -> bool:
    return all(component.thing[0] == "cable" for component in accusation.components)


def _share_slow(survey: Survey, accusation: Accusation) -> float:
    """Slow readings of all that the accused should have carried beside others."""
    rows = np.setdiff1d(survey.candidates.rows(accusation.candidate), survey.alone)
    return float(np.isin(rows, accusation.rows).sum() / max(1, rows.size))


def _have_company(survey: Survey, accusation: Accusation, slow: Bools, moment: Ints) -> bool:
    """Whether in most moments in which the accused is slow, something off it is about as slow."""
    slower = survey.normed.slower
    rows = accusation.rows
    elsewhere = np.setdiff1d(np.flatnonzero(slow), rows)
    moments = np.unique(moment[rows])
    n_shared = 0
    for number in moments:
        mine = float(np.median(slower[rows[moment[rows] == number]]))
        others = slower[elsewhere[moment[elsewhere] == number]]
        n_shared += bool((np.abs(others - mine) < ALIKE).any())
    return n_shared > moments.size / 2
