//! Collectives among the calls of a program.

use super::Reader;
use super::groups::{GroupPart, Moves};
use super::open::waiting;
use crate::collective::{Algorithm, Collective, Operation, algorithms_of, check_collective};
use crate::error::TrafficError;
use crate::exchange::{Exchange, Transfer, Wait};
use crate::schedule::text::parsed;

impl Reader<'_> {
    /// `allreduce 8b [in GROUP] [root R] [by ALGORITHM]`.
    pub(super) fn collective(
        &mut self,
        name: &str,
        tail: &[&str],
        words: &[&str],
    ) -> Result<(), TrafficError> {
        let Some(operation) = parsed::<Operation>(name) else {
            let what = format!("'{}' is no call", words.join(" "));
            let expected = "'calc NS', 'send SIZEb to R', 'recv from R', 'wait', or a collective, \
                            'allreduce SIZEb'";
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
        self.take_part(group, GroupPart { collective, root })
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
    fn take_part(&mut self, number: usize, part: GroupPart) -> Result<(), TrafficError> {
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
        // A name that no tag has.
        let word = format!("in {number}");
        let mut ends = Vec::new();
        for moved in Moves::of(&self.groups[number], part, place) {
            let mut on_channel = |transfer: Option<Transfer>, is_send| {
                let Transfer { peer, size_bytes, .. } = transfer?;
                let transfer = self.transfer(peer, size_bytes, is_send, &word);
                ends.push(self.end_of(transfer, is_send));
                Some(transfer)
            };
            let recv = on_channel(moved.recv, false);
            let send = on_channel(moved.send, true);
            let moved = Exchange { recv, send, ..moved };
            if moved.wait == Wait::No {
                self.push(moved)?;
                continue;
            }
            let waits = self.mine().open.waits_for(&std::mem::take(&mut ends));
            waiting(moved, waits).into_iter().try_for_each(|one| self.push(one))?;
        }
        Ok(())
    }
}
