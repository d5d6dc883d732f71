//! The tree that ftree sees: ranks, groups of cables, the order of leaves; and what it refuses.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_ftree.c; doc/current-routing.txt names the rules.

use super::error::{RouteError, Rule};
use super::groups::{Directions, Group};
use super::switches::{Switches, UNRANKED};
use super::updn::named;
use std::collections::{BTreeSet, VecDeque};

const MAX_LEVELS: u32 = 8;

/// Where a switch stands: its rank, then a digit for every step between it and the first leaf.
pub(super) type Index = [u8; MAX_LEVELS as usize + 1];
const NOT_INDEXED: Index = [u8::MAX; MAX_LEVELS as usize + 1];

/// A tree ready to be routed.
pub(super) struct Tree {
    /// By switch: 0 for roots.
    pub(super) ranks: Vec<u32>,
    /// By switch where it stands.
    pub(super) indices: Vec<Index>,
    pub(super) groups: Vec<Directions>,
    /// Leaves in the order of their indices, with switches of their level between them.
    pub(super) leaves: Vec<usize>,
    /// How many destinations every leaf is taken to have: as many as the fullest one.
    pub(super) n_per_leaf: usize,
}

impl Tree {
    pub(super) fn new(switches: &Switches, roots: &[u64]) -> Result<Tree, RouteError> {
        check_size(switches)?;
        let ranks = if roots.is_empty() {
            ranks_from_leaves(switches)
        } else {
            switches.steps_from(named(switches, roots)?)
        };
        check_connected(switches, &ranks)?;
        let leaf_rank = leaf_rank(switches, &ranks, !roots.is_empty())?;
        let groups = (0..switches.len()).map(|at| Directions::of(switches, &ranks, at)).collect();
        let indices = vec![NOT_INDEXED; switches.len()];
        let mut tree = Tree { ranks, indices, groups, leaves: Vec::new(), n_per_leaf: 0 };
        tree.index(switches, leaf_rank);
        tree.collect_leaves(switches, leaf_rank)?;
        if roots.is_empty() {
            tree.check_regular(switches, leaf_rank)?;
        }
        Ok(tree)
    }

    /// Give every switch between leaves and roots its index, and sort all groups by it.
    fn index(&mut self, switches: &Switches, leaf_rank: u32) {
        let indices = &mut self.indices;
        let mut taken = BTreeSet::new();
        let Some(first) = (0..switches.len()).find(|at| !switches.ends[*at].is_empty()) else {
            return;
        };
        indices[first][..=leaf_rank as usize].fill(0);
        indices[first][0] = leaf_rank as u8;
        taken.insert(indices[first]);
        let mut queue = VecDeque::from([first]);
        while let Some(at) = queue.pop_front() {
            let directions = &mut self.groups[at];
            if self.ranks[at] < leaf_rank {
                let mut next = indices[at];
                next[0] = next[0].saturating_add(1);
                let digit = usize::from(indices[at][0]) + 1;
                queue.extend(number(&directions.down, indices, &mut taken, next, digit));
                directions.down.sort_by_key(|group| indices[group.to as usize]);
            }
            if self.ranks[at] != 0 {
                let mut next = indices[at];
                next[0] = next[0].saturating_sub(1);
                let digit = usize::from(indices[at][0]);
                queue.extend(number(&directions.up, indices, &mut taken, next, digit));
                directions.up.sort_by_key(|group| indices[group.to as usize]);
            }
        }
    }

    fn collect_leaves(&mut self, switches: &Switches, leaf_rank: u32) -> Result<(), RouteError> {
        let level = (0..switches.len()).filter(|at| self.ranks[*at] == leaf_rank);
        let mut leaves: Vec<usize> = level.collect();
        leaves.sort_by_key(|at| self.indices[*at]);
        let is_leaf = |at: &usize| !switches.ends[*at].is_empty();
        let first = leaves.iter().position(is_leaf).unwrap_or(0);
        let last = leaves.iter().rposition(is_leaf).unwrap_or(0);
        if first >= last {
            let names = leaves.iter().map(|at| switches.names[*at].clone()).collect();
            let what = "there are not two switches with channel adapters".to_owned();
            return Err(refuse(Rule::Size, what, names));
        }
        self.leaves = leaves[first..=last].to_vec();
        let per_leaf = self.leaves.iter().map(|at| switches.ends[*at].len());
        self.n_per_leaf = per_leaf.max().unwrap_or(0);
        Ok(())
    }

    /// Every switch against the first one of its rank.
    fn check_regular(&self, switches: &Switches, leaf_rank: u32) -> Result<(), RouteError> {
        let mut pattern = [None; MAX_LEVELS as usize];
        for at in 0..switches.len() {
            let rank = self.ranks[at];
            let Some(first) = pattern[rank as usize] else {
                pattern[rank as usize] = Some(at);
                continue;
            };
            let pair = Pair { tree: self, switches, first, at };
            pair.same_number(Rule::UpGroups, |groups| &groups.up)?;
            if rank != leaf_rank {
                pair.same_number(Rule::DownGroups, |groups| &groups.down)?;
            }
            pair.same_width(Rule::UpWidth, |groups| &groups.up, usize::MAX)?;
            if rank != leaf_rank {
                // OpenSM looks at the first downward group only, as often as there are groups.
                pair.same_width(Rule::DownWidth, |groups| &groups.down, 1)?;
            }
        }
        Ok(())
    }
}

/// Index those switches of the groups that have none: `next` with the first free `digit`.
fn number(
    groups: &[Group],
    indices: &mut [Index],
    taken: &mut BTreeSet<Index>,
    mut next: Index,
    digit: usize,
) -> Vec<usize> {
    let mut found = Vec::new();
    let mut free = 0..u8::MAX;
    for to in groups.iter().map(|group| group.to as usize) {
        if indices[to] != NOT_INDEXED {
            continue;
        }
        let index = free.find_map(|value| {
            next[digit] = value;
            taken.insert(next).then_some(next)
        });
        indices[to] = index.unwrap_or(NOT_INDEXED);
        found.extend(index.map(|_| to));
    }
    found
}

/// A switch and the one that serves its rank as pattern.
struct Pair<'a> {
    tree: &'a Tree,
    switches: &'a Switches,
    first: usize,
    at: usize,
}

impl Pair<'_> {
    fn same_number(
        &self,
        rule: Rule,
        side: impl Fn(&Directions) -> &Vec<Group>,
    ) -> Result<(), RouteError> {
        let count = |at: usize| side(&self.tree.groups[at]).len();
        let numbers = [count(self.first), count(self.at)];
        if numbers[0] == numbers[1] { Ok(()) } else { Err(self.broken(rule, numbers, "switches")) }
    }

    fn same_width(
        &self,
        rule: Rule,
        side: impl Fn(&Directions) -> &Vec<Group>,
        limit: usize,
    ) -> Result<(), RouteError> {
        let Some(pattern) = side(&self.tree.groups[self.first]).first() else { return Ok(()) };
        let wanted = pattern.cables.len();
        let mut widths =
            side(&self.tree.groups[self.at]).iter().take(limit).map(|group| group.cables.len());
        match widths.find(|width| *width != wanted) {
            None => Ok(()),
            Some(width) => Err(self.broken(rule, [wanted, width], "cables to one switch")),
        }
    }

    fn broken(&self, rule: Rule, numbers: [usize; 2], of_what: &str) -> RouteError {
        let names = [self.first, self.at].map(|at| self.switches.names[at].clone());
        let side = match rule {
            Rule::UpGroups | Rule::UpWidth => "above",
            _ => "below",
        };
        let [wanted, found] = numbers;
        let rank = self.tree.ranks[self.at];
        let what = format!(
            "at rank {rank}, '{}' has {found} {of_what} {side} it and '{}' has {wanted}",
            names[1], names[0]
        );
        RouteError::NotATree { rule, what, nodes: names.to_vec() }
    }
}

fn refuse(rule: Rule, what: String, nodes: Vec<String>) -> RouteError {
    RouteError::NotATree { rule, what, nodes }
}

fn check_size(switches: &Switches) -> Result<(), RouteError> {
    let (n, n_others, n_adapters) = (switches.len(), switches.n_others, switches.n_adapters);
    if switches.lmc > 0 {
        return Err(refuse(Rule::Size, format!("the LMC is {}", switches.lmc), Vec::new()));
    }
    if n < 2 || n_others < 2 || n_adapters < 2 || switches.ends.iter().all(Vec::is_empty) {
        let what = format!("{n} switches and {n_adapters} channel adapters");
        return Err(refuse(Rule::Size, what, Vec::new()));
    }
    if let Some(pair) = switches.adapter_pairs.first() {
        let what = format!("'{}' is cabled to '{}'", pair[0], pair[1]);
        return Err(refuse(Rule::AdapterToAdapter, what, pair.to_vec()));
    }
    Ok(())
}

fn check_connected(switches: &Switches, ranks: &[u32]) -> Result<(), RouteError> {
    let lost: Vec<&String> =
        switches.names.iter().zip(ranks).filter(|(_, r)| **r == UNRANKED).map(|(n, _)| n).collect();
    let Some(first) = lost.first() else { return Ok(()) };
    let what = format!("{} switches are out of reach, '{first}' for one", lost.len());
    Err(refuse(Rule::Connected, what, lost.into_iter().cloned().collect()))
}

/// Switches farthest from those with adapters are roots, and ranks are distances from them.
fn ranks_from_leaves(switches: &Switches) -> Vec<u32> {
    let leaves = (0..switches.len()).filter(|at| !switches.ends[*at].is_empty()).collect();
    let heights = switches.steps_from(leaves);
    let top = heights.iter().copied().filter(|height| *height != UNRANKED).max();
    let roots = heights.iter().enumerate().filter(|(_, height)| Some(**height) == top);
    switches.steps_from(roots.map(|(at, _)| at).collect())
}

/// The rank of the switches with adapters: one for all of them; the last one, unless roots were
/// given.
fn leaf_rank(switches: &Switches, ranks: &[u32], is_given: bool) -> Result<u32, RouteError> {
    let with_ends = |at: &usize| !switches.ends[*at].is_empty();
    let mut leaves = (0..switches.len()).filter(with_ends);
    let deepest = (0..switches.len()).max_by_key(|at| ranks[*at]).unwrap_or(0);
    let pattern = if is_given { leaves.clone().next().unwrap_or(0) } else { deepest };
    let rank = ranks[pattern];
    if !(2..=MAX_LEVELS).contains(&(rank + 1)) {
        let what = format!("there are {} levels of switches", rank + 1);
        return Err(refuse(Rule::Levels, what, vec![switches.names[pattern].clone()]));
    }
    if let Some(other) = leaves.find(|at| ranks[*at] != rank) {
        let names = [pattern, other].map(|at| switches.names[at].clone());
        let what = format!(
            "'{}' has channel adapters at rank {}, while '{}' is at rank {rank}",
            names[1], ranks[other], names[0]
        );
        return Err(refuse(Rule::LeafLevel, what, names.to_vec()));
    }
    Ok(rank)
}
