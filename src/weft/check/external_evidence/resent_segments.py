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
    of its messages a little. One burst at one host slows few: that is a warning, unless two
    launches show it, each by itself; it is none if the other launches did not show it. Beside slow
    hosts or cables only slow hosts are named: the queues of those that send to them overflow."""
    slow = [one for one in accusations if _is_slow(one)]
    slow_hosts = {host for one in slow for component in one.components for host in component.ends}
    limits, again = survey.limits, _SentAgain(survey, samples)
    standing_out = {
        host: evidence
        for host, evidence in again.standing_out(limits.suspect_evidence).items()
        if (not slow or host in slow_hosts)
        and again.shows_in_all(host, alone=evidence >= limits.named_evidence)
    }
    found = list(standing_out)
    if not found:
        return []
    least = min(standing_out.values())
    sure = enough_nodes and least >= limits.named_evidence
    sure = sure and all(
        again.shows_twice(host) or _is_slow_throughout(survey, host, found) for host in found
    )
    return [_finding(found, again.by_host, survey.crossings.hosts, least, sure=sure)]


def _is_slow(accusation: Accusation) -> bool:
    may_be = accusation.standing in (Standing.CONFIRMED, Standing.UNTESTED)
    return may_be and Metric.BANDWIDTH in accusation.slower


def hosts_to_measure_again(samples: Iterable[Sample], survey: Survey) -> list[str]:
    """The hosts that sent more again than the others, too little to say so after the survey: any
    evidence is enough, since few rounds cost little."""
    return list(_SentAgain(survey, samples).standing_out(0.0))


class _SentAgain:
    """What hosts sent again in each launch, beside their share of its messages. Of messages with a
    lossy host half of what is lost is its own: rounds must load all hosts alike to show it."""

    def __init__(self, survey: Survey, samples: Iterable[Sample]) -> None:
        self._limits, self._hosts = survey.limits, list(survey.crossings.hosts)
        by_launch, readings = resent_segments(samples), survey.readings
        self.by_host = +sum(by_launch.values(), Counter[str]())
        sending = np.flatnonzero(readings.metric == Metric.BANDWIDTH.code)
        self._messages = np.zeros((len(readings.trials), len(self._hosts)))
        self._sent = np.zeros(self._messages.shape, np.int64)
        for ends in (readings.a, readings.b):
            host = survey.crossings.host_number[ends[sending]]
            np.add.at(self._messages, (readings.trial[sending], host), 1.0)
        for number, launch in enumerate(readings.trials):
            of = by_launch.get(launch, Counter[str]())
            self._sent[number] = [of[host] for host in self._hosts]
        every = np.maximum(1.0, self._messages.sum(axis=1, keepdims=True))
        self._shares = self._messages / every

    def standing_out(self, least: float) -> dict[str, float]:
        """By host the evidence that it sent more again than the others: more than `least`, the
        strongest first, half of the hosts at most."""
        found: dict[str, float] = {}
        n_hosts = len(self._hosts)
        if n_hosts < _LEAST_HOSTS or not set(self.by_host) <= set(self._hosts):
            return found
        expected = self._shares.T @ self._sent.sum(axis=1)
        sent = self._sent.sum(axis=0)
        times = sent / np.maximum(expected, 1e-9)
        order = np.argsort(-times, kind="stable").tolist()
        for place, at in enumerate(order[: n_hosts // 2]):
            evidence = self._evidence(int(sent[at]), int(sent.sum()), float(expected[at]))
            others = float(np.median(times[order[place + 1 :]]))
            if evidence <= least or times[at] < 2 * others:
                break
            found[self._hosts[at]] = evidence
        return found

    def shows_in_all(self, host: str, *, alone: bool) -> bool:
        """Whether no launch lacks what a host sent again: it has less than `resent_least` of its
        share by the host's messages, and less than that share explains (binomial,
        `contradicted_sigma`). A queue that overflows once sends again in one launch only. `alone`:
        whether one is enough."""
        at = self._hosts.index(host)
        share = self._messages[:, at] / self._messages[:, at].sum()
        if not alone and np.count_nonzero(share) == 1:
            return False
        n = self._sent[:, at]
        lacks = n < self._limits.resent_least * n.sum() * share
        lacks &= binom.cdf(n, n.sum(), share) < norm.sf(self._limits.contradicted_sigma)
        return not lacks.any()

    def shows_twice(self, host: str) -> bool:
        """Whether two launches or more make a host a suspect, each by itself."""
        at = self._hosts.index(host)
        total = self._sent.sum(axis=1)
        each = zip(self._sent[:, at], total, total * self._shares[:, at], strict=True)
        evidences = (self._evidence(int(n), int(of), float(expected)) for n, of, expected in each)
        return sum(one >= self._limits.suspect_evidence for one in evidences) > 1

    def _evidence(self, mine: int, total: int, expected: float) -> float:
        """The logarithm of a binomial likelihood ratio: what a host sent again of a total, against
        what its messages make expected; less that of the number of hosts."""
        if not 0 < expected < min(mine, total):
            return 0.0
        left = xlogy(total - mine, (total - mine) / (total - expected))
        ratio = xlogy(mine, mine / expected) + left
        return float(ratio - np.log(len(self._hosts)) - self._limits.evidence_a_metric)


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


def _finding(
    found: Sequence[str],
    resent: Mapping[str, int],
    hosts: Sequence[str],
    evidence: float,
    *,
    sure: bool,
) -> Finding:
    first = found[0]
    others = float(median(resent.get(host, 0) for host in hosts if host not in found))
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
            n_hosts=len(hosts),
            evidence=round(evidence, 2),
        ),
    )
