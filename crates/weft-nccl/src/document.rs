//! Documents: a node with its paths, the pattern that is wanted, and the graph that is found.

use serde::{Deserialize, Serialize};

/// A node of a job and what to look for on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobDocument {
    /// The node.
    pub node: NodeDocument,
    /// The graphs that are wanted, in this order.
    pub requests: Vec<RequestDocument>,
}

/// Vertices, links, and the paths that NCCL takes. Indices count from 0 in these lists.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeDocument {
    /// NCCL's version: major, minor, patch.
    pub version: (u32, u32, u32),
    /// The version's path types, the nearest first.
    pub path_types: Vec<String>,
    /// Whether the first processor is an x86 of AMD.
    pub is_amd: bool,
    /// All vertices.
    pub vertices: Vec<VertexDocument>,
    /// All links, each in one direction; those of a vertex in NCCL's order.
    pub links: Vec<LinkDocument>,
    /// Paths between GPUs, between GPUs and adapters, and between GPUs and the NVSwitch.
    pub paths: Vec<PathDocument>,
    /// GPUs in NCCL's order.
    pub gpus: Vec<GpuDocument>,
    /// Adapters in NCCL's order; none where one node is the whole job.
    pub nets: Vec<NetDocument>,
    /// The vertex of the NVSwitches.
    pub nvswitch: Option<usize>,
}

/// What the search asks of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VertexDocument {
    /// A GPU.
    Gpu,
    /// A processor of Intel.
    Intel,
    /// A processor with Power architecture.
    Power,
    /// Anything else.
    Other,
}

/// A link from one vertex to another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkDocument {
    /// The vertex it leaves.
    pub from: usize,
    /// The vertex it leads to.
    pub to: usize,
    /// The kind of link.
    pub kind: LinkKind,
    /// GB/s.
    pub gb_s: f64,
}

/// A kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkKind {
    /// NVLink.
    Nvlink,
    /// PCI Express.
    Pci,
    /// Anything else.
    Other,
}

/// The path that NCCL takes from one vertex to another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathDocument {
    /// The vertex where it starts.
    pub from: usize,
    /// The vertex where it ends.
    pub to: usize,
    /// Its type, an index of `path_types`.
    pub path_type: u8,
    /// GB/s of its slowest link.
    pub gb_s: f64,
    /// Its links in order.
    pub links: Vec<usize>,
}

/// A GPU.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GpuDocument {
    /// Its vertex.
    pub vertex: usize,
    /// Its rank.
    pub rank: u32,
    /// Its compute capability, as 90.
    pub sm: u32,
    /// The adapters that it takes before others, as indices of `nets`.
    pub own_nets: Vec<usize>,
}

/// An adapter's network.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetDocument {
    /// Its vertex.
    pub vertex: usize,
    /// NCCL's number.
    pub number: u32,
    /// Networks with the same number here share their bandwidth.
    pub port: u32,
    /// GB/s.
    pub gb_s: f64,
    /// The GPU that uses it before others do.
    pub local_gpu: Option<usize>,
}

/// What to look for.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestDocument {
    /// The pattern.
    pub pattern: PatternName,
    /// Fewest channels.
    pub min_channels: u32,
    /// Most channels.
    pub max_channels: u32,
    /// `NCCL_CROSS_NIC`.
    pub cross_nic: u8,
}

/// NCCL's patterns of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternName {
    /// A ring.
    Ring,
    /// A tree whose first two GPUs share the traffic with the network.
    BalancedTree,
    /// NVLink SHARP.
    Nvls,
}

/// A graph that was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GraphDocument {
    /// GB/s of a channel inside a node.
    pub gb_s_inside: f32,
    /// GB/s of a channel between nodes.
    pub gb_s_between: f32,
    /// The farthest path inside a node, a word of `path_types`.
    pub path_inside: String,
    /// The farthest path to adapters.
    pub path_between: String,
    /// Whether all channels had to be alike.
    pub same_channels: bool,
    /// How a channel may leave by another adapter than it entered.
    pub cross_nic: u8,
    /// Ranks in order, by channel.
    pub gpus: Vec<Vec<u32>>,
    /// NCCL's numbers of the adapters where a channel enters and leaves.
    pub nets: Vec<[u32; 2]>,
}
