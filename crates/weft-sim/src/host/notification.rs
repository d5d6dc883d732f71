//! Receivers notify senders of congestion, and answer their probes.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::model::framing::PacketKind;
use crate::state::packet::Packet;
use crate::state::transport::message::Control;
use crate::state::transport::pace::Pace;

impl<M: Mode<PLAIN>, const PLAIN: bool> Hosts<'_, M, PLAIN> {
    /// Tell the sender of a queue pair, by a packet of its own from the receiver's port.
    pub(crate) fn tell(&mut self, port: u32, kind: PacketKind, pace: u32, argument: u32) {
        let Pace { src, dst, lane, .. } = self.network.congestion.paces[pace];
        let lane = self.network.congestion().cnp_lane.unwrap_or(lane);
        let dst = self.reply_hca(src, dst);
        let control = Control { dst, lane, kind, message: pace, argument, becn: true };
        self.network.send_control(port, control);
    }

    /// A packet has come that is about congestion alone.
    pub(crate) fn heed(&mut self, port: u32, packet: Packet, argument: u32) {
        match packet.kind() {
            PacketKind::Probe => self.tell(port, PacketKind::Echo, packet.message, 0),
            PacketKind::Echo => self.network.heed(port, packet.message, 0),
            _ => self.network.notified(port, packet.message, argument),
        }
    }
}
