//! Reliable transport, of fixed or changing connections, in picoseconds and bytes.

use crate::document::{TransportDocument, TransportKind};
use crate::error::SimError;
use crate::limits::{CLOCK_END_PS, MAX_INITIATORS, ps, within};

/// The unit of the acknowledgement timeout.
///
/// SOURCE: InfiniBand Architecture Specification volume 1, section 9.7.6.1.3 (local ACK timeout).
const TIMEOUT_UNIT_PS: u64 = 4_096_000;
/// The exponent has five bits, and 0 would never end.
const MAX_TIMEOUT_EXPONENT: u8 = 31;
/// The count of retries has three bits.
const MAX_RETRIES: u8 = 7;
/// The frequency of acknowledgement requests is a power of two up to this in the queue pair's
/// context of mlx5 (four bits of exponent).
const MAX_ACK_EVERY: u32 = 1 << 15;

/// How long a receiver waits for an overtaken packet. Assumed: far above the microseconds by which
/// queues of one fabric differ.
const USUAL_REORDER_PS: u64 = 1_000_000_000;

/// Losses and detours that packets may meet between their ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Perils {
    /// Some may be lost.
    pub(crate) losses: bool,
    /// Some may overtake others.
    pub(crate) overtaking: bool,
    /// Switches send them round dead cables themselves.
    pub(crate) diverted: bool,
}

/// Dynamically connected transport.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dct {
    /// Initiators of a rank, on each lane.
    pub(crate) initiators: u32,
    pub(crate) reconnect_ps: u64,
}

/// The behaviour of connections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transport {
    pub(crate) acknowledge: bool,
    pub(crate) ack_every: u32,
    /// The same in bytes of payload.
    pub(crate) ack_bytes: u64,
    pub(crate) mtu_bytes: u64,
    pub(crate) timeout_ps: u64,
    pub(crate) retries: u8,
    /// Processor time of a packet that was overtaken.
    pub(crate) out_of_order_ps: u64,
    /// Receivers take packets that overtook others.
    pub(crate) any_order: bool,
    /// And report one that was overtaken so long ago.
    pub(crate) reorder_ps: Option<u64>,
    /// Packets are numbered, and what is not acknowledged is repeated.
    pub(crate) numbered: bool,
    /// Connections change; without it, every two ranks have one.
    pub(crate) dct: Option<Dct>,
}

impl Transport {
    /// The transport of a document, where packets are in such perils.
    pub(crate) fn new(
        document: &TransportDocument,
        mtu_bytes: u32,
        perils: Perils,
    ) -> Result<Transport, SimError> {
        let acknowledge = document.acknowledge.unwrap_or(true);
        let exponent = document.timeout_exponent;
        let key = "transport";
        within(key, "ack_every", document.ack_every.into(), 1, MAX_ACK_EVERY.into())?;
        within(key, "timeout_exponent", exponent.into(), 1, MAX_TIMEOUT_EXPONENT.into())?;
        within(key, "retries", document.retries.into(), 0, MAX_RETRIES.into())?;
        let out_of_order_ps = ps("transport.out_of_order_ns", document.out_of_order_ns)?;
        let place = "transport.acknowledge";
        if !acknowledge && perils.losses {
            let what = "packets may be lost, and no host repeats them";
            return Err(SimError::document(place, what, "true where faults lose packets"));
        }
        let numbered = perils.losses || perils.overtaking && out_of_order_ps > 0;
        Ok(Transport {
            acknowledge,
            ack_every: document.ack_every,
            ack_bytes: u64::from(document.ack_every) * u64::from(mtu_bytes),
            mtu_bytes: u64::from(mtu_bytes),
            timeout_ps: TIMEOUT_UNIT_PS << exponent,
            retries: document.retries,
            out_of_order_ps,
            any_order: perils.overtaking,
            reorder_ps: reorder_ps(document, perils)?,
            numbered,
            dct: dct(document, acknowledge, numbered)?,
        })
    }

    /// Processor time of so many packets that were overtaken.
    pub(crate) fn late_ps(&self, n_late: u32) -> u64 {
        self.out_of_order_ps.saturating_mul(u64::from(n_late)).min(CLOCK_END_PS)
    }
}

/// How long receivers wait for a packet that was overtaken; none where all come in the end.
fn reorder_ps(document: &TransportDocument, perils: Perils) -> Result<Option<u64>, SimError> {
    let place = "transport.reorder_ns";
    match document.reorder_ns {
        Some(_) if !perils.overtaking => {
            let what = "packets keep their order, and receivers report a gap at once";
            Err(SimError::document(place, what, "routing.adaptive, or no such key"))
        }
        Some(reorder_ns) => Ok(Some(ps(place, reorder_ns)?).filter(|_| perils.losses)),
        None => Ok((perils.overtaking && perils.diverted).then_some(USUAL_REORDER_PS)),
    }
}

/// Dynamically connected transport, where a document asks for it.
fn dct(
    document: &TransportDocument,
    acknowledge: bool,
    numbered: bool,
) -> Result<Option<Dct>, SimError> {
    let refuse = |key: &str, what: &str, expected: &str| {
        Err(SimError::document(format!("transport.{key}"), what, expected))
    };
    if document.kind == TransportKind::Rc {
        return match document.dct {
            None => Ok(None),
            Some(_) => refuse("dct", "'rc' has no initiators", "\"kind\": \"dct\", or no such key"),
        };
    }
    if !acknowledge {
        let what = "an initiator waits for acknowledgements before it turns to another target";
        return refuse("acknowledge", what, "true with \"kind\": \"dct\"");
    }
    if numbered {
        let what = "'dct' does not repeat packets";
        let expected = "'rc' where packets are lost, or overtaking costs (out_of_order_ns)";
        return refuse("kind", what, expected);
    }
    let dct = document.dct.unwrap_or_default();
    if !(1..=MAX_INITIATORS).contains(&dct.initiators) {
        let what = format!("{} initiators", dct.initiators);
        return refuse("dct.initiators", &what, &format!("from 1 to {MAX_INITIATORS}"));
    }
    let reconnect_ps = ps("transport.dct.reconnect_ns", dct.reconnect_ns)?;
    Ok(Some(Dct { initiators: dct.initiators, reconnect_ps }))
}
