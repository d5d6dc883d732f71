//! Packets of connections where something can be lost: they are numbered, timed and repeated.

use crate::limits::NEVER;
use crate::model::framing::PacketKind;
use crate::packet::network::Network;
use crate::state::calendar::Cold;
use crate::state::packet::EMPTY;
use crate::state::packet::FIRST;
use crate::state::packet::Packet;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Number a new packet of message `id`, whose tail leaves at `left_ps`. From now on it carries
    /// its connection instead of the message, which may be gone when the packet comes.
    #[cold]
    pub(crate) fn number(&mut self, packet: u32, id: u32, left_ps: u64) {
        let transport = &self.scenario.transport;
        let message = &self.endpoints.messages[id];
        let first = self.buffers.packets[packet].has(FIRST);
        let connection = self.endpoints.connections.of(message);
        let here = &mut self.endpoints.connections[connection];
        let number = here.number(id, message, transport.mtu_bytes, first);
        let asks = transport.acknowledge && here.asks(number, transport.ack_every);
        if asks {
            here.await_answer(number, left_ps + transport.timeout_ps);
        }
        self.endpoints.connections.note(number);
        self.buffers.packets[packet].message = connection;
        self.buffers.packets.set_argument(packet, number);
        if asks {
            self.set_timer(connection);
        }
    }

    /// Let an event look at a connection's deadline, if none does yet.
    pub(crate) fn set_timer(&mut self, connection: u32) {
        let here = &mut self.endpoints.connections[connection];
        if here.deadline_ps != NEVER && here.timer_ps == NEVER {
            here.timer_ps = here.deadline_ps;
            let deadline_ps = here.deadline_ps;
            self.clock.schedule_cold(deadline_ps, Cold::Timer(connection));
        }
    }

    /// Send everything again that is not acknowledged, ahead of new data; false where there is no
    /// room for so much.
    pub(crate) fn repeat(&mut self, connection: u32) -> bool {
        let scenario = self.scenario;
        let here = &mut self.endpoints.connections[connection];
        if !self.buffers.packets.have_room((here.next - here.acked).into()) {
            return false;
        }
        here.await_again(self.clock.now_ps + scenario.transport.timeout_ps);
        let (port, lane, dst) = (here.port, here.lane, here.dst_hca);
        for number in here.acked..here.next {
            let here = &self.endpoints.connections[connection];
            let flight = here.flight(number).expect("it is not acknowledged");
            let (payload_bytes, first) = flight.piece(number, scenario.transport.mtu_bytes);
            let bytes = scenario.framing.wire_bytes(payload_bytes, first);
            let mut packet = Packet::new(PacketKind::Data, connection, dst, lane, bytes);
            packet.set(FIRST, first);
            packet.set(EMPTY, payload_bytes == 0);
            self.queue_ahead(port, packet, number);
        }
        self.set_timer(connection);
        self.serve(port);
        true
    }

    /// What a user reads of a connection that is broken.
    pub(crate) fn describe_broken(&self, (src, dst): (u32, u32)) -> String {
        let node = |rank: u32| {
            let node = self.scenario.ranks[rank as usize].node;
            &self.scenario.fabric.nodes[node.index()].name
        };
        let (from, to) = (node(src), node(dst));
        let retries = self.scenario.transport.retries;
        format!(
            "failed: the connection from rank {src} on {from} to rank {dst} on {to} is broken: \
             packets were repeated {retries} times in a row and not acknowledged"
        )
    }
}
