"""Missing up-links: switches with fewer cables up than their siblings, or spread unevenly."""

from collections import defaultdict
from collections.abc import Sequence

from weft.audit.cabling.device_label import listing
from weft.audit.cabling.siblings import (
    MissingCable,
    missing_cables,
    spread,
)
from weft.audit.cabling.taper import taper_sentence
from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import AuditCable, CableFacts, SwitchFacts, UnknownEnd
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.up_links import Pattern

MOST_UNKNOWN = 16
"""Names of switches that the rule cannot judge."""
EVEN = "evenly spread, so perhaps intended"
SMALL = "with less below than they have, so perhaps another kind of switch (--before tells)"
FIX = "plug in or replace the cable; if both ends are plugged, look for a disabled port"


def missing_uplinks(case: AuditCase) -> Ruling:
    """Each switch against the pattern of its siblings: cables up in all, and to each upper unit."""
    if not case.subnet.cables:
        return not_judged("no cables: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv")
    links = case.up_links
    if not links.patterns:
        return not_judged("no level of switches whose up-links follow a pattern")
    found: list[Finding] = []
    for pattern in links.patterns:
        found += _missing(case, pattern, pattern.lacking)
        found += [_without_any(case, switch) for switch in pattern.stray]
        found += _fewer_by_design(case, pattern, pattern.even, EVEN)
        found += _fewer_by_design(case, pattern, pattern.small, SMALL)
        found += _unevenly_spread(case, pattern)
    n = sum(len(pattern.members) for pattern in links.patterns)
    stray = [switch for pattern in links.patterns for switch in pattern.stray]
    unknown = list(map(case.labels.name, [*links.without_siblings, *stray]))
    more = (
        f"; unknown of {listing(unknown, MOST_UNKNOWN)}: too few like it, or unlike"
        if unknown
        else ""
    )
    names = tuple(map(case.labels.name, links.unknown))
    judged = counted(n, "switch", "switches") + more
    return Ruling(judged=judged, findings=tuple(found), unknown=names)


def _missing(case: AuditCase, pattern: Pattern, lacking: Sequence[int]) -> list[Finding]:
    cables = {switch: missing_cables(case, pattern, switch) for switch in lacking}
    by_unit: dict[str, list[int]] = defaultdict(list)
    for switch, missing in cables.items():
        units = {cable.unit for cable in missing}
        only = next(iter(units))
        if len(units) == 1 and only is not None:
            by_unit[only].append(switch)
    many = case.thresholds.smallest_group.value
    shared = {unit: switches for unit, switches in by_unit.items() if len(switches) >= many}
    together = {switch for switches in shared.values() for switch in switches}
    return [
        *(
            _of_unit(case, pattern, unit, [c for s in switches for c in cables[s]])
            for unit, switches in shared.items()
        ),
        *(
            _of_switch(case, pattern, switch, cables[switch])
            for switch in lacking
            if switch not in together
        ),
    ]


def _of_switch(
    case: AuditCase, pattern: Pattern, switch: int, missing: Sequence[MissingCable]
) -> Finding:
    name = case.labels.name(switch)
    have = len(case.wiring.ups[switch])
    ends = [_far(case, cable) for cable in missing if cable.own_port is not None]
    to = f": {listing(ends)}" if ends else ""
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.BAD,
        f"{name} lacks {len(missing)} of {counted(pattern.usual, 'up-link')}{to}",
        evidence=(
            *(_line(case, cable) for cable in missing),
            f"{len(pattern.whole)} of {len(pattern.members)} switches like it have "
            f"{pattern.usual} cables up, it has {have}",
            *taper_sentence(case, switch, pattern.whole),
        ),
        fix=FIX,
        facts=CableFacts(
            cables=tuple(_ends(case, cable) for cable in missing), expected=pattern.usual
        ),
    )


def _of_unit(
    case: AuditCase, pattern: Pattern, unit: str, missing: Sequence[MissingCable]
) -> Finding:
    switches = sorted({cable.switch for cable in missing})
    names = [case.labels.name(switch) for switch in switches]
    return finding(
        FindingKind.SUSPECT_SWITCH,
        Severity.BAD,
        f"{unit} lacks {counted(len(missing), 'cable')} to"
        f" {counted(len(names), 'switch', 'switches')} below: {listing(names)}",
        evidence=(
            *(_line(case, cable) for cable in missing),
            f"{len(pattern.whole)} of {len(pattern.members)} switches like these have "
            f"{pattern.usual} cables up",
        ),
        fix=f"look at {unit} first (a board, its power, its ports); then at the cables",
        facts=CableFacts(
            cables=tuple(_ends(case, cable) for cable in missing), expected=pattern.usual
        ),
    )


def _without_any(case: AuditCase, switch: int) -> Finding:
    """One that no cable joins to others, where planes differ in the number of cables up."""
    labels = case.labels
    level = case.wiring.level(switch)
    numbers = sorted(
        {it.usual for it in case.up_links.patterns if case.wiring.level(it.members[0]) == level}
    )
    return finding(
        FindingKind.SUSPECT_SWITCH,
        Severity.BAD,
        f"{labels.name(switch)} has no up-link; switches of its level have "
        f"{' or '.join(map(str, numbers))}",
        evidence=(
            f"{labels.name(switch)} ({labels.guid(switch)})",
            "parts of this fabric differ, and no cable tells the part of this switch",
        ),
        fix=FIX,
        facts=SwitchFacts(switches=(labels.audit_port(switch),)),
    )


def _far(case: AuditCase, cable: MissingCable) -> str:
    """'port 61 to core0 board L03 port 14'."""
    own = f"port {cable.own_port}"
    if cable.unit is None:
        return own
    if cable.node is None or cable.port is None:
        return f"{own} to {cable.unit}"
    return f"{own} to {case.labels.port(cable.node, cable.port)}"


def _line(case: AuditCase, cable: MissingCable) -> str:
    labels = case.labels
    if cable.own_port is None:
        return f"{labels.name(cable.switch)} ({labels.guid(cable.switch)}): the port is unknown"
    own = labels.whole(cable.switch, cable.own_port)
    state = _state(case, cable.switch, cable.own_port)
    if cable.unit is None:
        return f"{own}{state}: no cable; siblings have one to various switches"
    if cable.node is None or cable.port is None:
        return f"{own}{state}: no cable; on siblings this port leads to {cable.unit}"
    there = labels.whole(cable.node, cable.port)
    state_there = _state(case, cable.node, cable.port)
    return f"{own}{state} -- {there}{state_there}: no cable; both ports are free, and next in order"


def _state(case: AuditCase, node: int, port: int) -> str:
    ports = case.subnet.nodes[node].uncabled
    states = [it["physical"] for it in ports if it["port"] == port]
    return f" [{states[0]}]" if states else ""


def _ends(case: AuditCase, cable: MissingCable) -> AuditCable:
    own = case.labels.audit_port(cable.switch, cable.own_port or 0)
    if cable.node is None or cable.port is None:
        return AuditCable(own, UnknownEnd(cable.unit))
    return AuditCable(own, case.labels.audit_port(cable.node, cable.port))


def _fewer_by_design(
    case: AuditCase, pattern: Pattern, switches: Sequence[int], why: str
) -> list[Finding]:
    if not switches:
        return []
    names = [case.labels.name(switch) for switch in switches]
    few = sorted({len(case.wiring.ups[switch]) for switch in switches})
    return [
        finding(
            FindingKind.ANOMALY,
            Severity.NOTE,
            f"{listing(names)}: {' or '.join(map(str, few))} up-links where "
            f"{len(pattern.whole)} others have {pattern.usual}; {why}",
            facts=SwitchFacts(switches=tuple(map(case.labels.audit_port, switches))),
        )
    ]


def _unevenly_spread(case: AuditCase, pattern: Pattern) -> list[Finding]:
    """As many cables as the siblings, but not to the same places: two ends are swapped."""
    shapes = {
        switch: tuple(sorted(spread(case, switch).values(), reverse=True))
        for switch in pattern.whole
    }
    usual = most_common(shapes.values())
    if usual is None or usual[1] < case.thresholds.lateral_share.value:
        return []
    return [
        finding(
            FindingKind.MIS_SETTING,
            Severity.WARNING,
            f"{case.labels.name(switch)} spreads its up-links unevenly: "
            f"{_spread_text(case, switch)}",
            evidence=(
                f"{len(pattern.whole)} switches like it have {pattern.usual} up-links, nearly all "
                f"of them {' + '.join(map(str, usual[0]))}",
                *(case.labels.cable(side.cable) for side in case.wiring.ups[switch]),
            ),
            fix="compare these cables with the plan: two of them are swapped, or one is in a "
            "neighbour's port",
            facts=SwitchFacts(
                switches=(case.labels.audit_port(switch),),
                cables=tuple(case.labels.audit_cable(w.cable) for w in case.wiring.ups[switch]),
            ),
        )
        for switch, shape in shapes.items()
        if shape != usual[0]
    ]


def _spread_text(case: AuditCase, switch: int) -> str:
    counts = sorted(spread(case, switch).items(), key=lambda item: (-item[1], item[0]))
    return listing([f"{n} to {unit}" for unit, n in counts], most=8)
