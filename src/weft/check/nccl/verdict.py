"""The verdict of a check by nccl-tests: that on its pairs, and the faults that pairs do not show."""

from dataclasses import replace
from typing import TYPE_CHECKING

from weft.bench.nccl.backend import PAIR_PASS
from weft.check.external_evidence.platform_choice import ExpectedPlatform
from weft.check.nccl import failed_launches, nodes_alone
from weft.check.nccl.adapters import adapter_lines
from weft.check.nccl.outcomes import GroupOutcome, of_pass, outcomes_of
from weft.check.thresholds import thresholds
from weft.check.verdict.drain_list import accused_node
from weft.check.wording.headline import fault_of
from weft.core.finding import Finding, FindingKind, Severity, worst_first
from weft.study.run.backend_record import backend_of
from weft.study.run.store import StudyRun

if TYPE_CHECKING:
    from weft.check.verdict.verdict import Verdict

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
    return _joined(verdict, list(_found(outcomes, machine)), outcomes, machine)


def _found(outcomes: list[GroupOutcome], machine: ExpectedPlatform | None) -> list[Finding]:
    limits = thresholds()
    figures = nodes_alone.figures_of(outcomes, machine, limits)
    return [
        *failed_launches.findings(outcomes, "nccl-tests"),
        *nodes_alone.findings(figures, machine, limits),
    ]


def _joined(
    verdict: "Verdict",
    found: list[Finding],
    outcomes: list[GroupOutcome],
    machine: ExpectedPlatform | None,
) -> "Verdict":
    own = verdict.findings
    measured = any(one.is_ok for one in of_pass(outcomes, PAIR_PASS))
    no_verdict = any(one.severity is Severity.UNKNOWN for one in found)
    if any(one.severity is Severity.BAD for one in found) or (no_verdict and not measured):
        own = tuple(one for one in own if one.kind not in REPLACED)
    elif no_verdict:
        own = tuple(one for one in own if one.kind is not FindingKind.HEALTHY)
    own = tuple(_with_adapters(one, outcomes) for one in own)
    limits = thresholds()
    figures = nodes_alone.figures_of(outcomes, machine, limits)
    shown = (*nodes_alone.would_show(figures, limits), *verdict.sensitivity.would_show)
    sensitivity = replace(verdict.sensitivity, would_show=shown)
    return replace(verdict, findings=worst_first([*found, *own]), sensitivity=sensitivity)


def _with_adapters(finding: Finding, outcomes: list[GroupOutcome]) -> Finding:
    """A finding that accuses a node, with what its adapters delivered one by one."""
    node = accused_node(finding)
    if node is None or fault_of(finding) is None:
        return finding
    return replace(finding, evidence=(*finding.evidence, *adapter_lines(outcomes, node)))
