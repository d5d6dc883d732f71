"""Hosts that a check lost, as findings of its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from weft.bench.live.lost_hosts import LostHost
from weft.check.facts import NodeFaultFacts
from weft.check.trials import ALONE, TOGETHER
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity

if TYPE_CHECKING:
    from weft.check.verdict.verdict import Verdict


@dataclass(frozen=True, slots=True)
class LostHostFacts(FindingFacts):
    """A host that stopped answering; `surveyed`: after it was measured."""

    node: str
    cause: str
    remedy: str
    surveyed: bool


_NOT_AGAIN = {ALONE: "alone", TOGETHER: "under load"}


def with_lost(
    verdict: "Verdict", lost: Sequence[LostHost], failed: Sequence[str] = ()
) -> "Verdict":
    """The verdict on the remaining hosts, with a finding about each lost host before all other bad
    ones, and a caveat where a trial `failed` for it. A refusal stays first."""
    if not lost:
        return verdict
    trials = " and ".join(words for trial, words in _NOT_AGAIN.items() if trial in failed)
    remarks = (f"suspects were not measured again {trials}: a host was lost",) if trials else ()
    n_first = 1 if verdict.refused else 0
    found = tuple(_finding(one) for one in lost)
    findings = (*verdict.findings[:n_first], *found, *verdict.findings[n_first:])
    return replace(verdict, findings=findings, caveats=(*remarks, *verdict.caveats))


def lost_node(finding: Finding) -> str | None:
    """The host that a finding reports as lost; None of any other finding."""
    return finding.facts.node if isinstance(finding.facts, LostHostFacts) else None


def named_node(finding: Finding) -> str | None:
    """The node that a finding names without readings: a lost host, or one whose own launches of
    nccl-tests show its fault; None of any other finding."""
    facts = finding.facts
    return facts.node if isinstance(facts, NodeFaultFacts) else lost_node(finding)


def n_unmeasured(findings: Sequence[Finding]) -> int:
    """How many hosts were lost before they were measured."""
    lost = [one.facts for one in findings if isinstance(one.facts, LostHostFacts)]
    return sum(not host.surveyed for host in lost)


def _finding(lost: LostHost) -> Finding:
    after = "after the survey, whose readings of it are judged"
    when = after if lost.surveyed else "before it was measured: the remaining nodes were measured"
    return Finding(
        FindingKind.LOST_NODE,
        Severity.BAD,
        f"{lost.sentence}.",
        evidence=(f"lost {when}",),
        facts=LostHostFacts(lost.host, lost.cause, lost.remedy, lost.surveyed),
    )
