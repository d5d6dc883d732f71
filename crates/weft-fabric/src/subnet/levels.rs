//! How high a switch is: cables to the nearest host.

use super::host::is_aggregation_node;
use super::{Kind, Subnet};

impl Subnet {
    /// By node: 0 for hosts' channel adapters, for switches how many cables lead to the nearest;
    /// none where no way leads to a host. The aggregation engines of switches are no hosts.
    pub fn levels(&self) -> Vec<Option<u32>> {
        let mut levels: Vec<Option<u32>> = vec![None; self.nodes.len()];
        let is_host = |index: &usize| {
            let node = &self.nodes[*index];
            node.kind == Kind::Ca && !is_aggregation_node(&node.description)
        };
        let mut frontier: Vec<usize> = (0..self.nodes.len()).filter(is_host).collect();
        frontier.iter().for_each(|index| levels[*index] = Some(0));
        let mut level = 0;
        while !frontier.is_empty() {
            level += 1;
            let mut next = Vec::new();
            for index in frontier {
                for peer in self.nodes[index].ports.iter().filter_map(|port| port.peer) {
                    let there = peer.node as usize;
                    if levels[there].is_none() && self.nodes[there].is_switch() {
                        levels[there] = Some(level);
                        next.push(there);
                    }
                }
            }
            frontier = next;
        }
        levels
    }
}
