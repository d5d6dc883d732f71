//! The part of an input buffer that a packet holds.

use crate::state::packet::Packet;

/// The part of an input buffer that a packet holds until its tail has left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// The port that the buffer belongs to.
    pub(crate) port: u32,
    pub(crate) lane: u8,
    pub(crate) blocks: u32,
    /// `shared_buffer`: the output that they count for.
    pub(crate) output: u16,
}

impl Held {
    /// The part held by a packet that has come in at `port` and joined no queue.
    #[inline(always)]
    pub(crate) fn by(packet: &Packet, port: u32, output: u16) -> Held {
        Held { port, lane: packet.lane(), blocks: packet.blocks(), output }
    }
}
