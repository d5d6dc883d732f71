//! Back-pressure of endpoints, in the manner of Slingshot: the port before a host knows which queue
//! pairs contribute to its load, and holds those, and nobody else, to their share of it.
//!
//! What is known of Slingshot is what it achieves, hardware back-pressure on the sources that
//! contribute (De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect", SC 2020); how
//! is not published. Ours: once a queue has filled, a source is told its share of the host's link,
//! less what empties the queue, until a single one is left. Senders that come one after the other,
//! as in a collective, fill no queue and are not told anything.

use super::usual::Usual;
use super::within;
use crate::document::EndpointDocument;
use crate::error::SimError;

/// Usual times, for links of 200 Gb/s.
const HOLD_NS: u64 = 1_000_000;
const COUNT_NS: u64 = 20_000;

/// Shares are told in this part of the link's rate.
pub(crate) const UNIT: u32 = 1 << 16;
/// Queue pairs are counted over so many times the time in which each would send a packet.
const ROUNDS: u64 = 4;
/// A queue twice the target takes away the most.
const MOST_TAKEN: f64 = 0.5;

/// How a host's link is shared among those who send to it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// What may wait before the host, in blocks.
    queue_blocks: u32,
    /// A source that hears nothing for so long forgets what it was told.
    hold_ps: u64,
    /// Least time over which contributors are counted.
    count_ps: u64,
    /// A share is told when it has changed by this part.
    change: f64,
}

/// What a source has been told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    units: u32,
    until_ps: u64,
}

/// The port before a host: who contributes to its load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Door {
    /// Number of the count that goes on, and when it began.
    pub(crate) epoch: u32,
    begin_ps: u64,
    /// Queue pairs seen in it, and in the one before.
    n: u32,
    n_before: u32,
    /// Its queue has filled, and more than one has sent ever since.
    is_closed: bool,
}

/// What a door knows of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    epoch: u32,
    told_units: u32,
    told_ps: u64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { epoch: 0, told_units: UNIT, told_ps: 0 }
    }
}

/// A packet of a queue pair that has come to its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    pub(crate) now_ps: u64,
    /// What waits before the host.
    pub(crate) backlog_blocks: u32,
    /// The time of a whole packet on the host's link.
    pub(crate) packet_ps: u64,
}

impl Endpoint {
    pub(crate) fn new(
        place: &str,
        knobs: &EndpointDocument,
        usual: Usual,
    ) -> Result<Endpoint, SimError> {
        within(place, "queue_bytes", knobs.queue_bytes, 64, 1 << 40)?;
        let change = knobs.change;
        if !(change > 0.0 && change <= 1.0) {
            let place = format!("{place}.change");
            return Err(SimError::document(place, format!("it is {change}"), "above 0, up to 1"));
        }
        Ok(Endpoint {
            queue_blocks: (knobs.queue_bytes / 64).min(u32::MAX.into()) as u32,
            hold_ps: usual.ps((place, "hold_ns"), knobs.hold_ns, HOLD_NS)?,
            count_ps: usual.ps((place, "count_ns"), knobs.count_ns, COUNT_NS)?,
            change,
        })
    }

    pub(crate) fn begin(&self) -> Share {
        Share { units: UNIT, until_ps: 0 }
    }

    pub(crate) fn told(&self, share: &mut Share, now_ps: u64, units: u32) {
        *share = Share { units, until_ps: now_ps + self.hold_ps };
    }

    pub(crate) fn rate(&self, share: &Share, now_ps: u64) -> f64 {
        if now_ps >= share.until_ps { 1.0 } else { f64::from(share.units) / f64::from(UNIT) }
    }

    /// What a source is to be told whose packet has come through a door; none if that is no news.
    pub(crate) fn tells(&self, door: &mut Door, seen: &mut Seen, came: Came) -> Option<u32> {
        self.count(door, came);
        if seen.epoch != door.epoch {
            seen.epoch = door.epoch;
            door.n += 1;
        }
        let units = self.share(door, came.backlog_blocks);
        let forgotten = came.now_ps >= seen.told_ps + self.hold_ps / 2;
        let told = if forgotten { UNIT } else { seen.told_units };
        if f64::from(units.abs_diff(told)) <= f64::from(told) * self.change {
            return None;
        }
        (seen.told_units, seen.told_ps) = (units, came.now_ps);
        Some(units)
    }

    /// Begin another count when this one has lasted long enough for all to be seen.
    fn count(&self, door: &mut Door, came: Came) {
        let all_ps = ROUNDS * u64::from(door.n.max(door.n_before) + 1) * came.packet_ps;
        if door.epoch == 0 || came.now_ps >= door.begin_ps + all_ps.max(self.count_ps) {
            (door.n_before, door.n) = (door.n, 0);
            (door.epoch, door.begin_ps) = (door.epoch + 1, came.now_ps);
        }
    }

    /// The share of each who sends through a door.
    fn share(&self, door: &mut Door, backlog_blocks: u32) -> u32 {
        let n = door.n.max(door.n_before);
        door.is_closed = n > 1 && (door.is_closed || backlog_blocks >= self.queue_blocks);
        if !door.is_closed {
            return UNIT;
        }
        let over = f64::from(backlog_blocks) / f64::from(self.queue_blocks) - 1.0;
        let kept = 1.0 - over.clamp(0.0, 1.0) * MOST_TAKEN;
        (f64::from(UNIT) * kept / f64::from(n)).max(1.0) as u32
    }
}
