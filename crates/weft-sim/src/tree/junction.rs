//! Aggregation nodes at work: packets of trees in switches.
//!
//! A packet of a tree names the junction (or member) its link leads to in `dst`, and its operation
//! in `message`.

use super::copies::{Copied, Copies};
use super::{Branch, InNetwork, Junction, NUMBER, Work};
use crate::arbiter::Served;
use crate::calendar::{Cold, Kind};
use crate::document::ResultBy;
use crate::message::Role;
use crate::network::Network;
use crate::packet::{BORN, COPY, NIL, Packet, PacketKind, ROUTED, STREAM, blocks_of};
use crate::port::Input;
use crate::sender::Turn;
use std::collections::VecDeque;

/// What aggregation nodes hold.
#[derive(Debug, Default)]
pub(crate) struct Junctions {
    /// By junction and operation under way: children that have come.
    come: Vec<u32>,
    /// By junction: what it works on, in order of time.
    at_work: Vec<VecDeque<Packet>>,
    /// By vertex: it begins no operation before.
    free_ps: Vec<u64>,
    copies: Copies,
    window: usize,
}

impl Junctions {
    pub(crate) fn new(plan: Option<&InNetwork>, n_vertices: usize) -> Junctions {
        let Some(plan) = plan else { return Junctions::default() };
        let (n, window) = (plan.forest.junctions.len(), plan.model.window() as usize);
        Junctions {
            come: vec![0; n * window],
            at_work: vec![VecDeque::new(); n],
            free_ps: vec![0; n_vertices],
            copies: Copies::default(),
            window,
        }
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    pub(crate) fn in_network(&self) -> &InNetwork {
        self.scenario.in_network.as_ref().expect("nobody sends up a tree that is not there")
    }

    fn junction(&self, number: u32) -> Junction {
        self.in_network().forest.junctions[number as usize]
    }

    /// A packet of a tree is seen at the switch of port `q`. Aggregation nodes take it when its
    /// tail is in; a multicast is copied as soon as any packet would go on.
    #[cold]
    pub(crate) fn arrive_at_junction(&mut self, q: u32, input: Input, id: u32) {
        let packet = self.packets[id];
        if !packet.has(ROUTED) {
            self.trace([self.now_ps, u64::from(q), u64::from(packet.wire_bytes)]);
        }
        let whole = packet.tail_ps <= self.now_ps;
        let forwarded = self.is_forwarded(&packet);
        if !(whole || forwarded && self.keeps_pace(input, packet.dst)) {
            self.packets[id].set(ROUTED, true);
            return self.schedule(packet.tail_ps, Kind::Arrive, q, id);
        }
        let packet = self.packets.remove(id);
        if forwarded {
            return self.copy(q, input, packet);
        }
        self.refund(q, packet.lane(), packet.blocks(), 0, self.now_ps);
        if packet.kind() == PacketKind::Down || self.is_complete(&packet) {
            self.work_on(packet);
        }
    }

    fn is_forwarded(&self, packet: &Packet) -> bool {
        let by_multicast = self.in_network().model.result == ResultBy::Multicast;
        let forwarded =
            packet.kind() == PacketKind::Flood || packet.kind() == PacketKind::Down && by_multicast;
        forwarded || self.junction(packet.dst).work == Work::Relays
    }

    /// Whether no egress of a junction is faster than the link a packet comes by: it would run dry.
    fn keeps_pace(&self, input: Input, junction: u32) -> bool {
        let rate = |link: u32| self.links[link as usize].rate;
        let ways = 0..=self.junction(junction).n_branches;
        let mut egress =
            ways.filter_map(|way| self.way_on(junction, way)).map(|branch| branch.port);
        egress.all(|o| rate(self.ports[o as usize].link) <= rate(input.link))
    }

    /// A way on from a junction, by number: its branches, then the one towards the root.
    fn way_on(&self, number: u32, way: u32) -> Option<Branch> {
        let forest = &self.in_network().forest;
        let junction = self.junction(number);
        let up =
            || (junction.up != NIL).then_some(Branch { port: junction.up, to: junction.parent });
        forest.branches_of(number).get(way as usize).copied().or_else(up)
    }

    /// Count a packet that goes up; whether all children of the junction have come.
    fn is_complete(&mut self, packet: &Packet) -> bool {
        let n_branches = self.junction(packet.dst).n_branches;
        let place =
            packet.dst as usize * self.junctions.window + (packet.message & NUMBER) as usize;
        let come = &mut self.junctions.come[place];
        *come += 1;
        assert!(*come <= n_branches, "every child comes once to an operation");
        let complete = *come == n_branches;
        if complete {
            *come = 0;
        }
        complete
    }

    /// The aggregation node of a junction turns to a packet, after those before it.
    fn work_on(&mut self, packet: Packet) {
        let (model, junction) = (self.in_network().model, self.junction(packet.dst));
        let (reduction_ps, interval_ps) = match (junction.work, model.nvls) {
            (Work::Slices, Some(nvls)) => (nvls.reduction_ps, 0),
            // What streams is reduced at the pace of the links.
            _ if packet.has(STREAM) => (model.reduction_ps, 0),
            _ => (model.reduction_ps, model.interval_ps),
        };
        let free_ps = &mut self.junctions.free_ps[junction.vertex as usize];
        let begin_ps = self.now_ps.max(*free_ps);
        *free_ps = begin_ps + interval_ps;
        self.junctions.at_work[packet.dst as usize].push_back(packet);
        self.schedule_cold(begin_ps + reduction_ps, Cold::Reduced(packet.dst));
    }

    /// The aggregation node of a junction has done its work on a packet.
    pub(crate) fn reduced(&mut self, number: u32) {
        let packet = self.junctions.at_work[number as usize].pop_front().expect("it was at work");
        let junction = self.junction(number);
        if packet.kind() == PacketKind::Up && junction.up != NIL {
            return self.bear(PacketKind::Up, junction.up, junction.parent, packet);
        }
        let slice = packet.message >> NUMBER.count_ones();
        let ways = match junction.work {
            Work::Slices => slice..slice + 1,
            _ => 0..junction.n_branches,
        };
        for at in ways {
            let branch = self.in_network().forest.branches_of(number)[at as usize];
            self.bear(PacketKind::Down, branch.port, branch.to, packet);
        }
    }

    /// A packet begins in a switch, out of no input buffer.
    fn bear(&mut self, kind: PacketKind, o: u32, to: u32, like: Packet) {
        let (vl, bytes) = (like.lane(), like.wire_bytes.into());
        let mut packet = Packet::new(kind, like.message, to, vl, bytes);
        packet.set(BORN, true);
        packet.set(STREAM, like.has(STREAM));
        let id = self.packets.add(packet);
        // No packet leaves by the port it came by, so that input's place is free.
        let input = self.ports[o as usize].local;
        self.enqueue(o, vl, input, id);
        self.serve(o);
    }

    /// Queue a copy at every way on but the one by which a packet came; they share its buffer.
    fn copy(&mut self, q: u32, input: Input, packet: Packet) {
        let (lane, n_ways) = (packet.lane(), self.junction(packet.dst).n_branches + 1);
        let Junction { up, work, .. } = self.junction(packet.dst);
        let floods = packet.kind() == PacketKind::Flood || work == Work::Relays;
        // A GPU has its own slice from the switch as well.
        let returns = work == Work::Slices;
        let goes = |branch: &Branch| (returns || branch.port != q) && (floods || branch.port != up);
        let ways = (0..n_ways).filter_map(|way| self.way_on(packet.dst, way));
        let n_left = ways.filter(goes).count() as u32;
        let number = self.junctions.copies.add(Copied {
            port: q,
            lane,
            blocks: packet.blocks(),
            message: packet.message,
            n_left,
            left_ps: 0,
        });
        assert!(n_left > 0, "the root of a tree is no end of it");
        for way in 0..n_ways {
            let Some(Branch { port: o, to }) = self.way_on(packet.dst, way) else { continue };
            if !goes(&Branch { port: o, to }) {
                continue;
            }
            let mut copy = packet;
            (copy.message, copy.dst) = (number, to);
            copy.set(COPY, true);
            let id = self.packets.add(copy);
            self.enqueue(o, lane, input.local, id);
            self.serve(o);
        }
    }

    /// A packet of a tree has been sent: what it holds of the buffer it came to is free, if it came
    /// to any.
    #[cold]
    pub(crate) fn left_junction(&mut self, id: u32, left_ps: u64) {
        let packet = &mut self.packets[id];
        if packet.has(COPY) {
            let copied = self.junctions.copies.leave(packet.message, left_ps);
            packet.message = copied.message;
            if copied.n_left == 0 {
                let Copied { port, lane, blocks, left_ps, .. } = copied;
                self.refund(port, lane, blocks, 0, left_ps);
            }
        }
        let packet = &mut self.packets[id];
        packet.set(COPY | BORN, false);
    }

    /// Send the packet of an operation from an endpoint, after `before` in the ring of its lane.
    #[cold]
    pub(crate) fn send_segment(&mut self, o: u32, vl: u8, before: u32) -> Served {
        let index = self.lane_index(o, vl);
        let sender = self.lanes[index].queues;
        let id = self.messages[before].ring;
        let message = self.messages[id];
        let Role::Tree { kind, operation, bytes, streams } = message.role else {
            unreachable!("only packets of trees are sent like that")
        };
        let bytes = u32::from(bytes);
        let blocks = blocks_of(bytes);
        if !self.lanes.grant(index, self.now_ps, blocks) {
            self.await_credit(o, vl);
            return Served::Starved;
        }
        self.lanes.load(index, blocks);
        if !message.begun {
            let begin_ps = self.now_ps + self.message_gap_ps;
            self.senders.begun(sender, vl, self.n_lanes, begin_ps);
        }
        if let Some(next) = self.senders.served(sender, before, Turn::Ends, &mut self.messages)
            && self.may_enter(next)
        {
            self.senders.enter(sender, next, &mut self.messages);
        }
        self.messages.remove(id);
        self.ports[o as usize].set_work(vl, !self.senders.is_idle(sender));
        let mut packet = Packet::new(kind, operation, message.dst_hca, vl, bytes);
        packet.set(STREAM, streams);
        let packet_id = self.packets.add(packet);
        self.transmit(o, vl, packet_id, blocks);
        Served::Sent(packet.wire_bytes)
    }
}
