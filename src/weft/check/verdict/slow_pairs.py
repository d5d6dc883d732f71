"""Slow pairs that no component explains: always slow, by more than chance."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from weft.check.facts import NamedPair
from weft.check.readings.components import Thing
from weft.check.readings.readings import METRICS, Bools, Floats, Ints, Metric, host_of
from weft.check.suspects.accusation import Accusation, Count, slow_rows
from weft.check.suspects.disturbance import shares
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds
from weft.check.wording import sentences
from weft.check.wording.figures import against, list_pairs
from weft.core.finding import Finding


@dataclass(frozen=True)
class Lone:
    """A reading of each pair and metric that was slow whenever it was measured. `sure`: by more
    than chance; `perhaps`: possibly, for the reason in `doubt`."""

    sure: tuple[int, ...]
    perhaps: tuple[int, ...]
    doubt: str


def lone_findings(
    survey: Survey, lone: Lone, named: Sequence[Accusation], *, enough_nodes: bool
) -> list[Finding]:
    """A finding about the pairs that are certainly slow; else one about those that may be. With too
    few nodes no pair is certain, because the normal figure is unknown. Pairs of a component that is
    accused already (`named`) are evidence of its finding (`slow_too`)."""
    things = {component.thing for one in named for component in one.components}
    if sure := _of(survey, lone.sure, things, mine=False):
        again = "still slow when measured again alone"
        if not enough_nodes:
            again += "; too few nodes to know which pairs are normal"
        return [_finding(survey, sure, again, confirmed=enough_nodes)]
    if perhaps := _of(survey, lone.perhaps, things, mine=False):
        return [_finding(survey, perhaps, lone.doubt, confirmed=False)]
    return []


def slow_too(
    survey: Survey, lone: Lone, things: Set[Thing], but: Set[Metric] = frozenset()
) -> Iterator[str]:
    """Lines about the pairs of accused things that are slow, or may be, by what their accusation
    does not explain: by other metrics `but` those."""
    codes, metric = {one.code for one in but}, survey.readings.metric
    sure, perhaps = (
        [row for row in _of(survey, rows, things, mine=True) if metric[row] not in codes]
        for rows in (lone.sure, lone.perhaps)
    )
    if sure:
        yield (
            f"also slow: {list_pairs(_pairs(survey, sure))}, {against(_worst(survey, sure))}; this"
            " fault may be the cause: check again after the repair"
        )
    if perhaps:
        worst = against(_worst(survey, perhaps))
        yield f"may be slow too: {list_pairs(_pairs(survey, perhaps))}, {worst}; {lone.doubt}"


def have_an_end_in(survey: Survey, pairs: Iterable[Sequence[str]], things: Set[Thing]) -> bool:
    """Whether an end of each of these pairs is one of the things."""
    return all(any(things & _things_of(survey, end) for end in pair) for pair in pairs)


def _of(survey: Survey, rows: Iterable[int], things: Set[Thing], *, mine: bool) -> list[int]:
    """Those of pairs with an end that is one of the things, or without."""
    return [row for row in rows if have_an_end_in(survey, [_pair(survey, row)], things) == mine]


def _things_of(survey: Survey, endpoint: str) -> set[Thing]:
    """An endpoint as a node, a rank and an HCA."""
    network = survey.crossings.network
    hca = endpoint if network is None else network.hca_of(endpoint) or endpoint
    return {("node", (host_of(endpoint),)), ("rank", (endpoint,)), ("hca", (hca,))}


def lone_pairs(survey: Survey, limits: CheckThresholds) -> Lone:
    """Pairs that no suspect explains, slow in the survey and every time they were alone, by as much
    as a component must be; where nothing was measured alone, a few that were slow in the survey."""
    if not survey.alone.size:
        few = survey.lone.size <= limits.most_lone
        return Lone((), tuple(survey.lone.tolist() if few else ()), "not measured again alone")
    rows = _always_slow(survey, limits)
    readings = survey.readings
    share = _chance(survey, rows, limits)
    n_tested = len({_pair(survey, row) for row in survey.lone.tolist()})
    sure, perhaps = list[int](), list[int]()
    for row, n_again in rows.items():
        chance = n_tested * float(share[readings.metric[row]]) ** n_again
        (sure if chance <= limits.chance_of_a_lone_pair else perhaps).append(row)
    worst = max((float(share[readings.metric[row]]) for row in rows), default=0.0)
    doubt = (
        f"still slow when measured again alone, but so are {100 * worst:.0f} % of the readings of"
        " other pairs: measure again when the hosts are quiet"
    )
    return Lone(tuple(sure), tuple(perhaps), doubt)


def _chance(survey: Survey, always_slow: dict[int, int], limits: CheckThresholds) -> Floats:
    """By metric: how often a reading of other pairs is slow for no reason: in the survey, but for
    slow pairs that were not measured again; or alone, whichever is more."""
    readings = survey.readings
    pair = readings.pair
    alone = np.isin(np.arange(len(readings)), survey.alone)
    others = (survey.explanation.predicted == 0) & ~np.isin(pair, pair[list(always_slow)])
    unknown = np.isin(pair, np.setdiff1d(pair[survey.lone], pair[alone]))
    found = shares(readings, survey.normed, others & ~alone & ~unknown, limits)
    slow = survey.normed.slower > limits.lone_sigma * survey.normed.sigma
    for metric in METRICS:
        again = others & alone & (readings.metric == metric.code)
        if again.any():
            found[metric.code] = max(found[metric.code], float(slow[again].mean()))
    return found


def _always_slow(survey: Survey, limits: CheckThresholds) -> dict[int, int]:
    """Rows of the survey, and how often the same was measured again, slow each time."""
    readings = survey.readings
    unexplained = _slow_enough(survey, limits) & (survey.explanation.predicted == 0)
    found: dict[int, int] = {}
    for row in survey.lone.tolist():
        if row in survey.alone or not unexplained[row]:
            continue
        again: Ints = survey.alone[
            (readings.metric[survey.alone] == readings.metric[row])
            & (readings.a[survey.alone] == readings.a[row])
            & (readings.b[survey.alone] == readings.b[row])
        ]
        if again.size >= 2 and unexplained[again].all():
            found[row] = int(again.size)
    return found


def _slow_enough(survey: Survey, limits: CheckThresholds) -> Bools:
    known = limits if survey.crossings.network is not None else limits.without_fabric
    least = np.array([known.least_effect(metric) for metric in METRICS])
    slow: Bools = slow_rows(survey) & (survey.normed.slower >= least[survey.readings.metric])
    return slow


def _pair(survey: Survey, row: int) -> NamedPair:
    a, b = survey.readings.name(row)
    return (min(a, b), max(a, b))


def _pairs(survey: Survey, rows: Iterable[int]) -> list[NamedPair]:
    return sorted({_pair(survey, row) for row in rows})


def _finding(survey: Survey, rows: Sequence[int], again: str, *, confirmed: bool) -> Finding:
    return sentences.lone_pairs(
        _pairs(survey, rows),
        against(_worst(survey, rows)),
        again,
        with_fabric=survey.crossings.network is not None,
        confirmed=confirmed,
    )


def _worst(survey: Survey, rows: Sequence[int]) -> Count:
    row = max(rows, key=lambda row: survey.normed.slower[row])
    norm = survey.normed.norms[survey.normed.norm[row]]
    return Count(norm.hop_class.metric, norm, float(survey.readings.value[row]), 1, 1, 0, 0)
