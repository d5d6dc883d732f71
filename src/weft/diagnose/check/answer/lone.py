"""Slow pairs that no component explains: those that are always slow, by more than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from weft.core.finding import Finding
from weft.diagnose.check.answer import sentences
from weft.diagnose.check.answer.words import against, list_pairs
from weft.diagnose.check.measured.components import Thing
from weft.diagnose.check.measured.readings import METRICS, Bools, Floats, Ints, host_of
from weft.diagnose.check.suspects.accusation import Accusation, Count, slow_rows
from weft.diagnose.check.suspects.disturbed import shares
from weft.diagnose.check.suspects.survey import Survey
from weft.diagnose.check.thresholds import Thresholds

NamedPair = tuple[str, str]


@dataclass(frozen=True)
class Lone:
    """Pairs that were slow whenever they were measured, with a slow row of each. `sure`: by more
    than chance; `share`: of the readings of other pairs that are as slow for no reason."""

    sure: dict[NamedPair, int]
    perhaps: dict[NamedPair, int]
    share: float


def lone_findings(
    survey: Survey, lone: Lone, told: Sequence[Accusation], *, enough_nodes: bool
) -> list[Finding]:
    """A finding about the pairs that are slow for sure; else one about those that may be: of too
    few nodes no pair is for sure, since nobody knows which of them are normal. Pairs of what is
    `told` for a fault are no finding of their own: it is mended first, whatever else it slows."""
    if not survey.alone.size:
        pairs = {_pair(survey, row): row for row in survey.lone.tolist()[::-1]}
        others = _of_others(survey, pairs, told)
        if others and survey.lone.size <= survey.limits.most_lone:
            return [_finding(survey, others, "not measured again alone", confirmed=False)]
        return []
    if sure := _of_others(survey, lone.sure, told):
        again = "measured again alone and still slow"
        if not enough_nodes:
            again += "; but of so few nodes nobody knows which pairs are normal"
        return [_finding(survey, sure, again, confirmed=enough_nodes)]
    if perhaps := _of_others(survey, lone.perhaps, told):
        again = (
            "measured again alone and still slow; but so are"
            f" {100 * lone.share:.0f} % of the readings of other pairs, for no reason: measure"
            " again when the hosts are quiet"
        )
        return [_finding(survey, perhaps, again, confirmed=False)]
    return []


def slow_too(survey: Survey, lone: Lone, accused: Accusation) -> tuple[str, ...]:
    """A line about the pairs of a node that are slow whenever they are measured, by a metric that
    the node is not accused of."""
    others = _of_others(survey, lone.sure, [accused])
    rows = {pair: row for pair, row in lone.sure.items() if pair not in others}
    if not rows:
        return ()
    return (
        f"{list_pairs(sorted(rows))}: {against(_worst(survey, rows))}, too; that may be its doing:"
        " check again when it is mended",
    )


def _of_others(
    survey: Survey, pairs: dict[NamedPair, int], told: Sequence[Accusation]
) -> dict[NamedPair, int]:
    """Those of no node, HCA or rank that is told of."""
    things = {component.thing for one in told for component in one.components}
    return {
        pair: row
        for pair, row in pairs.items()
        if not any(things & _things_of(survey, end) for end in pair)
    }


def _things_of(survey: Survey, endpoint: str) -> set[Thing]:
    """An endpoint as a node, a rank and an HCA."""
    network = survey.crossings.network
    hca = endpoint if network is None else network.hca_of(endpoint) or endpoint
    return {("node", (host_of(endpoint),)), ("rank", (endpoint,)), ("hca", (hca,))}


def lone_pairs(survey: Survey, limits: Thresholds) -> Lone:
    """Pairs that no suspect explains, slow in the survey and every time they were alone, by as much
    as a component must be."""
    rows = _always_slow(survey, limits)
    readings = survey.readings
    share = _chance(survey, rows, limits)
    n_tested = len({_pair(survey, row) for row in survey.lone.tolist()})
    sure: dict[NamedPair, int] = {}
    perhaps: dict[NamedPair, int] = {}
    for row, n_again in rows.items():
        chance = n_tested * float(share[readings.metric[row]]) ** n_again
        (sure if chance <= limits.chance_of_a_lone_pair else perhaps).setdefault(
            _pair(survey, row), row
        )
    worst = max((float(share[readings.metric[row]]) for row in rows), default=0.0)
    return Lone(sure, perhaps, worst)


def _chance(survey: Survey, always_slow: dict[int, int], limits: Thresholds) -> Floats:
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


def _always_slow(survey: Survey, limits: Thresholds) -> dict[int, int]:
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


def _slow_enough(survey: Survey, limits: Thresholds) -> Bools:
    known = limits if survey.crossings.network is not None else limits.without_fabric
    least = np.array([known.least_effect(metric) for metric in METRICS])
    slow: Bools = slow_rows(survey) & (survey.normed.slower >= least[survey.readings.metric])
    return slow


def _pair(survey: Survey, row: int) -> NamedPair:
    a, b = survey.readings.name(row)
    return (min(a, b), max(a, b))


def _finding(survey: Survey, rows: dict[NamedPair, int], again: str, *, confirmed: bool) -> Finding:
    return sentences.lone_pairs(
        sorted(rows),
        against(_worst(survey, rows)),
        again,
        with_fabric=survey.crossings.network is not None,
        confirmed=confirmed,
    )


def _worst(survey: Survey, rows: dict[NamedPair, int]) -> Count:
    row = max(rows.values(), key=lambda row: survey.normed.slower[row])
    norm = survey.normed.norms[survey.normed.norm[row]]
    return Count(norm.hop_class.metric, norm, float(survey.readings.value[row]), 1, 1, 0, 0)
