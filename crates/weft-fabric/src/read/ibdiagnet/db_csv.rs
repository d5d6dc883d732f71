//! ibdiagnet's `ibdiagnet2.db_csv`: sections of comma-separated rows, columns by their names.
//!
//! SOURCE: section names of the open ibutils2 headers; columns as readers of the file in public
//! repositories name them (tests/fixtures/fabric/README.md). Not checked against the tool itself.

use super::db_csv_sections::{self, Entry, Handler};
use crate::read::columns::{Columns, fields};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Kind, Place};
use std::collections::{HashMap, HashSet};
use std::io;

/// Most bytes of rows that are kept of sections without a reader; further rows are counted.
const MAX_KEPT_BYTES: usize = 32 << 20;
/// The sections that describe the fabric itself: a second one is another fabric.
const ONCE: [&str; 3] = ["NODES", "PORTS", "LINKS"];

/// `START_NODES`, a line of column names, rows, `END_NODES`; and so on.
pub(crate) const FORMAT: Format =
    Format { name: "ibdiagnet2.db_csv", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| {
        let name = line.trim().strip_prefix("START_");
        name.is_some_and(|name| !name.is_empty() && name.bytes().all(is_of_name))
    })
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_'
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (seen, kinds) = (HashSet::new(), HashMap::new());
    let mut file = File { gathered, section: None, seen, kinds };
    while let Some((place, line)) = lines.next_full()? {
        let line = line.trim_end();
        if let Some(name) = line.strip_prefix("START_") {
            if !file.begin(place, name) {
                return Ok(());
            }
        } else if let Some(name) = line.strip_prefix("END_") {
            file.end(place, name);
        } else {
            file.row(place, line, lines.is_ended);
        }
    }
    if let Some(section) = file.section.take() {
        let what = format!("section {} does not end", section.name);
        file.gathered.unread(section.place, &what, format!("END_{}", section.name));
        section.keep(file.gathered);
    }
    Ok(())
}

/// A section while its rows come.
struct Section {
    place: Place,
    name: String,
    columns: Option<Columns>,
    handler: Option<Handler>,
    /// Header and rows of a section that is kept as it is.
    kept: Option<Vec<String>>,
    n_bytes: usize,
    n_dropped: u64,
}

impl Section {
    fn keep(self, gathered: &mut Gathered) {
        if self.n_dropped > 0 {
            let what = format!("{} rows of section {}", self.n_dropped, self.name);
            let expected = format!("at most {MAX_KEPT_BYTES} bytes of rows without a reader");
            gathered.unread(self.place, &what, expected);
        }
        if let Some(rows) = self.kept {
            gathered.kept.push((self.place, self.name, rows));
        }
    }
}

/// A file while it is read.
struct File<'g> {
    gathered: &'g mut Gathered,
    section: Option<Section>,
    seen: HashSet<String>,
    kinds: HashMap<u64, Kind>,
}

impl File<'_> {
    /// Whether to go on.
    fn begin(&mut self, place: Place, name: &str) -> bool {
        if let Some(open) = self.section.take() {
            let what = format!("section {name} begins inside of section {}", open.name);
            self.gathered.unread(place, &what, format!("END_{}", open.name));
            open.keep(self.gathered);
        }
        if !self.seen.insert(name.to_owned()) && ONCE.contains(&name) {
            let what = "a second fabric begins here; it and all after it was left out";
            self.gathered.unread(place, what, "one fabric a file: split it before this line");
            return false;
        }
        let (handler, is_kept) = db_csv_sections::handler(name);
        self.section = Some(Section {
            place,
            name: name.to_owned(),
            columns: None,
            handler,
            kept: is_kept.then(Vec::new),
            n_bytes: 0,
            n_dropped: 0,
        });
        true
    }

    fn end(&mut self, place: Place, name: &str) {
        match self.section.take() {
            Some(section) if section.name == name => section.keep(self.gathered),
            Some(section) => {
                let what = format!("END_{name} in section {}", section.name);
                self.gathered.unread(place, &what, format!("END_{}", section.name));
                self.section = Some(section);
            }
            None => {
                let what = format!("END_{name}");
                self.gathered.unread(place, &what, format!("START_{name} before it"));
            }
        }
    }

    fn row(&mut self, place: Place, line: &str, is_ended: bool) {
        let Some(section) = &mut self.section else {
            // The tool that made the file, and when.
            if !line.starts_with(['#', '-']) {
                self.gathered.unread(place, line, "a section: START_NODES");
            }
            return;
        };
        if let Some(kept) = &mut section.kept {
            section.n_bytes += line.len();
            if section.n_bytes <= MAX_KEPT_BYTES {
                kept.push(line.to_owned());
            } else {
                section.n_dropped += 1;
            }
        }
        let Some(handler) = section.handler else { return };
        let Some(columns) = &section.columns else {
            section.columns = Some(Columns::of(line));
            return;
        };
        let values = fields(line);
        // The last number of a line without end may have lost digits.
        if values.len() != columns.len() || !is_ended {
            let expected = format!("{} values, one a column", columns.len());
            return self.gathered.unread(place, line, expected);
        }
        let row = columns.row(&values);
        let (gathered, kinds) = (&mut *self.gathered, &mut self.kinds);
        if let Err(expected) = handler(&mut Entry { row, place, gathered, kinds }) {
            self.gathered.unread(place, line, expected);
        }
    }
}
