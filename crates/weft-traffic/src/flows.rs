//! Flows: messages in one direction between ranks, each with a row of its own.
//!
//! One table of all flows, shared by all ranks; a flow is repeated `window` times.

use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use crate::random::shuffled;
use crate::step::{Message, PermutationKind};

/// The flows of a phase, and by rank those it sends and receives.
#[derive(Clone, Debug)]
pub(crate) struct Flows {
    flows: Vec<Message>,
    window: u32,
    sent: ByRank,
    received: ByRank,
}

/// Numbers of flows, grouped by rank: those of rank r are `flows[start[r] .. start[r + 1]]`.
#[derive(Clone, Debug)]
struct ByRank {
    start: Vec<u32>,
    flows: Vec<u32>,
}

impl ByRank {
    /// Groups of `order`, which keep its order.
    fn new(n_ranks: u32, order: &[u32], rank_of: impl Fn(u32) -> u32) -> ByRank {
        let mut start = vec![0u32; n_ranks as usize + 1];
        for flow in order {
            start[rank_of(*flow) as usize + 1] += 1;
        }
        for rank in 0..n_ranks as usize {
            start[rank + 1] += start[rank];
        }
        let mut next = start.clone();
        let mut flows = vec![0; order.len()];
        for flow in order {
            let place = &mut next[rank_of(*flow) as usize];
            flows[*place as usize] = *flow;
            *place += 1;
        }
        ByRank { start, flows }
    }

    fn of(&self, rank: u32) -> &[u32] {
        let (from, to) = (self.start[rank as usize], self.start[rank as usize + 1]);
        &self.flows[from as usize..to as usize]
    }
}

impl Flows {
    /// The flows between `n_ranks` ranks. The caller has checked their ranks.
    pub(crate) fn new(n_ranks: u32, flows: Vec<Message>, window: u32) -> Flows {
        let mut order: Vec<u32> = (0..flows.len() as u32).collect();
        order.sort_by_key(|flow| flows[*flow as usize].start_ps);
        let sent = ByRank::new(n_ranks, &order, |flow| flows[flow as usize].src);
        let received = ByRank::new(n_ranks, &order, |flow| flows[flow as usize].dst);
        Flows { flows, window, sent, received }
    }

    pub(crate) fn n_rows(&self) -> u32 {
        self.flows.len() as u32 * self.window
    }

    /// When the message of a row is due, counted from the start of the phase.
    pub(crate) fn start_ps(&self, row: u32) -> u64 {
        self.flows[(row / self.window) as usize].start_ps
    }

    /// Of the `index`-th move of a rank, if it is a send: its row.
    pub(crate) fn row(&self, rank: u32, index: u64) -> Option<u32> {
        let n_received = self.received.of(rank).len() as u64 * u64::from(self.window);
        self.at(self.sent.of(rank), index.checked_sub(n_received)?)
    }

    /// The row of the `index`-th message of these flows, which take turns.
    fn at(&self, flows: &[u32], index: u64) -> Option<u32> {
        let n_flows = flows.len() as u64;
        let again = index.checked_div(n_flows).filter(|again| *again < u64::from(self.window))?;
        Some(flows[(index % n_flows) as usize] * self.window + again as u32)
    }

    /// All receives of a rank, then its sends, each when it is due; then it waits for all of them.
    pub(crate) fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        let (received, sent) = (self.received.of(rank), self.sent.of(rank));
        let n_moves = (received.len() + sent.len()) as u64 * u64::from(self.window);
        let wait = if index + 1 == n_moves { Wait::All } else { Wait::No };
        let transfer = |peer, flow: &Message| Transfer {
            peer,
            size_bytes: flow.size_bytes,
            blocks: Blocks::None,
        };
        if let Some(row) = self.at(received, index) {
            let flow = &self.flows[(row / self.window) as usize];
            return Some(Exchange { wait, ..Exchange::recv(transfer(flow.src, flow)) });
        }
        let flow = &self.flows[(self.row(rank, index)? / self.window) as usize];
        let send = Exchange::send(transfer(flow.dst, flow));
        Some(Exchange { wait, not_before_ps: flow.start_ps, ..send })
    }
}

/// Every rank sends to its image; a rank that is its own image does nothing.
pub(crate) fn permutation(
    place: &str,
    n_ranks: u32,
    kind: PermutationKind,
    size_bytes: u64,
) -> Result<Vec<Message>, TrafficError> {
    let n = u64::from(n_ranks);
    let image: Vec<u32> = match kind {
        PermutationKind::Random(seed) => shuffled(n_ranks, seed),
        PermutationKind::Shift(shift) => affine(n, 1, u64::from(shift)).collect(),
        PermutationKind::Affine([factor, offset]) => {
            if divisor(u64::from(factor), n) != 1 {
                let what = format!("factor {factor} shares a divisor with {n_ranks} ranks");
                let expected = "a factor that gives every rank one sender";
                return Err(TrafficError::document(format!("{place}.permutation"), what, expected));
            }
            affine(n, u64::from(factor), u64::from(offset)).collect()
        }
    };
    let flow = |(src, dst): (u32, u32)| Message { src, dst, size_bytes, start_ps: 0 };
    let flows = (0..n_ranks).zip(image).filter(|(src, dst)| src != dst);
    Ok(flows.map(flow).collect())
}

fn affine(n: u64, factor: u64, offset: u64) -> impl Iterator<Item = u32> {
    (0..n).map(move |rank| ((factor * rank + offset) % n) as u32)
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The i-th rank of one random half sends to the i-th of the other; of an odd number of ranks, one
/// is left over.
///
/// SOURCE: Hoefler, Schneider, Lumsdaine, "Multistage Switches are not Crossbars" (CLUSTER 2008).
pub(crate) fn bisect(n_ranks: u32, seed: u64, both_ways: bool, size_bytes: u64) -> Vec<Message> {
    let order = shuffled(n_ranks, seed);
    let (one, other) = order.split_at(n_ranks as usize / 2);
    let pairs = one.iter().zip(other);
    pairs
        .flat_map(|(a, b)| {
            let there = Message { src: *a, dst: *b, size_bytes, start_ps: 0 };
            let back = Message { src: *b, dst: *a, ..there };
            [Some(there), both_ways.then_some(back)]
        })
        .flatten()
        .collect()
}

/// The ranks of an incast or fan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fan {
    pub(crate) n_ranks: u32,
    pub(crate) root: u32,
    /// How many, without the root.
    pub(crate) width: u32,
    pub(crate) size_bytes: u64,
}

impl Fan {
    fn others(self) -> impl DoubleEndedIterator<Item = u32> {
        (0..self.n_ranks).filter(move |rank| *rank != self.root)
    }

    /// The last `width` ranks but the root send to it.
    pub(crate) fn inwards(self) -> Vec<Message> {
        let idle = (self.n_ranks - 1 - self.width) as usize;
        let flow = |src| Message { src, dst: self.root, size_bytes: self.size_bytes, start_ps: 0 };
        self.others().skip(idle).map(flow).collect()
    }

    /// They receive from it instead.
    pub(crate) fn outwards(self) -> Vec<Message> {
        let turned = |flow: Message| Message { src: flow.dst, dst: flow.src, ..flow };
        self.inwards().into_iter().map(turned).collect()
    }

    /// The others: each sends to the one half their number further on.
    pub(crate) fn bystanders(self, size_bytes: u64, start_ps: u64) -> Vec<Message> {
        let idle: Vec<u32> = self.others().take((self.n_ranks - 1 - self.width) as usize).collect();
        let half = idle.len().div_ceil(2);
        let flow = |(at, src): (usize, &u32)| {
            let dst = idle[(at + half) % idle.len()];
            Message { src: *src, dst, size_bytes, start_ps }
        };
        idle.iter().enumerate().map(flow).filter(|flow| flow.src != flow.dst).collect()
    }
}
