//! The two sides of a tree's switches: cables between switches of a tree lead up or down, so that
//! levels alternate.

use super::Subnet;
use std::collections::BTreeSet;

/// The other side has at most one host for so many of the leaves'.
const OTHER_SIDE: u64 = 2;

/// Each switch's part of the subnet and its side there.
pub(super) struct Sides {
    /// By node the number of its part, and its side; none for adapters.
    of: Vec<Option<(usize, bool)>>,
    /// By part the side of the leaves; none where links do not tell it.
    leaves: Vec<Option<bool>>,
}

impl Sides {
    /// The sides of all parts: leaves are on the side of most hosts, where it is clear.
    pub(super) fn of(subnet: &Subnet, n_hosts: &[u32]) -> Sides {
        let mut sides = Sides { of: vec![None; subnet.nodes.len()], leaves: Vec::new() };
        for first in 0..subnet.nodes.len() {
            if subnet.nodes[first].is_switch() && sides.of[first].is_none() {
                let leaves = sides.walk(subnet, n_hosts, first);
                sides.leaves.push(leaves);
            }
        }
        sides
    }

    /// The part of a switch.
    pub(super) fn part(&self, switch: usize) -> usize {
        self.of[switch].map_or(usize::MAX, |(part, _)| part)
    }

    /// Whether a switch is on the other side than the leaves; none where links do not tell.
    pub(super) fn is_above(&self, switch: usize) -> Option<bool> {
        let (part, side) = self.of[switch]?;
        self.leaves[part].map(|leaves| side != leaves)
    }

    /// Number the part of a switch; the side of its leaves.
    fn walk(&mut self, subnet: &Subnet, n_hosts: &[u32], first: usize) -> Option<bool> {
        let part = self.leaves.len();
        let (mut hosts, mut n_switches, mut is_tree) = ([0u64; 2], [0usize; 2], true);
        let mut n_pairs = 0;
        self.of[first] = Some((part, false));
        let mut stack = vec![first];
        while let Some(switch) = stack.pop() {
            let (_, side) = self.of[switch]?;
            hosts[usize::from(side)] += u64::from(n_hosts[switch]);
            n_switches[usize::from(side)] += 1;
            let there: BTreeSet<usize> = subnet.switches_at(switch).collect();
            n_pairs += there.len();
            for next in there {
                match self.of[next] {
                    None => {
                        self.of[next] = Some((part, !side));
                        stack.push(next);
                    }
                    Some((_, there)) => is_tree &= there != side,
                }
            }
        }
        let leaves = hosts[1] > hosts[0];
        let [most, few] = [leaves, !leaves].map(|side| hosts[usize::from(side)]);
        let [below, above] = [leaves, !leaves].map(|side| n_switches[usize::from(side)]);
        // One leaf below one switch looks the same from both ends.
        let is_clear = few == 0 || below > 1 && few * OTHER_SIDE <= most;
        // Nearly all of one side are joined to all of the other, and more switches have more hosts.
        let is_dense = n_pairs * 2 >= below * above * 3 && above > 1;
        let is_spine_leaf = is_dense && below > above && few < most;
        (is_tree && (is_clear || is_spine_leaf)).then_some(leaves)
    }
}
