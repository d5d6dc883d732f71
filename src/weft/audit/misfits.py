"""Lines that were not understood, and statements of files that contradict each other."""

from collections import defaultdict

from weft.audit.case import AuditCase, Ruling, finding
from weft.audit.facts import LineFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.summary import misfit_line, unread_lines

OTHER_RULES = ("duplicate-guid", "duplicate-lid")
MOST_LINES = 12
TITLES = {
    "port-used-twice": "ports have a second cable by the files",
    "stranger": "statements are about things that no file describes",
    "no-such-port": "statements are about ports that do not exist",
    "conflict": "statements contradict each other: files of two times, perhaps",
}


def files_understood(case: AuditCase) -> Ruling:
    """Lines that no reader understood, and statements that contradict each other."""
    described = case.subnet.description
    found = [*_unread(case), *_misfits(case)]
    return Ruling(judged=counted(len(described["sources"]), "file"), findings=tuple(found))


def _unread(case: AuditCase) -> list[Finding]:
    described = case.subnet.description
    lines = unread_lines(described)
    if not lines:
        return []
    n = sum(source["n_unread"] for source in described["sources"])
    return [
        finding(
            FindingKind.NOT_JUDGED,
            Severity.WARNING,
            f"{counted(max(n, len(lines)), 'line')} of the files were not understood",
            evidence=tuple(lines[:MOST_LINES]),
            fix="give whole files, without what the tools print on standard error",
            facts=LineFacts(lines=tuple(lines)),
        )
    ]


def _misfits(case: AuditCase) -> list[Finding]:
    described = case.subnet.description
    kinds: dict[str, list[dict[str, object]]] = defaultdict(list)
    for misfit in described["misfits"]:
        if misfit["kind"] not in OTHER_RULES:
            kinds[misfit["kind"]].append(misfit)
    found = []
    for kind, misfits in kinds.items():
        lines = [misfit_line(misfit, described["sources"]) for misfit in misfits]
        found.append(
            finding(
                FindingKind.CONTRADICTION,
                Severity.WARNING,
                f"{len(lines)} {TITLES.get(kind, kind)}",
                evidence=tuple(lines[:MOST_LINES]),
                fix="read all files at one time, of one fabric",
                facts=LineFacts(lines=tuple(lines)),
            )
        )
    return found
