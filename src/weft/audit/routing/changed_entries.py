"""Entries of forwarding tables that lead elsewhere than before, though no cable changed."""

from collections import defaultdict

from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.changes import cables_by_ends
from weft.audit.facts import AuditedPort, EntryFacts
from weft.audit.routing.forwarding_tables import NO_TABLES
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import EntryChange

_MOST_LISTED = 64
"""So many entries have their own line and ports; all are counted."""


def changed_entries(case: AuditCase) -> Ruling:
    """Entries against those of the earlier files. A subnet manager moves entries where cables come
    or go; without that somebody, or an error, moved them."""
    lack = _lack(case)
    if lack or case.before is None:
        return not_judged(lack)
    n_compared, n_changed, first = case.subnet.changed_entries(case.before, _MOST_LISTED)
    if not n_compared:
        return not_judged("no switch and adapter that have entries in both files")
    found = (_finding(case, n_compared, n_changed, first),) if n_changed else ()
    return Ruling(judged=counted(n_compared, "table entry", "table entries"), findings=found)


def _lack(case: AuditCase) -> str:
    """Why entries cannot be compared, or nothing."""
    before, subnet = case.before, case.subnet
    if before is None or not before.has_tables:
        return "no earlier tables: --before with earlier dump_lfts or ibdiagnet2.fdbs"
    if not subnet.has_tables:
        return NO_TABLES
    if not case.has_earlier_cables:
        return "no cables in the earlier files: without them a cable may have moved"
    if cables_by_ends(before).keys() != cables_by_ends(subnet).keys():
        return "the cables of the earlier files: tables follow cables that changed"
    if before.description["n_tables"] != subnet.description["n_tables"]:
        return "tables of the same switches: one account has more of them"
    return ""


def _finding(
    case: AuditCase, n_compared: int, n_changed: int, first: tuple[EntryChange, ...]
) -> Finding:
    labels = case.labels
    by_switch: dict[int, list[EntryChange]] = defaultdict(list)
    for change in first:
        by_switch[change.switch].append(change)
    one = first[0]
    where = (
        f"the entry of {labels.name(one.switch)} for {labels.name(one.node)} leads"
        if n_changed == 1
        else f"{n_changed:,} of {n_compared:,} table entries lead"
    )
    lines = [
        f"{labels.name(switch)}: to {labels.name(change.node)} {_by(change.before)} before,"
        f" {_by(change.now)} now"
        for switch, changes in by_switch.items()
        for change in changes
    ]
    more = n_changed - len(first)
    return finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{where} elsewhere than in the earlier files, though no cable changed",
        evidence=(*lines, *([f"and {counted(more, 'entry', 'entries')} more"] if more else [])),
        fix="nothing to do if the routing was changed on purpose; else let the subnet manager route"
        " anew (send it SIGHUP: a heavy sweep), and read the tables again",
        facts=EntryFacts(
            n_changed=n_changed, n_compared=n_compared, ports=tuple(_ports(case, first))
        ),
    )


def _by(port: int) -> str:
    return f"by port {port}" if port else "no entry"


def _ports(case: AuditCase, first: tuple[EntryChange, ...]) -> list[AuditedPort]:
    """The ports that the entries lead by now, and those that they led by."""
    keys = dict.fromkeys(
        (change.switch, port) for change in first for port in (change.now, change.before) if port
    )
    found = []
    for key in keys:
        cable = case.subnet.cable_at.get(key)
        peer = None if cable is None else case.labels.audit_port(*cable.beyond(key).key)
        found.append(AuditedPort(case.labels.audit_port(*key), peer))
    return found
