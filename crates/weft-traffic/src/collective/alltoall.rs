//! Alltoalls.
//!
//! SOURCE: Hwang et al., "Tutel" (MLSys 2023) for the hierarchical one in two dimensions.

use super::{Algorithm, Collective, Operation, log2_ceil};
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use crate::random::mixed;
use serde::{Deserialize, Serialize};

/// The rule for the size of a block of an alltoallv.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkewOf {
    /// Source and destination: every block differs.
    #[default]
    Pair,
    /// The destination alone: some ranks get more from every rank.
    Destination,
}

/// How unequal the blocks of an alltoallv are: `size_bytes` x (1 + skew x u) with u between -1 and
/// 1 for each pair or destination, from a fixed hash.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Skew {
    /// From 0 (all blocks the same) to 1 (from nothing to twice the size).
    pub amount: f64,
    /// The pair or the destination, which fixes u.
    pub of: SkewOf,
}

impl Skew {
    /// Size of the block from `from` to `to`.
    pub fn size_bytes(self, size_bytes: u64, from: u32, to: u32) -> u64 {
        if self.amount == 0.0 {
            return size_bytes;
        }
        let key = match self.of {
            SkewOf::Pair => u64::from(from) << 32 | u64::from(to),
            SkewOf::Destination => u64::from(to),
        };
        // In integers: the same on every machine. Parts of 2^20 and 2^20 keep 2^40 bytes exact.
        let amount = (self.amount * f64::from(1 << 20)).round() as i128;
        let u = i128::from(mixed(key) >> 43) - (1 << 20);
        let size = i128::from(size_bytes);
        (size + ((size * amount * u) >> 40)) as u64
    }
}

impl Collective {
    pub(super) fn alltoall(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        match self.algorithm {
            Algorithm::Pairwise if n.is_power_of_two() => {
                self.direct(rank, index, |step| (rank ^ step, rank ^ step))
            }
            Algorithm::Pairwise | Algorithm::Linear => {
                self.direct(rank, index, |step| ((rank + step) % n, (rank + n - step) % n))
            }
            Algorithm::Bruck => self.bruck_alltoall(rank, index),
            Algorithm::Hierarchical => self.hierarchical(rank, index),
            _ => self.wrong_algorithm(),
        }
    }

    /// Blocks straight to their destinations, those of each step given by `partners`.
    fn direct(
        &self,
        rank: u32,
        index: u32,
        partners: impl Fn(u32) -> (u32, u32),
    ) -> Option<Exchange> {
        let step = index + 1;
        if step >= self.n {
            return None;
        }
        let (to, from) = partners(step);
        let send = self.block(to, rank, to);
        let recv = self.block(from, from, rank);
        let wait = self.wait_after(step);
        Some(Exchange { wait, ..Exchange::both(send, recv) })
    }

    /// The block from one rank to another, sent to (or received from) `peer`.
    fn block(&self, peer: u32, from: u32, to: u32) -> Transfer {
        let size_bytes = match self.operation {
            Operation::Alltoallv => self.skew.size_bytes(self.size_bytes, from, to),
            _ => self.size_bytes,
        };
        Transfer { peer, size_bytes, blocks: Blocks::Destinations { first: to, step: self.n } }
    }

    fn wait_after(&self, step: u32) -> Wait {
        let window = match self.algorithm {
            Algorithm::Pairwise => Some(self.window.unwrap_or(1)),
            _ => self.window,
        };
        match window {
            _ if self.barrier_every_step => Wait::Together,
            _ if step + 1 == self.n => Wait::All,
            None => Wait::No,
            Some(1) => Wait::All,
            Some(window) => Wait::AtMost { receives: window - 1, sends: window - 1 },
        }
    }

    fn bruck_alltoall(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n = self.n;
        if index >= log2_ceil(n) {
            return None;
        }
        let distance = 1u32 << index;
        // Numbers below n with this bit set: whole groups, and what the last one has of them.
        let n_blocks =
            n / (2 * distance) * distance + (n % (2 * distance)).saturating_sub(distance);
        let size_bytes = u64::from(n_blocks) * self.size_bytes;
        let message = |peer| Transfer { peer, size_bytes, blocks: Blocks::Bit(index) };
        Some(Exchange::both(message((rank + distance) % n), message((rank + n - distance) % n)))
    }

    /// Inside the node, each rank collects what goes to its own place on every node; between nodes
    /// ranks of the same place exchange it.
    fn hierarchical(&self, rank: u32, index: u32) -> Option<Exchange> {
        let (n, tasks) = (self.n, self.tasks_per_node);
        let n_nodes = n / tasks;
        let (node, task) = (rank / tasks, rank % tasks);
        let message = |peer, first, step, n_blocks: u32| Transfer {
            peer,
            size_bytes: u64::from(n_blocks) * self.size_bytes,
            blocks: Blocks::Destinations { first, step },
        };
        if index + 1 < tasks {
            let (to, from) = ((task + index + 1) % tasks, (task + tasks - index - 1) % tasks);
            let send = message(node * tasks + to, to, tasks, n_nodes);
            let recv = message(node * tasks + from, task, tasks, n_nodes);
            return Some(Exchange::both(send, recv));
        }
        let step = index + 2 - tasks;
        if step >= n_nodes {
            return None;
        }
        let to = (node + step) % n_nodes * tasks + task;
        let from = (node + n_nodes - step) % n_nodes * tasks + task;
        Some(Exchange::both(message(to, to, n, tasks), message(from, rank, n, tasks)))
    }
}
