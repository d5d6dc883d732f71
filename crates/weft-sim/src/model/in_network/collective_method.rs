//! Whether switches or hosts carry out a collective that was asked of switches.

use serde::Serialize;

/// Whether switches or hosts carried out a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CollectiveMethod {
    /// Switches, operation by operation (low-latency trees).
    Operations,
    /// Switches, at link rate (streaming trees).
    Stream,
    /// Switches, by copies of datagrams.
    Multicast,
    /// NvSwitches of a node.
    Nvls,
    /// NvSwitches in the nodes, and streaming trees between them.
    Collnet,
    /// NvSwitches in the nodes, and trees of GPUs between them.
    NvlsTree,
    /// The ranks, by the algorithm that stands in.
    Hosts,
}

impl CollectiveMethod {
    /// Whether HCAs or GPUs cut the buffer, and processors see its beginning and end.
    pub(crate) fn streams(self) -> bool {
        matches!(self, CollectiveMethod::Stream) || self.slices()
    }

    /// Whether NvSwitches reduce slice by slice.
    pub(crate) fn slices(self) -> bool {
        matches!(
            self,
            CollectiveMethod::Nvls | CollectiveMethod::Collnet | CollectiveMethod::NvlsTree
        )
    }

    /// Whether it takes the lock of trees that stream.
    pub(crate) fn locks(self) -> bool {
        matches!(self, CollectiveMethod::Stream | CollectiveMethod::Collnet)
    }
}
