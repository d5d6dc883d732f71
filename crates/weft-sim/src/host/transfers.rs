//! Messages through the insides of nodes: to another GPU of the node, over the HCA of the sender's
//! rail to another node, and through host memory where HCAs do not read GPUs.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::packet::routing::node_routing::memory_of;
use crate::state::pool::Pool;
use crate::state::transport::message::{Message, Role};
use std::collections::{HashMap, VecDeque};
use weft_fabric::{Fabric, HcaId, InnerId, NodeGraph, NodeId, VertexId};

/// The part of agreements: they wait behind no data that is copied.
const AGREEMENT: u16 = u16::MAX;

/// A message that is more than one: striped over links, or copied piece by piece.
#[derive(Debug, Default)]
struct Transfer {
    message: u32,
    /// Where it stops: its endpoints, and memory between.
    stops: Vec<VertexId>,
    chunk_bytes: u64,
    n_chunks: u64,
    /// The next piece to begin, and how many are over the first leg and over the last.
    next_chunk: u64,
    n_first: u64,
    n_done: u64,
    pending: Vec<Pending>,
}

/// A piece on a leg, and how many of its stripes have not arrived.
#[derive(Clone, Copy, Debug)]
struct Pending {
    chunk: u32,
    leg: u16,
    n_stripes: u16,
}

/// The memory of hosts about their insides.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    transfers: Pool<Option<Transfer>>,
    /// By pair of ranks: those that have pieces to begin, the first of which does. Only looked up
    /// by key, never gone through.
    queues: HashMap<(u32, u32), VecDeque<u32>>,
    /// By HCA: no message begins before.
    begin_ps: Vec<u64>,
}

impl Transfers {
    pub(crate) fn new(fabric: &Fabric) -> Transfers {
        let n_hcas = fabric.inside.as_ref().map_or(0, |_| fabric.n_hcas() as usize);
        Transfers { begin_ps: vec![0; n_hcas], ..Transfers::default() }
    }

    fn get(&mut self, number: u32) -> &mut Transfer {
        self.transfers[number].as_mut().expect("a transfer that is under way")
    }
}

impl<M: Mode<PLAIN>, const PLAIN: bool> Hosts<'_, M, PLAIN> {
    /// The HCA over which an answer reaches rank `to`: over the rail of the rank that answers, as
    /// whatever else that rank sends.
    pub(crate) fn reply_hca(&self, to: u32, from: u32) -> u32 {
        let (fabric, ranks) = (self.network.fabric(), &self.network.scenario.ranks);
        if fabric.inside.is_none() {
            return ranks[to as usize].hca.0;
        }
        let node = ranks[to as usize].node;
        fabric.nodes[node.index()].first_hca.0 + self.rail(from).0
    }

    /// Whether a message that has come at `port` never left its node: it is not acknowledged.
    pub(crate) fn within_node(&self, port: u32, id: u32) -> bool {
        let fabric = self.network.fabric();
        let vertex = |port: u32| VertexId(self.network.links.ports[port as usize].vertex);
        let node = |port: u32| fabric.place_in_node(vertex(port)).map(|(node, _)| node);
        fabric.inside.is_some() && node(port) == node(self.network.endpoints.messages[id].port)
    }

    /// Hand a message to its endpoint, through the insides of its nodes where they have any.
    pub(crate) fn inject(&mut self, id: u32) {
        let scenario = self.network.scenario;
        let Some(graph) = &scenario.fabric.inside else {
            return M::send(self, id);
        };
        let message = self.network.endpoints.messages[id];
        let place = |rank: u32| scenario.ranks[rank as usize];
        let (here, there) = (place(message.src), place(message.dst));
        let mut stops = vec![here.vertex];
        if here.node != there.node {
            let memory = |vertex| memory_of(&scenario.fabric, graph, vertex);
            stops.extend(memory(here.vertex));
            stops.extend(memory(there.vertex));
        }
        stops.push(there.vertex);
        if message.role.is_agreement() {
            // Processors agree through their own memory.
            let memory = |vertex| memory_of(&scenario.fabric, graph, vertex).unwrap_or(vertex);
            stops = vec![memory(here.vertex), memory(there.vertex)];
            self.network.endpoints.messages[id].part = AGREEMENT;
        }
        let ports = self.ports_of_leg(&message, &stops, 0, message.size_bytes);
        if let ([_, _], [port]) = (&stops[..], &ports[..]) {
            return self.send_stripe(id, &stops, 0, *port);
        }
        let copied = stops.len() > 2;
        let chunk_bytes = if copied { graph.bounce_chunk_bytes } else { u64::MAX };
        let transfer = self.transfers.transfers.add(Some(Transfer {
            message: id,
            stops,
            chunk_bytes,
            n_chunks: message.size_bytes.div_ceil(chunk_bytes).max(1),
            ..Transfer::default()
        }));
        let queue = self.transfers.queues.entry((message.src, message.dst)).or_default();
        queue.push_back(transfer);
        if queue.len() == 1 {
            self.begin_chunks(transfer);
        }
    }

    /// Begin as many pieces as may be under way. With the last, the pair's next message may begin.
    fn begin_chunks(&mut self, number: u32) {
        let window = self.graph().bounce_chunks;
        loop {
            let transfer = self.transfers.get(number);
            let chunk = transfer.next_chunk;
            if chunk == transfer.n_chunks || chunk - transfer.n_done == u64::from(window) {
                return;
            }
            transfer.next_chunk += 1;
            let (last, message) = (transfer.next_chunk == transfer.n_chunks, transfer.message);
            self.send_leg(number, chunk as u32, 0);
            if last {
                let message = self.network.endpoints.messages[message];
                let pair = (message.src, message.dst);
                let queue = self.transfers.queues.get_mut(&pair).expect("the pair's queue");
                queue.pop_front();
                match queue.front().copied() {
                    Some(next) => self.begin_chunks(next),
                    None => {
                        self.transfers.queues.remove(&pair);
                    }
                }
                return;
            }
        }
    }

    /// Send a piece on a leg of its path.
    fn send_leg(&mut self, number: u32, chunk: u32, leg: u16) {
        let transfer = self.transfers.get(number);
        let (stops, parent) = (transfer.stops.clone(), transfer.message);
        let parent = self.network.endpoints.messages[parent];
        let from = u64::from(chunk) * transfer.chunk_bytes.min(parent.size_bytes);
        let size_bytes = (parent.size_bytes - from).min(transfer.chunk_bytes);
        let ports = self.ports_of_leg(&parent, &stops, leg, size_bytes);
        let n_stripes = ports.len() as u64;
        let pending = Pending { chunk, leg, n_stripes: n_stripes as u16 };
        self.transfers.get(number).pending.push(pending);
        let mtu_bytes = u64::from(self.network.scenario.mtu_bytes);
        let n_packets = size_bytes.div_ceil(mtu_bytes);
        for (stripe, port) in (0..).zip(ports) {
            let end = |stripe: u64| (n_packets * stripe / n_stripes * mtu_bytes).min(size_bytes);
            let stripe_bytes = end(stripe + 1) - end(stripe);
            let (src, dst) = (parent.src, parent.dst);
            let mut message = Message::new(src, dst, 0, stripe_bytes, Role::Leg(number));
            (message.regime, message.row) = (parent.regime, chunk);
            (message.service_level, message.lane) = (parent.service_level, parent.lane);
            message.ready_ps = if leg == 0 { parent.ready_ps } else { 0 };
            message.part = leg << 8 | stripe as u16;
            let id = self.network.endpoints.messages.add(message);
            self.send_stripe(id, &stops, leg, port);
        }
    }

    /// Send a message on one leg, over one of its equally good first links.
    fn send_stripe(&mut self, id: u32, stops: &[VertexId], leg: u16, port: u32) {
        let fabric = self.network.fabric();
        let message = self.network.endpoints.messages[id];
        let nodes = [0, 1].map(|end| node_of(fabric, stops[usize::from(leg) + end]));
        let rail = self.rail(message.src);
        let hca = |node: NodeId| HcaId(fabric.nodes[node.index()].first_hca.0 + rail.0);
        let mut ready_ps = message.ready_ps;
        if nodes[0] != nodes[1] {
            // The HCA begins messages a gap apart, whoever they are from.
            let begin_ps = &mut self.transfers.begin_ps[hca(nodes[0]).index()];
            ready_ps = ready_ps.max(self.network.clock.now_ps).max(*begin_ps);
            *begin_ps = ready_ps + self.network.scenario.hosts.message_gap_ps;
        }
        let message = &mut self.network.endpoints.messages[id];
        (message.port, message.ready_ps) = (port, ready_ps);
        message.dst_hca = hca(nodes[1]).0;
        message.dst_vertex = stops[usize::from(leg) + 1].0;
        M::send(self, id);
    }

    /// The ports a piece of `size_bytes` leaves over: inside a node all that are equally good, as
    /// far as it has packets for them.
    fn ports_of_leg(&self, message: &Message, stops: &[VertexId], leg: u16, size: u64) -> Vec<u32> {
        let (fabric, graph) = (self.network.fabric(), self.graph());
        let (from, to) = (stops[usize::from(leg)], stops[usize::from(leg) + 1]);
        let seat = |vertex| fabric.place_in_node(vertex).expect("a vertex of a node");
        let ((node, at), (to_node, to)) = (seat(from), seat(to));
        let first = fabric.vertices[from.index()].first_port.0;
        if node != to_node {
            return vec![first + graph.next_local(at, self.rail(message.src))];
        }
        let n_packets = size.div_ceil(u64::from(self.network.scenario.mtu_bytes)).max(1);
        let most = usize::try_from(n_packets).unwrap_or(usize::MAX).min(256);
        graph.equal_locals(at, to).take(most).map(|local| first + local).collect()
    }

    /// A piece has come to the end of a leg.
    pub(crate) fn leg_arrived(&mut self, number: u32, id: u32) {
        let message = self.network.endpoints.messages.remove(id);
        let (chunk, leg) = (message.row, message.part >> 8);
        let transfer = self.transfers.get(number);
        let of_this = |pending: &Pending| pending.chunk == chunk && pending.leg == leg;
        let at = transfer.pending.iter().position(of_this).expect("a piece on this leg");
        transfer.pending[at].n_stripes -= 1;
        if transfer.pending[at].n_stripes > 0 {
            return;
        }
        transfer.pending.swap_remove(at);
        let last_leg = usize::from(leg) + 2 == transfer.stops.len();
        transfer.n_first += u64::from(leg == 0);
        transfer.n_done += u64::from(last_leg);
        let (parent, n_chunks) = (transfer.message, transfer.n_chunks);
        let (n_first, n_done) = (transfer.n_first, transfer.n_done);
        if leg == 0 && n_first == n_chunks {
            let parent = self.network.endpoints.messages[parent];
            if parent.role == Role::Agreed {
                self.sent(parent.src);
            }
        }
        if !last_leg {
            return self.send_leg(number, chunk, leg + 1);
        }
        if n_done < n_chunks {
            return self.begin_chunks(number);
        }
        self.transfers.transfers[number] = None;
        self.transfers.transfers.release(number);
        self.arrived(parent);
    }

    fn graph(&self) -> &NodeGraph {
        self.network.scenario.fabric.inside.as_ref().expect("nodes with an inside")
    }

    fn rail(&self, rank: u32) -> InnerId {
        let place = self.network.scenario.ranks[rank as usize];
        InnerId(place.hca.0 - self.network.fabric().nodes[place.node.index()].first_hca.0)
    }
}

fn node_of(fabric: &Fabric, vertex: VertexId) -> NodeId {
    fabric.place_in_node(vertex).expect("a vertex of a node").0
}
