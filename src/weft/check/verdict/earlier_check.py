"""A check compared with an earlier one: new, known and mended faults, norms that moved."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np

from weft.check.facts import AccusationFacts, PairFacts
from weft.check.readings.components import PARTS, Part, Thing
from weft.check.readings.norms import Norm
from weft.check.readings.readings import METRICS, Metric
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds, thresholds
from weft.check.verdict.lost_hosts import named_node
from weft.check.verdict.verdict import Verdict
from weft.check.wording.headline import fault_of, headline_of, things_of
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity, worst_first
from weft.core.natural import natural_key
from weft.core.units import format_significant
from weft.core.words import counted

MOST_NAMED = 6
"""More nodes than this are counted, not listed."""


class Change(StrEnum):
    """The change of a thing that is accused in either run."""

    NEW = "new"
    KNOWN = "known"
    MENDED = "mended"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class MovedNorm:
    """The rates of a hop class then and now; `slower`: a natural logarithm."""

    metric: Metric
    hop_class: str
    before: float
    now: float
    slower: float


@dataclass(frozen=True, slots=True)
class MovedNorms(FindingFacts):
    """Norms that differ from those of an earlier check."""

    moved: tuple[MovedNorm, ...]


@dataclass(frozen=True, slots=True)
class Against:
    """`run` is the earlier one's name. `changes`: by finding of the verdict, None where it accuses
    nothing. `past`: findings of the earlier run about things that are accused no longer, each with
    whether they were measured now."""

    run: str
    changes: tuple[Change | None, ...]
    past: tuple[tuple[Change, Finding], ...]

    def to_record(self) -> dict[str, Any]:
        """The past findings as plain JSON values; each finding of now holds its own change."""
        return {
            "run": self.run,
            "gone": [
                {
                    "change": change.value,
                    "sentence": finding.sentence,
                    **_accused_record(finding.facts),
                }
                for change, finding in self.past
            ],
        }


def _accused_record(facts: object) -> dict[str, Any]:
    record = facts.to_record() if isinstance(facts, AccusationFacts | PairFacts) else {}
    return {"suspects": record.get("suspects", []), "pairs": record.get("pairs", [])}


def compare(now: Verdict, before: Verdict, run: str) -> tuple[Verdict, Against]:
    """The verdict with the norms that moved since the run of that name, and the changes."""
    if not now.refused:
        found = (*now.findings, *_moved(now.survey, before.survey, run, thresholds()))
        caveats = (*now.caveats, *_other_nodes(now, before, run))
        now = replace(now, findings=worst_first(found), caveats=caveats)
    accused = [frozenset(_things(finding)) for finding in now.findings]
    earlier = [(one, frozenset(_things(one))) for one in before.findings]
    known: frozenset[Thing] = frozenset().union(*(things for _, things in earlier))
    changes = [
        (Change.KNOWN if things & known else Change.NEW) if things else None for things in accused
    ]
    still: frozenset[Thing] = frozenset().union(*accused)
    left = [(one, things) for one, things in earlier if things and not things & still]
    measured = _measured(now) if left else frozenset()
    past = [
        (Change.MENDED if things & measured else Change.NOT_MEASURED, one) for one, things in left
    ]
    return now, Against(run, tuple(changes), tuple(past))


def summary(finding: Finding) -> str:
    """'1 cable leaf-03[7] <-> spine-03[3], 50 % of others (98.5 of 195 Gb/s)'."""
    headline = headline_of(finding)
    if headline is None:
        return finding.sentence
    return f"{headline.what} {headline.name}, {headline.figure}"


def _things(finding: Finding) -> Iterator[Thing]:
    """The physical things that a finding accuses; pairs, where nothing explains them."""
    lost = named_node(finding)
    if lost is not None:
        yield ("node", (lost,))
    elif fault_of(finding) is not None:
        yield from things_of(finding)
    elif finding.kind is FindingKind.SUSPECT_PAIR and isinstance(finding.facts, PairFacts):
        yield from (("pair", tuple(sorted(pair))) for pair in finding.facts.pairs)


_ONE_DIRECTION = (Part.NODE_SENDING, Part.NODE_RECEIVING, Part.DIRECTION)


def _measured(verdict: Verdict) -> frozenset[Thing]:
    """Every thing that a judged reading of this run crosses, and enough others do not: what all of
    them cross is normal, however slow."""
    survey = verdict.survey
    if verdict.refused or not survey.normed.norms:
        return frozenset()
    judged = survey.normed.norm >= 0
    of_norm = np.bincount(survey.normed.norm[judged])
    most = survey.limits.largest_slow_share
    candidates = survey.candidates
    apart = []
    for number in range(len(candidates)):
        rows = candidates.rows(number)
        crossed = np.bincount(survey.normed.norm[rows[judged[rows]]], minlength=of_norm.size)
        apart.append(bool(((crossed > 0) & (crossed <= most * of_norm)).any()))
    # A direction of a node is compared with its other direction: that is no test of the node.
    one_direction = {PARTS.index(part) for part in _ONE_DIRECTION}
    members = (
        member
        for of, is_apart in zip(candidates.members, apart, strict=True)
        for member in of
        if is_apart and member[0] not in one_direction
    )
    things = {survey.crossings.component(member).thing for member in members}
    readings = survey.readings
    ends = np.unique(np.sort(np.stack([readings.a, readings.b]), axis=0), axis=1).T.tolist()
    names = readings.endpoints
    pairs = {("pair", tuple(sorted((names[a], names[b])))) for a, b in ends}
    return frozenset(things | pairs)


def _moved(now: Survey, before: Survey, run: str, limits: CheckThresholds) -> Iterator[Finding]:
    """One finding a metric and direction, for the hop classes whose norms differ."""
    earlier = {norm.hop_class: norm for norm in before.normed.norms}
    for metric in METRICS:
        found = [
            (norm, was, norm.log_expected - was.log_expected)
            for norm in now.normed.norms
            if norm.hop_class.metric is metric and (was := earlier.get(norm.hop_class))
        ]
        least = limits.least_effect(metric)
        for sign in (1, -1):
            moved = [one for one in found if sign * one[2] > least]
            if moved:
                yield _moved_finding(sorted(moved, key=lambda one: -one[0].n), run)


def _moved_finding(moved: Sequence[tuple[Norm, Norm, float]], run: str) -> Finding:
    now, before, by = moved[0]
    metric = now.hop_class.metric
    lines = [f"{one.hop_class.words}: {_figures(one, was)}" for one, was, _ in moved]
    return Finding(
        FindingKind.REGRESSION if by > 0 else FindingKind.SPEED_UP,
        Severity.WARNING if by > 0 else Severity.NOTE,
        f"All pairs {now.hop_class.words} are {_percent(metric, by)} than in {run}:"
        f" {_figures(now, before)}.",
        evidence=tuple(lines[1:]),
        facts=MovedNorms(
            tuple(
                MovedNorm(metric, one.hop_class.words, was.expected, one.expected, round(much, 4))
                for one, was, much in moved
            )
        ),
    )


def _percent(metric: Metric, by: float) -> str:
    """'8 % slower'; of a latency how much longer, of a rate how much less."""
    share = np.expm1(by if metric is Metric.LATENCY else -by)
    return f"{100 * abs(share):.0f} % {'slower' if by > 0 else 'faster'}"


def _figures(now: Norm, before: Norm) -> str:
    metric = now.hop_class.metric
    figures = [format_significant(norm.expected) for norm in (now, before)]
    return f"{metric.word} {figures[0]} where {figures[1]} {metric.unit} was normal"


def _other_nodes(now: Verdict, before: Verdict, run: str) -> Iterator[str]:
    """Nodes that only one of both measured, and norms that cannot be compared."""
    noun = now.coverage.endpoints.removesuffix("s")
    here, there = dict.fromkeys(now.endpoints), dict.fromkeys(before.endpoints)
    for names, words in (
        ([name for name in there if name not in here], f"of {run} not measured now"),
        ([name for name in here if name not in there], f"not in {run}"),
    ):
        if names:
            names.sort(key=natural_key)
            listed = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
            yield f"{counted(len(names), noun)} {words}: {listed}"
    mine = {norm.hop_class for norm in now.survey.normed.norms}
    if mine.isdisjoint(norm.hop_class for norm in before.survey.normed.norms):
        yield f"{run} measured other sizes or paths: its norms are not compared"
