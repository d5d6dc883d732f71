//! Where packets go inside a node, and the endpoints that answers go to.

use crate::limits::NIL;
use crate::model::framing::PacketKind;
use crate::model::scenario::ValidScenario;
use crate::state::links::Links;
use crate::state::packet::Packet;
use crate::state::transport::endpoints::Endpoints;
use crate::state::transport::initiator::COMPLETES;
use crate::state::transport::spacing::Spacing;
use weft_fabric::{Fabric, InnerId, NodeGraph, VertexId};

/// The egress port of a packet inside a node: towards its endpoint, or the HCA it leaves over.
#[cold]
pub(crate) fn route_inside(
    scenario: &ValidScenario,
    links: &Links,
    endpoints: &Endpoints,
    congestion: &Spacing<'_>,
    q: u32,
    packet: &Packet,
) -> (u32, u8) {
    let target = inner_target(scenario, links, endpoints, congestion, packet);
    (exit_inside(&scenario.fabric, links, q, packet.dst, target), packet.lane())
}

/// The egress port of what enters a vertex inside a node at `q` and goes to `target`, over the
/// HCA `dst` where that is in another node.
pub(crate) fn exit_inside(fabric: &Fabric, links: &Links, q: u32, dst: u32, target: u32) -> u32 {
    let input = &links.inputs[q as usize];
    let graph = fabric.inside.as_ref().expect("ports inside a node");
    let seat = |vertex| fabric.place_in_node(VertexId(vertex)).expect("a vertex of a node");
    let (node, at) = seat(input.vertex);
    let (dst_node, target) = seat(target);
    let rail = InnerId(dst % graph.n_hcas());
    let local = if node == dst_node {
        graph.next_local(at, target)
    } else if at == rail {
        0
    } else {
        graph.next_local(at, rail)
    };
    q - u32::from(input.local) + local
}

/// The endpoint to which answers to a rank go; NIL where nodes have no inside.
pub(crate) fn answered_vertex(scenario: &ValidScenario, rank: u32) -> u32 {
    let fabric = &scenario.fabric;
    let Some(graph) = &fabric.inside else { return NIL };
    let vertex = scenario.ranks[rank as usize].vertex;
    memory_of(fabric, graph, vertex).unwrap_or(vertex).0
}

/// The endpoint a packet goes to: the receiver's, or the sender's that is answered.
fn inner_target(
    scenario: &ValidScenario,
    links: &Links,
    endpoints: &Endpoints,
    congestion: &Spacing<'_>,
    packet: &Packet,
) -> u32 {
    let data = packet.kind() == PacketKind::Data;
    if packet.kind().is_about_congestion() {
        let [from, to] = congestion.paces[packet.message].ends;
        return if packet.kind() == PacketKind::Probe { to } else { from };
    }
    if scenario.transport.numbered {
        let connection = &endpoints.connections[packet.message];
        let here = links.ports[connection.port as usize].vertex;
        return if data { connection.dst_vertex } else { here };
    }
    if data {
        return endpoints.messages[packet.message].dst_vertex;
    }
    answered_vertex(scenario, packet.message & !COMPLETES)
}

/// The memory an endpoint's messages are copied through, if they are.
pub(crate) fn memory_of(fabric: &Fabric, graph: &NodeGraph, vertex: VertexId) -> Option<VertexId> {
    let (node, at) = fabric.place_in_node(vertex).expect("a vertex of a node");
    graph.bounce[at.index()].map(|memory| fabric.inner_vertex(node, memory))
}
