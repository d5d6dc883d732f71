//! Levels of switches: cables to the nearest leaf.

use super::host::is_aggregation_node;
use super::{Kind, Subnet};

impl Subnet {
    /// By node: 0 for hosts' channel adapters, 1 for leaves, and one more for every cable from
    /// there; none where no path leads. The aggregation engines of switches are no hosts.
    pub fn levels(&self) -> Vec<Option<u32>> {
        let mut levels: Vec<Option<u32>> = vec![None; self.nodes.len()];
        let is_host = |index: &usize| {
            let node = &self.nodes[*index];
            node.kind == Kind::Ca && !is_aggregation_node(&node.description)
        };
        for index in (0..self.nodes.len()).filter(is_host) {
            levels[index] = Some(0);
        }
        let mut frontier = self.leaves();
        let mut level = 1;
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for index in frontier {
                if levels[index].is_none() {
                    levels[index] = Some(level);
                    next.extend(self.switches_at(index));
                }
            }
            frontier = next;
            level += 1;
        }
        levels
    }
}
