//! How far the members of trees are.

use crate::in_network::locks::Claims;
use crate::model::in_network::collective_method::CollectiveMethod;
use crate::model::in_network::forest::InNetwork;
use crate::state::columns::offloads::OffloadColumns;

/// How far a member is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemberProgress {
    pub(crate) method: CollectiveMethod,
    pub(crate) size_bytes: u64,
    /// It has data of its own.
    pub(crate) contributes: bool,
    /// Pieces its buffer is cut into, those posted, and those whose result was taken.
    pub(crate) n_pieces: u64,
    pub(crate) n_posted: u64,
    pub(crate) n_taken: u64,
    /// Results that await the processor.
    pub(crate) n_come: u64,
    /// Pieces of all its buffers before this one.
    pub(crate) n_before: u64,
    /// Pieces of a slice that go between nodes together.
    pub(crate) group: u64,
}

impl MemberProgress {
    /// The piece under way that has this number.
    pub(crate) fn piece_of(&self, number: u32, window: u64) -> u64 {
        let oldest = (self.n_before + self.n_taken) % window;
        self.n_taken + (u64::from(number) + window - oldest) % window
    }

    /// The number of a piece under way.
    pub(crate) fn number_of(&self, piece: u64, window: u64) -> u32 {
        ((self.n_before + piece) % window) as u32
    }
}

pub(crate) const IDLE: MemberProgress = MemberProgress {
    method: CollectiveMethod::Hosts,
    size_bytes: 0,
    contributes: false,
    n_pieces: 0,
    n_posted: 0,
    n_taken: 0,
    n_come: 0,
    n_before: 0,
    group: 1,
};

/// Leaders that take part, by member.
#[derive(Debug, Default)]
pub(crate) struct Members {
    pub(crate) parts: Vec<MemberProgress>,
    /// By member that streams: pieces that are complete, before others that were posted earlier.
    pub(crate) early: Vec<Vec<u64>>,
    /// By member and number of a piece under way: what has been added to the segment that begins
    /// there; nothing where no GPUs exchange segments.
    pub(crate) added: Vec<u16>,
    pub(crate) window: usize,
    pub(crate) claims: Claims,
    /// The part that carried out each step.
    pub(crate) offloads: OffloadColumns,
}

impl Members {
    pub(crate) fn new(plan: Option<&InNetwork>) -> Members {
        let n = plan.map_or(0, |plan| plan.forest.members.len());
        let n_words = plan.map_or(0, |plan| plan.model.window().div_ceil(64) as usize);
        let early = vec![vec![0; n_words]; n];
        let window = plan.map_or(0, |plan| plan.model.window() as usize);
        let n_added =
            plan.map_or(0, |plan| if plan.forest.kin.is_empty() { 0 } else { n * window });
        let added = vec![0; n_added];
        Members { parts: vec![IDLE; n], early, added, window, ..Members::default() }
    }

    pub(crate) fn part(&self, member: u32) -> &MemberProgress {
        &self.parts[member as usize]
    }

    /// Additions to the segment that begins at the piece of this number.
    pub(crate) fn added(&mut self, member: u32, number: u16) -> &mut u16 {
        &mut self.added[member as usize * self.window + usize::from(number)]
    }

    /// A tenant's step is over.
    pub(crate) fn step_is_over(&mut self, tenant: u32) {
        self.claims.give_back(tenant);
    }
}
