"""The rate most cables run at, against the platform's own."""

from weft.audit.cabling.wiring import CableSide, most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import RateFacts
from weft.catalog.document import Figure, SourceClass
from weft.core.finding import Finding, FindingKind, Severity

ROUNDING = 1.05
"""FDR is called 56 Gb/s and carries 54.5."""


def below_platform(case: AuditCase) -> Ruling:
    """Where all cables are equally slow, only the platform's document shows it."""
    if case.platform is None or case.platform.links is None:
        return not_judged("no platform with link rates: --platform NAME")
    hosts = [side for sides in case.wiring.hosts.values() for side in sides]
    switches = [side for sides in case.wiring.between.values() for side in sides]
    links = case.platform.links
    found = [
        *_finding(case, "hosts to switches", hosts, links.host.rate),
        *_finding(case, "switches to switches", switches, links.switch.rate),
    ]
    return Ruling(judged=case.platform.name, findings=tuple(found))


def _finding(case: AuditCase, what: str, sides: list[CableSide], rate: Figure) -> list[Finding]:
    usual = most_common((side.here.gbps, side.here.rate) for side in sides if side.here.gbps)
    if usual is None or usual[0][0] is None or usual[0][0] * ROUNDING >= rate.value:
        return []
    (gbps, name), share = usual
    name_of_platform = case.platform.name if case.platform else ""
    certain = rate.class_ is not SourceClass.ASSUMED
    return [
        finding(
            FindingKind.BELOW_EXPECTED,
            Severity.BAD if certain else Severity.WARNING,
            f"cables of {what} run {name} ({gbps:g} Gb/s); {name_of_platform} has {rate.value:g}",
            evidence=(f"{100 * share:.0f} % of {len(sides)} do", f"{rate.class_}: {rate.source}"),
            fix="look for a speed limit set on the switches or adapters; is it this platform?",
            facts=RateFacts(expected=rate.value),
        )
    ]
