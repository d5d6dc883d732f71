//! Collectives with a root, which is rank 0: broadcast, reduce, gather, scatter.
//!
//! SOURCE: Barnett et al., "Interprocessor Collective Communication Library" (1994) and van de
//! Geijn's scatter-allgather broadcast; Rabenseifner (ICCS 2004) for the reduce.

use super::allgather::pass_on;
use super::fold::Fold;
use super::{Algorithm, Collective, Operation, Part, log2_ceil, tree};
use crate::exchange::{Exchange, Wait};

impl Collective {
    pub(super) fn broadcast(&self, rank: u32, index: u32) -> Option<Exchange> {
        let (n, log) = (self.n, log2_ceil(self.n));
        match self.algorithm {
            Algorithm::Binomial => (index < log)
                .then(|| tree::down(n, rank, index, |_, _| Part::whole(self.size_bytes))),
            Algorithm::ScatterAllgather => {
                let part = |first, count| Part::of(self.size_bytes, n, first, count);
                match index.checked_sub(log) {
                    None => Some(tree::down(n, rank, index, part)),
                    Some(index) => pass_on(n, rank, index, |first| part(first, 1)),
                }
            }
            Algorithm::Chain => self.chain(rank, index),
            _ => self.wrong_algorithm(),
        }
    }

    /// Segment k comes while k - 1 is passed on.
    fn chain(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n_segments = self.n_segments(1);
        if index > n_segments {
            return None;
        }
        let segment = |k, peer| Part::of(self.size_bytes, n_segments, k, 1).with(peer);
        let recv = (rank > 0 && index < n_segments).then(|| segment(index, rank - 1));
        let send = (rank + 1 < self.n && index > 0).then(|| segment(index - 1, rank + 1));
        Some(Exchange { recv, send, wait: Wait::All, ..Exchange::default() })
    }

    pub(super) fn reduce(&self, rank: u32, index: u32) -> Option<Exchange> {
        let log = log2_ceil(self.n);
        let whole = Part::whole(self.size_bytes);
        match self.algorithm {
            Algorithm::Binomial => {
                (index < log).then(|| tree::up(self.n, rank, index, |_, _| whole))
            }
            Algorithm::Rabenseifner => self.rabenseifner_reduce(rank, index),
            _ => self.wrong_algorithm(),
        }
    }

    fn rabenseifner_reduce(&self, rank: u32, index: u32) -> Option<Exchange> {
        let fold = Fold::with_root(self.n);
        let log = fold.log();
        let part = |first, count| Part::of(self.size_bytes, fold.core, first, count);
        match index {
            0 => Some(fold.edge(rank, false, Part::whole(self.size_bytes))),
            _ if index <= log => Some(fold.halving(rank, index - 1, part)),
            _ if index <= 2 * log => Some(match fold.inner(rank) {
                None => Exchange::default(),
                Some(inner) => tree::up(fold.core, inner, index - log - 1, part)
                    .with_peers(|peer| fold.outer(peer)),
            }),
            _ => None,
        }
    }

    /// Gather, and scatter, which is the same backwards.
    pub(super) fn collect(&self, rank: u32, index: u32) -> Option<Exchange> {
        let (n, log) = (self.n, log2_ceil(self.n));
        let part = |first, count| Part::blocks(self.size_bytes, first, count);
        let gather = self.operation == Operation::Gather;
        match self.algorithm {
            Algorithm::Binomial if index >= log => None,
            Algorithm::Binomial if gather => Some(tree::up(n, rank, index, part)),
            Algorithm::Binomial => Some(tree::down(n, rank, index, part)),
            Algorithm::Linear => {
                // The root has all its messages in flight at once.
                let leaf = if rank == 0 { index + 1 } else { rank };
                let last = if rank == 0 { n - 1 } else { 1 };
                let transfer = part(leaf, 1).with(if rank == 0 { leaf } else { 0 });
                let sends = gather == (rank > 0);
                let moved = if sends { Exchange::send(transfer) } else { Exchange::recv(transfer) };
                let wait = if index + 1 == last { Wait::All } else { Wait::No };
                (index < last).then_some(Exchange { wait, ..moved })
            }
            _ => self.wrong_algorithm(),
        }
    }
}
