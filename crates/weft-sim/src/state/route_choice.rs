//! The memory of switches that choose among ports.

use crate::model::steering::Choice;
use crate::state::flowlet::Flowlets;
use weft_traffic::mixed as mix;

/// No detour.
pub(crate) const DIRECT: u16 = u16::MAX;

/// The memory of switches that choose.
#[derive(Debug, Default)]
pub(crate) struct Steers {
    /// By switch: the place in a group to look at first.
    pub(crate) turns: Vec<u32>,
    /// Draws of intermediate groups.
    pub(crate) draws: u64,
    /// By packet: the group of its detour until it is there.
    pub(crate) via: Vec<u16>,
    pub(crate) flowlets: Flowlets,
}

impl Steers {
    pub(crate) fn new(n_switches: u32, seed: u64, choice: Choice) -> Steers {
        let mut steers = Steers { draws: mix(seed), ..Steers::default() };
        if choice == Choice::Least {
            let turn = |switch: u32| mix(seed ^ u64::from(switch) << 32) as u32 >> 8;
            steers.turns = (0..n_switches).map(turn).collect();
        }
        steers
    }

    pub(crate) fn draw(&mut self, n: u32) -> u32 {
        self.draws = mix(self.draws);
        (((self.draws >> 32) * u64::from(n)) >> 32) as u32
    }

    /// A packet goes straight to its destination from here.
    pub(crate) fn end_detour(&mut self, id: u32) {
        if let Some(via) = self.via.get_mut(id as usize) {
            *via = DIRECT;
        }
    }

    pub(crate) fn set_via(&mut self, id: u32, group: u16) {
        if self.via.len() <= id as usize {
            self.via.resize(id as usize + 1, DIRECT);
        }
        self.via[id as usize] = group;
    }
}
