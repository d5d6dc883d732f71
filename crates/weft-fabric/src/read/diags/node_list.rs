//! `ibnetdiscover -l`, `ibnodes`, `ibhosts`, `ibswitches`: a line a node, no cables.

use crate::read::cursor::{Cursor, kind_of};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::Kind;
use crate::subnet::records::{Gathered, NodeRecord, Place, Who};
use std::io;

const EXPECTED: &str = "a node such as 'Ca : 0x98039b0300000100 ports 1 devid 0x101b vendid 0x2c9 \
                        \"description\"'";

/// `Ca : 0x98039b0300000100 ports 1 devid 0x101b vendid 0x2c9 "c104-004 HCA-1"`.
pub(crate) const FORMAT: Format =
    Format { name: "ibnetdiscover -l", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    let place = Place { source: 0, line: 0 };
    head.lines().any(|line| record(place, line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    while let Some((place, line)) = lines.next_full()? {
        match record(place, &line) {
            Some(record) => gathered.nodes.push(record),
            None => gathered.unread(place, &line, EXPECTED),
        }
    }
    Ok(())
}

fn record(place: Place, line: &str) -> Option<NodeRecord> {
    let mut cursor = Cursor::new(line);
    let kind = kind_of(cursor.word()?)?;
    cursor.blanks().tag(":")?.blanks().tag("0x")?;
    let mut record = NodeRecord::of(place, Who::Node(cursor.hex()?));
    (record.kind, record.is_entry) = (Some(kind), true);
    record.n_ports = Some(cursor.tag(" ports ")?.number()?);
    if cursor.tag(" devid ").is_some() {
        record.device = Some(u32::try_from(cursor.hex()?).ok()?);
        record.vendor = Some(u32::try_from(cursor.tag(" vendid ")?.hex()?).ok()?);
    }
    record.description = Some(cursor.blanks().tag("\"")?.until_last("\"")?.to_owned());
    if kind == Kind::Switch && !cursor.is_done() {
        let _ = cursor.blanks().word()?;
        record.lid = Some(cursor.tag(" port 0 lid ")?.number()?);
        record.lmc = Some(cursor.tag(" lmc ")?.number()?);
    }
    cursor.is_done().then_some(record)
}
