//! The flow level: a message is a fluid over the links of its way, at its max-min fair rate.
//!
//! Hosts, matching, jobs and rows are those of the packet engine. The seam is the first message of
//! a queue pair: where its packets would begin to leave, a flow begins; when the flow is over, the
//! next message of the queue pair may leave, and what the way takes beyond is added before it has
//! come. Messages without payload, acknowledgements among them, take the time of their packet and
//! no bandwidth.

mod pipe;
mod share;
#[cfg(test)]
mod share_tests;
mod way;

use crate::adaptive::flow_of_answers;
use crate::calendar::{CLOCK_END_PS, Cold};
use crate::hosts::Hosts;
use crate::message::{Message, Role};
use crate::network::Network;
use crate::packet::PacketKind;
use crate::port::NEVER;
use crate::scenario::ValidScenario;
use crate::steering::Choice;
use pipe::{Cut, rounded_up, time_of};
use share::Shares;
use way::{Trip, Ways};
use weft_traffic::mixed as mix;

/// A flow's message and how far it is.
#[derive(Clone, Copy, Debug)]
struct Transit {
    message: u32,
    n_packets: u64,
    wire_bytes: u64,
    /// What is left of it at `since_ps`, in bits, and its rate from then on.
    left_bits: f64,
    since_ps: u64,
    rate: f64,
    /// When it is over if nothing changes, and the first event that will look.
    end_ps: u64,
    due_ps: u64,
    /// From then until its last byte has come.
    tail_ps: u64,
}

/// The flows under way.
#[derive(Debug, Default)]
pub(crate) struct Fluid {
    shares: Shares,
    ways: Ways,
    /// By flow.
    transits: Vec<Transit>,
    /// By endpoint's port: no message begins before.
    begin_ps: Vec<u64>,
    /// By the same: messages without payload leave until then, one after the other.
    empty_until_ps: Vec<u64>,
    /// When rates will be solved.
    solve_ps: u64,
    changed: Vec<u32>,
    /// By port, parts of bytes and packets of split flows.
    parts: Vec<[f64; 2]>,
    scratch: Vec<f64>,
}

impl Fluid {
    pub(crate) fn new(scenario: &ValidScenario) -> Fluid {
        let fabric = &scenario.fabric;
        let (n_ports, n_vertices) = (fabric.ports.len(), fabric.vertices.len());
        let splits = scenario.steering.choice == Choice::Least;
        let n_ends = scenario.ranks.len();
        Fluid {
            shares: Shares::new(fabric.ports.iter().map(|port| port.rate.0 as f64)),
            ways: Ways::new(n_ports, n_vertices, n_ends, splits),
            begin_ps: vec![0; n_ports],
            empty_until_ps: vec![0; n_ports],
            solve_ps: NEVER,
            parts: vec![[0.0; 2]; if splits { n_ports } else { 0 }],
            ..Fluid::default()
        }
    }

    /// The messages that are under way now.
    pub(crate) fn messages(&self) -> impl Iterator<Item = u32> + '_ {
        let flows = self.shares.flows.iter().zip(&self.transits);
        flows.filter(|(flow, _)| !flow.uses.is_empty()).map(|(_, transit)| transit.message)
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The first message of a queue pair may leave, and those after it that are no flows.
    #[cold]
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

    /// A message without payload is one packet.
    fn send_empty(&mut self, id: u32) {
        let (cut, message) = (self.cut_of(0), self.messages[id]);
        let time_ps = self.cross(self.trip_of(&message), cut);
        self.schedule_cold(time_ps, Cold::Come(id));
        if message.role == Role::Agreed && !self.scenario.transport.acknowledge {
            let rate = self.links[self.ports[message.port as usize].link as usize].rate;
            let left_ps = self.now_ps + rounded_up(time_of(cut.wire_bytes(), rate.0 as f64));
            self.schedule_cold(left_ps, Cold::Sent(message.src));
        }
    }

    /// Let one packet cross the links of a trip, beside all flows but after others without payload;
    /// when it has come.
    fn cross(&mut self, trip: Trip, cut: Cut) -> u64 {
        let number = self.way(trip);
        self.count(number, cut.wire_bytes(), 1);
        let (fluid, now_ps) = (&mut self.fluid, self.now_ps);
        let rate = fluid.ways[number].slowest();
        let until_ps = &mut fluid.empty_until_ps[trip.port as usize];
        let leave_ps = now_ps.max(*until_ps);
        let behind_ps = leave_ps + rounded_up(time_of(cut.wire_bytes(), rate));
        *until_ps = behind_ps.min(2 * CLOCK_END_PS);
        leave_ps + fluid.ways[number].latency_ps(cut, 1.0, &mut fluid.scratch)
    }

    /// The packets of so many bytes.
    fn cut_of(&self, size_bytes: u64) -> Cut {
        let mtu_bytes = u64::from(self.scenario.mtu_bytes);
        let n_packets = size_bytes.div_ceil(mtu_bytes).max(1);
        let bytes = |payload: u64, first| self.scenario.framing.wire_bytes(payload as u32, first);
        let last_bytes = size_bytes - (n_packets - 1) * mtu_bytes;
        Cut {
            n_packets,
            first: bytes(size_bytes.min(mtu_bytes), true),
            middle: bytes(mtu_bytes, false),
            last: bytes(last_bytes, n_packets == 1),
        }
    }

    fn begin_flow(&mut self, id: u32) {
        let message = &mut self.messages[id];
        message.begun = true;
        let (size_bytes, trip) = (message.size_bytes, self.trip_of(&self.messages[id]));
        let cut = self.cut_of(size_bytes);
        let way = self.way(trip);
        let (fluid, now_ps) = (&mut self.fluid, self.now_ps);
        let way = &fluid.ways[way];
        let alone = fluid.shares.alone(&way.uses);
        let wire_bytes = cut.wire_bytes();
        let alone_ps = rounded_up(time_of(wire_bytes, alone));
        let latency_ps = way.latency_ps(cut, alone, &mut fluid.scratch);
        let wait_ps = fluid.empty_until_ps[trip.port as usize].saturating_sub(now_ps);
        let flow = fluid.shares.begin(way.uses.iter().copied());
        let rate = fluid.shares.flows[flow as usize].rate;
        let transit = Transit {
            message: id,
            n_packets: cut.n_packets,
            wire_bytes,
            left_bits: wire_bytes as f64 * 8.0,
            since_ps: now_ps,
            rate,
            end_ps: if rate > 0.0 {
                transit_end(now_ps, wire_bytes as f64 * 8.0, rate)
            } else {
                NEVER
            },
            due_ps: NEVER,
            tail_ps: wait_ps + latency_ps.saturating_sub(alone_ps),
        };
        match fluid.transits.get_mut(flow as usize) {
            Some(place) => *place = transit,
            None => fluid.transits.push(transit),
        }
        self.look_when_over(flow);
        self.solve_soon();
    }

    /// Let an event look when a flow is over, unless one does by then.
    fn look_when_over(&mut self, flow: u32) {
        let transit = &mut self.fluid.transits[flow as usize];
        if transit.end_ps < transit.due_ps {
            transit.due_ps = transit.end_ps;
            let end_ps = transit.end_ps;
            self.schedule_cold(end_ps, Cold::Drained(flow));
        }
    }

    /// Solve rates when all that begins and ends at this instant has.
    fn solve_soon(&mut self) {
        if self.fluid.shares.is_dirty() && self.fluid.solve_ps != self.now_ps {
            self.fluid.solve_ps = self.now_ps;
            self.schedule_cold(self.now_ps, Cold::Solve);
        }
    }

    /// Rates as they are after all that has begun and ended now.
    pub(crate) fn solve(&mut self) {
        let now_ps = self.now_ps;
        self.fluid.solve_ps = NEVER;
        let mut changed = std::mem::take(&mut self.fluid.changed);
        self.fluid.shares.solve(&mut changed);
        for flow in changed.drain(..) {
            let rate = self.fluid.shares.flows[flow as usize].rate;
            self.fluid.transits[flow as usize].change_rate(now_ps, rate);
            self.look_when_over(flow);
        }
        self.fluid.changed = changed;
    }

    /// Count what has crossed the links of a way.
    fn count(&mut self, way: usize, bytes: u64, n_packets: u64) {
        let way = &self.fluid.ways[way];
        self.hops += n_packets * way.n_hops();
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

    /// Round what split flows have sent to whole bytes and packets, once for all.
    pub(crate) fn count_parts(&mut self) {
        for (port, parts) in self.ports.iter_mut().zip(&mut self.fluid.parts) {
            port.xmit_bytes += parts[0].round() as u64;
            port.xmit_packets += parts[1].round() as u64;
            *parts = [0.0; 2];
        }
    }
}

/// When so many bits are through at a rate.
fn transit_end(now_ps: u64, bits: f64, rate: f64) -> u64 {
    now_ps + rounded_up((bits * 1e12 / rate).max(0.0))
}

impl Transit {
    fn change_rate(&mut self, now_ps: u64, rate: f64) {
        self.left_bits -= self.rate * (now_ps - self.since_ps) as f64 * 1e-12;
        (self.since_ps, self.rate) = (now_ps, rate);
        self.end_ps = transit_end(now_ps, self.left_bits, rate);
    }
}

impl<const PLAIN: bool> Hosts<'_, PLAIN> {
    /// An event looks whether a flow is over.
    pub(crate) fn drained(&mut self, flow: u32) {
        let network = &mut self.network;
        let now_ps = network.now_ps;
        let Some(transit) = network.fluid.transits.get_mut(flow as usize) else { return };
        if transit.due_ps != now_ps {
            return;
        }
        transit.due_ps = NEVER;
        if transit.end_ps > now_ps {
            return network.look_when_over(flow);
        }
        let Transit { message: id, n_packets, wire_bytes, tail_ps, .. } = *transit;
        transit.end_ps = NEVER;
        network.fluid.shares.end(flow);
        network.solve_soon();
        let way = network.way(network.trip_of(&network.messages[id]));
        network.count(way, wire_bytes, n_packets);
        network.schedule_cold(now_ps + tail_ps, Cold::Come(id));
        let message = network.messages[id];
        if message.role == Role::Agreed && !network.scenario.transport.acknowledge {
            network.schedule_cold(now_ps, Cold::Sent(message.src));
        }
        if let Some(next) = network.senders.over(id, &network.messages)
            && network.may_enter(next)
        {
            network.ready_fluid(next);
        }
    }

    /// All of a message has come.
    pub(crate) fn come(&mut self, id: u32) {
        let network = &mut self.network;
        let message = &mut network.messages[id];
        message.received_bytes = message.size_bytes;
        let message = *message;
        let way = network.way(network.trip_of(&message));
        let port = network.fluid.ways[way].arrival;
        network.trace([network.now_ps, port.into(), message.size_bytes]);
        if network.scenario.transport.acknowledge && !self.within_node(port, id) {
            self.acknowledge_fluid(port, &message);
        }
        self.arrived(id);
    }

    /// Answer all of a message's packets that ask for it; the last answer completes it.
    fn acknowledge_fluid(&mut self, port: u32, message: &Message) {
        let scenario = self.network.scenario;
        let hashed = scenario.steering.choice == Choice::Hash;
        let dst_hca = self.reply_hca(message.src, message.dst);
        let trip = Trip {
            port,
            dst_hca,
            dst_vertex: self.network.answered_vertex(message.src),
            lane: message.lane,
            flow: if hashed { flow_of_answers(dst_hca) } else { 0 },
        };
        let network = &mut self.network;
        let cut = Cut::one(scenario.framing.control_bytes(PacketKind::Ack));
        let n_answers = message.size_bytes.div_ceil(scenario.transport.ack_bytes).max(1);
        let time_ps = network.cross(trip, cut);
        if n_answers > 1 {
            let way = network.way(trip);
            network.count(way, (n_answers - 1) * cut.wire_bytes(), n_answers - 1);
        }
        if message.role == Role::Agreed {
            network.schedule_cold(time_ps, Cold::Sent(message.src));
        }
    }
}
