//! Reduce-scatters: rank i ends with block i of the sum.

use super::fold::Fold;
use super::{Algorithm, Collective, Part};
use crate::exchange::Exchange;

impl Collective {
    pub(super) fn reduce_scatter(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        let block = |first: u32| Part::of(self.size_bytes, n, first, 1);
        match self.algorithm {
            Algorithm::RecursiveHalving => self.recursive_halving(rank, index),
            Algorithm::Ring if index + 1 < n => {
                let (right, left) = ((rank + 1) % n, (rank + n - 1) % n);
                let came = (rank + 2 * n - index - 2) % n;
                Some(Exchange::both(block((came + 1) % n).with(right), block(came).with(left)))
            }
            Algorithm::Pairwise if index + 1 < n => {
                let (to, from) = ((rank + index + 1) % n, (rank + n - index - 1) % n);
                Some(Exchange::both(block(to).with(to), block(rank).with(from)))
            }
            Algorithm::Ring | Algorithm::Pairwise => None,
            _ => self.wrong_algorithm(),
        }
    }

    fn recursive_halving(&self, rank: u32, index: u32) -> Option<Exchange> {
        let fold = Fold::new(self.n);
        let last = fold.log() + 1;
        let part = |first, count| {
            let (first, end) = (fold.start(first), fold.start(first + count));
            Part::of(self.size_bytes, self.n, first, end - first)
        };
        match index {
            _ if index > last => None,
            0 => Some(fold.edge(rank, false, Part::whole(self.size_bytes))),
            // The rank that sat out gets its block, the even one of the pair's two.
            _ if index == last => {
                Some(fold.edge(rank, true, Part::of(self.size_bytes, self.n, rank & !1, 1)))
            }
            _ => Some(fold.halving(rank, index - 1, part)),
        }
    }
}
