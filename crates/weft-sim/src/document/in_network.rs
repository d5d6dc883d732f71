//! Collectives that switches take part in, as written.

use serde::Deserialize;

/// What aggregation nodes, the reducing parts of switches, can do.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InNetworkDocument {
    /// From the last packet of an operation that an aggregation node waits for to the one that it
    /// sends on.
    pub reduction_ns: f64,
    /// Least time between two operations of an aggregation node; `reduction_ns` without it.
    #[serde(default)]
    pub interval_ns: Option<f64>,
    /// Payload of an operation; larger buffers are cut.
    pub payload_bytes: u32,
    /// Bytes of a packet beside its payload and the usual headers.
    #[serde(default)]
    pub header_bytes: u32,
    /// Operations of a group under way at a time.
    #[serde(default = "eight")]
    pub outstanding: u32,
    /// Larger buffers are left to the hosts, where nothing streams them.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// Processor time that a node's leader spends on each further task of the node.
    #[serde(default)]
    pub task_ns: f64,
    /// How results go down.
    #[serde(default)]
    pub result: ResultBy,
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
