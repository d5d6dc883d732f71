//! Unicast forwarding tables as OpenSM dumps them (`opensm-lfts.dump`) and as the diagnostics
//! (`dump_fts`, `dump_lfts`, `ibroute`) print them, multicast tables among them.
//!
//! SOURCE: what OpenSM 3.3.23 and infiniband-diags 44.0 print; `osm_dump.c` and `dump_fts.c` for
//! the rare lines.

use crate::read::cursor::kind_of;
use crate::read::format::{Format, MAX_TABLE_BYTES};
use crate::read::forwarding_table::{Table, TableDump, digits};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Kind, NodeRecord, Place, Who};
use std::io;

/// A table an entry a line, destinations after `#`; LIDs in hex, ports and ranges in decimal.
pub(crate) const LFTS_DUMP: Format =
    Format { name: "opensm-lfts.dump", is_it: is_dump, max_bytes: MAX_TABLE_BYTES, read };
/// The same with ranges in hex, destinations after `:` in parentheses.
pub(crate) const DUMP_FTS: Format =
    Format { name: "dump_fts", is_it: is_printed, max_bytes: MAX_TABLE_BYTES, read };

const UNICAST: &str = "Unicast lids [";
const MULTICAST: &str = "Multicast mlids [";
const TABLE: &str = "a table: 'Unicast lids [0-22] of switch Lid 3 guid 0x... ('name'):'";
const ENTRY: &str = "a LID in hex, a port of three digits and the destination";

fn is_dump(head: &str) -> bool {
    head.lines().any(|line| line.starts_with(UNICAST) && !line[UNICAST.len()..].starts_with("0x"))
}

fn is_printed(head: &str) -> bool {
    let begins = |line: &str| line.starts_with(UNICAST) || line.starts_with(MULTICAST);
    head.lines().any(begins)
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut dump = Dump::default();
    while let Some((place, line)) = lines.next_bytes()? {
        match &mut dump.tables.open {
            Some(table) if line.starts_with(b"0x") => {
                entry(table, &mut dump.names, line, place, gathered);
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

/// A file of tables in the making.
#[derive(Default)]
struct Dump {
    tables: TableDump,
    /// Whether the last line of the open table counts the entries; OpenSM's is the highest LID.
    is_counted: bool,
    names: Names,
    /// Lines of the multicast table that is being read.
    multicast: Option<(Place, Vec<String>)>,
}

impl Dump {
    /// A line that is no entry of a unicast table.
    fn other(&mut self, line: &str, place: Place, gathered: &mut Gathered) {
        let text = line.trim();
        if let Some(range) = text.strip_prefix(UNICAST) {
            self.close(place, gathered);
            self.is_counted = range.starts_with("0x");
            match header(text, place) {
                Some(table) => self.tables.begin(table, gathered),
                None => gathered.unread(place, line, TABLE),
            }
        } else if text.starts_with(MULTICAST) {
            self.close(place, gathered);
            self.multicast = Some((place, vec![text.to_owned()]));
        } else if text.ends_with("lids dumped") {
            self.end(text, place, gathered);
        } else if let Some((_, rows)) = &mut self.multicast {
            rows.push(line.to_owned());
        } else if !is_heading(text) {
            let expected = if self.tables.open.is_some() { ENTRY } else { TABLE };
            gathered.unread(place, line, expected);
        }
    }

    /// The line that ends a table: `22 valid lids dumped`.
    fn end(&mut self, text: &str, place: Place, gathered: &mut Gathered) {
        if let Some((begun, mut rows)) = self.multicast.take() {
            rows.push(text.to_owned());
            return gathered.kept.push((begun, "multicast forwarding table".to_owned(), rows));
        }
        let Some(table) = self.tables.open.take() else {
            return gathered.unread(place, text, TABLE);
        };
        let counted = text.split(' ').next().and_then(|word| word.parse::<u64>().ok());
        if self.is_counted && counted != Some(table.n_lines) {
            let expected = format!("'{} lids dumped': so many entries are there", table.n_lines);
            gathered.unread(place, text, expected);
        }
        table.hand_over(&mut self.tables, gathered);
    }

    /// Give up a table that has no last line.
    fn close(&mut self, place: Place, gathered: &mut Gathered) {
        if let Some((begun, rows)) = self.multicast.take() {
            gathered.unread(place, "a table without its end", "'... mlids dumped'");
            gathered.kept.push((begun, "multicast forwarding table".to_owned(), rows));
        }
        if let Some(table) = self.tables.open.take() {
            let what = format!("the table of {:#018x} has no end", table.guid);
            gathered.unread(place, &what, "'... lids dumped'");
            table.hand_over(&mut self.tables, gathered);
        }
    }
}

/// `Unicast lids [0x0-0x16] of switch Lid 8 guid 0x506b4b0300000140 (leaf003):`, the name in quotes
/// where OpenSM writes it, the LID unknown where a directed route led to the switch.
fn header(text: &str, place: Place) -> Option<Table> {
    let (_, text) = text.split_once("] of switch ")?;
    let (path, text) = text.split_once(" guid 0x")?;
    let (guid, name) = text.split_once(" (")?;
    let name = name.strip_suffix("):")?;
    let lid = match path.strip_prefix("Lid ") {
        Some(lid) => Some(lid.split(' ').next()?.parse().ok()?),
        None => None,
    };
    let guid = u64::from_str_radix(guid, 16).ok()?;
    Some(Table::new(place, guid, lid, Some(unquoted(name))))
}

fn unquoted(name: &str) -> &str {
    name.strip_prefix('\'').and_then(|name| name.strip_suffix('\'')).unwrap_or(name)
}

/// Lines that the tools print around the entries.
fn is_heading(text: &str) -> bool {
    text.is_empty()
        || text.starts_with("Lid  Out")
        || (text.starts_with("Port ") && text.ends_with("Info"))
        || text.starts_with("*** WARNING ***: this command has been replaced")
}

fn entry(table: &mut Table, names: &mut Names, line: &[u8], place: Place, gathered: &mut Gathered) {
    let read = match split(line) {
        None => Err(ENTRY),
        Some((_, _, destination)) if destination.ends_with(b"illegal port") => Ok(None),
        Some((lid, port, destination)) => {
            table.set(lid, port).map(|()| Some((lid, port, destination)))
        }
    };
    match read {
        Err(expected) => gathered.unread(place, &String::from_utf8_lossy(line), expected),
        Ok(entry) => {
            table.n_lines += 1;
            if let Some((lid, port, destination)) = entry {
                let switch = (port == 0).then_some(table.guid);
                names.note(lid, switch, destination, place, gathered);
            }
        }
    }
}

/// LID, port and destination of `0x000a 005 # Switch portguid 0x...: 'name'`.
#[inline]
fn split(line: &[u8]) -> Option<(u16, u8, &[u8])> {
    let (lid, entry) = digits(line.strip_prefix(b"0x")?, 16, 4)?;
    let (port, text) = digits(entry.strip_prefix(b" ")?, 10, 3)?;
    let text = text.trim_ascii();
    let destination = match text.strip_prefix(b"# ") {
        Some(destination) => destination,
        None if text.is_empty() => text,
        None => text.strip_prefix(b": (")?.strip_suffix(b")")?,
    };
    Some((u16::try_from(lid).ok()?, u8::try_from(port).ok()?, destination))
}

/// Owners of a file's LIDs, by the text behind the entries.
#[derive(Default)]
struct Names {
    /// By LID its last description: every table repeats it, almost always unchanged.
    last: Vec<Vec<u8>>,
}

impl Names {
    /// A destination; `switch` is the table's own where the entry leads to the switch itself.
    #[inline]
    fn note(
        &mut self,
        lid: u16,
        switch: Option<u64>,
        destination: &[u8],
        place: Place,
        gathered: &mut Gathered,
    ) {
        let at = usize::from(lid);
        if self.last.len() <= at {
            self.last.resize(at + 1, Vec::new());
        }
        let is_new = self.last[at] != destination;
        if is_new {
            self.last[at].clear();
            self.last[at].extend_from_slice(destination);
        }
        if is_new || switch.is_some() {
            let text = String::from_utf8_lossy(destination);
            match Destination::of(&text) {
                Some(destination) => destination.hand_over(lid, switch, place, gathered),
                None => gathered.unread(place, &text, "a kind, a port GUID and a name"),
            }
        }
    }
}

/// The text behind an entry.
enum Destination<'a> {
    /// `Channel Adapter portguid 0x...: 'name'`
    Port(Kind, u64, &'a str),
    /// `path #2 out of 2: portguid 0x...`: a further LID of the port before.
    Path(u64),
    /// Nothing, or that nothing is known.
    Unknown,
}

impl Destination<'_> {
    fn of(text: &str) -> Option<Destination<'_>> {
        let nothing = ["", "unknown node and type", "node info not available fabric scan"];
        if nothing.contains(&text) {
            return Some(Destination::Unknown);
        }
        let (what, owner) = text.split_once("portguid 0x")?;
        if what.starts_with("path #") {
            return Some(Destination::Path(u64::from_str_radix(owner, 16).ok()?));
        }
        let kind = kind_of(what.trim_end())?;
        let (guid, name) = owner.split_once(": ")?;
        let name = name.strip_prefix('\'')?.strip_suffix('\'')?;
        Some(Destination::Port(kind, u64::from_str_radix(guid, 16).ok()?, name))
    }

    fn hand_over(self, lid: u16, switch: Option<u64>, place: Place, gathered: &mut Gathered) {
        let guid = match self {
            Destination::Unknown => return,
            Destination::Path(guid) => guid,
            Destination::Port(kind, guid, name) => {
                gathered.nodes.push(NodeRecord {
                    kind: Some(kind),
                    guid: switch,
                    description: Some(name.to_owned()),
                    ..NodeRecord::of(place, Who::Port(guid))
                });
                guid
            }
        };
        if let Some((first, port, _, last)) = gathered.lids.last_mut()
            && first.source == place.source
            && *port == guid
            && last.checked_add(1) == Some(lid)
        {
            *last = lid;
            return;
        }
        gathered.lids.push((place, guid, lid, lid));
    }
}
