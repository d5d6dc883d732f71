"""The bad nodes of a verdict as commands for Slurm."""

import re
import shlex
from collections.abc import Iterator, Sequence

from weft.check.verdict.lost_hosts import named_node
from weft.check.wording.headline import fault_of, headline_of
from weft.core.finding import Finding, Severity

_NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
EVERY_NODE = "all"
"""`scontrol update NodeName=ALL` means every node of the cluster."""


def accused_node(finding: Finding) -> str | None:
    """The one node that a finding accuses: itself, its HCA, its cable, or that it is lost; None
    where it is none, or where more than one is left."""
    fault = fault_of(finding)
    if fault is None:
        return named_node(finding)
    nodes = {suspect.node for suspect in fault.suspects}
    return nodes.pop() if len(nodes) == 1 else None


def drain_text(findings: Sequence[Finding], *, with_runs: bool = False) -> str:
    """A shell script that drains each bad node. A suspect without a node is a comment. With
    `with_runs` the first line of a finding's evidence names its runs, and stands in the reason."""
    lines = list(_lines(findings, with_runs=with_runs))
    return "\n".join(["# weft check: bad nodes, for Slurm", *(lines or ["# none"])]) + "\n"


def _lines(findings: Sequence[Finding], *, with_runs: bool) -> Iterator[str]:
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        if finding.severity is not Severity.BAD:
            continue
        node = accused_node(finding)
        if node is None:
            yield _comment(f"no node to drain: {finding.sentence}")
        elif not is_slurm_name(node):
            yield _comment(f"'{node}' is no name of a Slurm node: {finding.sentence}")
        else:
            runs = f", by {finding.evidence[0]}" if with_runs and finding.evidence else ""
            reasons.setdefault(node, []).append(_reason(finding) + _CONTROL.sub("?", runs))
    for node, texts in reasons.items():
        reason = shlex.quote(f"Reason=weft check: {'; '.join(texts)}")
        yield f"scontrol update NodeName={node} State=DRAIN {reason}"


def is_slurm_name(node: str) -> bool:
    """Whether Slurm takes it as the name of exactly one node: no list, no shell."""
    return _NODE.fullmatch(node) is not None and node.lower() != EVERY_NODE


def _reason(finding: Finding) -> str:
    headline = headline_of(finding)
    text = finding.sentence if headline is None else f"{headline.name} {headline.figure}"
    return _CONTROL.sub("?", text)


def _comment(text: str) -> str:
    return f"# {_CONTROL.sub('?', text)}"
