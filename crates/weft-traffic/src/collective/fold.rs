//! Any number of ranks on a power of two, and the exchanges there.

use super::Part;
use crate::exchange::Exchange;

/// The largest power of two not above n, and how many are extra: the first 2 x extra ranks fold in
/// pairs before and unfold after, as MPICH does.
#[derive(Clone, Copy)]
pub(super) struct Fold {
    pub(super) core: u32,
    pub(super) extra: u32,
    /// Of a pair, the rank with this remainder by two stays in the core.
    stays: u32,
}

impl Fold {
    /// Odd ranks of the pairs stay.
    pub(super) fn new(n: u32) -> Fold {
        let core = 1 << n.ilog2();
        Fold { core, extra: n - core, stays: 1 }
    }

    /// Even ranks of the pairs stay, so that rank 0 does.
    pub(super) fn with_root(n: u32) -> Fold {
        Fold { stays: 0, ..Fold::new(n) }
    }

    pub(super) fn log(&self) -> u32 {
        self.core.trailing_zeros()
    }

    /// The rank's number in the core, or none where it sits out.
    pub(super) fn inner(&self, rank: u32) -> Option<u32> {
        match rank {
            _ if rank >= 2 * self.extra => Some(rank - self.extra),
            _ if rank % 2 == self.stays => Some(rank / 2),
            _ => None,
        }
    }

    pub(super) fn outer(&self, inner: u32) -> u32 {
        if inner < self.extra { 2 * inner + self.stays } else { inner + self.extra }
    }

    /// The first of the ranks that `inner` stands for; of `core`, the number of ranks.
    pub(super) fn start(&self, inner: u32) -> u32 {
        inner + inner.min(self.extra)
    }

    /// The move before (`unfold` false) or after (`unfold` true) the core's.
    pub(super) fn edge(&self, rank: u32, unfold: bool, part: Part) -> Exchange {
        if rank >= 2 * self.extra {
            return Exchange::default();
        }
        let sits_out = rank % 2 != self.stays;
        let transfer = part.with(rank ^ 1);
        if sits_out != unfold { Exchange::send(transfer) } else { Exchange::recv(transfer) }
    }

    /// A move between a rank of the core and the one whose number differs by `bit`; `sent` says
    /// what a number and its partner send.
    pub(super) fn across(&self, rank: u32, bit: u32, sent: impl Fn(u32, u32) -> Part) -> Exchange {
        let Some(inner) = self.inner(rank) else {
            return Exchange::default();
        };
        let partner = inner ^ bit;
        let peer = self.outer(partner);
        Exchange::both(sent(inner, partner).with(peer), sent(partner, inner).with(peer))
    }

    /// Move `index` of a reduce-scatter by halving: number i is left with block i of the core.
    pub(super) fn halving(
        &self,
        rank: u32,
        index: u32,
        part: impl Fn(u32, u32) -> Part,
    ) -> Exchange {
        let half = self.core >> (index + 1);
        self.across(rank, half, |_, partner| part(partner & !(half - 1), half))
    }

    /// Move `index` of an allgather by doubling, from block i at number i on.
    pub(super) fn doubling(
        &self,
        rank: u32,
        index: u32,
        part: impl Fn(u32, u32) -> Part,
    ) -> Exchange {
        let half = 1 << index;
        self.across(rank, half, |own, _| part(own & !(half - 1), half))
    }
}
