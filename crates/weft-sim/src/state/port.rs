//! A port's egress: its link, what it has sent, which of its lanes have work.

use crate::limits::{NEVER, NIL};
use weft_fabric::{BitsPerSecond, Fabric, PortId, units::PS_PER_S};

/// Of a port's flags: it injects and takes out messages, and forwards nothing.
pub(crate) const ENDPOINT: u16 = 1;
/// The port at the other end is an endpoint.
pub(crate) const TO_ENDPOINT: u16 = 1 << 1;
/// It belongs to an HCA or a switch inside a node, which forwards by what is in the node.
pub(crate) const INSIDE: u16 = 1 << 15;
/// It has something to send, a free link and no credit.
pub(crate) const BLOCKED: u16 = 1 << 2;
/// Its transmissions take the slow branch: its cable is in trouble, or a probe counts.
pub(crate) const WATCHED: u16 = 1 << 3;
/// An arriving packet may have been lost on the wire.
pub(crate) const FRAIL: u16 = 1 << 4;
/// Its cable is down.
pub(crate) const DOWN: u16 = 1 << 5;

/// An arriving packet comes straight from an HCA: no switch has chosen its path yet.
pub(crate) const FROM_HCA: u16 = 1 << 6;

/// The part of a port that an arriving packet reads: apart from its egress, which others use, so
/// that four ports share a cache line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    /// The port at the other end, which fills the buffer.
    pub(crate) feeder: u32,
    pub(crate) vertex: u32,
    /// As the egress has it.
    pub(crate) link: u32,
    pub(crate) local: u16,
    /// ENDPOINT, INSIDE, FRAIL, FROM_HCA.
    flags: u16,
}

impl Input {
    pub(crate) fn of(port: &Port, from_hca: bool) -> Input {
        let flags = port.flags & (ENDPOINT | INSIDE | FRAIL);
        let flags = if from_hca { flags | FROM_HCA } else { flags };
        let Port { peer, vertex, link, local, .. } = *port;
        Input { feeder: peer, vertex, link, local, flags }
    }

    #[inline(always)]
    pub(crate) fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

/// Counters of a port, under InfiniBand's names.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) xmit_bytes: u64,
    pub(crate) xmit_packets: u64,
    /// Time with something to send, a free link and no credit.
    pub(crate) xmit_wait_ps: u64,
}

/// When a port has waited for credit: apart from what every packet touches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waiting {
    pub(crate) since_ps: u64,
    pub(crate) total_ps: u64,
}

/// Properties that cables of one kind have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Link {
    pub(crate) rate: BitsPerSecond,
    /// Picoseconds a bit where that is a whole number, else 0.
    ps_per_bit: u64,
    pub(crate) delay_ps: u64,
    /// Time that the switch at its end takes to route.
    pub(crate) route_ps: u64,
}

impl Link {
    pub(crate) fn new(rate: BitsPerSecond, delay_ps: u64, route_ps: u64) -> Link {
        let whole = rate.0 != 0 && PS_PER_S.is_multiple_of(rate.0);
        Link { rate, ps_per_bit: if whole { PS_PER_S / rate.0 } else { 0 }, delay_ps, route_ps }
    }
}

/// One cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Port {
    pub(crate) busy_until_ps: u64,
    /// How much later than its last bit that is, in 1/rate of a picosecond.
    excess: u64,
    /// The kick that is due, so that there is only one.
    pub(crate) kick_ps: u64,
    pub(crate) xmit_bytes: u64,
    pub(crate) xmit_packets: u64,
    pub(crate) peer: u32,
    pub(crate) vertex: u32,
    /// Number of its link's kind.
    pub(crate) link: u32,
    /// Number of this port among those of its vertex.
    pub(crate) local: u16,
    /// By virtual lane, a bit: it has something to send.
    pub(crate) work: u16,
    flags: u16,
    /// How many ports its vertex has.
    pub(crate) n_ports: u16,
}

impl Port {
    pub(crate) fn new(fabric: &Fabric, id: PortId, link: u32) -> Port {
        let port = fabric.ports[id.index()];
        let vertex = &fabric.vertices[port.vertex.index()];
        Port {
            kick_ps: NEVER,
            peer: port.peer.map_or(NIL, |peer| peer.0),
            vertex: port.vertex.0,
            link,
            local: (id.0 - vertex.first_port.0) as u16,
            n_ports: vertex.n_ports as u16,
            ..Port::default()
        }
    }

    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: u16, on: bool) {
        self.flags = if on { self.flags | flag } else { self.flags & !flag };
    }

    #[inline]
    pub(crate) fn set_work(&mut self, vl: u8, on: bool) {
        let bit = 1 << vl;
        self.work = if on { self.work | bit } else { self.work & !bit };
    }

    /// Go on at another rate, from the next packet on.
    pub(crate) fn change_link(&mut self, link: u32) {
        (self.link, self.excess) = (link, 0);
    }

    /// Put a packet on the link now; the time its tail has left.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, link: &Link, now_ps: u64, wire_bytes: u16) -> u64 {
        assert!(self.busy_until_ps <= now_ps, "one packet at a time on a link");
        let n_bits = u64::from(wire_bytes) * 8;
        self.xmit_bytes += u64::from(wire_bytes);
        self.xmit_packets += 1;
        if link.ps_per_bit != 0 {
            self.busy_until_ps = now_ps + link.ps_per_bit * n_bits;
            return self.busy_until_ps;
        }
        // INVARIANT: the end of the n-th packet of a burst is that of all its bits, rounded up
        // once: what rounding added is taken off the next packet, so no rate accumulates an error.
        let excess = if self.busy_until_ps == now_ps { self.excess } else { 0 };
        let exact = n_bits * PS_PER_S - excess;
        let duration_ps = exact.div_ceil(link.rate.0);
        self.excess = duration_ps * link.rate.0 - exact;
        self.busy_until_ps = now_ps + duration_ps;
        self.busy_until_ps
    }
}

#[cfg(test)]
mod tests {
    use super::{Input, Link, Port, Waiting};
    use crate::limits::{NEVER, NIL};
    use weft_fabric::BitsPerSecond;

    fn port() -> Port {
        Port { kick_ps: NEVER, peer: NIL, n_ports: 1, ..Port::default() }
    }

    /// A byte takes 8/7 of 1000 ps at 7 Gb/s, and 80 ps at 100 Gb/s.
    #[test]
    fn a_burst_ends_with_its_last_bit_rounded_up_once() {
        for (bits_per_s, end_ps) in [(7_000_000_000, 114_286), (100_000_000_000, 8_000)] {
            let (link, mut port) = (Link::new(BitsPerSecond(bits_per_s), 0, 0), port());
            let end = (0..100).fold(0, |now_ps, _| port.transmit(&link, now_ps, 1));
            assert_eq!(end, end_ps, "{bits_per_s}");
            assert_eq!((port.xmit_packets, port.xmit_bytes), (100, 100));
        }
    }

    #[test]
    fn a_pause_ends_a_burst_and_the_next_one_is_rounded_anew() {
        let (link, mut port) = (Link::new(BitsPerSecond(7_000_000_000), 0, 0), port());
        assert_eq!(port.transmit(&link, 0, 1), 1_143);
        assert_eq!(port.transmit(&link, 2_000, 1), 2_000 + 1_143);
    }

    #[test]
    #[should_panic(expected = "one packet at a time on a link")]
    fn a_link_carries_one_packet_at_a_time() {
        let (link, mut port) = (Link::new(BitsPerSecond(7_000_000_000), 0, 0), port());
        port.transmit(&link, 0, 1);
        port.transmit(&link, 1_142, 1);
    }

    #[test]
    fn a_port_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Port>(), 64);
        assert_eq!(std::mem::size_of::<Input>(), 16);
        assert_eq!(std::mem::size_of::<Waiting>(), 16);
    }
}
