//! The MPI calls of each rank, in the order in which it makes them.
//!
//! A rank does one call after another; a call that does not wait leaves a send or a receive open,
//! and `wait` names those that are to be over. So nothing here is laid out in levels as a graph is:
//! computing between a send and its wait overlaps with it, as on a machine. A collective becomes
//! the moves of its algorithm; what is open before it stays open. Messages of a pair meet in order
//! on their channel: a tag, or a group whose collectives they are part of.

mod collectives;
mod groups;
mod open;

use self::groups::Group;
use self::open::{End, Open, waiting};
use super::Calls;
use super::graph::{MAX_OPERATIONS, wrong};
use super::text::{number, without_comments};
use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use std::collections::HashMap;

/// The group of all ranks.
const WORLD: &str = "world";

/// The rank whose braces are open.
struct OpenRank {
    number: u32,
    open: Open,
    /// By group, how many collectives it has done.
    n_parts: Vec<usize>,
}

#[derive(Default)]
struct Reader<'a> {
    place: &'a str,
    line: u32,
    n_ranks: u32,
    moves: Vec<Vec<Exchange>>,
    n_left: usize,
    declared: u32,
    groups: Vec<Group>,
    group_names: HashMap<String, usize>,
    rank: Option<OpenRank>,
    /// By rank that was read and by group, how many collectives it has done.
    done: HashMap<u32, Vec<usize>>,
    /// By rank, the moves at which it passes marks.
    marks: Vec<Vec<u32>>,
    /// By source, destination and the word of a tag or group: the number of the channel.
    channels: HashMap<(u32, u32, String), u32>,
    /// By channel: source and destination, sends, receives, and the line of the last of either.
    ends: Vec<[u32; 5]>,
}

/// The moves of each rank, and those at which it passes marks.
pub(super) fn read(place: &str, text: &str, n_ranks: u32) -> Result<Calls, TrafficError> {
    let moves = vec![Vec::new(); n_ranks as usize];
    let marks = vec![Vec::new(); n_ranks as usize];
    let mut reader =
        Reader { place, n_ranks, moves, marks, n_left: MAX_OPERATIONS, ..Reader::default() };
    let text = without_comments(text);
    for line in text.lines() {
        reader.line += 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        reader.statement(&words)?;
    }
    reader.finish()
}

impl Reader<'_> {
    fn wrong<T>(
        &self,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Result<T, TrafficError> {
        Err(wrong(self.place, self.line.max(1), what, expected))
    }

    fn number(&self, word: &str, expected: &str) -> Result<u64, TrafficError> {
        number(self.place, self.line, word, expected)
    }

    fn statement(&mut self, words: &[&str]) -> Result<(), TrafficError> {
        match words {
            [] => Ok(()),
            ["num_ranks", count] => self.declare(count),
            ["group", name, members @ ..] => self.group(name, members),
            ["rank", rank, "{"] => self.open(rank),
            ["}"] => self.close(),
            _ if self.rank.is_none() => {
                let what = format!("'{}' outside of a rank", words[0]);
                self.wrong(what, "'num_ranks N', 'group NAME RANKS' or 'rank R {'")
            }
            ["calc", ns] => self.calc(ns),
            ["mark"] => self.mark(),
            ["wait", labels @ ..] => self.wait(labels),
            [label, call @ ("isend" | "irecv"), tail @ ..] if label.ends_with(':') => {
                self.message(call, tail, Some(label.trim_end_matches(':')))
            }
            [call @ ("send" | "recv" | "isend" | "irecv"), tail @ ..] => {
                self.message(call, tail, None)
            }
            [name, tail @ ..] => self.collective(name, tail, words),
        }
    }

    // ---- the frame ------------------------------------------------------------------------

    fn declare(&mut self, count: &str) -> Result<(), TrafficError> {
        let (count, most) = (self.number(count, "a number of ranks")?, self.n_ranks);
        if count == 0 || count > u64::from(most) {
            let what = format!("{count} ranks in a job of {most}");
            return self.wrong(what, format!("from 1 to {most}"));
        }
        if self.declared > 0 {
            return self.wrong("'num_ranks' again", "it once, first");
        }
        self.declared = count as u32;
        self.group_names.insert(WORLD.to_owned(), 0);
        let all: Vec<u32> = (0..self.declared).collect();
        self.groups.push(Group::of(&all));
        Ok(())
    }

    fn group(&mut self, name: &str, members: &[&str]) -> Result<(), TrafficError> {
        let members: Vec<u32> =
            members.iter().map(|rank| self.peer(rank)).collect::<Result<_, _>>()?;
        let group = Group::of(&members);
        if members.is_empty() || group.place_of.len() < members.len() {
            return self.wrong(format!("group '{name}'"), "one rank or more, each once");
        }
        if self.group_names.insert(name.to_owned(), self.groups.len()).is_some() {
            return self.wrong(format!("group '{name}' again"), "each name once");
        }
        self.groups.push(group);
        Ok(())
    }

    fn open(&mut self, rank: &str) -> Result<(), TrafficError> {
        let number = self.peer(rank)?;
        if self.rank.is_some() {
            return self.wrong("a rank inside another", "a '}' before it");
        }
        if self.done.contains_key(&number) {
            return self.wrong(format!("rank {number} again"), "each rank once");
        }
        self.rank = Some(OpenRank { number, open: Open::default(), n_parts: Vec::new() });
        Ok(())
    }

    fn close(&mut self) -> Result<(), TrafficError> {
        let Some(rank) = self.rank.take() else {
            return self.wrong("a '}' too many", "one for each 'rank R {'");
        };
        if let Some(last) = self.moves[rank.number as usize].last_mut() {
            last.wait = Wait::All;
        }
        self.done.insert(rank.number, rank.n_parts);
        Ok(())
    }

    /// All is read: every message has its two ends, every collective all its members.
    fn finish(self) -> Result<Calls, TrafficError> {
        if let Some(rank) = &self.rank {
            return self.wrong(format!("the braces of rank {} are open", rank.number), "a '}'");
        }
        if self.declared == 0 {
            return self.wrong("no 'num_ranks'", "'num_ranks' and a number");
        }
        for (group, (number, name)) in self.groups.iter().zip(self.names()) {
            for member in group.members.iter() {
                let own = self.done.get(member);
                let n_parts = own.and_then(|parts| parts.get(number)).copied().unwrap_or(0);
                if let Some((_, line)) = group.parts.get(n_parts) {
                    let what = format!("rank {member} never comes to this collective of '{name}'");
                    let expected = "all members of the group, in the same order";
                    return Err(wrong(self.place, *line, what, expected));
                }
            }
        }
        for [src, dst, sends, receives, line] in &self.ends {
            if sends != receives {
                let what = format!(
                    "rank {src} sends {sends} messages to rank {dst}, which receives {receives}"
                );
                return Err(wrong(self.place, *line, what, "a receive for each send"));
            }
        }
        let mut ranks: Vec<u32> = self.done.keys().copied().collect();
        ranks.sort_unstable();
        let n_marks = |rank: u32| self.marks[rank as usize].len();
        if let Some(odd) = ranks.iter().find(|rank| n_marks(**rank) != n_marks(ranks[0])) {
            let (own, other) = (n_marks(*odd), n_marks(ranks[0]));
            let what = format!("rank {odd} passes {own} marks, rank {} {other}", ranks[0]);
            return self.wrong(what, "as many on every rank");
        }
        let sources = self.ends.iter().map(|[src, ..]| *src).collect();
        Ok(Calls { moves: self.moves, marks: self.marks, sources })
    }

    /// Numbers and names of groups.
    fn names(&self) -> Vec<(usize, &str)> {
        let mut names: Vec<(usize, &str)> =
            self.group_names.iter().map(|(name, number)| (*number, name.as_str())).collect();
        names.sort_unstable();
        names
    }

    fn peer(&self, word: &str) -> Result<u32, TrafficError> {
        let peer = self.number(word, "a rank")?;
        if peer >= u64::from(self.declared) {
            let expected = format!("a rank below {}", self.declared);
            return self.wrong(format!("there is no rank {peer}"), expected);
        }
        Ok(peer as u32)
    }

    fn size(&self, word: &str) -> Result<u64, TrafficError> {
        let digits = word.strip_suffix('b').unwrap_or(word);
        let size_bytes = self.number(digits, "a size in bytes, such as 8b")?;
        if size_bytes > 1 << 40 {
            return self.wrong(format!("a message of {size_bytes} bytes"), "at most 1 TiB");
        }
        Ok(size_bytes)
    }

    // ---- calls ----------------------------------------------------------------------------

    fn mine(&mut self) -> &mut OpenRank {
        self.rank.as_mut().expect("statements of a rank come in its braces")
    }

    fn push(&mut self, exchange: Exchange) -> Result<(), TrafficError> {
        self.n_left = match self.n_left.checked_sub(1) {
            Some(n_left) => n_left,
            None => return self.wrong("too many moves", format!("at most {MAX_OPERATIONS}")),
        };
        let rank = self.mine().number as usize;
        self.moves[rank].push(exchange);
        Ok(())
    }

    fn calc(&mut self, ns: &str) -> Result<(), TrafficError> {
        let ns = self.number(ns, "nanoseconds")?;
        match ns.checked_mul(1000).filter(|ps| *ps < 1 << 62) {
            Some(compute_ps) => self.push(Exchange { compute_ps, ..Exchange::default() }),
            None => self.wrong(format!("{ns} ns"), "at most 53 days"),
        }
    }

    fn mark(&mut self) -> Result<(), TrafficError> {
        let rank = self.mine().number as usize;
        self.marks[rank].push(self.moves[rank].len() as u32);
        self.push(Exchange::default())
    }

    /// A message between two ranks on a channel, counted at one of its ends.
    fn transfer(&mut self, peer: u32, size_bytes: u64, is_send: bool, word: &str) -> Transfer {
        let own = self.mine().number;
        let (src, dst) = if is_send { (own, peer) } else { (peer, own) };
        let n = self.ends.len() as u32;
        let channel = *self.channels.entry((src, dst, word.to_owned())).or_insert(n);
        if channel == n {
            self.ends.push([src, dst, 0, 0, 0]);
        }
        let line = self.line;
        let ends = &mut self.ends[channel as usize];
        ends[if is_send { 2 } else { 3 }] += 1;
        ends[4] = line;
        Transfer { peer, size_bytes, blocks: Blocks::Channel(channel) }
    }

    /// The end of a transfer at this rank.
    fn end_of(&mut self, transfer: Transfer, is_send: bool) -> End {
        match transfer.blocks {
            Blocks::Channel(channel) if !is_send => self.mine().open.next_receive(channel),
            _ => End::Send,
        }
    }

    /// `send 8b to R [tag T]` and `recv from R [tag T]`; `isend` and `irecv` leave it open.
    fn message(
        &mut self,
        call: &str,
        words: &[&str],
        label: Option<&str>,
    ) -> Result<(), TrafficError> {
        let (size, tail) = match (call.ends_with("send"), words) {
            (true, [size, "to", tail @ ..]) => (Some(self.size(size)?), tail),
            (false, ["from", tail @ ..]) => (None, tail),
            _ => (None, &[][..]),
        };
        let (peer, tag) = match tail {
            [peer] => (self.peer(peer)?, ""),
            [peer, "tag", tag] => (self.peer(peer)?, *tag),
            _ => {
                let what = format!("'{call} {}' is no message", words.join(" "));
                return self.wrong(what, "'send SIZEb to R [tag T]' or 'recv from R [tag T]'");
            }
        };
        if peer == self.mine().number {
            return self.wrong("a message of a rank to itself", "two different ranks");
        }
        let transfer = self.transfer(peer, size.unwrap_or(0), size.is_some(), tag);
        let end = self.end_of(transfer, size.is_some());
        let moved = match size {
            Some(_) => Exchange::send(transfer),
            None => Exchange::recv(transfer),
        };
        if call.starts_with('i') {
            if !self.mine().open.leave(end, label) {
                return self.wrong("a label that is open", "another one, or a wait for it before");
            }
            return self.push(moved.without_wait());
        }
        let waits = self.mine().open.waits_for(&[end]);
        waiting(moved, waits).into_iter().try_for_each(|one| self.push(one))
    }

    /// `wait` for all that is open, `wait A B` for those of these labels.
    fn wait(&mut self, labels: &[&str]) -> Result<(), TrafficError> {
        let mut ends = Vec::new();
        for label in labels {
            match self.mine().open.take(label) {
                Some(end) => ends.push(end),
                None => {
                    let what = format!("no call with label '{label}' is open");
                    return self.wrong(what, "labels of this rank's open calls");
                }
            }
        }
        if labels.is_empty() {
            self.mine().open.clear();
        }
        let waits = self.mine().open.waits_for(&ends);
        waiting(Exchange::default(), waits).into_iter().try_for_each(|one| self.push(one))
    }
}
