"""Missing up-links: switches with fewer cables up than their siblings, or spread unevenly."""

from collections import defaultdict
from collections.abc import Sequence

from weft.audit.cabling.device_label import listing
from weft.audit.cabling.siblings import (
    MissingCable,
    Pattern,
    is_even,
    missing_cables,
    nearest,
    spread,
    up_patterns,
    without_pattern,
)
from weft.audit.cabling.taper import taper_sentence
from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import AuditCable, CableFacts, SwitchFacts, UnknownEnd
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.siblings import may_be_another

MOST_UNKNOWN = 16
"""Names of switches that the rule cannot judge."""
FIX = "plug in or replace the cable; if both ends are plugged, look for a disabled port"


def missing_uplinks(case: AuditCase) -> Ruling:
    """Each switch against the pattern of its siblings: cables up in all, and to each upper unit."""
    if not case.subnet.cables:
        return not_judged("no cables: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv")
    patterns = up_patterns(case)
    if not patterns:
        return not_judged("no level of switches whose up-links follow a pattern")
    found: list[Finding] = []
    another: list[int] = []
    for pattern in patterns:
        meant = [switch for switch in pattern.lacking if _is_meant(case, pattern, switch)]
        doubtful = [
            it for it in pattern.lacking if it not in meant and _is_doubtful(case, pattern, it)
        ]
        another += [*meant, *doubtful]
        lacking = [it for it in pattern.lacking if it not in meant and it not in doubtful]
        found += _missing(case, pattern, lacking)
        found += _fewer_by_design(case, pattern, meant, "evenly spread, so perhaps intended")
        few = "with less below than they have, so perhaps another kind of switch (--before tells)"
        found += _fewer_by_design(case, pattern, doubtful, few)
        found += _unevenly_spread(case, pattern)
    n = sum(len(pattern.members) for pattern in patterns)
    unknown = [case.labels.name(switch) for switch in without_pattern(case)]
    more = (
        f"; unknown of {listing(unknown, MOST_UNKNOWN)}: too few like it, or unlike"
        if unknown
        else ""
    )
    open_ones = tuple(dict.fromkeys([*unknown, *map(case.labels.name, another)]))
    judged = counted(n, "switch", "switches") + more
    return Ruling(judged=judged, findings=tuple(found), unknown=open_ones)


def _is_meant(case: AuditCase, pattern: Pattern, switch: int) -> bool:
    """At most half of the usual cables, as many to each place that siblings reach, or that one of
    them does; of a switch without hosts, to any: built so."""
    counts = spread(case, switch)
    each = [set(spread(case, other)) for other in nearest(case, pattern, switch)]
    is_half = 0 < counts.total() * 2 <= pattern.usual
    is_bare = not case.wiring.downs[switch]
    is_place = is_bare or set(counts) in (set().union(*each), *each)
    return is_half and is_even(counts) and is_place


def _is_doubtful(case: AuditCase, pattern: Pattern, switch: int) -> bool:
    wiring = case.wiring
    most = max(len(wiring.hosts.get(member, ())) for member in pattern.members)
    n_up, n_below = len(wiring.ups[switch]), len(wiring.hosts.get(switch, ()))
    return wiring.level(switch) == 1 and may_be_another(n_up, pattern.usual, n_below, most)


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
