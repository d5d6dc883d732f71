//! Aggregation nodes at work: packets of trees in switches.
//!
//! A packet of a tree names the junction (or member) its link leads to in `dst`, and its operation
//! in `message`.

use crate::document::ResultBy;
use crate::host::hosts::Hosts;
use crate::in_network::switches::Switches;
use crate::limits::NIL;
use crate::model::framing::PacketKind;
use crate::model::in_network::forest::{Branch, Junction, NUMBER, Work};
use crate::packet::network::Network;
use crate::state::buffer::occupancy::Held;
use crate::state::calendar::{Cold, Kind};
use crate::state::copies::Copied;
use crate::state::packet::{BORN, COPY, Packet, ROUTED, STREAM};
use crate::state::port::Input;

impl Hosts<'_, Switches, false> {
    fn junction(&self, number: u32) -> Junction {
        self.network.in_network().forest.junctions[number as usize]
    }

    /// A packet of a tree is seen at the switch of port `q`. Aggregation nodes take it when its
    /// tail is in; a multicast is copied as soon as any packet would go on.
    #[cold]
    pub(crate) fn arrive_at_junction(&mut self, q: u32, input: Input, id: u32) {
        let packet = self.network.buffers.packets[id];
        if !packet.has(ROUTED) {
            self.network.clock.trace(u64::from(q), u64::from(packet.wire_bytes));
        }
        let whole = packet.tail_ps <= self.network.clock.now_ps;
        let forwarded = self.is_forwarded(&packet);
        if !(whole || forwarded && self.keeps_pace(input, packet.dst)) {
            self.network.buffers.packets[id].set(ROUTED, true);
            return self.network.clock.schedule(packet.tail_ps, Kind::Arrive, q, id);
        }
        let packet = self.network.buffers.packets.remove(id);
        if forwarded {
            return self.copy(q, input, packet);
        }
        let Network { clock, links, buffers, .. } = &mut self.network;
        let now_ps = clock.now_ps;
        buffers.refund(links, clock, Held::by(&packet, q, 0), now_ps);
        if packet.kind() == PacketKind::Down || self.is_complete(&packet) {
            self.work_on(packet);
        }
    }

    fn is_forwarded(&self, packet: &Packet) -> bool {
        let by_multicast = self.network.in_network().model.result == ResultBy::Multicast;
        let forwarded =
            packet.kind() == PacketKind::Flood || packet.kind() == PacketKind::Down && by_multicast;
        forwarded || self.junction(packet.dst).work == Work::Relays
    }

    /// Whether no egress of a junction is faster than the link a packet comes by: it would run dry.
    fn keeps_pace(&self, input: Input, junction: u32) -> bool {
        let links = &self.network.links;
        let rate = links.kinds[input.link as usize].rate;
        let exits = 0..=self.junction(junction).n_branches;
        let mut egress =
            exits.filter_map(|exit| self.exit_from(junction, exit)).map(|branch| branch.port);
        egress.all(|o| links.link_of(o).rate <= rate)
    }

    /// An exit of a junction, by number: its branches, then the one towards the root.
    fn exit_from(&self, number: u32, exit: u32) -> Option<Branch> {
        let forest = &self.network.in_network().forest;
        let junction = self.junction(number);
        let up =
            || (junction.up != NIL).then_some(Branch { port: junction.up, to: junction.parent });
        forest.branches_of(number).get(exit as usize).copied().or_else(up)
    }

    /// Count a packet that goes up; whether all children of the junction have come.
    fn is_complete(&mut self, packet: &Packet) -> bool {
        let n_branches = self.junction(packet.dst).n_branches;
        let place =
            packet.dst as usize * self.mode.junctions.window + (packet.message & NUMBER) as usize;
        let come = &mut self.mode.junctions.come[place];
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
        let (model, junction) = (self.network.in_network().model, self.junction(packet.dst));
        let (reduction_ps, interval_ps) = match (junction.work, model.nvls) {
            (Work::Slices, Some(nvls)) => (nvls.reduction_ps, 0),
            // Streams are reduced at the pace of the links.
            _ if packet.has(STREAM) => (model.reduction_ps, 0),
            _ => (model.reduction_ps, model.interval_ps),
        };
        let free_ps = &mut self.mode.junctions.free_ps[junction.vertex as usize];
        let begin_ps = self.network.clock.now_ps.max(*free_ps);
        *free_ps = begin_ps + interval_ps;
        self.mode.junctions.at_work[packet.dst as usize].push_back(packet);
        self.network.clock.schedule_cold(begin_ps + reduction_ps, Cold::Reduced(packet.dst));
    }

    /// The aggregation node of a junction has done its work on a packet.
    pub(crate) fn reduced(&mut self, number: u32) {
        let packet =
            self.mode.junctions.at_work[number as usize].pop_front().expect("it was at work");
        let junction = self.junction(number);
        if packet.kind() == PacketKind::Up && junction.up != NIL {
            return self.bear(PacketKind::Up, junction.up, junction.parent, packet);
        }
        let slice = packet.message >> NUMBER.count_ones();
        let exits = match junction.work {
            Work::Slices => slice..slice + 1,
            _ => 0..junction.n_branches,
        };
        for at in exits {
            let branch = self.network.in_network().forest.branches_of(number)[at as usize];
            self.bear(PacketKind::Down, branch.port, branch.to, packet);
        }
    }

    /// A packet begins in a switch, out of no input buffer.
    fn bear(&mut self, kind: PacketKind, o: u32, to: u32, like: Packet) {
        let (vl, bytes) = (like.lane(), like.wire_bytes.into());
        let mut packet = Packet::new(kind, like.message, to, vl, bytes);
        packet.set(BORN, true);
        packet.set(STREAM, like.has(STREAM));
        let id = self.network.buffers.packets.add(packet);
        // No packet leaves by the port it came by, so that input's place is free.
        let input = self.network.links.ports[o as usize].local;
        self.network.buffers.enqueue(&mut self.network.links, o, vl, input, id);
        self.network.serve(o);
    }

    /// Queue a copy at every exit but the one by which the packet came; they share its buffer.
    fn copy(&mut self, q: u32, input: Input, packet: Packet) {
        let (lane, n_exits) = (packet.lane(), self.junction(packet.dst).n_branches + 1);
        let Junction { up, work, .. } = self.junction(packet.dst);
        let floods = packet.kind() == PacketKind::Flood || work == Work::Relays;
        // A GPU has its own slice from the switch as well.
        let returns = work == Work::Slices;
        let goes = |branch: &Branch| (returns || branch.port != q) && (floods || branch.port != up);
        let exits = (0..n_exits).filter_map(|exit| self.exit_from(packet.dst, exit));
        let n_left = exits.filter(goes).count() as u32;
        let number = self.network.buffers.copies.add(Copied {
            held: Held::by(&packet, q, 0),
            message: packet.message,
            n_left,
            left_ps: 0,
        });
        assert!(n_left > 0, "the root of a tree is no end of it");
        for exit in 0..n_exits {
            let Some(Branch { port: o, to }) = self.exit_from(packet.dst, exit) else { continue };
            if !goes(&Branch { port: o, to }) {
                continue;
            }
            let mut copy = packet;
            (copy.message, copy.dst) = (number, to);
            copy.set(COPY, true);
            let id = self.network.buffers.packets.add(copy);
            self.network.buffers.enqueue(&mut self.network.links, o, lane, input.local, id);
            self.network.serve(o);
        }
    }
}
