//! The bytes that headers add to payloads, and the purposes of packets.

use crate::document::{Headers, Packets};

/// LRH 8 + BTH 12 + ICRC 4 + VCRC 2.
///
/// SOURCE: InfiniBand Architecture Specification volume 1, chapters 5, 7 and 9.
const HEADER_BYTES: u32 = 26;

/// RDMA extended transport header, on the first packet of a message.
const RETH_BYTES: u32 = 16;

/// Acknowledge extended transport header, on acknowledgements and their negatives.
const AETH_BYTES: u32 = 4;

/// Reserved bytes of a congestion notification; a probe and its answer are taken to be as long.
const CNP_BYTES: u32 = 16;

/// Global route header, on every packet that crosses a router.
const GRH_BYTES: u32 = 40;

/// Datagram extended transport header, on packets that belong to no connection.
const DETH_BYTES: u32 = 8;

/// The bytes that headers add to payloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    header_bytes: u32,
    first_bytes: u32,
    control_bytes: [u32; 9],
}

impl Framing {
    /// The framing of a document's packets.
    pub(crate) fn new(packets: &Packets) -> Framing {
        let global = if packets.routed { GRH_BYTES } else { 0 };
        match packets.headers {
            Headers::None => {
                Framing { header_bytes: global, first_bytes: 0, control_bytes: [global; 9] }
            }
            Headers::Infiniband => {
                let header_bytes = HEADER_BYTES + global;
                let acknowledge = header_bytes + AETH_BYTES;
                let cnp = header_bytes + CNP_BYTES;
                let none = header_bytes;
                let control_bytes =
                    [none, acknowledge, acknowledge, cnp, none, none, none, cnp, cnp];
                Framing { header_bytes, first_bytes: RETH_BYTES, control_bytes }
            }
        }
    }

    /// Bytes on the wire of a data packet: never none, so that no two packets share an instant.
    pub(crate) fn wire_bytes(&self, payload_bytes: u32, first: bool) -> u32 {
        let header_bytes = self.header_bytes + if first { self.first_bytes } else { 0 };
        (payload_bytes + header_bytes).max(1)
    }

    /// Bytes of a datagram to a multicast group beyond the headers of every packet: it always
    /// has a global route header.
    pub(crate) fn datagram_bytes(&self) -> u32 {
        match self.header_bytes {
            HEADER_BYTES => DETH_BYTES + GRH_BYTES,
            _ if self.first_bytes > 0 => DETH_BYTES,
            _ => 0,
        }
    }

    /// Bytes of headers around the payload of a data packet.
    pub(crate) fn around_payload_bytes(&self, first: bool) -> u32 {
        self.header_bytes + if first { self.first_bytes } else { 0 }
    }

    /// Bytes on the wire of a packet without payload.
    pub(crate) fn control_bytes(&self, kind: PacketKind) -> u32 {
        self.control_bytes[kind as usize].max(1)
    }
}

/// The purpose of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PacketKind {
    /// Part of a message.
    Data,
    /// All up to it have come.
    Ack,
    /// One before it is missing.
    Nak,
    /// The sender shall slow down.
    Cnp,
    /// Towards the root of a tree of switches.
    Up,
    /// From the root of a tree of switches.
    Down,
    /// To all of a tree but where it comes from.
    Flood,
    /// How long does it take there and back?
    Probe,
    /// The answer.
    Echo,
}

impl PacketKind {
    /// Whether it is only about congestion.
    pub(crate) fn is_about_congestion(self) -> bool {
        matches!(self, PacketKind::Cnp | PacketKind::Probe | PacketKind::Echo)
    }
}
