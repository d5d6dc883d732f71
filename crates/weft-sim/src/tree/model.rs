//! What aggregation nodes can do, in picoseconds and bytes.

use crate::document::{InNetworkDocument, ResultBy};
use crate::error::SimError;
use crate::host::ps;
use crate::packet::Framing;

/// Most operations of a group under way.
const MAX_OUTSTANDING: u32 = 4096;
/// Most bytes that an aggregation protocol adds to a packet.
const MAX_HEADER_BYTES: u32 = 256;

/// What aggregation nodes can do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Model {
    pub(crate) reduction_ps: u64,
    pub(crate) interval_ps: u64,
    pub(crate) payload_bytes: u32,
    pub(crate) outstanding: u32,
    pub(crate) max_bytes: u64,
    pub(crate) task_ps: u64,
    pub(crate) result: ResultBy,
    header_bytes: u32,
    framing: Framing,
}

impl Model {
    /// The model of a document, for packets of so many bytes of payload at most.
    pub(crate) fn new(
        document: &InNetworkDocument,
        framing: Framing,
        mtu_bytes: u32,
    ) -> Result<Model, SimError> {
        let time = |key: &str, ns: f64| ps(&format!("in_network.{key}"), ns);
        let within = |key: &str, value: u32, least: u32, most: u32| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let place = format!("in_network.{key}");
            Err(SimError::document(place, format!("it is {value}"), format!("{least} to {most}")))
        };
        let most = mtu_bytes.saturating_sub(document.header_bytes);
        within("header_bytes", document.header_bytes, 0, MAX_HEADER_BYTES.min(mtu_bytes - 1))?;
        within("payload_bytes", document.payload_bytes, 1, most)?;
        within("outstanding", document.outstanding, 1, MAX_OUTSTANDING)?;
        let reduction_ps = time("reduction_ns", document.reduction_ns)?;
        let interval_ps =
            document.interval_ns.map_or(Ok(reduction_ps), |ns| time("interval_ns", ns))?;
        Ok(Model {
            reduction_ps,
            interval_ps,
            payload_bytes: document.payload_bytes,
            outstanding: document.outstanding,
            max_bytes: document.max_bytes.unwrap_or(u64::MAX),
            task_ps: time("task_ns", document.task_ns)?,
            result: document.result,
            header_bytes: document.header_bytes,
            framing,
        })
    }

    /// How many operations a buffer is cut into.
    pub(crate) fn n_segments(&self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(u64::from(self.payload_bytes)).max(1)
    }

    /// Payload of the operation of that number.
    pub(crate) fn segment_bytes(&self, size_bytes: u64, number: u64) -> u64 {
        let payload_bytes = u64::from(self.payload_bytes);
        (size_bytes - number * payload_bytes).min(payload_bytes)
    }

    /// Bytes on the wire of a packet of the tree.
    pub(crate) fn wire_bytes(&self, payload_bytes: u64) -> u32 {
        self.framing.wire_bytes(payload_bytes as u32 + self.header_bytes, false)
    }
}
