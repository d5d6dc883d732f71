//! InfiniBand's law: a notification goes up the congestion control table, time goes down it.
//!
//! SOURCE: InfiniBand Architecture Specification volume 1, annex A10: the index CCTI rises by
//! CCTI_Increase with each notification, up to CCTI_Limit; a cyclic timer of the port takes one off
//! every CCTI_Timer, down to CCTI_Min; after a packet the next one of the flow waits for the
//! table's entry, a multiple of the packet's own time.

use super::defaults::Sent;
use super::law::{Congestion, CongestionLaw, Idle, Notice, Surroundings};
use super::marking::{MAX_FULL_BYTES, Marking, VictimMask};
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, within};
use crate::settings::settings;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt::{self, Formatter};

/// Usual times, for links of 200 Gb/s.
const TIMER_NS: u64 = 9_000;
const CNP_INTERVAL_NS: u64 = 20_000;

/// A threshold has four bits.
const MAX_THRESHOLD: u8 = 15;
/// A multiplier has 14 bits.
const MAX_MULTIPLIER: u64 = (1 << 14) - 1;
/// A shift has two.
const MAX_SHIFT: u32 = 3;
/// Entries of a table; more than any HCA has.
const MAX_ENTRIES: usize = 1 << 14;

/// The unit that is slowed down at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Slowed {
    /// The queue pair whose packet was marked.
    #[default]
    QueuePair,
    /// All that its HCA sends on that virtual lane.
    Lane,
}

/// A shape of the congestion control table, or its entries.
#[derive(Clone, Debug)]
pub enum TableDocument {
    /// Each entry as `shift:multiplier`: a delay of multiplier / 2^shift packet times.
    Entries(Vec<String>),
    /// The interval of packets doubles every so many entries.
    Doubling(DoublingDocument),
}

impl<'de> Deserialize<'de> for TableDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<TableDocument, D::Error> {
        deserializer.deserialize_any(AnyTable)
    }
}

/// Either shape, so that an error names the key of the one that was written.
struct AnyTable;

impl<'de> Visitor<'de> for AnyTable {
    type Value = TableDocument;

    fn expecting(&self, formatter: &mut Formatter) -> fmt::Result {
        formatter.write_str("a list of 'shift:multiplier', or 'doubling' and 'entries'")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<TableDocument, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(entries)).map(TableDocument::Entries)
    }

    fn visit_map<A: MapAccess<'de>>(self, keys: A) -> Result<TableDocument, A::Error> {
        DoublingDocument::deserialize(MapAccessDeserializer::new(keys)).map(TableDocument::Doubling)
    }
}

/// A table by how far its entries go.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DoublingDocument {
    /// Entries from one interval to twice that.
    pub doubling: f64,
    /// How many entries there are.
    pub entries: u16,
}

settings! {
    /// InfiniBand's congestion control.
    ///
    /// SOURCE: InfiniBand Architecture Specification volume 1, annex A10.
    #[serde(expecting = "settings by name, such as {}")]
    pub struct AnnexA10Document {
        /// 0: no marks; 1 to 15: marks from (16 - threshold) / 16 of `full_bytes` on.
        pub threshold: u8 = 8,
        /// Bytes that wait for an output on a lane, in all input buffers of its switch together,
        /// when it counts as full; four times `switch.buffer_bytes` without it.
        pub full_bytes: Option<u64> = None,
        /// Eligible packets that are let pass between two marks.
        pub marking_rate: u16 = 0,
        /// Smallest packet that is marked, in units of 64 bytes.
        pub packet_size: u8 = 8,
        /// Whose ports mark although they wait for credit.
        pub victim_mask: VictimMask = VictimMask::Hosts,
        /// The unit that a notification slows down.
        pub slows: Slowed = Slowed::QueuePair,
        /// Entries of the table that a notification goes up.
        pub increase: u16 = 7,
        /// Time in which one is gone down.
        pub timer_ns: Option<f64> = None,
        /// The lowest entry.
        pub ccti_min: u16 = 0,
        /// The highest entry; the table's last without it.
        pub ccti_limit: Option<u16> = None,
        /// The delays.
        pub table: TableDocument =
            TableDocument::Doubling(DoublingDocument { doubling: 32.0, entries: 256 }),
        /// Least time between two notifications of a queue pair.
        pub cnp_interval_ns: Option<f64> = None,
        /// The service level of notifications; the queue pair's own without it.
        pub cnp_service_level: Option<u8> = None,
    }
}

/// The table, and how it is gone up and down.
#[derive(Clone, Debug)]
pub(crate) struct AnnexA10 {
    /// Delays in eighths of a packet's time.
    eighths: Vec<u64>,
    increase: u16,
    timer_ps: u64,
    least: u16,
    limit: u16,
}

/// Where in the table a queue pair is, as of the timer's tick number `tick`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    index: u16,
    tick: u64,
}

impl AnnexA10 {
    fn new(knobs: &AnnexA10Document, around: &Surroundings<'_>) -> Result<AnnexA10, SimError> {
        let Surroundings { place, usual, .. } = *around;
        let eighths = read_table(&format!("{place}.table"), &knobs.table)?;
        let last = eighths.len() as u16 - 1;
        let limit = knobs.ccti_limit.unwrap_or(last);
        within(place, "ccti_limit", limit.into(), 0, last.into())?;
        within(place, "ccti_min", knobs.ccti_min.into(), 0, limit.into())?;
        let timer_ps = usual.some_ps((place, "timer_ns"), knobs.timer_ns, TIMER_NS)?;
        Ok(AnnexA10 { eighths, increase: knobs.increase, timer_ps, least: knobs.ccti_min, limit })
    }

    /// When its switches mark a packet.
    fn marking(knobs: &AnnexA10Document, around: &Surroundings<'_>) -> Result<Marking, SimError> {
        let Surroundings { place, buffer_bytes, .. } = *around;
        within(place, "threshold", knobs.threshold.into(), 0, MAX_THRESHOLD.into())?;
        let full_bytes = knobs.full_bytes.unwrap_or(4 * buffer_bytes.min(MAX_FULL_BYTES / 4));
        within(place, "full_bytes", full_bytes, 16 * BLOCK_BYTES, MAX_FULL_BYTES)?;
        let sixteenths = u64::from(16 - knobs.threshold);
        let blocks = full_bytes / BLOCK_BYTES * sixteenths / 16;
        let blocks = if knobs.threshold > 0 { blocks as u32 } else { u32::MAX };
        Ok(Marking {
            threshold_blocks: blocks,
            certain_blocks: blocks,
            chance: 0,
            rate: knobs.marking_rate,
            least_blocks: knobs.packet_size.into(),
            victim_mask: knobs.victim_mask,
        })
    }

    /// Take off what the timer has taken off by now.
    fn settle(&self, level: &mut Level, now_ps: u64) {
        if level.index == self.least {
            return;
        }
        let tick = now_ps / self.timer_ps;
        let above = u64::from(level.index - self.least);
        level.index -= (tick - level.tick).min(above) as u16;
        level.tick = tick;
    }
}

impl CongestionLaw for AnnexA10 {
    type Document = AnnexA10Document;
    type State = Level;

    fn read(
        knobs: &AnnexA10Document,
        around: &Surroundings<'_>,
    ) -> Result<Congestion<Self>, SimError> {
        Ok(Congestion {
            marking: AnnexA10::marking(knobs, around)?,
            law: AnnexA10::new(knobs, around)?,
            by_lane: knobs.slows == Slowed::Lane,
            cnp_interval_ps: around.cnp_interval_ps(knobs.cnp_interval_ns, CNP_INTERVAL_NS)?,
            cnp_lane: around.lane("cnp_service_level", knobs.cnp_service_level)?,
            lanes: u16::MAX,
        })
    }

    fn begin(&self, _idle: Idle) -> Level {
        Level { index: self.least, tick: 0 }
    }

    fn notified(&self, level: &mut Level, notice: Notice) {
        self.settle(level, notice.now_ps);
        level.tick = notice.now_ps / self.timer_ps;
        level.index = level.index.saturating_add(self.increase).min(self.limit);
    }

    fn delay_ps(&self, level: &mut Level, sent: Sent) -> u64 {
        self.settle(level, sent.now_ps);
        self.eighths[usize::from(level.index)] * sent.duration_ps / 8
    }
}

fn read_table(place: &str, document: &TableDocument) -> Result<Vec<u64>, SimError> {
    let table = match document {
        TableDocument::Entries(entries) => entries
            .iter()
            .enumerate()
            .map(|(index, entry)| read_entry(&format!("{place}[{index}]"), entry))
            .collect::<Result<Vec<u64>, SimError>>()?,
        TableDocument::Doubling(DoublingDocument { doubling, entries }) => {
            within(place, "entries", (*entries).into(), 1, MAX_ENTRIES as u64)?;
            if !(0.1..=1e4).contains(doubling) {
                let what = format!("it is {doubling:e}");
                let place = format!("{place}.doubling");
                return Err(SimError::document(place, what, "entries from 0.1 to 10000"));
            }
            (0..*entries).map(|index| eighths_of(f64::from(index) / doubling)).collect()
        }
    };
    if table.is_empty() || table.len() > MAX_ENTRIES {
        let what = format!("{} entries", table.len());
        return Err(SimError::document(place, what, format!("1 to {MAX_ENTRIES}")));
    }
    Ok(table)
}

/// The entry after which packets come 2^`doublings` times as far apart as without, as an entry can
/// say it: a multiplier of 14 bits and the finest shift that leaves room for it.
fn eighths_of(doublings: f64) -> u64 {
    let delay = doublings.exp2() - 1.0;
    let fits = |shift: &u32| (delay * f64::from(1 << shift)).round() <= MAX_MULTIPLIER as f64;
    let shift = (0..=MAX_SHIFT).rev().find(fits).unwrap_or(0);
    let multiplier = (delay * f64::from(1 << shift)).round().min(MAX_MULTIPLIER as f64) as u64;
    multiplier << (MAX_SHIFT - shift)
}

fn read_entry(place: &str, entry: &str) -> Result<u64, SimError> {
    let parsed = entry.split_once(':').and_then(|(shift, multiplier)| {
        let (shift, multiplier) = (shift.parse::<u32>().ok()?, multiplier.parse::<u64>().ok()?);
        (shift <= MAX_SHIFT && multiplier <= MAX_MULTIPLIER)
            .then(|| multiplier << (MAX_SHIFT - shift))
    });
    parsed.ok_or_else(|| {
        let expected = "'shift:multiplier', a shift from 0 to 3 and a multiplier below 16384";
        SimError::document(place, format!("'{entry}' is no entry"), expected)
    })
}

#[cfg(test)]
mod tests {
    use super::{AnnexA10, AnnexA10Document, CongestionLaw, DoublingDocument, Idle, Notice, Sent};
    use super::{TableDocument, eighths_of, read_entry, read_table};
    use crate::congestion::defaults::tests::HERE;

    fn law(increase: u16, timer_ns: f64, ccti_min: u16) -> AnnexA10 {
        let table = TableDocument::Entries((0..10).map(|n| format!("0:{n}")).collect());
        let timer_ns = Some(timer_ns);
        let knobs =
            AnnexA10Document { increase, timer_ns, ccti_min, table, ..AnnexA10Document::default() };
        AnnexA10::new(&knobs, &HERE).expect("knobs that can be")
    }

    #[test]
    fn an_entry_is_a_multiplier_over_a_power_of_two() {
        let eighths = |entry: &str| read_entry("here", entry).unwrap();
        assert_eq!([eighths("0:3"), eighths("1:3"), eighths("3:3")], [24, 12, 3]);
        for wrong in ["4:1", "0:16384", "1", "a:b", "0:-1", ""] {
            assert!(read_entry("here", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_doubling_of_the_interval_is_a_delay_of_one_packet() {
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(eighths_of), [0, 8, 24, 56]);
        assert_eq!(eighths_of(20.0), 16383 * 8, "a multiplier has 14 bits");
    }

    #[test]
    fn a_table_by_doubling_begins_without_delay_and_has_as_many_entries_as_asked() {
        let shape = DoublingDocument { doubling: 2.0, entries: 7 };
        let table = read_table("here", &TableDocument::Doubling(shape)).expect("a table");
        // 2^(i / 2) - 1 packets, in eighths of one.
        assert_eq!(table, [0, 3, 8, 15, 24, 37, 56]);
    }

    #[test]
    fn notifications_go_up_and_the_timer_goes_down_to_the_least() {
        let law = law(3, 1.0, 2);
        let mut level = law.begin(Idle::default());
        let mut delay = |now_ps: u64, notified: bool| {
            if notified {
                law.notified(&mut level, Notice { now_ps, link_bits_per_s: 1, argument: 0 });
            }
            let (idle_ps, bytes, duration_ps, link_bits_per_s) = (0, 0, 100, 1);
            law.delay_ps(&mut level, Sent { now_ps, idle_ps, bytes, duration_ps, link_bits_per_s })
        };
        assert_eq!(delay(0, false), 200);
        assert_eq!(delay(500, true), 500);
        assert_eq!(delay(999, true), 800);
        assert_eq!(delay(1000, false), 700, "a tick has passed");
        assert_eq!(delay(1999, true), 900, "no higher than the last entry");
        assert_eq!(delay(5000, false), 500);
        assert_eq!(delay(1_000_000, false), 200, "no lower than the least");
    }
}
