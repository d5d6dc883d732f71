"""Ethernet links that carried the messages: their own rates, where no platform is known.

A rate is a limit of a pair's bandwidth. TCP may stay below it on healthy hosts, and a cloud limits
a machine below the rate that its interface shows, so that nothing here is a certain fault.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from weft.bench.model import Sample
from weft.check.facts import PairFacts
from weft.check.readings.readings import Metric, is_rank
from weft.check.suspects.survey import Survey
from weft.check.wording.figures import list_pairs
from weft.core.finding import Finding, FindingKind, Severity
from weft.core.units import format_significant
from weft.core.words import counted, first_few
from weft.validity.proof import EthernetLinks, Proof, proofs_of

_MB_S_OF_GBPS = 125.0
_DOUBT = (
    "no proven fault: one CPU may limit a TCP stream, and a cloud may limit a machine below the"
    " rate that its interface shows"
)


def compared_with_links(survey: Survey, samples: Sequence[Sample]) -> list[Finding]:
    """Warnings: links of different rates, and pairs below half of the slowest link's rate."""
    links = _links_of(proofs_of(samples))
    if not links:
        return []
    return [*_different(links), *_below_half(survey, min(links, key=lambda one: one.gbps))]


def no_link_rate(samples: Iterable[Sample]) -> Iterator[str]:
    """A caveat where messages crossed an interface whose rate is not known."""
    proofs = [one for one in proofs_of(samples) if one.evidence.hosts > 1]
    if not proofs or _links_of(proofs) or any(one.evidence.fast_devices for one in proofs):
        return
    carried = proofs[0].evidence.device_bytes
    if carried:
        busiest = max(carried, key=lambda name: carried[name])
        yield (
            f"no link rate to compare with: {busiest} carried the messages, and it is virtual or"
            " reports no rate"
        )


def _links_of(proofs: Iterable[Proof]) -> tuple[EthernetLinks, ...]:
    """The links of the first launch that tells those of all its hosts."""
    for proof in proofs:
        links = proof.evidence.ethernet
        if links and sum(one.n_hosts for one in links) == proof.evidence.hosts:
            return links
    return ()


def _different(links: Sequence[EthernetLinks]) -> Iterator[Finding]:
    if len({one.gbps for one in links}) < 2:
        return
    slowest, fastest = (f(links, key=lambda one: one.gbps) for f in (min, max))
    yield Finding(
        FindingKind.MIS_SETTING,
        Severity.WARNING,
        f"{slowest.gbps:g} Gb/s is the rate of {slowest.device} on"
        f" {first_few(slowest.hosts, slowest.n_hosts)}; on"
        f" {counted(fastest.n_hosts, 'other host')} it is {fastest.gbps:g} Gb/s.",
        evidence=(f"read from /sys/class/net/{slowest.device}/speed of each host",),
        next_command=f"ethtool {slowest.device}",
    )


def _below_half(survey: Survey, slowest: EthernetLinks) -> Iterator[Finding]:
    """A finding about pairs whose fastest reading is below half of the rate."""
    readings = survey.readings
    if any(is_rank(name) for name in readings.endpoints):
        return
    rate = slowest.gbps * _MB_S_OF_GBPS
    of = np.flatnonzero(readings.metric == Metric.BANDWIDTH.code)
    fastest: dict[tuple[str, str], float] = {}
    for row in of.tolist():
        pair, value = readings.unordered(row), float(readings.value[row])
        fastest[pair] = max(value, fastest.get(pair, 0.0))
    limit = rate * float(np.exp(-survey.limits.useful_slowness))
    slow = sorted(pair for pair, value in fastest.items() if value < limit)
    if not slow:
        return
    worst = min(fastest[pair] for pair in slow)
    some = counted(len(slow), "pair delivers", "pairs deliver")
    who = "Every pair delivers" if len(slow) == len(fastest) else some
    yield Finding(
        FindingKind.BELOW_EXPECTED,
        Severity.WARNING,
        f"{who} less than half of the link rate: {format_significant(worst)} MB/s the slowest,"
        f" {slowest.device} runs at {slowest.gbps:g} Gb/s ({rate:g} MB/s).",
        evidence=(list_pairs(slow), _DOUBT),
        facts=PairFacts(tuple(slow)),
    )
