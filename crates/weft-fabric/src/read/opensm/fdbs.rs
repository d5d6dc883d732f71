//! OpenSM's `opensm.fdbs`: forwarding tables with hops, without names.
//!
//! SOURCE: what OpenSM 3.3.23 writes; `osm_dump.c` for the rare lines. `ibdiagnet2.fdbs` differs in
//! the first line of a table, and numbers private tables (tests/fixtures/fabric/README.md).

use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::forwarding_table::{Room, SECOND_DUMP, Table, digits, end_of};
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

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered, source: u32) -> io::Result<()> {
    let mut dump = Dump::new();
    while let Some((number, line)) = lines.next_numbered()? {
        let place = Place { source, line: number };
        match &mut dump.table {
            Some(table) if line.starts_with(b"0x") => {
                if let Err(expected) = entry(table, &mut dump.next, line) {
                    gathered.unread(place, &String::from_utf8_lossy(line), expected);
                }
            }
            _ => dump.other(&String::from_utf8_lossy(line), place, gathered),
        }
        if dump.is_over {
            break;
        }
    }
    dump.close(end_of(lines, source), gathered);
    Ok(())
}

/// The GUID in the first line of a table; ibdiagnet names a function before it.
fn guid_of(line: &str) -> Option<&str> {
    line.strip_prefix("osm_ucast_mgr_").unwrap_or(line).strip_prefix(HEADER)
}

/// A file of tables in the making.
struct Dump {
    /// The switch of the first table.
    first: Option<u64>,
    /// Whether that one came again.
    is_over: bool,
    table: Option<Table>,
    /// The LID of the entry that should come next: none is left out.
    next: u32,
    /// So many LIDs the longest table has so far.
    longest: u32,
    room: Room,
}

impl Dump {
    fn new() -> Dump {
        let room = Room::default();
        Dump { first: None, is_over: false, table: None, next: 1, longest: 0, room }
    }

    fn other(&mut self, line: &str, place: Place, gathered: &mut Gathered) {
        let text = line.trim();
        if let Some(guid) = guid_of(text) {
            self.close(place, gathered);
            self.next = 1;
            match u64::from_str_radix(guid, 16) {
                Ok(guid) if self.first == Some(guid) => {
                    self.is_over = true;
                    gathered.unread(place, SECOND_DUMP.0, SECOND_DUMP.1);
                }
                Ok(guid) => {
                    self.first.get_or_insert(guid);
                    self.table = Some(Table::new(place, guid, None, None));
                }
                Err(_) => gathered.unread(place, line, TABLE),
            }
        } else if text.strip_prefix(PRIVATE).is_some_and(|number| number.trim() != "0") {
            self.close(place, gathered);
            gathered.unread(place, line, "one table a switch; the first one is used");
        } else if !text.is_empty() && text != COLUMNS && !text.starts_with(PRIVATE) {
            let expected = if self.table.is_some() { ENTRY } else { TABLE };
            gathered.unread(place, line, expected);
        }
    }

    /// The end of a table: nothing says it but its length, which all tables of a file share.
    fn close(&mut self, place: Place, gathered: &mut Gathered) {
        let Some(table) = self.table.take() else { return };
        let last = self.next - 1;
        if last < self.longest {
            let what = format!("the table of {:#018x} ends at LID {last}", table.guid);
            gathered.unread(place, &what, format!("entries up to LID {}", self.longest));
        }
        self.longest = self.longest.max(last);
        table.hand_over(&mut self.room, gathered);
    }
}

/// An entry; or what would have been right.
#[inline]
fn entry(table: &mut Table, next: &mut u32, line: &[u8]) -> Result<(), &'static str> {
    let (lid, entry) = split(line).ok_or(ENTRY)?;
    let expected = std::mem::replace(next, u32::from(lid) + 1);
    table.n_lines += 1;
    let port = match entry {
        b"UNREACHABLE" => None,
        entry => {
            let (port, rest) = digits(entry, 10, 3).ok_or(ENTRY)?;
            let port = u8::try_from(port).map_err(|_| "a port, at most 255")?;
            is_rest(rest).then_some(Some(port)).ok_or(ENTRY)?
        }
    };
    port.map_or(Ok(()), |port| table.set(lid, port))?;
    if u32::from(lid) == expected { Ok(()) } else { Err("every LID in order, none left out") }
}

#[inline]
fn split(line: &[u8]) -> Option<(u16, &[u8])> {
    let (lid, rest) = digits(line.strip_prefix(b"0x")?, 16, 4)?;
    Some((u16::try_from(lid).ok()?, rest.strip_prefix(b" : ")?.trim_ascii_end()))
}

/// `  : 01   : yes`, `  : 03   : No 2 hop path possible via port 7!` or `  : HOPS UNKNOWN`.
#[inline]
fn is_rest(rest: &[u8]) -> bool {
    let Some(hops) = rest.strip_prefix(b"  : ") else { return false };
    let n_digits = hops.iter().take_while(|byte| byte.is_ascii_digit()).count();
    match hops[n_digits..].strip_prefix(b"   : ") {
        Some(optimal) if n_digits >= 2 => {
            optimal == b"yes" || (optimal.starts_with(b"No ") && optimal.ends_with(b"!"))
        }
        _ => hops == b"HOPS UNKNOWN",
    }
}
