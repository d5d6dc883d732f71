"""Complaints of a linter: as text, and as SARIF."""

import json
from collections.abc import Callable, Sequence

import click

from weft import __version__
from weft.core.words import counted
from weft.doctor.lint import Complaint
from weft.doctor.sarif import sarif

Reports = Sequence[tuple[str, Sequence[Complaint]]]
"""By name of a file, its complaints."""


def print_sarif(reports: Reports) -> None:
    """Print all complaints as one SARIF document."""
    click.echo(json.dumps(sarif(reports, __version__), indent=2))


def complaint_lines(
    complaints: Sequence[Complaint],
    place_of: Callable[[Complaint], str],
    *,
    notes: bool,
    n_more: int = 0,
) -> list[str]:
    """Each complaint with its place, what happens, the fix and the source; notes only if wanted.
    `n_more` of the kind were counted only."""
    shown = [one for one in complaints if notes or one.rule.severity != "note"]
    hidden = len(complaints) - len(shown)
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
        lines += ["", f"{counted(hidden, 'note')} not shown: --notes"]
    return lines


def counts_of(complaints: Sequence[Complaint]) -> tuple[str, str]:
    """'1 mistake', '2 warnings'."""
    severities = [one.rule.severity for one in complaints]
    return counted(severities.count("bad"), "mistake"), counted(
        severities.count("warning"), "warning"
    )
