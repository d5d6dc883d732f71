//! OpenSM's `opensm-subnet.lst`: a cable a line, both of its ends in full, once from each end.
//!
//! SOURCE: OpenSM 3.3.23, read off its dumps: numbers are hex throughout, LIDs and ports, too; the
//! IDs of the second end are those of the first kind shifted, so only the first end's are used.

use crate::read::cursor::{Cursor, kind_of};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::Kind;
use crate::subnet::link::{LinkRate, LogicalState, Speed, Width};
use crate::subnet::records::{CableRecord, Gathered, NodeRecord, Place, PortRecord, Who};
use std::collections::HashSet;
use std::io;

const EXPECTED: &str = "{ CA Ports:01 SystemGUID:... {description} LID:0002 PN:01 } { SW ... } \
                        PHY=4x LOG=ACT SPD=50";

/// `{ CA Ports:01 SystemGUID:.. {desc} LID:0002 PN:01 } { SW .. } PHY=2x LOG=ACT SPD=50`.
pub(crate) const FORMAT: Format =
    Format { name: "opensm-subnet.lst", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.starts_with("{ ") && line.contains(" SystemGUID:"))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut described = HashSet::new();
    while let Some((place, line)) = lines.next_full()? {
        let mut cursor = Cursor::new(&line);
        let ends = LinkEnd::of(&mut cursor).zip(LinkEnd::of(cursor.blanks()));
        let Some((here, there)) = ends else {
            gathered.unread(place, &line, EXPECTED);
            continue;
        };
        // 'SPD=5' may be what is left of 'SPD=50'.
        let link = LinkState::of(&mut cursor).filter(|_| lines.is_ended);
        if link.is_none() {
            gathered.unread(place, &line, EXPECTED);
        }
        let link = link.unwrap_or_default();
        here.hand_over(place, true, &link, gathered, &mut described);
        there.hand_over(place, false, &link, gathered, &mut described);
        let ends = [(Who::Node(here.guid), here.port), (Who::Node(there.guid), there.port)];
        gathered.cables.push(CableRecord { place, ends, rate: link.rate });
    }
    Ok(())
}

/// `PHY=2x LOG=ACT SPD=50`.
#[derive(Default)]
struct LinkState {
    rate: Option<LinkRate>,
    logical: Option<LogicalState>,
}

impl LinkState {
    fn of(cursor: &mut Cursor<'_>) -> Option<LinkState> {
        let width = Width::from_word(cursor.blanks().tag("PHY=")?.word()?)?;
        let logical = LogicalState::from_word(cursor.blanks().tag("LOG=")?.word()?)?;
        let speed = Speed::of_lane(cursor.blanks().tag("SPD=")?.word()?)?;
        let rate = Some(LinkRate { width, speed });
        cursor.is_done().then_some(LinkState { rate, logical: Some(logical) })
    }
}

/// The text in braces about one end.
struct LinkEnd<'a> {
    kind: Kind,
    n_ports: u8,
    system_guid: u64,
    guid: u64,
    port_guid: u64,
    vendor: u32,
    device: u32,
    description: &'a str,
    lid: u16,
    port: u8,
}

impl<'a> LinkEnd<'a> {
    fn of(cursor: &mut Cursor<'a>) -> Option<LinkEnd<'a>> {
        let kind = kind_of(cursor.tag("{ ")?.word()?)?;
        let n_ports = u8::try_from(cursor.tag(" Ports:")?.hex()?).ok()?;
        let system_guid = cursor.tag(" SystemGUID:")?.hex()?;
        let guid = cursor.tag(" NodeGUID:")?.hex()?;
        let port_guid = cursor.tag(" PortGUID:")?.hex()?;
        let vendor = u32::try_from(cursor.tag(" VenID:")?.hex()?).ok()?;
        let device = u32::try_from(cursor.tag(" DevID:")?.hex()?).ok()?;
        cursor.tag(" Rev:")?.hex()?;
        let description = cursor.tag(" {")?.until("} LID:")?;
        let lid = u16::try_from(cursor.hex()?).ok()?;
        let port = u8::try_from(cursor.tag(" PN:")?.hex()?).ok()?;
        cursor.tag(" }")?;
        Some(LinkEnd {
            kind,
            n_ports,
            system_guid,
            guid,
            port_guid,
            vendor,
            device,
            description,
            lid,
            port,
        })
    }

    fn hand_over(
        &self,
        place: Place,
        is_first: bool,
        link: &LinkState,
        gathered: &mut Gathered,
        described: &mut HashSet<(u64, bool)>,
    ) {
        if described.insert((self.guid, is_first)) {
            let is_switch = self.kind == Kind::Switch;
            let who = if is_switch { Who::Port(self.port_guid) } else { Who::Node(self.guid) };
            gathered.nodes.push(NodeRecord {
                kind: Some(self.kind),
                guid: Some(self.guid),
                system_guid: Some(self.system_guid),
                n_ports: Some(self.n_ports),
                description: Some(self.description.to_owned()),
                vendor: is_first.then_some(self.vendor),
                device: is_first.then_some(self.device),
                lid: is_switch.then_some(self.lid),
                ..NodeRecord::of(place, who)
            });
        }
        let mut port = PortRecord::of(place, Who::Node(self.guid), self.port);
        if self.kind != Kind::Switch {
            (port.guid, port.lid) = (Some(self.port_guid), Some(self.lid));
        }
        (port.rate, port.logical) = (link.rate, link.logical);
        gathered.ports.push(port);
    }
}
