//! Allgathers.
//!
//! SOURCE: Chen, Zhang, Zhang, Yuan, "Performance evaluation of allgather algorithms on terascale
//! Linux cluster with fast Ethernet" (HPCAsia 2005) for neighbour exchange.

use super::fold::Fold;
use super::{Algorithm, Collective, Part, log2_ceil};
use crate::exchange::Exchange;

impl Collective {
    pub(super) fn allgather(&self, rank: u32, index: u32) -> Option<Exchange> {
        match self.algorithm {
            Algorithm::NeighborExchange if self.n.is_multiple_of(2) => {
                self.neighbor_exchange(rank, index)
            }
            // Neighbours in pairs need an even number of ranks: Open MPI takes the ring then too.
            Algorithm::Ring | Algorithm::NeighborExchange => {
                let n = self.n;
                pass_on(n, rank, index, |first| Part::blocks(self.size_bytes, first, 1))
            }
            Algorithm::RecursiveDoubling => self.doubling_allgather(rank, index),
            Algorithm::Bruck => self.bruck_allgather(rank, index),
            _ => self.wrong_algorithm(),
        }
    }

    fn doubling_allgather(&self, rank: u32, index: u32) -> Option<Exchange> {
        let fold = Fold::new(self.n);
        let last = fold.log() + 1;
        let part = |first, count| {
            let (first, end) = (fold.start(first), fold.start(first + count));
            Part::blocks(self.size_bytes, first, end - first)
        };
        match index {
            _ if index > last => None,
            0 => Some(fold.edge(rank, false, Part::blocks(self.size_bytes, rank & !1, 1))),
            _ if index == last => {
                Some(fold.edge(rank, true, Part::blocks(self.size_bytes, 0, self.n)))
            }
            _ => Some(fold.doubling(rank, index - 1, part)),
        }
    }

    fn bruck_allgather(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        if index >= log2_ceil(n) {
            return None;
        }
        let distance = 1u32 << index;
        let count = distance.min(n - distance);
        let (to, from) = ((rank + n - distance) % n, (rank + distance) % n);
        let blocks_from = |first| Part::blocks(self.size_bytes, first, count);
        Some(Exchange::both(blocks_from(rank).with(to), blocks_from(from).with(from)))
    }

    /// First a block each with one neighbour, then what came last, two blocks, with the other and
    /// the first in turn.
    fn neighbor_exchange(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        if index >= n / 2 {
            return None;
        }
        let even = rank.is_multiple_of(2);
        let above = even == index.is_multiple_of(2);
        let peer = if above { (rank + 1) % n } else { (rank + n - 1) % n };
        if index == 0 {
            let own = |of| Part::blocks(self.size_bytes, of, 1).with(peer);
            return Some(Exchange::both(own(rank), own(peer)));
        }
        let pair = |of| Part::blocks(self.size_bytes, of, 2).with(peer);
        let sent = if index == 1 { rank & !1 } else { self.came(rank, index - 1) };
        Some(Exchange::both(pair(sent), pair(self.came(rank, index))))
    }

    /// First of the two blocks that come to a rank at move `index`, from 1 on.
    fn came(&self, rank: u32, index: u32) -> u32 {
        let far = index.div_ceil(2) * 2;
        let upwards = rank.is_multiple_of(2) == index.is_multiple_of(2);
        let base = rank & !1;
        if upwards { (base + far) % self.n } else { (base + self.n - far) % self.n }
    }
}

/// Move `index` of n - 1 round a ring: first a rank's own block, then always the one that came
/// last.
pub(super) fn pass_on(
    n: u32,
    rank: u32,
    index: u32,
    block: impl Fn(u32) -> Part,
) -> Option<Exchange> {
    if index + 1 >= n {
        return None;
    }
    let (right, left) = ((rank + 1) % n, (rank + n - 1) % n);
    let sent = block((rank + n - index) % n).with(right);
    Some(Exchange::both(sent, block((left + n - index) % n).with(left)))
}
