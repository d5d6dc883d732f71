"""The components of a verdict: how slow each node, HCA, cable and pair was, and who is accused."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
from scipy.sparse import csr_matrix

from weft.check.readings.readings import METRICS, Floats, Ints, Metric
from weft.check.suspects.survey import Survey
from weft.check.trials import SURVEY
from weft.check.verdict.drain_list import accused_node
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import fault_of
from weft.check.wording.junit import accused_kind, accused_name
from weft.core.finding import FAULTS, FindingKind, verdict_of
from weft.study.history.run_components import (
    ADAPTER,
    CABLE,
    NODE,
    PAIR,
    ComponentSeries,
    NamedComponent,
    RunAccusation,
    RunComponents,
)

MOST_PAIRS = 2_016
"""All pairs of 64 nodes: larger checks keep their nodes, HCAs and cables."""

_DIGITS = 5


def components_of(verdict: Verdict) -> RunComponents:
    """The components of a verdict. One that refuses its run has none: its readings do not count."""
    severity = verdict_of(verdict.findings).value
    if verdict.refused:
        return RunComponents("unknown", verdict.findings[0].sentence)
    if not verdict.survey.normed.norms:
        return RunComponents(severity, "too few pairs are alike to tell a slow one")
    slowness = {
        series: round(value, _DIGITS)
        for series, value in _slowness(verdict.survey)
        if isfinite(value)
    }
    return RunComponents(severity, "", slowness, tuple(_accused(verdict)))


def _accused(verdict: Verdict) -> Iterator[RunAccusation]:
    for finding in verdict.findings:
        if finding.severity not in FAULTS:
            continue
        node = accused_node(finding)
        if node is not None:
            yield RunAccusation(NamedComponent(NODE, node), finding.severity.value)
        elif fault_of(finding) is not None or finding.kind is FindingKind.SUSPECT_PAIR:
            named = NamedComponent(accused_kind(finding), accused_name(finding))
            yield RunAccusation(named, finding.severity.value)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A component and the readings that cross it: `sides` are places in the rows of one metric, of
    each of its two directions; of a metric without a direction there is one."""

    component: NamedComponent
    sides: tuple[Ints, ...]

    def slower(self, left: Floats) -> tuple[float, ...]:
        """By side the median of what is left of its readings' slowness; NaN without any."""
        return tuple(float(np.median(left[side])) if side.size else nan for side in self.sides)

    def gain(self, left: Floats) -> float:
        """How much nearer its readings are to normal without its median: the sum of distances. Of a
        slow node all readings come nearer, of a cable behind it only some."""
        pairs = zip(self.sides, self.slower(left), strict=True)
        return sum(
            float((np.abs(left[side]) - np.abs(left[side] - of)).sum())
            for side, of in pairs
            if of > 0
        )


def _slowness(survey: Survey) -> Iterator[tuple[ComponentSeries, float]]:
    """By series the median over the readings of the survey that cross the component, of a bandwidth
    in its slower direction. What a component explains is taken from those that explain less, and
    from the pairs: a slow node shows as itself, not as all its pairs."""
    in_survey = survey.readings.of_trial(SURVEY)
    rows = in_survey[survey.judged[in_survey]]
    for metric in METRICS:
        of = rows[survey.readings.metric[rows] == metric.code]
        if not of.size:
            continue
        left = survey.normed.slower[of].copy()
        candidates = list(_candidates(survey, of, metric))
        gains = [candidate.gain(left) for candidate in candidates]
        for i in np.argsort(-np.array(gains), kind="stable"):
            slower = candidates[i].slower(left)
            yield ComponentSeries(candidates[i].component, metric.value), _largest(slower)
            for side, value in zip(candidates[i].sides, slower, strict=True):
                left[side] -= value if value > 0 else 0.0
        pairs = list(_pairs(survey, of, metric))
        for pair in pairs if len(pairs) <= MOST_PAIRS else ():
            yield ComponentSeries(pair.component, metric.value), _largest(pair.slower(left))


def _largest(values: tuple[float, ...]) -> float:
    """The slower direction; NaN where none was measured."""
    return max((one for one in values if isfinite(one)), default=nan)


def _candidates(survey: Survey, rows: Ints, metric: Metric) -> Iterator[_Candidate]:
    ends = np.stack([survey.readings.a[rows], survey.readings.b[rows]])
    kinds = [(NODE, *_by_host(survey, ends)), (ADAPTER, ends, _adapters(survey))]
    for kind, number, names in kinds:
        if not names:
            continue
        sides = [_places(side, len(names)) for side in number]
        for i, name in enumerate(names):
            of_one = (sides[0][i], sides[1][i])
            joined = (np.union1d(*of_one),) if metric.both_directions else of_one
            yield _Candidate(NamedComponent(kind, name), joined)
    network = survey.crossings.network
    # With adaptive routing a reading crosses one of several cables.
    if network is None or survey.crossings.adaptive:
        return
    crossed = csr_matrix(survey.crossings.by_stage[rows] @ (survey.crossings.by_port > 0)).tocsc()
    for cable in np.flatnonzero(network.between_switches[::2]).tolist():
        directions = tuple(
            crossed.indices[crossed.indptr[port] : crossed.indptr[port + 1]].astype(np.int64)
            for port in (2 * cable, 2 * cable + 1)
        )
        if metric.both_directions:
            directions = (np.union1d(*directions),)
        if any(side.size for side in directions):
            of_ports = NamedComponent(CABLE, " <-> ".join(network.cables[cable]))
            yield _Candidate(of_ports, directions)


def _pairs(survey: Survey, rows: Ints, metric: Metric) -> Iterator[_Candidate]:
    number, names = _by_host(survey, np.stack([survey.readings.a[rows], survey.readings.b[rows]]))
    low, high = np.sort(number, axis=0)
    found, of_pair = np.unique(low * len(names) + high, return_inverse=True)
    places = _places(of_pair.reshape(-1), found.size)
    for pair, where in zip(found.tolist(), places, strict=True):
        one, other = pair // len(names), pair % len(names)
        if one == other:
            continue
        ahead = number[0][where] == one
        sides = (where,) if metric.both_directions else (where[ahead], where[~ahead])
        yield _Candidate(
            NamedComponent(PAIR, " - ".join(sorted((names[one], names[other])))), sides
        )


def _by_host(survey: Survey, ends: Ints) -> tuple[Ints, tuple[str, ...]]:
    """By end of a reading the number of its host, and their names; the ranks of a single host."""
    hosts = survey.crossings.hosts
    if len(hosts) == 1:
        return ends, survey.readings.endpoints
    return survey.crossings.host_number[ends], hosts


def _places(number: Ints, n: int) -> list[Ints]:
    """By number 0 .. n - 1 the places that have it."""
    order = np.argsort(number, kind="stable")
    return np.split(order, np.cumsum(np.bincount(number, minlength=n))[:-1])


def _adapters(survey: Survey) -> tuple[str, ...]:
    """By endpoint its HCA, else its rank; none where each node has one."""
    names, network = survey.readings.endpoints, survey.crossings.network
    if len(survey.crossings.hosts) in (1, len(names)):
        return ()
    found = [None if network is None else network.hca_of(name) for name in names]
    return tuple(name if hca is None else hca for name, hca in zip(names, found, strict=True))
