"""Forwarding tables: LIDs that are not reached, and entries over cables that are gone."""

from collections import defaultdict
from typing import Any

from weft.core.finding import Finding, FindingKind, Severity
from weft.diagnose.audit.case import Case, Ruling, finding
from weft.diagnose.audit.label import count, listing

NO_TABLES = "no forwarding tables: opensm-lfts.dump, dump_lfts, opensm.fdbs, ibdiagnet2.fdbs"
FIX = (
    "let the subnet manager route anew (send it SIGHUP: a heavy sweep), then read cables and "
    "tables again together"
)


def lacks_tables(case: Case) -> str:
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


def unreachable(case: Case) -> Ruling:
    """LIDs that some adapters do not reach, by the switch whose table ends the way."""
    lack = lacks_tables(case)
    if lack:
        return Ruling(missing=lack, findings=tuple(_incomplete(case)))
    survey = case.survey
    by_end: dict[tuple[str, int, int], list[Any]] = defaultdict(list)
    for missing in survey["unreachable"]:
        kind = "circle" if missing["circle"] else "stale" if missing["port"] else "no entry"
        port = missing["port"] if kind == "stale" else 0
        by_end[kind, missing["at"], port].append(missing)
    found = [_finding(case, *key, group) for key, group in by_end.items()]
    told = sum(len(group) for group in by_end.values())
    if survey["n_unreachable_lids"] > told:
        found.append(_more(survey["n_unreachable_lids"] - told))
    if survey["n_without_lid"]:
        found.append(_without_lid(survey["n_without_lid"]))
    return Ruling(judged=count(survey["n_pairs"], "path"), findings=tuple(found))


def _incomplete(case: Case) -> list[Finding]:
    """Few tables are a question somebody asked of one switch; most are a dump that broke off."""
    n_tables, n_switches = case.subnet.description["n_tables"], len(case.wiring.switches)
    if not n_switches / 2 < n_tables < n_switches:
        return []
    return [
        finding(
            FindingKind.NOT_JUDGED,
            Severity.WARNING,
            f"forwarding tables of {n_tables} of {n_switches} switches were read",
            evidence=("paths cannot be judged: a dump that broke off, or a switch that is new",),
            fix="dump the tables again",
        )
    ]


def _finding(case: Case, kind: str, at: int, port: int, group: list[Any]) -> Finding:
    labels = case.labels
    n_sources = max(missing["n_sources"] for missing in group)
    who = [labels.name(missing["dst"]["node"]) for missing in group]
    lids = [missing["lid"] for missing in group]
    targets = f"{count(len(group), 'LID')} ({listing(who)})"
    evidence = [f"LIDs {listing([str(lid) for lid in lids], most=12)}; up to {n_sources} senders"]
    if kind == "circle":
        circle = " -> ".join(labels.name(node) for node in group[0]["circle"])
        sentence = f"routes to {targets} run in a circle: {circle}"
    elif kind == "stale":
        sentence = (
            f"the table of {labels.name(at)} sends {targets} out of port {port}, where no cable is"
        )
        evidence.append(f"{labels.whole(at, port)}: tables are older than the cables, or newer")
    else:
        sentence = f"{targets} not reached: the table of {labels.name(at)} has no entry"
        evidence.append(f"{labels.name(at)} ({labels.guid(at)}) ends the way")
    return finding(
        FindingKind.CONTRADICTION if kind == "stale" else FindingKind.FAILURE,
        Severity.BAD,
        sentence,
        evidence=tuple(evidence),
        fix=FIX,
        lids=lids,
        switches=[labels.end_facts(at, port)],
    )


def _more(n: int) -> Finding:
    return finding(
        FindingKind.FAILURE, Severity.BAD, f"{count(n, 'more LID')} not reached", fix=FIX
    )


def _without_lid(n: int) -> Finding:
    return finding(
        FindingKind.FAILURE,
        Severity.WARNING,
        f"{count(n, 'cabled adapter port')} without a LID: nothing is routed there",
        fix="look at the state of these ports; give the file that has the LIDs (guid2lid) too",
    )
