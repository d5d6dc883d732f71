//! The packet engine: switches with virtual output queues under credit flow control.
//!
//! A directed link is the egress of a port; it fills the input buffer of the port's peer. A packet
//! joins the queue of its output and holds its input buffer until its tail has left.

use crate::document::Queueing;
use crate::limits::NEVER;
use crate::limits::{BLOCK_BYTES, NIL};
use crate::model::congestion::marking::{Marker, Told};
use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::state::arbiter::Arbiter;
use crate::state::buffer::credits::LanePool;
use crate::state::buffer::input_queue::InputFifo;
use crate::state::buffer::input_queue::Reader;
use crate::state::calendar::{Calendar, Cold, Event, Kind};
use crate::state::columns::flows::FlowColumns;
use crate::state::columns::load::Load;
use crate::state::copies::Copies;
use crate::state::id_map::SPREAD;
use crate::state::link_faults::Troubles;
use crate::state::packet::{BECN, Packet, PacketPool};
use crate::state::port::{
    Counters, ENDPOINT, INSIDE, Input, Link, Port, TO_ENDPOINT, WATCHED, Waiting,
};
use crate::state::route_choice::Steers;
use crate::state::transport::connection::Connections;
use crate::state::transport::initiator::Initiators;
use crate::state::transport::message::Control;
use crate::state::transport::message::MessagePool;
use crate::state::transport::pace::Paces;
use crate::state::transport::sender::Senders;
use std::collections::HashMap;
use std::sync::Arc;
use weft_fabric::{Candidates, Fabric, PortId, Routes};
use weft_traffic::mixed as mix;

/// Credits of a buffer without limit.
const ENDLESS: i32 = i32::MAX / 2;

/// The fabric at work; `PLAIN` where its rules are [`Rules::PLAIN`].
pub(crate) struct Network<'a, const PLAIN: bool> {
    pub(crate) scenario: &'a ValidScenario,
    pub(crate) now_ps: u64,
    pub(crate) calendar: Calendar,
    pub(crate) ports: Vec<Port>,
    /// By port, what of it packets that come in ask for: [`Network::note_inputs`].
    pub(crate) inputs: Vec<Input>,
    /// By port and virtual lane, see [`Network::lane_index`].
    pub(crate) lanes: LanePool,
    pub(crate) n_lanes: usize,
    /// Least time between two messages of an endpoint.
    pub(crate) message_gap_ps: u64,
    /// Blocks of an input buffer of a switch.
    pub(crate) full: i32,
    pub(crate) links: Vec<Link>,
    pub(crate) packets: PacketPool,
    pub(crate) messages: MessagePool,
    pub(crate) senders: Senders,
    /// Where packets are numbered.
    pub(crate) connections: Connections,
    /// Where transport is dynamically connected.
    pub(crate) initiators: Initiators,
    /// Where congestion control spaces queue pairs, and what switches have marked.
    pub(crate) paces: Paces,
    pub(crate) marker: Marker,
    /// By port, where there is congestion control.
    pub(crate) told: Vec<Told>,
    pub(crate) hops: u64,
    pub(crate) trace_hash: u64,
    /// The last packet of each queue that is in use, from `Lane::queues` on by input.
    pub(crate) tails: Vec<u32>,
    /// By port.
    pub(crate) waiting: Vec<Waiting>,
    /// By port, where there are several lanes.
    pub(crate) arbiters: Vec<Arbiter>,
    /// By port and virtual lane, for `input_fifo`.
    pub(crate) fifos: Vec<InputFifo>,
    pub(crate) steers: Steers,
    pub(crate) troubles: Troubles,
    /// The tables in force, which the subnet manager may change.
    pub(crate) routes: Arc<Routes>,
    /// The ports to choose from, where something chooses.
    pub(crate) candidates: Option<Arc<Candidates>>,
    /// Those to take instead of a dead one, where switches react themselves.
    pub(crate) instead: Option<Arc<Candidates>>,
    /// Ports that were down when it last did.
    pub(crate) known_down: Vec<u32>,
    /// Cold events that are due but for the watchdog's, and how many of them are faults.
    pub(crate) n_cold: u32,
    pub(crate) n_faults_due: u32,
    pub(crate) flows: FlowColumns,
    /// Where a probe asks for it.
    pub(crate) load: Option<Load>,
    /// By port, where reading a buffer takes time.
    pub(crate) readers: Vec<Reader>,
    /// Speed-up of the crossbar in thousandths.
    pub(crate) speedup: u64,
    /// The buffer that has just been read, and the egress whose turn it is there.
    pub(crate) reading: (u32, u32),
    /// What an output may hold of an input buffer.
    pub(crate) share_blocks: u32,
    /// By packet, where shares are counted: the output that holds its blocks.
    pub(crate) counted: Vec<u16>,
    /// Packets that leave a switch by several ports.
    pub(crate) copies: Copies,
    rules: Rules,
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
        let full = (scenario.switch.buffer_bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32;
        let full = if rules.endless { ENDLESS } else { full };
        let n_lanes = usize::from(scenario.lanes.count);
        let shared = scenario.switch.model == Queueing::SharedBuffer;
        let speedup = scenario.switch.speedup_thousandths();
        let n_ports = fabric.ports.len();
        let mut network = Network {
            scenario,
            now_ps: 0,
            calendar: Calendar::new(),
            ports: Vec::with_capacity(n_ports),
            inputs: Vec::new(),
            lanes: LanePool::with_capacity(n_ports * n_lanes),
            n_lanes,
            // Inside a node the gap is the HCA's, not the GPU's: see `inside`.
            message_gap_ps: if fabric.inside.is_some() { 0 } else { scenario.hosts.message_gap_ps },
            full,
            links: Vec::new(),
            packets: PacketPool::default(),
            messages: MessagePool::default(),
            senders: Senders::new(scenario.congestion.as_ref().is_some_and(|c| c.by_lane)),
            connections: Connections::default(),
            initiators: Initiators::of_scenario(scenario),
            paces: Paces::default(),
            marker: Marker::of_lanes(if rules.throttled { n_ports * n_lanes } else { 0 }),
            told: vec![Told::default(); if rules.throttled { n_ports } else { 0 }],
            hops: 0,
            trace_hash: 0xcbf2_9ce4_8422_2325,
            tails: Vec::new(),
            waiting: vec![Waiting::default(); n_ports],
            arbiters: Arbiter::of_ports(&scenario.lanes, n_ports),
            fifos: vec![InputFifo::default(); if rules.fifo { n_ports * n_lanes } else { 0 }],
            steers: Steers::new(fabric.n_switches(), scenario.seed, scenario.steering.choice),
            troubles: Troubles::new(n_ports, scenario.seed, &scenario.faults.troubles),
            routes: Arc::clone(&scenario.routes),
            candidates: scenario.steering.candidates.clone(),
            instead: scenario.link_death.instead.clone(),
            known_down: Vec::new(),
            flows: FlowColumns::default(),
            n_cold: 0,
            n_faults_due: 0,
            load: scenario.probes.bin_ps.map(|bin_ps| Load::new(n_ports, bin_ps)),
            readers: vec![Reader::default(); if speedup.is_some() { n_ports } else { 0 }],
            speedup: speedup.unwrap_or(0),
            reading: (NIL, NIL),
            share_blocks: scenario.switch.share_blocks(),
            counted: Vec::new(),
            copies: Copies::default(),
            rules,
            look_ahead: n_ports >= LARGE,
        };
        network.add_ports();
        for port in 0..if shared { n_ports as u32 } else { 0 } {
            for vl in 0..scenario.lanes.count {
                network.count_shares(port, vl);
            }
        }
        let watched = network.load.is_some();
        network.ports.iter_mut().for_each(|port| port.set(WATCHED, watched));
        network.begin_troubles();
        network.note_inputs();
        network
    }

    /// Note what packets that come in ask of every port, which begins and never changes but for its
    /// link.
    fn note_inputs(&mut self) {
        let n_hcas = self.fabric().n_hcas();
        let from_hca = |port: &Port| {
            self.ports.get(port.peer as usize).is_some_and(|feeder| feeder.vertex < n_hcas)
        };
        self.inputs = self.ports.iter().map(|port| Input::of(port, from_hca(port))).collect();
    }

    fn add_ports(&mut self) {
        let fabric = self.fabric();
        let mut numbers: HashMap<(u64, u64, u64), u32> = HashMap::new();
        for (number, port) in fabric.ports.iter().enumerate() {
            let to_switch = port.peer.map(|peer| fabric.ports[peer.index()].vertex);
            let to_switch = to_switch.and_then(|vertex| fabric.switch(vertex)).is_some();
            let route_ps = if to_switch { self.scenario.switch.delay_ps } else { 0 };
            let link = Link::new(port.rate, port.delay.0, route_ps);
            let fresh = self.links.len() as u32;
            let key = (port.rate.0, port.delay.0, route_ps);
            let link_number = *numbers.entry(key).or_insert(fresh);
            if link_number == fresh {
                self.links.push(link);
            }
            self.ports.push(Port::new(fabric, PortId(number as u32), link_number));
            let full = self.full_of(number as u32);
            (0..self.n_lanes).for_each(|_| self.lanes.push(full));
        }
        for (number, port) in fabric.ports.iter().enumerate() {
            if fabric.is_end(port.vertex) {
                self.make_endpoint(number as u32);
            } else if fabric.switch(port.vertex).is_none() {
                self.ports[number].set(INSIDE, true);
            }
        }
    }

    /// Blocks of the input buffer that port `o` fills.
    fn full_of(&self, o: u32) -> i32 {
        let inner = self.fabric().ports[o as usize].buffer_bytes.filter(|_| self.full != ENDLESS);
        inner.map_or(self.full, |bytes| (bytes / BLOCK_BYTES).min(ENDLESS as u64) as i32)
    }

    /// Let a port inject and take out messages.
    fn make_endpoint(&mut self, port: u32) {
        self.ports[port as usize].set(ENDPOINT, true);
        if let Some(peer) = self.fabric().ports[port as usize].peer {
            self.ports[peer.index()].set(TO_ENDPOINT, true);
        }
        let first = self.senders.add_endpoint(self.n_lanes);
        for vl in 0..self.n_lanes {
            let lane = self.lane_index(port, vl as u8);
            self.lanes[lane].queues = first + vl as u32;
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
        if PLAIN { port as usize } else { port as usize * self.n_lanes + usize::from(vl) }
    }

    #[inline]
    pub(crate) fn schedule(&mut self, time_ps: u64, kind: Kind, port: u32, packet: u32) {
        self.calendar.push(Event::new(time_ps, kind, port, packet));
    }

    /// Let the watchdog look at `time_ps`. It is nothing that is due: who asks whether anything is
    /// still to come does not count it.
    pub(crate) fn schedule_watch(&mut self, time_ps: u64) {
        self.calendar.push(Event::cold(time_ps, Cold::Watch));
    }

    pub(crate) fn schedule_cold(&mut self, time_ps: u64, cold: Cold) {
        self.n_cold += 1;
        self.calendar.push(Event::cold(time_ps, cold));
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
        if self.senders.queue(id, &mut self.messages).is_none() && self.may_enter(id) {
            self.ready(id);
        }
    }

    /// Whether the first message of a queue pair may leave; else it will be told when.
    pub(crate) fn may_enter(&mut self, id: u32) -> bool {
        if self.rules().dct && !self.is_connected(id) {
            return false;
        }
        let message = &self.messages[id];
        let mut ready_ps = message.ready_ps;
        if self.rules().throttled && !self.senders.by_lane {
            ready_ps = ready_ps.max(self.paces[message.pace].next_ps);
        }
        if ready_ps > self.now_ps {
            self.schedule_cold(ready_ps, Cold::Ready(id));
        }
        ready_ps <= self.now_ps
    }

    /// The first message of a queue pair may leave.
    pub(crate) fn ready(&mut self, id: u32) {
        let (port, vl) = (self.messages[id].port, self.messages[id].lane);
        let sender = self.lanes[self.lane_index(port, vl)].queues;
        self.senders.enter(sender, id, &mut self.messages);
        self.ports[port as usize].set_work(vl, true);
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
        let id = self.packets.add(packet);
        if self.rules().numbered || packet.has(BECN) {
            self.packets.set_argument(id, argument);
        }
        let lane = self.lane_index(port, vl);
        self.senders.queue_control(self.lanes[lane].queues, id, &mut self.packets);
        // A lane that lacks credit for data may have enough for this.
        self.lanes.forget_grant(lane);
        self.ports[port as usize].set_work(vl, true);
    }

    /// What a port has done.
    pub(crate) fn counters(&self, port: u32) -> Counters {
        let (waiting, port) = (self.waiting[port as usize], &self.ports[port as usize]);
        let Port { xmit_bytes, xmit_packets, .. } = *port;
        Counters { xmit_bytes, xmit_packets, xmit_wait_ps: waiting.total_ps }
    }

    /// Let the clock run on until the last link is free and the last credit home, of which there
    /// are events or not.
    pub(crate) fn come_to_rest(&mut self) {
        let busy = self.ports.iter().map(|port| port.busy_until_ps).filter(|time| *time != NEVER);
        let dead = self.troubles.busy_until_ps();
        let credits = (0..self.lanes.len()).filter_map(|index| self.lanes.last_refund_ps(index));
        self.now_ps = busy.chain(dead).chain(credits).fold(self.now_ps, u64::max);
    }

    /// Whether nothing waits and every credit is back, once all that is under way has arrived.
    pub(crate) fn is_whole(&mut self) -> bool {
        (0..self.lanes.len()).all(|index| {
            let full = self.full_of((index / self.n_lanes) as u32);
            self.lanes.is_whole(index, full)
        })
    }
}
