//! The path of a message: the links that tables, hashes or ideal adaptive switches give it, and
//! what it takes when they carry only that.

use crate::flow::latency::{Hop, PacketCut, rounded_up, serialisation_ps, time_of};
use crate::flow::max_min::Use;
use crate::limits::NIL;
use crate::state::pool::indexed;

/// About so many paths are remembered.
const N_PATHS: usize = 1 << 12;
/// And for each endpoint at least so many, and at most.
const PATHS_AN_ENDPOINT: [usize; 2] = [4, 16];

/// The ends of a path, and what chooses among several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Trip {
    /// The endpoint's port it is injected at.
    pub(crate) port: u32,
    pub(crate) dst_hca: u32,
    /// The endpoint it goes to, where nodes have an inside.
    pub(crate) dst_vertex: u32,
    pub(crate) lane: u8,
    /// The value that its packets have in common, where a hash chooses.
    pub(crate) flow: u64,
}

/// A packet without payload on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Single {
    pub(crate) bytes: u64,
    pub(crate) latency_ps: u64,
    /// A follower comes so much later.
    pub(crate) behind_ps: u64,
}

/// A message of some size on a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Memo {
    pub(crate) size_bytes: u64,
    pub(crate) wire_bytes: u64,
    pub(crate) n_packets: u64,
    /// Its time at the rate of its links, and what its packets take beyond.
    pub(crate) alone_ps: u64,
    pub(crate) tail_ps: u64,
}

/// A path through the network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Path {
    pub(crate) trip: Option<Trip>,
    /// The port it ends at.
    pub(crate) arrival: u32,
    /// Whether adaptive switches split it.
    pub(crate) split: bool,
    /// Of what a rendezvous asks and answers, and of acknowledgements.
    pub(crate) request: Single,
    pub(crate) answer: Single,
    /// The last message that was looked at.
    pub(crate) memo: Memo,
    /// Counts that its ports do not have yet.
    pub(crate) bytes: u64,
    pub(crate) n_packets: u64,
    /// The rate of a flow that has it to itself.
    pub(crate) alone: f64,
    /// Every link, and which part of a flow crosses it.
    pub(crate) uses: Vec<Use>,
    /// Its links one after the other; where it is split, by the first port at each switch.
    pub(crate) hops: Vec<Hop>,
    /// Times of flight and of routing.
    pub(crate) flight_ps: u64,
}

impl Path {
    pub(crate) fn n_hops(&self) -> u64 {
        self.hops.len() as u64
    }

    /// Bytes on the wire and packets of a message of that size, if it is remembered.
    pub(crate) fn memo_of(&self, size_bytes: u64) -> Option<(u64, u64)> {
        let Memo { wire_bytes, n_packets, .. } = self.memo;
        (self.memo.size_bytes == size_bytes).then_some((wire_bytes, n_packets))
    }

    /// How long a message takes on idle links.
    pub(crate) fn latency_ps(&self, cut: PacketCut, scratch: &mut Vec<f64>) -> u64 {
        let ps = if self.split && cut.n_packets > 1 {
            // All but the last packet spread; that one takes one of the branches.
            let before = cut.wire_bytes() - u64::from(cut.last);
            time_of(before, self.alone)
                + serialisation_ps(&self.hops, PacketCut::one(cut.last), scratch)
        } else {
            serialisation_ps(&self.hops, cut, scratch)
        };
        self.flight_ps + rounded_up(ps)
    }

    pub(crate) fn single(&self, bytes: u32, scratch: &mut Vec<f64>) -> Single {
        let slowest = self.hops.iter().map(|hop| hop.rate.0 as f64).fold(f64::INFINITY, f64::min);
        Single {
            bytes: bytes.into(),
            latency_ps: self.latency_ps(PacketCut::one(bytes), scratch),
            behind_ps: rounded_up(time_of(bytes.into(), slowest)),
        }
    }
}

/// Paths that were looked for lately, and what the search for split ones needs.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    kept: Vec<Path>,
    /// By port of an endpoint, its number among them: each has a row of paths.
    rows: Vec<u32>,
    mask: usize,
    /// By port and by vertex, what part of the flow that is spread is there.
    pub(crate) by_port: Vec<f64>,
    pub(crate) by_vertex: Vec<f64>,
    /// The ports that have a part, and the ports by which it enters the vertices that are next.
    pub(crate) spread: Vec<u32>,
    pub(crate) here: Vec<u32>,
    pub(crate) next: Vec<u32>,
}

impl Paths {
    /// Of a network of so many ports of endpoints among all; vertices where flows are split.
    pub(crate) fn new(rows: Vec<u32>, n_vertices: usize) -> Paths {
        let n_rows = rows.iter().filter(|row| **row != NIL).count();
        let [least, most] = PATHS_AN_ENDPOINT;
        let a_row = (N_PATHS / n_rows.max(1)).clamp(least, most).next_power_of_two();
        Paths {
            kept: vec![Path::default(); n_rows * a_row],
            mask: a_row - 1,
            by_port: vec![0.0; if n_vertices > 0 { rows.len() } else { 0 }],
            by_vertex: vec![0.0; n_vertices],
            rows,
            ..Paths::default()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The place where the path of a trip is remembered, if it is.
    pub(crate) fn place_of(&self, trip: Trip) -> usize {
        let to = trip.dst_hca.wrapping_add(trip.dst_vertex) as usize ^ trip.flow as usize;
        self.rows[trip.port as usize] as usize * (self.mask + 1) + (to & self.mask)
    }

    /// A part of the flow leaves by port `o`.
    pub(crate) fn add(&mut self, o: u32, part: f64) {
        let there = &mut self.by_port[o as usize];
        if *there == 0.0 {
            self.spread.push(o);
        }
        *there += part;
    }
}

indexed!(Paths, kept by usize => Path);
