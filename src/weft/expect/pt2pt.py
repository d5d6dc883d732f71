"""Pairs and rings: latency, bandwidth, both directions, message rate, neighbours, fans."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from weft.catalog.machine.platform import Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError
from weft.expect.channel import ADAPTER, LINK, SLOT, Channel, binding_name, channel_of, tapered
from weft.expect.closed_forms import ACK_BYTES
from weft.expect.model import Conditions, Expectation, Term, joined, largest, span, weakest_source
from weft.expect.wire import PACKET_HEADER_BYTES, USUAL_MTU_BYTES, is_physical


def pt2pt(platform: Platform, conditions: Conditions) -> Expectation:
    """What a point-to-point benchmark should give. Raises InputError."""
    return BENCHMARKS[conditions.benchmark](channel_of(platform, conditions), conditions)


def _latency(channel: Channel, conditions: Conditions) -> Expectation:
    terms = channel.latency_terms(conditions.size_bytes)
    return times(
        channel,
        terms,
        conditions.size_bytes,
        formula=" + ".join(term.name for term in terms),
        floor_ns=channel.least_ns(conditions.size_bytes),
        floor_name=f"the bytes at {channel.rate_name}",
    )


def times(
    channel: Channel,
    terms: Sequence[Term],
    size_bytes: int,
    *,
    formula: str,
    floor_ns: float,
    floor_name: str,
    algorithm: str = "",
) -> Expectation:
    """A sum of terms as a latency in us, never below its floor."""
    value, low, high = (max(floor_ns, time_ns) / 1e3 for time_ns in span(terms))
    return Expectation(
        metric="latency_us",
        value=value,
        unit="us",
        low=low,
        high=high,
        bound=binding_name(channel, largest(terms), size_bytes),
        formula=formula,
        source=weakest_source(channel.platform.name, terms),
        limit=floor_ns / 1e3 if floor_ns > 0 else None,
        limit_name=floor_name if floor_ns > 0 else "",
        terms=tuple(terms),
        algorithm=algorithm,
    )


def _message_rate(channel: Channel, conditions: Conditions) -> Expectation:
    """Messages a second of all pairs: half of the ranks send to the other half, so that half of the
    nodes send (all of them, and one more, where there is an odd one)."""
    pairs = max(1, conditions.n_ranks // 2)
    senders = pairs if conditions.inside_node else max(1, conditions.tasks_per_node)
    nodes = -(-conditions.n_nodes // 2)
    size = max(1, conditions.size_bytes)
    directions = 2 if conditions.both_directions else 1
    sized = replace(conditions, size_bytes=size)
    found = _stream(channel, sized, directions=directions, senders=senders)
    limit, limit_name = _message_limit(channel, size, directions, found)
    limit = None if limit is None else nodes * limit
    low, value, high = (
        min(limit or math.inf, rate * pairs / size) for rate in (found.low, found.value, found.high)
    )
    return replace(
        found,
        metric="msg_rate_mps",
        unit="million/s",
        low=low,
        value=value,
        high=high,
        limit=limit,
        limit_name=f"{nodes} nodes, {limit_name}" if nodes > 1 else limit_name,
        formula=f"{pairs} x rate of a pair; {found.formula}",
    )


def _message_limit(
    channel: Channel, size: int, directions: int, stream: Expectation
) -> tuple[float | None, str]:
    """(million/s, name) that a node's adapters carry at most: bytes, packets with their headers, or
    messages where somebody states an adapter's rate of them."""
    if stream.limit is None or channel.inside or channel.platform.links is None:
        return None, ""
    platform, link = channel.platform, channel.platform.links.host
    known = [(stream.limit / size, stream.limit_name)]
    n = channel.n_hcas_at_most
    each = f"{n} x " if n > 1 else ""
    both = ", both directions" if directions == 2 else ""
    if is_physical(link.most or link.rate) and _has_known_headers(platform):
        n_bytes = size + -(-size // USUAL_MTU_BYTES) * PACKET_HEADER_BYTES
        name = f"{each}link rate {link.most_gbps:g} Gb/s of {n_bytes} B a message with its headers"
        known.append((n * directions * link.most_gbps / 8 * 1e3 / n_bytes, name + both))
    if platform.host is not None and is_physical(platform.host.message_gap):
        rate = 1e3 / platform.host.message_gap.value
        name = f"{each}message rate of the adapter, {rate:.0f} million/s{both}"
        known.append((n * directions * rate, name))
    return min(known)


def _has_known_headers(platform: Platform) -> bool:
    return platform.packets is not None and platform.packets.headers == "infiniband"


def _stream(
    channel: Channel, conditions: Conditions, *, directions: int, senders: int
) -> Expectation:
    """MB/s of one sender's windows (both directions added)."""
    size, window = _a_byte(conditions), conditions.window
    duplex = directions == 2
    stages = channel.stages(size, senders, duplex=duplex)
    binding = largest(stages)
    fill = channel.latency_terms(size)
    if not duplex:
        fill = [*fill, *channel.latency_terms(ACK_BYTES)]
    if conditions.library == "verbs":
        # Writes follow one another without an answer: a queue of them never runs empty.
        fill = []
    n = window - 1 if fill else window
    fill_ns = span(fill)[0]
    both = " in both directions" if duplex else ""
    pace = "(window x slowest stage + latency of one window)" if fill else "slowest stage"
    size_word = "window x size" if fill else "size"
    terms = [binding.times(n)] if n else []
    # Its class is that of the longest part, whose figure matters most.
    name = "latency of a window and its answer"
    added = (
        [replace(joined(name, fill), class_=largest(fill).class_, source="")] if fill_ns > 0 else []
    )
    found = _rate(
        channel,
        stages,
        n,
        fill,
        n_bytes=directions * size * window,
        limit=_stream_limit(channel, directions),
        rails=_rails(channel, conditions) if senders == 1 else 1.0,
        formula=f"{size_word}{both} / {pace}",
        terms=(*terms, *added),
    )
    if fill_ns > n * binding.time_ns:
        return replace(found, bound="latency of one window")
    return found


def _a_byte(conditions: Conditions) -> int:
    if conditions.size_bytes < 1 or conditions.window < 1:
        raise InputError(
            f"no bandwidth of {conditions.window} messages of {conditions.size_bytes} B",
            expected="at least one message of one byte",
        )
    return conditions.size_bytes


def _rate(
    channel: Channel,
    stages: Sequence[Term],
    n: int,
    fill: Sequence[Term],
    *,
    n_bytes: float,
    limit: tuple[float | None, str],
    formula: str,
    terms: tuple[Term, ...],
    rails: float = 1.0,
    bound: str = "",
) -> Expectation:
    """MB/s of `n_bytes` in `n` times the slowest stage and the latencies of `fill`."""
    slowest = largest(stages)
    times_ns = (
        n * max(getattr(stage, part) for stage in stages)
        + sum(getattr(term, part) for term in fill)
        for part in ("high_ns", "time_ns", "low_ns")
    )
    low, value, high = (n_bytes / time_ns * 1e3 for time_ns in times_ns)
    high *= rails
    if limit[0] is not None:
        low, value, high = (min(one, limit[0]) for one in (low, value, high))
    return Expectation(
        metric="bandwidth_mb_s",
        value=value,
        unit="MB/s",
        low=low,
        high=high,
        bound=bound + binding_name(channel, slowest, channel.conditions.size_bytes),
        formula=formula,
        source=weakest_source(channel.platform.name, [*stages, *fill]),
        limit=limit[0],
        limit_name=limit[1],
        terms=terms,
    )


RENDEZVOUS_BYTES = 65536
"""Above this a library may split a message over two adapters."""


def _rails(channel: Channel, conditions: Conditions) -> float:
    """MPI libraries may split a large message of one rank over two adapters.

    SOURCE: openucx/ucx, UCX_MAX_RNDV_RAILS = 2.
    """
    if conditions.library != "mpi" or conditions.n_hcas is not None or channel.inside:
        return 1.0
    several = channel.platform.hcas_per_node > 1 and conditions.size_bytes >= RENDEZVOUS_BYTES
    return 2.0 if several else 1.0


def _stream_limit(channel: Channel, directions: int) -> tuple[float | None, str]:
    """MB/s that a node's adapters carry at most: of one pair for verbs, of all for MPI."""
    if channel.rate_gb_s is None:
        return None, ""
    every = max(1, channel.platform.hcas_per_node)
    n = channel.conditions.n_hcas or (1 if channel.conditions.library == "verbs" else every)
    name = channel.rate_name if n == 1 else f"{n} x {channel.rate_name}"
    name = f"{name}, both directions" if directions == 2 else name
    return directions * n * channel.rate_gb_s * 1e3, name


def _neighbours(channel: Channel, conditions: Conditions, partners: int) -> Expectation:
    """Time of a step in which every rank sends to `partners` others and receives as much."""
    size = conditions.size_bytes
    terms = channel.latency_terms(size)
    formula = "latency of one message, both directions at once"
    if partners > 1:
        terms = [*terms, largest(channel.stages(size, duplex=True)).times(partners - 1)]
        formula = f"latency + {partners - 1} x slowest stage"
    return times(
        channel,
        terms,
        size,
        formula=formula,
        floor_ns=channel.least_ns(partners * size),
        floor_name="the bytes at the adapters' rate",
    )


def _ring_latency(channel: Channel, conditions: Conditions) -> Expectation:
    """Half of an exchange with both neighbours of a ring.

    SOURCE: HPC Challenge 1.5, bench_lat_bw; GPCNeT 1.3, random_ring.
    """
    size = conditions.size_bytes
    terms = [*channel.latency_terms(size), largest(channel.stages(size, duplex=True))]
    return times(
        channel,
        [term.times(0.5) for term in terms],
        size,
        formula="(latency + slowest stage) / 2",
        floor_ns=channel.least_ns(2 * size) / 2,
        floor_name="half of the bytes of both neighbours at the adapters' rate",
    )


SHARED_STAGES = (LINK, ADAPTER, SLOT)
"""Stages that only messages to and from other nodes pass."""


def _fan(channel: Channel, conditions: Conditions) -> Expectation:
    """MB/s of windows between one rank and all others; ranks of its own node do not pass its
    adapter."""
    size, others = _a_byte(conditions), max(1, conditions.n_ranks - 1)
    n = others * conditions.window
    # On one node that talks through its adapters all the same, every message passes them.
    one = conditions.n_nodes == 1
    away = 1.0 if one else (conditions.n_ranks - conditions.tasks_per_node) / others
    stages = [
        stage.times(away) if stage.name.startswith(SHARED_STAGES) else stage
        for stage in channel.stages(size)
    ]
    most, name = _stream_limit(channel, 1)
    limit = (None if most is None else most / away, name)
    return _windows(channel, stages, n, limit, bound="one rank against all: ")


def _windows(
    channel: Channel,
    stages: Sequence[Term],
    n: int,
    limit: tuple[float | None, str],
    bound: str = "",
) -> Expectation:
    """MB/s of `n` messages one after another, and the latency of the last one."""
    size = channel.conditions.size_bytes
    fill = channel.latency_terms(size)
    return _rate(
        channel,
        stages,
        n - 1,
        fill,
        n_bytes=n * size,
        limit=limit,
        formula="messages x size / ((messages - 1) x slowest stage + latency)",
        terms=(*([largest(stages).times(n - 1)] if n > 1 else []), *fill),
        bound=bound,
    )


def _ring_bandwidth(channel: Channel, conditions: Conditions, *, random: bool) -> Expectation:
    """MB/s of one rank of a ring in which all send windows to both sides at once."""
    size, n = _a_byte(conditions), 2 * conditions.window
    stages = channel.stages(size, conditions.tasks_per_node if random else 1, duplex=True)
    if random:
        share = practice("ring-share")
        low, high = share.inverse_spread
        stages = [
            replace(
                stage,
                time_ns=stage.time_ns / share.value,
                spread=(stage.low_ns / stage.time_ns * low, stage.high_ns / stage.time_ns * high),
            )
            if stage.time_ns > 0
            else stage
            for stage in tapered(channel, stages)
        ]
    return _windows(channel, stages, n, _stream_limit(channel, 2))


BENCHMARKS: dict[str, Callable[[Channel, Conditions], Expectation]] = {
    "latency": _latency,
    "bandwidth": lambda channel, given: _stream(channel, given, directions=1, senders=1),
    "bidirectional": lambda channel, given: _stream(channel, given, directions=2, senders=1),
    "message_rate": _message_rate,
    "sendrecv": lambda channel, given: _neighbours(channel, given, 1),
    "exchange": lambda channel, given: _neighbours(channel, given, 2),
    "fan_in": _fan,
    "fan_out": _fan,
    "pairs": _latency,
    "random_ring_latency": _ring_latency,
    "random_ring_bandwidth": lambda channel, given: _ring_bandwidth(channel, given, random=True),
    "natural_ring_bandwidth": lambda channel, given: _ring_bandwidth(channel, given, random=False),
}
