"""Error counters of one time: totals since an unknown time, so they only warn."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from weft.audit.case import AuditCase, PortKey, Ruling, finding, not_judged
from weft.audit.facts import AuditedPort, CounterFacts
from weft.audit.thresholds import CounterRule
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted
from weft.topology.subnet.subnet import CableEnd

NO_COUNTERS = "no counters: perfquery, ibqueryerrors, ibdiagnet's db_csv (PM_INFO)"


def counter_totals(case: AuditCase) -> Ruling:
    """Ports whose counters are beyond what the diagnostics' own thresholds allow.

    Counters that were read twice, over a time that is known, are the business of the rates.
    """
    readings = {
        key: found
        for key, found in case.readings.items()
        if any(reading["counters"] for reading in found)
    }
    if not readings:
        return not_judged(NO_COUNTERS)
    rules = case.thresholds.counters
    high: dict[str, dict[PortKey, int]] = {name: {} for name in rules}
    for key, of_port in readings.items():
        for name, value in of_port[-1]["counters"].items():
            rule = rules.get(name)
            if (
                rule is not None
                and value >= rule.total
                and not _was_read_twice(case, name, of_port)
            ):
                high[name][key] = value
    found = [_finding(case, rules[name], ports) for name, ports in high.items() if ports]
    return Ruling(judged=counted(len(readings), "port"), findings=tuple(found))


def _was_read_twice(case: AuditCase, counter: str, readings: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two readings replace the total."""
    values = [it["counters"][counter] for it in readings if counter in it["counters"]]
    return len(values) > 1 and (case.interval is not None or values[0] != values[-1])


def _finding(case: AuditCase, rule: CounterRule, high: Mapping[PortKey, int]) -> Finding:
    worst = sorted(high, key=lambda key: (-high[key], key))
    first = worst[0]
    sentence = (
        f"{rule.counter} of {port_name(case, first)} is at {high[first]:,}"
        if len(high) == 1
        else f"{rule.counter} of {len(high)} ports is at {high[first]:,} and less, the highest of "
        f"{port_name(case, first)}"
    )
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.WARNING,
        sentence,
        evidence=(
            *(f"{cable_or_port(case, key)}: {_value_text(rule, high[key])}" for key in worst),
            f"{rule.means}; the total has no start time: from {rule.total} on, take a second "
            f"reading ({rule.source})",
        ),
        fix="read the counters again after an hour, and give both readings (weft fabric audit "
        "LATER --before EARLIER, weft check --counters EARLIER --counters LATER); if it grows: "
        f"{rule.fix}",
        next_command="an hour later: weft fabric audit NEW-FILES --before FILES",
        facts=CounterFacts(
            counter=rule.counter,
            ports=tuple(replace(audited_port(case, key), value=high[key]) for key in worst),
        ),
    )


def _value_text(rule: CounterRule, value: int) -> str:
    """A counter's value, and whether it is full. Extended counters go further."""
    full = f" (the counter is full: it stops at {rule.highest:,})" if value == rule.highest else ""
    return f"{value:,}{full}"


def port_name(case: AuditCase, key: PortKey) -> str:
    """'leaf003 port 5'."""
    return case.labels.port(*key)


def cable_or_port(case: AuditCase, key: PortKey) -> str:
    """The port that counted and the other end of its cable, whole."""
    ends = _ends(case, key)
    if not ends:
        return case.labels.whole(*key)
    return " <- ".join(case.labels.whole(end.node, end.port, end.facts) for end in ends)


def audited_port(case: AuditCase, key: PortKey) -> AuditedPort:
    """A port and the other end of its cable, without a value."""
    ends = _ends(case, key)
    peer = case.labels.audit_port(*ends[1].key) if ends else None
    return AuditedPort(case.labels.audit_port(*key), peer)


def _ends(case: AuditCase, key: PortKey) -> tuple[CableEnd, ...]:
    """The ends of a port's cable, its own first; none without a cable."""
    cable = case.subnet.cable_at.get(key)
    if cable is None:
        return ()
    return cable.ends if cable.a.key == key else cable.ends[::-1]


def grouped(values: Mapping[tuple[PortKey, str], Any]) -> dict[str, dict[PortKey, Any]]:
    """Values by counter, then by port."""
    groups: dict[str, dict[PortKey, Any]] = defaultdict(dict)
    for (key, counter), value in values.items():
        groups[counter][key] = value
    return groups
