"""Nodes that two checks accuse: only these are drained where evidence is asked for."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from weft.check.verdict.drain_list import accused_node
from weft.check.wording.headline import things_of
from weft.core.errors import InputError
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.study.history.history_findings import day_of
from weft.study.history.history_run import HistoryRun
from weft.study.history.run_components import NODE, NamedComponent
from weft.study.history.run_folders import ReadRow, run_directories
from weft.study.run.metadata import VERDICT
from weft.study.run.run_folder import RUN_FILE
from weft.study.run.store import read_meta

MOST_READ = 30
"""Earlier runs that are looked at, the newest: a month of nights."""


def earlier_checks(places: Sequence[Path], now: HistoryRun, read: ReadRow) -> list[HistoryRun]:
    """The checks before this one that gave a verdict, the newest first: of this fabric, with a
    clock that was set, and no copy of it. Raises InputError for a place that cannot be read."""
    found = [path for place in places for path in _newest(place)][: MOST_READ + 1]
    rows = []
    for path in found:
        try:
            row, answered = read(path), VERDICT in read_meta(path)
        except InputError:
            continue
        is_other = row.identity != now.identity and row.started_unix_s < now.started_unix_s
        judged = row.components.verdict and not row.components.why_not and not row.no_time
        if is_other and answered and judged and row.fabric == now.fabric:
            rows.append(row)
    return sorted(rows, key=lambda row: -row.started_unix_s)


def _newest(place: Path) -> list[Path]:
    if place.is_dir() and not any(place.iterdir()):
        return []
    directories, _ = run_directories([place])
    return sorted(directories, key=lambda path: -(path / RUN_FILE).stat().st_mtime)


def twice_accused(
    findings: Sequence[Finding], now: HistoryRun, earlier: Sequence[HistoryRun]
) -> tuple[Finding, ...]:
    """Findings for a drain list: of each node that this check calls bad and the newest earlier one
    that measured it called bad, too. Of others a finding that names no node, with the reason."""
    return tuple(_drained(findings, now, earlier))


def _drained(
    findings: Sequence[Finding], now: HistoryRun, earlier: Sequence[HistoryRun]
) -> Iterator[Finding]:
    today = f"{now.name} of {day_of(now.started_unix_s)}"
    for finding in findings:
        node = accused_node(finding) if finding.severity is Severity.BAD else None
        if node is None:
            if finding.severity is Severity.BAD:
                yield finding
            continue
        before = next((row for row in earlier if _measured(row, node)), None)
        if {kind for kind, _ in things_of(finding)} == {"cable"}:
            yield _left_alone(f"{node}: only its cable is accused")
        elif before is None:
            yield _left_alone(f"{node}: no earlier check measured it")
        elif not _is_bad(before, node):
            when = f"{before.name} of {day_of(before.started_unix_s)}"
            yield _left_alone(f"{node}: bad in {today}, but not in {when} before it")
        else:
            when = f"{before.name} of {day_of(before.started_unix_s)}"
            yield replace(finding, evidence=(f"{today} and {when}",))


def _measured(row: HistoryRun, node: str) -> bool:
    named = NamedComponent(NODE, node)
    return _is_bad(row, node) or any(one.component == named for one in row.components.slowness)


def _is_bad(row: HistoryRun, node: str) -> bool:
    named = NamedComponent(NODE, node)
    return any(
        one.component == named and one.severity == Severity.BAD.value
        for one in row.components.accused
    )


def _left_alone(why: str) -> Finding:
    return Finding(FindingKind.SUSPECT_NODE, Severity.BAD, why, facts=FindingFacts())
