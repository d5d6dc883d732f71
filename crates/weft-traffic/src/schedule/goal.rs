//! GOAL's text format.
//!
//! SOURCE: Hoefler, Siebert, Lumsdaine, "Group Operation Assembly Language" (ICPP 2009); the
//! grammar as LogGOPSim's txt2bin reads it. Computing is in nanoseconds, a rank has one processor
//! and one NIC, and a receive names its source and tag.

use super::graph::{MAX_OPERATIONS, ScheduledMessage, ScheduledOperation, Work, wrong};
use super::text::{number, without_comments};
use crate::error::TrafficError;
use std::collections::HashMap;

#[derive(Default)]
struct Reader<'a> {
    place: &'a str,
    line: u32,
    ranks: Vec<Vec<ScheduledOperation>>,
    n_operations: usize,
    /// The rank whose braces are open, and its labels.
    rank: Option<usize>,
    labels: HashMap<String, u32>,
    declared: bool,
}

pub(super) fn read(
    place: &str,
    text: &str,
    n_ranks: u32,
) -> Result<Vec<Vec<ScheduledOperation>>, TrafficError> {
    let mut reader =
        Reader { place, ranks: vec![Vec::new(); n_ranks as usize], ..Reader::default() };
    let text = without_comments(text);
    for line in text.lines() {
        reader.line += 1;
        let spaced = line.replace(':', " : ").replace('{', " { ").replace('}', " } ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        reader.statements(&words)?;
    }
    match (reader.rank, reader.declared) {
        (Some(rank), _) => {
            Err(reader.wrong(format!("the braces of rank {rank} are open"), "a '}'"))
        }
        (None, false) => Err(reader.wrong("no 'num_ranks'", "'num_ranks' and a number")),
        (None, true) => Ok(reader.ranks),
    }
}

impl Reader<'_> {
    fn wrong(&self, what: impl Into<String>, expected: impl Into<String>) -> TrafficError {
        wrong(self.place, self.line.max(1), what, expected)
    }

    /// The statements of a line: one, and braces.
    fn statements(&mut self, mut words: &[&str]) -> Result<(), TrafficError> {
        loop {
            words = match words {
                [] => return Ok(()),
                ["num_ranks", count, tail @ ..] => {
                    self.declare(count)?;
                    tail
                }
                ["rank", rank, "{", tail @ ..] => {
                    self.open(rank)?;
                    tail
                }
                ["}", tail @ ..] => {
                    if self.rank.take().is_none() {
                        return Err(self.wrong("a '}' too many", "one for each 'rank R {'"));
                    }
                    self.labels.clear();
                    tail
                }
                _ => {
                    let end = words.iter().position(|word| *word == "}").unwrap_or(words.len());
                    self.operation(&words[..end])?;
                    &words[end..]
                }
            };
        }
    }

    fn declare(&mut self, count: &str) -> Result<(), TrafficError> {
        let count: u64 = self.number(count, "a number of ranks")?;
        let most = self.ranks.len();
        if count == 0 || count > most as u64 {
            let what = format!("{count} ranks in a job of {most}");
            return Err(self.wrong(what, format!("from 1 to {most}")));
        }
        self.declared = true;
        Ok(())
    }

    fn open(&mut self, rank: &str) -> Result<(), TrafficError> {
        let rank = self.peer(rank)? as usize;
        if self.rank.is_some() {
            return Err(self.wrong("a rank inside another", "a '}' before it"));
        }
        if !self.ranks[rank].is_empty() {
            return Err(self.wrong(format!("rank {rank} again"), "each rank once"));
        }
        self.rank = Some(rank);
        Ok(())
    }

    fn operation(&mut self, words: &[&str]) -> Result<(), TrafficError> {
        let Some(rank) = self.rank else {
            let what = format!("'{}' outside of a rank", words[0]);
            return Err(self.wrong(what, "'num_ranks N' or 'rank R {'"));
        };
        if let [later, kind @ ("requires" | "irequires"), earlier] = words {
            let (later, earlier) = (self.label(later)?, self.label(earlier)?);
            let operation = &mut self.ranks[rank][later as usize];
            let list = if *kind == "requires" { &mut operation.after } else { &mut operation.with };
            list.push(earlier);
            return Ok(());
        }
        let (label, words) = match words {
            [label, ":", words @ ..] => (Some(*label), words),
            words => (None, words),
        };
        let work = self.work(rank as u32, words)?;
        let number = self.ranks[rank].len() as u32;
        self.n_operations += 1;
        if self.n_operations > MAX_OPERATIONS {
            return Err(self.wrong("too many operations", format!("at most {MAX_OPERATIONS}")));
        }
        self.ranks[rank].push(ScheduledOperation::new(work, self.line));
        if let Some(label) = label
            && self.labels.insert(label.to_owned(), number).is_some()
        {
            let what = format!("label '{label}' again");
            return Err(self.wrong(what, "each label once in a rank"));
        }
        Ok(())
    }

    fn work(&self, rank: u32, words: &[&str]) -> Result<Work, TrafficError> {
        match words {
            ["calc", ns, options @ ..] => {
                self.options(options)?;
                let ns: u64 = self.number(ns, "nanoseconds")?;
                let ps = ns.checked_mul(1000).filter(|ps| *ps < 1 << 62);
                let ps = ps.ok_or_else(|| self.wrong(format!("{ns} ns"), "at most 53 days"))?;
                Ok(Work::Compute { ps })
            }
            ["send", tail @ ..] => Ok(Work::Send(self.message(rank, "to", tail)?)),
            ["recv", tail @ ..] => Ok(Work::Recv(self.message(rank, "from", tail)?)),
            _ => {
                let what = format!("'{}' is no operation", words.join(" "));
                let expected =
                    "'send SIZEb to R', 'recv SIZEb from R', 'calc NS' or 'A requires B'";
                Err(self.wrong(what, expected))
            }
        }
    }

    fn message(
        &self,
        rank: u32,
        towards: &str,
        words: &[&str],
    ) -> Result<ScheduledMessage, TrafficError> {
        let (size, tail) = match words {
            [size, "b", tail @ ..] => (*size, tail),
            [size, tail @ ..] => (size.strip_suffix('b').unwrap_or(size), tail),
            [] => ("", words),
        };
        let size_bytes: u64 = self.number(size, "a size in bytes, such as 8b")?;
        if size_bytes > 1 << 40 {
            return Err(self.wrong(format!("a message of {size_bytes} bytes"), "at most 1 TiB"));
        }
        let [word, peer, options @ ..] = tail else {
            return Err(self.wrong(format!("no '{towards}'"), format!("'{towards}' and a rank")));
        };
        if *word != towards {
            let what = format!("'{word}' after the size");
            return Err(self.wrong(what, format!("'{towards}' and a rank")));
        }
        let peer = self.peer(peer)?;
        if peer == rank {
            return Err(self.wrong("a message of a rank to itself", "two different ranks"));
        }
        Ok(ScheduledMessage { peer, size_bytes, tag: self.options(options)? })
    }

    /// The tag among the options after an operation.
    fn options(&self, mut words: &[&str]) -> Result<u32, TrafficError> {
        let mut tag = 0;
        while let [name, value, tail @ ..] = words {
            match *name {
                "tag" => tag = self.number(value, "a tag")?,
                "cpu" | "nic" if *value == "0" => {}
                "cpu" | "nic" => {
                    let what = format!("{name} {value}: a rank has one");
                    return Err(self.wrong(what, format!("'{name} 0'")));
                }
                _ => return Err(self.wrong(format!("'{name}'"), "'tag', 'cpu' or 'nic'")),
            }
            words = tail;
        }
        match words {
            [] => Ok(tag),
            _ => Err(self.wrong(format!("'{}' without a value", words[0]), "a number after it")),
        }
    }

    fn peer(&self, word: &str) -> Result<u32, TrafficError> {
        let peer: u32 = self.number(word, "a rank")?;
        if peer as usize >= self.ranks.len() {
            let expected = format!("a rank below {}", self.ranks.len());
            return Err(self.wrong(format!("there is no rank {peer}"), expected));
        }
        Ok(peer)
    }

    fn label(&self, word: &str) -> Result<u32, TrafficError> {
        self.labels.get(word).copied().ok_or_else(|| {
            self.wrong(format!("there is no label '{word}' above"), "a label of this rank")
        })
    }

    fn number<T: std::str::FromStr>(&self, word: &str, expected: &str) -> Result<T, TrafficError> {
        number(self.place, self.line, word, expected)
    }
}
