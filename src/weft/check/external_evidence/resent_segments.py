"""Hosts whose TCP connections sent much again: packets are lost at their cable, or in their own
queues. Bandwidth hardly shows it: a segment is sent again within a round trip."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import numpy as np
from scipy.special import xlogy
from scipy.stats import binom, norm

from weft.bench.model import Sample
from weft.check.readings.components import Component, Part
from weft.check.readings.readings import Metric
from weft.check.suspects.accusation import Accusation, Standing
from weft.check.suspects.survey import Survey
from weft.check.thresholds import CheckThresholds
from weft.check.trials import SURVEY
from weft.core.finding import Finding, FindingFacts, FindingKind, Severity
from weft.core.words import counted

_COUNTER = " tcp RetransSegs"
"""As evidence names it, behind the host (docs/reference/run_directory.md)."""
_TENTH = 0.1
_Launch = tuple[str, int]
"""A trial and its repeat."""
_LEAST_HOSTS = 4
"""Of three hosts one lossy cable makes a half and two quarters of all segments sent again."""


@dataclass(frozen=True, slots=True)
class ResentFacts(FindingFacts):
    """Hosts that sent segments again, of `n_hosts`: how many each, and the median of the others.
    `evidence`: a natural logarithm, of the least."""

    components: tuple[Component, ...]
    n_resent: tuple[int, ...]
    n_others: float
    n_hosts: int
    evidence: float

    def to_record(self) -> dict[str, Any]:
        """The components as their ends."""
        record = asdict(self)
        del record["components"]
        return {"ends": [component.ends for component in self.components], **record}


def resent_segments(samples: Iterable[Sample]) -> dict[_Launch, Counter[str]]:
    """By launch and host how many segments TCP sent again, where it carried the messages."""
    found: dict[_Launch, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        carried = sample.evidence.get("carried_bytes", {})
        if not sample.evidence or carried.get("fabric", 0):
            continue
        for name, n in sample.evidence.get("device_errors", {}).items():
            host, is_tcp, _ = name.partition(_COUNTER)
            found[sample.trial, sample.repeat][host] += n if is_tcp else 0
    return found


def resent_findings(
    samples: Iterable[Sample],
    survey: Survey,
    accusations: Iterable[Accusation] = (),
    *,
    enough_nodes: bool,
) -> list[Finding]:
    """A finding of the hosts that sent far more again than the others; none without. A check loads
    all hosts alike, so a lossy cable makes its host send half of all segments again, and slows most
    of its messages a little. One burst at one host slows few: that is a warning, unless the survey
    is enough by itself and a later launch shows the same; it is none if the other launches did not
    show it. Beside slow hosts or cables only slow hosts are named: the queues of those that send to
    them overflow."""
    slow = [one for one in accusations if _is_slow(one)]
    slow_hosts = {host for one in slow for component in one.components for host in component.ends}
    hosts, limits = survey.crossings.hosts, survey.limits
    by_launch = resent_segments(samples)
    resent = +sum(by_launch.values(), Counter[str]())
    standing_out = {
        host: evidence
        for host, evidence in _standing_out(resent, survey, limits.suspect_evidence).items()
        if (not slow or host in slow_hosts)
        and _shows_in_all(survey, by_launch, host, alone=evidence >= limits.named_evidence)
    }
    found = list(standing_out)
    if not found:
        return []
    others = float(median(resent[host] for host in hosts if host not in found))
    least = min(standing_out.values())
    sure = enough_nodes and least >= limits.named_evidence
    in_survey = sum((n for (trial, _), n in by_launch.items() if trial == SURVEY), Counter[str]())
    surely = _standing_out(+in_survey, survey, limits.named_evidence)
    sure = sure and all(
        _is_slow_throughout(survey, host, found) or (len(by_launch) > 1 and host in surely)
        for host in found
    )
    return [_finding(found, resent, others, len(hosts), least, sure=sure)]


def _is_slow(accusation: Accusation) -> bool:
    may_be = accusation.standing in (Standing.CONFIRMED, Standing.UNTESTED)
    return may_be and Metric.BANDWIDTH in accusation.slower


def hosts_to_measure_again(samples: Iterable[Sample], survey: Survey) -> list[str]:
    """The hosts that sent more again than the others, too little to say so after the survey."""
    resent = +sum(resent_segments(samples).values(), Counter[str]())
    return list(_standing_out(resent, survey, survey.limits.near_evidence))


def _standing_out(resent: Counter[str], survey: Survey, least: float) -> dict[str, float]:
    """By host the evidence that it sent more again than the others: `least` or more, the strongest
    first, half of the hosts at most."""
    hosts = survey.crossings.hosts
    n, total = len(hosts), resent.total()
    found: dict[str, float] = {}
    if n < _LEAST_HOSTS or not set(resent) <= set(hosts):
        return found
    ranked = sorted(hosts, key=lambda host: -resent[host])
    for host in ranked[: n // 2]:
        others = median(resent[other] for other in ranked if other not in (*found, host))
        evidence = _evidence(resent[host], total, n, survey.limits)
        if evidence < least or resent[host] < 2 * others:
            break
        found[host] = evidence
    return found


def _shows_in_all(
    survey: Survey, by_launch: Mapping[_Launch, Counter[str]], host: str, *, alone: bool
) -> bool:
    """Whether no launch lacks what a host sent again: it has less than `resent_least` of its share
    by the host's messages, and less than that share explains (binomial, `contradicted_sigma`). A
    queue that overflows once sends again in one launch only. `alone`: whether one is enough."""
    readings, crossings = survey.readings, survey.crossings
    ends = crossings.host_number[np.stack([readings.a, readings.b])]
    mine = (ends == crossings.hosts.index(host)).any(axis=0)
    mine &= readings.metric == Metric.BANDWIDTH.code
    share = np.bincount(readings.trial[mine], minlength=len(readings.trials)) / mine.sum()
    if not alone and np.count_nonzero(share) == 1:
        return False
    n = np.array([by_launch.get(launch, Counter())[host] for launch in readings.trials])
    lacks = n < survey.limits.resent_least * n.sum() * share
    lacks &= binom.cdf(n, n.sum(), share) < norm.sf(survey.limits.contradicted_sigma)
    return not lacks.any()


def _is_slow_throughout(survey: Survey, host: str, found: Sequence[str]) -> bool:
    """Whether far more of a host's bandwidths are among the slowest tenth of what the others
    measured than chance makes so (binomial, three standard deviations), however little they
    lose."""
    readings, crossings = survey.readings, survey.crossings
    ends = crossings.host_number[np.stack([readings.a, readings.b])]
    sending = survey.judged & (readings.metric == Metric.BANDWIDTH.code)
    suspects = [crossings.hosts.index(one) for one in found]
    others = survey.normed.slower[sending & ~np.isin(ends, suspects).any(axis=0)]
    mine = survey.normed.slower[sending & (ends == crossings.hosts.index(host)).any(axis=0)]
    if not others.size or not mine.size:
        return False
    n_slow = int((mine > np.quantile(others, 1 - _TENTH)).sum())
    by_chance = float(binom.sf(n_slow - 1, mine.size, _TENTH))
    return by_chance < float(norm.sf(survey.limits.contradicted_sigma))


def _evidence(mine: int, total: int, n: int, limits: CheckThresholds) -> float:
    """The logarithm of a binomial likelihood ratio: a host's share of what all sent again, against
    an equal one; less that of the number of hosts."""
    share = mine / max(1, total)
    if share * n <= 1:
        return 0.0
    ratio = xlogy(mine, share * n) + xlogy(total - mine, (1 - share) / (1 - 1 / n))
    return float(ratio - np.log(n) - limits.evidence_a_metric)


def _finding(
    found: Sequence[str],
    resent: Counter[str],
    others: float,
    n: int,
    evidence: float,
    *,
    sure: bool,
) -> Finding:
    first = found[0]
    verb = "loses" if sure else "may lose"
    subject = f"Node {first} or its cable" if len(found) == 1 else f"{len(found)} nodes"
    if len(found) > 1:
        verb = "lose" if sure else "may lose"
    them = "it" if len(found) == 1 else f"{first}, the first of them,"
    return Finding(
        FindingKind.SUSPECT_NODE,
        Severity.BAD if sure else Severity.WARNING,
        f"{subject} {verb} packets: {them} sent {counted(resent[first], 'TCP segment')} again,"
        f" other nodes {others:g} (median).",
        evidence=(
            ", ".join(f"{host}: {resent[host]:,}" for host in found),
            "counted by the host (/proc/net/snmp, RetransSegs) before and after the launches",
            "possible causes: its cable or adapter, or queues that overflow: look at the error and"
            " drop counters of its interface (ip -s link) and of its switch port",
        ),
        facts=ResentFacts(
            components=tuple(Component(Part.NODE, (host,)) for host in found),
            n_resent=tuple(resent[host] for host in found),
            n_others=others,
            n_hosts=n,
            evidence=round(evidence, 2),
        ),
    )
