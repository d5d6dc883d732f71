"""Closed forms: what a path should take on an otherwise idle fabric."""

from dataclasses import dataclass

from weft.catalog.machine.platform import Links, Platform, PlatformHost, SwitchModel
from weft.core.errors import InputError
from weft.expect.model import Expectation, Term, largest, span, weakest_source
from weft.expect.wire import Path, header_efficiency, path_through, wire_bytes, zero_load_ns

HOST_STAGES = ("send overhead of the host", "receive overhead of the host")
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
    terms = _latency_terms(_twin(platform, n_switches), size_bytes)
    value, low, high = (time_ns / 1e3 for time_ns in span(terms))
    return Expectation(
        metric="latency_us",
        value=value,
        unit="us",
        low=low,
        high=high,
        bound=largest(terms).name,
        formula="send overhead + adapters + cables + switches + wire bytes / link rate"
        " + receive overhead",
        source=weakest_source(platform.name, terms),
    )


def bandwidth(
    platform: Platform, size_bytes: int, window: int = 64, n_switches: int = 1
) -> Expectation:
    """Bandwidth of windows of messages one way, each window acknowledged. MB = 1e6 bytes."""
    twin = _twin(platform, n_switches)
    answer = _latency_terms(twin, ACK_BYTES)
    formula = "window x size / ((window - 1) x slowest stage + latency + latency of the answer)"
    return _windows(twin, size_bytes, window, answer, formula)


def bidirectional(
    platform: Platform, size_bytes: int, window: int = 64, n_switches: int = 1
) -> Expectation:
    """Bandwidth of windows of messages in both directions at once, summed. MB = 1e6 bytes.

    A processor sends and receives in turn, and hides the latency behind that where it is slowest;
    links and gaps are one for each direction.
    """
    twin = _twin(platform, n_switches)
    formula = (
        "2 x window x size / ((window - 1) x slowest stage + latency, or window x both"
        " overheads if that is longer)"
    )
    return _windows(twin, size_bytes, window, [], formula, duplex=True)


def _windows(
    twin: _Twin,
    size_bytes: int,
    window: int,
    answer: list[Term],
    formula: str,
    *,
    duplex: bool = False,
) -> Expectation:
    """MB/s of windows; `duplex`: as many come in, and one processor sends and receives them."""
    if size_bytes < 1 or window < 1:
        raise InputError(
            f"no bandwidth of {window} messages of {size_bytes} B",
            expected="at least one message of one byte",
        )
    stages, fill = _stage_terms(twin, size_bytes), _latency_terms(twin, size_bytes) + answer
    slowest, (fill_ns, fill_low_ns, fill_high_ns) = largest(stages), span(fill)
    stream_ns = (window - 1) * slowest.time_ns + fill_ns
    low_ns = (window - 1) * max(term.low_ns for term in stages) + fill_low_ns
    high_ns = (window - 1) * max(term.high_ns for term in stages) + fill_high_ns
    bound = "latency of one window" if fill_ns > stream_ns / 2 else slowest.name
    if bound == "link rate":
        share = header_efficiency(size_bytes, twin.path.mtu_bytes)
        bound = f"link rate {twin.path.rate_gbps:g} Gb/s x header efficiency {share:.4f}"
    n_bytes, time_ns = size_bytes * window, stream_ns
    if duplex:
        own = [term for term in stages if term.name in HOST_STAGES]
        both_ns = sum(term.time_ns for term in own)
        busy = Term("overheads of the host, both directions", window * both_ns, own[0].class_)
        bound = busy.name if busy.time_ns > stream_ns else bound
        n_bytes, time_ns = 2 * n_bytes, max(busy.time_ns, stream_ns)
        low_ns, high_ns = max(busy.low_ns, low_ns), max(busy.high_ns, high_ns)
    return Expectation(
        metric="bandwidth_mb_s",
        value=n_bytes / time_ns * 1e3,
        unit="MB/s",
        low=n_bytes / high_ns * 1e3,
        high=n_bytes / low_ns * 1e3,
        bound=bound,
        formula=formula,
        source=weakest_source(twin.name, [*stages, *fill]),
    )


def _latency_terms(twin: _Twin, size_bytes: int) -> list[Term]:
    """The parts of one message's path, in order; together its latency."""
    regime = twin.host.regime(size_bytes)
    send_ns, recv_ns = regime.overheads_ns(size_bytes)
    adapter_ns = 2 * twin.host.adapter_latency.value
    n_hops = len(twin.path.hops)
    switches_ns = (n_hops - 1) * twin.path.switch_delay_ns
    cables_ns = sum(hop.delay_ns for hop in twin.path.hops) - adapter_ns
    wire_ns = zero_load_ns(twin.path, size_bytes) - twin.path.delay_ns
    cable = twin.links.host if n_hops == 2 else twin.links.switch
    return [
        Term("host overheads", send_ns + recv_ns, regime.class_),
        Term("host latency", regime.free_latency_ns(size_bytes), regime.class_),
        Term("adapter latency", adapter_ns, twin.host.adapter_latency.class_),
        Term("switch delay", switches_ns, twin.switch.delay.class_),
        Term("cable delay", cables_ns, cable.delay.class_),
        Term("link rate", wire_ns, twin.links.host.rate.class_),
    ]


def _stage_terms(twin: _Twin, size_bytes: int) -> list[Term]:
    """What each message occupies for how long; the longest sets the pace of a window."""
    regime = twin.host.regime(size_bytes)
    wire_ns = wire_bytes(size_bytes, twin.path.mtu_bytes) * 8 / twin.path.rate_gbps
    send_ns, recv_ns = regime.overheads_ns(size_bytes)
    gap = twin.host.message_gap
    host_gap_ns = regime.gap_ns + regime.gap_ns_per_byte * size_bytes
    return [
        Term("link rate", wire_ns, twin.links.host.rate.class_),
        *(
            Term(name, ns, regime.class_)
            for name, ns in zip(HOST_STAGES, (send_ns, recv_ns), strict=True)
        ),
        Term("message rate of the adapter", gap.value, gap.class_),
        Term("gap between messages of the host", host_gap_ns, regime.class_),
    ]


def _twin(platform: Platform, n_switches: int) -> _Twin:
    path = path_through(platform, n_switches)
    if platform.host is None or platform.links is None or platform.switch is None:
        raise InputError(f"platform '{platform.name}' has no hosts", expected="one with [host]")
    return _Twin(platform.name, platform.host, platform.links, platform.switch, path)
