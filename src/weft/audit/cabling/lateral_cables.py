"""Missing cables where there is no up and down: torus, dragonfly, mesh."""

from collections import Counter
from itertools import combinations

from weft.audit.cabling.device_label import listing
from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import AuditCable, SwitchFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted


def missing_sideways(case: AuditCase) -> Ruling:
    """Switches with fewer cables to switches of their own level than nearly all of their
    siblings."""
    wiring = case.wiring
    found: list[Finding] = []
    n_judged = 0
    for group in wiring.siblings:
        usual = most_common(len(wiring.sides[switch]) for switch in group)
        if usual is None or usual[0] == 0 or usual[1] < case.thresholds.lateral_share.value:
            continue
        n_judged += len(group)
        lacking = [switch for switch in group if len(wiring.sides[switch]) < usual[0]]
        found += _findings(case, lacking, usual[0], len(group))
    if not n_judged:
        return not_judged("no cables between switches of one level, or no pattern in them")
    return Ruling(judged=counted(n_judged, "switch", "switches"), findings=tuple(found))


def _findings(case: AuditCase, lacking: list[int], usual: int, n: int) -> list[Finding]:
    """Two switches that lack one cable each lack the one between them."""
    short = {switch: usual - len(case.wiring.sides[switch]) for switch in lacking}
    pairs = []
    if len(lacking) == 2 and len(set(short.values())) == 1:
        pairs = list(combinations(lacking, 2))
    findings = [_finding(case, list(pair), usual, n) for pair in pairs]
    paired = {switch for pair in pairs for switch in pair}
    return findings + [_finding(case, [s], usual, n) for s in lacking if s not in paired]


def _finding(case: AuditCase, switches: list[int], usual: int, n: int) -> Finding:
    labels = case.labels
    ports = {switch: _candidates(case, switch) for switch in switches}
    where = " -- ".join(
        f"{labels.name(switch)} port {' or '.join(map(str, ports[switch]))}"
        if ports[switch]
        else labels.name(switch)
        for switch in switches
    )
    have = listing([str(len(case.wiring.sides[switch])) for switch in switches])
    ends = [labels.audit_port(switch, next(iter(ports[switch]), 0)) for switch in switches]
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.WARNING,
        f"a cable is missing from the others' pattern: {where}",
        evidence=(
            f"{n - len(switches)} of {n} switches have {usual} cables to other switches, "
            f"these have {have}",
            *(f"{labels.name(switch)} ({labels.guid(switch)})" for switch in switches),
        ),
        fix="compare with the plan; plug in or replace the cable",
        facts=SwitchFacts(
            switches=tuple(map(labels.audit_port, switches)),
            cables=(AuditCable(ends[0], ends[1] if len(ends) > 1 else None),),
            expected=usual,
        ),
    )


def _candidates(case: AuditCase, switch: int) -> list[int]:
    """Free ports that nearly all others use for switches."""
    wiring = case.wiring
    others = [other for group in wiring.siblings if switch in group for other in group]
    uses = Counter(side.here.port for other in others for side in wiring.sides[other])
    least = case.thresholds.lateral_share.value * len(others)
    return [port for port in wiring.free_ports[switch] if uses[port] >= least][:4]
