"""Slow pairs that no component explains: always slow, by more than chance."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np

from weft.check.facts import NamedPair
from weft.check.readings.components import Thing
from weft.check.readings.readings import METRICS, Floats, Ints, Metric, host_of
from weft.check.suspects.accusation import Accusation, Count
from weft.check.suspects.disturbance import shares
from weft.check.suspects.stall import stalls
from weft.check.suspects.survey import Survey
from weft.check.wording import sentences
from weft.check.wording.figures import against, list_pairs
from weft.core.finding import Finding


@dataclass(frozen=True)
class UnexplainedPairs:
    """A reading of each pair and metric that was slow whenever it was measured. `sure`: by more
    than chance; `perhaps`: possibly, for the reason in `doubt`."""

    sure: tuple[int, ...]
    perhaps: tuple[int, ...]
    doubt: str


def pair_findings(
    survey: Survey,
    unexplained: UnexplainedPairs,
    named: Sequence[Accusation],
    *,
    enough_nodes: bool,
) -> list[Finding]:
    """A finding about the pairs that are certainly slow; else one about those that may be. With too
    few nodes a pair is certain only if most pairs of its ends are normal. Pairs of a component that
    is accused already (`named`) are evidence of its finding (`slow_too`)."""
    things = frozenset[Thing]().union(*(one.things for one in named))
    if sure := _of(survey, unexplained.sure, things, mine=False):
        again = "still slow when measured again alone"
        confirmed = enough_nodes or _are_the_exception(survey, sure)
        if not confirmed:
            again += "; too few nodes to know which pairs are normal"
        return [_finding(survey, sure, again, confirmed=confirmed)]
    if perhaps := _of(survey, unexplained.perhaps, things, mine=False):
        return [_finding(survey, perhaps, unexplained.doubt, confirmed=False)]
    return []


def stall_findings(survey: Survey) -> list[Finding]:
    """One about each pair of which a message stood still."""
    return [sentences.stalled(stall, _cables_of(survey, stall.pair)) for stall in stalls(survey)]


def _cables_of(survey: Survey, pair: NamedPair) -> tuple[str, ...]:
    """The cables of the paths there and back; none without a fabric."""
    network = survey.crossings.network
    if network is None:
        return ()
    stages = survey.crossings.ports_of([pair, (pair[1], pair[0])])
    cables = dict.fromkeys(port >> 1 for path in stages for stage in path for port in stage)
    return tuple(" - ".join(network.cables[cable]) for cable in cables)


def _are_the_exception(survey: Survey, rows: Sequence[int]) -> bool:
    """Whether most pairs of each end are normal."""
    pair = survey.readings.unordered
    slow = {pair(row) for row in np.flatnonzero(survey.slow).tolist()}
    every = {pair(row) for row in np.flatnonzero(survey.judged).tolist()}
    ends = {end for row in rows for end in pair(row)}
    shares = ([p in slow for p in every if end in p] for end in ends)
    return all(2 * sum(of) < len(of) for of in shares)


def slow_too(
    survey: Survey,
    unexplained: UnexplainedPairs,
    things: Set[Thing],
    but: Set[Metric] = frozenset(),
) -> Iterator[str]:
    """Lines about the pairs of accused things that are slow, or may be, by what their accusation
    does not explain: by other metrics `but` those."""
    codes, metric = {one.code for one in but}, survey.readings.metric
    sure, perhaps = (
        [row for row in _of(survey, rows, things, mine=True) if metric[row] not in codes]
        for rows in (unexplained.sure, unexplained.perhaps)
    )
    if sure:
        yield (
            f"also slow: {list_pairs(_pairs(survey, sure))}, {against(_worst(survey, sure))}; this"
            " fault may be the cause: check again after the repair"
        )
    if perhaps:
        worst, doubt = against(_worst(survey, perhaps)), unexplained.doubt
        yield f"may be slow too: {list_pairs(_pairs(survey, perhaps))}, {worst}; {doubt}"


def have_an_end_in(survey: Survey, pairs: Iterable[Sequence[str]], things: Set[Thing]) -> bool:
    """Whether an end of each of these pairs is one of the things."""
    return all(any(things & _things_of(survey, end) for end in pair) for pair in pairs)


def _of(survey: Survey, rows: Iterable[int], things: Set[Thing], *, mine: bool) -> list[int]:
    """The rows of pairs with an end that is one of the things, or of those without."""
    pair = survey.readings.unordered
    return [row for row in rows if have_an_end_in(survey, [pair(row)], things) == mine]


def _things_of(survey: Survey, endpoint: str) -> set[Thing]:
    """An endpoint as a node, a rank and an HCA."""
    network = survey.crossings.network
    hca = endpoint if network is None else network.hca_of(endpoint) or endpoint
    return {("node", (host_of(endpoint),)), ("rank", (endpoint,)), ("hca", (hca,))}


def unexplained_pairs(survey: Survey) -> UnexplainedPairs:
    """Pairs that no suspect explains, slow in the survey and every time they were alone, by as much
    as a component must be. Without readings alone, a few that were slow in the survey."""
    limits = survey.limits
    if not survey.alone.size:
        few = survey.unexplained.size <= limits.most_unexplained
        return UnexplainedPairs(
            (), tuple(survey.unexplained.tolist() if few else ()), "not measured again alone"
        )
    rows = _always_slow(survey)
    readings = survey.readings
    share = _chance(survey, rows)
    n_tested = len({readings.unordered(row) for row in survey.unexplained.tolist()})
    sure, perhaps = list[int](), list[int]()
    for row, n_again in rows.items():
        chance = n_tested * float(share[readings.metric[row]]) ** n_again
        (sure if chance <= limits.chance_of_a_pair else perhaps).append(row)
    worst = max((float(share[readings.metric[row]]) for row in rows), default=0.0)
    doubt = (
        f"still slow when measured again alone, but so are {100 * worst:.0f} % of the readings of"
        " other pairs: measure again when the hosts are quiet"
    )
    return UnexplainedPairs(tuple(sure), tuple(perhaps), doubt)


def _chance(survey: Survey, always_slow: dict[int, int]) -> Floats:
    """By metric: the share of readings of other pairs that are slow without a reason: in rounds,
    without slow pairs that were not measured again; or alone, the larger one."""
    readings, pair = survey.readings, survey.readings.pair
    others = ~survey.explained & ~np.isin(pair, pair[list(always_slow)])
    unknown = np.isin(pair, np.setdiff1d(pair[survey.unexplained], pair[survey.alone]))
    in_rounds = others & survey.in_rounds & ~unknown
    found = shares(readings, survey.normed, in_rounds, survey.limits)
    for metric in METRICS:
        again = others & survey.is_alone & (readings.metric == metric.code)
        if again.any():
            found[metric.code] = max(found[metric.code], float(survey.beyond_noise[again].mean()))
    return found


def _always_slow(survey: Survey) -> dict[int, int]:
    """Rows of the survey, and how often the same was measured again, slow each time."""
    readings = survey.readings
    least = np.array([survey.limits.least_effect(metric) for metric in METRICS])
    slow_enough = survey.slow & (survey.normed.slower >= least[readings.metric])
    unexplained = slow_enough & ~survey.explained
    found: dict[int, int] = {}
    for row in survey.unexplained.tolist():
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


def _pairs(survey: Survey, rows: Iterable[int]) -> list[NamedPair]:
    return sorted({survey.readings.unordered(row) for row in rows})


def _finding(survey: Survey, rows: Sequence[int], again: str, *, confirmed: bool) -> Finding:
    return sentences.unexplained_pairs(
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
