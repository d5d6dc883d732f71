//! Collectives node by node: the tasks of a node reduce or gather to the first of them, the leaders
//! exchange, and each passes the result on to its node.
//!
//! SOURCE: Mamidala, Kumar, De, Panda, "MPI Collectives on Modern Multicore Clusters: Performance
//! Optimizations and Communication Characteristics" (CCGrid 2008).

use super::{Collective, Operation, Part, algorithms_of, log2_ceil, tree};
use crate::exchange::{Blocks, Exchange, Transfer};

impl Collective {
    /// The collective of the leaders, one a node. An allgather's block is a node's.
    pub(super) fn of_leaders(&self) -> Collective {
        let algorithm = self.between.unwrap_or(algorithms_of(self.operation)[0]);
        let n_parts = match self.operation {
            Operation::Allgather => self.tasks_per_node,
            _ => 1,
        };
        Collective {
            algorithm,
            n: self.n / self.tasks_per_node,
            size_bytes: self.size_bytes * u64::from(n_parts),
            tasks_per_node: 1,
            between: None,
            ..*self
        }
    }

    /// Up the node's binomial tree, between leaders, and down the tree again. Ranks that are no
    /// leaders have no moves in the middle.
    pub(super) fn two_level(&self, rank: u32, index: u32) -> Option<Exchange> {
        let tasks = self.tasks_per_node;
        let (task, leader) = (rank % tasks, rank - rank % tasks);
        let log = log2_ceil(tasks);
        let n_up = if self.operation == Operation::Broadcast { 0 } else { log };
        let n_down = if self.operation == Operation::Reduce { 0 } else { log };
        let up = |first, count| match self.operation {
            Operation::Barrier => Part::NOTHING,
            Operation::Allgather => Part::blocks(self.size_bytes, leader + first, count),
            _ => Part::whole(self.size_bytes),
        };
        let down = match self.operation {
            Operation::Barrier => Part::NOTHING,
            Operation::Allgather => Part::blocks(self.size_bytes, 0, self.n),
            _ => Part::whole(self.size_bytes),
        };
        let in_node = |moved: Exchange| moved.with_peers(|peer| leader + peer);
        if index < n_up {
            return Some(in_node(tree::up(tasks, task, index, up)));
        }
        let leaders = self.of_leaders();
        let mut passed = n_up;
        if task == 0 {
            if let Some(moved) = leaders.exchange(rank / tasks, u64::from(index - n_up)) {
                return Some(self.as_ranks(moved));
            }
            passed += leaders.n_moves(rank / tasks);
        }
        let index = index - passed;
        (index < n_down).then(|| in_node(tree::down(tasks, task, index, |_, _| down)))
    }

    /// A move of leaders as one of ranks.
    fn as_ranks(&self, moved: Exchange) -> Exchange {
        let tasks = self.tasks_per_node;
        let of_ranks = |blocks| match blocks {
            Blocks::Range { first, count } if self.operation == Operation::Allgather => {
                Blocks::Range { first: first * tasks, count: count * tasks }
            }
            other => other,
        };
        let renamed = |transfer: Transfer| Transfer {
            peer: transfer.peer * tasks,
            blocks: of_ranks(transfer.blocks),
            ..transfer
        };
        Exchange { send: moved.send.map(renamed), recv: moved.recv.map(renamed), ..moved }
    }
}
