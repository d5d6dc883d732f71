"""From the samples of a check to a verdict: findings worst first, coverage, caveats."""

import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from weft.bench.model import Sample, State
from weft.check.external_evidence.class_expectation import record_of
from weft.check.external_evidence.corroboration import JoinedAccusation, joined, unshown
from weft.check.external_evidence.expectation import Expectations, expectations_of
from weft.check.external_evidence.fabric_marks import NO_MARKS, Marks
from weft.check.external_evidence.few_nodes import compared_with_platform
from weft.check.external_evidence.link_rate import compared_with_links, no_link_rate
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.external_evidence.resent_segments import resent_findings
from weft.check.facts import AccusationFacts, NamedPair, PairFacts, SuspectComponent
from weft.check.readings.components import Thing
from weft.check.readings.norms import Norm
from weft.check.readings.readings import Metric
from weft.check.suspects import drift as over_time
from weft.check.suspects.accusation import Accusation, Standing, accuse_all
from weft.check.suspects.fast_pairs import fast_pair_findings
from weft.check.suspects.review import settled
from weft.check.suspects.rival_nodes import effect_of, stands_out, with_rivals
from weft.check.suspects.survey import Survey, survey_of
from weft.check.suspects.untraced import Untraced, untraced
from weft.check.thresholds import CheckThresholds, thresholds
from weft.check.verdict import caveats, intermittent
from weft.check.verdict.coverage import Covered, covered
from weft.check.verdict.missing_inputs import inputs as all_inputs
from weft.check.verdict.missing_inputs import inputs_of, with_findings
from weft.check.verdict.sensitivity import UNJUDGED, Sensitivity, sensitivity_of
from weft.check.verdict.slow_pairs import (
    UnexplainedPairs,
    pair_findings,
    slow_too,
    stall_findings,
    unexplained_pairs,
)
from weft.check.wording import sentences
from weft.check.wording.headline import components_of, things_of
from weft.core.collection import collection_paused
from weft.core.errors import ExitCode
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.topology.fabric import Fabric
from weft.validity import validity
from weft.validity.validity import Validity


@dataclass(frozen=True)
class Verdict:
    """`findings` worst first; `caveats` are sentences about the limits of this run; `inputs` names
    inputs that would show more. A run that is `refused` supports no verdict: its first finding
    holds the reason and the remedy."""

    findings: tuple[Finding, ...]
    coverage: Covered
    caveats: tuple[str, ...]
    survey: Survey = field(repr=False)
    accusations: tuple[Accusation, ...] = ()
    refused: bool = False
    expectations: Expectations | None = None
    inputs: tuple[str, ...] = ()
    sensitivity: Sensitivity = UNJUDGED

    @property
    def exit_code(self) -> ExitCode:
        """1 when a finding is bad; 4 where a run proves nothing; 5 where its readings could not
        show a fault."""
        if self.refused:
            return ExitCode.BENCHMARK
        if _any_bad(self.findings):
            return ExitCode.VERDICT_BAD
        unknown = any(finding.severity is Severity.UNKNOWN for finding in self.findings)
        return ExitCode.NO_VERDICT if unknown else ExitCode.GOOD

    @property
    def endpoints(self) -> tuple[str, ...]:
        """The nodes that were measured; the ranks, where one host holds them all."""
        crossings = self.survey.crossings
        return self.survey.readings.endpoints if len(crossings.hosts) == 1 else crossings.hosts

    def to_record(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {
            "exit_code": int(self.exit_code),
            "findings": [finding.to_record() for finding in self.findings],
            "platform": None if self.expectations is None else self.expectations.platform.name,
            "norms": [norm_record(n, self.expectations) for n in self.survey.normed.norms],
            "coverage": self.coverage.to_record(),
            "would_show": list(self.sensitivity.would_show),
            "would_not_show": list(self.sensitivity.would_not_show),
            "caveats": list(self.caveats),
            "inputs": [{"for": name, **all_inputs()[name].model_dump()} for name in self.inputs],
        }


@collection_paused()
def judge_check(
    samples: Sequence[Sample],
    wiring: Fabric | None,
    *,
    adaptive: bool = False,
    limits: CheckThresholds | None = None,
    machine: ExpectedPlatform | None = None,
    marks: Marks = NO_MARKS,
) -> Verdict:
    """Judge the samples of a check: of its survey, and of the suspects measured again.

    Readings are compared with one another, and whole hop classes with the expectation of
    `machine`. Without one, a fabric slow everywhere looks healthy. `marks`: statements of files.
    """
    limits = limits or thresholds()
    valid = validity.findings(samples)
    if valid.refusal is not None:
        return _refused(samples, wiring, limits, valid, adaptive=adaptive)
    survey, spoiled = _surveyed(samples, wiring, limits, adaptive=adaptive)
    coverage = covered(survey)
    expectations = None if machine is None else expectations_of(survey, machine)
    if not survey.normed.norms:
        expected = _against_limits(survey, samples, expectations)
        found = [*sentences.corrupted(samples), *expected, *valid.findings]
        found, sensitivity = _with_sensitivity(survey, found, coverage, expectations, ())
        lacking = inputs_of(survey, (), coverage, marks=marks, machine=machine)
        return Verdict(
            worst_first(found),
            coverage,
            (*valid.caveats, *marks.doubts, *caveats.without_expectation(expectations)),
            survey,
            expectations=expectations,
            inputs=with_findings(lacking, found),
            sensitivity=sensitivity,
        )
    by_readings = with_rivals(survey, settled(survey, accuse_all(survey)))
    with_files = joined(survey, by_readings, marks)
    accusations = tuple(one.accusation for one in with_files)
    coverage = replace(coverage, out_of_use=_out_of_use(accusations))
    repeated = tuple(untraced(survey, by_readings, marks.counted))
    of_suspects = _findings(survey, with_files, coverage, expectations)
    findings = [
        *sentences.corrupted(samples),
        *valid.findings,
        *of_suspects,
        *unshown(survey, accusations, marks),
        *_against_limits(survey, samples, expectations, _slowed_by(of_suspects)),
        *over_time.findings(survey, spoiled),
        *_of_lost_packets(survey, samples, coverage, accusations),
    ]
    findings = _with_intermittent(survey, findings, coverage, accusations)
    findings, sensitivity = _with_sensitivity(survey, findings, coverage, expectations, repeated)
    limits_of_run = [
        *caveats.of_unattributed(survey, accusations),
        *caveats.of_limits(survey, coverage, expectations),
        *(no_link_rate(samples) if expectations is None else ()),
    ]
    lacking = inputs_of(survey, accusations, coverage, marks=marks, machine=machine)
    return Verdict(
        worst_first(findings),
        coverage,
        (*valid.caveats, *marks.doubts, *limits_of_run),
        survey,
        accusations,
        expectations=expectations,
        inputs=with_findings(lacking, findings),
        sensitivity=sensitivity,
    )


def _surveyed(
    samples: Sequence[Sample], wiring: Fabric | None, limits: CheckThresholds, *, adaptive: bool
) -> tuple[Survey, tuple[over_time.Episode, ...]]:
    """The survey without stretches in which all pairs were slow, and these."""
    survey = survey_of(samples, wiring, limits, adaptive=adaptive)
    spoiled = over_time.spoiled(survey, limits)
    if spoiled:
        survey = survey_of(over_time.without(samples, spoiled), wiring, limits, adaptive=adaptive)
    return survey, spoiled


def _of_lost_packets(
    survey: Survey,
    samples: Sequence[Sample],
    coverage: Covered,
    accusations: Sequence[Accusation],
) -> Iterator[Finding]:
    """What stalled, and who sent much again."""
    yield from stall_findings(survey)
    yield from intermittent.stall_place_findings(survey)
    enough = caveats.enough_nodes(survey, coverage)
    yield from resent_findings(samples, survey, accusations, enough_nodes=enough)


def _with_sensitivity(
    survey: Survey,
    findings: Sequence[Finding],
    coverage: Covered,
    expectations: Expectations | None,
    repeated: Sequence[Untraced],
) -> tuple[list[Finding], Sensitivity]:
    """The findings, and what the readings would have shown; beside a bad finding, the readings that
    it leaves. Without one a finding is added: good where a fault would have shown and nothing is
    slow each time, else unknown."""
    if _any_bad(findings):
        bad = {pair for one in findings if one.severity is Severity.BAD for pair in _pairs_of(one)}
        rows = range(len(survey.readings))
        of_pairs = np.array([survey.readings.unordered(row) in bad for row in rows], np.bool_)
        apart = survey.explained | of_pairs
        return list(findings), sensitivity_of(survey, coverage, expectations, apart=apart)
    sensitivity = sensitivity_of(survey, coverage, expectations, repeated=repeated)
    verdict = (
        sentences.healthy(
            survey,
            coverage,
            expectations,
            sure=not any(one.severity is Severity.WARNING for one in findings),
            level_unknown=sensitivity.level_unknown,
        )
        if sensitivity.is_enough
        else sentences.no_verdict(survey, sensitivity, expectations)
    )
    return [*findings, verdict], sensitivity


def _out_of_use(accusations: Iterable[Accusation]) -> frozenset[Thing]:
    """Cables that carry nothing; the first one of those that no reading separates."""
    dead = (one for one in accusations if one.standing is Standing.OUT_OF_USE)
    return frozenset(one.components[0].thing for one in dead)


def _any_bad(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.BAD for finding in findings)


def _with_intermittent(
    survey: Survey,
    findings: list[Finding],
    coverage: Covered,
    accusations: Sequence[Accusation],
) -> list[Finding]:
    """The findings with intermittent components; next to a fault those that it leaves."""
    if not _any_bad(one for one in findings if one.kind is not FindingKind.SUSPECT_PAIR):
        return _without_pairs_of_intermittent(survey, findings, coverage)
    elsewhere = (Standing.OUT_OF_USE, Standing.EXCHANGED, Standing.ANOTHER_ENTRY)
    if any(one.standing in elsewhere for one in accusations):
        # Messages that take other paths meet others now and then.
        return findings
    if len(accusations) >= survey.limits.most_suspects:
        return findings
    return [*findings, *intermittent.beside_fault(survey)]


def _without_pairs_of_intermittent(
    survey: Survey, findings: Sequence[Finding], coverage: Covered
) -> list[Finding]:
    """The findings with intermittent components, which replace the pairs that they explain and the
    notes that they were normal when measured again. A confirmed component replaces confirmed slow
    pairs only if it explains all of them."""
    # Among few nodes, pairs that are slow at random look like an unsteady node.
    enough_nodes = caveats.enough_nodes(survey, coverage)
    found = intermittent.findings(survey, enough_nodes=enough_nodes)
    sure = [one for one in found if one.severity is Severity.BAD]
    named = {components_of(one) for one in found} - {()}
    surely_slow = [_pairs_of(one) for one in findings if one.severity is Severity.BAD]
    if not all(intermittent.explained(survey, sure, pairs) for pairs in surely_slow):
        return list(findings)

    def is_explained(one: Finding) -> bool:
        if one.kind is FindingKind.SUSPECT_PAIR:
            return intermittent.explained(survey, found, _pairs_of(one))
        return one.severity is Severity.NOTE and components_of(one) in named

    kept = [one for one in findings if not is_explained(one)]
    unexplained = unexplained_pairs(survey)
    return [*kept, *(_with_pairs(survey, one, unexplained) for one in found)]


def _against_limits(
    survey: Survey,
    samples: Sequence[Sample],
    expectations: Expectations | None,
    explained: Set[tuple[Metric, NamedPair]] = frozenset(),
) -> list[Finding]:
    """Findings against the platform; where none is known, against the rates of the links."""
    if expectations is None:
        return [*compared_with_links(survey, samples), *fast_pair_findings(survey)]
    return compared_with_platform(survey, expectations, explained)


def _slowed_by(found: Iterable[Finding]) -> set[tuple[Metric, NamedPair]]:
    """The slow pairs of bad components, by metric."""
    facts = [one.facts for one in found if one.severity is Severity.BAD]
    accused = [one for one in facts if isinstance(one, AccusationFacts)]
    return {(metric, pair) for one in accused for metric in one.metrics for pair in one.pairs}


def _pairs_of(finding: Finding) -> tuple[NamedPair, ...]:
    return finding.facts.pairs if isinstance(finding.facts, PairFacts) else ()


def _with_pairs(survey: Survey, finding: Finding, unexplained: UnexplainedPairs) -> Finding:
    facts = finding.facts
    metrics = set(facts.metrics) if isinstance(facts, AccusationFacts) else set()
    lines = slow_too(survey, unexplained, things_of(finding), metrics)
    return replace(finding, evidence=(*finding.evidence, *lines))


def _refused(
    samples: Sequence[Sample],
    wiring: Fabric | None,
    limits: CheckThresholds,
    valid: Validity,
    *,
    adaptive: bool,
) -> Verdict:
    """The readings without a verdict, and the reason."""
    kept = [
        replace(sample, state=State.OK) if sample.state is State.NOT_ON_FABRIC else sample
        for sample in samples
    ]
    # No class is then large enough for a norm.
    nothing_judged = replace(limits, smallest_class=sys.maxsize)
    survey = survey_of(kept, wiring, nothing_judged, adaptive=adaptive)
    refusal = () if valid.refusal is None else (valid.refusal,)
    return Verdict(
        (*refusal, *sentences.corrupted(samples), *valid.findings),
        covered(survey),
        valid.caveats,
        survey,
        refused=True,
    )


def _findings(
    survey: Survey,
    accused: Sequence[JoinedAccusation],
    coverage: Covered,
    expectations: Expectations | None,
) -> list[Finding]:
    enough_nodes = caveats.enough_nodes(survey, coverage)
    if len(accused) >= survey.limits.most_suspects:
        return [sentences.too_many(survey, sure=enough_nodes)]
    owners = survey.owners
    every = [one.accusation for one in accused]
    unexplained = unexplained_pairs(survey)
    found, named = list[Finding](), list[Accusation]()
    for one in accused:
        accusation = one.accusation
        sure = _sure(accusation, survey, coverage, every)
        sure = sure or (one.by_counters and enough_nodes)
        if one.damage is None:
            finding = sentences.accused(accusation, sure=sure, owners=owners, clean=one.clean)
        else:
            finding = sentences.loses_packets(accusation, one.damage, sure=sure, owners=owners)
        more = () if expectations is None else expectations.line(accusation.worst.norm)
        if finding.severity is Severity.BAD:
            named.append(accusation)
            more = (*more, *slow_too(survey, unexplained, accusation.things))
        found.append(replace(finding, evidence=(*finding.evidence, *one.lines, *more)))
    found += pair_findings(survey, unexplained, named, enough_nodes=enough_nodes)
    return found


def _sure(
    accusation: Accusation, survey: Survey, coverage: Covered, accused: Iterable[Accusation]
) -> bool:
    """Whether an accusation may be called a fault: strong enough, and not seen only once."""
    limits = survey.limits
    # A slightly slower cable between switches that are not known slows a part of the flows.
    guard = limits.guard(accusation.worst.metric, with_fabric=False)
    unknown = survey.crossings.network is None and len(survey.crossings.hosts) > 1
    may_be_a_path = unknown and effect_of(accusation) < guard
    if may_be_a_path or not caveats.enough_nodes(survey, coverage):
        suspects = [SuspectComponent.of(c, survey.owners) for c in accusation.components]
        between_hosts = len(survey.crossings.hosts) > 1
        if between_hosts and all(suspect.node is None for suspect in suspects):
            return False
        if not stands_out(accusation, survey, accused):
            return False
    if accusation.standing is Standing.UNTESTED:
        return accusation.evidence >= limits.named_evidence + limits.confirmed_evidence
    return accusation.evidence >= limits.named_evidence


def norm_record(norm: Norm, expectations: Expectations | None = None) -> dict[str, Any]:
    """A norm as plain JSON values, with its expectation."""
    expected = None if expectations is None else expectations.of.get(norm.hop_class)
    return {
        "metric": norm.hop_class.metric.value,
        "hop_class": norm.hop_class.words,
        "n": norm.n,
        "expected": norm.expected,
        "scatter": norm.sigma,
        "expectation": None if expected is None else record_of(expected),
    }
