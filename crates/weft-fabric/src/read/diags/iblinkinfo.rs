//! `iblinkinfo`: a line a port with state, rate and peer, under its node or (`-l`) by itself.
//!
//! SOURCE: infiniband-diags 44.0 on nets of ibsim; the speed it prints is that of one lane.

use super::iblinkinfo_port::{Heading, Peer, PortRow};
use crate::read::format::{Format, MAX_TEXT_BYTES};
use crate::read::lines::Lines;
use crate::subnet::Kind;
use crate::subnet::records::{CableRecord, Gathered, NodeRecord, Place, PortRecord, Who};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::io;

const EXPECTED: &str = "a node such as 'Switch: 0x... name:', or a port such as \
                        '8 5[  ] ==( 4X 53.125 Gbps Active/ LinkUp)==> 10 7[  ] \"name\" ( )'";

/// With or without `-l`, `--switches-only`, `--cas-only`, `-p` and `--down`.
pub(crate) const FORMAT: Format =
    Format { name: "iblinkinfo", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    head.lines().any(|line| line.contains("] ==(") && line.contains(")==> "))
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let mut table = LinkTable::new(gathered);
    while let Some((place, line)) = lines.next_full()? {
        if let Some(row) = PortRow::of(&line) {
            table.row(place, &line, &row);
        } else if let Some(heading) = Heading::of(&line) {
            table.heading(place, &heading);
        } else {
            table.gathered.unread(place, &line, EXPECTED);
        }
    }
    table.end();
    Ok(())
}

/// A node that is described here, or only named as a peer.
struct LinkNode {
    place: Place,
    who: Who,
    kind: Option<Kind>,
    description: String,
    lid: u16,
    ports: BTreeSet<u8>,
    is_own: bool,
}

/// The node whose lines come now.
struct Here {
    kind: Kind,
    guid: Option<u64>,
    description: String,
    /// GUID of its first port.
    first: Option<u64>,
}

/// All lines of a file.
struct LinkTable<'g> {
    gathered: &'g mut Gathered,
    here: Option<Here>,
    nodes: Vec<LinkNode>,
    by_who: HashMap<Who, usize>,
    /// LIDs of nodes that have lines of their own.
    own_lids: HashSet<u16>,
}

impl<'g> LinkTable<'g> {
    fn new(gathered: &'g mut Gathered) -> LinkTable<'g> {
        let (by_who, own_lids) = (HashMap::new(), HashSet::new());
        LinkTable { gathered, here: None, nodes: Vec::new(), by_who, own_lids }
    }

    fn heading(&mut self, place: Place, heading: &Heading<'_>) {
        let (kind, guid, description) =
            (heading.kind, heading.guid, heading.description.to_owned());
        if let Some(guid) = guid {
            self.node(place, Who::Node(guid), Some(kind), &description, 0, true);
        }
        self.here = Some(Here { kind, guid, description, first: None });
    }

    /// The record of a node, made at its first mention.
    fn node(
        &mut self,
        place: Place,
        who: Who,
        kind: Option<Kind>,
        description: &str,
        lid: u16,
        is_own: bool,
    ) -> &mut LinkNode {
        let nodes = &mut self.nodes;
        let index = *self.by_who.entry(who).or_insert_with(|| {
            let description = description.to_owned();
            let ports = BTreeSet::new();
            nodes.push(LinkNode { place, who, kind, description, lid, ports, is_own });
            nodes.len() - 1
        });
        let node = &mut self.nodes[index];
        if is_own {
            node.kind = node.kind.or(kind);
            (node.is_own, node.lid) = (true, node.lid.max(lid));
        }
        node
    }

    fn row(&mut self, place: Place, line: &str, row: &PortRow<'_>) {
        let Some((who, kind)) = self.own(place, row) else {
            let expected = "the line of its node before that of a port, or lines as -l prints them";
            return self.gathered.unread(place, line, expected);
        };
        if !row.link.is_whole {
            let expected = "width, speed and states such as ( 4X 53.125 Gbps Active/ LinkUp)";
            self.gathered.unread(place, line, expected);
        }
        self.own_lids.insert(row.lid);
        let mut port = PortRecord::of(place, who, row.port);
        (port.rate, port.logical) = (row.link.rate, row.link.logical);
        port.physical = row.link.physical;
        port.facts.extend(row.label.map(|label| ("Label".to_owned(), label.to_owned())));
        if kind != Some(Kind::Switch) {
            port.guid = row.guid;
            // Without a heading the LID may be the port's or the switch's.
            port.lid = kind.map(|_| row.lid);
        }
        if let Some(peer) = &row.peer {
            if !peer.could_be.is_whole {
                let expected = "'Could be' with a width or a speed, or nothing, at the end";
                self.gathered.unread(place, line, expected);
            }
            port.supported = row.link.rate.and_then(|rate| peer.could_be.rate(rate));
            self.peer(place, (who, row.port), row, peer);
        }
        self.gathered.ports.push(port);
    }

    /// Whose line it is.
    fn own(&mut self, place: Place, row: &PortRow<'_>) -> Option<(Who, Option<Kind>)> {
        let (who, kind) = if let (Some(guid), Some(description)) = (row.guid, row.description) {
            self.here = None;
            let node = self.node(place, Who::Port(guid), None, description, row.lid, true);
            node.ports.insert(row.port);
            (Who::Port(guid), None)
        } else {
            let here = self.here.as_mut()?;
            let (who, kind) = match (here.guid, row.guid) {
                (Some(guid), None) => (Who::Node(guid), here.kind),
                (None, Some(guid)) => {
                    let first = *here.first.get_or_insert(guid);
                    self.gathered.siblings.push((first, guid));
                    (Who::Port(guid), here.kind)
                }
                _ => return None,
            };
            let description = here.description.clone();
            let node = self.node(place, who, Some(kind), &description, row.lid, true);
            node.ports.insert(row.port);
            (who, Some(kind))
        };
        Some((who, kind))
    }

    fn peer(&mut self, place: Place, own: (Who, u8), row: &PortRow<'_>, peer: &Peer<'_>) {
        let who = match (peer.guid, peer.lid) {
            (Some(guid), _) => Who::Port(guid),
            (None, 0) => {
                let what = format!("a peer without GUID and LID: '{}'", peer.description);
                let expected = "LIDs (has a subnet manager run?) or GUIDs, as -l prints them";
                return self.gathered.unread(place, &what, expected);
            }
            (None, lid) => Who::Lid(lid),
        };
        self.node(place, who, None, peer.description, peer.lid, false).ports.insert(peer.port);
        let ends = [own, (who, peer.port)];
        self.gathered.cables.push(CableRecord { place, ends, rate: row.link.rate });
    }

    /// Settle after the last line: the nodes that are switches, and whose the LIDs are.
    fn end(self) {
        let LinkTable { gathered, nodes, own_lids, .. } = self;
        let is_switch = |node: &LinkNode| node.ports.len() > 1;
        let own_switches = nodes.iter().any(|node| {
            node.is_own && node.kind.map_or(is_switch(node), |kind| kind == Kind::Switch)
        });
        for node in nodes {
            if matches!(node.who, Who::Lid(lid) if own_lids.contains(&lid)) {
                continue;
            }
            // Where switches have lines of their own, a node without one is an adapter.
            let guess = if is_switch(&node) || !node.is_own && !own_switches {
                Kind::Switch
            } else {
                Kind::Ca
            };
            let kind = node.kind.unwrap_or(guess);
            let lid = Some(node.lid).filter(|_| kind == Kind::Switch);
            if node.kind.is_none() && kind != Kind::Switch {
                for number in node.ports {
                    let mut port = PortRecord::of(node.place, node.who, number);
                    port.lid = Some(node.lid);
                    port.guid = as_port(node.who);
                    gathered.ports.push(port);
                }
            }
            gathered.nodes.push(NodeRecord {
                kind: Some(kind),
                description: Some(node.description),
                lid,
                ..NodeRecord::of(node.place, node.who)
            });
        }
    }
}

fn as_port(who: Who) -> Option<u64> {
    match who {
        Who::Port(guid) => Some(guid),
        Who::Node(_) | Who::Lid(_) => None,
    }
}
