//! The interface of a law of congestion control: its settings, read, and how it spaces packets.

use super::defaults::{Sent, Usual};
use super::marking::Marking;
use crate::error::SimError;
use crate::limits::N_LEVELS;

/// A law of congestion control, by which a sender spaces its packets.
pub(crate) trait CongestionLaw: Sized {
    /// Its settings, as written.
    type Document;
    /// Its state of a queue pair.
    type State;

    /// Congestion control by this law, its settings checked.
    fn read(
        knobs: &Self::Document,
        around: &Surroundings<'_>,
    ) -> Result<Congestion<Self>, SimError>;

    /// The state of a queue pair before its first notification; `idle` is the round trip of its
    /// path in an idle network.
    fn begin(&self, idle: Idle) -> Self::State;

    /// A notification has come to the sender.
    fn notified(&self, state: &mut Self::State, notice: Notice);

    /// How long beyond its own time the queue pair of a packet waits before its next one.
    fn delay_ps(&self, state: &mut Self::State, sent: Sent) -> u64;
}

/// A notification that has come to a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) now_ps: u64,
    /// The rate of the sender's link.
    pub(crate) link_bits_per_s: u64,
    /// Its content, by its law.
    pub(crate) argument: u32,
}

/// The round trip of a probe in an idle network.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Idle {
    /// Without other packets.
    pub(crate) base_ps: u64,
    /// A whole packet on each of its links: a probe may meet one there, and none waits for more.
    pub(crate) packets_ps: u64,
}

impl Idle {
    /// The longest that a probe takes there.
    pub(super) fn whole_ps(self) -> u64 {
        self.base_ps.saturating_add(self.packets_ps)
    }
}

/// The part of its scenario that a law depends on.
pub(crate) struct Surroundings<'a> {
    /// Where the law is written.
    pub(crate) place: &'a str,
    pub(crate) usual: Usual,
    /// The input buffer of a switch's port.
    pub(crate) buffer_bytes: u64,
    /// Nodes have links inside.
    pub(crate) inside: bool,
    /// Packets may take a detour.
    pub(crate) detours: bool,
    /// The virtual lane of each service level.
    pub(crate) of_level: &'a [u8; N_LEVELS],
}

impl Surroundings<'_> {
    /// Least time between two notifications, as written or the usual one.
    pub(super) fn cnp_interval_ps(
        &self,
        written_ns: Option<f64>,
        usual_ns: u64,
    ) -> Result<u64, SimError> {
        self.usual.ps((self.place, "cnp_interval_ns"), written_ns, usual_ns)
    }

    /// The lane of a service level that a key may hold.
    pub(super) fn lane(&self, key: &str, level: Option<u8>) -> Result<Option<u8>, SimError> {
        let Some(level) = level else { return Ok(None) };
        let lane = self.of_level.get(usize::from(level)).copied().ok_or_else(|| {
            let (place, what) = (format!("{}.{key}", self.place), format!("service level {level}"));
            SimError::document(place, what, "0 to 15")
        })?;
        Ok(Some(lane))
    }
}

/// Congestion control as a scenario has it.
#[derive(Clone, Debug)]
pub(crate) struct Congestion<L> {
    pub(crate) marking: Marking,
    pub(crate) law: L,
    /// Whether a notification slows down all of a lane of its HCA.
    pub(crate) by_lane: bool,
    /// Least time between two notifications of a queue pair.
    pub(crate) cnp_interval_ps: u64,
    /// The lane of notifications and answers; the queue pair's own where there is none.
    pub(crate) cnp_lane: Option<u8>,
    /// By lane, a bit: whether its packets are marked and their senders slowed down.
    pub(crate) lanes: u16,
}

impl<L> Congestion<L> {
    /// A law whose switches mark no packet.
    pub(super) fn without_marks(law: L, cnp_lane: Option<u8>) -> Congestion<L> {
        let (marking, by_lane, cnp_interval_ps) = (Marking::NONE, false, 0);
        Congestion { marking, law, by_lane, cnp_interval_ps, cnp_lane, lanes: u16::MAX }
    }

    /// Whether packets of a lane are marked and their senders slowed down.
    #[inline]
    pub(crate) fn controls(&self, lane: u8) -> bool {
        self.lanes >> lane & 1 == 1
    }
}
