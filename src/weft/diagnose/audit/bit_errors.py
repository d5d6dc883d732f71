"""Bit error rates after correction, as devices count them themselves."""

from collections.abc import Iterator
from typing import Any

from weft.core.finding import Finding, FindingKind, Severity
from weft.diagnose.audit.case import Case, Ruling, finding, not_judged
from weft.diagnose.audit.counters import by_port, cable_or_port, port_name
from weft.diagnose.audit.label import count

FIX = "clean and reseat the cable at both ends; replace it if the rate stays"


def bit_error_rates(case: Case) -> Ruling:
    """Symbol and effective bit error rates against the specification's. Raw rates, before
    correction, are high by design and not judged."""
    ports = dict(_of_readings(case))
    devices = list(_of_devices(case))
    if not ports and not devices:
        return not_judged("no bit error rates: ibdiagnet --get_phy_info, mlxlink --json")
    bad, warning = case.thresholds.ber_bad.value, case.thresholds.ber_warning.value
    found: list[Finding] = []
    levels = (
        (Severity.BAD, bad, 1.1, case.thresholds.ber_bad.source),
        (Severity.WARNING, warning, bad, case.thresholds.ber_warning.source),
    )
    for severity, low, high, source in levels:
        lines = {
            (port_name(case, key), cable_or_port(case, key), name): value
            for (key, name), value in ports.items()
            if low <= value < high
        }
        lines |= {(d, d, name): value for d, name, value in devices if low <= value < high}
        facts = [by_port(case, key) for (key, _), value in ports.items() if low <= value < high]
        if lines:
            found.append(_finding(severity, lines, source, facts))
    n = len({key for key, _ in ports}) + len({device for device, _, _ in devices})
    return Ruling(judged=count(n, "port"), findings=tuple(found))


def _is_after_correction(name: str) -> bool:
    word = name.lower().replace("_", " ")
    is_rate = "ber" in word.split() or word.endswith("ber") or "bit error" in word
    return is_rate and ("effective" in word or "symbol" in word)


def _of_readings(case: Case) -> Iterator[tuple[tuple[tuple[int, int], str], float]]:
    for key, readings in case.readings.items():
        for name, value in readings[-1]["ratios"].items():
            if _is_after_correction(name):
                yield (key, name), float(value)


def _of_devices(case: Case) -> Iterator[tuple[str, str, float]]:
    for device in case.subnet.description["devices"]:
        for name, value in device["readings"].items():
            if _is_after_correction(name):
                yield f"{device['device']} port {device['port']}", name, float(value)


def _finding(
    severity: Severity,
    lines: dict[tuple[str, str, str], float],
    source: str,
    facts: list[dict[str, Any]],
) -> Finding:
    worst = sorted(lines, key=lambda key: (-lines[key], key))
    name, _, ratio = worst[0]
    places = list(dict.fromkeys(place for place, _, _ in worst))
    others = f"; {count(len(places) - 1, 'other port')} too" if len(places) > 1 else ""
    return finding(
        FindingKind.SUSPECT_LINK,
        severity,
        f"{name} has a {ratio.replace('_', ' ')} of {lines[worst[0]]:.1e}{others}",
        evidence=(
            *(
                f"{whole}: {ratio.replace('_', ' ')} {lines[_, whole, ratio]:.1e}"
                for _, whole, ratio in worst
            ),
            source,
        ),
        fix=FIX,
        ports=facts,
    )
