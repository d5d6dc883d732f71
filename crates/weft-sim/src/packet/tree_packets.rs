//! Packets of trees at endpoints, and their copies in input buffers.

use crate::limits::blocks_of;
use crate::model::in_network::forest::InNetwork;
use crate::packet::network::Network;
use crate::state::arbiter::Served;
use crate::state::copies::Copied;
use crate::state::packet::BORN;
use crate::state::packet::COPY;
use crate::state::packet::Packet;
use crate::state::packet::STREAM;
use crate::state::transport::message::Role;
use crate::state::transport::sender::Turn;

impl<'a, const PLAIN: bool> Network<'a, PLAIN> {
    pub(crate) fn in_network(&self) -> &'a InNetwork {
        self.scenario.in_network.as_ref().expect("nobody sends up a tree that is not there")
    }

    /// A packet of a tree has been sent: what it holds of the buffer it came to is free, if it came
    /// to any.
    #[cold]
    pub(crate) fn left_by_copy(&mut self, id: u32, left_ps: u64) {
        let packet = &mut self.buffers.packets[id];
        if packet.has(COPY) {
            let copied = self.buffers.copies.leave(packet.message, left_ps);
            packet.message = copied.message;
            if copied.n_left == 0 {
                let Copied { port, lane, blocks, left_ps, .. } = copied;
                self.refund(port, lane, blocks, 0, left_ps);
            }
        }
        let packet = &mut self.buffers.packets[id];
        packet.set(COPY | BORN, false);
    }

    /// Send the packet of an operation from an endpoint, after `before` in the ring of its lane.
    #[cold]
    pub(crate) fn send_segment(&mut self, o: u32, vl: u8, before: u32) -> Served {
        let index = self.lane_index(o, vl);
        let sender = self.buffers.lanes[index].queues;
        let id = self.endpoints.messages[before].ring;
        let message = self.endpoints.messages[id];
        let Role::Tree { kind, operation, bytes, streams } = message.role else {
            unreachable!("only packets of trees are sent like that")
        };
        let bytes = u32::from(bytes);
        let blocks = blocks_of(bytes);
        if !self.buffers.lanes.grant(index, self.clock.now_ps, blocks) {
            self.await_credit(o, vl);
            return Served::Starved;
        }
        self.buffers.lanes.load(index, blocks);
        if !message.begun {
            let begin_ps = self.clock.now_ps + self.endpoints.message_gap_ps;
            self.endpoints.senders.begun(sender, vl, self.buffers.n_lanes, begin_ps);
        }
        if let Some(next) =
            self.endpoints.senders.served(sender, before, Turn::Ends, &mut self.endpoints.messages)
            && self.may_enter(next)
        {
            self.endpoints.senders.enter(sender, next, &mut self.endpoints.messages);
        }
        self.endpoints.messages.remove(id);
        self.links.ports[o as usize].set_work(vl, !self.endpoints.senders.is_idle(sender));
        let mut packet = Packet::new(kind, operation, message.dst_hca, vl, bytes);
        packet.set(STREAM, streams);
        let packet_id = self.buffers.packets.add(packet);
        self.transmit(o, vl, packet_id, blocks);
        Served::Sent(packet.wire_bytes)
    }
}
