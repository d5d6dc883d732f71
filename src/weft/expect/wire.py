"""The time the fabric alone takes: packets of one message down an otherwise empty path.

Headers are InfiniBand's (IBTA Architecture Specification 1; sizes as in Linux
include/rdma/ib_pack.h): LRH 8 + BTH 12 + ICRC 4 + VCRC 2 bytes on every packet, RETH 16 more on
the first of a message. On Ethernet: preamble and gap 20, MAC 14, FCS 4 (IEEE 802.3), IPv4 20,
UDP 8 and the same BTH and ICRC (RoCE v2, IBTA Annex A17); what Slingshot's own headers take is not
published and is taken to be no more.
"""

from dataclasses import dataclass
from typing import Literal

from weft.catalog.document import Figure, SourceClass
from weft.catalog.machine.platform import Cable, Platform
from weft.core.errors import InputError

PACKET_HEADER_BYTES = 26
FIRST_HEADER_BYTES = 16
"""What the first packet of a message carries on top."""
ETHERNET_HEADER_BYTES = 82

Headers = Literal["infiniband", "ethernet"]
HEADER_BYTES: dict[Headers, int] = {
    "infiniband": PACKET_HEADER_BYTES,
    "ethernet": ETHERNET_HEADER_BYTES,
}
USUAL_MTU_BYTES = 4096
"""The largest payload of an InfiniBand packet, where a platform does not say."""


@dataclass(frozen=True, slots=True)
class WireHop:
    """One link of a path: its rate in Gb/s (bits a nanosecond) and its delay in ns."""

    rate_gbps: float
    delay_ns: float


@dataclass(frozen=True, slots=True)
class Path:
    """Links from one host to another; a switch with `switch_delay_ns` sits between two links."""

    hops: tuple[WireHop, ...]
    switch_delay_ns: float
    mtu_bytes: int
    cut_through: bool = True

    @property
    def rate_gbps(self) -> float:
        """The slowest link's rate."""
        return min(hop.rate_gbps for hop in self.hops)

    @property
    def delay_ns(self) -> float:
        """Cables and switches, without any serialisation."""
        return sum(hop.delay_ns for hop in self.hops) + self.switch_delay_ns * (len(self.hops) - 1)


def path_through(platform: Platform, n_switches: int) -> Path:
    """The path between two nodes with `n_switches` switches between them, adapters included.

    Raises InputError where the platform has no fabric.
    """
    if platform.links is None or platform.switch is None or platform.packets is None:
        raise InputError(
            f"platform '{platform.name}' has no fabric", expected="one with links and a switch"
        )
    adapter_ns = platform.host.adapter_latency.value if platform.host is not None else 0.0
    host, switch = _hop(platform.links.host, adapter_ns), _hop(platform.links.switch)
    inner = (switch,) * (n_switches - 1)
    return Path(
        (host, *inner, host),
        platform.switch.delay.value,
        platform.packets.mtu.whole,
        cut_through=platform.switch.forwarding == "cut_through",
    )


def _hop(cable: Cable, adapter_ns: float = 0.0) -> WireHop:
    return WireHop(cable.rate.value, cable.delay.value + adapter_ns)


def header_efficiency(size_bytes: int, mtu_bytes: int, headers: Headers = "infiniband") -> float:
    """Share of the wire that is payload, for a message of the given size."""
    return size_bytes / wire_bytes(size_bytes, mtu_bytes, headers)


def wire_bytes(size_bytes: int, mtu_bytes: int, headers: Headers = "infiniband") -> int:
    """Payload and headers of one message. An empty message is one packet."""
    n_packets = max(1, -(-size_bytes // mtu_bytes))
    return size_bytes + n_packets * HEADER_BYTES[headers] + FIRST_HEADER_BYTES


def line_efficiency(platform: Platform) -> float:
    """Share of the line rate that payload can have, for messages of many full packets."""
    packets = platform.packets
    if packets is None:
        return USUAL_MTU_BYTES / (USUAL_MTU_BYTES + PACKET_HEADER_BYTES)
    mtu = packets.mtu.value
    return mtu / (mtu + HEADER_BYTES[packets.headers])


def line_ceiling(platform: Platform) -> float:
    """Share of the line rate that nothing can beat: all of it where headers are not published, that
    of the largest packets of InfiniBand where their size is only assumed."""
    packets = platform.packets
    if packets is not None and packets.headers == "ethernet":
        return 1.0
    if packets is None or is_physical(packets.mtu):
        return line_efficiency(platform)
    mtu = max(packets.mtu.value, USUAL_MTU_BYTES)
    return mtu / (mtu + PACKET_HEADER_BYTES)


def is_physical(figure: Figure) -> bool:
    """Whether a figure may limit: somebody states it. An assumed or a fitted one may not."""
    return figure.class_ in (SourceClass.SOURCED, SourceClass.PUBLISHED)


def zero_load_ns(path: Path, size_bytes: int) -> float:
    """From the first bit on the first link to the last bit off the last one, nothing else moving.

    Cut-through: a switch sends a packet on as it arrives, but on to a faster link, which would run
    dry, only when its tail is in. Store-and-forward: a switch always waits for the tail.
    """
    n_more = max(0, size_bytes // path.mtu_bytes - STEADY_PACKETS)
    tail_ns = _walk_ns(path, size_bytes - n_more * path.mtu_bytes)
    # Once full packets follow one another, each adds its own time on the slowest link.
    return tail_ns + n_more * (path.mtu_bytes + PACKET_HEADER_BYTES) * 8 / path.rate_gbps


STEADY_PACKETS = 32
"""After so many packets every link of a path is in step with the slowest."""


def _walk_ns(path: Path, size_bytes: int) -> float:
    """The same, packet by packet."""
    packets = _packet_bytes(size_bytes, path.mtu_bytes)
    free_ns = [0.0] * len(path.hops)
    tail_ns = 0.0
    for n_bytes in packets:
        ready_ns = 0.0
        for i, hop in enumerate(path.hops):
            start_ns = max(ready_ns, free_ns[i])
            end_ns = start_ns + n_bytes * 8 / hop.rate_gbps
            free_ns[i] = end_ns
            tail_ns = end_ns + hop.delay_ns
            routed_ns = hop.delay_ns + path.switch_delay_ns
            follower = path.hops[min(i + 1, len(path.hops) - 1)]
            cuts = path.cut_through and follower.rate_gbps <= hop.rate_gbps
            ready_ns = (start_ns if cuts else end_ns) + routed_ns
    return tail_ns


def _packet_bytes(size_bytes: int, mtu_bytes: int) -> list[int]:
    whole, remainder = divmod(size_bytes, mtu_bytes)
    payloads = [mtu_bytes] * whole + ([remainder] if remainder or not whole else [])
    extra = [FIRST_HEADER_BYTES] + [0] * (len(payloads) - 1)
    return [
        payload + PACKET_HEADER_BYTES + more for payload, more in zip(payloads, extra, strict=True)
    ]
