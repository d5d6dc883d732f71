//! How long a message of several packets takes over links that carry only it: what the packet
//! engine gives at zero load, in closed form.
//!
//! A packet begins on a link when the one before it has left it, and when it has come: cut-through
//! its head, else its tail. So its end is the longest of all paths through packets and links that
//! go on by a packet or by a link at each step; of inner packets, which are alike, all but one of
//! each link count where they take longest.

use crate::limits::CLOCK_END_PS;
use weft_fabric::BitsPerSecond;

/// A link on the path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hop {
    pub(crate) rate: BitsPerSecond,
    /// Packets are stored before they leave by the next link.
    pub(crate) stored: bool,
}

/// Bytes on the wire of a message's packets: the first, those between, and the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketCut {
    pub(crate) n_packets: u64,
    pub(crate) first: u32,
    pub(crate) inner: u32,
    pub(crate) last: u32,
}

impl PacketCut {
    /// A single packet.
    pub(crate) fn one(bytes: u32) -> PacketCut {
        PacketCut { n_packets: 1, first: bytes, inner: bytes, last: bytes }
    }

    /// All bytes on the wire.
    pub(crate) fn wire_bytes(&self) -> u64 {
        match self.n_packets {
            1 => self.first.into(),
            n => u64::from(self.first) + (n - 2) * u64::from(self.inner) + u64::from(self.last),
        }
    }
}

/// Picoseconds, rounded up but for what rounding errors add; times beyond the clock are all
/// the same.
pub(crate) fn rounded_up(ps: f64) -> u64 {
    ((ps * (1.0 - 1e-15)).ceil() as u64).min(CLOCK_END_PS)
}

/// Time of so many bytes at a rate in bits a second.
pub(crate) fn time_of(bytes: u64, rate: f64) -> f64 {
    bytes as f64 * 8.0 * 1e12 / rate
}

/// From the first bit at the first link to the last bit off the last one; flight and routing come
/// on top. What is in `ends_ps` is lost.
pub(crate) fn serialisation_ps(hops: &[Hop], cut: PacketCut, ends_ps: &mut Vec<f64>) -> f64 {
    let ser = |hop: &Hop, bytes: u32| time_of(bytes.into(), hop.rate.0 as f64);
    // Time that the step from link `at` to the next adds for a packet of so many bytes.
    let step = |at: usize, bytes: u32| {
        let here = if hops[at].stored { 0.0 } else { ser(&hops[at], bytes) };
        ser(&hops[at + 1], bytes) - here
    };
    let mut first_ps = ser(&hops[0], cut.first);
    if cut.n_packets == 1 {
        return (1..hops.len()).fold(first_ps, |ps, at| ps + step(at - 1, cut.first));
    }
    let surplus = cut.n_packets.saturating_sub(3) as f64;
    ends_ps.clear();
    ends_ps.resize(hops.len(), 0.0);
    for from in 0..hops.len() {
        if from > 0 {
            first_ps += step(from - 1, cut.first);
        }
        if cut.n_packets == 2 {
            ends_ps[from] = first_ps;
            continue;
        }
        let mut inner_ps = first_ps + ser(&hops[from], cut.inner);
        let mut slowest_ps = ser(&hops[from], cut.inner);
        for to in from..hops.len() {
            if to > from {
                inner_ps += step(to - 1, cut.inner);
                slowest_ps = slowest_ps.max(ser(&hops[to], cut.inner));
            }
            ends_ps[to] = ends_ps[to].max(inner_ps + surplus * slowest_ps);
        }
    }
    let mut last_ps = 0f64;
    for at in 0..hops.len() {
        let before = if at > 0 { last_ps + step(at - 1, cut.last) } else { 0.0 };
        last_ps = before.max(ends_ps[at] + ser(&hops[at], cut.last));
    }
    last_ps
}
