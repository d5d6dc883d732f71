//! A rank's state: one processor that posts, sends, waits and matches.

use crate::packet::NIL;
use crate::port::NEVER;
use rand_pcg::Pcg32;
use std::collections::{HashMap, VecDeque};

#[derive(Debug)]
pub(crate) struct Rank {
    /// Its processor is busy until then.
    pub(crate) free_ps: u64,
    /// The event that will make it go on.
    pub(crate) wake_ps: u64,
    /// Number of the next exchange of the iteration.
    pub(crate) index: u64,
    /// The receive of that exchange is posted already.
    pub(crate) posted: bool,
    /// It waits for everything outstanding.
    pub(crate) waiting: bool,
    /// It has finished the iteration.
    pub(crate) done: bool,
    /// When the iteration began for it.
    pub(crate) start_ps: u64,
    /// Sends and receives that are not complete.
    pub(crate) outstanding: u32,
    /// A message the processor is preparing; NIL for none.
    pub(crate) preparing: u32,
    /// Matched messages that await the processor.
    pub(crate) inbox: VecDeque<u32>,
    /// Its next message leaves for the HCA no earlier.
    pub(crate) gap_until_ps: u64,
    /// The channel to other ranks of its node is busy until then.
    pub(crate) channel_free_ps: u64,
    pub(crate) random: Pcg32,
    /// By source: receives posted and not matched, or messages that came first. Only looked up by
    /// key, never gone through: its order decides nothing.
    expected: HashMap<u32, u32>,
    unexpected: HashMap<u32, VecDeque<u32>>,
}

impl Rank {
    pub(crate) fn new(seed: u64, rank: u32) -> Rank {
        Rank {
            free_ps: 0,
            wake_ps: NEVER,
            index: 0,
            posted: false,
            waiting: false,
            done: true,
            start_ps: 0,
            outstanding: 0,
            preparing: NIL,
            inbox: VecDeque::new(),
            gap_until_ps: 0,
            channel_free_ps: 0,
            random: Pcg32::new(seed, u64::from(rank)),
            expected: HashMap::new(),
            unexpected: HashMap::new(),
        }
    }

    /// Begin an iteration at `start_ps`.
    pub(crate) fn begin(&mut self, start_ps: u64) {
        assert!(self.outstanding == 0 && self.inbox.is_empty(), "an iteration ends clean");
        (self.index, self.posted, self.waiting, self.done) = (0, false, false, false);
        (self.start_ps, self.free_ps) = (start_ps, start_ps);
        // A real barrier outlasts the gap after whatever was sent before it.
        self.gap_until_ps = 0;
    }

    /// Post a receive from `src`: a message that came first is matched at once.
    pub(crate) fn post(&mut self, src: u32) {
        self.outstanding += 1;
        match self.unexpected.get_mut(&src).and_then(VecDeque::pop_front) {
            Some(message) => self.inbox.push_back(message),
            None => *self.expected.entry(src).or_insert(0) += 1,
        }
    }

    /// A message (or its request) has come from `src`; whether a receive was waiting for it.
    pub(crate) fn matches(&mut self, src: u32, message: u32) -> bool {
        match self.expected.get_mut(&src) {
            Some(count) if *count > 0 => {
                *count -= 1;
                self.inbox.push_back(message);
                true
            }
            _ => {
                self.unexpected.entry(src).or_default().push_back(message);
                false
            }
        }
    }
}
