//! The packet engine: switches with virtual output queues under credit flow control.
//!
//! A directed link is the egress of a port; it fills the input buffer of the port's peer. A packet
//! joins the queue of its output and holds its input buffer until its tail has left.

use crate::document::Queueing;
use crate::limits::BLOCK_BYTES;
use crate::limits::NEVER;
use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::state::buffer::buffers::{Buffers, ENDLESS};
use crate::state::calendar::Cold;
use crate::state::clock::Clock;
use crate::state::id_map::SPREAD;
use crate::state::links::Links;
use crate::state::packet::{BECN, Packet};
use crate::state::port::{ENDPOINT, INSIDE, Link, Port, TO_ENDPOINT, WATCHED};
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use crate::state::transport::message::Control;
use crate::state::transport::spacing::Spacing;
use std::collections::HashMap;
use weft_fabric::{Fabric, PortId};
use weft_traffic::mixed as mix;

/// The fabric at work, by concern; `PLAIN` where its rules are [`Rules::PLAIN`].
pub(crate) struct Network<'a, const PLAIN: bool> {
    pub(crate) scenario: &'a ValidScenario,
    rules: Rules,
    pub(crate) clock: Clock,
    pub(crate) links: Links,
    pub(crate) buffers: Buffers,
    pub(crate) routing: RoutesInForce,
    pub(crate) endpoints: Endpoints,
    pub(crate) congestion: Spacing,
    pub(crate) trace_hash: u64,
    /// The network is larger than the caches of a core.
    pub(crate) look_ahead: bool,
}

/// From so many ports on a network is larger than the caches of a core (a MiB or two): each has its
/// record, a lane and the packets that wait. Debug builds always look ahead, so every test does.
const LARGE: usize = if cfg!(debug_assertions) { 1 } else { 1 << 14 };

impl<'a, const PLAIN: bool> Network<'a, PLAIN> {
    pub(crate) fn new(scenario: &'a ValidScenario) -> Network<'a, PLAIN> {
        let fabric = &scenario.fabric;
        let rules = Rules::new(scenario);
        let (n_ports, n_lanes) = (fabric.ports.len(), usize::from(scenario.lanes.count));
        let shared = scenario.switch.model == Queueing::SharedBuffer;
        let mut network = Network {
            scenario,
            rules,
            clock: Clock::new(),
            links: Links::new(scenario),
            buffers: Buffers::new(scenario, rules),
            routing: RoutesInForce::new(scenario),
            endpoints: Endpoints::new(scenario),
            congestion: Spacing::new(if rules.throttled { n_ports } else { 0 }, n_lanes),
            trace_hash: 0xcbf2_9ce4_8422_2325,
            look_ahead: n_ports >= LARGE,
        };
        network.add_ports();
        for port in 0..if shared { n_ports as u32 } else { 0 } {
            for vl in 0..scenario.lanes.count {
                network.count_shares(port, vl);
            }
        }
        let watched = network.links.load.is_some();
        network.links.ports.iter_mut().for_each(|port| port.set(WATCHED, watched));
        network.begin_troubles();
        network.links.note_inputs(fabric.n_hcas());
        network
    }

    fn add_ports(&mut self) {
        let fabric = self.fabric();
        let mut numbers: HashMap<(u64, u64, u64), u32> = HashMap::new();
        for (number, port) in fabric.ports.iter().enumerate() {
            let to_switch = port.peer.map(|peer| fabric.ports[peer.index()].vertex);
            let to_switch = to_switch.and_then(|vertex| fabric.switch(vertex)).is_some();
            let route_ps = if to_switch { self.scenario.switch.delay_ps } else { 0 };
            let link = Link::new(port.rate, port.delay.0, route_ps);
            let fresh = self.links.kinds.len() as u32;
            let key = (port.rate.0, port.delay.0, route_ps);
            let link_number = *numbers.entry(key).or_insert(fresh);
            if link_number == fresh {
                self.links.kinds.push(link);
            }
            self.links.ports.push(Port::new(fabric, PortId(number as u32), link_number));
            let full = self.full_of(number as u32);
            (0..self.buffers.n_lanes).for_each(|_| self.buffers.lanes.push(full));
        }
        for (number, port) in fabric.ports.iter().enumerate() {
            if fabric.is_end(port.vertex) {
                self.make_endpoint(number as u32);
            } else if fabric.switch(port.vertex).is_none() {
                self.links.ports[number].set(INSIDE, true);
            }
        }
    }

    /// Blocks of the input buffer that port `o` fills.
    fn full_of(&self, o: u32) -> i32 {
        let inner =
            self.fabric().ports[o as usize].buffer_bytes.filter(|_| self.buffers.full != ENDLESS);
        inner.map_or(self.buffers.full, |bytes| (bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32)
    }

    /// Let a port inject and take out messages.
    fn make_endpoint(&mut self, port: u32) {
        self.links.ports[port as usize].set(ENDPOINT, true);
        if let Some(peer) = self.fabric().ports[port as usize].peer {
            self.links.ports[peer.index()].set(TO_ENDPOINT, true);
        }
        let first = self.endpoints.senders.add_endpoint(self.buffers.n_lanes);
        for vl in 0..self.buffers.n_lanes {
            let lane = self.lane_index(port, vl as u8);
            self.buffers.lanes[lane].queues = first + vl as u32;
        }
    }

    pub(crate) fn fabric(&self) -> &'a Fabric {
        &self.scenario.fabric
    }

    #[inline(always)]
    pub(crate) fn rules(&self) -> Rules {
        if PLAIN { Rules::PLAIN } else { self.rules }
    }

    #[inline(always)]
    pub(crate) fn lane_index(&self, port: u32, vl: u8) -> usize {
        if PLAIN { port as usize } else { port as usize * self.buffers.n_lanes + usize::from(vl) }
    }

    /// Mix a fact into the trace hash, whose value depends on the order of all facts: the same run
    /// gives the same hash.
    #[inline]
    pub(crate) fn trace(&mut self, words: [u64; 3]) {
        let fact = words[0] ^ words[1].rotate_left(40) ^ words[2].rotate_left(20);
        if self.rules().fluid {
            // Of what happens at one instant nothing comes first.
            self.trace_hash = self.trace_hash.wrapping_add(mix(fact));
            return;
        }
        self.trace_hash = (self.trace_hash.rotate_left(29) ^ fact).wrapping_mul(SPREAD);
    }

    /// Hand a message to its endpoint: `port` and `lane` say which.
    pub(crate) fn send(&mut self, id: u32) {
        if self.rules().dct {
            self.give_to_initiator(id);
        }
        if self.rules().throttled {
            self.number_pace(id);
        }
        if self.endpoints.senders.queue(id, &mut self.endpoints.messages).is_none()
            && self.may_enter(id)
        {
            self.ready(id);
        }
    }

    /// Whether the first message of a queue pair may leave; else it will be told when.
    pub(crate) fn may_enter(&mut self, id: u32) -> bool {
        if self.rules().dct && !self.is_connected(id) {
            return false;
        }
        let message = &self.endpoints.messages[id];
        let mut ready_ps = message.ready_ps;
        if self.rules().throttled && !self.endpoints.senders.by_lane {
            ready_ps = ready_ps.max(self.congestion.paces[message.pace].next_ps);
        }
        if ready_ps > self.clock.now_ps {
            self.clock.schedule_cold(ready_ps, Cold::Ready(id));
        }
        ready_ps <= self.clock.now_ps
    }

    /// The first message of a queue pair may leave.
    pub(crate) fn ready(&mut self, id: u32) {
        let (port, vl) = (self.endpoints.messages[id].port, self.endpoints.messages[id].lane);
        let sender = self.buffers.lanes[self.lane_index(port, vl)].queues;
        self.endpoints.senders.enter(sender, id, &mut self.endpoints.messages);
        self.links.ports[port as usize].set_work(vl, true);
        self.serve(port);
    }

    /// Queue a packet without payload at an endpoint; it goes before the data of its lane.
    pub(crate) fn send_control(&mut self, port: u32, control: Control) {
        let Control { dst, lane: vl, kind, message, argument, becn } = control;
        let bytes = self.scenario.framing.control_bytes(kind);
        let mut packet = Packet::new(kind, message, dst, vl, bytes);
        packet.set(BECN, becn);
        self.queue_ahead(port, packet, argument);
        self.serve(port);
    }

    /// Queue a packet at an endpoint; it goes before the data of its lane.
    pub(crate) fn queue_ahead(&mut self, port: u32, packet: Packet, argument: u32) {
        let vl = packet.lane();
        let id = self.buffers.packets.add(packet);
        if self.rules().numbered || packet.has(BECN) {
            self.buffers.packets.set_argument(id, argument);
        }
        let lane = self.lane_index(port, vl);
        self.endpoints.senders.queue_control(
            self.buffers.lanes[lane].queues,
            id,
            &mut self.buffers.packets,
        );
        // A lane that lacks credit for data may have enough for this.
        self.buffers.lanes.forget_grant(lane);
        self.links.ports[port as usize].set_work(vl, true);
    }

    /// Let the clock run on until the last link is free and the last credit home, of which there
    /// are events or not.
    pub(crate) fn come_to_rest(&mut self) {
        let busy =
            self.links.ports.iter().map(|port| port.busy_until_ps).filter(|time| *time != NEVER);
        let dead = self.links.troubles.busy_until_ps();
        let credits = (0..self.buffers.lanes.len())
            .filter_map(|index| self.buffers.lanes.last_refund_ps(index));
        self.clock.now_ps = busy.chain(dead).chain(credits).fold(self.clock.now_ps, u64::max);
    }

    /// Whether nothing waits and every credit is back, once all that is under way has arrived.
    pub(crate) fn is_whole(&mut self) -> bool {
        (0..self.buffers.lanes.len()).all(|index| {
            let full = self.full_of((index / self.buffers.n_lanes) as u32);
            self.buffers.lanes.is_whole(index, full)
        })
    }
}
