"""Nodes, cables and rates that were there before and are not now."""

from collections.abc import Mapping

from weft.audit.cabling.device_label import Labels, listing
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import CableFacts, NodeFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import Subnet, SubnetCable

Ends = frozenset[tuple[int, int]]
"""Both ends of a cable by GUID and port."""


def gone_since_before(case: AuditCase) -> Ruling:
    """Cables and nodes that only the earlier files have, and cables that got slower."""
    before = case.before
    if before is None or not before.cables or not case.has_earlier_cables:
        return not_judged("no earlier cables: --before with an earlier ibnetdiscover or db_csv")
    if not case.subnet.cables:
        return not_judged("no cables now: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv")
    labels = Labels(before, case.thresholds.names)
    old, new = cables_by_ends(before), cables_by_ends(case.subnet)
    guids = {node.guid for node in case.subnet.nodes}
    lost = [node.index for node in before.nodes if node.guid not in guids]
    gone = [
        cable
        for ends, cable in old.items()
        if ends not in new and not any(end.node in lost for end in cable.ends)
    ]
    found = [
        *_lost_nodes(labels, before, lost),
        *_gone_cables(labels, gone),
        *_slower(case, old, new),
    ]
    return Ruling(judged=counted(len(old), "earlier cable"), findings=tuple(found))


def cables_by_ends(subnet: Subnet) -> dict[Ends, SubnetCable]:
    """Every cable by both its ends."""
    nodes = subnet.nodes
    return {
        frozenset((nodes[end.node].guid, end.port) for end in cable.ends): cable
        for cable in subnet.cables
    }


def _lost_nodes(labels: Labels, before: Subnet, lost: list[int]) -> list[Finding]:
    switches = [node for node in lost if before.nodes[node].is_switch]
    others = [node for node in lost if not before.nodes[node].is_switch]
    return [
        finding(
            FindingKind.SUSPECT_SWITCH if nodes is switches else FindingKind.SUSPECT_NODE,
            Severity.BAD,
            f"{counted(len(nodes), *words)} missing since the earlier files: "
            f"{listing([labels.name(node) for node in nodes])}",
            evidence=tuple(f"{labels.name(node)} ({labels.guid(node)})" for node in nodes),
            fix="check its power, then its cables; nothing to do if it was removed on purpose",
            facts=NodeFacts(nodes=tuple(map(labels.audit_port, nodes))),
        )
        for nodes, words in ((switches, ("switch", "switches")), (others, ("adapter", "")))
        if nodes
    ]


def _gone_cables(labels: Labels, gone: list[SubnetCable]) -> list[Finding]:
    if not gone:
        return []
    what = labels.short(gone[0]) if len(gone) == 1 else f"{len(gone)} cables"
    return [
        finding(
            FindingKind.SUSPECT_LINK,
            Severity.BAD,
            f"{what} missing since the earlier files",
            evidence=tuple(labels.cable(cable) for cable in gone),
            fix="reseat or replace the cable; look for disabled ports",
            facts=CableFacts(cables=tuple(map(labels.audit_cable, gone))),
        )
    ]


def _slower(
    case: AuditCase, old: Mapping[Ends, SubnetCable], new: Mapping[Ends, SubnetCable]
) -> list[Finding]:
    pairs = [(cable, new[ends]) for ends, cable in old.items() if ends in new]
    slower = [(a, b) for a, b in pairs if (b.a.gbps or 0.0) < (a.a.gbps or 0.0) and b.a.gbps]
    if not slower:
        return []
    lines = [f"{case.labels.cable(b)}: {a.a.rate} before, {b.a.rate} now" for a, b in slower]
    is_one = len(slower) == 1
    what = case.labels.short(slower[0][1]) if is_one else f"{len(slower)} cables"
    return [
        finding(
            FindingKind.SUSPECT_LINK,
            Severity.BAD,
            f"{what} slower than before",
            evidence=tuple(lines),
            fix="reseat the cable at both ends; replace it if it stays",
            facts=CableFacts(cables=tuple(case.labels.audit_cable(b) for _, b in slower)),
        )
    ]
