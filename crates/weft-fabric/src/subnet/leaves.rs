//! The leaf switches, found by links: hosts may hang at spines, and those of a leaf may be down.

use super::host::is_aggregation_node;
use super::sides::Sides;
use super::{Kind, Subnet};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Where links decide nothing, fewer than one in so many of the fullest leaf's adapters are a
/// guest at a spine (a host that manages the subnet), no leaf.
const GUESTS: u32 = 10;

impl Subnet {
    /// The switches, by node, that hosts are cabled to, and those that only lack them: a leaf whose
    /// hosts are all down has the same up-links as its siblings, and nothing at half of its ports
    /// or more. Switches with hosts that links put above leaves are none. Adapters need no LID for
    /// this: a subnet manager may not have come by yet.
    pub(super) fn leaves(&self) -> Vec<usize> {
        let n_hosts = self.hosts_by_switch();
        let above = self.above_leaves(&n_hosts);
        let with_hosts = (0..self.nodes.len()).filter(|switch| n_hosts[*switch] > 0);
        let mut found: Vec<usize> = with_hosts.filter(|switch| !above[*switch]).collect();
        let up_links: HashSet<Vec<usize>> =
            found.iter().map(|leaf| self.sorted_switches_at(*leaf)).collect();
        let is_empty_leaf = |switch: &usize| {
            let there = self.sorted_switches_at(*switch);
            self.nodes[*switch].is_switch()
                && n_hosts[*switch] == 0
                && !above[*switch]
                && !there.is_empty()
                && there.len() * 2 <= self.nodes[*switch].ports.len()
                && (up_links.contains(&there)
                    || up_links.iter().any(|whole| is_most_of(&there, whole)))
        };
        found.extend((0..self.nodes.len()).filter(is_empty_leaf));
        found
    }

    /// By node, whether it is a switch above leaves: on the side of a tree's switches that has few
    /// of the hosts, or a core that reaches the leaves of all pods.
    fn above_leaves(&self, n_hosts: &[u32]) -> Vec<bool> {
        let sides = Sides::of(self, n_hosts);
        let fullest = n_hosts.iter().copied().max().unwrap_or(0);
        let is_full = |switch: usize| n_hosts[switch] * GUESTS >= fullest.max(1);
        let mut above: Vec<bool> = (0..self.nodes.len())
            .map(|switch| match sides.is_above(switch) {
                Some(is_above) => is_above,
                // Switches of one level are joined, as in a torus: guests are few, and among full.
                None => {
                    let mut there = self.switches_at(switch).peekable();
                    n_hosts[switch] > 0
                        && !is_full(switch)
                        && there.peek().is_some()
                        && there.all(is_full)
                }
            })
            .collect();
        for core in self.cores_with_hosts(n_hosts, &sides) {
            above[core] = true;
        }
        above
    }

    /// Switches with fewer hosts than leaves have, two cables from full leaves of several pods: the
    /// leaves of a pod are two cables from one another alone.
    fn cores_with_hosts(&self, n_hosts: &[u32], sides: &Sides) -> Vec<usize> {
        let mut parts: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for switch in (0..self.nodes.len()).filter(|switch| n_hosts[*switch] > 0) {
            if sides.is_above(switch) == Some(false) {
                parts.entry(sides.part(switch)).or_default().push(switch);
            }
        }
        let mut cores = Vec::new();
        for part in parts.values() {
            let fullest = part.iter().map(|switch| n_hosts[*switch]).max().unwrap_or(0);
            let (full, few): (Vec<usize>, Vec<usize>) =
                part.iter().partition(|switch| n_hosts[**switch] * 4 > fullest * 3);
            if few.is_empty() {
                continue;
            }
            let pods = self.pods(&full);
            let n_pods = |switch: &usize| {
                let near = self.two_away(*switch);
                near.iter().filter_map(|leaf| pods.get(leaf)).collect::<BTreeSet<_>>().len()
            };
            cores.extend(few.into_iter().filter(|switch| n_pods(switch) > 1));
        }
        cores
    }

    /// By leaf the first leaf of its pod: those that are two cables from one another.
    fn pods(&self, leaves: &[usize]) -> BTreeMap<usize, usize> {
        let all: BTreeSet<usize> = leaves.iter().copied().collect();
        let mut pods = BTreeMap::new();
        for first in leaves {
            let mut stack = vec![*first];
            while let Some(leaf) = stack.pop() {
                if let Entry::Vacant(free) = pods.entry(leaf) {
                    free.insert(*first);
                    stack.extend(self.two_away(leaf).intersection(&all));
                }
            }
        }
        pods
    }

    /// Switches that are two cables away, and the switch itself.
    pub(super) fn two_away(&self, switch: usize) -> BTreeSet<usize> {
        let between: BTreeSet<usize> = self.switches_at(switch).collect();
        between.into_iter().flat_map(|next| self.switches_at(next)).chain([switch]).collect()
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

    pub(super) fn sorted_switches_at(&self, node: usize) -> Vec<usize> {
        let mut there: Vec<usize> = self.switches_at(node).collect();
        there.sort_unstable();
        there
    }
}

/// Whether one sorted list is in another, and has half of it or more: cables are missing.
pub(super) fn is_most_of(part: &[usize], whole: &[usize]) -> bool {
    let mut remaining = whole.iter();
    part.len() * 2 >= whole.len() && part.iter().all(|it| remaining.any(|there| there == it))
}
