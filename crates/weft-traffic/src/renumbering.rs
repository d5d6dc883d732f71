//! Ranks under other numbers: a collective's rank 0 elsewhere, or all of them shuffled.

use crate::exchange::Exchange;
use crate::random::shuffled;

/// A bijection between the numbers an algorithm uses and ranks; one table for all ranks.
#[derive(Clone, Debug)]
pub(crate) struct Renumbering {
    rank_of: Vec<u32>,
    number_of: Vec<u32>,
}

impl Renumbering {
    /// Ranks in the order of a seed (in their own without it), number 0 at `root` (where it is
    /// without it). None where nothing changes.
    pub(crate) fn new(
        n_ranks: u32,
        shuffle: Option<u64>,
        root: Option<u32>,
    ) -> Option<Renumbering> {
        if shuffle.is_none() && root.unwrap_or(0) == 0 {
            return None;
        }
        let mut rank_of = match shuffle {
            Some(seed) => shuffled(n_ranks, seed),
            None => (0..n_ranks).collect(),
        };
        if let Some(root) = root {
            let at = rank_of.iter().position(|rank| *rank == root).expect("the root is checked");
            rank_of.rotate_left(at);
        }
        let mut number_of = vec![0; n_ranks as usize];
        for (number, rank) in rank_of.iter().enumerate() {
            number_of[*rank as usize] = number as u32;
        }
        Some(Renumbering { rank_of, number_of })
    }

    pub(crate) fn number_of(&self, rank: u32) -> u32 {
        self.number_of[rank as usize]
    }

    pub(crate) fn exchange(&self, exchange: Exchange) -> Exchange {
        exchange.with_peers(|number| self.rank_of[number as usize])
    }
}
