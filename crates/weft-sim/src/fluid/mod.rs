//! The flow level: a message is a fluid over the links of its way, at its max-min fair rate.
//!
//! Hosts, matching, jobs and rows are those of the packet engine. The seam is the first message of
//! a queue pair: where its packets would begin to leave, a flow begins; when the flow is over, the
//! next message of the queue pair may leave, and what the way takes beyond is added before it has
//! come. Messages without payload, acknowledgements among them, take the time of their packet and
//! no bandwidth.
//!
//! Events that change nothing are left out, as of packets, and `"elide": false` is the oracle: see
//! [`Transit::lone`] and `agree.rs`.

mod agree;
mod pipe;
mod share;
mod transit;
mod way;

use crate::adaptive::flow_of_answers;
use crate::calendar::{CLOCK_END_PS, Cold};
use crate::hosts::Hosts;
use crate::message::{Message, Role};
use crate::network::Network;
use crate::packet::NIL;
use crate::port::NEVER;
use crate::scenario::ValidScenario;
use crate::steering::Choice;
use pipe::{rounded_up, time_of};
use share::Shares;
use transit::Transit;
use way::{Trip, Ways};
use weft_fabric::Fabric;
use weft_fabric::fabric::Port;
use weft_traffic::mixed as mix;

/// The flows under way.
#[derive(Debug, Default)]
pub(crate) struct Fluid {
    shares: Shares,
    ways: Ways,
    /// By flow.
    transits: Vec<Transit>,
    /// By endpoint's port: no message begins before.
    begin_ps: Vec<u64>,
    /// When rates will be solved.
    solve_ps: u64,
    changed: Vec<u32>,
    /// By port, parts of bytes and packets of split flows.
    parts: Vec<[f64; 2]>,
    scratch: Vec<f64>,
    elide: bool,
    /// Processors cost nothing, so what two of them agree on is known ahead.
    foreseen: bool,
}

impl Fluid {
    pub(crate) fn new(scenario: &ValidScenario) -> Fluid {
        let fabric = &scenario.fabric;
        let (n_ports, n_vertices) = (fabric.ports.len(), fabric.vertices.len());
        let splits = scenario.steering.choice == Choice::Least;
        Fluid {
            shares: Shares::new(fabric.ports.iter().map(|port| port.rate.0 as f64)),
            ways: Ways::new(rows_of(fabric), if splits { n_vertices } else { 0 }),
            begin_ps: vec![0; n_ports],
            solve_ps: NEVER,
            parts: vec![[0.0; 2]; if splits { n_ports } else { 0 }],
            elide: scenario.elide,
            foreseen: scenario.elide && agree::is_foreseen(scenario),
            ..Fluid::default()
        }
    }

    /// How often a flow was looked at on a link to solve rates.
    pub(crate) fn n_looks(&self) -> u64 {
        self.shares.n_looks
    }

    /// The messages that are under way now.
    pub(crate) fn messages(&self) -> impl Iterator<Item = u32> + '_ {
        let flows = self.shares.flows.iter().zip(&self.transits);
        flows.filter(|(flow, _)| !flow.uses.is_empty()).map(|(_, transit)| transit.message)
    }
}

/// By port, its number among those of endpoints.
fn rows_of(fabric: &Fabric) -> Vec<u32> {
    let mut n_rows = 0;
    let row = |port: &Port| {
        let is_end = fabric.is_end(port.vertex);
        n_rows += u32::from(is_end);
        if is_end { n_rows - 1 } else { NIL }
    };
    fabric.ports.iter().map(row).collect()
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The first message of a queue pair may leave, and those after it that are no flows.
    #[inline(never)]
    pub(crate) fn ready_fluid(&mut self, id: u32) {
        let mut next = Some(id);
        while let Some(id) = next {
            if !self.has_its_turn(id) {
                return;
            }
            if self.messages[id].size_bytes > 0 {
                return self.begin_flow(id);
            }
            self.send_empty(id);
            next = self.senders.over(id, &self.messages).filter(|next| self.may_enter(*next));
        }
    }

    /// Whether a message may begin: messages of an endpoint begin a gap apart. Else it is told
    /// when.
    fn has_its_turn(&mut self, id: u32) -> bool {
        let message = &mut self.messages[id];
        if self.message_gap_ps == 0 || message.begun {
            return true;
        }
        message.begun = true;
        let begin_ps = &mut self.fluid.begin_ps[message.port as usize];
        let time_ps = self.now_ps.max(*begin_ps);
        *begin_ps = (time_ps + self.message_gap_ps).min(2 * CLOCK_END_PS);
        if time_ps > self.now_ps {
            self.schedule_cold(time_ps, Cold::Ready(id));
        }
        time_ps == self.now_ps
    }

    fn trip_of(&self, message: &Message) -> Trip {
        let hashed = self.scenario.steering.choice == Choice::Hash;
        let pair = u64::from(message.src) << 32 | u64::from(message.dst);
        Trip {
            port: message.port,
            dst_hca: message.dst_hca,
            dst_vertex: message.dst_vertex,
            lane: message.lane,
            flow: if hashed { mix(pair) } else { 0 },
        }
    }

    /// A message leaves after the answer to the one that it follows.
    pub(crate) fn follow_answer(&mut self, id: u32, message: &Message) {
        if self.rules().fluid {
            self.messages[id].set_clear_ps(message.ready_ps);
        }
    }

    /// A message without payload is one packet.
    fn send_empty(&mut self, id: u32) {
        let message = self.messages[id];
        let way = self.way(self.trip_of(&message));
        let request = self.fluid.ways[way].request;
        self.count(way, request.bytes, 1);
        let come_ps = self.now_ps.max(message.clear_ps()) + request.latency_ps;
        self.come_at(id, come_ps);
        if message.role == Role::Agreed && !self.scenario.transport.acknowledge {
            let rate = self.links[self.ports[message.port as usize].link as usize].rate;
            let left_ps = self.now_ps + rounded_up(time_of(request.bytes, rate.0 as f64));
            self.schedule_cold(left_ps, Cold::Sent(message.src));
        }
    }

    /// Let a message come at that time.
    fn come_at(&mut self, id: u32, come_ps: u64) {
        self.messages[id].set_come_ps(come_ps);
        self.schedule_cold(come_ps, Cold::Come(id));
    }

    /// Count what crosses the links of a way.
    fn count(&mut self, way: usize, bytes: u64, n_packets: u64) {
        let way = &mut self.fluid.ways[way];
        self.hops += n_packets * way.n_hops();
        way.bytes += bytes;
        way.n_packets += n_packets;
    }

    /// Let ports have what was counted of a way.
    fn settle_count(&mut self, way: usize) {
        let way = &mut self.fluid.ways[way];
        let (bytes, n_packets) =
            (std::mem::take(&mut way.bytes), std::mem::take(&mut way.n_packets));
        for each in &way.uses {
            if each.weight == 1.0 {
                let port = &mut self.ports[each.link as usize];
                port.xmit_bytes += bytes;
                port.xmit_packets += n_packets;
            } else {
                let parts = &mut self.fluid.parts[each.link as usize];
                parts[0] += bytes as f64 * each.weight;
                parts[1] += n_packets as f64 * each.weight;
            }
        }
    }

    /// Let ports have all that was counted; what split flows have sent is rounded to whole bytes
    /// and packets, once for all.
    pub(crate) fn settle_counts(&mut self) {
        (0..self.fluid.ways.len()).for_each(|way| self.settle_count(way));
        for (port, parts) in self.ports.iter_mut().zip(&mut self.fluid.parts) {
            port.xmit_bytes += parts[0].round() as u64;
            port.xmit_packets += parts[1].round() as u64;
            *parts = [0.0; 2];
        }
    }
}

impl<const PLAIN: bool> Hosts<'_, PLAIN> {
    /// An event looks whether all of a message has come.
    pub(crate) fn come(&mut self, id: u32) {
        let network = &mut self.network;
        // An event of a flow that has met others since may come too early or too late.
        if network.messages[id].come_ps() != network.now_ps || !network.is_over(id) {
            return;
        }
        let message = &mut network.messages[id];
        message.set_come_ps(NEVER);
        message.received_bytes = message.size_bytes;
        let message = *message;
        let way = network.way(network.trip_of(&message));
        let port = network.fluid.ways[way].arrival;
        if message.size_bytes > 0 {
            let memo = network.fluid.ways[way].memo_of(message.size_bytes);
            let (bytes, n_packets) = memo.unwrap_or_else(|| network.wire_of(message.size_bytes));
            network.count(way, bytes, n_packets);
        }
        if !message.role.is_agreement() {
            network.trace([network.now_ps, port.into(), message.size_bytes]);
        }
        if network.scenario.transport.acknowledge && !self.within_node(port, id) {
            self.network.messages[id].ready_ps = self.acknowledge_fluid(port, &message);
        }
        self.arrived(id);
    }

    /// The way of answers to what has come to a rank from another, at `port`.
    fn answer_way(&mut self, port: u32, message: &Message) -> usize {
        let dst_hca = self.reply_hca(message.src, message.dst);
        let hashed = self.network.scenario.steering.choice == Choice::Hash;
        let trip = Trip {
            port,
            dst_hca,
            dst_vertex: self.network.answered_vertex(message.src),
            lane: message.lane,
            flow: if hashed { flow_of_answers(dst_hca) } else { 0 },
        };
        self.network.way(trip)
    }

    /// Answer all of a message's packets that ask for it; the last answer completes it. When
    /// another packet may follow.
    fn acknowledge_fluid(&mut self, port: u32, message: &Message) -> u64 {
        let way = self.answer_way(port, message);
        let network = &mut self.network;
        let answer = network.fluid.ways[way].answer;
        let ack_bytes = network.scenario.transport.ack_bytes;
        let n_answers = match message.size_bytes <= ack_bytes {
            true => 1,
            false => message.size_bytes.div_ceil(ack_bytes),
        };
        network.count(way, n_answers * answer.bytes, n_answers);
        let now_ps = network.now_ps;
        if message.role == Role::Agreed {
            self.sent_at(message.src, now_ps + answer.latency_ps);
        }
        now_ps + answer.behind_ps
    }
}
