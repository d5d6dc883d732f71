//! The inside of a node, as written.

use serde::Deserialize;

/// What a vertex inside a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InnerKind {
    /// A GPU; ranks may sit on it.
    Gpu,
    /// Host memory and its root complex; ranks may sit on it.
    Memory,
    /// A switch of the GPU's own fabric.
    NvSwitch,
    /// A PCIe switch.
    PcieSwitch,
}

/// A vertex inside every node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InnerVertexDocument {
    /// Its name within the node; `hca0`, `hca1` ... are the node's HCAs by rail.
    pub name: String,
    /// What it is.
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
    /// Rate of each direction.
    pub bits_per_s: u64,
    /// Time of flight, switching included.
    pub delay_ps: u64,
}

/// The inside of every node of the fabric, as a small graph run by the same link engine.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeGraphDocument {
    /// Vertices beside the HCAs.
    pub vertices: Vec<InnerVertexDocument>,
    /// Links.
    pub links: Vec<InnerLinkDocument>,
    /// The vertex of each local rank (round again after the last).
    pub ranks_on: Vec<String>,
    /// Whether an HCA reads and writes GPU memory itself; else messages are copied through
    /// `bounce` first and after.
    #[serde(default = "yes")]
    pub gpudirect: bool,
    /// The memory vertex that messages are copied through without GPUDirect.
    #[serde(default)]
    pub bounce: Option<String>,
}

fn yes() -> bool {
    true
}
