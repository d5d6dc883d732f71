//! How far each queue pair is slowed down.

use crate::congestion::LawState;
use crate::congestion::endpoint::Seen;
use crate::state::id_map::IdMap;
use crate::state::pool::indexed;

/// A queue pair that its sender spaces.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace<'a> {
    /// None of its packets leaves before.
    pub(crate) next_ps: u64,
    /// Since when the next one might have left; `u64::MAX` before the first.
    pub(crate) free_ps: u64,
    /// When its receiver last notified its sender; none before the first notification.
    pub(crate) notified_ps: Option<u64>,
    pub(crate) state: LawState<'a>,
    /// The ranks it is between, and its lane.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) lane: u8,
    /// The endpoints it is between, where nodes have an inside.
    pub(crate) ends: [u32; 2],
    /// The knowledge of the port facing its receiver.
    pub(crate) seen: Seen,
}

/// All of them, by number; none is ever removed.
#[derive(Debug, Default)]
pub(crate) struct Paces<'a> {
    list: Vec<Pace<'a>>,
    /// By queue pair, or by the lane of a sender.
    numbers: IdMap<u64, u32>,
}

impl<'a> Paces<'a> {
    /// The number of a queue pair (or lane) by its key, if it is known.
    pub(crate) fn number(&self, key: u64) -> Option<u32> {
        self.numbers.get(&key).copied()
    }

    /// Know another one; its number.
    pub(crate) fn add(&mut self, key: u64, pace: Pace<'a>) -> u32 {
        let number = self.list.len() as u32;
        self.numbers.insert(key, number);
        self.list.push(pace);
        number
    }
}

indexed!(Paces<'a>, list by u32 => Pace<'a>, 'a);
