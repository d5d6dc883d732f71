//! A real InfiniBand subnet, joined from the output of its own tools.

mod assembly;
mod drawing;
mod entry_changes;
pub mod host;
mod identities;
mod lanes;
mod leaves;
mod levels;
pub mod lfts;
pub mod link;
mod numbering;
mod parts;
pub mod records;
mod sides;

pub use drawing::{Drawn, Unsaid};
pub use entry_changes::{EntryChange, EntryChanges, entry_changes};
pub use lfts::Lfts;
pub use link::{LinkRate, LogicalState, PhysicalState, Speed, Width};
pub use records::{Arbitration, Gathered, Kind, Place};

use records::{AdaptiveRecord, DeviceRecord, PathLevelRecord, SmLog, Source, TreeSwitch, Unread};
use serde::Serialize;
use std::collections::BTreeMap;

/// One end of a cable: index of the node, and the port's number (from 1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct End {
    /// Index into [`Subnet::nodes`].
    pub node: u32,
    /// The port's number.
    pub port: u8,
}

/// A port of a node.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubnetPort {
    /// Of a channel adapter's port.
    pub guid: Option<u64>,
    /// Base LID of a channel adapter's port; 0 where it has none.
    pub lid: u16,
    /// How many low bits of the LID are free: 2^lmc LIDs lead here.
    pub lmc: u8,
    /// The other end of its cable.
    pub peer: Option<End>,
    /// Width and speed in force.
    pub rate: Option<LinkRate>,
    /// The best this end (or the cable's two) supports, where a tool reports it.
    pub supported: Option<LinkRate>,
    /// PortState.
    pub logical: Option<LogicalState>,
    /// PortPhysicalState.
    pub physical: Option<PhysicalState>,
    /// Anything else a tool reports, by its name there.
    pub facts: BTreeMap<String, String>,
}

/// A switch, channel adapter or router.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SubnetNode {
    /// Its kind.
    pub kind: Kind,
    /// Its node GUID; of a node that was only ever named by a port's, that.
    pub guid: u64,
    /// Of the system it is part of: the boards of a director share one.
    pub system_guid: Option<u64>,
    /// The node description.
    pub description: String,
    /// Vendor number.
    pub vendor: Option<u32>,
    /// Device number.
    pub device: Option<u32>,
    /// Base LID of a switch (its port 0); 0 where it has none.
    pub lid: u16,
    /// Of a switch's port 0.
    pub lmc: u8,
    /// Ports by number less one.
    pub ports: Vec<SubnetPort>,
}

impl SubnetNode {
    /// Whether it is a switch.
    pub fn is_switch(&self) -> bool {
        self.kind == Kind::Switch
    }

    /// The port of a number (from 1).
    pub fn port(&self, number: u8) -> Option<&SubnetPort> {
        self.ports.get(usize::from(number).checked_sub(1)?)
    }
}

/// Counters of a port at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Number of the source, in [`Subnet::sources`].
    pub source: u32,
    /// The port.
    pub end: End,
    /// Counters under their InfiniBand names.
    pub counters: BTreeMap<String, u64>,
    /// Bit error rates and other ratios.
    pub ratios: BTreeMap<String, f64>,
}

/// Something about the files that does not fit together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Misfit {
    /// Two nodes with one GUID.
    DuplicateGuid {
        /// The GUID.
        guid: u64,
        /// Their descriptions.
        descriptions: Vec<String>,
        /// Where both stand.
        places: [Place; 2],
    },
    /// Two ports with one LID.
    DuplicateLid {
        /// The LID.
        lid: u16,
        /// Their nodes' descriptions.
        descriptions: [String; 2],
    },
    /// Two cables in one port.
    PortUsedTwice {
        /// Where the second stands.
        place: Place,
        /// The port: the node's description and the number.
        port: (String, u8),
    },
    /// A statement about something that no file describes.
    Stranger {
        /// Where.
        place: Place,
        /// Its subject: 'switch 0x...', 'LID 7'.
        what: String,
        /// Its kind: 'forwarding table', 'counters'.
        about: String,
    },
    /// A port that a node does not have.
    NoSuchPort {
        /// Where.
        place: Place,
        /// The node's description.
        node: String,
        /// The port's number.
        port: u8,
    },
    /// Two files (or two lines) say different things; the first one holds.
    Conflict {
        /// Where the second stands.
        place: Place,
        /// About what.
        about: String,
        /// The first statement.
        first: String,
        /// The second statement.
        second: String,
    },
}

/// Virtual lanes by node index, ingress and egress port: by service level the lane.
pub type Sl2vl = BTreeMap<(u32, u8, u8), [u8; 16]>;

/// A whole subnet. INVARIANT: nodes are in the order of their GUIDs, each once; peers are mutual.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subnet {
    /// Nodes by GUID.
    pub nodes: Vec<SubnetNode>,
    /// Forwarding tables.
    pub lfts: Lfts,
    /// Adaptive-routing groups by node index.
    pub adaptive: BTreeMap<u32, AdaptiveRecord>,
    /// Virtual lanes.
    pub sl2vl: Sl2vl,
    /// How ports share their cables among lanes, by node index and port.
    pub arbitration: BTreeMap<(u32, u8), Arbitration>,
    /// Partition keys of ports by index, by node index and port (0 of a switch itself).
    pub partition_keys: BTreeMap<(u32, u8), BTreeMap<u16, u16>>,
    /// Service levels of paths, in the order of the files.
    pub path_levels: Vec<PathLevelRecord>,
    /// Counters in the order of the files.
    pub readings: Vec<Reading>,
    /// Devices as tools on their hosts describe them.
    pub devices: Vec<DeviceRecord>,
    /// A scheduler's tree of switches.
    pub tree: Vec<TreeSwitch>,
    /// Facts from subnet managers' logs.
    pub sm_logs: Vec<SmLog>,
    /// Insides of nodes.
    pub insides: Vec<serde_json::Value>,
    /// Sections that no reader knows, as they are: place, name, rows with the header first.
    pub kept: Vec<(Place, String, Vec<String>)>,
    /// The files.
    pub sources: Vec<Source>,
    /// Lines that were not understood.
    pub unread: Vec<Unread>,
    /// Guesses of generated fabrics, in words.
    pub assumed: Vec<String>,
    /// Statements that do not fit together.
    pub misfits: Vec<Misfit>,
    by_lid: Vec<Option<End>>,
}

impl Subnet {
    /// The subnet of all records: what belongs together is joined by GUID, port GUID and LID.
    pub fn of(gathered: Gathered) -> Subnet {
        assembly::assemble(gathered)
    }

    /// The node of a GUID.
    pub fn node_of_guid(&self, guid: u64) -> Option<u32> {
        self.nodes.binary_search_by_key(&guid, |node| node.guid).ok().map(|index| index as u32)
    }

    /// The port a LID leads to (port 0 for a switch itself); any of the 2^lmc LIDs of a port.
    pub fn end_of_lid(&self, lid: u16) -> Option<End> {
        self.by_lid.get(usize::from(lid)).copied().flatten()
    }

    /// The highest LID in use; 0 where no port has one.
    pub fn top_lid(&self) -> u16 {
        self.by_lid.len().saturating_sub(1) as u16
    }

    /// The port at an end; none for a switch's port 0.
    pub fn port(&self, end: End) -> Option<&SubnetPort> {
        self.nodes[end.node as usize].port(end.port)
    }

    /// The other end of a port's cable.
    pub fn peer(&self, end: End) -> Option<End> {
        self.port(end)?.peer
    }

    /// Ports of channel adapters that are cabled, in the order of nodes and numbers.
    pub fn endports(&self) -> impl Iterator<Item = End> + '_ {
        let adapters = self.nodes.iter().enumerate().filter(|(_, node)| node.kind == Kind::Ca);
        adapters.flat_map(|(index, node)| {
            let cabled = node.ports.iter().enumerate().filter(|(_, port)| port.peer.is_some());
            cabled.map(move |(at, _)| End { node: index as u32, port: at as u8 + 1 })
        })
    }

    /// Every cable once: the end of the lower node (or port) first.
    pub fn cables(&self) -> impl Iterator<Item = (End, End)> + '_ {
        self.nodes.iter().enumerate().flat_map(|(index, node)| {
            node.ports.iter().enumerate().filter_map(move |(at, port)| {
                let here = End { node: index as u32, port: at as u8 + 1 };
                port.peer.filter(|peer| here < *peer).map(|peer| (here, peer))
            })
        })
    }

    /// How messages write a port: the node's description and the number, 'leaf003[5]'.
    pub fn name(&self, end: End) -> String {
        format!("{}[{}]", self.nodes[end.node as usize].description, end.port)
    }

    /// Work out which port every LID leads to. The first of two ports with one LID keeps it; the
    /// others become misfits.
    pub fn index_lids(&mut self) {
        let mut by_lid: Vec<Option<End>> = Vec::new();
        let mut duplicates = Vec::new();
        let mut claim = |lid: u16, lmc: u8, end: End| {
            if lid == 0 || lid >= MULTICAST_LID {
                return;
            }
            for lid in lid..=lid.saturating_add((1u16 << lmc.min(7)) - 1).min(MULTICAST_LID - 1) {
                let at = usize::from(lid);
                by_lid.resize(by_lid.len().max(at + 1), None);
                match by_lid[at] {
                    None => by_lid[at] = Some(end),
                    Some(first) => duplicates.push((lid, first.node, end.node)),
                }
            }
        };
        for (index, node) in self.nodes.iter().enumerate() {
            claim(node.lid, node.lmc, End { node: index as u32, port: 0 });
            for (at, port) in node.ports.iter().enumerate() {
                claim(port.lid, port.lmc, End { node: index as u32, port: at as u8 + 1 });
            }
        }
        let name = |node: u32| self.nodes[node as usize].description.clone();
        let duplicates = duplicates.into_iter().map(|(lid, first, second)| Misfit::DuplicateLid {
            lid,
            descriptions: [name(first), name(second)],
        });
        let duplicates: Vec<Misfit> = duplicates.collect();
        self.misfits.extend(duplicates);
        self.by_lid = by_lid;
    }
}

/// The lowest LID that is not one port's.
pub const MULTICAST_LID: u16 = 0xc000;
