"""`weft fabric audit FILE...`: the faults of this fabric, their places and remedies."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.audit.facts import AuditPort, UnknownEnd
from weft.cli.fabric.files import open_subnet
from weft.cli.fail_on import exit_code_of, fail_on_option
from weft.cli.options import NumberRange
from weft.cli.output import emit, format_option
from weft.core.finding import Finding, Severity
from weft.core.shell_line import shell_line
from weft.topology.subnet.subnet import Subnet

if TYPE_CHECKING:
    from weft.audit.audit import Audit

HEADS = {
    Severity.BAD: "BAD",
    Severity.UNKNOWN: "UNKNOWN",
    Severity.WARNING: "WARN",
    Severity.GOOD: "GOOD",
}
MOST_EVIDENCE = 8
"""So many lines of a finding are printed; the others are in the JSON."""

MOST_SHOWN = 3
"""So many faults that would show are printed; the names of all rules follow at 'judged'."""

MOST_FILES = 4
"""So many files are named in the command that comes next."""
TOOLS = {"unreachable": "dump_fts", "error-totals": "ibqueryerrors"}
"""The tool that an operator runs so that a rule can judge."""

WITHOUT_NODES = ("opensm-lfts.dump", "opensm.fdbs", "opensm-sl2vl.dump", "opensm.log")
"""Formats that are large and say no more of where a port is than others."""


@click.command("audit")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--before",
    multiple=True,
    metavar="FILE",
    help="An earlier file: gives counter rates and shows lost cables. Repeatable.",
)
@click.option(
    "--seconds",
    type=NumberRange(min=0, min_open=True),
    help="Time between the first and the last reading of counters; else that of the files.",
)
@click.option("--platform", metavar="P", help="The machine: a name of the catalogue, or a .toml.")
@click.option("--all", "show_all", is_flag=True, help="All evidence, not the first lines only.")
@fail_on_option
@format_option
def command(
    files: tuple[str, ...],
    before: tuple[str, ...],
    seconds: float | None,
    platform: str | None,
    *,
    show_all: bool,
    format_: str,
) -> int:
    """Find faults of the fabric that FILES describe, with their places and remedies.

    The more files, the more rules can judge: cables (ibnetdiscover, iblinkinfo), forwarding tables
    (opensm-lfts.dump), opensm.log, counters (perfquery, ibqueryerrors), ibdiagnet2.db_csv.

    Exit 1 if a fault is found, 5 if none is and no rule could see a missing cable.
    """
    from weft.audit.audit import audit
    from weft.audit.case import AuditCase
    from weft.audit.counters.interval import interval_of
    from weft.catalog.load import platform as platform_named

    machine = platform_named(platform) if platform else None
    subnet = open_subnet(files)
    earlier, has_cables = open_earlier(subnet, before)
    interval = interval_of(subnet, earlier, seconds)
    case = AuditCase(subnet, earlier, has_cables, interval, machine)
    found = audit(case)
    emit(
        format_,
        text=lambda: audit_text(found, files, show_all=show_all),
        record=found.to_record(),
        rows=[row for finding in found.findings for row in _rows(finding)],
    )
    return exit_code_of(found.severity)


def open_earlier(subnet: Subnet, before: Sequence[str]) -> tuple[Subnet | None, bool]:
    """The earlier fabric, and whether it has cables of its own.

    Counters without cables are read with the new files that have none: they may name ports by LIDs.
    """
    from weft.audit.counters.interval import files_with_counters

    if not before:
        return None, False
    earlier = open_subnet(before)
    unknown = any(misfit["kind"] == "stranger" for misfit in earlier.description["misfits"])
    if earlier.cables or not unknown:
        return earlier, bool(earlier.cables)
    counted = files_with_counters(subnet)
    others = [
        source["name"]
        for source in subnet.description["sources"]
        if source["name"] not in counted and source["format"] not in WITHOUT_NODES
    ]
    return (earlier if "-" in others else open_subnet([*others, *before])), False


def audit_text(audit: "Audit", files: Sequence[str], *, show_all: bool = False) -> str:
    """Verdict, findings with evidence and remedy, judged and unjudged rules, next command."""
    lines = [f"{HEADS[audit.severity]}  {audit.verdict}"]
    if not audit.is_bad:
        lines.append(f"would show: {_some(audit.would_show)}")
    for finding in audit.findings:
        lines += ["", *_finding_lines(finding, show_all=show_all)]
    lines += ["", *_coverage_lines(audit), f"next     {_next_command(audit, files)}"]
    return "\n".join(lines)


def _some(faults: Sequence[str]) -> str:
    more = len(faults) - MOST_SHOWN
    shown = list(faults[:MOST_SHOWN])
    return "; ".join([*shown, f"and {more} more, below at 'judged'"] if more > 0 else shown)


def _finding_lines(finding: Finding, *, show_all: bool) -> list[str]:
    from weft.audit.facts import facts_of

    lines = [f"{finding.severity.value.upper()}  {finding.sentence}"]
    evidence = list(finding.evidence)
    hidden = len(evidence) - MOST_EVIDENCE
    if hidden > 1 and not show_all:
        # The last line gives the reason for the others.
        evidence = [
            *evidence[: MOST_EVIDENCE - 1],
            f"... and {hidden} more: --all",
            evidence[-1],
        ]
    lines += [f"  - {line}" for line in evidence]
    if fix := facts_of(finding).fix:
        lines.append(f"  fix: {fix}")
    return lines


def _coverage_lines(audit: "Audit") -> list[str]:
    ran = [f"{rule.name} ({ruling.judged})" for rule, ruling in audit.rulings if ruling.judged]
    missing: dict[str, list[str]] = {}
    for rule, ruling in audit.rulings:
        if not ruling.judged:
            missing.setdefault(ruling.missing, []).append(rule.name)
    return [
        *(f"names    {sentence}" for sentence in audit.renamed),
        f"judged   {', '.join(ran)}",
        *(f"not      {', '.join(rules)}: {lack}" for lack, rules in missing.items()),
    ]


def _next_command(audit: "Audit", files: Sequence[str]) -> str:
    """A finding's own; after a repair, the same again; else what would let more rules judge."""
    names = shell_line(map(Path, files)) if len(files) <= MOST_FILES else "FILES"
    before = shell_line(word for name in files for word in ("--before", Path(name)))
    before = before if len(files) <= MOST_FILES else "--before EACH-OLD-FILE"
    telling = audit.findings[:1] if audit.is_bad else audit.findings
    command = next((finding.next_command for finding in telling if finding.next_command), None)
    if command is not None:
        # Only at the end: the name of a node may hold the word, too.
        for word, given in (("--before FILES", before), ("FILES", names)):
            if command.endswith(f" {word}"):
                return command.removesuffix(word) + given
        return command
    if audit.is_bad:
        return f"after the repair: weft fabric audit NEW-FILES {before}"
    unjudged = {rule.name for rule, ruling in audit.rulings if not ruling.judged}
    for rule, tool in TOOLS.items():
        if rule in unjudged:
            return f"{tool} > more.out; weft fabric audit {names} more.out"
    return f"weft fabric show {names}"


def _rows(finding: Finding) -> list[dict[str, Any]]:
    """A row for each cable or port of a finding; one for a finding about neither."""
    from weft.audit.facts import facts_of

    facts = facts_of(finding)
    head = {
        "severity": finding.severity.value,
        "rule": facts.rule,
        "kind": finding.kind.value,
        "sentence": finding.sentence,
        "fix": facts.fix,
    }
    return [
        head | _end_columns("a", place.port) | _end_columns("b", place.peer)
        for place in facts.places()
    ] or [head | _end_columns("a", None) | _end_columns("b", None)]


def _end_columns(end: str, place: AuditPort | UnknownEnd | None) -> dict[str, Any]:
    if isinstance(place, AuditPort):
        return {end: place.node, f"{end}_guid": place.guid, f"{end}_port": place.port or ""}
    return {end: "" if place is None else place.unit, f"{end}_guid": "", f"{end}_port": ""}
