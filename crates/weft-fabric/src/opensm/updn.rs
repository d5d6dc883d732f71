//! Paths that never go up again once they went down.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_updn.c.

use super::balance::Choices;
use super::error::RouteError;
use super::minhop::{self, NO_PATH};
use super::switches::Switches;
use std::collections::VecDeque;

/// Hops from which OpenSM's histogram of a switch looks no further.
const MAX_HOPS: usize = 64;

/// By switch its distance from the nearest root.
pub(super) fn ranks(switches: &Switches, roots: &[u64]) -> Result<Vec<u32>, RouteError> {
    let roots = if roots.is_empty() { found(switches)? } else { named(switches, roots)? };
    Ok(switches.steps_from(roots))
}

/// The switches of given GUIDs.
pub(super) fn named(switches: &Switches, roots: &[u64]) -> Result<Vec<usize>, RouteError> {
    let number = |guid: &u64| {
        let found =
            switches.guids.binary_search_by_key(&guid.swap_bytes(), |known| known.swap_bytes());
        found.map_err(|_| RouteError::UnknownRoot { guid: *guid })
    };
    let mut found: Vec<usize> = roots.iter().map(number).collect::<Result<_, _>>()?;
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Switches from which more than nine in ten adapters are equally far, and no other distance has
/// more than one in twenty.
fn found(switches: &Switches) -> Result<Vec<usize>, RouteError> {
    let n_ends: usize = switches.ends.iter().map(Vec::len).sum();
    let (most, few) = (n_ends as f64 * 0.9, n_ends as f64 * 0.05);
    let mut hops = minhop::MinHops::new(switches);
    let mut roots = Vec::new();
    for switch in 0..switches.len() {
        let mut histogram = [0; MAX_HOPS];
        for (ends, distance) in switches.ends.iter().zip(hops.least(switch)) {
            if let Some(bar) = histogram.get_mut(usize::from(*distance)) {
                *bar += ends.len();
            }
        }
        let n_above = |bound: f64| histogram.iter().filter(|bar| **bar as f64 > bound).count();
        if n_above(most) == 1 && n_above(few) == 1 {
            roots.push(switch);
        }
    }
    if roots.is_empty() {
        return Err(RouteError::NoRoot { n_switches: switches.len() });
    }
    Ok(roots)
}

/// Hops to a switch on legal paths, by link.
pub(super) struct UpDownHops<'a> {
    switches: &'a Switches,
    /// By link whether it leads up, seen from the switch it belongs to.
    is_up: Vec<bool>,
    hops: Vec<u8>,
    least: Vec<u8>,
    came_up: Vec<bool>,
    waits: Vec<bool>,
    queue: VecDeque<u32>,
}

impl<'a> UpDownHops<'a> {
    pub(super) fn new(switches: &'a Switches, ranks: &[u32]) -> UpDownHops<'a> {
        let n = switches.len();
        let mut is_up = Vec::with_capacity(switches.links.len());
        for at in 0..n {
            let up = |to: usize| leads_up(switches, ranks, at, to);
            is_up.extend(switches.links_of(at).iter().map(|link| up(link.to as usize)));
        }
        UpDownHops {
            switches,
            is_up,
            hops: vec![NO_PATH; switches.links.len()],
            least: vec![NO_PATH; n],
            came_up: vec![false; n],
            waits: vec![false; n],
            queue: VecDeque::new(),
        }
    }

    /// For every switch the cables on which `to` is nearest by legal paths.
    pub(super) fn toward(&mut self, to: usize, choices: &mut Choices) {
        self.spread(to);
        choices.clear();
        for at in 0..self.switches.len() {
            let here = self.least[at];
            if at != to && here != NO_PATH {
                let first = self.switches.first[at] as usize;
                let hops = self.hops[first..self.switches.first[at + 1] as usize].iter();
                let nearest = hops.enumerate().filter(|(_, hops)| **hops == here);
                choices.extend(nearest.map(|(index, _)| index as u8));
            }
            choices.close();
        }
    }

    /// From the destination outwards. A switch is looked at again for every cable on which it was
    /// reached anew; it goes on in the direction in which it was reached when it began to wait, as
    /// in OpenSM, so that the order of ports decides here and there.
    fn spread(&mut self, to: usize) {
        self.hops.fill(NO_PATH);
        self.least.fill(NO_PATH);
        self.least[to] = 0;
        self.came_up[to] = true;
        self.queue.push_back(to as u32);
        while let Some(at) = self.queue.pop_front() {
            let at = at as usize;
            self.waits[at] = false;
            let came_up = self.came_up[at];
            let next = self.least[at].saturating_add(1);
            let first = self.switches.first[at] as usize;
            for (link, is_up) in self.switches.links_of(at).iter().zip(&self.is_up[first..]) {
                if (*is_up && !came_up) || next >= self.hops[link.back as usize] {
                    continue;
                }
                let there = link.to as usize;
                self.hops[link.back as usize] = next;
                self.least[there] = self.least[there].min(next);
                if !self.waits[there] {
                    self.came_up[there] = *is_up;
                    self.waits[there] = true;
                    self.queue.push_back(link.to);
                }
            }
        }
    }
}

/// Whether a step from a switch to its neighbour goes up: to a lower rank; among equals to the
/// lower GUID, and between roots always.
pub(super) fn leads_up(switches: &Switches, ranks: &[u32], at: usize, to: usize) -> bool {
    match ranks[at].cmp(&ranks[to]) {
        _ if ranks[at] == 0 && ranks[to] == 0 => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Equal => switches.guids[at] > switches.guids[to],
    }
}
