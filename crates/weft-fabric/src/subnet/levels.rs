//! Levels of switches: cables to the nearest leaf.

use super::host::is_aggregation_node;
use super::leaves::is_most_of;
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
        for (switch, level) in self.without_any_below(&levels) {
            levels[switch] = Some(level);
        }
        levels
    }

    /// Switches that lost all cables to lower switches, and the level that they had: all that is
    /// left are the up-links of a switch two levels lower, and half of the ports or more are empty.
    /// An empty leaf is known in the same way.
    fn without_any_below(&self, levels: &[Option<u32>]) -> Vec<(usize, u32)> {
        let has_only = |switch: usize, level: u32| {
            self.switches_at(switch).all(|next| levels[next] == Some(level))
        };
        let mut found = Vec::new();
        for switch in 0..self.nodes.len() {
            let Some(level) = levels[switch].filter(|level| *level > 3) else { continue };
            let ports = &self.nodes[switch].ports;
            let n_used = ports.iter().filter(|port| port.peer.is_some()).count();
            if n_used * 2 > ports.len() || !has_only(switch, level - 1) {
                continue;
            }
            let own = self.sorted_switches_at(switch);
            let is_like = |other: &usize| {
                let mut theirs = self.sorted_switches_at(*other);
                theirs.retain(|next| levels[*next] == Some(level - 1));
                levels[*other] == Some(level - 2) && is_most_of(&own, &theirs)
            };
            if self.two_away(switch).iter().any(is_like) {
                found.push((switch, level - 2));
            }
        }
        found
    }
}
