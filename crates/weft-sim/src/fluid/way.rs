//! The way of a message: the links that tables, hashes or ideal adaptive switches give it, and what
//! it takes when they carry nothing else.

use super::pipe::{Cut, Hop, rounded_up, serialisation_ps, time_of};
use super::share::Use;
use crate::adaptive::hashed;
use crate::network::Network;
use crate::packet::{NIL, PacketKind};
use crate::port::{ENDPOINT, INSIDE};
use crate::steering::Choice;
use weft_fabric::{HcaId, SwitchId};

/// About so many ways are remembered.
const N_WAYS: usize = 1 << 12;
/// And for each endpoint at least so many, and at most.
const WAYS_AN_ENDPOINT: [usize; 2] = [4, 16];

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

/// A packet without payload on a way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Single {
    pub(super) bytes: u64,
    pub(super) latency_ps: u64,
    /// Whoever follows it comes so much later.
    pub(super) behind_ps: u64,
}

/// A message of some size on a way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memo {
    pub(super) size_bytes: u64,
    pub(super) wire_bytes: u64,
    pub(super) n_packets: u64,
    /// Its time at the rate of its links, and what its packets take beyond.
    pub(super) alone_ps: u64,
    pub(super) tail_ps: u64,
}

/// A way through the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Way {
    trip: Option<Trip>,
    /// The port it ends at.
    pub(super) arrival: u32,
    /// Whether adaptive switches split it.
    split: bool,
    /// Of what a rendezvous asks and answers, and of acknowledgements.
    pub(super) request: Single,
    pub(super) answer: Single,
    /// The last message that was looked at.
    pub(super) memo: Memo,
    /// What was counted and its ports do not have yet.
    pub(super) bytes: u64,
    pub(super) n_packets: u64,
    /// The rate of a flow that has it to itself.
    pub(super) alone: f64,
    /// Every link, and which part of a flow crosses it.
    pub(super) uses: Vec<Use>,
    /// Its links one after the other; where it is split, by the first port at each switch.
    hops: Vec<Hop>,
    /// Times of flight and of routing.
    flight_ps: u64,
}

impl Way {
    pub(super) fn n_hops(&self) -> u64 {
        self.hops.len() as u64
    }

    /// Bytes on the wire and packets of a message of that size, if it is remembered.
    pub(super) fn memo_of(&self, size_bytes: u64) -> Option<(u64, u64)> {
        let Memo { wire_bytes, n_packets, .. } = self.memo;
        (self.memo.size_bytes == size_bytes).then_some((wire_bytes, n_packets))
    }

    /// How long a message takes where nobody else is.
    pub(super) fn latency_ps(&self, cut: Cut, scratch: &mut Vec<f64>) -> u64 {
        let ps = if self.split && cut.n_packets > 1 {
            // All but the last packet spread; that one takes one of the branches.
            let before = cut.wire_bytes() - u64::from(cut.last);
            time_of(before, self.alone) + serialisation_ps(&self.hops, Cut::one(cut.last), scratch)
        } else {
            serialisation_ps(&self.hops, cut, scratch)
        };
        self.flight_ps + rounded_up(ps)
    }

    fn single(&self, bytes: u32, scratch: &mut Vec<f64>) -> Single {
        let slowest = self.hops.iter().map(|hop| hop.rate.0 as f64).fold(f64::INFINITY, f64::min);
        Single {
            bytes: bytes.into(),
            latency_ps: self.latency_ps(Cut::one(bytes), scratch),
            behind_ps: rounded_up(time_of(bytes.into(), slowest)),
        }
    }
}

/// Ways that were looked for lately, and what the search for split ones needs.
#[derive(Debug, Default)]
pub(super) struct Ways {
    kept: Vec<Way>,
    /// By port of an endpoint, its number among them: each has a row of ways.
    rows: Vec<u32>,
    mask: usize,
    /// By port and by vertex, what part of the flow that is spread is there.
    by_port: Vec<f64>,
    by_vertex: Vec<f64>,
    /// The ports that have a part, and the ports by which it enters the vertices that are next.
    spread: Vec<u32>,
    here: Vec<u32>,
    next: Vec<u32>,
}

impl Ways {
    /// Of a network of so many ports of endpoints among all; vertices where flows are split.
    pub(super) fn new(rows: Vec<u32>, n_vertices: usize) -> Ways {
        let n_rows = rows.iter().filter(|row| **row != NIL).count();
        let [least, most] = WAYS_AN_ENDPOINT;
        let a_row = (N_WAYS / n_rows.max(1)).clamp(least, most).next_power_of_two();
        Ways {
            kept: vec![Way::default(); n_rows * a_row],
            mask: a_row - 1,
            by_port: vec![0.0; if n_vertices > 0 { rows.len() } else { 0 }],
            by_vertex: vec![0.0; n_vertices],
            rows,
            ..Ways::default()
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The place where the way of a trip is remembered, if it is.
    fn place_of(&self, trip: Trip) -> usize {
        let to = trip.dst_hca.wrapping_add(trip.dst_vertex) as usize ^ trip.flow as usize;
        self.rows[trip.port as usize] as usize * (self.mask + 1) + (to & self.mask)
    }
}

impl std::ops::Index<usize> for Ways {
    type Output = Way;

    fn index(&self, number: usize) -> &Way {
        &self.kept[number]
    }
}

impl std::ops::IndexMut<usize> for Ways {
    fn index_mut(&mut self, number: usize) -> &mut Way {
        &mut self.kept[number]
    }
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The number of a trip's way, good until the next is asked for.
    pub(super) fn way(&mut self, trip: Trip) -> usize {
        let number = self.fluid.ways.place_of(trip);
        if self.fluid.ways[number].trip != Some(trip) {
            self.settle_count(number);
            let mut way = std::mem::take(&mut self.fluid.ways[number]);
            self.find_way(trip, &mut way);
            self.fluid.ways[number] = way;
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
        let (framing, fluid) = (&self.scenario.framing, &mut self.fluid);
        way.alone = fluid.shares.alone(&way.uses);
        way.memo = Memo::default();
        way.request = way.single(framing.wire_bytes(0, true), &mut fluid.scratch);
        way.answer = way.single(framing.control_bytes(PacketKind::Ack), &mut fluid.scratch);
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
