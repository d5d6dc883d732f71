//! The MPI calls of each rank, in the order in which it makes them.
//!
//! A rank does one call after another; a call that does not wait leaves a send or a receive open,
//! and `wait R S` goes on when at most R receives and S sends are. So nothing here is laid out in
//! levels as a graph is: computing between a send and its wait overlaps with it, as on a machine.
//! A collective becomes the moves of its algorithm; what is open before it stays open.
//!
//! Messages of a pair meet in order, so receives have no tags: a wait counts, whichever they are.

use super::graph::{MAX_OPERATIONS, wrong};
use super::groups::{Group, Moves, Part, beside};
use super::text::{number, parsed, without_comments};
use crate::collective::{Algorithm, Collective, Operation, algorithms_of};
use crate::error::TrafficError;
use crate::exchange::{Blocks, Exchange, Transfer, Wait};
use crate::keys::check_collective;
use crate::step::BenchmarkName;
use std::collections::{BTreeMap, HashMap};

/// The group of all ranks.
const WORLD: &str = "world";

/// The moves of each rank, and the numbers of those at which it passes a mark.
type Calls = (Vec<Vec<Exchange>>, Vec<Vec<u32>>);

/// The rank whose braces are open.
struct OpenRank {
    number: u32,
    /// Receives and sends that it does not wait for yet.
    open: [u32; 2],
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
    /// By source and destination: sends, receives, and the line of the last of either.
    pairs: BTreeMap<(u32, u32), [u32; 3]>,
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
            ["send", size, "to", peer] => self.send(size, peer, true),
            ["isend", size, "to", peer] => self.send(size, peer, false),
            ["recv", "from", peer] => self.recv(peer, true),
            ["irecv", "from", peer] => self.recv(peer, false),
            ["wait", receives, sends] => self.wait(receives, sends),
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
        self.rank = Some(OpenRank { number, open: [0, 0], n_parts: Vec::new() });
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
        for ((src, dst), [sends, receives, line]) in &self.pairs {
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
        Ok((self.moves, self.marks))
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

    /// The transfer of a call, counted at its end of the pair: 0 sends, 1 receives.
    fn transfer(
        &mut self,
        peer: &str,
        size_bytes: u64,
        end: usize,
    ) -> Result<Transfer, TrafficError> {
        let (own, peer, line) = (self.mine().number, self.peer(peer)?, self.line);
        if peer == own {
            return self.wrong("a message of a rank to itself", "two different ranks");
        }
        let pair = if end == 0 { (own, peer) } else { (peer, own) };
        let counts = self.pairs.entry(pair).or_default();
        counts[end] += 1;
        counts[2] = line;
        Ok(Transfer { peer, size_bytes, blocks: Blocks::None })
    }

    fn send(&mut self, size: &str, peer: &str, waits: bool) -> Result<(), TrafficError> {
        let size_bytes = self.size(size)?;
        let transfer = self.transfer(peer, size_bytes, 0)?;
        let wait = self.after(1, waits);
        self.push(Exchange { wait, ..Exchange::send(transfer) })
    }

    fn recv(&mut self, peer: &str, waits: bool) -> Result<(), TrafficError> {
        let transfer = self.transfer(peer, 0, 1)?;
        let wait = self.after(0, waits);
        self.push(Exchange { wait, ..Exchange::recv(transfer) })
    }

    /// The wait after a call that leaves one more open, or waits for it.
    fn after(&mut self, side: usize, waits: bool) -> Wait {
        let open = &mut self.mine().open;
        if waits {
            Wait::AtMost { receives: open[0], sends: open[1] }
        } else {
            open[side] += 1;
            Wait::No
        }
    }

    fn wait(&mut self, receives: &str, sends: &str) -> Result<(), TrafficError> {
        let expected = "how many receives and sends may be open";
        let most = [self.number(receives, expected)?, self.number(sends, expected)?];
        let open = &mut self.mine().open;
        for (open, most) in open.iter_mut().zip(most) {
            *open = u64::from(*open).min(most) as u32;
        }
        let wait = Wait::AtMost { receives: open[0], sends: open[1] };
        self.push(Exchange { wait, ..Exchange::default() })
    }

    // ---- collectives ----------------------------------------------------------------------

    /// `allreduce 8b [in GROUP] [root R] [by ALGORITHM]`.
    fn collective(
        &mut self,
        name: &str,
        tail: &[&str],
        words: &[&str],
    ) -> Result<(), TrafficError> {
        let operation = parsed::<BenchmarkName>(name).and_then(BenchmarkName::operation);
        let Some(operation) = operation else {
            let what = format!("'{}' is no call", words.join(" "));
            let expected = "'calc NS', 'send SIZEb to R', 'recv from R', 'wait R S', \
                            or a collective, 'allreduce SIZEb'";
            return self.wrong(what, expected);
        };
        let (size_bytes, tail) = match tail {
            [size, tail @ ..] if size.starts_with(|letter: char| letter.is_ascii_digit()) => {
                (self.size(size)?, tail)
            }
            _ if operation == Operation::Barrier => (0, tail),
            _ => return self.wrong(format!("a {name} without a size"), format!("'{name} 8b'")),
        };
        let (group, root, algorithm) = self.options(operation, tail)?;
        let n = self.groups[group].members.len() as u32;
        let collective = Collective::new(operation, algorithm, n, size_bytes);
        check_collective(self.place, &collective)?;
        self.take_part(group, Part { collective, root })
    }

    fn options(
        &self,
        operation: Operation,
        mut words: &[&str],
    ) -> Result<(usize, u32, Algorithm), TrafficError> {
        let (mut group, mut root, mut algorithm) = (0, 0, algorithms_of(operation)[0]);
        while let [key, value, tail @ ..] = words {
            match *key {
                "in" => match self.group_names.get(*value) {
                    Some(number) => group = *number,
                    None => return self.wrong(format!("there is no group '{value}'"), "its name"),
                },
                "root" => root = self.number(value, "a place in the group")? as u32,
                "by" => match parsed::<Algorithm>(value) {
                    Some(own) if !own.knows_nodes() && algorithms_of(operation).contains(&own) => {
                        algorithm = own;
                    }
                    _ => {
                        let what = format!("'{value}' is no algorithm of ranks alone for it");
                        return self.wrong(what, "one that knows neither nodes nor switches");
                    }
                },
                _ => return self.wrong(format!("'{key}'"), "'in', 'root' or 'by'"),
            }
            words = tail;
        }
        if !words.is_empty() {
            return self.wrong(format!("'{}' without a value", words[0]), "a word after it");
        }
        let n = self.groups[group].members.len();
        if root as usize >= n {
            return self.wrong(format!("root {root} of {n}"), format!("a place below {n}"));
        }
        Ok((group, root, algorithm))
    }

    /// The moves of this rank's part in a collective of its group.
    fn take_part(&mut self, number: usize, part: Part) -> Result<(), TrafficError> {
        let (line, own) = (self.line, self.mine().number);
        let group = &mut self.groups[number];
        let Some(place) = group.place_of.get(&own).copied() else {
            return self.wrong(format!("rank {own} is not in the group"), "a member of it");
        };
        let parts = &mut self.rank.as_mut().expect("in a rank").n_parts;
        parts.resize(parts.len().max(number + 1), 0);
        let index = parts[number];
        parts[number] += 1;
        if index == group.parts.len() {
            group.parts.push((part, line));
        }
        let (first, first_line) = group.parts[index];
        if first != part {
            let what = format!("another collective than that of line {first_line}");
            return self.wrong(what, "the same one, of the same size, on all members");
        }
        let open = self.mine().open;
        let mut moves = Moves::of(&self.groups[number], part, place);
        moves.try_for_each(|moved| self.push(beside(moved, open)))
    }
}
