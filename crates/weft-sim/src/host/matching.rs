//! Tag matching: which receive a message is for, and how much of a queue was looked at to find out.
//!
//! A receive names its source, so receives and messages of one source meet in order, and only how
//! long the search takes depends on the others. Nothing here is ever gone through in hash order.

use crate::document::Matching;
use crate::limits::NIL;
use crate::model::host::MatchingModel;
use crate::state::id_map::IdMap;
use crate::state::pool::Pool;
use std::collections::VecDeque;

/// How a message was matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Entries the processor looks at in vain.
    pub(crate) n_looked: u32,
    /// The HCA held the receive: the processor was not asked.
    pub(crate) by_hca: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The message that came first; nothing for a receive.
    message: u32,
    /// Its place in the line, or NIL for a receive that the HCA holds.
    place: u32,
    /// Entries that were looked at in vain when it came.
    n_looked: u32,
    /// The next of its source.
    next: u32,
}

/// First and last entry by source; where there is one source, nothing is hashed.
#[derive(Debug, Default)]
struct Ends {
    only: Option<(u32, (u32, u32))>,
    others: IdMap<u32, (u32, u32)>,
}

impl Ends {
    fn get_mut(&mut self, src: u32) -> Option<&mut (u32, u32)> {
        match &mut self.only {
            Some((only, ends)) if *only == src => Some(ends),
            _ if self.others.is_empty() => None,
            _ => self.others.get_mut(&src),
        }
    }

    /// The first entry of a source that has none.
    fn insert(&mut self, src: u32, id: u32) {
        if self.only.is_none() {
            self.only = Some((src, (id, id)));
        } else {
            self.others.insert(src, (id, id));
        }
    }

    fn remove(&mut self, src: u32) {
        if self.only.is_some_and(|(only, _)| only == src) {
            self.only = None;
        } else {
            self.others.remove(&src);
        }
    }

    fn has(&self, src: u32) -> bool {
        self.only.is_some_and(|(only, _)| only == src) || self.others.contains_key(&src)
    }

    fn sources(&self) -> impl Iterator<Item = u32> + '_ {
        self.only.iter().map(|(src, _)| *src).chain(self.others.keys().copied())
    }
}

/// First in, first out for each source. INVARIANT: a source without an entry has no key, so that
/// memory follows what is outstanding and not who ever talked.
#[derive(Debug, Default)]
struct Queues {
    ends: Ends,
    entries: Pool<Entry>,
}

impl Queues {
    fn push(&mut self, src: u32, entry: Entry) {
        let id = self.entries.add(entry);
        match self.ends.get_mut(src) {
            None => self.ends.insert(src, id),
            Some((_, tail)) => {
                let before = std::mem::replace(tail, id);
                self.entries[before].next = id;
            }
        }
    }

    fn pop(&mut self, src: u32) -> Option<Entry> {
        let ends = self.ends.get_mut(src)?;
        let id = ends.0;
        let entry = self.entries.remove(id);
        if entry.next == NIL {
            self.ends.remove(src);
        } else {
            ends.0 = entry.next;
        }
        Some(entry)
    }
}

/// A line that any may leave: how many stand before a place. A bit for each place.
#[derive(Debug, Default)]
struct Line {
    words: VecDeque<u64>,
    /// Places before the first word.
    gone: u32,
    next: u32,
    len: u32,
}

impl Line {
    fn join(&mut self) -> u32 {
        let place = self.next;
        assert!(place < NIL - 64, "fewer than 2^32 entries pass a line that is never empty");
        if (place - self.gone) as usize == 64 * self.words.len() {
            self.words.push_back(0);
        }
        *self.words.back_mut().expect("just pushed") |= 1 << (place % 64);
        (self.next, self.len) = (place + 1, self.len + 1);
        place
    }

    /// Leave the line; how many stood before.
    fn leave(&mut self, place: u32) -> u32 {
        let (word, bit) = (((place - self.gone) / 64) as usize, place % 64);
        let whole: u32 = self.words.range(..word).map(|word| word.count_ones()).sum();
        let part = (self.words[word] & ((1 << bit) - 1)).count_ones();
        self.words[word] &= !(1 << bit);
        self.len -= 1;
        if self.len == 0 {
            *self = Line { words: std::mem::take(&mut self.words), ..Line::default() };
            self.words.clear();
        }
        while self.words.front() == Some(&0) && self.words.len() > 1 {
            self.words.pop_front();
            self.gone += 64;
        }
        whole + part
    }
}

/// Receives posted and not matched, and messages that came first.
#[derive(Debug, Default)]
pub(crate) struct MatchQueues {
    posted: Queues,
    early: Queues,
    posted_line: Line,
    early_line: Line,
    n_on_hca: u32,
}

impl MatchQueues {
    /// The sources of receives that nothing was matched with yet, in order.
    pub(crate) fn waits_for(&self) -> Vec<u32> {
        let mut sources: Vec<u32> = self.posted.ends.sources().collect();
        sources.sort_unstable();
        sources
    }

    /// Whether a receive is posted that the next message from `src` is for.
    pub(crate) fn awaits(&self, src: u32) -> bool {
        self.posted.ends.has(src)
    }

    /// Post a receive from `src`: the message that came first, if one did; and how many entries
    /// were looked at in vain.
    pub(crate) fn post(&mut self, model: &MatchingModel, src: u32) -> (Option<u32>, u32) {
        let counted = model.ps_per_entry > 0;
        if let Some(entry) = self.early.pop(src) {
            let n_before = if counted { self.early_line.leave(entry.place) } else { 0 };
            return (Some(entry.message), n_before.saturating_add(entry.n_looked));
        }
        let on_hca = model.by == Matching::Hardware && self.n_on_hca < model.hardware_entries;
        self.n_on_hca += u32::from(on_hca);
        let place = if counted && !on_hca { self.posted_line.join() } else { NIL };
        // With the processor's own line uncounted, NIL still shows who holds it.
        let place = if on_hca { NIL } else { place.min(NIL - 1) };
        self.posted.push(src, Entry { message: NIL, place, n_looked: 0, next: NIL });
        (None, self.early_line.len)
    }

    /// A message has come from `src`: how it was matched, or nothing where it has to wait.
    pub(crate) fn arrive(
        &mut self,
        model: &MatchingModel,
        src: u32,
        message: u32,
    ) -> Option<Found> {
        let counted = model.ps_per_entry > 0;
        if let Some(entry) = self.posted.pop(src) {
            if entry.place == NIL {
                self.n_on_hca -= 1;
                return Some(Found { n_looked: 0, by_hca: true });
            }
            let n_looked = if counted { self.posted_line.leave(entry.place) } else { 0 };
            return Some(Found { n_looked, by_hca: false });
        }
        let n_looked = self.posted_line.len;
        let place = if counted { self.early_line.join() } else { 0 };
        self.early.push(src, Entry { message, place, n_looked, next: NIL });
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Found, Line, MatchQueues, MatchingModel};
    use crate::document::Matching;

    const SOFTWARE: MatchingModel =
        MatchingModel { by: Matching::Software, ps_per_entry: 1, hardware_entries: 0 };

    #[test]
    fn a_line_counts_who_stands_before() {
        let mut line = Line::default();
        let places: Vec<u32> = (0..200).map(|_| line.join()).collect();
        assert_eq!(line.leave(places[150]), 150);
        assert_eq!(line.leave(places[199]), 198);
        places[..130].iter().for_each(|place| assert_eq!(line.leave(*place), 0));
        assert_eq!(line.leave(places[160]), 29);
        let late = line.join();
        assert_eq!(line.leave(late), 200 - 130 - 3);
    }

    #[test]
    fn messages_of_one_source_meet_its_receives_in_order() {
        let mut queues = MatchQueues::default();
        assert_eq!(queues.arrive(&SOFTWARE, 7, 100), None);
        assert_eq!(queues.arrive(&SOFTWARE, 8, 101), None);
        assert_eq!(queues.arrive(&SOFTWARE, 7, 102), None);
        assert_eq!(queues.post(&SOFTWARE, 7), (Some(100), 0));
        assert_eq!(queues.post(&SOFTWARE, 7), (Some(102), 1));
        assert_eq!(queues.post(&SOFTWARE, 9), (None, 1));
        assert_eq!(queues.post(&SOFTWARE, 8), (Some(101), 0));
        assert_eq!(queues.post(&SOFTWARE, 5), (None, 0));
        let second = Found { n_looked: 1, by_hca: false };
        assert_eq!(queues.arrive(&SOFTWARE, 5, 103), Some(second));
        assert_eq!(queues.early.ends.sources().count(), 0, "a source without an entry has no key");
    }

    #[test]
    fn the_hca_holds_so_many_receives_and_no_more() {
        let model = MatchingModel { by: Matching::Hardware, hardware_entries: 2, ..SOFTWARE };
        let mut queues = MatchQueues::default();
        (0..5).for_each(|src| assert_eq!(queues.post(&model, src), (None, 0)));
        let held = Some(Found { n_looked: 0, by_hca: true });
        assert_eq!(queues.arrive(&model, 1, 0), held);
        assert_eq!(queues.arrive(&model, 4, 1), Some(Found { n_looked: 2, by_hca: false }));
        assert_eq!(queues.arrive(&model, 6, 2), None);
        // It came when two receives were posted to the processor: these were looked at.
        assert_eq!(queues.post(&model, 6), (Some(2), 2));
        queues.post(&model, 9);
        assert_eq!(queues.arrive(&model, 9, 3), held, "a place is free again");
    }
}
