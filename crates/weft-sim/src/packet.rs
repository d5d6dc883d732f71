//! Packets: how many bytes are on the wire, how many credit blocks they take.

use crate::document::Headers;

/// A credit stands for this much buffer (InfiniBand flow control blocks).
pub const BLOCK_BYTES: u64 = 64;
/// No packet, port or message.
pub(crate) const NIL: u32 = u32::MAX;

/// LRH 8 + BTH 12 + ICRC 4 + VCRC 2.
///
/// SOURCE: InfiniBand Architecture Specification volume 1, chapters 5, 7 and 9.
const HEADER_BYTES: u32 = 26;
/// RDMA extended transport header, on the first packet of a message.
const RETH_BYTES: u32 = 16;

/// Bytes on the wire of a packet: never none, so that no two packets share an instant.
pub fn wire_bytes(headers: Headers, payload_bytes: u32, first: bool) -> u32 {
    let header = match headers {
        Headers::Infiniband if first => HEADER_BYTES + RETH_BYTES,
        Headers::Infiniband => HEADER_BYTES,
        Headers::None => 0,
    };
    (payload_bytes + header).max(1)
}

/// Credit blocks of a packet.
pub fn blocks_of(wire_bytes: u32) -> u32 {
    wire_bytes.div_ceil(BLOCK_BYTES as u32)
}

/// A packet in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packet {
    /// The message it is part of.
    pub(crate) message: u32,
    /// The HCA it goes to.
    pub(crate) dst: u32,
    /// Bytes on the wire.
    pub(crate) wire_bytes: u32,
    /// Bytes of the message.
    pub(crate) payload_bytes: u32,
    /// When its tail is in the buffer it is in, routing time included.
    pub(crate) tail_ps: u64,
    /// The next packet of its queue.
    pub(crate) next: u32,
    /// Routed already and only waiting for enough of it to be there, or for its turn.
    pub(crate) routed: bool,
}

/// Packets in flight, their numbers used again.
#[derive(Debug, Default)]
pub(crate) struct PacketPool {
    packets: Vec<Packet>,
    free: Vec<u32>,
}

impl PacketPool {
    pub(crate) fn add(&mut self, packet: Packet) -> u32 {
        if let Some(id) = self.free.pop() {
            self.packets[id as usize] = packet;
            return id;
        }
        self.packets.push(packet);
        self.packets.len() as u32 - 1
    }

    pub(crate) fn remove(&mut self, id: u32) -> Packet {
        self.free.push(id);
        self.packets[id as usize]
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.packets.len() - self.free.len()
    }
}

impl std::ops::Index<u32> for PacketPool {
    type Output = Packet;

    fn index(&self, id: u32) -> &Packet {
        &self.packets[id as usize]
    }
}

impl std::ops::IndexMut<u32> for PacketPool {
    fn index_mut(&mut self, id: u32) -> &mut Packet {
        &mut self.packets[id as usize]
    }
}
