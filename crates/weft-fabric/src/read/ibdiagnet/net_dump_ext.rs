//! ibdiagnet's `ibdiagnet2.net_dump_ext`: a line a port with its bit error rates.
//!
//! SOURCE: readers of the file in public repositories (tests/fixtures/fabric/README.md). Not
//! checked against the tool itself.

use super::net_dump::{is_header, states, values};
use crate::read::columns::Columns;
use crate::read::cursor::{Cursor, kind_of};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{Gathered, Kind, NodeRecord, Place, PortRecord, ReadingRecord, Who};
use std::collections::{BTreeMap, HashSet};
use std::io;

const HEADER: [&str; 3] = ["Ty", "#IB", "Node Desc"];
const EXPECTED: &str =
    "the names of the columns (Ty : # : #IB ...), or a port with a value a column";

/// `SW : 1/1 : 1 : 0x... : 8 (0x8) : ACT : LINK UP : 4x : 50 : ... : 2e-10 : 15e-255 : "leaf3"`.
pub(crate) const FORMAT: Format =
    Format { name: "ibdiagnet2.net_dump_ext", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| is_header(line, &HEADER))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let (mut columns, mut described) = (None, HashSet::new());
    while let Some((place, line)) = lines.next_full()? {
        if line.starts_with('#') {
            continue;
        }
        if is_header(&line, &HEADER) {
            columns = Some(Columns::between(&line, ':'));
        } else if port(columns.as_ref(), place, &line, gathered, &mut described).is_none() {
            gathered.unread(place, &line, EXPECTED);
        }
    }
    Ok(())
}

fn port(
    columns: Option<&Columns>,
    place: Place,
    line: &str,
    gathered: &mut Gathered,
    described: &mut HashSet<u64>,
) -> Option<()> {
    let columns = columns?;
    let values = values(columns, line)?;
    let row = columns.row(&values);
    let kind = kind_of(row.text(&["ty"])?)?;
    let guid = row.number(&["guid"])?;
    let number = row.number(&["#ib"])?;
    let description = row.text(&["node desc"])?.strip_prefix('"')?.strip_suffix('"')?;
    // '8 (0x8)': the same twice.
    let lid = row.text(&["lid"]).and_then(|text| Cursor::new(text).number());
    let is_switch = kind == Kind::Switch;
    let who = if is_switch { Who::Node(guid) } else { Who::Port(guid) };
    if described.insert(guid) {
        gathered.nodes.push(NodeRecord {
            kind: Some(kind),
            description: Some(description.to_owned()),
            lid: lid.filter(|_| is_switch),
            ..NodeRecord::of(place, who)
        });
    }
    let mut port = PortRecord::of(place, who, number);
    if !is_switch {
        (port.guid, port.lid) = (Some(guid), lid);
    }
    states(&row, &mut port);
    gathered.ports.push(port);
    let (mut counters, mut ratios) = (BTreeMap::new(), BTreeMap::new());
    for (name, value) in row.all() {
        if name.ends_with(" BER") {
            let rate = value.parse().ok().filter(|rate: &f64| rate.is_finite())?;
            ratios.insert(name.to_owned(), rate);
        } else if name.ends_with(" Err") {
            counters.insert(name.to_owned(), value.parse().ok()?);
        }
    }
    if !ratios.is_empty() || !counters.is_empty() {
        gathered.readings.push(ReadingRecord { place, who, port: number, counters, ratios });
    }
    Some(())
}
