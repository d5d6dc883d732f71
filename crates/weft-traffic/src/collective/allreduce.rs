//! Allreduces.
//!
//! SOURCE: Rabenseifner, "Optimization of Collective Reduction Operations" (ICCS 2004).

use super::fold::Fold;
use super::{Algorithm, Collective, Part, log2_ceil, tree};
use crate::exchange::Exchange;

impl Collective {
    pub(super) fn allreduce(&self, rank: u32, index: u32) -> Option<Exchange> {
        match self.algorithm {
            Algorithm::RecursiveDoubling => {
                Fold::new(self.n).all_exchange(rank, index, Part::whole(self.size_bytes))
            }
            Algorithm::Ring => self.ring_allreduce(rank, index),
            Algorithm::Rabenseifner => self.rabenseifner_allreduce(rank, index),
            Algorithm::DoubleBinaryTree => self.double_tree(rank, index),
            Algorithm::ReduceBroadcast => self.reduce_broadcast(rank, index),
            _ => self.wrong_algorithm(),
        }
    }

    fn ring_allreduce(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        if index >= 2 * (n - 1) {
            return None;
        }
        // Reduce-scatter leaves rank r with block r + 1; allgather hands blocks on from there.
        let step = index % (n - 1);
        let offset = u32::from(index >= n - 1);
        let block = |back: u32| {
            let first = (rank + offset + n - back) % n;
            Part::of(self.size_bytes, n, first, 1)
        };
        let (right, left) = ((rank + 1) % n, (rank + n - 1) % n);
        Some(Exchange::both(block(step).with(right), block(step + 1).with(left)))
    }

    fn rabenseifner_allreduce(&self, rank: u32, index: u32) -> Option<Exchange> {
        let fold = Fold::new(self.n);
        let log = fold.log();
        let last = 2 * log + 1;
        let part = |first, count| Part::of(self.size_bytes, fold.core, first, count);
        match index {
            _ if index > last => None,
            _ if index == 0 || index == last => {
                Some(fold.edge(rank, index == last, Part::whole(self.size_bytes)))
            }
            _ if index <= log => Some(fold.halving(rank, index - 1, part)),
            _ => Some(fold.doubling(rank, index - log - 1, part)),
        }
    }

    fn reduce_broadcast(&self, rank: u32, index: u32) -> Option<Exchange> {
        let (n, log) = (self.n, log2_ceil(self.n));
        let whole = |_, _| Part::whole(self.size_bytes);
        match index {
            _ if index < log => Some(tree::up(n, rank, index, whole)),
            _ if index < 2 * log => Some(tree::down(n, rank, index - log, whole)),
            _ => None,
        }
    }
}
