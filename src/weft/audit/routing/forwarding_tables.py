"""Forwarding tables: LIDs that are not reached, and entries over cables that are gone."""

from collections import defaultdict
from typing import Any

from weft.audit.cabling.device_label import listing
from weft.audit.case import AuditCase, Ruling, finding
from weft.audit.facts import RouteFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

NO_TABLES = "no forwarding tables: opensm-lfts.dump, dump_lfts, opensm.fdbs, ibdiagnet2.fdbs"
FIX = (
    "let the subnet manager route anew (send it SIGHUP: a heavy sweep), then read cables and "
    "tables again together"
)


def lacks_tables(case: AuditCase) -> str:
    """Why paths cannot be judged, or nothing."""
    subnet = case.subnet
    if not subnet.has_tables:
        return NO_TABLES
    if not subnet.cables:
        return "no cables: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv"
    if not subnet.endports:
        return "no LIDs of adapters: ibnetdiscover behind a subnet manager, guid2lid"
    n_tables, n_switches = subnet.description["n_tables"], len(case.wiring.switches)
    if n_tables < n_switches:
        return f"tables of {n_tables} of {n_switches} switches only"
    return ""


def unreachable(case: AuditCase) -> Ruling:
    """LIDs that some adapters do not reach, by the switch whose table ends the path."""
    lack = lacks_tables(case)
    if lack:
        return Ruling(missing=lack, findings=tuple(_incomplete(case)))
    survey = case.survey
    ends: dict[str, dict[tuple[int, int], list[Any]]] = defaultdict(lambda: defaultdict(list))
    for missing in survey["unreachable"]:
        kind = "circle" if missing["circle"] else "stale" if missing["port"] else "no entry"
        ends[kind][missing["at"], missing["port"]].append(missing)
    found = [_in_a_circle(case, group) for group in ends["circle"].values()]
    more = survey["n_unreachable_lids"] - len(survey["unreachable"])
    kinds = [kind for kind in ("stale", "no entry") if ends[kind]]
    alone = len(kinds) == 1 and not ends["circle"]
    found += [_finding(case, kind, ends[kind], more if alone else 0) for kind in kinds]
    if more > 0 and not alone:
        text = f"{counted(more, 'more LID')} not reached"
        found.append(finding(FindingKind.FAILURE, Severity.BAD, text, fix=FIX))
    if survey["n_without_lid"]:
        found.append(_without_lid(survey["n_without_lid"]))
    return Ruling(judged=counted(survey["n_pairs"], "path"), findings=tuple(found))


def _incomplete(case: AuditCase) -> list[Finding]:
    """Few tables were read of one switch on purpose; most are a dump that broke off."""
    n_tables, n_switches = case.subnet.description["n_tables"], len(case.wiring.switches)
    if not n_switches / 2 < n_tables < n_switches:
        return []
    return [
        finding(
            FindingKind.NOT_JUDGED,
            Severity.WARNING,
            f"forwarding tables of {n_tables} of {n_switches} switches were read",
            evidence=("paths cannot be judged: the dump is incomplete, or a switch is new",),
            fix="dump the tables again",
        )
    ]


def _finding(
    case: AuditCase, kind: str, ends: dict[tuple[int, int], list[Any]], more: int
) -> Finding:
    """Paths that end: at an entry for a port without a cable, or without an entry. `more` LIDs are
    known by their number only."""
    labels = case.labels
    where = listing(sorted({labels.name(at) for at, _ in ends}))
    lids = sorted({missing["lid"] for group in ends.values() for missing in group})
    targets = sorted({labels.name(m["dst"]["node"]) for group in ends.values() for m in group})
    why = "tables lead over missing cables at" if kind == "stale" else "no entry in the table of"
    sentence = f"{counted(len(lids) + more, 'LID')} not reached ({listing(targets)}): {why} {where}"
    evidence = [_line(case, at, port, group) for (at, port), group in ends.items()]
    if kind == "stale":
        evidence.append(
            "tables and cables are from different times, or no new routes were computed"
        )
    return finding(
        FindingKind.CONTRADICTION if kind == "stale" else FindingKind.FAILURE,
        Severity.BAD,
        sentence,
        evidence=tuple(evidence),
        fix=FIX
        if kind == "stale"
        else f"{FIX}; updn that finds no roots itself needs them (root_guid_file)",
        facts=RouteFacts(
            lids=tuple(lids), switches=tuple(labels.audit_port(at, port) for at, port in ends)
        ),
    )


def _line(case: AuditCase, at: int, port: int, group: list[Any]) -> str:
    lids = listing([str(missing["lid"]) for missing in group], most=12)
    n_sources = max(missing["n_sources"] for missing in group)
    where = (
        case.labels.whole(at, port)
        if port
        else (f"{case.labels.name(at)} ({case.labels.guid(at)})")
    )
    return f"{where}: LID {lids}, from up to {counted(n_sources, 'sender')}"


def _in_a_circle(case: AuditCase, group: list[Any]) -> Finding:
    labels = case.labels
    circle = group[0]["circle"]
    who = listing([labels.name(missing["dst"]["node"]) for missing in group])
    return finding(
        FindingKind.FAILURE,
        Severity.BAD,
        f"routes to {counted(len(group), 'LID')} ({who}) run in a circle: "
        + " -> ".join(labels.name(node) for node in circle),
        evidence=(
            *(f"{labels.name(node)} ({labels.guid(node)})" for node in circle),
            f"LID {listing([str(missing['lid']) for missing in group], most=12)}",
        ),
        fix=FIX,
        facts=RouteFacts(
            lids=tuple(missing["lid"] for missing in group),
            switches=tuple(map(labels.audit_port, circle)),
        ),
    )


def _without_lid(n: int) -> Finding:
    return finding(
        FindingKind.FAILURE,
        Severity.WARNING,
        f"{counted(n, 'cabled adapter port')} without a LID: nothing is routed there",
        fix="look at the state of these ports; give the file that has the LIDs (guid2lid) too",
    )
