//! Packets: how many bytes are on the wire, how many credit blocks they take.

use crate::limits::{MAX_NUMBER, MOST_PACKETS_A_LOOK, NIL, blocks_of};
use crate::model::framing::{Framing, PacketKind};
use crate::state::pool::indexed;
use prefetch_index::prefetch_index;

/// By the kind's bits, of which the last seven values are unused.
const KINDS: [PacketKind; 16] = {
    use crate::model::framing::PacketKind::*;
    [Data, Ack, Nak, Cnp, Up, Down, Flood, Probe, Echo, Echo, Echo, Echo, Echo, Echo, Echo, Echo]
};

/// Of a packet's bits: the first of its message.
pub(crate) const FIRST: u16 = 1 << 8;
/// Carries nothing of its message.
pub(crate) const EMPTY: u16 = 1 << 9;
/// Seen by the switch it is in: only waits for enough of it to be there, or for its turn.
pub(crate) const ROUTED: u16 = 1 << 10;

/// Marked by a switch where it was congested (FECN).
pub(crate) const FECN: u16 = 1 << 11;
/// Notifies its receiver to slow down (BECN).
pub(crate) const BECN: u16 = 1 << 12;
/// Of a packet of a tree, in the place of [`FIRST`]: part of a stream.
pub(crate) const STREAM: u16 = FIRST;
/// Made by the switch it is in: it holds no input buffer.
pub(crate) const BORN: u16 = 1 << 14;
/// One of several that share the input buffer of what they are copies of.
pub(crate) const COPY: u16 = 1 << 15;

/// A packet in flight: 24 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// When its tail is in the buffer it is in, routing time included.
    pub(crate) tail_ps: u64,
    /// The message it is part of, or what its kind says.
    pub(crate) message: u32,
    /// The next packet of its queue.
    pub(crate) next: u32,
    /// The HCA it goes to.
    pub(crate) dst: u32,
    /// Bytes on the wire.
    pub(crate) wire_bytes: u16,
    /// 4 of virtual lane, 4 of kind, then flags.
    bits: u16,
}

impl Packet {
    pub(crate) fn new(kind: PacketKind, message: u32, dst: u32, lane: u8, bytes: u32) -> Packet {
        Packet {
            tail_ps: 0,
            message,
            next: NIL,
            dst,
            wire_bytes: u16::try_from(bytes).expect("an MTU of at most 65,024 bytes"),
            bits: u16::from(lane) | (kind as u16) << 4,
        }
    }

    /// Its virtual lane.
    #[inline]
    pub(crate) fn lane(&self) -> u8 {
        (self.bits & 15) as u8
    }

    #[inline]
    pub(crate) fn set_lane(&mut self, lane: u8) {
        self.bits = self.bits & !15 | u16::from(lane);
    }

    #[inline]
    pub(crate) fn kind(&self) -> PacketKind {
        KINDS[usize::from(self.bits >> 4 & 15)]
    }

    /// Whether it goes along a tree of switches.
    #[inline]
    pub(crate) fn is_of_tree(&self) -> bool {
        matches!(self.kind(), PacketKind::Up | PacketKind::Down | PacketKind::Flood)
    }

    #[inline]
    pub(crate) fn has(&self, flag: u16) -> bool {
        self.bits & flag != 0
    }

    #[inline]
    pub(crate) fn set(&mut self, flag: u16, on: bool) {
        self.bits = if on { self.bits | flag } else { self.bits & !flag };
    }

    /// Join the queue of an input, to leave by lane `vl`: from now on the place of its tail's time
    /// holds the input, the lane by which it came, and the ring.
    #[inline]
    pub(crate) fn wait_at(&mut self, input: u16, vl: u8) {
        self.next = NIL;
        self.tail_ps = u64::from(self.lane()) << 48 | u64::from(input) << 32;
        self.set_lane(vl);
    }

    /// The input it waits at.
    #[inline]
    pub(crate) fn input(&self) -> u32 {
        (self.tail_ps >> 32) as u32 & 0xffff
    }

    /// The lane whose buffer it holds there.
    #[inline]
    pub(crate) fn input_lane(&self) -> u8 {
        (self.tail_ps >> 48) as u8
    }

    /// The first packet of the input that is served after its own.
    #[inline]
    pub(crate) fn ring(&self) -> u32 {
        self.tail_ps as u32
    }

    #[inline]
    pub(crate) fn set_ring(&mut self, id: u32) {
        self.tail_ps = self.tail_ps >> 32 << 32 | u64::from(id);
    }

    /// Bytes of its message that it carries.
    pub(crate) fn payload_bytes(&self, framing: &Framing) -> u32 {
        if self.has(EMPTY) || self.kind() != PacketKind::Data {
            return 0;
        }
        u32::from(self.wire_bytes) - framing.around_payload_bytes(self.has(FIRST))
    }

    /// Credit blocks it takes.
    #[inline]
    pub(crate) fn blocks(&self) -> u32 {
        blocks_of(u32::from(self.wire_bytes))
    }
}

/// Packets in flight, their numbers used again.
#[derive(Debug)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    /// The first of the free ones, chained by `next`.
    free: u32,
    in_flight: usize,
    /// Sequence numbers, which few packets carry, by packet; empty until one does.
    arguments: Vec<u32>,
    /// Service levels by packet, where lanes change on paths; empty elsewhere.
    levels: Vec<u8>,
}

impl Default for PacketPool {
    fn default() -> PacketPool {
        let (arguments, levels) = (Vec::new(), Vec::new());
        PacketPool { packets: Vec::new(), free: NIL, in_flight: 0, arguments, levels }
    }
}

impl PacketPool {
    #[inline]
    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
        self.in_flight += 1;
        let id = self.free;
        if id == NIL {
            self.packets.push(packet);
            return self.packets.len() as u32 - 1;
        }
        self.free = self.packets[id as usize].next;
        self.packets[id as usize] = packet;
        id
    }

    #[inline]
    pub(crate) fn remove(&mut self, id: u32) -> Packet {
        self.in_flight -= 1;
        let packet = self.packets[id as usize];
        self.packets[id as usize].next = self.free;
        self.free = id;
        packet
    }

    /// Have a packet in the cache soon.
    #[inline(always)]
    pub(crate) fn fetch(&self, id: u32) {
        prefetch_index(&self.packets, id as usize);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether so many more fit, and those that are injected until the next look.
    pub(crate) fn have_room(&self, n_more: u64) -> bool {
        self.in_flight as u64 + n_more + MOST_PACKETS_A_LOOK <= MAX_NUMBER.into()
    }

    /// Let a packet carry a number.
    pub(crate) fn set_argument(&mut self, id: u32, argument: u32) {
        if self.arguments.len() <= id as usize {
            self.arguments.resize(self.packets.len(), 0);
        }
        self.arguments[id as usize] = argument;
    }

    /// Have a packet keep its service level on its path.
    pub(crate) fn set_level(&mut self, id: u32, level: u8) {
        if self.levels.len() <= id as usize {
            self.levels.resize(self.packets.len(), 0);
        }
        self.levels[id as usize] = level;
    }

    /// The service level of a packet that has entered a switch.
    pub(crate) fn level(&self, id: u32) -> u8 {
        self.levels[id as usize]
    }

    /// The number a packet carries, where it was set.
    pub(crate) fn argument(&self, id: u32) -> u32 {
        self.arguments.get(id as usize).copied().unwrap_or(0)
    }
}

indexed!(PacketPool, packets by u32 => Packet);

#[cfg(test)]
mod tests {
    use super::{MOST_PACKETS_A_LOOK, Packet, PacketPool};
    use crate::limits::MAX_NUMBER;

    #[test]
    fn there_is_no_room_for_more_packets_than_have_numbers() {
        let pool = PacketPool::default();
        let most = u64::from(MAX_NUMBER) - MOST_PACKETS_A_LOOK;
        assert!(pool.have_room(most) && !pool.have_room(most + 1));
    }

    #[test]
    fn a_packet_is_24_bytes() {
        assert_eq!(std::mem::size_of::<Packet>(), 24);
    }
}
