//! Back-pressure of endpoints, in the manner of Slingshot: the port before a host knows which queue
//! pairs contribute to its load, and holds those, and nobody else, to their share of it.
//!
//! What is known of Slingshot is what it achieves, hardware back-pressure on the sources that
//! contribute (De Sensi et al., "An In-Depth Analysis of the Slingshot Interconnect", SC 2020); how
//! is not published. Ours: the port counts queue pairs that last, those it has seen in one count
//! and in the next, there several times and others in between. Once its link or its queue has been
//! full for some counts, it tells each of several its share of the link, less what empties the
//! queue, until they leave part of it unused. Senders that come one after the other, as in a
//! collective, are not told anything.

use crate::document::EndpointDocument;
use crate::error::SimError;
use crate::model::congestion::defaults::Usual;
use crate::model::congestion::defaults::within;

/// Usual times, for links of 200 Gb/s.
const HOLD_NS: u64 = 1_000_000;
const COUNT_NS: u64 = 20_000;

/// Shares are told in this part of the link's rate.
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
    /// Queue pairs seen in it, and those of them that last.
    n_seen: u32,
    n_lasting: u32,
    /// Whose packet came last.
    last: Option<u32>,
    /// How long packets have occupied the link in it, and whether the queue has filled.
    busy_ps: u64,
    queue_filled: bool,
    /// So many counts before were full, one after the other.
    n_full: u32,
    /// Among how many it is shared; 0 where nobody is told anything.
    n_sharing: u32,
}

/// What a door knows of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// The count in which it has come last, how often, and whether also in the one before that.
    epoch: Option<u32>,
    visits: u32,
    before: bool,
    told_units: u32,
    told_ps: u64,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { epoch: None, visits: 0, before: false, told_units: UNIT, told_ps: 0 }
    }
}

/// A packet of a queue pair that has come to its host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Came {
    /// The number of its queue pair.
    pub(crate) pace: u32,
    pub(crate) now_ps: u64,
    /// What waits before the host.
    pub(crate) backlog_blocks: u32,
    /// Its own time on the host's link, and a whole packet's.
    pub(crate) duration_ps: u64,
    pub(crate) packet_ps: u64,
}

impl Door {
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
        door.see(seen, came.pace);
        door.busy_ps += came.duration_ps;
        door.queue_filled |= came.backlog_blocks >= self.queue_blocks;
        let units = self.share(door, came.backlog_blocks);
        let forgotten = came.now_ps >= seen.told_ps + self.hold_ps / 2;
        let told = if forgotten { UNIT } else { seen.told_units };
        if f64::from(units.abs_diff(told)) <= f64::from(told) * self.change {
            return None;
        }
        (seen.told_units, seen.told_ps) = (units, came.now_ps);
        Some(units)
    }

    /// Begin another count when this one has lasted long enough for all to be seen, and decide by
    /// it who shares the link.
    fn count(&self, door: &mut Door, came: Came) {
        let all_ps = ROUNDS * u64::from(door.n_seen + 1) * came.packet_ps;
        let whole_ps = all_ps.min(self.hold_ps).max(self.count_ps);
        if door.epoch != 0 && came.now_ps < door.begin_ps + whole_ps {
            return;
        }
        let used = door.busy_ps as f64 / (came.now_ps - door.begin_ps).max(1) as f64;
        let lasting = door.n_lasting > 1;
        let full = lasting && (used >= FULL || door.queue_filled);
        let n_full = if full { door.n_full.saturating_add(1) } else { 0 };
        let shares = match door.n_sharing {
            0 => n_full >= COUNTS,
            // Where fewer are left, they do not use the shares of the others.
            n => lasting && used >= USED * f64::from(door.n_lasting.min(n)) / f64::from(n),
        };
        *door = Door {
            epoch: door.epoch + 1,
            begin_ps: came.now_ps,
            last: door.last,
            n_full,
            n_sharing: if shares { door.n_lasting } else { 0 },
            ..Door::default()
        };
    }

    /// The share of each who sends through a door.
    fn share(&self, door: &Door, backlog_blocks: u32) -> u32 {
        if door.n_sharing == 0 {
            return UNIT;
        }
        let over = f64::from(backlog_blocks) / f64::from(self.queue_blocks) - 1.0;
        let kept = SHARED * (1.0 - over.clamp(0.0, 1.0) * MOST_TAKEN);
        let n = door.n_sharing.max(door.n_lasting);
        (f64::from(UNIT) * kept / f64::from(n)).max(1.0) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::{Came, Door, Endpoint, SHARED, Seen, UNIT};
    use crate::document::EndpointDocument;
    use crate::model::congestion::defaults::tests::USUAL;

    /// A packet fills its link for so long; a count is of 100 of them.
    const PACKET_PS: u64 = 200_000;

    fn law() -> Endpoint {
        let knobs = EndpointDocument { count_ns: Some(20_000.0), ..EndpointDocument::default() };
        Endpoint::new("here", &knobs, USUAL).expect("knobs that can be")
    }

    /// What sources are last told whose packets come through a door, one packet in `every` times.
    fn told(sources: impl Iterator<Item = u32>, every: u64) -> Vec<u32> {
        let (law, mut door) = (law(), Door::default());
        let mut seen = vec![Seen::default(); 8];
        let mut last = vec![UNIT; 8];
        for (number, pace) in sources.enumerate() {
            let now_ps = number as u64 * PACKET_PS * every;
            let (duration_ps, packet_ps) = (PACKET_PS, PACKET_PS);
            let came = Came { pace, now_ps, backlog_blocks: 0, duration_ps, packet_ps };
            let source = pace as usize;
            if let Some(units) = law.tells(&mut door, &mut seen[source], came) {
                last[source] = units;
            }
        }
        last
    }

    #[test]
    fn those_who_come_in_turn_on_a_full_link_are_told_their_part() {
        for n in [2, 4, 8] {
            let share = (f64::from(UNIT) * SHARED / f64::from(n)) as u32;
            let found = told((0..2_000).map(|number| number % n), 1);
            assert_eq!(found[..n as usize], vec![share; n as usize], "{n} of them");
        }
    }

    #[test]
    fn nobody_is_told_anything_who_is_alone_or_follows_another_or_leaves_room() {
        let silent = vec![UNIT; 8];
        assert_eq!(told((0..2_000).map(|_| 0), 1), silent, "one alone");
        // Each sends for five counts, then the next: as in a collective.
        assert_eq!(told((0..4_000).map(|number| number / 500), 1), silent, "one after the other");
        assert_eq!(told((0..2_000).map(|number| number % 4), 2), silent, "half of the link");
    }

    #[test]
    fn who_is_left_alone_is_let_go() {
        let crowd = (0..2_000).map(|number| number % 4);
        let found = told(crowd.chain((0..2_000).map(|_| 0)), 1);
        assert_eq!(found[0], UNIT);
    }
}
