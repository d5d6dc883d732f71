//! A rank's state: one processor that computes, posts, sends, waits and matches.

use crate::host::matching::MatchQueues;
use crate::limits::{NEVER, NIL};
use crate::state::id_map::IdMap;
use rand_pcg::Pcg32;
use std::collections::VecDeque;
use weft_traffic::{Blocks, Transfer, Wait};

/// Set in the keys of channels; the others are numbers of ranks.
const CHANNEL: u32 = 1 << 31;

/// The key by which messages and receives of a channel meet.
pub(crate) fn key_of_channel(channel: u32) -> u32 {
    assert!(channel < CHANNEL, "fewer channels than messages");
    CHANNEL | channel
}

/// The channel of a key, if it is one of a channel.
pub(crate) fn channel_of(key: u32) -> Option<u32> {
    (key & CHANNEL != 0).then_some(key & !CHANNEL)
}

/// The key by which a message from rank `src` meets its receive: that of its channel, or its
/// source.
pub(crate) fn match_key(src: u32, transfer: &Transfer) -> u32 {
    match transfer.blocks {
        Blocks::Channel(channel) => key_of_channel(channel),
        _ => src,
    }
}

/// How far a rank is with its exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing is done yet.
    #[default]
    Compute,
    /// The receive comes next.
    Post,
    /// The send comes next.
    Send,
}

/// A matched message that awaits the processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) message: u32,
    /// Entries the processor looks at in vain to match it.
    pub(crate) n_looked: u32,
}

#[derive(Debug)]
pub(crate) struct Rank {
    /// Its processor is busy until then.
    pub(crate) free_ps: u64,
    /// The event that will make it go on.
    pub(crate) wake_ps: u64,
    /// Number of the next exchange of the iteration.
    pub(crate) index: u64,
    /// How far it is with that exchange.
    pub(crate) progress: Progress,
    /// The condition that it waits for before that exchange.
    pub(crate) waiting: Wait,
    /// It waits for the other ranks of its tenant to come as far.
    pub(crate) together: bool,
    /// It has finished the iteration.
    pub(crate) done: bool,
    /// When the iteration began for it.
    pub(crate) start_ps: u64,
    /// Sends and receives that are not complete.
    pub(crate) outstanding: u32,
    /// How many of them are receives.
    pub(crate) receives: u32,
    /// Where messages are flows: those it has sent that have not come to their receives, who has
    /// the last, its number, those that may leave and when, and when all sends are done that count
    /// as complete already.
    pub(crate) in_flight: u32,
    pub(crate) last_peer: u32,
    pub(crate) turn: u32,
    pub(crate) agreed: Vec<(u64, u32)>,
    pub(crate) done_ps: u64,
    /// A message the processor is preparing; NIL for none.
    pub(crate) preparing: u32,
    pub(crate) inbox: VecDeque<Arrival>,
    /// Its next message leaves for the HCA no earlier.
    pub(crate) gap_until_ps: u64,
    /// The channel to other ranks of its node is busy until then.
    pub(crate) channel_free_ps: u64,
    pub(crate) random: Pcg32,
    pub(crate) queues: MatchQueues,
    /// By key of a channel, how many receives are complete.
    pub(crate) received: IdMap<u32, u32>,
}

impl Rank {
    pub(crate) fn new(seed: u64, rank: u32) -> Rank {
        Rank {
            free_ps: 0,
            wake_ps: NEVER,
            index: 0,
            progress: Progress::Compute,
            waiting: Wait::No,
            together: false,
            done: true,
            start_ps: 0,
            outstanding: 0,
            receives: 0,
            in_flight: 0,
            last_peer: NIL,
            turn: 0,
            agreed: Vec::new(),
            done_ps: 0,
            preparing: NIL,
            inbox: VecDeque::new(),
            gap_until_ps: 0,
            channel_free_ps: 0,
            random: Pcg32::new(seed, u64::from(rank)),
            queues: MatchQueues::default(),
            received: IdMap::default(),
        }
    }

    /// Begin an iteration at `start_ps`.
    pub(crate) fn begin(&mut self, start_ps: u64) {
        assert!(self.outstanding == 0 && self.inbox.is_empty(), "an iteration ends clean");
        (self.index, self.done) = (0, false);
        (self.progress, self.waiting) = (Progress::Compute, Wait::No);
        (self.start_ps, self.free_ps) = (start_ps, start_ps);
        self.received.clear();
        // A real barrier outlasts the gap after whatever was sent before it.
        self.gap_until_ps = 0;
    }

    /// A receive with this key is complete.
    pub(crate) fn count_received(&mut self, key: u32) {
        if channel_of(key).is_some() {
            *self.received.entry(key).or_default() += 1;
        }
    }

    /// Whether its own sends and receives let it go on; then it waits for nothing any more.
    pub(crate) fn wait_is_over(&mut self) -> bool {
        let over = match self.waiting {
            Wait::No => true,
            Wait::AtMost { receives, sends } => {
                self.receives <= receives && self.n_sends() <= sends
            }
            Wait::Received { channel, n } => {
                self.received.get(&key_of_channel(channel)).is_some_and(|own| *own >= n)
            }
            Wait::All | Wait::Together => self.outstanding == 0,
        };
        if over {
            self.waiting = Wait::No;
        }
        over
    }
}

/// Whether a rank does nothing until all is done that it has begun.
pub(crate) fn waits_for_all(wait: Wait) -> bool {
    matches!(wait, Wait::All | Wait::Together)
}

impl Rank {
    pub(crate) fn n_sends(&self) -> u32 {
        self.outstanding - self.receives
    }

    /// Whether a message that it has just handed over is all that it sends, and it waits for that.
    pub(crate) fn sends_only_this(&self) -> bool {
        waits_for_all(self.waiting) && self.in_flight == 0 && self.n_sends() == 1
    }
}
