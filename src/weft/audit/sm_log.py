"""Further lines of the subnet manager's log: nodes that left, errors."""

import re

from weft.audit.cabling.device_label import label_of, listing
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import LogErrorFacts, RemovedFacts
from weft.audit.routing.routing_engine import engine_of, with_names
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

MOST_ERRORS = 6


def left_the_subnet(case: AuditCase) -> Ruling:
    """Nodes that the manager's log says it removed, and that are not back."""
    logs = case.subnet.description["sm_logs"]
    if not logs:
        return not_judged("no subnet manager's log: opensm.log")
    removed = list(dict.fromkeys(line for log in logs for line in log["removed"]))
    guids = {node.guid for node in case.subnet.nodes}
    gone = [line for line in removed if not guids & {*_guids(line)}]
    back = [line for line in removed if line not in gone]
    found: list[Finding] = []
    if gone:
        found.append(_gone(case, gone, known=bool(guids)))
    if back:
        found.append(_back(case, back))
    return Ruling(judged=counted(len(logs), "log"), findings=tuple(found))


def _guids(line: str) -> list[int]:
    """The GUID a line names; a port's of an adapter is often its node's and one more."""
    guids = [int(text, 16) for text in re.findall(r"0x([0-9a-fA-F]{8,16})", line)]
    return [guid - less for guid in guids for less in (0, 1)]


def _who(case: AuditCase, lines: list[str]) -> str:
    """The nodes' names, which the log writes last."""
    names = [line.split("of node:")[-1] for line in lines]
    return listing(list(dict.fromkeys(label_of(n, case.thresholds.names).name for n in names)))


def _gone(case: AuditCase, lines: list[str], *, known: bool) -> Finding:
    return finding(
        FindingKind.SUSPECT_NODE,
        Severity.BAD if known else Severity.WARNING,
        f"{_who(case, lines)} left the subnet" + (" and did not come back" if known else ""),
        evidence=tuple(lines),
        fix="check the node's power and its cables; nothing to do if it was removed on purpose",
        facts=RemovedFacts(removed=tuple(lines)),
    )


def _back(case: AuditCase, lines: list[str]) -> Finding:
    return finding(
        FindingKind.ANOMALY,
        Severity.WARNING,
        f"{_who(case, lines)} left the subnet and came back",
        evidence=tuple(lines),
        fix="if they were not rebooted, check their cables and their power",
        facts=RemovedFacts(removed=tuple(lines)),
    )


def manager_errors(case: AuditCase) -> Ruling:
    """Errors of the manager's log that no other rule speaks about."""
    logs = case.subnet.description["sm_logs"]
    if not logs:
        return not_judged("no subnet manager's log: opensm.log")
    errors = list(dict.fromkeys(error for log in logs for error in log["errors"]))
    errors = [with_names(case, error) for error in errors if engine_of(case, error) is None]
    if not errors:
        return Ruling(judged=counted(len(logs), "log"))
    codes = [error.split(":")[0] for error in errors]
    one = finding(
        FindingKind.ANOMALY,
        Severity.NOTE,
        f"the subnet manager's log has {counted(len(errors), 'kind')} of errors: {listing(codes)}",
        evidence=tuple(errors[:MOST_ERRORS]),
        facts=LogErrorFacts(errors=tuple(errors)),
    )
    return Ruling(judged=counted(len(logs), "log"), findings=(one,))
