//! ibdiagnet's `ibdiagnet2.net_dump`: a block a switch, a line a port with its peer.
//!
//! SOURCE: readers of the file in public repositories (tests/fixtures/fabric/README.md). Not
//! checked against the tool itself.

use crate::read::columns::{Columns, Row, number};
use crate::read::cursor::Cursor;
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::link::{LinkRate, LogicalState, PhysicalState, Speed, Width};
use crate::subnet::records::{CableRecord, Gathered, Kind, NodeRecord, Place, PortRecord, Who};
use std::collections::{HashMap, HashSet};
use std::io;

const EXPECTED: &str = "a switch: '\"name\", Mellanox, 0x..., LID 7', or the line of a port with a \
                        value a column";

/// `1/1 : 1 : ACT : LINK UP : 5 : 4x : 50 : RS : NO-RTR : 0x... : 1 : 20 : "c104-001 HCA-1"`.
pub(crate) const FORMAT: Format =
    Format { name: "ibdiagnet2.net_dump", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| is_header(line, &["IB#", "Neighbor Guid"]))
}

/// Whether a line holds these names of columns.
pub(crate) fn is_header(line: &str, wanted: &[&str]) -> bool {
    let cells: Vec<&str> = line.split(':').map(str::trim).collect();
    wanted.iter().all(|name| cells.contains(name))
}

/// The values of a line, one a column.
pub(crate) fn values<'a>(columns: &Columns, line: &'a str) -> Option<Vec<&'a str>> {
    let values: Vec<&str> = line.splitn(columns.len(), ':').map(str::trim).collect();
    (values.len() == columns.len()).then_some(values)
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut dump =
        Dump { gathered, here: None, columns: None, labels: HashMap::new(), links: vec![] };
    while let Some((place, line)) = lines.next_full()? {
        if let Some((description, guid, lid)) = switch(&line) {
            dump.switch(place, description, guid, lid);
        } else if is_header(&line, &["IB#", "Neighbor Guid"]) {
            dump.columns = Some(Columns::between(&line, ':'));
        } else if dump.port(place, &line).is_none() {
            dump.gathered.unread(place, &line, EXPECTED);
        }
    }
    dump.end();
    Ok(())
}

/// `"MF0;leaf003:MQM8700/U1", Mellanox, 0x506b4b0300000140, LID 8`.
fn switch(line: &str) -> Option<(&str, u64, u16)> {
    let (line, lid) = line.strip_prefix('"')?.rsplit_once(", LID ")?;
    let (line, guid) = line.rsplit_once(", ")?;
    let (description, _vendor) = line.rsplit_once("\", ")?;
    Some((description, number(guid)?, Cursor::new(lid).number()?))
}

/// A port with a peer.
struct DumpedLink {
    place: Place,
    here: (u64, u8),
    rate: Option<LinkRate>,
    peer: u64,
    peer_label: String,
    peer_lid: Option<u16>,
    peer_description: String,
}

/// A file while it is read.
struct Dump<'g> {
    gathered: &'g mut Gathered,
    here: Option<u64>,
    columns: Option<Columns>,
    /// By switch and what is printed at the port ('1/1') the port's number.
    labels: HashMap<(u64, String), u8>,
    links: Vec<DumpedLink>,
}

impl Dump<'_> {
    fn switch(&mut self, place: Place, description: &str, guid: u64, lid: u16) {
        self.here = Some(guid);
        self.gathered.nodes.push(NodeRecord {
            kind: Some(Kind::Switch),
            description: Some(description.to_owned()),
            lid: Some(lid),
            is_entry: true,
            ..NodeRecord::of(place, Who::Node(guid))
        });
    }

    fn port(&mut self, place: Place, line: &str) -> Option<()> {
        let here = self.here?;
        let columns = self.columns.as_ref()?;
        let values = values(columns, line)?;
        let row = columns.row(&values);
        let number = row.number::<u8>(&["ib#"])?;
        let label = row.text(&["#"]).unwrap_or_default();
        let mut port = PortRecord::of(place, Who::Node(here), number);
        states(&row, &mut port);
        self.labels.insert((here, label.to_owned()), number);
        let rate = port.rate;
        self.gathered.ports.push(port);
        if let Some(peer) = row.number(&["neighbor guid"]).filter(|guid| *guid > 0) {
            let description = row.text(&["neighbor description"]).unwrap_or_default();
            let bare = description.strip_prefix('"').and_then(|name| name.strip_suffix('"'));
            self.links.push(DumpedLink {
                place,
                here: (here, number),
                rate,
                peer,
                peer_label: row.text(&["n#"])?.to_owned(),
                peer_lid: row.number(&["nlid"]),
                peer_description: bare?.to_owned(),
            });
        }
        Some(())
    }

    /// Numbers of the peers' ports are known once all switches are. A node without a block is an
    /// adapter.
    fn end(self) {
        let mut described = HashSet::new();
        let switches: HashSet<u64> = self.labels.keys().map(|(guid, _)| *guid).collect();
        for link in self.links {
            let place = link.place;
            let known = self.labels.get(&(link.peer, link.peer_label.clone())).copied();
            let Some(port) = known.or_else(|| link.peer_label.parse().ok()) else {
                let what = format!("port '{}' of '{}'", link.peer_label, link.peer_description);
                let expected = "a port that has a line of its own, or a number";
                self.gathered.unread(place, &what, expected);
                continue;
            };
            let who = Who::Port(link.peer);
            if !switches.contains(&link.peer) && described.insert(link.peer) {
                self.gathered.nodes.push(NodeRecord {
                    kind: Some(Kind::Ca),
                    description: Some(link.peer_description),
                    ..NodeRecord::of(place, who)
                });
                let mut record = PortRecord::of(place, who, port);
                (record.guid, record.lid) = (Some(link.peer), link.peer_lid);
                self.gathered.ports.push(record);
            }
            let ends = [(Who::Node(link.here.0), link.here.1), (who, port)];
            self.gathered.cables.push(CableRecord { place, ends, rate: link.rate });
        }
    }
}

/// States, rate and further facts of a port's line; a rate of a port that is down means nothing.
pub(crate) fn states(row: &Row<'_>, port: &mut PortRecord) {
    port.logical = row.text(&["sta"]).and_then(LogicalState::from_word);
    let physical = row.text(&["physsta"]);
    let word = |text: &str| text.replace([' ', '_'], "");
    port.physical = physical.and_then(|text| PhysicalState::from_word(&word(text)));
    if port.logical != Some(LogicalState::Down) {
        let width = row.text(&["lwa"]).and_then(Width::from_word);
        let speed = row.text(&["lsa"]).and_then(Speed::of_lane);
        port.rate = width.zip(speed).map(|(width, speed)| LinkRate { width, speed });
    }
    let mut fact = |name: &str, text: Option<&str>| {
        port.facts.extend(text.map(|text| (name.to_owned(), text.to_owned())));
    };
    fact("Label", row.text(&["#"]));
    fact("FEC", row.text(&["fec mode", "fec"]));
    fact("Retran", row.text(&["retran", "rtr"]));
    fact("MTU", row.text(&["mtu"]));
    if port.physical.is_none() {
        fact("PhysSta", physical);
    }
}
