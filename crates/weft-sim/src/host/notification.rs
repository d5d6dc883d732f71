//! Receivers notify senders of congestion, and answer their probes.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::model::framing::PacketKind;
use crate::packet::congestion_hooks::{heed, notified};
use crate::packet::network::Network;
use crate::state::packet::Packet;
use crate::state::transport::message::Control;
use crate::state::transport::pace::Pace;

impl<M: Mode<PLAIN>, const PLAIN: bool> Hosts<'_, M, PLAIN> {
    /// Notify the sender of a queue pair, by a packet of its own from the receiver's port.
    pub(crate) fn notify(&mut self, port: u32, kind: PacketKind, pace: u32, argument: u32) {
        let Pace { src, dst, lane, .. } = self.network.congestion.paces[pace];
        let lane = self.network.congestion.parameters().cnp_lane.unwrap_or(lane);
        let dst = self.reply_hca(src, dst);
        let control = Control { dst, lane, kind, message: pace, argument, becn: true };
        self.network.send_control(port, control);
    }

    /// A packet has come that is about congestion alone.
    pub(crate) fn heed(&mut self, port: u32, packet: Packet, argument: u32) {
        let Network { clock, links, congestion, .. } = &mut self.network;
        let (now_ps, pace) = (clock.now_ps, packet.message);
        match packet.kind() {
            PacketKind::Probe => self.notify(port, PacketKind::Echo, pace, 0),
            PacketKind::Echo => heed(links, congestion, now_ps, port, pace, 0),
            _ => notified(links, congestion, now_ps, port, pace, argument),
        }
    }
}
