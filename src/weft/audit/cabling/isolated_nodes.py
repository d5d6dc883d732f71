"""Nodes that some file speaks of and that no cable joins to the others."""

import re

from weft.audit.cabling.device_label import listing
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import NodeFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted


def isolated_nodes(case: AuditCase) -> Ruling:
    """Switches and adapters without a cable: tables, logs or lists of another time name them."""
    if not case.subnet.cables:
        return not_judged("no cables: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv")
    cabled = {end.node for cable in case.subnet.cables for end in cable.ends}
    alone = [node for node in case.subnet.nodes if node.index not in cabled]
    switches = [node.index for node in alone if node.is_switch]
    service = re.compile(case.thresholds.names.service)
    others = [
        node.index for node in alone if not node.is_switch and not service.search(node.description)
    ]
    found: list[Finding] = []
    if switches:
        found.append(_finding(case, switches, "switch", "switches", Severity.BAD))
    if others:
        found.append(_finding(case, others, "adapter", "adapters", Severity.BAD))
    return Ruling(judged=counted(len(case.subnet.nodes), "node"), findings=tuple(found))


def _finding(case: AuditCase, nodes: list[int], one: str, many: str, severity: Severity) -> Finding:
    names = listing([case.labels.name(node) for node in nodes])
    return finding(
        FindingKind.SUSPECT_SWITCH if one == "switch" else FindingKind.SUSPECT_NODE,
        severity,
        f"{counted(len(nodes), one, many)} without any cable: {names}",
        evidence=(
            *(f"{case.labels.name(node)} ({case.labels.guid(node)})" for node in nodes),
            "a file names it and no file shows a cable of it: it is down, or the files are from "
            "different times",
        ),
        fix="check its power, then its cables; route again if it was removed on purpose",
        facts=NodeFacts(nodes=tuple(map(case.labels.audit_port, nodes))),
    )
