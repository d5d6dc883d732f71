"""Bit error rates after correction, as devices count them themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from weft.audit.case import AuditCase, Ruling, finding, not_judged
from weft.audit.counters.totals import audited_port, cable_or_port, port_name
from weft.audit.facts import AuditedPort, AuditPort, CounterFacts
from weft.catalog.document import Figure
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

FIX = "clean and reseat the cable at both ends; replace it if the rate stays"


def bit_error_rates(case: AuditCase) -> Ruling:
    """Symbol and effective bit error rates against the specification's. Raw rates, before
    correction, are high by design and not judged."""
    places = _places(case)
    if not places:
        return not_judged("no bit error rates: ibdiagnet --get_phy_info, mlxlink --json")
    bad, warning = case.thresholds.ber_bad, case.thresholds.ber_warning
    worst = {place: max(place.rates.values()) for place in places}
    groups = (
        (Severity.BAD, bad, [p for p in places if worst[p] >= bad.value]),
        (Severity.WARNING, warning, [p for p in places if warning.value <= worst[p] < bad.value]),
    )
    found = [
        _finding(severity, sorted(some, key=lambda p: -worst[p]), limit, warning.value)
        for severity, limit, some in groups
        if some
    ]
    return Ruling(judged=counted(len(places), "port"), findings=tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class BitErrorPort:
    """A port with its rates after correction, its name short and whole."""

    name: str
    whole: str
    rates: Mapping[str, float]
    port: AuditedPort


def _is_after_correction(name: str) -> bool:
    word = name.lower().replace("_", " ")
    is_rate = word.endswith("ber") or "bit error" in word
    return is_rate and ("effective" in word or "symbol" in word)


def _after_correction(ratios: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(it) for name, it in ratios.items() if _is_after_correction(name)}


def _places(case: AuditCase) -> list[BitErrorPort]:
    found = [
        BitErrorPort(port_name(case, key), cable_or_port(case, key), rates, audited_port(case, key))
        for key, readings in case.readings.items()
        if readings[-1]["ratios"] and (rates := _after_correction(readings[-1]["ratios"]))
    ]
    for device in case.subnet.description["devices"]:
        rates = _after_correction(device["readings"])
        if rates:
            name = f"{device['device']} port {device['port']}"
            found.append(BitErrorPort(name, name, rates, AuditedPort(AuditPort(name))))
    return found


def _finding(
    severity: Severity, places: Sequence[BitErrorPort], limit: Figure, shown_from: float
) -> Finding:
    first = places[0]
    ratio = max(first.rates, key=lambda name: first.rates[name])
    others = f"; {counted(len(places) - 1, 'other port')} too" if len(places) > 1 else ""
    return finding(
        FindingKind.SUSPECT_LINK,
        severity,
        f"{ratio.replace('_', ' ')} of {first.name} is {first.rates[ratio]:.1e}{others}",
        evidence=(
            *(f"{place.whole}: {_rates_text(place, shown_from)}" for place in places),
            f"{limit.value:g} is the limit: {limit.source}",
        ),
        fix=FIX,
        facts=CounterFacts(
            ports=tuple(replace(place.port, rates=dict(place.rates)) for place in places)
        ),
    )


def _rates_text(place: BitErrorPort, shown_from: float) -> str:
    high = {name: rate for name, rate in place.rates.items() if rate >= shown_from}
    return ", ".join(f"{name.replace('_', ' ')} {rate:.1e}" for name, rate in high.items())
