//! The packet engine: switches with virtual output queues under credit flow control.
//!
//! A directed link is the egress of a port; it fills the input buffer of the port's peer. A packet
//! joins the queue of its output and holds its input buffer until its tail has left.

use crate::calendar::{Calendar, Event, Kind};
use crate::document::{Forwarding, Queueing};
use crate::message::{MessagePool, Next, Role, SendQueues};
use crate::packet::{self, BLOCK_BYTES, NIL, Packet, PacketPool};
use crate::port::{Egress, NEVER};
use crate::scenario::ValidScenario;
use std::collections::VecDeque;
use weft_fabric::{Fabric, HcaId, PortId, Routes, VertexId};

pub(crate) struct Network<'a> {
    pub(crate) scenario: &'a ValidScenario,
    pub(crate) now_ps: u64,
    pub(crate) calendar: Calendar,
    pub(crate) ports: Vec<Egress>,
    pub(crate) packets: PacketPool,
    pub(crate) messages: MessagePool,
    pub(crate) hcas: Vec<SendQueues>,
    pub(crate) hops: u64,
    pub(crate) trace_hash: u64,
    /// By port, for `input_fifo`: packets of its input buffer, the one that may leave first.
    fifos: Vec<InputFifo>,
}

/// One queue for all outputs: read by one packet at a time, until its tail has left.
#[derive(Clone, Debug, Default)]
struct InputFifo {
    packets: VecDeque<u32>,
    read_until_ps: u64,
}

impl<'a> Network<'a> {
    pub(crate) fn new(scenario: &'a ValidScenario) -> Network<'a> {
        let fabric = &scenario.fabric;
        let endless = scenario.switch.model == Queueing::Infinite;
        let full = (!endless).then_some(scenario.switch.buffer_bytes / BLOCK_BYTES);
        let n_ports = fabric.ports.len() as u32;
        let ports: Vec<_> = (0..n_ports).map(|n| Egress::new(fabric, PortId(n), full)).collect();
        Network {
            scenario,
            now_ps: 0,
            calendar: Calendar::new(),
            packets: PacketPool::default(),
            messages: MessagePool::default(),
            hcas: (0..fabric.n_hcas()).map(|_| SendQueues::default()).collect(),
            hops: 0,
            trace_hash: 0xcbf2_9ce4_8422_2325,
            fifos: vec![InputFifo::default(); ports.len()],
            ports,
        }
    }

    pub(crate) fn fabric(&self) -> &'a Fabric {
        &self.scenario.fabric
    }

    fn routes(&self) -> &'a Routes {
        &self.scenario.routes
    }

    pub(crate) fn schedule(&mut self, time_ps: u64, kind: Kind, port: u32, argument: u32) {
        self.calendar.push(Event::new(time_ps, kind, port, argument));
    }

    /// Mix a fact into the trace hash (FNV-1a over words): the same run gives the same hash.
    pub(crate) fn trace(&mut self, words: [u64; 3]) {
        for word in words {
            self.trace_hash = (self.trace_hash ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Hand a message to its HCA.
    pub(crate) fn send(&mut self, id: u32, hca: HcaId) {
        self.hcas[hca.index()].add(id, &self.messages[id]);
        self.serve(self.fabric().hca_port(hca).0);
    }

    // ---- egress ---------------------------------------------------------------------------

    /// Let port `o` send, if its link is free and the packet whose turn it is has credit.
    pub(crate) fn serve(&mut self, o: u32) {
        let port = &mut self.ports[o as usize];
        let vertex = VertexId(port.vertex);
        if port.busy_until_ps > self.now_ps {
            let busy_until_ps = port.busy_until_ps;
            if self.has_work(o) {
                self.kick(o, busy_until_ps);
            }
            return;
        }
        if port.lane.starved(self.now_ps) {
            return;
        }
        let sent = match self.fabric().hca(vertex) {
            Some(hca) => self.serve_hca(o, hca),
            None => self.serve_queues(o),
        };
        if sent && (!self.scenario.elide || self.has_work(o)) {
            self.kick(o, self.ports[o as usize].busy_until_ps);
        }
    }

    fn has_work(&self, o: u32) -> bool {
        let port = &self.ports[o as usize];
        match self.fabric().hca(VertexId(port.vertex)) {
            Some(hca) => !self.hcas[hca.index()].is_idle(),
            None => !port.lane.ring.is_empty(),
        }
    }

    fn kick(&mut self, o: u32, time_ps: u64) {
        let port = &mut self.ports[o as usize];
        if time_ps < port.kick_ps {
            port.kick_ps = time_ps;
            self.schedule(time_ps, Kind::Kick, o, 0);
        }
    }

    pub(crate) fn kicked(&mut self, o: u32) {
        if self.ports[o as usize].kick_ps == self.now_ps {
            self.ports[o as usize].kick_ps = NEVER;
            self.serve(o);
        }
    }

    fn serve_queues(&mut self, o: u32) -> bool {
        let port = &mut self.ports[o as usize];
        let Some(input) = port.lane.ring.front().copied() else {
            return false;
        };
        let id = port.slot(input).head;
        let packet = self.packets[id];
        let blocks = packet::blocks_of(packet.wire_bytes);
        if !port.lane.grant(self.now_ps, blocks) {
            self.await_credit(o);
            return false;
        }
        port.lane.ring.pop_front();
        port.slot(input).head = packet.next;
        if packet.next != NIL {
            port.lane.ring.push_back(input);
        }
        let left_ps = self.transmit(o, id, blocks);
        let q = o - self.ports[o as usize].local + input;
        self.refund(q, blocks, left_ps);
        if self.scenario.switch.model == Queueing::InputFifo {
            let fifo = &mut self.fifos[q as usize];
            fifo.packets.pop_front();
            fifo.read_until_ps = left_ps;
            if let Some(next) = fifo.packets.front().copied() {
                self.schedule(left_ps, Kind::Arrive, q, next);
            }
        }
        true
    }

    fn serve_hca(&mut self, o: u32, hca: HcaId) -> bool {
        let (id, place) = match self.hcas[hca.index()].next(self.now_ps, &self.messages) {
            Next::Idle => return false,
            Next::NotBefore(time_ps) => {
                self.kick(o, time_ps);
                return false;
            }
            Next::Message(id, place) => (id, place),
        };
        let message = self.messages[id];
        let left_bytes = message.size_bytes - message.sent_bytes;
        let payload_bytes = left_bytes.min(u64::from(self.scenario.mtu_bytes)) as u32;
        let wire_bytes = packet::wire_bytes(self.scenario.headers, payload_bytes, !message.begun);
        let blocks = packet::blocks_of(wire_bytes);
        if !self.ports[o as usize].lane.grant(self.now_ps, blocks) {
            self.await_credit(o);
            return false;
        }
        let packet = self.packets.add(Packet {
            message: id,
            dst: message.dst_hca,
            wire_bytes,
            payload_bytes,
            tail_ps: 0,
            next: NIL,
            routed: false,
        });
        let finished = u64::from(payload_bytes) == left_bytes;
        if !message.begun {
            self.hcas[hca.index()].begun(self.now_ps, self.scenario.hosts.message_gap_ps);
        }
        self.messages[id].begun = true;
        self.messages[id].sent_bytes += u64::from(payload_bytes);
        self.hcas[hca.index()].served(place, finished);
        let left_ps = self.transmit(o, packet, blocks);
        if finished && message.role == Role::Agreed {
            self.schedule(left_ps, Kind::Sent, message.src, 0);
        }
        true
    }

    /// Put a packet on the link of `o`; the time its tail has left.
    fn transmit(&mut self, o: u32, id: u32, blocks: u32) -> u64 {
        let wire_bytes = self.packets[id].wire_bytes;
        let port = &mut self.ports[o as usize];
        let left_ps = port.transmit(self.now_ps, wire_bytes, blocks);
        let (peer, delay_ps) = (port.peer, port.delay_ps);
        self.hops += 1;
        let switch = self.scenario.switch;
        let to_hca = self.fabric().hca(VertexId(self.ports[peer as usize].vertex)).is_some();
        let tail_ps = left_ps + delay_ps + if to_hca { 0 } else { switch.delay_ps };
        let cut_through = !to_hca && switch.forwarding == Forwarding::CutThrough;
        let seen_ps = if cut_through { self.now_ps + delay_ps + switch.delay_ps } else { tail_ps };
        let packet = &mut self.packets[id];
        (packet.tail_ps, packet.next, packet.routed) = (tail_ps, NIL, false);
        self.schedule(seen_ps, Kind::Arrive, peer, id);
        left_ps
    }

    // ---- credits --------------------------------------------------------------------------

    /// A packet's tail leaves the input buffer of `q` at `left_ps`: the port that feeds the buffer
    /// knows one wire delay later.
    pub(crate) fn refund(&mut self, q: u32, blocks: u32, left_ps: u64) {
        let o = self.ports[q as usize].peer;
        if self.scenario.switch.model == Queueing::Infinite {
            return self.ports[o as usize].lane.give_back(blocks);
        }
        let port = &mut self.ports[o as usize];
        let time_ps = left_ps + port.delay_ps;
        port.lane.refund(self.now_ps, time_ps, blocks);
        if !self.scenario.elide {
            self.schedule(time_ps, Kind::Credit, o, 0);
        } else if port.lane.need > 0 {
            self.await_credit(o);
        }
    }

    /// Wake port `o` when enough credits are in, if they are on their way already.
    fn await_credit(&mut self, o: u32) {
        let lane = &mut self.ports[o as usize].lane;
        if let Some(time_ps) = lane.enough_at()
            && time_ps < lane.wake_ps
            && self.scenario.elide
        {
            lane.wake_ps = time_ps;
            self.schedule(time_ps, Kind::Credit, o, 0);
        }
    }

    pub(crate) fn credited(&mut self, o: u32) {
        let lane = &mut self.ports[o as usize].lane;
        if lane.wake_ps == self.now_ps {
            lane.wake_ps = NEVER;
        }
        // Only a starved port may be served by a credit: any other has its kick.
        if lane.need > 0 && !lane.starved(self.now_ps) {
            self.serve(o);
        }
    }

    // ---- arrival --------------------------------------------------------------------------

    /// A packet is seen at the switch that port `q` belongs to: route it, and queue it. Where the
    /// egress is faster than the ingress it would run dry, so there the packet is stored first.
    pub(crate) fn arrive(&mut self, q: u32, id: u32) {
        let packet = self.packets[id];
        let vertex = VertexId(self.ports[q as usize].vertex);
        let out = self.routes().next_port(self.fabric(), vertex, HcaId(packet.dst));
        let o = out.expect("routes were checked before the run").0;
        if !packet.routed {
            self.trace([self.now_ps, u64::from(q), u64::from(packet.wire_bytes)]);
            self.packets[id].routed = true;
            if self.scenario.switch.model == Queueing::InputFifo {
                let fifo = &mut self.fifos[q as usize];
                fifo.packets.push_back(id);
                let read_until_ps = fifo.read_until_ps;
                if fifo.packets.len() > 1 {
                    return;
                }
                if read_until_ps > self.now_ps {
                    return self.schedule(read_until_ps, Kind::Arrive, q, id);
                }
            }
        }
        let feeder = self.ports[q as usize].peer as usize;
        let faster = self.ports[o as usize].rate > self.ports[feeder].rate;
        if faster && packet.tail_ps > self.now_ps {
            self.schedule(packet.tail_ps, Kind::Arrive, q, id);
            return;
        }
        self.enqueue(o, self.ports[q as usize].local, id);
        self.serve(o);
    }

    fn enqueue(&mut self, o: u32, input: u32, id: u32) {
        let port = &mut self.ports[o as usize];
        let slot = port.slot(input);
        let tail = std::mem::replace(&mut slot.tail, id);
        if slot.head == NIL {
            slot.head = id;
            port.lane.ring.push_back(input);
        } else {
            self.packets[tail].next = id;
        }
    }

    /// The packets waiting at port `o`, by the input buffer they hold.
    pub(crate) fn inputs_waiting_for(&self, o: u32) -> impl Iterator<Item = u32> + '_ {
        let port = &self.ports[o as usize];
        port.lane.ring.iter().map(move |input| o - port.local + input)
    }
}
