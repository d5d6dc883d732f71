"""Closed forms: what a path or a collective should take on an otherwise idle fabric.

SOURCE of the collectives' step counts: Thakur, Rabenseifner, Gropp, "Optimization of Collective
Communication Operations in MPICH" (IJHPCA 2005); Hensgen, Finkel, Manber, "Two algorithms for
barrier synchronization" (1988) for dissemination. One rank a node; every step costs one message.
"""

from collections.abc import Callable
from dataclasses import dataclass

from weft.catalog.machine.platform import HostRegime, Links, Platform, PlatformHost, SwitchModel
from weft.core.errors import InputError, unknown_name
from weft.expect.model import Expectation, Term, largest, weakest_source
from weft.expect.wire import Path, header_efficiency, path_through, wire_bytes, zero_load_ns

SEND_STAGE, RECEIVE_STAGE = HOST_STAGES = (
    "send overhead of the host",
    "receive overhead of the host",
)
ACK_BYTES = 4
"""What ends a window of messages, as in OSU's bandwidth test."""


@dataclass(frozen=True, slots=True)
class _Twin:
    name: str
    host: PlatformHost
    links: Links
    switch: SwitchModel
    path: Path


def latency(platform: Platform, size_bytes: int, n_switches: int = 1) -> Expectation:
    """One-way latency of one message: both overheads, both adapters, and the fabric's time."""
    twin = _twin(platform, n_switches)
    terms = _latency_terms(twin, size_bytes)
    return _time_expectation(
        twin.name,
        terms,
        steps=1,
        formula="send overhead + adapters + cables + switches + wire bytes / link rate"
        " + receive overhead",
    )


def bandwidth(
    platform: Platform, size_bytes: int, window: int = 64, n_switches: int = 1
) -> Expectation:
    """Bandwidth of windows of messages one way, each window acknowledged. MB = 1e6 bytes."""
    if size_bytes < 1 or window < 1:
        raise InputError(
            f"no bandwidth of {window} messages of {size_bytes} B",
            expected="at least one message of one byte",
        )
    twin = _twin(platform, n_switches)
    stages = _stage_terms(twin, size_bytes)
    binding = largest(stages)
    fill = _latency_terms(twin, size_bytes) + _latency_terms(twin, ACK_BYTES)
    fill_ns = sum(term.time_ns for term in fill)
    window_ns = (window - 1) * binding.time_ns + fill_ns
    low_ns = (window - 1) * max(t.low_ns for t in stages) + sum(t.low_ns for t in fill)
    high_ns = (window - 1) * max(t.high_ns for t in stages) + sum(t.high_ns for t in fill)
    n_bytes = size_bytes * window
    share = header_efficiency(size_bytes, twin.path.mtu_bytes)
    bound = "latency of one window" if fill_ns > window_ns / 2 else binding.name
    if bound == "link rate":
        bound = f"link rate {twin.path.rate_gbps:g} Gb/s x header efficiency {share:.4f}"
    return Expectation(
        metric="bandwidth_mb_s",
        value=n_bytes / window_ns * 1e3,
        unit="MB/s",
        low=n_bytes / high_ns * 1e3,
        high=n_bytes / low_ns * 1e3,
        bound=bound,
        formula="window x size / ((window - 1) x slowest stage + latency + latency of the answer)",
        source=weakest_source(twin.name, [*stages, *fill]),
    )


def bidirectional(
    platform: Platform, size_bytes: int, window: int = 64, n_switches: int = 1
) -> Expectation:
    """Bandwidth of windows of messages both ways at once, both added. MB = 1e6 bytes.

    A processor sends and receives in turn, and hides the latency behind that where it is slowest;
    links and gaps are one for each direction.
    """
    if size_bytes < 1 or window < 1:
        raise InputError(
            f"no bandwidth of {window} messages of {size_bytes} B",
            expected="at least one message of one byte",
        )
    twin = _twin(platform, n_switches)
    stages = _stage_terms(twin, size_bytes)
    both_ns = sum(term.time_ns for term in stages if term.name in HOST_STAGES)
    class_ = next(term.class_ for term in stages if term.name in HOST_STAGES)
    busy = Term("overheads of the host, both ways", window * both_ns, class_)
    slowest, fill = largest(stages), _latency_terms(twin, size_bytes)
    fill_ns = sum(term.time_ns for term in fill)
    stream_ns = (window - 1) * slowest.time_ns + fill_ns
    bound = "latency of one window" if fill_ns > stream_ns / 2 else slowest.name
    low_ns = (window - 1) * max(t.low_ns for t in stages) + sum(t.low_ns for t in fill)
    high_ns = (window - 1) * max(t.high_ns for t in stages) + sum(t.high_ns for t in fill)
    n_bytes = 2 * size_bytes * window
    return Expectation(
        metric="bandwidth_mb_s",
        value=n_bytes / max(busy.time_ns, stream_ns) * 1e3,
        unit="MB/s",
        low=n_bytes / max(busy.high_ns, high_ns) * 1e3,
        high=n_bytes / max(busy.low_ns, low_ns) * 1e3,
        bound=busy.name if busy.time_ns > stream_ns else bound,
        formula="2 x window x size / ((window - 1) x slowest stage + latency, or window x both"
        " overheads if that is longer)",
        source=weakest_source(twin.name, [*stages, *fill]),
    )


def link_ceiling_gbps(platform: Platform, size_bytes: int, n_switches: int = 1) -> float:
    """Payload rate of the slowest link when nothing else limits: rate x header efficiency."""
    path = path_through(platform, n_switches)
    return path.rate_gbps * header_efficiency(size_bytes, path.mtu_bytes)


def collective(
    platform: Platform, benchmark: str, size_bytes: int, n_nodes: int, n_switches: int = 1
) -> Expectation:
    """Time of a collective by the platform's own algorithm for that size. Raises InputError."""
    algorithm = platform.algorithm(benchmark, size_bytes)
    if algorithm is None:
        raise InputError(
            f"platform '{platform.name}' names no algorithm for '{benchmark}'",
            expected="one of " + ", ".join(sorted({a.benchmark for a in platform.mpi.algorithms})),
        )
    steps_of = STEPS.get(algorithm)
    if steps_of is None:
        raise unknown_name(f"no closed form of algorithm '{algorithm}'", algorithm, STEPS)
    steps = steps_of(n_nodes, size_bytes)
    twin = _twin(platform, n_switches)
    return _time_expectation(
        twin.name,
        _latency_terms(twin, steps.size_bytes),
        steps=steps.count,
        formula=f"{algorithm}: {steps.count} x latency of {steps.size_bytes} B",
    )


@dataclass(frozen=True, slots=True)
class Steps:
    """How many messages follow one another, and how large each is."""

    count: int
    size_bytes: int


def recursive_doubling(n_ranks: int, size_bytes: int) -> Steps:
    """log2 of the largest power of two, and two more where ranks are left over."""
    whole = n_ranks.bit_length() - 1
    return Steps(whole + (2 if n_ranks != 1 << whole else 0), size_bytes)


def ring(n_ranks: int, size_bytes: int) -> Steps:
    """Reduce-scatter and allgather: 2 (n - 1) steps of one n-th."""
    return Steps(2 * (n_ranks - 1), -(-size_bytes // n_ranks))


def pairwise(n_ranks: int, size_bytes: int) -> Steps:
    """One partner at a time."""
    return Steps(n_ranks - 1, size_bytes)


def dissemination(n_ranks: int, size_bytes: int) -> Steps:  # noqa: ARG001
    """Partners at distance 1, 2, 4 ...; messages are empty."""
    return Steps((n_ranks - 1).bit_length(), 0)


STEPS: dict[str, Callable[[int, int], Steps]] = {
    "recursive_doubling": recursive_doubling,
    "ring": ring,
    "pairwise": pairwise,
    "dissemination": dissemination,
}


def regime_of(host: PlatformHost, size_bytes: int) -> HostRegime:
    """The protocol regime in force at a size."""
    for regime in host.regimes:
        if regime.max_bytes is None or size_bytes <= regime.max_bytes:
            return regime
    return host.regimes[-1]


def _latency_terms(twin: _Twin, size_bytes: int) -> list[Term]:
    """The parts of one message's way, in order; together its latency."""
    regime = regime_of(twin.host, size_bytes)
    send_ns = regime.send_overhead_ns + regime.send_ns_per_byte * size_bytes
    recv_ns = regime.recv_overhead_ns + regime.recv_ns_per_byte * size_bytes
    adapter_ns = 2 * twin.host.adapter_latency.value
    n_hops = len(twin.path.hops)
    switches_ns = (n_hops - 1) * twin.path.switch_delay_ns
    cables_ns = sum(hop.delay_ns for hop in twin.path.hops) - adapter_ns
    wire_ns = zero_load_ns(twin.path, size_bytes) - twin.path.delay_ns
    cable = twin.links.host if n_hops == 2 else twin.links.switch
    return [
        Term("host overheads", send_ns + recv_ns, regime.class_),
        Term(
            "host latency",
            regime.latency_ns + regime.latency_ns_per_byte * size_bytes,
            regime.class_,
        ),
        Term("adapter latency", adapter_ns, twin.host.adapter_latency.class_),
        Term("switch delay", switches_ns, twin.switch.delay.class_),
        Term("cable delay", cables_ns, cable.delay.class_),
        Term("link rate", wire_ns, twin.links.host.rate.class_),
    ]


def _stage_terms(twin: _Twin, size_bytes: int) -> list[Term]:
    """What each message occupies for how long; the longest sets the pace of a window."""
    regime = regime_of(twin.host, size_bytes)
    wire_ns = wire_bytes(size_bytes, twin.path.mtu_bytes) * 8 / twin.path.rate_gbps
    send_ns = regime.send_overhead_ns + regime.send_ns_per_byte * size_bytes
    recv_ns = regime.recv_overhead_ns + regime.recv_ns_per_byte * size_bytes
    gap = twin.host.message_gap
    host_gap_ns = regime.gap_ns + regime.gap_ns_per_byte * size_bytes
    return [
        Term("link rate", wire_ns, twin.links.host.rate.class_),
        Term(SEND_STAGE, send_ns, regime.class_),
        Term(RECEIVE_STAGE, recv_ns, regime.class_),
        Term("message rate of the adapter", gap.value, gap.class_),
        Term("gap between messages of the host", host_gap_ns, regime.class_),
    ]


def _time_expectation(name: str, terms: list[Term], *, steps: int, formula: str) -> Expectation:
    return Expectation(
        metric="latency_us",
        value=steps * sum(term.time_ns for term in terms) / 1e3,
        unit="us",
        low=steps * sum(term.low_ns for term in terms) / 1e3,
        high=steps * sum(term.high_ns for term in terms) / 1e3,
        bound=largest(terms).name,
        formula=formula,
        source=weakest_source(name, terms),
    )


def _twin(platform: Platform, n_switches: int) -> _Twin:
    path = path_through(platform, n_switches)
    if platform.host is None or platform.links is None or platform.switch is None:
        raise InputError(f"platform '{platform.name}' has no hosts", expected="one with [host]")
    return _Twin(platform.name, platform.host, platform.links, platform.switch, path)
