//! A phase that runs: who takes part, and the moves of each rank.

use crate::host::move_pace::MovePace;
use crate::model::placement::place::Tenant;
use weft_traffic::{Exchange, Phase, Transfer};

/// A phase that runs, in the scenario's numbers of ranks.
#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) phase: Phase,
    pub(crate) first_rank: u32,
    /// When the iteration began.
    pub(crate) start_ps: u64,
    /// The ranks that take part.
    pub(crate) members: Vec<u32>,
    /// How fast its moves follow one another, where that is looked for.
    pub(crate) pace: Option<MovePace>,
}

impl Stage {
    pub(crate) fn new(tenant: &Tenant, phase: Phase) -> Stage {
        let all = 0..tenant.n_ranks;
        let members = all.filter(|rank| phase.exchange(*rank, 0).is_some());
        let members = members.map(|rank| tenant.first_rank + rank).collect();
        Stage { phase, first_rank: tenant.first_rank, start_ps: 0, members, pace: None }
    }

    /// Whether it is to be known when ranks begin their moves.
    pub(crate) fn looks_at_moves(&self) -> bool {
        self.pace.as_ref().is_some_and(MovePace::looks)
    }

    /// The ranks that take part, by number.
    pub(crate) fn members(&self) -> &[u32] {
        &self.members
    }

    /// The `index`-th move of a rank.
    pub(crate) fn exchange(&self, number: u32, index: u64) -> Option<Exchange> {
        let index = self.pace.as_ref().map_or(index, |pace| pace.index(index));
        let exchange = self.phase.exchange(number - self.first_rank, index)?;
        let place =
            |transfer: Transfer| Transfer { peer: self.first_rank + transfer.peer, ..transfer };
        let (recv, send) = (exchange.recv.map(place), exchange.send.map(place));
        Some(Exchange { recv, send, ..exchange })
    }

    /// The row of a rank's `index`-th move, and when that is due.
    pub(crate) fn message_row(&self, number: u32, index: u64) -> Option<(u32, u64)> {
        let (row, start_ps) = self.phase.message_row(number - self.first_rank, index)?;
        Some((row, self.start_ps + start_ps))
    }

    /// The mark that a rank passes at its `index`-th move.
    pub(crate) fn mark(&self, number: u32, index: u64) -> Option<u32> {
        self.phase.mark(number - self.first_rank, index)
    }

    /// How far a rank that takes part has come in the iteration, from 0 to 1.
    pub(crate) fn share_done(&self, number: u32, index: u64) -> f64 {
        let n_moves = self.phase.n_moves(number - self.first_rank);
        index as f64 / n_moves.max(1) as f64
    }
}
