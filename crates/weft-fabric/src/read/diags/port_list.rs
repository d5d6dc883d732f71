//! `ibnetdiscover -p`: a line a port, every cable once from each end.

use crate::read::cursor::{Cursor, kind_of};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{CableRecord, Gathered, NodeRecord, Place, PortRecord, Who};
use crate::subnet::{Kind, LinkRate, Speed, Width};
use std::collections::HashSet;
use std::io;

const EXPECTED: &str =
    "SW 8 5 0x506b4b0300000140 4x HDR - SW 10 7 0x506b4b0300000150 ( 'a' - 'b' )";

/// Nodes are called by port GUIDs here: the ports of an adapter with two are two nodes, until a
/// file is read with it that says whose they are.
pub(crate) const FORMAT: Format =
    Format { name: "ibnetdiscover -p", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| ListedPortLine::of(line).is_some())
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut described = HashSet::new();
    while let Some((place, line)) = lines.next_full()? {
        match ListedPortLine::of(&line) {
            Some(row) => row.hand_over(place, gathered, &mut described),
            None => gathered.unread(place, &line, EXPECTED),
        }
    }
    Ok(())
}

/// `SW     8  5 0x506b4b0300000140`.
#[derive(Clone, Copy)]
struct ListedPort {
    kind: Kind,
    lid: u16,
    number: u8,
    guid: u64,
}

impl ListedPort {
    fn of(cursor: &mut Cursor<'_>) -> Option<ListedPort> {
        let kind = kind_of(cursor.blanks().word()?)?;
        let lid = cursor.blanks().number()?;
        let number = cursor.blanks().number()?;
        cursor.blanks().tag("0x")?;
        Some(ListedPort { kind, lid, number, guid: cursor.hex()? })
    }

    fn who(&self) -> Who {
        Who::Port(self.guid)
    }

    fn node(&self, place: Place, description: &str) -> NodeRecord {
        NodeRecord {
            kind: Some(self.kind),
            description: Some(description.to_owned()),
            lid: (self.kind == Kind::Switch).then_some(self.lid),
            ..NodeRecord::of(place, self.who())
        }
    }
}

/// A line; without a peer width and speed mean nothing.
struct ListedPortLine<'a> {
    port: ListedPort,
    description: &'a str,
    peer: Option<(ListedPort, &'a str)>,
    rate: Option<LinkRate>,
}

impl ListedPortLine<'_> {
    fn of(line: &str) -> Option<ListedPortLine<'_>> {
        let mut cursor = Cursor::new(line);
        let port = ListedPort::of(&mut cursor)?;
        // '??' and '???' are what the tool does not know.
        let width = Width::from_word(cursor.blanks().word()?);
        let speed = Speed::from_word(cursor.blanks().word()?);
        let rate = width.zip(speed).map(|(width, speed)| LinkRate { width, speed });
        let text = cursor.blanks();
        if text.tag("- ").is_none() {
            let description = text.tag("'")?.until_last("'")?;
            let peer = None;
            return text.is_done().then_some(ListedPortLine {
                port,
                description,
                peer,
                rate: None,
            });
        }
        let peer = ListedPort::of(text)?;
        let both = text.blanks().tag("( '")?.until_last("' )")?;
        let (description, name) = halves(both)?;
        text.is_done().then_some(ListedPortLine {
            port,
            description,
            peer: Some((peer, name)),
            rate,
        })
    }

    fn hand_over(&self, place: Place, gathered: &mut Gathered, described: &mut HashSet<u64>) {
        let mut describe = |port: &ListedPort, description: &str, gathered: &mut Gathered| {
            if described.insert(port.guid) {
                gathered.nodes.push(port.node(place, description));
            }
        };
        describe(&self.port, self.description, gathered);
        let mut record = PortRecord::of(place, self.port.who(), self.port.number);
        if self.port.kind != Kind::Switch {
            (record.guid, record.lid) = (Some(self.port.guid), Some(self.port.lid));
        }
        record.rate = self.rate;
        gathered.ports.push(record);
        let Some((peer, name)) = &self.peer else { return };
        describe(peer, name, gathered);
        let ends = [(self.port.who(), self.port.number), (peer.who(), peer.number)];
        gathered.cables.push(CableRecord { place, ends, rate: self.rate });
    }
}

/// Both descriptions of `a' - 'b`: where one holds those marks itself, the first place that fits.
fn halves(both: &str) -> Option<(&str, &str)> {
    both.split_once("' - '")
}
