//! Distances between switches, as a subnet manager's lid matrix has them.

use super::balance::Choices;
use super::switches::Switches;
use std::collections::VecDeque;

/// No path, or one of too many hops for a byte.
pub(super) const NO_PATH: u8 = 255;

/// Fewest hops to a switch from every other.
pub(super) struct MinHops<'a> {
    switches: &'a Switches,
    least: Vec<u8>,
    queue: VecDeque<u32>,
}

impl<'a> MinHops<'a> {
    pub(super) fn new(switches: &'a Switches) -> MinHops<'a> {
        MinHops { switches, least: vec![NO_PATH; switches.len()], queue: VecDeque::new() }
    }

    /// By switch the fewest hops to `to`.
    pub(super) fn least(&mut self, to: usize) -> &[u8] {
        self.least.fill(NO_PATH);
        self.least[to] = 0;
        self.queue.push_back(to as u32);
        while let Some(at) = self.queue.pop_front() {
            let next = self.least[at as usize] + 1;
            for link in self.switches.links_of(at as usize) {
                let there = &mut self.least[link.to as usize];
                if next < *there {
                    *there = next;
                    self.queue.push_back(link.to);
                }
            }
        }
        &self.least
    }

    /// For every switch the cables on which `to` is nearest.
    pub(super) fn toward(&mut self, to: usize, choices: &mut Choices) {
        self.least(to);
        choices.clear();
        for at in 0..self.switches.len() {
            let here = self.least[at];
            if here != NO_PATH {
                let links = self.switches.links_of(at).iter().enumerate();
                let nearer = links
                    .filter(|(_, link)| self.least[link.to as usize].saturating_add(1) == here);
                choices.extend(nearer.map(|(index, _)| index as u8));
            }
            choices.close();
        }
    }
}
