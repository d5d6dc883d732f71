"""The verdict of a check by nccl-tests: on its pairs, and on faults that pairs do not show."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from weft.bench.nccl.backend import PAIR_PASS
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.facts import NodeFaultFacts
from weft.check.nccl import failed_launches, groups, nodes_alone, settings
from weft.check.nccl.adapters import adapter_lines
from weft.check.nccl.outcomes import GroupOutcome, of_pass, outcomes_of
from weft.check.thresholds import thresholds
from weft.check.verdict.drain_list import accused_node
from weft.check.wording.headline import fault_of
from weft.core.finding import Finding, FindingKind, Severity, cannot_tell, worst_first
from weft.core.words import counted, first_few
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

if TYPE_CHECKING:
    from weft.check.verdict.verdict import Verdict

MOST_NAMED = 6
REPLACED = (FindingKind.HEALTHY, FindingKind.NOT_ENOUGH_DATA)
"""Findings about all nodes that do not stand beside a fault."""


def gpus_of_run(run: StudyRun) -> int | None:
    """GPUs of a node that a run by nccl-tests used; None of other runs."""
    n_gpus = backend_of(run).facts.get("gpus_per_node")
    return n_gpus if isinstance(n_gpus, int) else None


def with_nccl(verdict: "Verdict", run: StudyRun, machine: ExpectedPlatform | None) -> "Verdict":
    """The verdict with the faults of nodes alone, failed launches and wrong results; unchanged of a
    run by other ranks."""
    outcomes = outcomes_of(run.samples)
    if not outcomes:
        return verdict
    limits = thresholds()
    figures = nodes_alone.figures_of(outcomes, machine, limits)
    logs, tool = run.directory, str(backend_of(run).facts.get("tool", "nccl-tests"))
    found = [
        *(_with_log(one, logs, outcomes) for one in failed_launches.findings(outcomes, tool)),
        *nodes_alone.findings(figures, machine, limits),
        *settings.version_findings(outcomes),
        *settings.log_findings(logs, outcomes, is_fast=machine is not None),
        *_not_checked(outcomes),
    ]
    accused = {node for one in (*found, *verdict.findings) if (node := accused_node(one))}
    found += groups.findings(outcomes, accused)
    found += _not_measured(outcomes, backend_of(run).facts.get("nodes", ()), accused, found)
    shown = (*nodes_alone.would_show(figures, limits), *verdict.sensitivity.would_show)
    sensitivity = replace(verdict.sensitivity, would_show=shown)
    return replace(_joined(verdict, found, outcomes), sensitivity=sensitivity)


def _not_checked(outcomes: list[GroupOutcome]) -> list[Finding]:
    """A warning where launches gave figures, and no count of wrong elements."""
    ok = [one for one in outcomes if one.is_ok]
    n = sum(one.n_wrong is None for one in ok)
    if not n:
        return []
    return [
        Finding(
            FindingKind.MIS_SETTING,
            Severity.WARNING,
            f"The results of {n} of {counted(len(ok), 'launch', 'launches')} were not checked:"
            " wrong ones would not show.",
            evidence=("nccl-tests prints no number under #wrong; it checks with -c 1",),
        )
    ]


def _not_measured(
    outcomes: list[GroupOutcome], nodes: Iterable[str], accused: set[str], found: list[Finding]
) -> list[Finding]:
    """No verdict about nodes of which no pair worked, where no other finding says so."""
    if any(one.severity is Severity.UNKNOWN for one in found):
        return []
    worked = {host for one in of_pass(outcomes, PAIR_PASS) if one.is_ok for host in one.hosts}
    left = [node for node in nodes if node not in worked | accused]
    if not left:
        return []
    names = first_few(left[:MOST_NAMED], len(left))
    return [
        Finding(
            FindingKind.NOT_ENOUGH_DATA,
            Severity.UNKNOWN,
            cannot_tell(f"no launch of {names} with another node worked", failed_launches.NEXT),
        )
    ]


def _joined(verdict: "Verdict", found: list[Finding], outcomes: list[GroupOutcome]) -> "Verdict":
    own = verdict.findings
    measured = any(one.is_ok for one in of_pass(outcomes, PAIR_PASS))
    no_verdict = any(one.severity is Severity.UNKNOWN for one in found)
    if any(one.severity is Severity.BAD for one in found) or (no_verdict and not measured):
        own = tuple(one for one in own if one.kind not in REPLACED)
    elif no_verdict:
        own = tuple(one for one in own if one.kind is not FindingKind.HEALTHY)
    accused = {node for one in own if (node := accused_node(one))}
    own = tuple(_with_adapters(one, outcomes, accused) for one in own)
    return replace(verdict, findings=worst_first([*found, *own]))


def _with_log(finding: Finding, run_dir: Path, outcomes: list[GroupOutcome]) -> Finding:
    """A finding about a node that fails, with what the log of its last failed launch says."""
    facts = finding.facts
    if not isinstance(facts, NodeFaultFacts) or facts.fault != failed_launches.FAILS:
        return finding
    failed = [one for one in outcomes if facts.node in one.hosts and not one.is_ok]
    started = [one for one in failed if not one.is_skipped]
    line = settings.log_line(run_dir, started[-1]) if started else None
    return finding if line is None else replace(finding, evidence=(*finding.evidence, line))


def _with_adapters(finding: Finding, outcomes: list[GroupOutcome], accused: set[str]) -> Finding:
    """A finding that accuses a node, with what its adapters delivered one by one."""
    node = accused_node(finding)
    if node is None or fault_of(finding) is None:
        return finding
    return replace(finding, evidence=(*finding.evidence, *adapter_lines(outcomes, node, accused)))
