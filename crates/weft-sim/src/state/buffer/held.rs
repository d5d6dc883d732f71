//! What a packet holds of an input buffer.

use crate::state::packet::Packet;

/// What a packet holds of an input buffer until its tail has left.
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
    /// What a packet holds that has come in at `port` and joined no queue.
    #[inline(always)]
    pub(crate) fn by(packet: &Packet, port: u32, output: u16) -> Held {
        Held { port, lane: packet.lane(), blocks: packet.blocks(), output }
    }
}
