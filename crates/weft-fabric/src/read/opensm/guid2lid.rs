//! OpenSM's `guid2lid`: the LIDs of every port GUID it ever saw.

use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::Gathered;
use std::io;

const EXPECTED: &str = "a port GUID and its first and last LID, all in hex";

/// `0x98039b03000000d1 0x0014 0x0014`, a line each, empty lines between.
pub(crate) const FORMAT: Format =
    Format { name: "opensm guid2lid", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| record(line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    while let Some((place, line)) = lines.next_full()? {
        match record(&line) {
            Some((guid, first, last)) => gathered.lids.push((place, guid, first, last)),
            None => gathered.unread(place, &line, EXPECTED),
        }
    }
    Ok(())
}

fn record(line: &str) -> Option<(u64, u16, u16)> {
    let mut words = line.split_whitespace();
    let mut next = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (guid, first, last) = (next()?, next()?, next()?);
    let (first, last) = (u16::try_from(first).ok()?, u16::try_from(last).ok()?);
    (words.next().is_none() && first <= last).then_some((guid, first, last))
}
