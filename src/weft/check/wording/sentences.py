"""Findings of a check as sentences a person can act on: what, how much, how sure, what to do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from weft.bench.model import Sample
from weft.check.external_evidence.expectation import Expectations
from weft.check.external_evidence.lossy_cables import Damage
from weft.check.facts import DisturbedReadings, PairFacts
from weft.check.readings.norms import Norm, medians
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.stall import Stall
from weft.check.suspects.survey import Survey
from weft.check.verdict.coverage import Covered
from weft.check.verdict.sensitivity import Sensitivity
from weft.check.wording.accused import alone, finding_of
from weft.check.wording.cabling import OF_CABLING
from weft.check.wording.figures import (
    against,
    certainty,
    list_pairs,
    over_it,
    own_node,
)
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell
from weft.core.units import format_significant
from weft.core.words import counted

_COUNTERS = {
    Damage.GROWN: "its error counters grew, or its link went down during the check: traffic of"
    " other jobs is less likely",
    Damage.LITTLE: "its error counters grew by one or two, or as after a reboot of a host: traffic"
    " of other jobs may be the cause",
    Damage.OLD: "its counters hold errors of unknown age: if they do not grow (--counters EARLIER"
    " --counters LATER), traffic of other jobs may be the cause",
}


def accused(
    accusation: Accusation, *, sure: bool, owners: Mapping[str, str], clean: bool = False
) -> Finding:
    """The finding of an accusation; `sure`: it may be named as the fault; `clean`: its counters
    show no error. `owners`: the node of each HCA."""
    match accusation.standing:
        case Standing.MET:
            return _met(accusation, owners, clean=clean)
        case Standing.OUT_OF_USE | Standing.EXCHANGED | Standing.ANOTHER_ENTRY as standing:
            return OF_CABLING[standing](accusation, owners, sure=sure)
        case Standing.COMING_AND_GOING:
            return _coming_and_going(accusation, owners, clean=clean)
        case Standing.PASSING | Standing.LONGER | Standing.PARTNERS as standing:
            return _OF_STANDING[standing](accusation, owners)
    text = f"{'is slow' if sure else 'may be slow'}: {_slowness(accusation)}."
    return finding_of(accusation, owners, text, _evidence(accusation, sure=sure), sure=sure)


def loses_packets(
    accusation: Accusation, damage: Damage, *, sure: bool, owners: Mapping[str, str]
) -> Finding:
    """The finding of a component that error counters accuse, where readings alone do not. `sure`:
    it may be named as the fault, if the counters grew."""
    sure = sure and damage is Damage.GROWN
    text = f"{'loses' if sure else 'may lose'} packets: {_slowness(accusation)}."
    evidence = ("only some of its messages are slow: packet loss does that", _COUNTERS[damage])
    return finding_of(accusation, owners, text, evidence, sure=sure)


def unsteady(accusation: Accusation, again: str, sure: bool, owners: Mapping[str, str]) -> Finding:
    """The finding of a node that is slow in most of its readings, each by a different amount.
    `again`: the result of measuring it again."""
    text = f"{'is' if sure else 'may be'} unsteady: {_slowness(accusation)}."
    why = (
        "most readings are slow, each by a different amount: other processes or interrupts on"
        " the CPU do that"
    )
    return finding_of(accusation, owners, text, (why, again), sure=sure)


def _slowness(accusation: Accusation) -> str:
    return f"{against(accusation.worst)}; {over_it(accusation.worst)}"


def _met(accusation: Accusation, owners: Mapping[str, str], *, clean: bool) -> Finding:
    lost = "" if clean else ", or packets are lost there"
    why = "possible causes: traffic of another job, outdated tables, hashed routes"
    if not clean:
        why += "; or packets lost on the path, if its error counters (PortRcvErrors) grow"
    text = (
        f"is slow under load and {alone(accusation)}: {against(accusation.worst)};"
        f" its messages meet other traffic{lost}."
    )
    finding = finding_of(accusation, owners, text, (over_it(accusation.worst), why))
    return replace(finding, kind=FindingKind.ANOMALY)


def _coming_and_going(accusation: Accusation, owners: Mapping[str, str], *, clean: bool) -> Finding:
    why = "possible causes: traffic of another job" + ("" if clean else ", a flapping link")
    evidence = (
        "a fault slows every message over it, and more of these readings are normal than noise"
        " makes so",
        f"{why}: read the error counters of its ports, and check again",
    )
    finding = finding_of(accusation, owners, f"comes and goes: {_slowness(accusation)}.", evidence)
    return replace(finding, kind=FindingKind.ANOMALY)


def _longer(accusation: Accusation, owners: Mapping[str, str]) -> Finding:
    evidence = (
        "its bandwidth is normal: its messages may take a longer path than the fabric file says,"
        " by other cabling or other tables (weft fabric audit)",
        "other possible causes: a longer cable, or one that corrects errors (FEC)",
    )
    text = f"takes longer at full rate: {_slowness(accusation)}."
    return replace(finding_of(accusation, owners, text, evidence), kind=FindingKind.ANOMALY)


def _some_partners(accusation: Accusation, owners: Mapping[str, str]) -> Finding:
    evidence = (
        "with some partners it is normal, by more than noise explains: a cable or switch that most"
        " of its messages share may be slow, or the node at times",
        "the fabric file tells which (--fabric with the output of ibnetdiscover and dump_lfts)",
    )
    text = f"is slow with some partners and normal with others: {_slowness(accusation)}."
    return replace(finding_of(accusation, owners, text, evidence), kind=FindingKind.ANOMALY)


def _passing(accusation: Accusation, owners: Mapping[str, str]) -> Finding:
    text = "was slow in the survey and normal when measured again."
    why = (
        "possible causes: traffic of another job, a flapping link, packet loss: read its error"
        " counters, or check again later"
    )
    finding = finding_of(accusation, owners, text, (against(accusation.worst), why))
    return replace(finding, kind=FindingKind.ANOMALY, severity=Severity.NOTE)


def _evidence(accusation: Accusation, *, sure: bool) -> Iterable[str]:
    for count in accusation.counts:
        if count is not accusation.worst:
            yield f"{against(count)}; {over_it(count)}"
    if accusation.evidence_alone is not None:
        load = "still slow" if accusation.standing is Standing.CONFIRMED else "normal"
        if accusation.evidence_alone > 0:
            yield "still slow when measured again alone, with other partners"
        else:
            yield f"measured again: normal alone, {load} under load"
    else:
        yield "not measured again"
    yield certainty(accusation, sure=sure)
    if accusation.tie:
        yield _tie(accusation)


def _tie(accusation: Accusation) -> str:
    """The components that no reading separates, and the test that does."""
    if own_node(accusation.components) is None:
        names = ", ".join(component.name for component in accusation.components)
        return f"no reading separates these: {names}"
    tie = "all its messages cross its one cable: swap the cable to separate the two"
    if set(accusation.slower) == {Metric.LATENCY}:
        tie += " (a bad cable would lower the bandwidth, which is normal: look at the node first)"
    return tie


def unexplained_pairs(
    pairs: Sequence[tuple[str, str]], worst: str, again: str, *, with_fabric: bool, confirmed: bool
) -> Finding:
    """Slow pairs that no single component explains. `confirmed`: they stay slow alone; `again`: the
    result of measuring them again."""
    who_ = f"Pair {pairs[0][0]} - {pairs[0][1]}" if len(pairs) == 1 else f"{len(pairs)} pairs"
    verb = "is" if len(pairs) == 1 else "are"
    verb = verb if confirmed else "may be"
    them = "it" if len(pairs) == 1 else "them"
    doubt = f"no single component explains {them}" if with_fabric else "its cables are not known"
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if confirmed else Severity.WARNING,
        f"{who_} {verb} slow, and {doubt}: {worst}.",
        evidence=(list_pairs(pairs), again),
        facts=PairFacts(tuple(pairs)),
    )


def stalled(stall: Stall, cables: Sequence[str]) -> Finding:
    """A message of a pair stood still: certain if another one did when the pair was measured
    again."""
    a, b = stall.pair
    sure = stall.n_stalled > 0
    again = f"{stall.n_stalled} of {counted(stall.n_again, 'reading')} measured again alone too"
    once = f"not again in {counted(stall.n_again, 'reading')}" if stall.n_again else "not repeated"
    where = ", ".join(cables) or "not known without a fabric"
    return Finding(
        FindingKind.SUSPECT_PAIR,
        Severity.BAD if sure else Severity.WARNING,
        f"Pair {a} - {b} stalls: a reading took {stall.slowest:,.0f} times as long as others,"
        f" {again if sure else once}.",
        evidence=(
            "so long waits a sender whose packet was lost: the error counters of the cables between"
            " them tell which one (--counters)",
            f"cables of its paths: {where}",
        ),
        facts=PairFacts((stall.pair,)),
    )


def healthy(
    survey: Survey,
    covered: Covered,
    expectations: Expectations | None = None,
    *,
    sure: bool = True,
    level_unknown: str = "",
) -> Finding:
    """Nothing is slow; not `sure` beside a warning. `level_unknown`: of the sensitivity."""
    slower = "slower" if sure else "certainly slower"
    level = f"; {level_unknown}" if level_unknown else ""
    return Finding(
        FindingKind.HEALTHY,
        Severity.GOOD,
        f"No component of {covered.n_nodes} {covered.endpoints} is {slower} than its kind{level}.",
        evidence=_measured(survey, expectations),
        facts=DisturbedReadings(int(survey.unexplained.size)),
    )


def no_verdict(
    survey: Survey, sensitivity: Sensitivity, expectations: Expectations | None = None
) -> Finding:
    """No fault shows, and the readings could not have shown one."""
    why, inputs = sensitivity.cannot_tell, sensitivity.would_tell
    tell = ("; or " if len(inputs) > 2 else " or ").join(inputs)
    return Finding(
        FindingKind.NOT_ENOUGH_DATA,
        Severity.UNKNOWN,
        cannot_tell(why[0], tell),
        evidence=(*why[1:], *_measured(survey, expectations)),
        facts=DisturbedReadings(int(survey.unexplained.size)),
    )


def _measured(survey: Survey, expectations: Expectations | None) -> tuple[str, ...]:
    """The figures of each hop class, and the number of readings that were slow once."""
    norms = sorted(survey.normed.norms, key=lambda n: (n.hop_class.metric, n.hop_class.n_links))
    small = () if expectations is None else expectations.small
    lines = [
        *(
            _figures(norm, f"scatter {100 * norm.sigma:.1f} %, ") + _after(norm, expectations)
            for norm in norms
        ),
        *(_figures(one.norm, "") + _after(one.norm, expectations) for one in small),
    ]
    if not lines:
        lines = [_figures(norm, "") for norm in medians(survey.crossings)]
    disturbed = int(survey.unexplained.size)
    if disturbed:
        share = 100 * disturbed / max(1, int(survey.judged.sum()))
        lines.append(
            f"{counted(disturbed, 'reading')} ({share:.1f} %) slow once, without a common"
            " component: disturbances"
        )
    return tuple(lines)


def _after(norm: Norm, expectations: Expectations | None) -> str:
    """The expectation of a norm as a clause; "" where it has none."""
    return "" if expectations is None else expectations.after(norm)


def _figures(norm: Norm, scatter: str) -> str:
    of = norm.hop_class
    return (
        f"{of.metric.word}, {of.words}: {format_significant(norm.expected)} {of.metric.unit}"
        f" ({scatter}{counted(norm.n, 'reading')})"
    )


def too_many(survey: Survey, *, sure: bool) -> Finding:
    """So many suspects that no fault of single components explains them; `sure`: of nodes enough to
    know what is normal."""
    slow = float(np.mean(survey.explained))
    return Finding(
        FindingKind.ANOMALY,
        Severity.BAD if sure else Severity.WARNING,
        f"{100 * slow:.0f} % of the readings are slow, and no small set of components explains"
        " them.",
        evidence=("possible causes: load of other jobs, a wrong fabric file, wrong tables",),
    )


def corrupted(samples: Iterable[Sample]) -> list[Finding]:
    """Pairs that received damaged bytes."""
    bad = sorted({(s.pair.a, s.pair.b) for s in samples if s.pair and "invalid_data" in s.flags})
    if not bad:
        return []
    return [
        Finding(
            FindingKind.FAILURE,
            Severity.BAD,
            f"{counted(len(bad), 'pair')} received bytes that differ from the sent ones.",
            evidence=(list_pairs(bad),),
            facts=PairFacts(tuple(bad)),
        )
    ]


_OF_STANDING = {
    Standing.PASSING: _passing,
    Standing.LONGER: _longer,
    Standing.PARTNERS: _some_partners,
}
