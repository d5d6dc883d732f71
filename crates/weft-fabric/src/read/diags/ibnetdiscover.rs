//! `ibnetdiscover`: a whole fabric, an entry a node; the nets of ibsim are written alike.
//!
//! SOURCE: infiniband-diags 44.0, ibnetdiscover(8), and ibsim 0.10 with its example nets.

use super::ibnetdiscover_port::{PortLine, kind_of_id};
use super::ibsim_guids::IbsimGuids;
use crate::read::cursor::{Cursor, kind_of};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::records::{CableRecord, Gathered, Kind, NodeRecord, Place, PortRecord, Who};
use std::collections::{HashMap, HashSet};
use std::io;

const EXPECTED: &str = "an ID such as vendid=0x2c9, a node such as 'Switch 8 \"S-...\"', or a port \
                        such as '[1] \"S-...\"[2]'";
const HEADER: &str = "# Topology file";

/// With or without `-s` (the path of the discovery) and `-f` (speeds and widths as numbers).
pub(crate) const FORMAT: Format =
    Format { name: "ibnetdiscover", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines()
        .any(|line| line.starts_with(HEADER) || is_a_step(line) || NodeLine::of(line).is_some())
}

/// A line of `-s`.
fn is_a_step(line: &str) -> bool {
    let steps = [" -> new ", " -> known ", " -> processing "];
    line.starts_with("DR path slid ") && steps.iter().any(|step| line.contains(step))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut net = Discovery::new(gathered, lines.at(1));
    while let Some((place, line)) = lines.next_text()? {
        if line.starts_with(HEADER) && !net.is_first(place) {
            break;
        }
        net.line(place, &line);
        if !lines.is_ended && !line.trim().is_empty() {
            net.gathered.unread(place, &line, "the end of the line: was the file cut off?");
        }
    }
    net.end();
    Ok(())
}

/// The IDs that stand before a node's line.
#[derive(Default)]
struct Ids {
    begin: Option<Place>,
    vendor: Option<u32>,
    device: Option<u32>,
    system_guid: Option<u64>,
    guid: Option<u64>,
    /// Of a switch's port 0.
    port_guid: Option<u64>,
}

/// A node's line.
struct NodeLine<'a> {
    kind: Kind,
    n_ports: u8,
    id: &'a str,
    comment: &'a str,
}

impl NodeLine<'_> {
    fn of(line: &str) -> Option<NodeLine<'_>> {
        let mut cursor = Cursor::new(line);
        let kind = kind_of(cursor.word()?)?;
        let n_ports = cursor.blanks().number()?;
        let id = cursor.blanks().tag("\"")?.until("\"")?;
        let comment = cursor.blanks().tail;
        (comment.is_empty() || comment.starts_with('#')).then_some(NodeLine {
            kind,
            n_ports,
            id,
            comment,
        })
    }
}

/// A fabric while its file is read.
struct Discovery<'g> {
    gathered: &'g mut Gathered,
    begin: Place,
    header: Option<Place>,
    ids: Ids,
    /// The node whose ports come now.
    here: Option<(u64, Kind)>,
    entered: HashSet<u64>,
    /// Peers, by the order of their first mention.
    mentioned: HashMap<u64, usize>,
    mentions: Vec<NodeRecord>,
    ibsim_guids: IbsimGuids,
}

impl<'g> Discovery<'g> {
    fn new(gathered: &'g mut Gathered, begin: Place) -> Discovery<'g> {
        let ibsim_guids = IbsimGuids::new(gathered);
        Discovery {
            gathered,
            begin,
            header: None,
            ids: Ids::default(),
            here: None,
            entered: HashSet::new(),
            mentioned: HashMap::new(),
            mentions: Vec::new(),
            ibsim_guids,
        }
    }

    /// Whether a header is this fabric's own; the fabric of a second one is left out.
    fn is_first(&mut self, place: Place) -> bool {
        let is_first = self.header.is_none() && self.entered.is_empty();
        if is_first {
            self.header = Some(place);
        } else {
            let what = "a second fabric begins here; it and all after it was left out";
            self.gathered.unread(place, what, "one fabric a file: split it before this line");
        }
        is_first
    }

    fn line(&mut self, place: Place, line: &str) {
        let first = line.bytes().next();
        if line.trim().is_empty() {
            self.here = None;
            self.drop_ids();
        } else if first == Some(b'[') {
            self.port(place, line);
        } else if let Some(entry) = NodeLine::of(line) {
            self.node(place, &entry);
        } else if self.id(place, line).is_none() {
            self.here = None;
            // Lines that '-g' prints between the entries.
            let grouping = ["Chassis ", "Non-Chassis Nodes", "Hostname: "];
            let is_known = first == Some(b'#')
                || is_a_step(line)
                || grouping.iter().any(|tag| line.starts_with(tag));
            if !is_known {
                self.gathered.unread(place, line, EXPECTED);
            }
        }
    }

    /// `vendid=0x2c9`, `switchguid=0x506b4b0300000140(506b4b0300000140)`.
    fn id(&mut self, place: Place, line: &str) -> Option<()> {
        let (name, number) = line.split_once('=')?;
        let mut cursor = Cursor::new(number);
        let number = cursor.hex()?;
        let ids = &mut self.ids;
        match name {
            "vendid" => ids.vendor = Some(u32::try_from(number).ok()?),
            "devid" => ids.device = Some(u32::try_from(number).ok()?),
            "sysimgguid" => ids.system_guid = Some(number),
            "switchguid" | "caguid" | "hcaguid" | "rtguid" => {
                ids.guid = Some(number);
                if cursor.tag("(").is_some() {
                    ids.port_guid = cursor.hex();
                    cursor.tag(")")?;
                }
            }
            _ => return None,
        }
        self.here = None;
        self.ids.begin.get_or_insert(place);
        (cursor.is_done() || cursor.blanks().tail.starts_with('#')).then_some(())
    }

    /// IDs that no node's line follows.
    fn drop_ids(&mut self) {
        if let Some(place) = std::mem::take(&mut self.ids).begin {
            let what = "the IDs of a node whose line is missing";
            self.gathered.unread(place, what, "the node's own line after its IDs");
        }
    }

    fn node(&mut self, place: Place, entry: &NodeLine<'_>) {
        let ids = std::mem::take(&mut self.ids);
        let guid = self.ibsim_guids.entry(entry.id, ids.guid, entry.kind, entry.n_ports);
        let who = ids.port_guid.map_or(Who::Node(guid), Who::Port);
        let mut record = NodeRecord {
            kind: Some(entry.kind),
            guid: Some(guid),
            system_guid: ids.system_guid,
            n_ports: Some(entry.n_ports),
            vendor: ids.vendor,
            device: ids.device,
            is_entry: true,
            ..NodeRecord::of(place, who)
        };
        if comment_of_node(entry, &mut record).is_none() {
            let expected = "# \"description\", and of a switch: enhanced port 0 lid 1 lmc 0";
            self.gathered.unread(place, entry.comment, expected);
        }
        self.gathered.nodes.push(record);
        self.entered.insert(guid);
        self.here = Some((guid, entry.kind));
    }

    fn port(&mut self, place: Place, text: &str) {
        let Some((here, kind)) = self.here else {
            let expected = "the line of its node before the line of a port";
            return self.gathered.unread(place, text, expected);
        };
        let Some(line) = PortLine::of(text) else {
            let expected = "a port and its peer: [1](guid) \"S-...\"[2] # ...";
            return self.gathered.unread(place, text, expected);
        };
        if let Some(trouble) = line.trouble {
            self.gathered.unread(place, text, trouble);
        }
        let peer_guid = self.ibsim_guids.peer(line.peer_id);
        self.mention(place, peer_guid, &line);
        let mut port = PortRecord::of(place, Who::Node(here), line.number);
        (port.guid, port.rate, port.facts) = (line.guid, line.rate, line.facts);
        if kind != Kind::Switch {
            (port.lid, port.lmc) = (line.lid, line.lmc);
        }
        self.gathered.ports.push(port);
        if line.peer_port_guid.is_some() {
            let mut peer = PortRecord::of(place, Who::Node(peer_guid), line.peer_port);
            (peer.guid, peer.lid) = (line.peer_port_guid, line.peer_lid);
            self.gathered.ports.push(peer);
        }
        let ends = [(Who::Node(here), line.number), (Who::Node(peer_guid), line.peer_port)];
        self.gathered.cables.push(CableRecord { place, ends, rate: line.rate });
    }

    fn mention(&mut self, place: Place, guid: u64, line: &PortLine<'_>) {
        let mentions = &mut self.mentions;
        self.mentioned.entry(guid).or_insert_with(|| {
            let kind = kind_of_id(line.peer_id);
            let is_switch = line.peer_port_guid.is_none();
            mentions.push(NodeRecord {
                kind: kind.or(is_switch.then_some(Kind::Switch)),
                description: line.peer_description.map(str::to_owned),
                lid: line.peer_lid.filter(|_| is_switch),
                ..NodeRecord::of(place, Who::Node(guid))
            });
            mentions.len() - 1
        });
    }

    /// Report entries without an end, and nodes that were mentioned but never described.
    fn end(mut self) {
        self.drop_ids();
        if self.entered.is_empty() {
            let what = "not one node is described";
            let expected = "an entry for every node; was the file cut off?";
            self.gathered.unread(self.begin, what, expected);
        }
        for record in std::mem::take(&mut self.mentions) {
            let Who::Node(guid) = record.who else { continue };
            if self.entered.contains(&guid) {
                continue;
            }
            let name = record.description.as_deref().unwrap_or("no description");
            let what = format!("a node that is only ever named as a peer: {guid:#018x} '{name}'");
            let expected = "an entry of its own for every node; was the file cut off?";
            self.gathered.unread(record.place, &what, expected);
            self.gathered.nodes.push(record);
        }
        self.ibsim_guids.settle(self.gathered);
    }
}

/// `# "MF0;leaf003:MQM8700/U1" enhanced port 0 lid 8 lmc 0`, or only the description.
fn comment_of_node(entry: &NodeLine<'_>, record: &mut NodeRecord) -> Option<()> {
    if entry.comment.is_empty() {
        record.description = Some(entry.id.to_owned());
        return Some(());
    }
    let mut cursor = Cursor::new(entry.comment.strip_prefix('#')?);
    let description = cursor.blanks().tag("\"")?.until_last("\"")?;
    record.description = Some(description.to_owned());
    if entry.kind != Kind::Switch {
        // '(scp)' marks an adapter of a chassis by Xsigo.
        return (cursor.is_done() || cursor.blanks().tail == "(scp)").then_some(());
    }
    let _ = cursor.blanks().word()?;
    cursor.tag(" port 0 lid ")?;
    record.lid = Some(cursor.number()?);
    record.lmc = Some(cursor.tag(" lmc ")?.number()?);
    cursor.is_done().then_some(())
}
