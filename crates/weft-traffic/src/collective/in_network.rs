//! Collectives that switches carry out: the tasks of a node reduce to the first of them, who takes
//! part for all, and passes the result on.
//!
//! SOURCE: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)" (COMHPC 2016).

use super::{Algorithm, Collective, Operation, Part, algorithms_of, log2_ceil, tree};
use crate::exchange::{Between, Exchange, Offload, OffloadKind};

impl Collective {
    /// The same by ranks alone.
    pub(crate) fn on_hosts(&self) -> Collective {
        let algorithm = self.fallback.unwrap_or(algorithms_of(self.operation)[0]);
        Collective { algorithm, ..*self }
    }

    /// The use of slices of a node's sum, in an algorithm that has any.
    fn between(&self) -> Option<Between> {
        match self.algorithm {
            Algorithm::Nvls => Some(Between::Nothing),
            Algorithm::Collnet => Some(Between::Switches),
            Algorithm::NvlsTree => Some(Between::Trees { segment_bytes: self.segment_bytes }),
            _ => None,
        }
    }

    /// Up the node's binomial tree, through the switches, and down again. A reduce is an allreduce
    /// whose result stays with the leaders, and a broadcast one to which the root alone adds.
    pub(super) fn in_network(&self, rank: u32, index: u32) -> Option<Exchange> {
        if let Some(between) = self.between() {
            return (index == 0).then(|| {
                Exchange::offload(Offload {
                    kind: OffloadKind::Slices(between),
                    size_bytes: self.size_bytes,
                    contributes: true,
                    n_tasks: 1,
                })
            });
        }
        let (tasks, log) = (self.tasks_per_node, log2_ceil(self.tasks_per_node));
        let (task, leader) = (rank % tasks, rank - rank % tasks);
        let part = match self.operation {
            Operation::Barrier => Part::NOTHING,
            _ => Part::whole(self.size_bytes),
        };
        let (goes_up, goes_down) =
            (self.operation != Operation::Broadcast, self.operation != Operation::Reduce);
        let moved = match index {
            _ if index < log => goes_up.then(|| tree::up(tasks, task, index, |_, _| part)),
            _ if index == log => (task == 0 && tasks < self.n).then(|| {
                let copied = self.algorithm == Algorithm::Multicast;
                Exchange::offload(Offload {
                    kind: if copied { OffloadKind::Copy } else { OffloadKind::Sum },
                    size_bytes: part.size_bytes,
                    contributes: goes_up || rank == 0,
                    n_tasks: tasks,
                })
            }),
            _ if index <= 2 * log => {
                goes_down.then(|| tree::down(tasks, task, index - log - 1, |_, _| part))
            }
            _ => return None,
        };
        Some(moved.unwrap_or_default().with_peers(|peer| leader + peer))
    }
}
