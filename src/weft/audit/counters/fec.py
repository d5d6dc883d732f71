"""Forward error correction: cables that correct otherwise than their siblings."""

from collections import defaultdict
from collections.abc import Sequence

from weft.audit.cabling.wiring import most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import CableFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import SubnetCable

FACT = "FEC"


def odd_correction(case: AuditCase) -> Ruling:
    """The correction in force on a cable against that of nearly all cables of its rate."""
    known = [cable for cable in case.subnet.cables if _modes(cable)]
    if not known:
        return not_judged("no FEC modes: ibdiagnet2.net_dump, mlxlink --json")
    by_rate: dict[str, list[SubnetCable]] = defaultdict(list)
    for cable in known:
        by_rate[cable.rate or ""].append(cable)
    found: list[Finding] = []
    for rate, cables in sorted(by_rate.items()):
        usual = most_common(_modes(cable) for cable in cables)
        if usual is not None and usual[1] >= case.thresholds.lateral_share.value:
            odd = [cable for cable in cables if _modes(cable) != usual[0]]
            found += _findings(case, odd, usual[0], f"{rate} cables".strip(), len(cables))
    return Ruling(judged=counted(len(known), "cable"), findings=tuple(found))


def _modes(cable: SubnetCable) -> tuple[str, ...]:
    return tuple(sorted({end.facts[FACT] for end in cable.ends if end.facts.get(FACT)}))


def _findings(
    case: AuditCase, odd: Sequence[SubnetCable], usual: tuple[str, ...], what: str, n: int
) -> list[Finding]:
    if not odd:
        return []
    labels = case.labels
    is_one = len(odd) == 1
    who = labels.short(odd[0]) if is_one else counted(len(odd), "cable")
    verb = "corrects" if is_one else "correct"
    modes = " or ".join(sorted({" and ".join(_modes(cable)) for cable in odd}))
    return [
        finding(
            FindingKind.MIS_SETTING,
            Severity.WARNING,
            f"{who} {verb} errors by {modes}, not by {' and '.join(usual)}",
            evidence=(
                *(f"{labels.cable(cable)}: {' and '.join(_modes(cable))}" for cable in odd),
                f"{n - len(odd)} of {n} {what} use {' and '.join(usual)}",
            ),
            fix="compare cable type and firmware of both ends; set the same correction on both",
            facts=CableFacts(cables=tuple(map(labels.audit_cable, odd))),
        )
    ]
