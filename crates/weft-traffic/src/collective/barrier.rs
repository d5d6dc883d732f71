//! Barriers.
//!
//! SOURCE: Hensgen, Finkel, Manber, "Two Algorithms for Barrier Synchronization" (1988) for
//! dissemination.

use super::fold::Fold;
use super::{Algorithm, Collective, Part, log2_ceil, tree};
use crate::exchange::Exchange;

impl Collective {
    pub(super) fn barrier(&self, rank: u32, index: u32) -> Option<Exchange> {
        let (n, log) = (self.n, log2_ceil(self.n));
        match self.algorithm {
            Algorithm::Dissemination => (index < log).then(|| {
                let distance = 1 << index;
                let (to, from) = ((rank + distance) % n, (rank + n - distance) % n);
                Exchange::both(Part::NOTHING.with(to), Part::NOTHING.with(from))
            }),
            Algorithm::RecursiveDoubling => Fold::new(n).all_exchange(rank, index, Part::NOTHING),
            Algorithm::Tree => match index {
                _ if index < log => Some(tree::up(n, rank, index, |_, _| Part::NOTHING)),
                _ if index < 2 * log => {
                    Some(tree::down(n, rank, index - log, |_, _| Part::NOTHING))
                }
                _ => None,
            },
            _ => self.wrong_algorithm(),
        }
    }
}

impl Fold {
    /// Fold, exchange the same part with partners at distance 1, 2, 4 ..., unfold.
    pub(super) fn all_exchange(&self, rank: u32, index: u32, part: Part) -> Option<Exchange> {
        let last = self.log() + 1;
        match index {
            _ if index > last => None,
            _ if index == 0 || index == last => Some(self.edge(rank, index == last, part)),
            _ => Some(self.across(rank, 1 << (index - 1), |_, _| part)),
        }
    }
}
