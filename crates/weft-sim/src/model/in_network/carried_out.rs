//! Who carries out a collective that was asked of switches.

use serde::Serialize;

/// Who carried out a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriedOut {
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

impl CarriedOut {
    /// Whether HCAs or GPUs cut the buffer, and processors see its beginning and end.
    pub(crate) fn streams(self) -> bool {
        matches!(self, CarriedOut::Stream) || self.slices()
    }

    /// Whether NvSwitches reduce slice by slice.
    pub(crate) fn slices(self) -> bool {
        matches!(self, CarriedOut::Nvls | CarriedOut::Collnet | CarriedOut::NvlsTree)
    }

    /// Whether it takes the lock of trees that stream.
    pub(crate) fn locks(self) -> bool {
        matches!(self, CarriedOut::Stream | CarriedOut::Collnet)
    }

    /// The name as documents write it.
    pub fn as_str(self) -> &'static str {
        match self {
            CarriedOut::Operations => "operations",
            CarriedOut::Stream => "stream",
            CarriedOut::Multicast => "multicast",
            CarriedOut::Nvls => "nvls",
            CarriedOut::Collnet => "collnet",
            CarriedOut::NvlsTree => "nvls_tree",
            CarriedOut::Hosts => "hosts",
        }
    }
}
