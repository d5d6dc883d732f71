"""Names that must be unique: GUIDs and LIDs."""

from collections import defaultdict
from typing import Any

from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import GuidFacts, LidFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted


def duplicate_guids(case: AuditCase) -> Ruling:
    """Two nodes with one GUID."""
    if not case.subnet.nodes:
        return not_judged("no nodes: ibnetdiscover, opensm-subnet.lst, db_csv")
    found = [
        _guid_finding(case, misfit)
        for misfit in case.subnet.description["misfits"]
        if misfit["kind"] == "duplicate-guid"
    ]
    return Ruling(judged=counted(len(case.subnet.nodes), "node"), findings=tuple(found))


def _guid_finding(case: AuditCase, misfit: dict[str, Any]) -> Finding:
    names = " and ".join(f"'{name}'" for name in misfit["descriptions"])
    sources = case.subnet.description["sources"]
    at = [f"{sources[place['source']]['name']}:{place['line']}" for place in misfit["places"]]
    return finding(
        FindingKind.CONTRADICTION,
        Severity.BAD,
        f"two nodes have the GUID {misfit['guid']:#018x}: {names}",
        evidence=(f"{at[0]} and {at[1]}",),
        fix="burn new GUIDs into one of them (a cloned firmware image or a swapped board)",
        facts=GuidFacts(guid=f"{misfit['guid']:#018x}", nodes=tuple(misfit["descriptions"])),
    )


def duplicate_lids(case: AuditCase) -> Ruling:
    """Two ports with one LID."""
    nodes = case.subnet.nodes
    n = sum(node.lid > 0 for node in nodes) + sum(len(node.port_lids) for node in nodes)
    if not n:
        return not_judged("no LIDs: ibnetdiscover behind a subnet manager, guid2lid")
    pairs: dict[tuple[str, str], list[int]] = defaultdict(list)
    for misfit in case.subnet.description["misfits"]:
        if misfit["kind"] == "duplicate-lid":
            first, second = misfit["descriptions"]
            pairs[first, second].append(misfit["lid"])
    found = [_lid_finding(case, names, lids) for names, lids in pairs.items()]
    return Ruling(judged=counted(n, "LID"), findings=tuple(found))


def _lid_finding(case: AuditCase, names: tuple[str, str], lids: list[int]) -> Finding:
    ends = [node for node in case.subnet.nodes if node.description in names]
    which = ", ".join(map(str, lids))
    return finding(
        FindingKind.CONTRADICTION,
        Severity.BAD,
        f"LID {which} belongs to two ports: of '{names[0]}' and of '{names[1]}'",
        evidence=tuple(f"'{node.description}' has GUID {node.guid:#018x}" for node in ends),
        fix="remove the manager's guid2lid file and start it again (opensm -r), or look for a "
        "second subnet manager; files from different times look the same",
        facts=LidFacts(lids=tuple(lids), nodes=names),
    )
