"""Switches among which messages choose, in place of the paths between them and all their
neighbours: one fault is likelier than one on each path."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from weft.check.readings.candidates import cable_ports
from weft.check.readings.components import Part
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Accusation, Standing, accuse
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.survey import Survey

_Ends = tuple[int, frozenset[int]]
"""The one switch of paths, and those among which its messages choose, as vertices."""

_SLOW = (Standing.CONFIRMED, Standing.UNTESTED, Standing.COMING_AND_GOING)


def with_common_switches(survey: Survey, made: Sequence[Accusation]) -> list[Accusation]:
    """The accusations, with one of several switches wherever the paths between them and each of
    their neighbours of a level are accused: of most for certain, of others at times, and none twice
    as slow as another."""
    accused: dict[frozenset[int], dict[int, list[Accusation]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for one in made:
        if one.standing in _SLOW and Metric.BANDWIDTH in one.slower:
            for near, far in _ends_of(survey, _ports_of(survey, one)):
                accused[far][near].append(one)
    every: dict[frozenset[int], set[int]] = defaultdict(set)
    for stage in survey.crossings.stages:
        for near, far in _ends_of(survey, stage):
            every[far].add(near)
    kept = list(made)
    for far, by_near in accused.items():
        of_paths = {id(one): one for several in by_near.values() for one in several}
        n_sure = sum(one.standing is not Standing.COMING_AND_GOING for one in of_paths.values())
        if by_near.keys() != every[far] or n_sure < 2 or 2 * n_sure <= len(of_paths):
            continue
        slower = [one.slower[Metric.BANDWIDTH] for one in of_paths.values()]
        if min(slower) < max(slower) / 2:
            continue
        kept = [one for one in kept if id(one) not in of_paths]
        kept.append(_of_switches(survey, far, list(of_paths.values())))
    return kept


def _ports_of(survey: Survey, one: Accusation) -> tuple[int, ...]:
    members = survey.candidates.members[one.candidate]
    return tuple(port for member in members for port in cable_ports(member))


def _ends_of(survey: Survey, ports: Sequence[int]) -> list[_Ends]:
    """Of paths between one switch and several others these; none of other paths."""
    network = survey.crossings.fabric
    if not ports or not network.between_switches[list(ports)].all():
        return []
    cables = {port >> 1 for port in ports}
    ends = [
        {int(network.vertex[2 * cable]), int(network.vertex[2 * cable + 1])} for cable in cables
    ]
    near = set.intersection(*ends)
    far = frozenset(set.union(*ends) - near)
    return [(near.pop(), far)] if len(near) == 1 and len(far) > 1 else []


def _of_switches(survey: Survey, far: frozenset[int], made: Sequence[Accusation]) -> Accusation:
    """The accusation of the switches, by those of their paths."""
    of_switch = survey.candidates.of_part(Part.SWITCH)
    candidates = tuple(sorted({of_switch[number] for number in far}))
    slower = float(np.median([one.slower[Metric.BANDWIDTH] for one in made]))
    evidence = sum(one.evidence for one in made)
    tested = any(one.standing is Standing.CONFIRMED for one in made)
    standing = Standing.CONFIRMED if tested else Standing.UNTESTED
    return accuse(survey, Suspect(candidates, {Metric.BANDWIDTH: slower}, evidence), standing)
