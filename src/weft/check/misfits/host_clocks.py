"""A host whose clock runs faster or slower than the clocks of the others: all that it timed is off
by one factor, and what others timed of it is normal. No component of a fabric does that."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from weft.bench.model import Sample
from weft.check.facts import AccusationFacts
from weft.check.readings.components import Part
from weft.check.readings.crossing import Crossings
from weft.check.readings.network import network_of
from weft.check.readings.norms import hop_classes
from weft.check.readings.readings import Bools, Floats, Metric, Readings, host_of, readings_of
from weft.check.thresholds import thresholds
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted
from weft.stats.summary import robust_sigma
from weft.topology.fabric import Fabric

AHEAD, BACK = "bandwidth_ab_mb_s", "bandwidth_ba_mb_s"
"""Bandwidth from a to b and back: its sender times it. `a` times all else (src/weft/_mpi/pairs.c).
"""
FEWEST = 2
"""Readings of a metric that tell a factor: a median of two has an error."""
STANDARD_ERRORS = 3
"""SOURCE: as for a fault that counts as identifiable: an effect beyond three standard errors."""
_ERROR_OF_MEDIAN = 1.2533
"""SOURCE: of a normal sample the median's standard error, in those of the mean: sqrt(pi / 2)."""


@dataclass(frozen=True, slots=True)
class WrongClockFacts(FindingFacts):
    """A host whose clock is off: `factor` times the durations that others measure."""

    node: str
    factor: float
    n_readings: int


def with_one_clock(
    samples: Sequence[Sample], wiring: Fabric | None, *, adaptive: bool
) -> tuple[list[Sample], tuple[Finding, ...]]:
    """The samples without what hosts timed whose clock is off, and a finding for each of them."""
    samples = list(samples)
    suspects = _one_sided(samples)
    if not suspects:
        return samples, ()
    found = list(_of_hosts(samples, suspects, wiring, adaptive=adaptive))
    for clock in found:
        samples = [kept for kept in (_without(one, clock.node) for one in samples) if kept.metrics]
    return samples, tuple(map(_finding, found))


def untold(samples: Sequence[Sample]) -> frozenset[str]:
    """Hosts that send and time too few latencies to tell their clock, as the last host does."""
    timed: Counter[str] = Counter()
    for one in samples:
        if one.pair is not None:
            timed[host_of(one.pair.a)] += Metric.LATENCY in one.metrics
            timed[host_of(one.pair.b)] += 0
    return frozenset(host for host, n in timed.items() if n < FEWEST)


def with_clock_doubt(finding: Finding, hosts: frozenset[str]) -> Finding:
    """An accusation of a sending node, by bandwidth that its own clock alone timed: with a line
    that says so."""
    facts = finding.facts
    if not isinstance(facts, AccusationFacts) or facts.metrics != (Metric.BANDWIDTH,):
        return finding
    senders = {one.ends[0] for one in facts.components if one.part is Part.NODE_SENDING}
    if not senders & hosts:
        return finding
    line = (
        f"the clock of {min(senders & hosts)} timed these readings, and too few latencies: a wrong"
        " clock looks the same"
    )
    return replace(finding, evidence=(*finding.evidence, line))


def _one_sided(samples: Sequence[Sample]) -> set[str]:
    """Hosts that send to their partners at another rate than these send to them, in the median by
    more than two populations may lie apart. Cheap: all other hosts have a good clock."""
    ratios: dict[str, list[float]] = {}
    for one in samples:
        if one.pair is not None and AHEAD in one.metrics and BACK in one.metrics:
            ahead, back = one.metrics[AHEAD], one.metrics[BACK]
            if ahead > 0 and back > 0:
                ratio = float(np.log(back / ahead))
                ratios.setdefault(host_of(one.pair.a), []).append(ratio)
                ratios.setdefault(host_of(one.pair.b), []).append(-ratio)
    least = thresholds().bandwidth_guard
    return {host for host, of in ratios.items() if abs(float(np.median(of))) > least}


def _of_hosts(
    samples: Sequence[Sample], suspects: set[str], wiring: Fabric | None, *, adaptive: bool
) -> Iterator[WrongClockFacts]:
    network = None if wiring is None else network_of(wiring)
    readings = readings_of(samples)
    if not len(readings):
        # All of them missed the fabric.
        return
    crossings = Crossings(readings, network, adaptive=adaptive)
    slower = _slower_than_median(crossings)
    timer = _timers(samples, readings)
    for host in sorted(suspects):
        timed = np.array([end == host for end in timer], np.bool_)
        ends = np.array([host in map(host_of, readings.name(row)) for row in range(len(readings))])
        factor = _factor(readings, slower, timed, ends & ~timed)
        if factor is not None:
            yield WrongClockFacts(host, factor, int(timed.sum()))


def _slower_than_median(crossings: Crossings) -> Floats:
    """By reading: how much slower than the median of its hop class (natural logarithm)."""
    readings = crossings.readings
    sign = np.where(readings.metric == Metric.LATENCY.code, 1.0, -1.0)
    logs: Floats = sign * np.log(readings.value)
    _, place = hop_classes(crossings)
    for number in np.unique(place):
        logs[place == number] -= np.median(logs[place == number])
    return logs


def _timers(samples: Sequence[Sample], readings: Readings) -> list[str]:
    """By reading: the host that timed it. A bandwidth goes from its sender, `a` of the row."""
    first = {
        (one.trial, one.repeat, one.pair.round, *sorted((one.pair.a, one.pair.b))): one.pair.a
        for one in samples
        if one.pair is not None
    }
    timers = []
    for row in range(len(readings)):
        a, _ = readings.name(row)
        if readings.metric[row] != Metric.BANDWIDTH.code:
            trial = readings.trials[readings.trial[row]]
            a = first[*trial, int(readings.round[row]), *readings.unordered(row)]
        timers.append(host_of(a))
    return timers


def _factor(readings: Readings, slower: Floats, timed: Bools, others: Bools) -> float | None:
    """The factor of a clock by what it timed; None where too few readings tell, where latency and
    bandwidth do not agree on one, or where what others timed of the same host is off as well."""
    latency = readings.metric == Metric.LATENCY.code
    bandwidth = readings.metric == Metric.BANDWIDTH.code
    limits = thresholds()
    off = []
    for metric, rows in ((Metric.LATENCY, latency), (Metric.BANDWIDTH, bandwidth)):
        own = slower[rows & timed]
        theirs = slower[rows & others]
        if own.size < FEWEST or abs(np.median(own)) <= limits.guard(metric, with_fabric=True):
            return None
        if theirs.size and abs(np.median(theirs)) > abs(np.median(own)) / 2:
            return None
        sigma = max(robust_sigma(own), limits.scale_floor)
        off.append((float(np.median(own)), _ERROR_OF_MEDIAN * sigma / np.sqrt(own.size)))
    (first, error), (second, other_error) = off
    least = STANDARD_ERRORS * float(np.hypot(error, other_error))
    agree = abs(first - second) <= least < abs(second) / 2
    return float(np.exp(second)) if agree else None


def _without(sample: Sample, host: str) -> Sample:
    """The sample without what this host timed."""
    pair = sample.pair
    if pair is None or host not in (host_of(pair.a), host_of(pair.b)):
        return sample
    timer = {name: host_of(pair.b if name == BACK else pair.a) for name in sample.metrics}
    both = "bandwidth_mb_s"
    kept = {name: it for name, it in sample.metrics.items() if timer[name] != host and name != both}
    return replace(sample, metrics=kept)


def _finding(clock: WrongClockFacts) -> Finding:
    factor = max(clock.factor, 1 / clock.factor)
    speed = "fast" if clock.factor > 1 else "slow"
    return Finding(
        FindingKind.CONTRADICTION,
        Severity.UNKNOWN,
        f"The clock of {clock.node} runs {speed} by a factor of {factor:.3g}: all latencies and"
        " bandwidths that it timed are off by that factor.",
        evidence=(
            f"{counted(clock.n_readings, 'reading')} that it timed are left out; what the others"
            " timed of it is normal",
            "to do: compare /sys/devices/system/clocksource/clocksource0/current_clocksource of the"
            " hosts, mend the clock, and check again",
        ),
        facts=clock,
    )
