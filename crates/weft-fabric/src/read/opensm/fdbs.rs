//! OpenSM's `opensm.fdbs`: forwarding tables with hops, without names.
//!
//! SOURCE: what OpenSM 3.3.23 writes; `osm_dump.c` for the rare lines. `ibdiagnet2.fdbs` differs in
//! the first line of a table, and numbers private tables (tests/fixtures/fabric/README.md).

use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::forwarding_table::{Table, TableDump, digits};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Place};
use std::io;

const HEADER: &str = "dump_ucast_routes: Switch 0x";
const PRIVATE: &str = "PLFT_NUM:";
const COLUMNS: &str = "LID    : Port : Hops : Optimal";
const TABLE: &str = "a table: 'dump_ucast_routes: Switch 0x...'";
const ENTRY: &str = "'0x000A : 005  : 01   : yes' or '0x000A : UNREACHABLE'";

/// `0x000A : 005  : 01   : yes`: LIDs in upper-case hex, every one up to the highest in use.
pub(crate) const FORMAT: Format =
    Format { name: "opensm.fdbs", is_it, max_bytes: MAX_TABLE_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| guid_of(line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut dump = Dump::default();
    while let Some((place, line)) = lines.next_bytes()? {
        match &mut dump.tables.open {
            Some(table) if line.starts_with(b"0x") => {
                if let Err(expected) = entry(table, &mut dump.last, line) {
                    gathered.unread(place, &String::from_utf8_lossy(line), expected);
                }
            }
            _ => dump.other(&String::from_utf8_lossy(line), place, gathered),
        }
        if dump.tables.is_over {
            break;
        }
    }
    dump.close(lines.place(), gathered);
    Ok(())
}

/// The GUID in the first line of a table; ibdiagnet names a function before it.
fn guid_of(line: &str) -> Option<&str> {
    line.strip_prefix("osm_ucast_mgr_").unwrap_or(line).strip_prefix(HEADER)
}

/// A file of tables in the making.
#[derive(Default)]
struct Dump {
    tables: TableDump,
    /// The LID of the entry before; the next one should follow it: none is left out.
    last: u32,
    /// So many LIDs the longest table has so far.
    longest: u32,
}

impl Dump {
    fn other(&mut self, line: &str, place: Place, gathered: &mut Gathered) {
        let text = line.trim();
        if let Some(guid) = guid_of(text) {
            self.close(place, gathered);
            self.last = 0;
            match u64::from_str_radix(guid, 16) {
                Ok(guid) => self.tables.begin(Table::new(place, guid, None, None), gathered),
                Err(_) => gathered.unread(place, line, TABLE),
            }
        } else if text.strip_prefix(PRIVATE).is_some_and(|number| number.trim() != "0") {
            self.close(place, gathered);
            gathered.unread(place, line, "one table a switch; the first one is used");
        } else if !text.is_empty() && text != COLUMNS && !text.starts_with(PRIVATE) {
            let expected = if self.tables.open.is_some() { ENTRY } else { TABLE };
            gathered.unread(place, line, expected);
        }
    }

    /// The end of a table: only its length shows it, which all tables of a file share.
    fn close(&mut self, place: Place, gathered: &mut Gathered) {
        let Some(table) = self.tables.open.take() else { return };
        if self.last < self.longest {
            let what = format!("the table of {:#018x} ends at LID {}", table.guid, self.last);
            gathered.unread(place, &what, format!("entries up to LID {}", self.longest));
        }
        self.longest = self.longest.max(self.last);
        table.hand_over(&mut self.tables, gathered);
    }
}

/// An entry; or what would have been right.
#[inline]
fn entry(table: &mut Table, last: &mut u32, line: &[u8]) -> Result<(), &'static str> {
    let (lid, entry) = split(line).ok_or(ENTRY)?;
    let before = std::mem::replace(last, u32::from(lid));
    table.n_lines += 1;
    let port = match entry {
        b"UNREACHABLE" => None,
        entry => {
            let (port, end) = digits(entry, 10, 3).ok_or(ENTRY)?;
            let port = u8::try_from(port).map_err(|_| "a port, at most 255")?;
            is_end(end).then_some(Some(port)).ok_or(ENTRY)?
        }
    };
    port.map_or(Ok(()), |port| table.set(lid, port))?;
    if u32::from(lid) == before + 1 { Ok(()) } else { Err("every LID in order, none left out") }
}

#[inline]
fn split(line: &[u8]) -> Option<(u16, &[u8])> {
    let (lid, entry) = digits(line.strip_prefix(b"0x")?, 16, 4)?;
    Some((u16::try_from(lid).ok()?, entry.strip_prefix(b" : ")?.trim_ascii_end()))
}

/// `  : 01   : yes`, `  : 03   : No 2 hop path possible via port 7!` or `  : HOPS UNKNOWN`.
#[inline]
fn is_end(text: &[u8]) -> bool {
    let Some(hops) = text.strip_prefix(b"  : ") else { return false };
    let n_digits = hops.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match hops[n_digits..].strip_prefix(b"   : ") {
        Some(optimal) if n_digits >= 2 => {
            optimal == b"yes" || (optimal.starts_with(b"No ") && optimal.ends_with(b"!"))
        }
        _ => hops == b"HOPS UNKNOWN",
    }
}
