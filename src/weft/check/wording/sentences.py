"""Findings of a check as sentences a person can act on: what, how much, how sure, what to do."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from weft.bench.model import Sample
from weft.check.external_evidence.expectation import Expectations
from weft.check.external_evidence.lossy_cables import Damage
from weft.check.facts import AccusationFacts, DisturbedReadings, PairFacts
from weft.check.readings.components import Component, Part
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.survey import Survey
from weft.check.verdict.coverage import Covered
from weft.check.wording.figures import (
    against,
    list_pairs,
    over_it,
    own_node,
    subject,
    who,
)
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted

_KIND_OF_PART = {
    Part.NODE: FindingKind.SUSPECT_NODE,
    Part.NODE_SENDING: FindingKind.SUSPECT_NODE,
    Part.NODE_RECEIVING: FindingKind.SUSPECT_NODE,
    Part.HCA: FindingKind.SUSPECT_NODE,
    Part.RANK: FindingKind.SUSPECT_NODE,
    Part.RAIL: FindingKind.MIS_SETTING,
    Part.CABLE: FindingKind.SUSPECT_LINK,
    Part.DIRECTION: FindingKind.SUSPECT_LINK,
    Part.SWITCH: FindingKind.SUSPECT_SWITCH,
}


_SINCE = {
    Damage.GROWN: "its error counters grew: so other traffic that its messages met is less likely",
    Damage.LITTLE: "its error counters grew by one or two, or as they do when a host reboots: other"
    " traffic may be the cause",
    Damage.OLD: "nobody knows since when its counters hold errors: other traffic may be the cause,"
    " if they do not grow (--counters EARLIER --counters LATER)",
}


_MOST_SAID = 1000


def accused(
    accusation: Accusation, *, sure: bool, owners: Mapping[str, str], clean: bool = False
) -> Finding:
    """The finding of an accusation; `sure`: it may be named as the fault; `clean`: its counters
    show no error. `owners`: the node of each HCA."""
    if accusation.standing is Standing.MET:
        return _met(accusation, owners, clean=clean)
    if accusation.standing is Standing.PASSING:
        return _passing(accusation, owners)
    if accusation.standing is Standing.OUT_OF_USE:
        return _out_of_use(accusation, owners, sure=sure)
    worst = accusation.worst
    says = "is slow" if sure else "may be slow"
    return Finding(
        kind_of(accusation.components),
        Severity.BAD if sure else Severity.WARNING,
        f"{subject(accusation)} {says}: {against(worst)}; {over_it(worst)}.",
        evidence=tuple(_evidence(accusation)),
        facts=AccusationFacts.of(accusation, owners),
    )


def loses_packets(
    accusation: Accusation, damage: Damage, *, sure: bool, owners: Mapping[str, str]
) -> Finding:
    """The finding of what error counters accuse, and the readings alone would not; `sure`: it may
    be named as the fault, where they grew."""
    sure = sure and damage is Damage.GROWN
    return Finding(
        kind_of(accusation.components),
        Severity.BAD if sure else Severity.WARNING,
        f"{subject(accusation)} {'loses' if sure else 'may lose'} packets:"
        f" {against(accusation.worst)}; {over_it(accusation.worst)}.",
        evidence=("slow in some of its messages only, as where packets are lost", _SINCE[damage]),
        facts=AccusationFacts.of(accusation, owners),
    )


def unsteady(accusation: Accusation, again: str, sure: bool, owners: Mapping[str, str]) -> Finding:
    """The finding of a node that is slow in most of its readings, each by another amount; `again`:
    how it stood being measured again."""
    return Finding(
        kind_of(accusation.components),
        Severity.BAD if sure else Severity.WARNING,
        f"{subject(accusation)} {'is' if sure else 'may be'} unsteady: {against(accusation.worst)};"
        f" {over_it(accusation.worst)}.",
        evidence=(
            "unsteady: slow in most readings, each by another amount, as where other processes or"
            " interrupts take the CPU",
            again,
        ),
        facts=AccusationFacts.of(accusation, owners),
    )


def _met(accusation: Accusation, owners: Mapping[str, str], *, clean: bool) -> Finding:
    lost = "" if clean else ", or packets are lost there"
    why = "another job's traffic, outdated tables or hashed routes do that"
    if not clean:
        why += (
            ", and so do, as likely, packets that are lost on the way: error counters that grow"
            " (PortRcvErrors) tell"
        )
    return Finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"Messages over {who(accusation.components)} meet other traffic{lost}:"
        f" {against(accusation.worst)} beside other messages, normal alone.",
        evidence=(over_it(accusation.worst), why),
        facts=AccusationFacts.of(accusation, owners),
    )


def _passing(accusation: Accusation, owners: Mapping[str, str]) -> Finding:
    return Finding(
        FindingKind.ANOMALY,
        Severity.NOTE,
        f"{subject(accusation)} was slow in the survey and normal when measured again.",
        evidence=(
            against(accusation.worst),
            "a neighbour's traffic, a link that flaps or one that loses packets comes and goes:"
            " look at its error counters, or check again later",
        ),
        facts=AccusationFacts.of(accusation, owners),
    )


def _out_of_use(accusation: Accusation, owners: Mapping[str, str], *, sure: bool) -> Finding:
    says = "carries nothing" if sure else "may carry nothing"
    around = "its messages go over the other" if accusation.tie else "its messages go around"
    return Finding(
        kind_of(accusation.components),
        Severity.BAD if sure else Severity.WARNING,
        f"{subject(accusation)} {says}: {around}.",
        evidence=(
            f"beside other messages {against(accusation.worst)}; {_alone(accusation)}",
            over_it(accusation.worst),
            "in the same moments messages of other cables were as slow: they share a way with them",
            "down, disabled or left out by the routing: look at the state of its ports",
        ),
        facts=AccusationFacts.of(accusation, owners),
    )


def _alone(accusation: Accusation) -> str:
    if accusation.evidence_alone is None:
        return "not measured alone"
    return "normal alone" if accusation.evidence_alone <= 0 else "slow alone, too"


def kind_of(components: Sequence[Component]) -> FindingKind:
    """What kind of finding names these components."""
    if own_node(components) is not None:
        return FindingKind.SUSPECT_NODE
    return _KIND_OF_PART[components[0].part] if len(components) == 1 else FindingKind.TIE


def _evidence(accusation: Accusation) -> Iterable[str]:
    for count in accusation.counts:
        if count is not accusation.worst:
            yield f"{against(count)}; {over_it(count)}"
    if accusation.evidence_alone is not None:
        again = "still slow" if accusation.standing is Standing.CONFIRMED else "not slow"
        if accusation.evidence_alone > 0:
            yield "measured again with other partners and nothing beside them: still slow"
        else:
            yield f"nothing shows with nothing beside them; under load {again}"
    else:
        yield "not measured again"
    yield f"a likelihood ratio of {_ratio(accusation.evidence)} against its being healthy"
    if accusation.tie:
        yield _how_to_tell(accusation)


def _ratio(evidence: float) -> str:
    """Beyond a thousand figures nobody reads the exponent."""
    return f"e^{evidence:.0f}" if evidence < _MOST_SAID else f"more than e^{_MOST_SAID}"


def _how_to_tell(accusation: Accusation) -> str:
    if own_node(accusation.components) is None:
        names = ", ".join(component.name for component in accusation.components)
        return f"no reading tells these apart: {names}"
    tie = "all its messages cross its one cable: swap the cable to tell"
    if set(accusation.slower) == {Metric.LATENCY}:
        tie += " (its bandwidth is normal, which a bad cable would lower: look at the node first)"
    return tie


def lone_pairs(
    pairs: Sequence[tuple[str, str]], worst: str, again: str, *, with_fabric: bool, confirmed: bool
) -> Finding:
    """Slow pairs that no one component explains; `confirmed`: they stay slow alone; `again`: how
    they stood being measured again."""
    who_ = f"Pair {pairs[0][0]} - {pairs[0][1]}" if len(pairs) == 1 else f"{len(pairs)} pairs"
    verb = "is" if len(pairs) == 1 else "are"
    verb = verb if confirmed else "may be"
    doubt = "no one component explains it" if with_fabric else "which cable is not known"
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if confirmed else Severity.WARNING,
        f"{who_} {verb} slow and {doubt}: {worst}.",
        evidence=(list_pairs(pairs), again),
        facts=PairFacts(tuple(pairs)),
    )


def healthy(survey: Survey, covered: Covered, expectations: Expectations | None = None) -> Finding:
    """Nothing is slow."""
    norms = sorted(survey.normed.norms, key=lambda n: (n.hop_class.metric, n.hop_class.n_links))
    evidence = [
        f"{n.hop_class.metric.word}, {n.hop_class.words}: {format_significant(n.expected)}"
        f" {n.hop_class.metric.unit} (scatter {100 * n.sigma:.1f} %, {counted(n.n, 'reading')})"
        for n in norms
    ]
    if expectations is not None:
        evidence = [
            line + expectations.after(norm) for line, norm in zip(evidence, norms, strict=True)
        ]
    disturbed = int(survey.lone.size)
    if disturbed:
        share = 100 * disturbed / max(1, int((survey.normed.norm >= 0).sum()))
        evidence.append(
            f"{counted(disturbed, 'reading')} ({share:.1f} %) slow once, with nothing in common:"
            " disturbances"
        )
    return Finding(
        FindingKind.HEALTHY,
        Severity.GOOD,
        f"No component of {covered.n_nodes} {covered.endpoints} is slower than its kind.",
        evidence=tuple(evidence),
        facts=DisturbedReadings(disturbed),
    )


def not_enough(covered: Covered, least: int, expectations: Expectations | None = None) -> Finding:
    """No hop class has enough readings; what was measured stands beside what is expected."""
    small = () if expectations is None else expectations.small
    instead = f" Held against platform {expectations.platform.name} alone." if expectations else ""
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.NOTE,
        f"{counted(covered.n_pairs, 'pair')} of {counted(covered.n_nodes, covered.noun)} cannot be"
        f" held against one another: {least} readings of one kind are needed.{instead}",
        evidence=tuple(
            f"{one.norm.hop_class.metric.word}, {one.norm.hop_class.words}:"
            f" {format_significant(one.norm.expected)} {one.norm.hop_class.metric.unit}"
            f" ({counted(one.norm.n, 'reading')}); {one.words} expected"
            for one in small
        ),
    )


def too_many(survey: Survey, *, sure: bool) -> Finding:
    """So many suspects that no fault of single components explains them; `sure`: of nodes enough to
    know what is normal."""
    slow = float(np.mean(survey.explanation.predicted > 0))
    return Finding(
        FindingKind.ANOMALY,
        Severity.BAD if sure else Severity.WARNING,
        f"{100 * slow:.0f} % of the readings are slow, and no few components explain them.",
        evidence=("load from elsewhere, a wrong fabric file or wrong tables do that",),
    )


def corrupted(samples: Iterable[Sample]) -> list[Finding]:
    """Pairs whose received bytes were not the bytes sent."""
    bad = sorted({(s.pair.a, s.pair.b) for s in samples if s.pair and "invalid_data" in s.flags})
    if not bad:
        return []
    return [
        Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"{counted(len(bad), 'pair')} received other bytes than were sent.",
            evidence=(list_pairs(bad),),
            facts=PairFacts(tuple(bad)),
        )
    ]
