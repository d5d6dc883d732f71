//! The leaf switches, also where a host is cabled to a spine or all hosts of a leaf are down.

use super::host::is_aggregation_node;
use super::{Kind, Subnet};
use std::collections::HashSet;

/// Fewer than one in so many of the fullest leaf's adapters are a guest at a spine (a host that
/// manages the subnet), no leaf.
const GUESTS: u32 = 10;

impl Subnet {
    /// The switches, by node, that hosts are cabled to, and those that only lack them: a leaf whose
    /// hosts are all down has the same up-links as its siblings, and nothing at half of its ports
    /// or more. Adapters need no LID for this: a subnet manager may not have come by yet.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let n_hosts = self.hosts_by_switch();
        let fullest = n_hosts.iter().copied().max().unwrap_or(0);
        let is_full = |switch: usize| n_hosts[switch] * GUESTS >= fullest.max(1);
        let is_guest = |switch: usize| {
            let mut there = self.switches_at(switch).peekable();
            !is_full(switch) && there.peek().is_some() && there.all(is_full)
        };
        let with_hosts = (0..self.nodes.len()).filter(|switch| n_hosts[*switch] > 0);
        let mut found: Vec<usize> = with_hosts.filter(|switch| !is_guest(*switch)).collect();
        let up_links: HashSet<Vec<usize>> = found.iter().map(|leaf| self.up_links(*leaf)).collect();
        let is_empty_leaf = |switch: &usize| {
            let there = self.up_links(*switch);
            self.nodes[*switch].is_switch()
                && n_hosts[*switch] == 0
                && !there.is_empty()
                && there.len() * 2 <= self.nodes[*switch].ports.len()
                && up_links.contains(&there)
        };
        found.extend((0..self.nodes.len()).filter(is_empty_leaf));
        found
    }

    fn hosts_by_switch(&self) -> Vec<u32> {
        let mut n_hosts = vec![0u32; self.nodes.len()];
        for node in self.nodes.iter().filter(|node| node.kind == Kind::Ca) {
            if is_aggregation_node(&node.description) {
                continue;
            }
            for peer in node.ports.iter().filter_map(|port| port.peer) {
                n_hosts[peer.node as usize] +=
                    u32::from(self.nodes[peer.node as usize].is_switch());
            }
        }
        n_hosts
    }

    /// The switches at the ports of a node, once a cable.
    pub(super) fn switches_at(&self, node: usize) -> impl Iterator<Item = usize> + '_ {
        let peers = self.nodes[node].ports.iter().filter_map(|port| port.peer);
        peers.map(|peer| peer.node as usize).filter(|there| self.nodes[*there].is_switch())
    }

    fn up_links(&self, switch: usize) -> Vec<usize> {
        let mut there: Vec<usize> = self.switches_at(switch).collect();
        there.sort_unstable();
        there
    }
}
