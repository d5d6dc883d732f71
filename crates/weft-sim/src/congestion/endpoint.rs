//! Back-pressure of endpoints, in the manner of Slingshot: the port facing a host knows which queue
//! pairs contribute to its load, and holds only those to their share of it.
//!
//! Slingshot's law is not published, only its effect: hardware back-pressure on the sources that
//! contribute (De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect", SC 2020).
//! Ours: the port counts queue pairs that last. It has seen those in one count and in the next,
//! there several times with others in between. Once its link or its queue has been full for some
//! counts, it notifies each of several of its share of the link, less a part that empties the
//! queue. It stops once they leave part of the link unused. Senders that come one after the other,
//! as in a collective, get no notification.

use super::defaults::{Sent, within_share};
use super::law::{Congestion, CongestionLaw, Idle, Notice, Surroundings};
use crate::error::SimError;
use crate::limits::within;
use crate::settings::settings;

/// Usual times, for links of 200 Gb/s.
const HOLD_NS: u64 = 1_000_000;
const COUNT_NS: u64 = 20_000;

/// A notification gives a share in this part of the link's rate.
pub(crate) const UNIT: u32 = 1 << 16;
/// Queue pairs are counted over so many times the time in which each would send a packet.
const ROUNDS: u64 = 8;
/// So often a queue pair has to come in a count, each time after another one.
const VISITS: u32 = 3;
/// It takes so many counts of a full link, one after the other.
const COUNTS: u32 = 3;
/// A link is full that has been busy for this part of a count.
const FULL: f64 = 0.9;
/// Shares are of this part of the link: what waits before the last switch drains, too.
const SHARED: f64 = 0.95;
/// Shares are given up where less than this part of them is used; who empties a queue uses half.
const USED: f64 = 0.4;
/// A queue twice the target takes away the most.
const MOST_TAKEN: f64 = 0.5;

settings! {
    /// Back-pressure on senders from the port facing their receiver.
    #[serde(expecting = "settings by name, such as {}")]
    pub struct EndpointDocument {
        /// Bytes that may wait for a host's link before senders are held back.
        pub queue_bytes: u64 = 65_536,
        /// Time after its last notification at which a source forgets its share.
        pub hold_ns: Option<f64> = None,
        /// Least time over which the senders to a host are counted.
        pub count_ns: Option<f64> = None,
        /// A source is notified when its share has changed by this part.
        pub change: f64 = 0.125,
        /// The service level of notifications; the queue pair's own without it.
        pub cnp_service_level: Option<u8> = None,
    }
}

/// How a host's link is shared among those who send to it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Blocks that may wait before the host.
    queue_blocks: u32,
    /// A source forgets its share so long after its last notification.
    hold_ps: u64,
    /// Least time over which contributors are counted.
    count_ps: u64,
    /// A source is notified when its share has changed by this part.
    change: f64,
}

/// The share that a source was last notified of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    units: u32,
    until_ps: u64,
}

/// The port facing a host: the queue pairs that contribute to its load.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EdgePort {
    /// Number of the count that goes on, and when it began.
    pub(crate) epoch: u32,
    begin_ps: u64,
    /// Queue pairs seen in it, and those of them that last.
    n_seen: u32,
    n_lasting: u32,
    /// The queue pair whose packet came last.
    last: Option<u32>,
    /// How long packets have occupied the link in it, and whether the queue has filled.
    busy_ps: u64,
    queue_filled: bool,
    /// So many counts before were full, one after the other.
    n_full: u32,
    /// Among how many it is shared; 0 where no source is notified.
    n_sharing: u32,
}

/// The state of a queue pair at that port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The count in which it has come last, how often, and whether also in the one before that.
    epoch: Option<u32>,
    visits: u32,
    before: bool,
    notified_units: u32,
    notified_ps: u64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { epoch: None, visits: 0, before: false, notified_units: UNIT, notified_ps: 0 }
    }
}

/// A packet of a queue pair that has come to its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    /// The number of its queue pair.
    pub(crate) pace: u32,
    pub(crate) now_ps: u64,
    /// Blocks that wait for the host's link.
    pub(crate) backlog_blocks: u32,
    /// Its own time on the host's link, and a whole packet's.
    pub(crate) duration_ps: u64,
    pub(crate) packet_ps: u64,
}

impl EdgePort {
    /// Count a queue pair that has come.
    fn see(&mut self, seen: &mut Seen, pace: u32) {
        if seen.epoch != Some(self.epoch) {
            self.n_seen += 1;
            seen.before = seen.epoch.is_some_and(|epoch| epoch + 1 == self.epoch);
            (seen.epoch, seen.visits) = (Some(self.epoch), 0);
        }
        if self.last != Some(pace) {
            self.last = Some(pace);
            seen.visits += 1;
            self.n_lasting += u32::from(seen.before && seen.visits == VISITS);
        }
    }
}

impl Endpoint {
    fn new(knobs: &EndpointDocument, around: &Surroundings<'_>) -> Result<Endpoint, SimError> {
        let Surroundings { place, usual, .. } = *around;
        within(place, "queue_bytes", knobs.queue_bytes, 64, 1 << 40)?;
        within_share(place, "change", knobs.change)?;
        Ok(Endpoint {
            queue_blocks: (knobs.queue_bytes / 64).min(u32::MAX.into()) as u32,
            hold_ps: usual.ps((place, "hold_ns"), knobs.hold_ns, HOLD_NS)?,
            count_ps: usual.ps((place, "count_ns"), knobs.count_ns, COUNT_NS)?,
            change: knobs.change,
        })
    }

    /// The share to notify the source of a packet of; none where it has hardly changed.
    pub(crate) fn notifies(&self, edge: &mut EdgePort, seen: &mut Seen, came: Came) -> Option<u32> {
        self.count(edge, came);
        edge.see(seen, came.pace);
        edge.busy_ps += came.duration_ps;
        edge.queue_filled |= came.backlog_blocks >= self.queue_blocks;
        let units = self.share(edge, came.backlog_blocks);
        let forgotten = came.now_ps >= seen.notified_ps + self.hold_ps / 2;
        let known = if forgotten { UNIT } else { seen.notified_units };
        if f64::from(units.abs_diff(known)) <= f64::from(known) * self.change {
            return None;
        }
        (seen.notified_units, seen.notified_ps) = (units, came.now_ps);
        Some(units)
    }

    /// Begin another count when this one has lasted long enough for all to be seen, and decide by
    /// it who shares the link.
    fn count(&self, edge: &mut EdgePort, came: Came) {
        let all_ps = ROUNDS * u64::from(edge.n_seen + 1) * came.packet_ps;
        let whole_ps = all_ps.min(self.hold_ps).max(self.count_ps);
        if edge.epoch != 0 && came.now_ps < edge.begin_ps + whole_ps {
            return;
        }
        let used = edge.busy_ps as f64 / (came.now_ps - edge.begin_ps).max(1) as f64;
        let lasting = edge.n_lasting > 1;
        let full = lasting && (used >= FULL || edge.queue_filled);
        let n_full = if full { edge.n_full.saturating_add(1) } else { 0 };
        let shares = match edge.n_sharing {
            0 => n_full >= COUNTS,
            // Where fewer are left, they do not use the shares of the others.
            n => lasting && used >= USED * f64::from(edge.n_lasting.min(n)) / f64::from(n),
        };
        *edge = EdgePort {
            epoch: edge.epoch + 1,
            begin_ps: came.now_ps,
            last: edge.last,
            n_full,
            n_sharing: if shares { edge.n_lasting } else { 0 },
            ..EdgePort::default()
        };
    }

    /// The share of each who sends through a port.
    fn share(&self, edge: &EdgePort, backlog_blocks: u32) -> u32 {
        if edge.n_sharing == 0 {
            return UNIT;
        }
        let over = f64::from(backlog_blocks) / f64::from(self.queue_blocks) - 1.0;
        let kept = SHARED * (1.0 - over.clamp(0.0, 1.0) * MOST_TAKEN);
        let n = edge.n_sharing.max(edge.n_lasting);
        (f64::from(UNIT) * kept / f64::from(n)).max(1.0) as u32
    }
}

impl CongestionLaw for Endpoint {
    type Document = EndpointDocument;
    type State = Share;

    fn read(
        knobs: &EndpointDocument,
        around: &Surroundings<'_>,
    ) -> Result<Congestion<Self>, SimError> {
        if around.inside {
            let what = "behind an HCA are other links";
            let expected = "nodes without an inside, or another law";
            return Err(SimError::document(around.place, what, expected));
        }
        let law = Endpoint::new(knobs, around)?;
        let lane = around.lane("cnp_service_level", knobs.cnp_service_level)?;
        Ok(Congestion::without_marks(law, lane))
    }

    fn begin(&self, _idle: Idle) -> Share {
        Share { units: UNIT, until_ps: 0 }
    }

    fn notified(&self, share: &mut Share, notice: Notice) {
        *share = Share { units: notice.argument, until_ps: notice.now_ps + self.hold_ps };
    }

    fn delay_ps(&self, share: &mut Share, sent: Sent) -> u64 {
        let is_over = sent.now_ps >= share.until_ps;
        sent.delay_ps(if is_over { 1.0 } else { f64::from(share.units) / f64::from(UNIT) })
    }
}

#[cfg(test)]
mod tests {
    use super::{Came, EdgePort, Endpoint, EndpointDocument, SHARED, Seen, UNIT};
    use crate::congestion::defaults::tests::HERE;

    /// A packet fills its link for so long; a count is of 100 of them.
    const PACKET_PS: u64 = 200_000;

    fn law() -> Endpoint {
        let knobs = EndpointDocument { count_ns: Some(20_000.0), ..EndpointDocument::default() };
        Endpoint::new(&knobs, &HERE).expect("knobs that can be")
    }

    /// The shares that sources were last notified of; one packet comes in `every` packet times.
    fn shares(sources: impl Iterator<Item = u32>, every: u64) -> Vec<u32> {
        let (law, mut edge) = (law(), EdgePort::default());
        let mut seen = vec![Seen::default(); 8];
        let mut last = vec![UNIT; 8];
        for (number, pace) in sources.enumerate() {
            let now_ps = number as u64 * PACKET_PS * every;
            let (duration_ps, packet_ps) = (PACKET_PS, PACKET_PS);
            let came = Came { pace, now_ps, backlog_blocks: 0, duration_ps, packet_ps };
            let source = pace as usize;
            if let Some(units) = law.notifies(&mut edge, &mut seen[source], came) {
                last[source] = units;
            }
        }
        last
    }

    #[test]
    fn sources_that_alternate_on_a_full_link_get_their_part() {
        for n in [2, 4, 8] {
            let share = (f64::from(UNIT) * SHARED / f64::from(n)) as u32;
            let found = shares((0..2_000).map(|number| number % n), 1);
            assert_eq!(found[..n as usize], vec![share; n as usize], "{n} of them");
        }
    }

    #[test]
    fn a_source_alone_or_in_sequence_or_with_room_left_gets_no_notification() {
        let silent = vec![UNIT; 8];
        assert_eq!(shares((0..2_000).map(|_| 0), 1), silent, "one alone");
        // Each sends for five counts, then the next: as in a collective.
        assert_eq!(shares((0..4_000).map(|number| number / 500), 1), silent, "one after the other");
        assert_eq!(shares((0..2_000).map(|number| number % 4), 2), silent, "half of the link");
    }

    #[test]
    fn a_source_left_alone_gets_the_whole_link() {
        let crowd = (0..2_000).map(|number| number % 4);
        let found = shares(crowd.chain((0..2_000).map(|_| 0)), 1);
        assert_eq!(found[0], UNIT);
    }
}
