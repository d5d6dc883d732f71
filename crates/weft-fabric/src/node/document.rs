//! The inside of a node, as written.

use crate::units::{BitsPerSecond, Picoseconds};
use serde::Deserialize;

/// The kind of a vertex inside a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InnerKind {
    /// A GPU: an end. Ranks may sit on it; nothing passes through it.
    Gpu,
    /// Host memory: an end, too; what joins it to PCIe is a root complex.
    Memory,
    /// A switch of the GPUs' own network.
    NvSwitch,
    /// A PCIe switch.
    PcieSwitch,
    /// Where a processor's memory and PCIe meet.
    RootComplex,
}

impl InnerKind {
    /// Whether messages begin and end here; else they pass through.
    pub fn is_end(self) -> bool {
        matches!(self, InnerKind::Gpu | InnerKind::Memory)
    }
}

/// A vertex inside every node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InnerVertexDocument {
    /// Its name within the node; `hca0`, `hca1` ... are the node's HCAs by rail.
    pub name: String,
    /// Its kind.
    pub kind: InnerKind,
}

/// A link inside every node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InnerLinkDocument {
    /// One end: a vertex of the node or `hca0`, `hca1` ...
    pub a: String,
    /// The other end.
    pub b: String,
    /// Rate of each direction, of what packets count: headers as on the network, no others.
    pub bits_per_s: BitsPerSecond,
    /// Time of flight, switching included.
    pub delay_ps: Picoseconds,
    /// Buffer at each end for each virtual lane, in whole credits of 64 bytes. Without it, as much
    /// as keeps the link busy: what it carries in a round trip, and four packets.
    pub buffer_bytes: Option<u64>,
}

/// The choice of the HCA that a rank sends over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rail {
    /// The one its vertex reaches best: highest rate, then fewest links; tasks take turns among
    /// equals.
    #[default]
    Nearest,
    /// The task's number modulo the HCAs.
    RoundRobin,
}

/// The inside of every node of the fabric, as a small graph run by the same link engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGraphDocument {
    /// Vertices other than the HCAs.
    pub vertices: Vec<InnerVertexDocument>,
    /// Links.
    pub links: Vec<InnerLinkDocument>,
    /// The vertex of each local rank (round again after the last): GPUs or memory.
    pub ranks_on: Vec<String>,
    /// The HCA of each.
    #[serde(default)]
    pub rail: Rail,
    /// Whether an HCA reads and writes GPU memory itself; else what a GPU sends to another node is
    /// copied to host memory first, and from host memory after.
    #[serde(default = "yes")]
    pub gpudirect: bool,
    /// The memory it is copied through; each GPU's nearest without it.
    pub bounce: Option<String>,
    /// It is copied and sent in pieces of this size.
    ///
    /// SOURCE: default: a slot of NCCL's buffer, `NCCL_BUFFSIZE` of 4 MiB (NVIDIA, NCCL user
    /// guide, environment variables) in `NCCL_STEPS` 8 (NCCL source).
    #[serde(default = "bounce_chunk_bytes")]
    pub bounce_chunk_bytes: u64,
    /// At most this many pieces of a message are in flight.
    #[serde(default = "bounce_chunks")]
    pub bounce_chunks: u32,
}

fn yes() -> bool {
    true
}

fn bounce_chunk_bytes() -> u64 {
    512 * 1024
}

fn bounce_chunks() -> u32 {
    8
}
