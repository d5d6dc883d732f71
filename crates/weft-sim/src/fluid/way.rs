//! The way of a message: the links that tables, hashes or ideal adaptive switches give it, and what
//! it takes when they carry nothing else.

use super::pipe::{Cut, Hop, rounded_up, serialisation_ps, time_of};
use super::share::Use;
use crate::adaptive::hashed;
use crate::network::Network;
use crate::packet::NIL;
use crate::port::{ENDPOINT, INSIDE};
use crate::steering::Choice;
use weft_fabric::{HcaId, SwitchId};
use weft_traffic::mixed as mix;

/// Most ways that are remembered.
const MAX_WAYS: usize = 1 << 14;
/// And so many for each endpoint, where that is fewer.
const WAYS_AN_ENDPOINT: usize = 8;

/// Who goes where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trip {
    /// The endpoint's port it is injected at.
    pub(super) port: u32,
    pub(super) dst_hca: u32,
    /// The endpoint it goes to, where nodes have an inside.
    pub(super) dst_vertex: u32,
    pub(super) lane: u8,
    /// What its packets have in common, where a hash chooses.
    pub(super) flow: u64,
}

/// A way through the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    trip: Option<Trip>,
    /// Every link, and which part of a flow crosses it.
    pub(super) uses: Vec<Use>,
    /// Whether adaptive switches split it.
    pub(super) split: bool,
    /// Its links one after the other; where it is split, by the first port at each switch.
    hops: Vec<Hop>,
    /// Times of flight and of routing.
    flight_ps: u64,
    /// The port it ends at.
    pub(super) arrival: u32,
}

impl Way {
    pub(super) fn n_hops(&self) -> u64 {
        self.hops.len() as u64
    }

    /// The least rate of its links: whoever follows another on it comes so much later.
    pub(super) fn slowest(&self) -> f64 {
        self.hops.iter().map(|hop| hop.rate.0 as f64).fold(f64::INFINITY, f64::min)
    }

    /// How long a message takes where nobody else is; `alone` is what its links give it together.
    pub(super) fn latency_ps(&self, cut: Cut, alone: f64, scratch: &mut Vec<f64>) -> u64 {
        let ps = if self.split && cut.n_packets > 1 {
            // All but the last packet spread; that one takes one of the branches.
            let before = cut.wire_bytes() - u64::from(cut.last);
            time_of(before, alone) + serialisation_ps(&self.hops, Cut::one(cut.last), scratch)
        } else {
            serialisation_ps(&self.hops, cut, scratch)
        };
        self.flight_ps + rounded_up(ps)
    }
}

/// Ways that were looked for lately, and what the search for split ones needs.
#[derive(Debug, Default)]
pub(super) struct Ways {
    kept: Vec<Way>,
    /// By port and by vertex, what part of the flow that is spread is there.
    by_port: Vec<f64>,
    by_vertex: Vec<f64>,
    /// The ports that have a part, and the ports by which it enters the vertices that are next.
    spread: Vec<u32>,
    here: Vec<u32>,
    next: Vec<u32>,
}

impl Ways {
    pub(super) fn new(n_ports: usize, n_vertices: usize, n_ends: usize, splits: bool) -> Ways {
        let n_ways = (n_ends * WAYS_AN_ENDPOINT).next_power_of_two().min(MAX_WAYS);
        Ways {
            kept: vec![Way::default(); n_ways],
            by_port: vec![0.0; if splits { n_ports } else { 0 }],
            by_vertex: vec![0.0; if splits { n_vertices } else { 0 }],
            ..Ways::default()
        }
    }

    /// The place where the way of a trip is remembered, if it is.
    fn place_of(&self, trip: Trip) -> usize {
        let ends = u64::from(trip.port) << 32 | u64::from(trip.dst_hca);
        let rest = u64::from(trip.dst_vertex) << 8 | u64::from(trip.lane);
        mix(ends ^ mix(rest ^ trip.flow)) as usize & (self.kept.len() - 1)
    }
}

impl std::ops::Index<usize> for Ways {
    type Output = Way;

    fn index(&self, number: usize) -> &Way {
        &self.kept[number]
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The number of a trip's way, good until the next is asked for.
    pub(super) fn way(&mut self, trip: Trip) -> usize {
        let number = self.fluid.ways.place_of(trip);
        if self.fluid.ways.kept[number].trip != Some(trip) {
            let mut way = std::mem::take(&mut self.fluid.ways.kept[number]);
            self.find_way(trip, &mut way);
            self.fluid.ways.kept[number] = way;
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
            let port = &self.ports[o as usize];
            let (q, link) = (port.peer, self.links[port.link as usize]);
            way.uses.push(Use::new(o, 1.0));
            way.flight_ps += link.delay_ps + link.route_ps;
            let ends = self.inputs[q as usize].has(ENDPOINT);
            let next = if ends { NIL } else { self.exit(q, trip, way) };
            let faster = |o: u32| self.links[self.ports[o as usize].link as usize].rate > link.rate;
            let stored = !self.rules().cut_through || next != NIL && faster(next);
            way.hops.push(Hop { rate: link.rate, stored });
            if next == NIL {
                way.arrival = q;
                break;
            }
            assert!(way.hops.len() < self.ports.len(), "routes were checked before the run");
            o = next;
        }
        if way.split {
            self.spread(trip, way);
        }
    }

    /// The port by which a trip leaves the vertex that it enters at `q`; of several the first, and
    /// the way is split.
    fn exit(&self, q: u32, trip: Trip, way: &mut Way) -> u32 {
        if self.inputs[q as usize].has(INSIDE) {
            return self.exit_inside(q, trip.dst_hca, trip.dst_vertex);
        }
        let group = self.exits(q, trip);
        match group.len() {
            0 => self.static_route(q, trip.dst_hca),
            1 => self.port_beside(q, group[0]),
            _ if self.scenario.steering.choice == Choice::Hash => {
                let switch = self.switch_of(q);
                self.port_beside(q, hashed(group, switch, self.scenario.seed, trip.flow))
            }
            _ => {
                way.split = true;
                self.port_beside(q, group[0])
            }
        }
    }

    /// The ports to choose from where a trip enters a switch at `q`; none where tables decide.
    fn exits(&self, q: u32, trip: Trip) -> &[u16] {
        let chooses = self.scenario.steering.choosing >> trip.lane & 1 == 1;
        match &self.candidates {
            Some(candidates) if chooses => candidates.group(self.switch_of(q), HcaId(trip.dst_hca)),
            _ => &[],
        }
    }

    fn switch_of(&self, q: u32) -> SwitchId {
        SwitchId(self.inputs[q as usize].vertex - self.fabric().n_hcas())
    }

    /// A port of the vertex that `q` belongs to, by its number there.
    fn port_beside(&self, q: u32, number: u16) -> u32 {
        q - u32::from(self.inputs[q as usize].local) + u32::from(number)
    }

    /// Split a flow in equal parts at every switch that chooses, as an ideal adaptive network does
    /// in the mean.
    fn spread(&mut self, trip: Trip, way: &mut Way) {
        let mut ways = std::mem::take(&mut self.fluid.ways);
        ways.spread.clear();
        ways.here.clear();
        ways.add(trip.port, 1.0);
        let first = self.ports[trip.port as usize].peer;
        ways.by_vertex[self.inputs[first as usize].vertex as usize] = 1.0;
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
        self.fluid.ways = ways;
    }

    /// Split what has come to the vertex of `q` over its exits.
    fn split_at(&self, q: u32, trip: Trip, ways: &mut Ways) {
        let input = &self.inputs[q as usize];
        let part = std::mem::take(&mut ways.by_vertex[input.vertex as usize]);
        if input.has(ENDPOINT) {
            return;
        }
        let group = if input.has(INSIDE) { &[][..] } else { self.exits(q, trip) };
        let mut go_on = |o: u32, part: f64| {
            ways.add(o, part);
            let peer = self.ports[o as usize].peer;
            let there = &mut ways.by_vertex[self.inputs[peer as usize].vertex as usize];
            if *there == 0.0 {
                ways.next.push(peer);
            }
            *there += part;
        };
        if group.is_empty() {
            let o = if input.has(INSIDE) {
                self.exit_inside(q, trip.dst_hca, trip.dst_vertex)
            } else {
                self.static_route(q, trip.dst_hca)
            };
            return go_on(o, part);
        }
        for number in group {
            go_on(self.port_beside(q, *number), part / group.len() as f64);
        }
    }
}

impl Ways {
    /// A part of the flow leaves by port `o`.
    fn add(&mut self, o: u32, part: f64) {
        let there = &mut self.by_port[o as usize];
        if *there == 0.0 {
            self.spread.push(o);
        }
        *there += part;
    }
}
