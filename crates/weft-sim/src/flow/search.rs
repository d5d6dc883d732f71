//! The search for the path of a message: by tables, a hash, or split at every switch that chooses.

use crate::flow::flows::Flows;
use crate::flow::latency::Hop;
use crate::flow::max_min::Use;
use crate::flow::paths::{Memo, Path, Paths, Trip};
use crate::host::hosts::Hosts;
use crate::limits::NIL;
use crate::model::framing::PacketKind;
use crate::model::steering::Choice;
use crate::packet::routing::adaptive::{hashed, static_route};
use crate::packet::routing::node_routing::exit_inside;
use crate::state::port::{ENDPOINT, INSIDE};
use weft_fabric::{HcaId, SwitchId};

impl Hosts<'_, Flows, false> {
    /// The number of a trip's path, good until the next is asked for.
    pub(crate) fn path(&mut self, trip: Trip) -> usize {
        let number = self.mode.paths.place_of(trip);
        if self.mode.paths[number].trip != Some(trip) {
            self.settle_count(number);
            let mut path = std::mem::take(&mut self.mode.paths[number]);
            self.find_path(trip, &mut path);
            self.mode.paths[number] = path;
        }
        number
    }

    fn find_path(&mut self, trip: Trip, path: &mut Path) {
        path.trip = Some(trip);
        path.hops.clear();
        path.uses.clear();
        (path.split, path.flight_ps) = (false, 0);
        let mut o = trip.port;
        loop {
            let port = &self.network.links.ports[o as usize];
            let (q, link) = (port.peer, self.network.links.kinds[port.link as usize]);
            path.uses.push(Use::new(o, 1.0));
            path.flight_ps += link.delay_ps + link.route_ps;
            let ends = self.network.links.inputs[q as usize].has(ENDPOINT);
            let next = if ends { NIL } else { self.exit(q, trip, path) };
            let faster = |o: u32| self.network.links.link_of(o).rate > link.rate;
            let stored = !self.network.rules().cut_through || next != NIL && faster(next);
            path.hops.push(Hop { rate: link.rate, stored });
            if next == NIL {
                path.arrival = q;
                break;
            }
            assert!(
                path.hops.len() < self.network.links.ports.len(),
                "routes were checked before the run"
            );
            o = next;
        }
        if path.split {
            self.spread(trip, path);
        }
        let (framing, fluid) = (&self.network.scenario.framing, &mut self.mode);
        path.alone = fluid.shares.alone(&path.uses);
        path.memo = Memo::default();
        path.request = path.single(framing.wire_bytes(0, true), &mut fluid.scratch);
        path.answer = path.single(framing.control_bytes(PacketKind::Ack), &mut fluid.scratch);
    }

    /// The port by which a trip leaves the vertex that it enters at `q`; of several the first, and
    /// the path is split.
    fn exit(&self, q: u32, trip: Trip, path: &mut Path) -> u32 {
        if self.network.links.inputs[q as usize].has(INSIDE) {
            return self.exit_inside(q, trip);
        }
        let group = self.exits(q, trip);
        match group.len() {
            0 => self.static_route(q, trip),
            1 => self.sibling_port(q, group[0]),
            _ if self.network.scenario.steering.choice == Choice::Hash => {
                let switch = self.switch_of(q);
                self.sibling_port(q, hashed(group, switch, self.network.scenario.seed, trip.flow))
            }
            _ => {
                path.split = true;
                self.sibling_port(q, group[0])
            }
        }
    }

    /// The ports to choose from where a trip enters a switch at `q`; none where tables decide.
    fn exits(&self, q: u32, trip: Trip) -> &[u16] {
        let chooses = self.network.scenario.steering.choosing >> trip.lane & 1 == 1;
        match &self.network.routing.candidates {
            Some(candidates) if chooses => candidates.group(self.switch_of(q), HcaId(trip.dst_hca)),
            _ => &[],
        }
    }

    fn switch_of(&self, q: u32) -> SwitchId {
        self.network.links.switch_of(&self.network.links.inputs[q as usize])
    }

    fn exit_inside(&self, q: u32, trip: Trip) -> u32 {
        exit_inside(self.network.fabric(), &self.network.links, q, trip.dst_hca, trip.dst_vertex)
    }

    fn static_route(&self, q: u32, trip: Trip) -> u32 {
        static_route(&self.network.links, &self.network.routing, q, trip.dst_hca)
    }

    /// A port of the vertex that `q` belongs to, by its number there.
    fn sibling_port(&self, q: u32, number: u16) -> u32 {
        q - u32::from(self.network.links.inputs[q as usize].local) + u32::from(number)
    }

    /// Split a flow in equal parts at every switch that chooses, as an ideal adaptive network does
    /// in the mean.
    fn spread(&mut self, trip: Trip, path: &mut Path) {
        let mut paths = std::mem::take(&mut self.mode.paths);
        paths.spread.clear();
        paths.here.clear();
        paths.add(trip.port, 1.0);
        let first = self.network.links.ports[trip.port as usize].peer;
        paths.by_vertex[self.network.links.inputs[first as usize].vertex as usize] = 1.0;
        paths.here.push(first);
        while !paths.here.is_empty() {
            for place in 0..paths.here.len() {
                self.split_at(paths.here[place], trip, &mut paths);
            }
            paths.here.clear();
            std::mem::swap(&mut paths.here, &mut paths.next);
        }
        path.uses.clear();
        for o in paths.spread.drain(..) {
            let part = std::mem::take(&mut paths.by_port[o as usize]);
            // Parts that come together again are the whole but for rounding.
            let whole = (part - 1.0).abs() < 1e-9;
            path.uses.push(Use::new(o, if whole { 1.0 } else { part }));
        }
        self.mode.paths = paths;
    }

    /// Split what has come to the vertex of `q` over its exits.
    fn split_at(&self, q: u32, trip: Trip, paths: &mut Paths) {
        let input = &self.network.links.inputs[q as usize];
        let part = std::mem::take(&mut paths.by_vertex[input.vertex as usize]);
        if input.has(ENDPOINT) {
            return;
        }
        let group = if input.has(INSIDE) { &[][..] } else { self.exits(q, trip) };
        let mut go_on = |o: u32, part: f64| {
            paths.add(o, part);
            let peer = self.network.links.ports[o as usize].peer;
            let there =
                &mut paths.by_vertex[self.network.links.inputs[peer as usize].vertex as usize];
            if *there == 0.0 {
                paths.next.push(peer);
            }
            *there += part;
        };
        if group.is_empty() {
            let o = if input.has(INSIDE) {
                self.exit_inside(q, trip)
            } else {
                self.static_route(q, trip)
            };
            return go_on(o, part);
        }
        for number in group {
            go_on(self.sibling_port(q, *number), part / group.len() as f64);
        }
    }
}
