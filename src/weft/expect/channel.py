"""The path of a message between two ranks of a real machine: parts of its time, stages, limits.

A message takes the sum of its parts. A stream of messages takes the longest of its stages, which
are what each message occupies: a processor, an adapter, a bus, the wire. Where the platform has no
figure of its own, the ranges of catalog/machine/practice.toml stand in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from weft.catalog.document import SourceClass
from weft.catalog.machine.platform import HostRegime, Platform
from weft.catalog.machine.practice import practice
from weft.core.errors import InputError
from weft.expect.model import SPREAD, Conditions, Term
from weft.expect.taper import taper
from weft.expect.wire import (
    USUAL_MTU_BYTES,
    Headers,
    header_efficiency,
    is_physical,
    line_ceiling,
    line_efficiency,
    path_through,
    wire_bytes,
    zero_load_ns,
)

LINK = "link rate"
ADAPTER = "message rate of the adapter"
SLOT = "PCIe slot"


@dataclass(frozen=True, slots=True)
class Channel:
    """How ranks talk: through the network, or `inside` one node.

    `rate_gb_s` is an adapter's payload rate, one direction, that nothing beats, None where that is
    not known; `n_hcas` adapters of a node are taken to take part, `n_hcas_at_most` could.
    """

    platform: Platform
    conditions: Conditions
    inside: bool
    rate_gb_s: float | None
    rate_name: str
    n_hcas: int
    n_hcas_at_most: int

    def latency_terms(self, size_bytes: int) -> list[Term]:
        """The parts of one message's path, in order; together its latency."""
        if self.inside:
            return _inside_latency(self, size_bytes)
        return [term for term in _network_latency(self, size_bytes) if term.time_ns > 0]

    def stages(self, size_bytes: int, senders: int = 1, *, duplex: bool = False) -> list[Term]:
        """What each message of a stream occupies, when `senders` ranks of a node send at once.

        `duplex`: a rank receives as it sends, with the same processor.
        """
        if self.inside:
            return _inside_stages(self, size_bytes, senders)
        return _network_stages(self, size_bytes, senders, duplex=duplex)

    def least_ns(self, n_bytes: float) -> float:
        """The least time in which a node takes in, or gives out, that many bytes; 0 where nothing
        is known of it."""
        if self.rate_gb_s is None or self.inside:
            return 0.0
        return n_bytes / (self.rate_gb_s * self.n_hcas_at_most)


def channel_of(
    platform: Platform, conditions: Conditions, *, inside: bool | None = None
) -> Channel:
    """The channel between ranks under these conditions. Raises InputError without a network."""
    if inside is None:
        inside = conditions.inside_node and conditions.transport not in ("network", "sockets")
    if inside:
        return Channel(platform, conditions, True, None, "", 1, 1)
    if platform.links is None:
        raise InputError(
            f"platform '{platform.name}' has no network figures",
            expected="one with [links], or one node",
        )
    every = max(1, platform.hcas_per_node)
    n_hcas = conditions.n_hcas
    if n_hcas is not None and n_hcas > every:
        raise InputError(
            f"{n_hcas} HCAs of a node of platform '{platform.name}'", expected=f"at most {every}"
        )
    # Ranks of a node spread over its adapters, each by the next one.
    used = n_hcas or min(every, max(1, conditions.tasks_per_node))
    # One queue pair is of one adapter; an MPI library may use them all.
    at_most = n_hcas or (1 if conditions.library == "verbs" else every)
    rate, name = _ceiling(platform, conditions)
    return Channel(platform, conditions, False, rate, name, used, at_most)


SMALL_BYTES = 1 << 16
"""Below this what a stream of messages costs depends on the library more than on the machine."""
LARGE_BYTES = 1 << 20
"""From here on the handshake before a message is lost in its length."""


def efficiency_name(conditions: Conditions, size_bytes: int) -> str:
    """The range of practice that a stream of messages of a size reaches."""
    if conditions.library == "verbs":
        return "verbs-efficiency"
    return "mpi-efficiency" if size_bytes >= LARGE_BYTES else "mpi-efficiency-middle"


def binding_name(channel: Channel, binding: Term, size_bytes: int) -> str:
    """The name of what binds, with its rate where it is the wire."""
    if binding.name != LINK or channel.platform.links is None:
        return binding.name
    rate = channel.platform.links.host.rate.value
    share = header_efficiency(size_bytes, *_packets(channel.platform)) if size_bytes else 0.0
    return f"link rate {rate:g} Gb/s x header efficiency {share:.4f}"


def _packets(platform: Platform) -> tuple[int, Headers]:
    if platform.packets is None:
        return USUAL_MTU_BYTES, "infiniband"
    return platform.packets.mtu.whole, platform.packets.headers


def _ceiling(platform: Platform, conditions: Conditions) -> tuple[float | None, str]:
    """(GB/s, name) of one adapter, one direction: nothing beats it. None where no source states the
    link: a figure that we assumed, or fitted to rows, is no limit of anything."""
    assert platform.links is not None
    link, slot = platform.links.host, platform.node.get("hca_pcie")
    if _joined_by_nvlink(platform, conditions):
        return None, ""
    known = []
    if is_physical(link.most or link.rate):
        rate = link.most_gbps / 8 * line_ceiling(platform)
        known.append((rate, f"link rate {link.most_gbps:g} Gb/s less headers"))
    if slot is not None and is_physical(slot):
        known.append((slot.value, f"{SLOT} of {slot.value:g} GB/s"))
    return min(known, default=(None, ""), key=lambda one: one[0])


def _joined_by_nvlink(platform: Platform, conditions: Conditions) -> bool:
    """Whether GPUs of several nodes may reach one another without an adapter."""
    gpus = platform.gpus
    if gpus is None or gpus.nvlink_domain is None or conditions.memory != "gpu":
        return False
    return conditions.transport == "" and gpus.nvlink_domain.value > gpus.per_node.value


def _regime(channel: Channel, size_bytes: int) -> HostRegime | None:
    """The host's regime, where MPI is asked for and the platform knows its host."""
    host, given = channel.platform.host, channel.conditions
    if host is None or given.library == "verbs" or given.transport == "sockets":
        return None
    return host.regime(size_bytes)


def _is_borrowed(regime: HostRegime) -> bool:
    """Whether its costs were fitted to another machine's table."""
    return "another machine" in regime.conditions


def _class_of(regime: HostRegime) -> SourceClass:
    """A fit to another machine's table is an assumption about this one."""
    return SourceClass.ASSUMED if _is_borrowed(regime) else regime.class_


def _stream_spread(regime: HostRegime) -> tuple[float, float]:
    """A latency test cannot tell how much of the processor's time a stream of messages hides; a
    regime fitted to a stream as well has a gap."""
    if _is_borrowed(regime):
        small = regime.max_bytes is not None and regime.max_bytes < SMALL_BYTES
        return practice("borrowed-host-in-stream" if small else "borrowed-host").spread
    seen = regime.gap_ns > 0 or regime.gap_ns_per_byte > 0
    return practice("overhead-in-stream-fitted" if seen else "overhead-in-stream").spread


def _term(name: str, figure_name: str, factor: float = 1.0) -> Term:
    """A time of practice, `factor` times as long."""
    figure = practice(figure_name)
    return Term(name, figure.value * factor, figure.class_, figure.spread, figure.source)


def _over(name: str, time_ns: float, figure_name: str) -> Term:
    """A time at a rate, or a full share, that practice divides."""
    figure = practice(figure_name)
    spread = figure.inverse_spread
    return Term(name, time_ns / figure.value, figure.class_, spread, figure.source)


def _network_latency(channel: Channel, size_bytes: int) -> list[Term]:
    regime = _regime(channel, size_bytes)
    terms = _host_latency(channel, regime, size_bytes)
    if channel.conditions.memory == "gpu" and channel.conditions.library != "nccl":
        terms.append(_term("GPU memory", "gpu-latency"))
    terms += _path_terms(channel)
    if channel.conditions.transport == "sockets":
        return [*terms, _over("TCP stream", size_bytes, "tcp-stream")]
    wire_ns = _wire_latency_ns(channel, size_bytes)
    if regime is not None and _class_of(regime) is SourceClass.FITTED:
        return [*terms, Term(LINK, wire_ns, SourceClass.SOURCED)]
    return [
        *terms,
        _in_practice(channel, size_bytes, wire_ns),
        *_slot_excess(channel, size_bytes, wire_ns),
    ]


def _host_latency(channel: Channel, regime: HostRegime | None, size_bytes: int) -> list[Term]:
    """What processors and adapters of both sides take."""
    if channel.conditions.transport == "sockets":
        return [_term("TCP on both hosts", "tcp-latency")]
    if channel.conditions.library == "verbs":
        return [_term("adapters of both sides", "verbs-latency")]
    host = channel.platform.host
    if regime is None or host is None:
        return [_term("MPI and adapters of both sides", "mpi-latency")]
    overhead_ns = (
        regime.send_overhead_ns
        + regime.recv_overhead_ns
        + (regime.send_ns_per_byte + regime.recv_ns_per_byte) * size_bytes
    )
    latency_ns = regime.free_latency_ns(size_bytes)
    adapter = host.adapter_latency
    kind = _class_of(regime)
    # A fit took the adapters' part out first: what it left belongs to the same table.
    adapter_class = kind if kind is SourceClass.FITTED else adapter.class_
    spread = practice("borrowed-host").spread if _is_borrowed(regime) else None
    return [
        Term("host overheads", overhead_ns, kind, spread, regime.source),
        Term("host latency", latency_ns, kind, spread, regime.source),
        Term("adapter latency", 2 * adapter.value, adapter_class, spread, adapter.source),
    ]


def _path_terms(channel: Channel) -> list[Term]:
    """Switches and cables. Two nodes may share a leaf; more of them will not all."""
    platform, known = channel.platform, channel.conditions.n_switches
    if platform.switch is None or platform.links is None:
        return []
    n_switches = known or (1 if channel.conditions.n_nodes <= 2 else 3)
    delay, cable = platform.switch.delay, platform.links.host.delay
    least, most = SPREAD[delay.class_]
    spread = (least if n_switches == 1 else least / 3, 3.0 * most / 2)
    if known is not None:
        spread = (least, most)
    cables_ns = 2 * cable.value + (n_switches - 1) * platform.links.switch.delay.value
    return [
        Term("switch delay", n_switches * delay.value, delay.class_, spread, delay.source),
        Term("cable delay", cables_ns, cable.class_, source=cable.source),
    ]


def _wire_latency_ns(channel: Channel, size_bytes: int) -> float:
    if channel.platform.switch is not None and channel.platform.packets is not None:
        path = path_through(channel.platform, channel.conditions.n_switches or 1)
        return zero_load_ns(path, size_bytes) - path.delay_ns
    return _wire_ns(channel, size_bytes)


def _wire_ns(channel: Channel, size_bytes: int) -> float:
    assert channel.platform.links is not None
    rate = channel.platform.links.host.rate.value
    return wire_bytes(size_bytes, *_packets(channel.platform)) * 8 / rate


def _in_practice(channel: Channel, size_bytes: int, wire_ns: float) -> Term:
    """The wire as real streams use it."""
    figure = practice(efficiency_name(channel.conditions, size_bytes))
    low, high = figure.inverse_spread
    if _packets(channel.platform)[1] == "ethernet":
        # Whose headers are not published may be smaller than taken.
        low *= line_efficiency(channel.platform)
    return Term(LINK, wire_ns / figure.value, figure.class_, (low, high), figure.source)


def _slot(channel: Channel, size_bytes: int) -> Term | None:
    slot = channel.platform.node.get("hca_pcie")
    if slot is None:
        return None
    name = f"{SLOT} of {slot.value:g} GB/s"
    term = _over(name, size_bytes / slot.value, "pcie-efficiency")
    return replace(term, class_=slot.class_, source=slot.source)


def _slot_excess(channel: Channel, size_bytes: int, wire_ns: float) -> list[Term]:
    """What a slot slower than the wire adds to a message that streams through both."""
    slot = _slot(channel, size_bytes)
    if slot is None or slot.time_ns <= wire_ns:
        return []
    return [slot.times((slot.time_ns - wire_ns) / slot.time_ns)]


def _network_stages(channel: Channel, size_bytes: int, senders: int, *, duplex: bool) -> list[Term]:
    share = max(1.0, senders / channel.n_hcas)
    if channel.conditions.transport == "sockets":
        stream = _over("TCP stream", size_bytes, "tcp-stream")
        return [stream, _term("TCP on the host", "tcp-latency", 0.1)]
    wire = _in_practice(channel, size_bytes, _wire_ns(channel, size_bytes)).times(share)
    stages = [wire, *_host_stages(channel, size_bytes, duplex=duplex)]
    host = channel.platform.host
    if host is not None:
        gap = host.message_gap
        stages.append(Term(ADAPTER, gap.value * share, gap.class_, source=gap.source))
    slot = _slot(channel, size_bytes)
    if slot is not None:
        stages.append(slot.times(share))
    if channel.conditions.memory == "gpu" and channel.conditions.library == "mpi":
        stages.append(_term("small messages from GPU memory", "gpu-gap"))
    gpus = channel.platform.gpus
    if channel.conditions.memory == "gpu" and not channel.conditions.gpudirect:
        bounce_ns = _wire_ns(channel, size_bytes) * share
        stages.append(_over("copies through host memory", bounce_ns, "without-gpudirect"))
    elif channel.conditions.memory == "gpu" and gpus is not None and gpus.pcie is not None:
        stages.append(_over("PCIe of the GPU", size_bytes / gpus.pcie.value, "gpu-pcie"))
    return stages


def _host_stages(channel: Channel, size_bytes: int, *, duplex: bool) -> list[Term]:
    host, regime = channel.platform.host, _regime(channel, size_bytes)
    sides = 2.0 if duplex else 1.0
    if channel.conditions.library == "verbs":
        return [_term("messages a second of a queue pair", "verbs-gap")]
    if regime is None or host is None:
        return [_term("messages a second of a rank", "mpi-gap", sides)]
    kind = _class_of(regime)
    send_ns, recv_ns = regime.overheads_ns(size_bytes)
    stream = _stream_spread(regime)
    own = (
        [("overheads of the host, both directions", send_ns + recv_ns)]
        if duplex
        else [("send overhead of the host", send_ns), ("receive overhead of the host", recv_ns)]
    )
    overheads = [Term(name, time_ns, kind, stream, regime.source) for name, time_ns in own]
    # A cost a byte of a borrowed host is mostly the other machine's link, which is not here.
    per_byte = 0.0 if _is_borrowed(regime) else regime.gap_ns_per_byte
    gap_ns = regime.gap_ns + per_byte * size_bytes
    return [
        *overheads,
        Term("gap between messages of the host", gap_ns, kind, source=regime.source),
    ]


def _inside_latency(channel: Channel, size_bytes: int) -> list[Term]:
    host, regime = channel.platform.host, _regime(channel, size_bytes)
    if host is None or regime is None:
        first = _term("shared memory", "intra-node-latency")
    else:
        # Overheads were fitted to the path over the network; shared memory takes less of them.
        given = host.intra_node.overhead_share
        share = practice("intra-node-overhead").value if given is None else given.value
        own_ns = (regime.send_overhead_ns + regime.recv_overhead_ns) * share
        low, high = practice("intra-node-latency").spread
        time_ns = host.intra_node.latency.value + own_ns
        first = Term("shared memory", time_ns, SourceClass.ASSUMED, (low / 2, high))
    extra = [_term("GPU memory", "gpu-latency")] if channel.conditions.memory == "gpu" else []
    return [first, *extra, _copy(channel, size_bytes, 1)]


def _copy(channel: Channel, size_bytes: int, senders: int) -> Term:
    """Bytes between two ranks of a node: by a processor, or from one GPU to the other."""
    gpus = channel.platform.gpus
    if channel.conditions.memory == "gpu" and gpus is not None and gpus.nvlink is not None:
        peers = 1 if gpus.switched else max(1, gpus.per_node.whole - 1)
        rate_gb_s = gpus.nvlink.value / peers
        term = _over("NVLink between two GPUs", size_bytes / rate_gb_s, "gpu-copy")
        return replace(term, class_=gpus.nvlink.class_)
    term = _over("copy", size_bytes, "intra-node-rate")
    low, high = term.factors
    # Copies of many ranks share the node's memory; how many fit is not known.
    return replace(term, spread=(low, high * max(1.0, senders / 8)))


def _inside_stages(channel: Channel, size_bytes: int, senders: int) -> list[Term]:
    return [_copy(channel, size_bytes, senders), _term("messages a second of a rank", "mpi-gap")]


def tapered(channel: Channel, stages: Sequence[Term]) -> list[Term]:
    """The same stages where all nodes send to all: the wire is as slow as the up-links."""
    factor = taper(channel.platform, channel.conditions.n_nodes)
    if factor <= 1 or channel.inside:
        return list(stages)
    name = f"taper {factor:.3g} of the up-links"
    more = (replace(stage.times(factor), name=name) for stage in stages if stage.name == LINK)
    return [*stages, *more]
