"""Error rates: two readings of one counter, and the time between them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from weft.audit.cabling.device_label import listing
from weft.audit.case import AuditCase, Interval, PortKey, Ruling, finding, not_judged
from weft.audit.counters.totals import NO_COUNTERS, audited_port, cable_or_port, grouped, port_name
from weft.audit.facts import CounterFacts, CounterNames, GrowthFacts
from weft.audit.thresholds import CounterRule
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.words import counted

WAIT = "PortXmitWait"
OCTETS_A_TICK = 4


@dataclass(frozen=True, slots=True)
class Growth:
    """The first and the last value of a counter."""

    first: int
    last: int

    @property
    def more(self) -> int:
        """By how much it grew."""
        return self.last - self.first


def counter_rates(case: AuditCase) -> Ruling:
    """Counters that grew between the first and the last reading of their port."""
    twice = {key: found for key, found in case.readings.items() if len(found) > 1}
    if not twice:
        return not_judged(
            "only one reading of each counter: --before with an earlier one"
            if case.readings
            else NO_COUNTERS
        )
    growths = dict(_growths(case))
    rules = case.thresholds.counters
    cleared = [at for at, growth in growths.items() if growth.more < 0]
    full = [
        (key, name)
        for (key, name), growth in growths.items()
        if name in rules and growth.first == growth.last == rules[name].highest
    ]
    grown = {at: growth for at, growth in growths.items() if growth.more > 0}
    found = [
        *(
            _rate_finding(case, rules[name], ports)
            for name, ports in grouped(grown).items()
            if name in rules
        ),
        *_waits(case, grown),
        *_unusable(case, cleared, "cleared between the readings: no rates"),
        *_unusable(case, full, "full in both readings: clear them (perfquery -R) and read anew"),
    ]
    how = f" over {_time(case.interval.seconds)} ({case.interval.how})" if case.interval else ""
    return Ruling(judged=f"{counted(len(twice), 'port')}{how}", findings=tuple(found))


def _growths(case: AuditCase) -> Iterator[tuple[tuple[PortKey, str], Growth]]:
    """The first and the last reading of every counter that a rule is about; as falling where it
    ever fell."""
    names = [*case.thresholds.counters, WAIT]
    for key, readings in case.readings.items():
        if len(readings) < 2:
            continue
        counters = [reading["counters"] for reading in readings]
        for name in names:
            values = [one[name] for one in counters if name in one]
            if len(values) > 1:
                fell = any(b < a for a, b in pairwise(values))
                yield (key, name), Growth(values[0], -1 if fell else values[-1])


def _rate_finding(case: AuditCase, rule: CounterRule, ports: Mapping[PortKey, Growth]) -> Finding:
    interval = case.interval
    worst = sorted(ports, key=lambda key: (-ports[key].more, key))
    top = ports[worst[0]].more
    is_bad = (
        interval is not None
        and rule.bad_an_hour > 0
        and top >= case.thresholds.least_growth.value
        and top / interval.hours >= rule.bad_an_hour
    )
    name = port_name(case, worst[0])
    others = f"; {counted(len(worst) - 1, 'other port')} too" if len(worst) > 1 else ""
    limit = f"bad from {rule.bad_an_hour:g} an hour" if rule.bad_an_hour else "no rate is bad"
    return finding(
        FindingKind.SUSPECT_LINK,
        Severity.BAD if is_bad else Severity.WARNING,
        f"{name}: {rule.counter} grew by {top:,}{_per_hour(top, interval)}{others}",
        evidence=(
            *(
                f"{cable_or_port(case, key)}: {ports[key].first:,} to {ports[key].last:,}"
                f"{' (full: there were more)' if ports[key].last == rule.highest else ''}"
                for key in worst
            ),
            f"{rule.means}; {limit} ({rule.source})",
        ),
        fix=rule.fix,
        facts=GrowthFacts(
            counter=rule.counter,
            ports=tuple(replace(audited_port(case, key), grew_by=ports[key].more) for key in worst),
            seconds=interval.seconds if interval else None,
        ),
    )


def _per_hour(more: int, interval: Interval | None) -> str:
    if interval is None or interval.seconds <= 0:
        return " (in an unknown time: give --seconds)"
    return f" in {_time(interval.seconds)}, {more / interval.hours:,.3g} an hour"


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def _waits(case: AuditCase, grown: Mapping[tuple[PortKey, str], Growth]) -> Iterator[Finding]:
    """Ports that waited for credits for a good part of the time: congestion, no fault."""
    if case.interval is None:
        return
    shares: dict[PortKey, float] = {}
    for (key, name), growth in grown.items():
        cable = case.subnet.cable_at.get(key)
        gbps = (cable.a.gbps or cable.b.gbps) if cable is not None else None
        if name == WAIT and gbps:
            shares[key] = growth.more * OCTETS_A_TICK * 8 / (gbps * 1e9) / case.interval.seconds
    high = {key: it for key, it in shares.items() if it >= case.thresholds.wait_share.value}
    if not high:
        return
    worst = sorted(high, key=lambda key: (-high[key], key))
    yield finding(
        FindingKind.ANOMALY,
        Severity.NOTE,
        f"{counted(len(high), 'port')} had data and no credit for "
        f"{100 * high[worst[0]]:.0f} % of the time: congestion ({port_name(case, worst[0])})",
        evidence=(
            *(f"{cable_or_port(case, key)}: {100 * high[key]:.0f} %" for key in worst),
            case.thresholds.wait_share.source,
        ),
        facts=CounterFacts(
            counter=WAIT,
            ports=tuple(replace(audited_port(case, key), share=high[key]) for key in worst),
        ),
    )


def _unusable(case: AuditCase, ports: list[tuple[PortKey, str]], what: str) -> Iterator[Finding]:
    if not ports:
        return
    names = [f"{port_name(case, key)} {counter}" for key, counter in ports]
    yield finding(
        FindingKind.NOT_JUDGED,
        Severity.NOTE,
        f"{counted(len(ports), 'counter')} {what}",
        evidence=(listing(names, most=8),),
        facts=CounterNames(counters=tuple(names)),
    )
