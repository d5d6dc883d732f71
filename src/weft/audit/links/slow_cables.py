"""Cables below what both ends can do."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import CableFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import CableEnd, SubnetCable

Role = tuple[str, ...]

FIX = (
    "reseat the cable at both ends and read the rate again. Replace the cable if the rate stays "
    "low. If both ports are set to the lower rate, set them free (ibportstate PORT speed, width)"
)


def slow_cables(case: AuditCase) -> Ruling:
    """Cables slower than their siblings where both ends run other ports at the siblings' rate,
    and cables whose ends say themselves that they can do more."""
    cables = [cable for cable in case.subnet.cables if _gbps(cable)]
    if not cables:
        return not_judged("no cable's rate: ibnetdiscover, iblinkinfo, opensm-subnet.lst, db_csv")
    found: list[Finding] = []
    for role, group in sorted(_by_role(case, cables).items()):
        slow, rate = _below_siblings(case, group)
        found += [_finding(case, role, some, group, rate) for some in _by_switch(slow)]
        remaining = [cable for cable in group if cable not in slow]
        found += _below_supported(case, role, remaining)
    return Ruling(judged=counted(len(cables), "cable"), findings=tuple(found))


def _gbps(cable: SubnetCable) -> float:
    rates = [end.gbps for end in cable.ends if end.gbps]
    return min(rates) if rates else 0.0


def _rate(cable: SubnetCable) -> str:
    slow = min((end for end in cable.ends if end.gbps), key=lambda end: end.gbps or 0.0)
    return slow.rate or ""


def _by_role(case: AuditCase, cables: Iterable[SubnetCable]) -> dict[Role, list[SubnetCable]]:
    roles: dict[Role, list[SubnetCable]] = defaultdict(list)
    service = re.compile(case.thresholds.names.service)
    for cable in cables:
        if any(service.search(case.subnet.nodes[end.node].description) for end in cable.ends):
            continue
        roles[tuple(sorted(_what(case, end) for end in cable.ends))].append(cable)
    return roles


def _what(case: AuditCase, end: CableEnd) -> str:
    """The kind of an end: switches of a level, adapters of a make."""
    node = case.subnet.nodes[end.node]
    if node.is_switch:
        return f"switches of level {case.wiring.level(end.node)}"
    make = f" of device {node.device:#x}" if node.device else ""
    return f"adapters{make}"


def _below_siblings(case: AuditCase, group: Sequence[SubnetCable]) -> tuple[list[SubnetCable], str]:
    """Cables below the usual rate that could have it, and that rate."""
    usual = most_common((_gbps(cable), _rate(cable)) for cable in group)
    if usual is None or usual[1] < case.thresholds.usual_rate_share.value:
        return [], ""
    (gbps, rate), share = usual
    slow = [cable for cable in group if _gbps(cable) < gbps]
    few = len(slow) <= max(1, case.thresholds.slow_share.value * len(group))
    n_usual = round(share * len(group))
    if not slow or not few or n_usual < case.thresholds.smallest_group.value - 1:
        return [], rate
    able = [cable for cable in slow if all(_is_able(case, end, gbps) for end in cable.ends)]
    return ([] if _is_regular(case, slow, group) else able), rate


def _is_able(case: AuditCase, end: CableEnd, gbps: float) -> bool:
    """Whether the end's device says or shows that it can: on another port, or an adapter by its
    make, which the role is about."""
    if end.supported_gbps:
        return end.supported_gbps >= gbps
    if not case.subnet.nodes[end.node].is_switch:
        return True
    sides = [*case.wiring.between.get(end.node, ()), *case.wiring.hosts.get(end.node, ())]
    return any((side.here.gbps or 0.0) >= gbps for side in sides if side.here.port != end.port)


def _is_regular(case: AuditCase, slow: Sequence[SubnetCable], group: Sequence[SubnetCable]) -> bool:
    """Whether every switch of the role has equally many slow ones: meant so."""
    nodes = {end.node for cable in group for end in cable.ends}
    switches = [node for node in nodes if case.subnet.nodes[node].is_switch]
    counts = Counter(end.node for cable in slow for end in cable.ends)
    each = {counts[switch] for switch in switches}
    return len(switches) > 1 and len(each) == 1


def _by_switch(cables: Sequence[SubnetCable]) -> list[list[SubnetCable]]:
    """Cables by the switch that most of them share: one sick switch is one finding."""
    left, groups = list(cables), []
    while left:
        ends = Counter(end.node for cable in left for end in cable.ends)
        node = max(ends, key=lambda it: (ends[it], -it))
        groups.append([c for c in left if any(end.node == node for end in c.ends)])
        left = [c for c in left if not any(end.node == node for end in c.ends)]
    return groups


def _finding(
    case: AuditCase,
    role: Role,
    cables: Sequence[SubnetCable],
    group: Sequence[SubnetCable],
    rate: str,
) -> Finding:
    labels = case.labels
    rates = sorted({_rate(cable) for cable in cables})
    n_usual = sum(_rate(cable) == rate for cable in group)
    siblings = f"{n_usual:,} of {len(group):,} cables between {' and '.join(role)} run {rate}"
    shared = _shared_switch(cables)
    whole_leaf = shared is not None and _is_all_of(case, shared, cables)
    maybe_split = _may_be_split(role, cables, group, rate)
    if len(cables) == 1:
        sentence = f"{labels.short(cables[0])} runs {rates[0]} instead of {rate}"
    else:
        where = f" of {labels.name(shared)}" if shared is not None else ""
        sentence = f"{len(cables)} cables{where} run {' and '.join(rates)} instead of {rate}"
    evidence = [
        *(f"{labels.cable(cable)}: {_rate(cable)}" for cable in cables),
        f"{siblings}, and both ends can: {_proof(case, cables[0], rate)}",
    ]
    if whole_leaf:
        evidence.append("all cables of this kind at this switch are alike: perhaps intended")
    if maybe_split:
        evidence.append("half the lanes on several hosts: split cables look the same")
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.WARNING if whole_leaf or maybe_split else Severity.BAD,
        sentence,
        evidence=tuple(evidence),
        fix=FIX,
        facts=CableFacts(
            cables=tuple(labels.audit_cable(c, _rate(c)) for c in cables), expected=rate
        ),
    )


def _may_be_split(
    role: Role, cables: Sequence[SubnetCable], group: Sequence[SubnetCable], rate: str
) -> bool:
    """Hosts with two lanes of four, several of them: one cable may serve two hosts."""
    halves = [cable for cable in group if _rate(cable).startswith("2x")]
    is_half = rate.startswith("4x") and all(cable in halves for cable in cables)
    return is_half and len(halves) > 1 and role[0].startswith("adapters")


def _shared_switch(cables: Sequence[SubnetCable]) -> int | None:
    if len(cables) < 2:
        return None
    nodes = Counter(end.node for cable in cables for end in cable.ends)
    node, n = nodes.most_common(1)[0]
    return node if n == len(cables) else None


def _is_all_of(case: AuditCase, switch: int, cables: Sequence[SubnetCable]) -> bool:
    """Whether these are all cables of their role that a switch has."""
    roles = {tuple(sorted(_what(case, end) for end in cable.ends)) for cable in cables}
    sides = [*case.wiring.between.get(switch, ()), *case.wiring.hosts.get(switch, ())]
    alike = [w for w in sides if tuple(sorted(_what(case, end) for end in w.cable.ends)) in roles]
    return len(alike) == len(cables) > 1


def _proof(case: AuditCase, cable: SubnetCable, rate: str) -> str:
    def of(end: CableEnd) -> str:
        name = case.labels.name(end.node)
        if end.supported and (end.supported_gbps or 0.0) > (end.gbps or 0.0):
            return f"{name} supports {end.supported}"
        if not case.subnet.nodes[end.node].is_switch:
            return f"adapters like that of {name} run {rate}"
        return f"{name} has other ports at {rate}"

    return ", ".join(of(end) for end in cable.ends)


def _below_supported(case: AuditCase, role: Role, group: Sequence[SubnetCable]) -> list[Finding]:
    """Cables that say themselves that they could do more, whatever their siblings do.

    Where most of a role say so, the tool says it of all: no fault of one cable.
    """
    could = [
        (cable, end.supported or "")
        for cable in group
        if (end := _supported(cable)) is not None and (end.supported_gbps or 0.0) > _gbps(cable)
    ]
    if not could:
        return []
    supported = " or ".join(sorted({rate for _, rate in could}))
    if len(could) > max(1, case.thresholds.slow_share.value * len(group)):
        return [
            finding(
                FindingKind.MIS_SETTING,
                Severity.NOTE,
                f"{len(could):,} of {len(group):,} cables between {' and '.join(role)} "
                f"report that they support {supported}",
                evidence=(
                    "so many alike: split ports, a setting, or a tool that reports it for all",
                ),
                facts=CableFacts(
                    cables=tuple(case.labels.audit_cable(cable) for cable, _ in could)
                ),
            )
        ]
    return [
        finding(
            FindingKind.SUSPECT_LINK,
            Severity.BAD,
            f"{case.labels.short(cable)} runs {_rate(cable)}; both ends support {rate}",
            evidence=(case.labels.cable(cable),),
            fix=FIX,
            facts=CableFacts(cables=(case.labels.audit_cable(cable),), expected=rate),
        )
        for cable, rate in could
    ]


def _supported(cable: SubnetCable) -> CableEnd | None:
    """The end that supports less; the only one that reports it, where the other reports nothing."""
    ends = [end for end in cable.ends if end.supported_gbps]
    return min(ends, key=lambda end: end.supported_gbps or 0.0, default=None)
