//! What a rank of a program has open: sends and receives that it does not wait for yet.
//!
//! A receive waits for its own message: receives are known by their channel, and by their number on
//! it. Sends are known by how many are open: a send of the engine has no name.

use crate::exchange::{Exchange, Wait};
use std::collections::{BTreeMap, HashMap};

/// One end of a message: the k-th receive of a channel (from 1), or a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Recv { channel: u32, n: u32 },
    Send,
}

/// The ends that are open, by label; those without a label are open until all are waited for.
#[derive(Default)]
pub(super) struct Open {
    labelled: HashMap<String, End>,
    n_sends: u32,
    n_receives: u32,
    /// By channel, how many receives were posted.
    posted: HashMap<u32, u32>,
}

impl Open {
    /// The end of the next receive of a channel.
    pub(super) fn next_receive(&mut self, channel: u32) -> End {
        let n = self.posted.entry(channel).or_default();
        *n += 1;
        End::Recv { channel, n: *n }
    }

    /// Leave an end open; false where its label is open already.
    pub(super) fn leave(&mut self, end: End, label: Option<&str>) -> bool {
        match end {
            End::Send => self.n_sends += 1,
            End::Recv { .. } => self.n_receives += 1,
        }
        label.is_none_or(|label| self.labelled.insert(label.to_owned(), end).is_none())
    }

    /// Take out the open end of a label.
    pub(super) fn take(&mut self, label: &str) -> Option<End> {
        let end = self.labelled.remove(label)?;
        match end {
            End::Send => self.n_sends -= 1,
            End::Recv { .. } => self.n_receives -= 1,
        }
        Some(end)
    }

    /// Take out all of them.
    pub(super) fn clear(&mut self) {
        self.labelled.clear();
        (self.n_sends, self.n_receives) = (0, 0);
    }

    /// The waits for ends that are open no more (or never were): the first of them belongs to the
    /// move that posted the last end.
    pub(super) fn waits_for(&self, ends: &[End]) -> Vec<Wait> {
        if self.n_sends == 0 && self.n_receives == 0 {
            return vec![Wait::All];
        }
        let mut waits = Vec::new();
        if ends.contains(&End::Send) {
            waits.push(Wait::AtMost { receives: u32::MAX, sends: self.n_sends });
        }
        let mut by_channel: BTreeMap<u32, u32> = BTreeMap::new();
        for end in ends {
            if let End::Recv { channel, n } = end {
                let most = by_channel.entry(*channel).or_default();
                *most = n.max(most).to_owned();
            }
        }
        waits.extend(by_channel.into_iter().map(|(channel, n)| Wait::Received { channel, n }));
        waits
    }
}

/// A move, and the moves behind it that only wait.
pub(super) fn waiting(moved: Exchange, waits: Vec<Wait>) -> Vec<Exchange> {
    let mut waits = waits.into_iter();
    let first = Exchange { wait: waits.next().unwrap_or_default(), ..moved };
    let others = waits.map(|wait| Exchange { wait, ..Exchange::default() });
    std::iter::once(first).chain(others).collect()
}
