//! Packets of trees at endpoints.

use crate::limits::blocks_of;
use crate::model::in_network::forest::InNetwork;
use crate::packet::injection::{go_round, inject};
use crate::packet::network::Network;
use crate::state::arbiter::Served;
use crate::state::packet::{Packet, STREAM};
use crate::state::transport::message::Role;
use crate::state::transport::sender::Turn;

impl<'a, const PLAIN: bool> Network<'a, PLAIN> {
    pub(crate) fn in_network(&self) -> &'a InNetwork {
        self.scenario.in_network.as_ref().expect("only a scenario with trees sends up one")
    }

    /// Whether the message after `before` in the ring of an endpoint's lane goes to switches.
    pub(crate) fn is_of_tree(&self, before: u32) -> bool {
        let messages = &self.endpoints.messages;
        messages[messages[before].ring].role.is_of_tree()
    }

    /// Send the packet of an operation from an endpoint, after `before` in the ring of its lane.
    #[cold]
    pub(crate) fn send_segment(&mut self, o: u32, vl: u8, before: u32) -> Served {
        let Network { clock, links, buffers, routing, endpoints, congestion, .. } = self;
        let sender = buffers.lanes[buffers.lane_index(o, vl)].queues;
        let id = endpoints.messages[before].ring;
        let message = endpoints.messages[id];
        let Role::Tree { kind, operation, bytes, streams } = message.role else {
            unreachable!("only packets of trees are sent like that")
        };
        let bytes = u32::from(bytes);
        if !buffers.granted(clock, o, vl, blocks_of(bytes)) {
            return Served::Starved;
        }
        if !message.begun {
            let begin_ps = clock.now_ps + endpoints.message_gap_ps;
            endpoints.senders.begun(sender, vl, buffers.n_lanes, begin_ps);
        }
        go_round(endpoints, congestion, clock, sender, before, Turn::Ends);
        endpoints.messages.remove(id);
        let mut packet = Packet::new(kind, operation, message.dst_hca, vl, bytes);
        packet.set(STREAM, streams);
        let packet_id = buffers.packets.add(packet);
        inject(links, buffers, clock, routing, &endpoints.senders, o, packet_id);
        Served::Sent(packet.wire_bytes)
    }
}
