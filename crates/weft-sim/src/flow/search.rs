//! The search for the path of a message: by tables, a hash, or split at every switch that chooses.

use crate::flow::flows::Flows;
use crate::flow::latency::Hop;
use crate::flow::max_min::Use;
use crate::flow::paths::Memo;
use crate::flow::paths::Trip;
use crate::flow::paths::Way;
use crate::flow::paths::Ways;
use crate::host::hosts::Hosts;
use crate::limits::NIL;
use crate::model::framing::PacketKind;
use crate::model::steering::Choice;
use crate::packet::routing::adaptive::hashed;
use crate::state::port::ENDPOINT;
use crate::state::port::INSIDE;
use weft_fabric::{HcaId, SwitchId};

impl Hosts<'_, Flows, false> {
    /// The number of a trip's way, good until the next is asked for.
    pub(crate) fn way(&mut self, trip: Trip) -> usize {
        let number = self.mode.ways.place_of(trip);
        if self.mode.ways[number].trip != Some(trip) {
            self.settle_count(number);
            let mut way = std::mem::take(&mut self.mode.ways[number]);
            self.find_way(trip, &mut way);
            self.mode.ways[number] = way;
        }
        number
    }

    fn find_way(&mut self, trip: Trip, way: &mut Way) {
        way.trip = Some(trip);
        way.hops.clear();
        way.uses.clear();
        (way.split, way.flight_ps) = (false, 0);
        let mut o = trip.port;
        loop {
            let port = &self.network.links.ports[o as usize];
            let (q, link) = (port.peer, self.network.links.kinds[port.link as usize]);
            way.uses.push(Use::new(o, 1.0));
            way.flight_ps += link.delay_ps + link.route_ps;
            let ends = self.network.links.inputs[q as usize].has(ENDPOINT);
            let next = if ends { NIL } else { self.exit(q, trip, way) };
            let faster = |o: u32| {
                self.network.links.kinds[self.network.links.ports[o as usize].link as usize].rate
                    > link.rate
            };
            let stored = !self.network.rules().cut_through || next != NIL && faster(next);
            way.hops.push(Hop { rate: link.rate, stored });
            if next == NIL {
                way.arrival = q;
                break;
            }
            assert!(
                way.hops.len() < self.network.links.ports.len(),
                "routes were checked before the run"
            );
            o = next;
        }
        if way.split {
            self.spread(trip, way);
        }
        let (framing, fluid) = (&self.network.scenario.framing, &mut self.mode);
        way.alone = fluid.shares.alone(&way.uses);
        way.memo = Memo::default();
        way.request = way.single(framing.wire_bytes(0, true), &mut fluid.scratch);
        way.answer = way.single(framing.control_bytes(PacketKind::Ack), &mut fluid.scratch);
    }

    /// The port by which a trip leaves the vertex that it enters at `q`; of several the first, and
    /// the way is split.
    fn exit(&self, q: u32, trip: Trip, way: &mut Way) -> u32 {
        if self.network.links.inputs[q as usize].has(INSIDE) {
            return self.network.exit_inside(q, trip.dst_hca, trip.dst_vertex);
        }
        let group = self.exits(q, trip);
        match group.len() {
            0 => self.network.static_route(q, trip.dst_hca),
            1 => self.port_beside(q, group[0]),
            _ if self.network.scenario.steering.choice == Choice::Hash => {
                let switch = self.switch_of(q);
                self.port_beside(q, hashed(group, switch, self.network.scenario.seed, trip.flow))
            }
            _ => {
                way.split = true;
                self.port_beside(q, group[0])
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
        SwitchId(self.network.links.inputs[q as usize].vertex - self.network.fabric().n_hcas())
    }

    /// A port of the vertex that `q` belongs to, by its number there.
    fn port_beside(&self, q: u32, number: u16) -> u32 {
        q - u32::from(self.network.links.inputs[q as usize].local) + u32::from(number)
    }

    /// Split a flow in equal parts at every switch that chooses, as an ideal adaptive network does
    /// in the mean.
    fn spread(&mut self, trip: Trip, way: &mut Way) {
        let mut ways = std::mem::take(&mut self.mode.ways);
        ways.spread.clear();
        ways.here.clear();
        ways.add(trip.port, 1.0);
        let first = self.network.links.ports[trip.port as usize].peer;
        ways.by_vertex[self.network.links.inputs[first as usize].vertex as usize] = 1.0;
        ways.here.push(first);
        while !ways.here.is_empty() {
            for place in 0..ways.here.len() {
                self.split_at(ways.here[place], trip, &mut ways);
            }
            ways.here.clear();
            std::mem::swap(&mut ways.here, &mut ways.next);
        }
        way.uses.clear();
        for o in ways.spread.drain(..) {
            let part = std::mem::take(&mut ways.by_port[o as usize]);
            // Parts that come together again are the whole but for rounding.
            let whole = (part - 1.0).abs() < 1e-9;
            way.uses.push(Use::new(o, if whole { 1.0 } else { part }));
        }
        self.mode.ways = ways;
    }

    /// Split what has come to the vertex of `q` over its exits.
    fn split_at(&self, q: u32, trip: Trip, ways: &mut Ways) {
        let input = &self.network.links.inputs[q as usize];
        let part = std::mem::take(&mut ways.by_vertex[input.vertex as usize]);
        if input.has(ENDPOINT) {
            return;
        }
        let group = if input.has(INSIDE) { &[][..] } else { self.exits(q, trip) };
        let mut go_on = |o: u32, part: f64| {
            ways.add(o, part);
            let peer = self.network.links.ports[o as usize].peer;
            let there =
                &mut ways.by_vertex[self.network.links.inputs[peer as usize].vertex as usize];
            if *there == 0.0 {
                ways.next.push(peer);
            }
            *there += part;
        };
        if group.is_empty() {
            let o = if input.has(INSIDE) {
                self.network.exit_inside(q, trip.dst_hca, trip.dst_vertex)
            } else {
                self.network.static_route(q, trip.dst_hca)
            };
            return go_on(o, part);
        }
        for number in group {
            go_on(self.port_beside(q, *number), part / group.len() as f64);
        }
    }
}
