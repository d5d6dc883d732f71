//! Packets of connections where something can be lost: they are numbered, timed and repeated.

use crate::model::framing::PacketKind;
use crate::model::scenario::ValidScenario;
use crate::model::transport::Transport;
use crate::packet::injection::queue_ahead;
use crate::packet::network::Network;
use crate::state::clock::Clock;
use crate::state::packet::{EMPTY, FIRST, Packet, PacketPool};
use crate::state::transport::endpoints::Endpoints;

/// Number a new packet, whose tail leaves at `left_ps`. From now on it carries its connection
/// instead of the message, which may be gone when the packet comes.
#[cold]
pub(crate) fn number(
    transport: &Transport,
    packets: &mut PacketPool,
    endpoints: &mut Endpoints,
    clock: &mut Clock,
    packet: u32,
    left_ps: u64,
) {
    let (id, first) = (packets[packet].message, packets[packet].has(FIRST));
    let message = &endpoints.messages[id];
    let connection = endpoints.connections.of(message);
    let here = &mut endpoints.connections[connection];
    let number = here.number(id, message, transport.mtu_bytes, first);
    let asks = transport.acknowledge && here.asks(number, transport.ack_every);
    if asks {
        here.await_answer(number, left_ps + transport.timeout_ps);
    }
    endpoints.connections.note(number);
    packets[packet].message = connection;
    packets.set_argument(packet, number);
    if asks {
        endpoints.connections.set_timer(clock, connection);
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Send everything again that is not acknowledged, ahead of new data; false where there is no
    /// room for so much.
    pub(crate) fn repeat(&mut self, connection: u32) -> bool {
        let Network { scenario, clock, links, buffers, endpoints, .. } = self;
        let Endpoints { connections, senders, .. } = endpoints;
        let here = &mut connections[connection];
        if !buffers.packets.have_room((here.next - here.acked).into()) {
            return false;
        }
        here.await_again(clock.now_ps + scenario.transport.timeout_ps);
        let port = here.port;
        for number in here.acked..here.next {
            let flight = here.flight(number).expect("it is not acknowledged");
            let (payload_bytes, first) = flight.piece(number, scenario.transport.mtu_bytes);
            let bytes = scenario.framing.wire_bytes(payload_bytes, first);
            let (dst, lane) = (here.dst_hca, here.lane);
            let mut packet = Packet::new(PacketKind::Data, connection, dst, lane, bytes);
            packet.set(FIRST, first);
            packet.set(EMPTY, payload_bytes == 0);
            queue_ahead(links, buffers, senders, port, packet, number);
        }
        connections.set_timer(clock, connection);
        self.serve(port);
        true
    }
}

/// The message about a broken connection from one rank to another.
pub(crate) fn describe_broken(scenario: &ValidScenario, (src, dst): (u32, u32)) -> String {
    let node = |rank: u32| {
        let node = scenario.ranks[rank as usize].node;
        &scenario.fabric.nodes[node.index()].name
    };
    let (from, to, retries) = (node(src), node(dst), scenario.transport.retries);
    format!(
        "failed: the connection from rank {src} on {from} to rank {dst} on {to} is broken: \
         packets were repeated {retries} times in a row and not acknowledged"
    )
}
