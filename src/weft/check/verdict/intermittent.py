"""Intermittent components: slow in a part of the run, far more often than chance explains."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from weft.check.facts import AccusationFacts
from weft.check.readings.components import PARTS, Component, Part, Thing
from weft.check.readings.readings import METRICS, Bools, Ints, Metric
from weft.check.suspects.accusation import Standing, accuse, components_of, standing_of
from weft.check.suspects.explanation import Suspect
from weft.check.suspects.queueing import waiting
from weft.check.suspects.recurrence import evidence, evidence_by_metric, total
from weft.check.suspects.stall import stall_place
from weft.check.suspects.survey import Survey
from weft.check.verdict.slow_pairs import have_an_end_in
from weft.check.wording.figures import capital, who
from weft.check.wording.headline import things_of
from weft.check.wording.sentences import unsteady
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted


@dataclass(frozen=True)
class Seen:
    """Readings of one metric: `n_slow` of `n` over a component are slow, `n_others_slow` of
    `n_others` elsewhere. `evidence`: a natural logarithm."""

    metric: Metric
    n_slow: int
    n: int
    n_others_slow: int
    n_others: int
    evidence: float


@dataclass(frozen=True)
class Intermittent:
    """`components` that were slow now and then. `seen`: by metric, the one of most evidence first;
    `rows`: the readings over the best candidate."""

    components: tuple[Component, ...]
    seen: tuple[Seen, ...]
    n_rounds_slow: int
    n_rounds: int
    candidates: tuple[int, ...]
    rows: Ints


@dataclass(frozen=True, slots=True)
class IntermittentFacts(FindingFacts):
    """Components that come and go: `n_slow` of `n_crossing` readings of a metric over them are
    slow."""

    components: tuple[Component, ...]
    metric: Metric
    n_slow: int
    n_crossing: int
    evidence: float

    def to_record(self) -> dict[str, Any]:
        """The components as their ends."""
        return _with_ends(asdict(self), self.components)


@dataclass(frozen=True, slots=True)
class StallPlaceFacts(FindingFacts):
    """Components that all `n_pairs` stalled pairs cross, as do `n_crossing` of `n_readings`
    bandwidth readings."""

    components: tuple[Component, ...]
    n_pairs: int
    n_crossing: int
    n_readings: int
    evidence: float

    def to_record(self) -> dict[str, Any]:
        """The components as their ends."""
        return _with_ends(asdict(self), self.components)


def _with_ends(record: dict[str, Any], components: Iterable[Component]) -> dict[str, Any]:
    del record["components"]
    return {"ends": [component.ends for component in components], **record}


def intermittents(survey: Survey) -> tuple[Intermittent, ...]:
    """Intermittent components, the strongest first; no paths among which messages choose.

    The evidence is the logarithm of a binomial likelihood ratio: so many slow readings at the
    component's own rate, against the rate of all others, by all metrics together. The logarithm of
    the number of components is subtracted.
    """
    if not len(survey.candidates):
        return ()
    slowed = _slowed(survey)
    free = survey.judged & survey.in_rounds & ~slowed
    # A reading that one of several paths may have slowed says nothing about its nodes.
    free[survey.rows_of(c for path in survey.crowded for c in path.suspect.candidates)] = False
    free[waiting(survey.crossings, np.flatnonzero(slowed & survey.beyond_noise))] = False
    slow = free & survey.beyond_noise
    most = survey.limits.most_intermittent
    found: list[Intermittent] = []
    while len(found) <= most and (best := _strongest(survey, free, slow, slowed)) is not None:
        found.append(best)
        free[best.rows] = slow[best.rows] = False
    return tuple(found) if len(found) <= most else ()


def _slowed(survey: Survey) -> Bools:
    """By reading: whether a fault slows it."""
    of_others = [s for s in survey.explanation.suspects if not slow_again(survey, s)]
    slowed: Bools = survey.explainer.predicted(of_others) > 0
    return slowed


def _free_alone(survey: Survey, candidate: int, metric: Metric, slowed: Bools) -> Ints:
    """The readings alone over a candidate that no fault slows; all of them where each is slowed."""
    rows = survey.alone_over(candidate, metric)
    free: Ints = rows[~slowed[rows]]
    return free if free.size else rows


def slow_again(survey: Survey, suspect: Suspect) -> bool:
    """Whether a suspect that failed the test was still slow in most readings alone of a metric: by
    another amount each time, or normal now and then."""
    if standing_of(survey, suspect) is not Standing.PASSING:
        return False
    return any(_is_most(*_again(survey, suspect.best, metric)) for metric in suspect.slower)


def findings(survey: Survey, *, enough_nodes: bool) -> list[Finding]:
    """A warning for each intermittent component: it was slow in a part of the run only. A node that
    is slow most of the time, each time by another amount, is a fault, if there are `enough_nodes`
    to know the normal figure."""
    return [
        _unsteady(survey, one, enough_nodes=enough_nodes)
        if _is_unsteady(survey, one)
        else _finding(one)
        for one in intermittents(survey)
    ]


def beside_fault(survey: Survey) -> list[Finding]:
    """A warning for each intermittent component of the readings that a fault leaves: those of other
    paths, whose messages waited behind none of its own."""
    return [_finding(one) for one in intermittents(survey)]


def stall_place_findings(survey: Survey) -> list[Finding]:
    """A warning about the component that all stalled pairs cross, where there is one."""
    place = stall_place(survey)
    if place is None:
        return []
    return [
        Finding(
            FindingKind.ANOMALY,
            Severity.WARNING,
            f"{capital(who(place.components))} may lose packets: all {place.n_pairs} pairs that"
            f" stall cross it, as do {place.n:,} of {place.n_all:,} bandwidth readings.",
            evidence=("the error counters of its ports, read before and after, tell (--counters)",),
            facts=StallPlaceFacts(
                components=place.components,
                n_pairs=place.n_pairs,
                n_crossing=place.n,
                n_readings=place.n_all,
                evidence=round(place.evidence, 2),
            ),
        )
    ]


def explained(survey: Survey, findings: Iterable[Finding], pairs: Iterable[Sequence[str]]) -> bool:
    """Whether each of these pairs is among those that one of the findings accuses, or has an end
    that is accused."""
    things, accused = set[Thing](), set[tuple[str, ...]]()
    for one in findings:
        things |= things_of(one)
        if isinstance(one.facts, AccusationFacts):
            accused |= {tuple(sorted(pair)) for pair in one.facts.pairs}
    others = [pair for pair in pairs if tuple(sorted(pair)) not in accused]
    return have_an_end_in(survey, others, things)


_OWN = (Part.NODE, Part.NODE_SENDING, Part.NODE_RECEIVING, Part.HCA, Part.RANK)


def _is_unsteady(survey: Survey, one: Intermittent) -> bool:
    """Whether a node, or a part of it, is slow more often than not."""
    members = survey.candidates.members[one.candidates[0]]
    return any(PARTS[part] in _OWN for part, _ in members) and bool(_mostly_slow(survey, one))


def _mostly_slow(survey: Survey, one: Intermittent) -> list[Seen]:
    strong = [seen for seen in one.seen if seen.evidence >= survey.limits.suspect_evidence]
    return [seen for seen in strong if _is_most(seen.n_slow, seen.n)]


def _unsteady(survey: Survey, one: Intermittent, *, enough_nodes: bool) -> Finding:
    """The finding rests on the metrics that are mostly slow, unless readings alone refute them."""
    mostly = _mostly_slow(survey, one)
    again = {seen.metric: _again(survey, one.candidates[0], seen.metric) for seen in mostly}
    shown = [seen for seen in mostly if not _is_refuted(seen, *again[seen.metric])]
    counted_in = shown or mostly
    best = one.candidates[0]
    slowed = _slowed(survey)
    found = sum(seen.evidence + _evidence_again(survey, best, seen, slowed) for seen in counted_in)
    slower = {seen.metric: _median_of_slow(survey, one, seen.metric) for seen in counted_in}
    suspect = Suspect(one.candidates, slower, found)
    accusation = accuse(survey, suspect, Standing.CONFIRMED)
    slow_again = any(_is_most(*again[seen.metric]) for seen in shown)
    sure = enough_nodes and found >= survey.limits.named_evidence and slow_again
    sure = sure and not _may_be_a_path(survey, one, {seen.metric.code for seen in counted_in})
    n_again, n = (sum(of) for of in zip(*(again[seen.metric] for seen in counted_in), strict=True))
    alone = f"{n_again} of {counted(n, 'reading')} alone are slow too"
    return unsteady(accusation, alone if n else "not measured again", sure, survey.owners)


def _may_be_a_path(survey: Survey, one: Intermittent, metrics: set[int]) -> bool:
    """Whether, with unknown cables, some flows of a node are slow each time and the others never:
    a path does that, and an unsteady node slows each of its flows now and then."""
    if survey.crossings.network is not None or len(survey.crossings.hosts) == 1:
        return False
    readings, rows = survey.readings, one.rows
    rows = rows[np.isin(readings.metric[rows], list(metrics)) & survey.judged[rows]]
    _, flow = np.unique(
        np.stack([readings.metric[rows], readings.a[rows], readings.b[rows]]),
        axis=1,
        return_inverse=True,
    )
    n = np.bincount(flow.reshape(-1))
    n_slow = np.bincount(flow.reshape(-1), weights=survey.beyond_noise[rows])
    always, never = n_slow == n, n_slow == 0
    return bool(always[n > 1].any() and never.any() and (always | never)[n > 1].all())


def _is_refuted(seen: Seen, n_slow: int, n: int) -> bool:
    """Whether readings alone are slow less than half as often as those of the survey."""
    return 2 * n_slow * seen.n < n * seen.n_slow


def _is_most(n_slow: int, n: int) -> bool:
    return n > 1 and 2 * n_slow > n


def _median_of_slow(survey: Survey, one: Intermittent, metric: Metric) -> float:
    rows = one.rows[survey.readings.metric[one.rows] == metric.code]
    return float(np.median(survey.normed.slower[rows[survey.beyond_noise[rows]]]))


def _evidence_again(survey: Survey, candidate: int, seen: Seen, slowed: Bools) -> float:
    """The evidence of readings alone; zero where they are of one pair only, which may be slow by
    itself."""
    rows = _free_alone(survey, candidate, seen.metric, slowed)
    slow = survey.beyond_noise[rows]
    if np.unique(survey.readings.pair[rows[slow]]).size < 2:
        return 0.0
    n, n_slow = np.array([[rows.size], [int(slow.sum())]], np.float64)
    n_all, n_all_slow = seen.n_others + rows.size, seen.n_others_slow + int(slow.sum())
    return float(evidence(n, n_slow, n_all, n_all_slow, survey.limits.disturbed_share)[0])


def _again(survey: Survey, candidate: int, metric: Metric) -> tuple[int, int]:
    """Of the readings alone over a candidate: how many are slow, and how many there are."""
    rows = survey.alone_over(candidate, metric)
    return int(survey.beyond_noise[rows].sum()), int(rows.size)


def _strongest(survey: Survey, free: Bools, slow: Bools, slowed: Bools) -> Intermittent | None:
    """That of the most evidence, of the survey and of its readings alone."""
    limits = survey.limits
    by_metric = evidence_by_metric(survey, free, slow)
    evidences = total(by_metric, limits)
    shows = by_metric.max(axis=0) >= limits.evidence_a_metric
    if not shows.any():
        return None
    most = float(evidences[shows].max())
    near = np.flatnonzero(shows & (evidences >= most - limits.near_evidence))
    free_of = [free & (survey.readings.metric == metric.code) for metric in METRICS]
    seen_of, found = dict[int, list[Seen]](), dict[int, float]()
    for candidate in near.tolist():
        rows = survey.candidates.rows(candidate)
        of = by_metric[:, candidate] - np.log(evidences.size)
        seen = [_seen(free_of[m.code], rows, slow, m, float(of[m.code])) for m in METRICS]
        seen_of[candidate] = sorted(seen, key=lambda s: -s.evidence)
        again = sum(_evidence_again(survey, candidate, one, slowed) for one in seen if one.n_slow)
        found[candidate] = float(evidences[candidate]) + again
    best = max(found, key=lambda candidate: found[candidate])
    if found[best] < limits.suspect_evidence:
        return None
    rows = survey.candidates.rows(best)
    hit = rows[slow[rows]]
    alike = [
        candidate
        for candidate in sorted(found, key=lambda candidate: -found[candidate])
        if found[candidate] >= found[best] - limits.near_evidence
        and np.isin(survey.candidates.rows(candidate), hit).any()
    ]
    metric = seen_of[best][0].metric
    mine = rows[free[rows] & (survey.readings.metric[rows] == metric.code)]
    rounds = np.stack([survey.readings.trial, survey.readings.round])
    return Intermittent(
        components=components_of(survey, alike),
        seen=tuple(seen_of[best]),
        n_rounds_slow=np.unique(rounds[:, mine[slow[mine]]], axis=1).shape[1],
        n_rounds=np.unique(rounds[:, mine], axis=1).shape[1],
        candidates=tuple(alike),
        rows=rows,
    )


def _seen(of: Bools, rows: Ints, slow: Bools, metric: Metric, evidence: float) -> Seen:
    n, n_slow = int(of[rows].sum()), int((of & slow)[rows].sum())
    n_others, n_others_slow = int(of.sum()) - n, int((of & slow).sum()) - n_slow
    return Seen(metric, n_slow, n, n_others_slow, n_others, evidence)


def _finding(one: Intermittent) -> Finding:
    seen = one.seen[0]
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"{capital(who(one.components))} may be slow now and then: {seen.n_slow} of {seen.n}"
        f" {seen.metric.word} readings over it are slow, {seen.n_others_slow} of"
        f" {seen.n_others:,} others.",
        evidence=(
            f"slow in {one.n_rounds_slow} of {counted(one.n_rounds, 'round')} that cross it",
            "possible causes: a flapping link, other work on the host, other traffic in those"
            " rounds: read the error counters of its ports, and check again",
        ),
        facts=IntermittentFacts(
            components=one.components,
            metric=seen.metric,
            n_slow=seen.n_slow,
            n_crossing=seen.n,
            evidence=round(seen.evidence, 2),
        ),
    )
