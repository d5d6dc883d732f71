//! Records that readers produce: one for each statement of a file, named as the file names it.
//!
//! [`Gathered`] holds all of them; [`crate::subnet::Subnet::of`] joins those that belong together.

use super::link::{LinkRate, LogicalState, PhysicalState};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The kind of a node of a subnet.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A switch.
    Switch,
    /// A channel adapter: an HCA, or the management end of an aggregation node.
    #[default]
    Ca,
    /// A router.
    Router,
}

/// Where something was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Number of the source in [`Gathered::sources`].
    pub source: u32,
    /// Its line, from 1.
    pub line: u32,
}

/// A node as a file names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// By node GUID.
    Node(u64),
    /// By the GUID of one of its ports; a switch's is that of its port 0.
    Port(u64),
    /// By a LID of one of its ports.
    Lid(u16),
}

/// A file's statement about a node.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The specification's own names.
pub struct NodeRecord {
    pub place: Place,
    pub who: Who,
    pub kind: Option<Kind>,
    pub guid: Option<u64>,
    pub system_guid: Option<u64>,
    pub n_ports: Option<u8>,
    pub description: Option<String>,
    pub vendor: Option<u32>,
    pub device: Option<u32>,
    /// Of a switch's port 0.
    pub lid: Option<u16>,
    pub lmc: Option<u8>,
    /// Whether the record is a node's own entry, as against a mention as a peer: a second
    /// entry of the same GUID in one source is a duplicate GUID.
    pub is_entry: bool,
}

impl NodeRecord {
    /// A mention of a node without any fact yet.
    pub fn of(place: Place, who: Who) -> NodeRecord {
        NodeRecord {
            place,
            who,
            kind: None,
            guid: None,
            system_guid: None,
            n_ports: None,
            description: None,
            vendor: None,
            device: None,
            lid: None,
            lmc: None,
            is_entry: false,
        }
    }
}

/// A file's statement about a port.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // The specification's own names.
pub struct PortRecord {
    pub place: Place,
    pub who: Who,
    pub number: u8,
    /// Of a channel adapter's port.
    pub guid: Option<u64>,
    pub lid: Option<u16>,
    pub lmc: Option<u8>,
    pub rate: Option<LinkRate>,
    pub logical: Option<LogicalState>,
    pub physical: Option<PhysicalState>,
    /// The best that both ends support, where the tool reports that it is more than `rate`, or the
    /// best that this end supports.
    pub supported: Option<LinkRate>,
    /// Anything else by its name there: FEC, cable part and serial number, length.
    pub facts: Vec<(String, String)>,
}

impl PortRecord {
    /// A port that nothing is known about yet.
    pub fn of(place: Place, who: Who, number: u8) -> PortRecord {
        PortRecord {
            place,
            who,
            number,
            guid: None,
            lid: None,
            lmc: None,
            rate: None,
            logical: None,
            physical: None,
            supported: None,
            facts: Vec::new(),
        }
    }
}

/// A cable that a file reports as plugged in between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct CableRecord {
    /// Where it says so.
    pub place: Place,
    /// Both ends: the node and its port's number; the end whose entry is first.
    pub ends: [(Who, u8); 2],
    /// Width and speed in force, where the file says them.
    pub rate: Option<LinkRate>,
}

/// The forwarding table of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRecord {
    /// Where it begins.
    pub place: Place,
    /// Whose.
    pub who: Who,
    /// Egress port by LID, [`crate::subnet::lfts::NO_PORT`] where there is no entry.
    pub ports: Vec<u8>,
}

/// The adaptive-routing groups of a switch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AdaptiveRecord {
    /// By group number the ports of the group.
    pub groups: BTreeMap<u32, Vec<u8>>,
    /// By LID the group; LIDs without one are routed by the table.
    pub group_of_lid: BTreeMap<u16, u32>,
}

/// Virtual lanes of a switch for one path through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sl2vlRecord {
    /// Where it stands.
    pub place: Place,
    /// Whose.
    pub who: Who,
    /// Ingress port (0 of a channel adapter).
    pub ingress: u8,
    /// Egress port.
    pub egress: u8,
    /// By service level the virtual lane; 15 drops.
    pub lanes: [u8; 16],
}

/// Tables of a port by which lanes share its cable: lanes and weights, in the order of service;
/// `high` goes first.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[allow(missing_docs)] // The specification's own names.
pub struct Arbitration {
    pub low: Vec<(u8, u8)>,
    pub high: Vec<(u8, u8)>,
}

/// How a port shares its cable among virtual lanes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArbitrationRecord {
    /// Where it stands.
    pub place: Place,
    /// Whose.
    pub who: Who,
    /// The port's number.
    pub port: u8,
    /// Its tables.
    pub arbitration: Arbitration,
}

/// A block of a port's partition keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionKeysRecord {
    /// Where it stands.
    pub place: Place,
    /// Whose.
    pub who: Who,
    /// The port's number; 0 of a switch itself.
    pub port: u8,
    /// The number of the block, from 0.
    pub block: u16,
    /// Its 32 keys, the membership in the highest bit; 0 for none.
    pub keys: Vec<u16>,
}

/// The service level that the subnet manager answers for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathLevelRecord {
    /// Where it stands.
    pub place: Place,
    /// LID of the sender.
    pub source: u16,
    /// LID of the receiver.
    pub target: u16,
    /// The partition's key, with the bit of membership.
    pub key: u16,
    /// The service level.
    pub level: u8,
}

/// Counters of a port at one time.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingRecord {
    /// Where it begins.
    pub place: Place,
    /// Whose.
    pub who: Who,
    /// The port's number.
    pub port: u8,
    /// Counters under their InfiniBand names (PortXmitData in units of 4 octets).
    pub counters: BTreeMap<String, u64>,
    /// Ratios such as the effective and the raw bit error rate.
    pub ratios: BTreeMap<String, f64>,
}

/// A network device of a host, as a tool run there describes it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct DeviceRecord {
    /// Number of the source.
    pub source: u32,
    /// Line of the source.
    pub line: u32,
    /// 'mlx5_0', 'cxi0'.
    pub device: String,
    /// Port number, 1 where there is only one; 0 for a device whose ports were not printed.
    pub port: u8,
    /// GUIDs, where the tool reports them.
    pub node_guid: Option<u64>,
    /// Of the port.
    pub port_guid: Option<u64>,
    /// The port's LID.
    pub lid: Option<u16>,
    /// 'InfiniBand', 'Ethernet'.
    pub link_layer: Option<String>,
    /// As the tool writes it.
    pub state: Option<String>,
    /// As the tool writes it.
    pub physical_state: Option<String>,
    /// Data rate in Gb/s.
    pub rate_gbps: Option<f64>,
    /// Anything else by its name there: firmware, FEC, cable, network interface.
    pub facts: BTreeMap<String, String>,
    /// Counters and ratios by their names there.
    pub readings: BTreeMap<String, f64>,
}

impl DeviceRecord {
    /// A device's port that nothing is known about yet.
    pub fn of(place: Place, device: &str, port: u8) -> DeviceRecord {
        let (source, line, device) = (place.source, place.line, device.to_owned());
        DeviceRecord { source, line, device, port, ..DeviceRecord::default() }
    }

    /// Note a fact by its name there.
    pub fn note(&mut self, name: &str, value: &str) {
        self.facts.insert(name.to_owned(), value.to_owned());
    }
}

/// A switch of a scheduler's tree: names only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TreeSwitch {
    /// Its name.
    pub name: String,
    /// Names of the switches below, expanded.
    pub switches: Vec<String>,
    /// Names of the nodes below, expanded.
    pub nodes: Vec<String>,
    /// A number for the link's rate, in the site's own unit: Slurm does not use it.
    pub link_speed: Option<u32>,
}

/// Facts from the subnet manager's log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SmLog {
    /// Engines that configured tables, in the log's order, each once in a row.
    pub engines_used: Vec<String>,
    /// Engines that were asked for, where the log reports it.
    pub engines_asked: Vec<String>,
    /// Errors with their codes: 'AB0A: ...', each text once.
    pub errors: Vec<String>,
    /// How often the subnet came up.
    pub n_sweeps: u64,
    /// Ports that left: GUIDs and descriptions as the log writes them.
    pub removed: Vec<String>,
}

/// One file (or pipe) that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its path, or '-'.
    pub name: String,
    /// Its format by our name; none where no reader knew it.
    pub format: Option<String>,
    /// Lines read.
    pub n_lines: u64,
    /// Bytes read.
    pub n_bytes: u64,
    /// Lines that were not understood, beyond those listed in [`Gathered::unread`] too.
    pub n_unread: u64,
}

/// A line that was not understood, or a file that ended too early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unread {
    /// Where.
    pub place: Place,
    /// The wrong line itself, clipped, or the missing part.
    pub what: String,
    /// The form that was expected.
    pub expected: String,
}

/// The most unread lines that are kept for each source; the remaining lines are counted.
pub const MAX_UNREAD: u64 = 100;

/// Everything that readers found, in the order of the files.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)] // One list a record.
pub struct Gathered {
    pub sources: Vec<Source>,
    pub nodes: Vec<NodeRecord>,
    pub ports: Vec<PortRecord>,
    pub cables: Vec<CableRecord>,
    /// GUIDs of two ports of one adapter, where a file does not say the adapter's own.
    pub siblings: Vec<(u64, u64)>,
    /// Port GUID with the first and last LID.
    pub lids: Vec<(Place, u64, u16, u16)>,
    pub tables: Vec<TableRecord>,
    pub adaptive: Vec<(Place, Who, AdaptiveRecord)>,
    pub sl2vl: Vec<Sl2vlRecord>,
    pub arbitration: Vec<ArbitrationRecord>,
    pub partition_keys: Vec<PartitionKeysRecord>,
    pub path_levels: Vec<PathLevelRecord>,
    pub readings: Vec<ReadingRecord>,
    pub devices: Vec<DeviceRecord>,
    pub tree: Vec<TreeSwitch>,
    pub sm_logs: Vec<SmLog>,
    /// The inside of a node, as a JSON document (schema weft.node_graph/1 or hwloc's own facts).
    pub insides: Vec<serde_json::Value>,
    /// Sections that are kept as they are: name, header, rows.
    pub kept: Vec<(Place, String, Vec<String>)>,
    pub unread: Vec<Unread>,
    /// A document's own guesses, in words.
    pub assumed: Vec<String>,
}

impl Gathered {
    /// A line that was not understood.
    pub fn unread(&mut self, place: Place, what: &str, expected: impl Into<String>) {
        let source = &mut self.sources[place.source as usize];
        source.n_unread += 1;
        if source.n_unread <= MAX_UNREAD {
            let what = crate::error::clipped(what);
            self.unread.push(Unread { place, what, expected: expected.into() });
        }
    }
}
