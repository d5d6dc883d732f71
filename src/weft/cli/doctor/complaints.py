"""Complaints of a linter: as text, as rows, and as SARIF."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from weft import __version__
from weft.cli.fail_on import exit_code_of
from weft.cli.output import emit
from weft.core.finding import Severity, verdict_of
from weft.core.words import counted
from weft.doctor.lint import Complaint, as_finding
from weft.doctor.sarif import sarif
from weft.launch.secret_text import mask_text, mask_values

Reports = Sequence[tuple[str, Sequence[Complaint]]]
"""By name of a file, its complaints."""


def print_complaints(
    format_: str,
    reports: Reports,
    columns: Sequence[str],
    *,
    text: Callable[[], str],
    record: Mapping[str, Any],
    verdict: Severity,
) -> int:
    """Print all complaints, as one SARIF document or as the text, the record or these columns, and
    return the exit code of the verdict."""
    if format_ == "sarif":
        click.echo(json.dumps(mask_values(sarif(reports, __version__)), indent=2))
    else:
        rows = []
        for file, complaints in reports:
            for finding in (as_finding(one, file) for one in complaints):
                values = {"severity": finding.severity.value, **finding.facts.to_record()}
                rows.append({column: values[column] for column in columns})
        shown = mask_values({"record": record, "rows": rows})
        emit(format_, text=lambda: mask_text(text())[0], **shown)
    return exit_code_of(verdict)


def complaint_lines(
    complaints: Sequence[Complaint],
    place_of: Callable[[Complaint], str],
    *,
    notes: bool,
    n_more: int = 0,
) -> list[str]:
    """Each complaint with its place, effect, fix and source; notes only if wanted. `n_more` of the
    kind were counted only."""
    shown = [one for one in complaints if notes or one.severity is not Severity.NOTE]
    hidden = [one.rule.id for one in complaints if one not in shown]
    lines = []
    for one in shown:
        title = f"{one.rule.title} [{one.rule.id}]"
        lines += [
            "",
            f"{one.severity.value.upper()}  {place_of(one)}  {title}",
            f"  {one.happens}",
            f"  fix: {one.fix}",
            f"  source: {one.source}",
        ]
    if n_more:
        lines += ["", f"and {n_more} more of the kind"]
    if hidden:
        named = ", ".join(dict.fromkeys(hidden))
        lines += ["", f"{counted(len(hidden), 'note')} not shown ({named}): --notes"]
    return lines


def head_line(
    name: str, complaints: Sequence[Complaint], good: str, *, bad: str = "", warning: str = ""
) -> str:
    """The verdict on a file with its counts, or `good`; `bad` and `warning` come before counts."""
    worst = verdict_of(complaints)
    severities = [one.severity for one in complaints]
    mistakes = counted(severities.count(Severity.BAD), "mistake")
    warnings = counted(severities.count(Severity.WARNING), "warning")
    if worst is Severity.BAD:
        return f"BAD   {name}: {bad}{mistakes}, {warnings}"
    return (
        f"WARN  {name}: {warning}{warnings}"
        if worst is Severity.WARNING
        else f"GOOD  {name}: {good}"
    )
