//! Who carried out what was asked of switches.

use serde::Serialize;

/// Most rows of a run: steps that are done again have one only where something changes.
const MAX_ROWS: usize = 1 << 16;

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

/// One row a step that was asked of switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OffloadColumns {
    /// Number of the tenant.
    pub tenant: Vec<u32>,
    /// Number of the step in its work.
    pub step: Vec<u32>,
    /// Who carried it out.
    pub by: Vec<CarriedOut>,
    /// Why not the switches; empty where they did.
    pub reason: Vec<String>,
}

impl OffloadColumns {
    /// Write down who carries out a step, unless its last row says so already.
    pub(crate) fn push(&mut self, tenant: u32, step: u32, how: Result<CarriedOut, String>) {
        let (by, reason) = match how {
            Ok(by) => (by, String::new()),
            Err(reason) => (CarriedOut::Hosts, reason),
        };
        let is_of_step = |at: &usize| self.tenant[*at] == tenant && self.step[*at] == step;
        let last = (0..self.by.len()).rev().find(is_of_step);
        let known = last.is_some_and(|at| self.by[at] == by && self.reason[at] == reason);
        if known || self.by.len() == MAX_ROWS {
            return;
        }
        self.tenant.push(tenant);
        self.step.push(step);
        self.by.push(by);
        self.reason.push(reason);
    }
}
