"""What `weft doctor topo` says on a terminal."""

from collections.abc import Sequence

from weft.core.words import counted
from weft.doctor.lint import Complaint, verdict
from weft.doctor.topo.read import MOST_ELEMENTS, TopologyFile


def verdict_line(topology: TopologyFile, complaints: Sequence[Complaint]) -> str:
    """The verdict first: what NCCL does with the file."""
    name = topology.name
    worst = verdict(complaints).value
    n_bad = sum(one.rule.severity == "bad" for one in complaints)
    warnings = counted(sum(one.rule.severity == "warning" for one in complaints), "warning")
    if topology.is_refused:
        return f"BAD   {name}: NCCL refuses it; {counted(n_bad, 'mistake')}, {warnings}"
    if worst == "bad":
        return f"BAD   {name}: {counted(n_bad, 'mistake')}, {warnings}"
    if worst == "warning":
        return f"WARN  {name}: NCCL takes it, {warnings}"
    room = f"{topology.n_elements} of {MOST_ELEMENTS} elements"
    return f"GOOD  {name}: NCCL takes it as it is meant, {room}"


def finding_lines(
    topology: TopologyFile, complaints: Sequence[Complaint], *, notes: bool
) -> list[str]:
    """What was found, each with what really happens, the fix and the source."""
    shown = [one for one in complaints if notes or one.rule.severity != "note"]
    hidden = len(complaints) - len(shown)
    lines = []
    for one in shown:
        at = one.found.at
        lines += [
            "",
            f"{one.severity.value.upper()}  {topology.name}:{at.line}:{at.column}  "
            f"{one.rule.title} [{one.rule.id}]",
            f"  {one.happens}",
            f"  fix: {one.fix}",
            f"  source: {one.source}",
        ]
    if topology.n_unsaid:
        lines += ["", f"and {topology.n_unsaid} more of the kind"]
    if hidden:
        lines += ["", f"{counted(hidden, 'note')} not shown: --notes"]
    return lines
