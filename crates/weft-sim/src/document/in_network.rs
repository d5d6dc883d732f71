//! Collectives that switches take part in, as written.

use serde::Deserialize;

/// Abilities of aggregation nodes, the reducing parts of switches.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InNetworkDocument {
    /// From the last packet of an operation that an aggregation node waits for to the one that it
    /// sends on.
    pub reduction_ns: f64,
    /// Least time between two operations of an aggregation node; `reduction_ns` without it.
    pub interval_ns: Option<f64>,
    /// Payload of an operation; larger buffers are cut.
    pub payload_bytes: u32,
    /// Bytes of a packet beyond its payload and the usual headers.
    #[serde(default)]
    pub header_bytes: u32,
    /// Operations of a group under way at a time.
    #[serde(default = "eight")]
    pub outstanding: u32,
    /// Larger buffers are left to the hosts, where nothing streams them.
    pub max_bytes: Option<u64>,
    /// Processor time that a node's leader spends on each further task of the node.
    #[serde(default)]
    pub task_ns: f64,
    /// How results go down.
    #[serde(default)]
    pub result: ResultBy,
    /// Streaming trees for large buffers; without it there are none.
    pub sat: Option<SatDocument>,
    /// The resources that the aggregation manager gives away.
    #[serde(default)]
    pub quota: QuotaDocument,
    /// NvSwitches that reduce and copy inside nodes; without it they only forward.
    pub nvls: Option<NvlsDocument>,
}

/// NvSwitches that reduce and copy (NVLink SHARP).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NvlsDocument {
    /// From the last GPU's packet of a piece to the one that the switch sends on.
    #[serde(default)]
    pub reduction_ns: f64,
    /// Payload of a piece.
    pub payload_bytes: u32,
    /// Pieces of a GPU that are not complete, at most.
    #[serde(default = "sat_outstanding")]
    pub outstanding: u32,
}

/// Streaming aggregation trees: HCAs cut a buffer into packets that are reduced at link rate.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SatDocument {
    /// Smaller buffers go operation by operation.
    #[serde(default = "sat_threshold_bytes")]
    pub threshold_bytes: u64,
    /// Payload of a packet.
    pub payload_bytes: u32,
    /// Packets of a member whose results have not come, at most.
    #[serde(default = "sat_outstanding")]
    pub outstanding: u32,
    /// The resources that a streaming tree has for itself.
    #[serde(default)]
    pub lock: SatLock,
}

/// SOURCE: SHARP_COLL_SAT_THRESHOLD of NVIDIA SHARP.
fn sat_threshold_bytes() -> u64 {
    16_384
}

/// Enough for 256 KiB of KiB packets: more than ten microseconds at 200 Gb/s. Assumed.
fn sat_outstanding() -> u32 {
    256
}

/// The resources that a streaming tree has for itself.
///
/// SOURCE: NVIDIA SHARP documentation 3.13.0: one active tree a Quantum switch, one a port of a
/// Quantum-2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SatLock {
    /// Its switches.
    #[default]
    Switch,
    /// Its ports.
    Port,
}

/// The resources that the aggregation manager gives away; without a key, as much as is asked for.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QuotaDocument {
    /// Trees of a switch.
    pub trees_per_switch: Option<u32>,
    /// Operations under way of all trees of a switch.
    pub operations_per_switch: Option<u32>,
}

/// SOURCE: SHARP_COLL_OSTS_PER_GROUP of NVIDIA SHARP.
fn eight() -> u32 {
    8
}

/// How results go down the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultBy {
    /// From aggregation node to aggregation node.
    #[default]
    Tree,
    /// As a multicast, which switches forward as any packet.
    Multicast,
}
