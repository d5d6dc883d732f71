//! `saquery PKTR` and `saquery PR`: partition keys of ports, and service levels of paths.
//!
//! SOURCE: what infiniband-diags 44.0 prints.

use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, PartitionKeysRecord, PathLevelRecord, Place, Who};
use std::collections::BTreeMap;
use std::io;

const HEADER: &str = "a record: 'PKeyTableRecord dump:' or 'PathRecord dump:'";
const FACT: &str = "a fact 'LID........................3', or a row of eight keys in hex";
const WHOLE: &str = "a whole record: LID, port, block and 32 keys; or slid, dlid, pkey and sl";
const KEYS: &str = "PKeyTableRecord dump:";
const PATH: &str = "PathRecord dump:";
const KEYS_OF_BLOCK: usize = 32;

/// Records, each a header and lines of facts: `LID........................3`.
pub(crate) const FORMAT: Format =
    Format { name: "saquery", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| [KEYS, PATH].contains(&line.trim_end()))
}

/// A record that is being read.
struct Open {
    place: Place,
    is_path: bool,
    facts: BTreeMap<String, String>,
    keys: Vec<u16>,
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut open: Option<Open> = None;
    while let Some((place, text)) = lines.next_full()? {
        let line = text.trim();
        if [KEYS, PATH].contains(&line) {
            close(open.take(), gathered);
            let (is_path, facts) = (line == PATH, BTreeMap::new());
            open = Some(Open { place, is_path, facts, keys: Vec::new() });
            continue;
        }
        let Some(record) = &mut open else {
            gathered.unread(place, line, HEADER);
            continue;
        };
        if line == "PKey Table:" {
        } else if let Some(row) = keys(line).filter(|_| !record.is_path) {
            record.keys.extend(row);
        } else if let Some((name, value)) = line.split_once("..") {
            record.facts.insert(name.to_owned(), value.trim_start_matches('.').to_owned());
        } else {
            gathered.unread(place, line, FACT);
        }
    }
    close(open, gathered);
    Ok(())
}

fn close(open: Option<Open>, gathered: &mut Gathered) {
    let Some(open) = open else { return };
    let is_read = if open.is_path { path(&open, gathered) } else { table(&open, gathered) };
    if is_read.is_none() {
        gathered.unread(open.place, if open.is_path { PATH } else { KEYS }, WHOLE);
    }
}

fn table(open: &Open, gathered: &mut Gathered) -> Option<()> {
    let number = |name: &str| open.facts.get(name)?.parse::<u16>().ok();
    let (lid, port, block) = (number("LID")?, number("Port")?, number("Block")?);
    let keys = open.keys.clone();
    let (place, who) = (open.place, Who::Lid(lid));
    let record = PartitionKeysRecord { place, who, port: u8::try_from(port).ok()?, block, keys };
    (record.keys.len() == KEYS_OF_BLOCK).then(|| gathered.partition_keys.push(record))
}

fn path(open: &Open, gathered: &mut Gathered) -> Option<()> {
    let number = |name: &str| open.facts.get(name)?.parse::<u16>().ok();
    let hex = |name: &str| u16::from_str_radix(open.facts.get(name)?.strip_prefix("0x")?, 16).ok();
    let (source, target, level) = (number("slid")?, number("dlid")?, u8::try_from(hex("sl")?));
    let (place, key, level) = (open.place, hex("pkey")?, level.ok().filter(|level| *level < 16)?);
    gathered.path_levels.push(PathLevelRecord { place, source, target, key, level });
    Some(())
}

fn keys(line: &str) -> Option<Vec<u16>> {
    let key = |word: &str| u16::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    line.split_whitespace().map(key).collect()
}
