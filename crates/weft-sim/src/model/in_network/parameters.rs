//! Abilities of aggregation nodes, in picoseconds and bytes.

use crate::document::{
    InNetworkDocument, NvlsDocument, QuotaDocument, ResultBy, SatDocument, SatLock,
};
use crate::error::SimError;
use crate::limits::{ps, within};
use crate::model::framing::Framing;
use crate::model::in_network::collective_method::CollectiveMethod;
use weft_traffic::{Between, Offload, OffloadKind};

/// Most operations of a group under way.
const MAX_OUTSTANDING: u32 = 65_536;
/// Most bytes that an aggregation protocol adds to a packet.
const MAX_HEADER_BYTES: u32 = 256;

/// How buffers are cut.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cut {
    payload_bytes: u32,
    /// Pieces of a member under way.
    pub(crate) outstanding: u32,
}

impl Cut {
    /// How many pieces a buffer is cut into.
    pub(crate) fn n_pieces(&self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(u64::from(self.payload_bytes)).max(1)
    }

    /// How many pieces of one of `n_slices` make a segment: all of one are under way at a time.
    pub(crate) fn group(&self, segment_bytes: u64, n_slices: u32) -> u64 {
        let most = (self.outstanding / n_slices).max(1);
        (segment_bytes / u64::from(self.payload_bytes)).clamp(1, most.into())
    }

    /// Payload of the piece of that number.
    pub(crate) fn piece_bytes(&self, size_bytes: u64, number: u64) -> u64 {
        let payload_bytes = u64::from(self.payload_bytes);
        (size_bytes - number * payload_bytes).min(payload_bytes)
    }
}

/// Trees that stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sat {
    threshold_bytes: u64,
    cut: Cut,
    pub(crate) lock: SatLock,
}

/// Abilities of NvSwitches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nvls {
    pub(crate) reduction_ps: u64,
    cut: Cut,
}

/// Abilities of aggregation nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) reduction_ps: u64,
    pub(crate) interval_ps: u64,
    pub(crate) task_ps: u64,
    pub(crate) result: ResultBy,
    pub(crate) sat: Option<Sat>,
    pub(crate) nvls: Option<Nvls>,
    pub(crate) quota: QuotaDocument,
    max_bytes: u64,
    operations: Cut,
    datagrams: Cut,
    header_bytes: u32,
    framing: Framing,
}

impl Model {
    /// Switches that only copy.
    pub(crate) fn copying(framing: Framing, mtu_bytes: u32) -> Model {
        Model {
            reduction_ps: 0,
            interval_ps: 0,
            task_ps: 0,
            result: ResultBy::default(),
            sat: None,
            nvls: None,
            quota: QuotaDocument::default(),
            max_bytes: u64::MAX,
            operations: Cut::default(),
            datagrams: Cut { payload_bytes: mtu_bytes, outstanding: 1 },
            header_bytes: 0,
            framing,
        }
    }

    /// The model of a document, for packets of so many bytes of payload at most.
    pub(crate) fn new(
        document: &InNetworkDocument,
        framing: Framing,
        mtu_bytes: u32,
    ) -> Result<Model, SimError> {
        let time = |key: &str, ns: f64| ps(&format!("in_network.{key}"), ns);
        let header_bytes = document.header_bytes;
        let most = MAX_HEADER_BYTES.min(mtu_bytes - 1);
        within("in_network", "header_bytes", header_bytes.into(), 0, most.into())?;
        let payload_bytes = document.payload_bytes;
        let cut = Cut { payload_bytes, outstanding: document.outstanding };
        let operations = checked("in_network", cut, mtu_bytes - header_bytes)?;
        let sat = document.sat.map(|sat| read_sat(sat, mtu_bytes - header_bytes)).transpose()?;
        let nvls =
            document.nvls.map(|nvls| read_nvls(nvls, mtu_bytes - header_bytes)).transpose()?;
        let reduction_ps = time("reduction_ns", document.reduction_ns)?;
        let interval_ps =
            document.interval_ns.map_or(Ok(reduction_ps), |ns| time("interval_ns", ns))?;
        Ok(Model {
            reduction_ps,
            interval_ps,
            task_ps: time("task_ns", document.task_ns)?,
            result: document.result,
            sat,
            nvls,
            quota: document.quota,
            max_bytes: document.max_bytes.unwrap_or(u64::MAX),
            operations,
            header_bytes,
            ..Model::copying(framing, mtu_bytes)
        })
    }

    /// How switches carry out a collective, or why not.
    pub(crate) fn method_of(&self, offload: &Offload) -> Result<CollectiveMethod, String> {
        let size = offload.size_bytes;
        match (offload.kind, self.sat) {
            (OffloadKind::Copy, _) => Ok(CollectiveMethod::Multicast),
            (OffloadKind::Slices(Between::Nothing), _) => Ok(CollectiveMethod::Nvls),
            (OffloadKind::Slices(Between::Switches), _) => Ok(CollectiveMethod::Collnet),
            (OffloadKind::Slices(Between::Trees { .. }), _) => Ok(CollectiveMethod::NvlsTree),
            (OffloadKind::Sum, Some(sat)) if size >= sat.threshold_bytes => {
                Ok(CollectiveMethod::Stream)
            }
            (OffloadKind::Sum, _) if size > self.max_bytes => {
                let most = self.max_bytes;
                Err(format!("{size} bytes are more than in_network.max_bytes ({most})"))
            }
            (OffloadKind::Sum, _) => Ok(CollectiveMethod::Operations),
        }
    }

    /// How a buffer is cut that is carried out like that.
    pub(crate) fn cut(&self, method: CollectiveMethod) -> Cut {
        match (method, self.sat) {
            (CollectiveMethod::Multicast, _) => self.datagrams,
            (CollectiveMethod::Stream, Some(sat)) => sat.cut,
            _ if method.slices() => self.nvls.map_or(self.operations, |nvls| nvls.cut),
            _ => self.operations,
        }
    }

    /// Most pieces of a member under way that are counted.
    pub(crate) fn window(&self) -> u32 {
        let sat = self.sat.map_or(1, |sat| sat.cut.outstanding);
        let nvls = self.nvls.map_or(1, |nvls| nvls.cut.outstanding);
        self.operations.outstanding.max(sat).max(nvls)
    }

    /// Bytes of a GPU under way between it and NvSwitches.
    pub(crate) fn nvls_bytes_under_way(&self) -> u64 {
        let cut = self.nvls.map_or(self.operations, |nvls| nvls.cut);
        u64::from(cut.payload_bytes) * u64::from(cut.outstanding)
    }

    /// Operations of a tree under way that are not streamed.
    pub(crate) fn n_operations(&self) -> u32 {
        self.operations.outstanding
    }

    /// Bytes on the wire of a piece that is carried out like that.
    pub(crate) fn piece_bytes(&self, method: CollectiveMethod, payload_bytes: u64) -> u32 {
        match method {
            CollectiveMethod::Multicast => self.datagram_bytes(payload_bytes),
            _ if method.slices() => self.framing.wire_bytes(payload_bytes as u32, false),
            _ => self.wire_bytes(payload_bytes),
        }
    }

    /// Bytes on the wire of a packet that is reduced.
    fn wire_bytes(&self, payload_bytes: u64) -> u32 {
        self.framing.wire_bytes(payload_bytes as u32 + self.header_bytes, false)
    }

    /// Of a packet with so many bytes inside a node, those it has between nodes.
    pub(crate) fn across(&self, inner_bytes: u16) -> u16 {
        inner_bytes + self.header_bytes as u16
    }

    /// The reverse.
    pub(crate) fn inside(&self, wire_bytes: u16) -> u16 {
        wire_bytes - self.header_bytes as u16
    }

    /// Bytes on the wire of a datagram.
    pub(crate) fn datagram_bytes(&self, payload_bytes: u64) -> u32 {
        self.framing.wire_bytes(payload_bytes as u32 + self.framing.datagram_bytes(), false)
    }
}

/// A cut whose packets are not longer than others.
fn checked(place: &str, cut: Cut, most_bytes: u32) -> Result<Cut, SimError> {
    within(place, "payload_bytes", cut.payload_bytes.into(), 1, most_bytes.into())?;
    within(place, "outstanding", cut.outstanding.into(), 1, MAX_OUTSTANDING.into())?;
    Ok(cut)
}

fn read_nvls(nvls: NvlsDocument, most_bytes: u32) -> Result<Nvls, SimError> {
    let cut = Cut { payload_bytes: nvls.payload_bytes, outstanding: nvls.outstanding };
    let cut = checked("in_network.nvls", cut, most_bytes)?;
    Ok(Nvls { reduction_ps: ps("in_network.nvls.reduction_ns", nvls.reduction_ns)?, cut })
}

fn read_sat(sat: SatDocument, most_bytes: u32) -> Result<Sat, SimError> {
    let cut = Cut { payload_bytes: sat.payload_bytes, outstanding: sat.outstanding };
    let cut = checked("in_network.sat", cut, most_bytes)?;
    if sat.threshold_bytes == 0 {
        let place = "in_network.sat.threshold_bytes";
        return Err(SimError::document(place, "it is 0", "1 or more: a barrier has no stream"));
    }
    Ok(Sat { threshold_bytes: sat.threshold_bytes, cut, lock: sat.lock })
}
