//! How ftree hands out routes: up from a destination along the least loaded cables, and from every
//! switch on the path down to all others.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_ftree.c. A route "down" is one toward the destination, and its
//! cable is chosen where the walk goes up; a route "up" is chosen where the walk goes down.

use super::ftree::{Index, Tree};
use super::groups::Group;
use super::switches::Switches;
use crate::subnet::lfts::NO_PORT;

/// No path yet; paths of so many hops are not followed either.
const UNSET: u8 = u8::MAX;
/// The LID that stands for an adapter that is missing.
const MISSING: u16 = 0;

/// The tables of all switches of a tree.
pub(super) fn rows(switches: &Switches, tree: Tree) -> Vec<Vec<u8>> {
    let n = switches.len();
    let leaves = tree.leaves.clone();
    let mut walk = Walk {
        switches,
        changed: vec![false; n],
        hops: vec![UNSET; n],
        rows: switches.empty_rows(),
        tree,
    };
    for leaf in leaves {
        let ends = &switches.ends[leaf];
        for end in ends.iter().filter(|end| end.lid > 0) {
            walk.start(leaf, end.lid, end.port, 1);
            walk.go_up(leaf, None, end.lid, true, 1);
        }
        // Places of adapters that are missing here take their share of cables all the same.
        for _ in ends.len()..walk.tree.n_per_leaf {
            walk.start(leaf, MISSING, NO_PORT, 1);
            walk.go_up(leaf, None, MISSING, true, 1);
            walk.rows.iter_mut().for_each(|row| row[usize::from(MISSING)] = NO_PORT);
        }
    }
    for at in 0..n {
        let lid = switches.lids[at];
        walk.start(at, lid, 0, 0);
        walk.go_up(at, None, lid, false, 0);
    }
    walk.rows
}

struct Walk<'a> {
    switches: &'a Switches,
    tree: Tree,
    /// By switch whether its groups' routes up have changed since it sorted them.
    changed: Vec<bool>,
    /// By switch how many hops it has to the current destination.
    hops: Vec<u8>,
    rows: Vec<Vec<u8>>,
}

impl Walk<'_> {
    fn start(&mut self, at: usize, lid: u16, port: u8, hops: u8) {
        self.hops.fill(UNSET);
        self.hops[at] = hops;
        self.rows[at][usize::from(lid)] = port;
    }

    /// Let the switch at the other end of a cable send there what is for `lid`.
    fn set(&mut self, to: usize, lid: u16, port: u8, hops: u8) {
        self.rows[to][usize::from(lid)] = port;
        self.hops[to] = hops;
    }

    /// Whether a switch has a path to `lid` that is no longer than this one.
    fn is_routed(&self, to: usize, lid: u16, hops: u8) -> bool {
        self.rows[to][usize::from(lid)] != NO_PORT && hops >= self.hops[to]
    }

    /// Give all switches below (and on its rank) a route up to this one. Whether an adapter is
    /// below.
    fn go_down(&mut self, at: usize, from: Option<usize>, lid: u16, hops: u8) -> bool {
        let mut found = !self.switches.ends[at].is_empty();
        let n_down = self.tree.groups[at].down.len();
        if n_down == 0 && !found {
            return false;
        }
        self.sort_by_routes_up(at);
        let n_level = if lid == MISSING { 0 } else { self.tree.groups[at].level.len() };
        let next = hops.saturating_add(1);
        for index in 0..n_down + n_level {
            let group = self.below(at, index);
            let to = group.to as usize;
            if from == Some(to) || next >= self.hops[to] {
                continue;
            }
            let chosen = group.least_up();
            self.set(to, lid, group.cables[chosen].to_port, next);
            if self.go_down(to, None, lid, next) {
                found = true;
                // INVARIANT: the group is found by its switch, however the recursion sorted.
                let group = self.group_below(at, to, index);
                group.cables[chosen].n_up += 1;
                group.n_up += 1;
                self.changed[at] = true;
            }
        }
        found
    }

    /// Groups below and then those on the same rank, in their current order.
    fn below(&self, at: usize, index: usize) -> &Group {
        let directions = &self.tree.groups[at];
        let n_down = directions.down.len();
        match directions.down.get(index) {
            Some(group) => group,
            None => &directions.level[index - n_down],
        }
    }

    fn group_below(&mut self, at: usize, to: usize, index: usize) -> &mut Group {
        let directions = &mut self.tree.groups[at];
        let is_below = index < directions.down.len();
        let groups = if is_below { &mut directions.down } else { &mut directions.level };
        let found = groups.iter().position(|group| group.to as usize == to);
        &mut groups[found.expect("groups are sorted, never taken away")]
    }

    fn sort_by_routes_up(&mut self, at: usize) {
        let indices = &self.tree.indices;
        let key = |group: &Group| (group.n_up, indices[group.to as usize]);
        let directions = &mut self.tree.groups[at];
        if std::mem::take(&mut self.changed[at]) {
            directions.down.sort_by_key(key);
        }
        directions.level.sort_by_key(key);
    }

    fn by_routes_down(indices: &[Index]) -> impl Fn(&Group) -> (u32, Index) + '_ {
        |group| (group.n_down, indices[group.to as usize])
    }

    /// Give this switch's neighbours above (and on its rank) the route down to it, and so on to the
    /// roots. Only `main` paths count.
    fn go_up(&mut self, at: usize, from: Option<usize>, lid: u16, main: bool, hops: u8) -> bool {
        let mut found = self.go_down(at, from, lid, hops);
        let next = hops.saturating_add(1);
        if self.tree.ranks[at] == 0 || self.tree.groups[at].up.is_empty() || next == UNSET {
            return found;
        }
        self.tree.groups[at].up.sort_by_key(Self::by_routes_down(&self.tree.indices));
        let main_to = self.tree.groups[at].up[0].to as usize;
        if main {
            let group = &mut self.tree.groups[at].up[0];
            let chosen = group.least_down();
            group.n_down += 1;
            group.cables[chosen].n_down += 1;
            let port = group.cables[chosen].to_port;
            if !self.is_routed(main_to, lid, next) {
                self.set(main_to, lid, port, next);
            }
            found |= self.go_up(main_to, Some(at), lid, true, next);
        }
        for index in usize::from(main)..self.tree.groups[at].up.len() {
            let group = &self.tree.groups[at].up[index];
            let (to, port) = (group.to as usize, group.cables[group.least_down()].to_port);
            if !self.is_routed(to, lid, next) {
                self.set(to, lid, port, next);
                found |= self.go_up(to, Some(at), lid, false, next);
            }
        }
        found | self.go_across(at, main_to, lid, next)
    }

    /// The same for switches of the same rank.
    fn go_across(&mut self, at: usize, main_to: usize, lid: u16, next: u8) -> bool {
        self.tree.groups[at].level.sort_by_key(Self::by_routes_down(&self.tree.indices));
        let mut found = false;
        for index in 0..self.tree.groups[at].level.len() {
            let group = &self.tree.groups[at].level[index];
            let (to, chosen) = (group.to as usize, group.least_down());
            if self.is_routed(to, lid, next) {
                continue;
            }
            self.set(to, lid, group.cables[chosen].to_port, next);
            if self.go_up(to, Some(at), lid, false, next) {
                found = true;
                // As OpenSM counts it: the cable here, but the group that leads up.
                let directions = &mut self.tree.groups[at];
                let above = directions.up.iter_mut().find(|group| group.to as usize == main_to);
                above.into_iter().for_each(|group| group.n_down += 1);
                let same_rank = directions.level.iter_mut().find(|group| group.to as usize == to);
                same_rank.into_iter().for_each(|group| group.cables[chosen].n_down += 1);
            }
        }
        found
    }
}
