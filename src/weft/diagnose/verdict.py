"""From the samples of all pairs to a verdict: findings worst first, coverage, caveats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from weft.bench.model import Sample
from weft.core.errors import ExitCode
from weft.core.finding import Finding, Severity
from weft.diagnose import sentences
from weft.diagnose.coverage import Coverage, coverage_of
from weft.diagnose.crossing import Crossings, Wiring
from weft.diagnose.detour import find_detour
from weft.diagnose.judged import Judged, judge_readings
from weft.diagnose.slow import Mark, Norms
from weft.diagnose.suspects import Explanation, explain
from weft.diagnose.thresholds import Thresholds, thresholds
from weft.diagnose.validity import validity

_SEVERITIES = (Severity.BAD, Severity.WARNING, Severity.NOTE, Severity.GOOD)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`findings` worst first; `caveats` are sentences about what this run cannot say."""

    findings: tuple[Finding, ...]
    coverage: Coverage
    caveats: tuple[str, ...] = ()
    judged: tuple[Judged, ...] = ()
    norms: Norms = field(default_factory=dict)

    @property
    def exit_code(self) -> ExitCode:
        """1 when a finding is bad."""
        bad = any(finding.severity is Severity.BAD for finding in self.findings)
        return ExitCode.VERDICT_BAD if bad else ExitCode.GOOD

    def to_record(self) -> dict[str, Any]:
        """The verdict as plain JSON values."""
        return {
            "exit_code": int(self.exit_code),
            "findings": [finding.to_record() for finding in self.findings],
            "norms": [sentences.norm_record(norm) for norm in self.norms.values()],
            "coverage": self.coverage.to_record(),
            "caveats": list(self.caveats),
        }


def judge_pairs(
    samples: Sequence[Sample],
    fabric: Wiring | None,
    *,
    isolated: Sequence[Sample] = (),
    limits: Thresholds | None = None,
) -> Verdict:
    """Judge the all-pairs `samples`; `isolated` are pairs measured again alone.

    Pairs are compared with one another, so a fabric that is slow everywhere looks healthy here.
    Without a fabric only nodes can be named.
    """
    limits = limits or thresholds()
    coverage = coverage_of(samples, fabric)
    valid = validity.findings((*samples, *isolated))
    if valid.refusal is not None:
        return Verdict((valid.refusal, *valid.findings), coverage, caveats=valid.caveats)
    judged, found_norms, crossings = judge_readings(samples, isolated, fabric, limits)
    if not found_norms:
        finding = sentences.not_enough(coverage, limits)
        return Verdict((finding, *valid.findings), coverage, valid.caveats, judged)
    findings = [
        *sentences.corrupted(samples),
        *valid.findings,
        *sentences.findings(
            _explain(judged, crossings),
            find_detour(judged, crossings),
            judged,
            coverage=coverage,
            with_fabric=fabric is not None,
            limits=limits,
        ),
    ]
    findings.sort(key=lambda finding: _SEVERITIES.index(finding.severity))
    caveats = sentences.caveats(coverage, judged, fabric is not None, limits)
    caveats = (*valid.caveats, *caveats)
    return Verdict(tuple(findings), coverage, caveats, judged, found_norms)


def pairs_to_retest(
    samples: Sequence[Sample], fabric: Wiring | None, *, limits: Thresholds | None = None
) -> tuple[tuple[str, str], ...]:
    """Pairs to measure again alone, slowest first: the slow ones, and where there are any the
    unclear ones, which could excuse a component. At most `retest_limit`."""
    limits = limits or thresholds()
    if validity.findings(samples).refusal is not None:
        return ()
    judged, _, _ = judge_readings(samples, (), fabric, limits)
    worst: dict[tuple[str, str], float] = {}
    for one in judged:
        if one.norm is not None and one.mark in (Mark.SLOW, Mark.UNCLEAR):
            pair = one.reading.pair
            share = one.norm.deviation(one.reading.value) / one.norm.limit
            worst[pair] = max(worst.get(pair, 0.0), share)
    if not any(one.mark is Mark.SLOW for one in judged):
        return ()
    ordered = sorted(worst, key=lambda pair: (-worst[pair], pair))
    return tuple(ordered[: limits.retest_limit])


def _explain(judged: Sequence[Judged], crossings: Crossings) -> Explanation:
    slow = [one.reading for one in judged if one.mark is Mark.SLOW]
    normal = [one.reading for one in judged if one.mark is Mark.NORMAL]
    return explain(slow, normal, crossings)
