"""Uneven taper: switches that offer less up for what hangs below than their siblings."""

from collections.abc import Iterable, Sequence

from weft.audit.cabling.wiring import CableSide, gbps, most_common
from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.facts import SwitchFacts
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted


def uneven_taper(case: AuditCase) -> Ruling:
    """Gb/s down for one up against the siblings'. Missing and slow up-links have findings of their
    own, so this one is about switches whose up-links are whole: too much hangs below."""
    patterns = case.up_links.patterns
    if not patterns:
        return not_judged("no level of switches whose up-links follow a pattern")
    found: list[Finding] = []
    for pattern in patterns:
        found += _above_the_usual(case, pattern.whole)
    n = sum(len(pattern.members) for pattern in patterns)
    return Ruling(judged=counted(n, "switch", "switches"), findings=tuple(found))


def taper(case: AuditCase, switch: int) -> float | None:
    """Gb/s down for one up; None without rates."""
    down, up = gbps(case.wiring.downs[switch]), gbps(case.wiring.ups[switch])
    return down / up if down and up else None


def taper_sentence(case: AuditCase, switch: int, siblings: Iterable[int]) -> Iterable[str]:
    """The taper of a switch with missing cables, as evidence."""
    own, usual = taper(case, switch), _usual(case, siblings)
    if own is not None and usual is not None and f"{own:.2f}" != f"{usual:.2f}":
        yield f"taper {own:.2f}:1 instead of {usual:.2f}:1"


def _usual(case: AuditCase, switches: Iterable[int]) -> float | None:
    tapers = [t for switch in switches if (t := taper(case, switch)) is not None]
    usual = most_common(round(value, 2) for value in tapers)
    return usual[0] if usual else None


def _above_the_usual(case: AuditCase, switches: Sequence[int]) -> list[Finding]:
    tapers = {switch: taper(case, switch) for switch in switches}
    usual = most_common(round(value, 2) for value in tapers.values() if value is not None)
    if usual is None or usual[1] < case.thresholds.sibling_share.value:
        return []
    most = usual[0] * (1 + case.thresholds.taper_slack.value)
    n_up = most_common(gbps(case.wiring.ups[switch]) for switch in switches)
    return [
        _finding(case, switch, value, usual[0], len(switches))
        for switch, value in tapers.items()
        if value is not None
        and value > most
        and f"{value:.2f}" != f"{usual[0]:.2f}"
        # A slow up-link has a finding of its own.
        and n_up is not None
        and gbps(case.wiring.ups[switch]) >= n_up[0]
    ]


def _finding(case: AuditCase, switch: int, value: float, usual: float, n: int) -> Finding:
    wiring = case.wiring
    down, up = wiring.downs[switch], wiring.ups[switch]
    return finding(
        FindingKind.SUSPECT_SWITCH,
        Severity.WARNING,
        f"{case.labels.name(switch)} has a taper of {value:.2f}:1 where its siblings have "
        f"{usual:.2f}:1",
        evidence=(
            f"{_text(down)} below, {_text(up)} up ({case.labels.guid(switch)})",
            f"{n} switches of its level have {len(up)} up-links",
        ),
        fix="move hosts to a leaf with room, or add up-links; hosts here have less "
        "bandwidth to the fabric",
        facts=SwitchFacts(switches=(case.labels.audit_port(switch),), taper=value, expected=usual),
    )


def _text(sides: Sequence[CableSide]) -> str:
    return f"{counted(len(sides), 'cable')}, {gbps(sides):g} Gb/s"
