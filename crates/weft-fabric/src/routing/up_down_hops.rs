//! Fewest hops on paths that never go up again once they went down, searched as OpenSM does.
//!
//! SOURCE: OpenSM 3.3.23, osm_ucast_updn.c.

use std::collections::VecDeque;

/// No path.
pub(crate) const NO_PATH: u16 = u16::MAX;

/// A cable between two switches, seen from one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// The switch at the other end.
    pub(crate) to: u32,
    /// The same cable seen from there, counted over all switches.
    pub(crate) back: u32,
    /// Whether it leads up.
    pub(crate) is_up: bool,
}

/// Hops to one switch at a time, by cable.
#[derive(Debug)]
pub(crate) struct UpDownHops {
    /// The steps of switch `s`, in port order, are `steps[first[s]..first[s + 1]]`.
    first: Vec<u32>,
    steps: Vec<Step>,
    hops: Vec<u16>,
    least: Vec<u16>,
    came_up: Vec<bool>,
    waits: Vec<bool>,
    queue: VecDeque<u32>,
}

impl UpDownHops {
    pub(crate) fn new(first: Vec<u32>, steps: Vec<Step>) -> UpDownHops {
        let n = first.len() - 1;
        UpDownHops {
            hops: vec![NO_PATH; steps.len()],
            least: vec![NO_PATH; n],
            came_up: vec![false; n],
            waits: vec![false; n],
            queue: VecDeque::new(),
            first,
            steps,
        }
    }

    fn steps_of(&self, at: usize) -> std::ops::Range<usize> {
        self.first[at] as usize..self.first[at + 1] as usize
    }

    /// Search from the destination outwards. A switch is looked at again for every cable on which
    /// it was reached anew; it goes on in the direction in which it was reached when it began to
    /// wait, as in OpenSM, so that the order of ports decides here and there.
    pub(crate) fn aim_at(&mut self, to: usize) {
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
            for Step { to, back, is_up } in &self.steps[self.steps_of(at)] {
                let (there, back) = (*to as usize, *back as usize);
                if (*is_up && !came_up) || next >= self.hops[back] {
                    continue;
                }
                self.hops[back] = next;
                self.least[there] = self.least[there].min(next);
                if !self.waits[there] {
                    self.came_up[there] = *is_up;
                    self.waits[there] = true;
                    self.queue.push_back(*to);
                }
            }
        }
    }

    /// Whether the `number`-th cable of a switch is one on which the destination is nearest.
    #[inline]
    pub(crate) fn is_nearest(&self, at: usize, number: usize) -> bool {
        let (here, hops) = (self.least[at], self.hops[self.first[at] as usize + number]);
        here != NO_PATH && here > 0 && hops == here
    }

    /// The cables of a switch on which the destination is nearest, by their numbers at the switch;
    /// none at the destination.
    pub(crate) fn nearest(&self, at: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.steps_of(at).len()).filter(move |number| self.is_nearest(at, *number))
    }

    /// Whether a path that went down may go up again. OpenSM takes such paths where cables join
    /// switches of one rank.
    pub(crate) fn has_valley(&self) -> bool {
        let goes_up = |at: usize| {
            self.nearest(at).any(|number| self.steps[self.first[at] as usize + number].is_up)
        };
        let goes_up: Vec<bool> = (0..self.least.len()).map(goes_up).collect();
        (0..self.least.len()).any(|at| {
            let steps = &self.steps[self.steps_of(at)];
            self.nearest(at).any(|number| {
                let step = steps[number];
                !step.is_up && goes_up[step.to as usize]
            })
        })
    }
}
