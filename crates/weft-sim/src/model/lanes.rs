//! Virtual lanes that cannot be wrong.

use crate::document::{LaneWeight, LanesDocument};
use crate::error::SimError;
use crate::limits::N_LEVELS;
use weft_fabric::PathLanes;

/// Most data lanes; lane 15 is the subnet manager's.
pub(crate) const MAX_LANES: u8 = 15;
/// The high table may send without limit.
const NO_LIMIT: u8 = 255;
/// The high limit counts in this.
///
/// SOURCE: InfiniBand Architecture Specification volume 1, section 7.6.9 (VL arbitration).
const LIMIT_BYTES: i64 = 4096;

/// Virtual lanes, which service level takes which, and their arbitration tables.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    pub(crate) count: u8,
    pub(crate) of_level: [u8; N_LEVELS],
    pub(crate) high: Vec<LaneWeight>,
    pub(crate) low: Vec<LaneWeight>,
    /// Bytes that the high table may send before the low one has a turn.
    pub(crate) high_limit_bytes: i64,
}

impl Lanes {
    /// The lanes of a document, at least as many as the paths of its tables take.
    pub(crate) fn new(
        document: &LanesDocument,
        paths: Option<&PathLanes>,
    ) -> Result<Lanes, SimError> {
        let count = document.count.max(paths.map_or(0, |paths| paths.count));
        if !(1..=MAX_LANES).contains(&count) {
            let what = format!("{count} lanes");
            return Err(SimError::document("lanes.count", what, "from 1 to 15"));
        }
        let mut of_level = [0; N_LEVELS];
        for (level, lane) in of_level.iter_mut().enumerate() {
            *lane = level as u8 % count;
        }
        if let Some(levels) = &document.sl2vl {
            if levels.len() != N_LEVELS {
                let what = format!("{} entries", levels.len());
                return Err(SimError::document("lanes.sl2vl", what, "one for each of 16 levels"));
            }
            for (level, lane) in levels.iter().enumerate() {
                require_lane(&format!("lanes.sl2vl[{level}]"), *lane, count)?;
            }
            of_level.copy_from_slice(levels);
        }
        check_table("lanes.high", &document.high, count)?;
        let every = || (0..count).map(|vl| LaneWeight { vl, weight: 64 }).collect();
        let low: Vec<LaneWeight> = document.low.clone().unwrap_or_else(every);
        check_table("lanes.low", &low, count)?;
        let served = |vl: u8| {
            let entries = || document.high.iter().chain(&low);
            entries().any(|entry| entry.vl == vl && entry.weight > 0)
        };
        if let Some(vl) = (0..count).find(|vl| !served(*vl)) {
            let what = format!("lane {vl} is in neither table with a weight");
            let expected = "an entry of every lane in lanes.high or lanes.low";
            return Err(SimError::document("lanes", what, expected));
        }
        let endless = document.high_limit == NO_LIMIT;
        let bytes = i64::from(document.high_limit) * LIMIT_BYTES;
        let high_limit_bytes = if endless { i64::MAX } else { bytes };
        Ok(Lanes { count, of_level, high: document.high.clone(), low, high_limit_bytes })
    }

    /// The virtual lane of a service level.
    pub(crate) fn of_level(&self, service_level: u8) -> u8 {
        self.of_level[usize::from(service_level) % N_LEVELS]
    }

    /// By lane, a bit: whether it is one of the service levels `chosen`, all without them. A lane
    /// is all that its packets have in common: levels in use that are not chosen share none with
    /// these. Raised packets are of lanes `stride` above, if any.
    pub(crate) fn chosen(
        &self,
        chosen: Option<&[u8]>,
        used: &[u8],
        stride: u8,
        (place, what_for): (&str, &str),
    ) -> Result<u16, SimError> {
        let Some(chosen) = chosen else { return Ok(u16::MAX) };
        if let Some(level) = chosen.iter().find(|level| usize::from(**level) >= N_LEVELS) {
            let what = format!("service level {level}");
            return Err(SimError::document(place, what, "service levels from 0 to 15"));
        }
        for level in used.iter().filter(|level| !chosen.contains(level)) {
            let lane = self.of_level(*level);
            if let Some(other) = chosen.iter().find(|other| self.of_level(**other) == lane) {
                let what = format!("levels {level} and {other} share lane {lane}");
                let expected = format!("lanes of their own for the levels that are {what_for}");
                return Err(SimError::document(place, what, expected));
            }
        }
        let base = chosen.iter().fold(0u16, |bits, level| bits | 1 << self.of_level(*level));
        if stride == 0 {
            return Ok(base);
        }
        let raised = (0..16).filter(|lane| base >> (lane % u16::from(stride)) & 1 == 1);
        Ok(raised.fold(0, |bits, lane| bits | 1 << lane))
    }
}

fn require_lane(place: &str, vl: u8, count: u8) -> Result<(), SimError> {
    if vl < count {
        return Ok(());
    }
    let expected = format!("a lane from 0 to {}", count - 1);
    Err(SimError::document(place, format!("lane {vl}"), expected))
}

fn check_table(place: &str, table: &[LaneWeight], count: u8) -> Result<(), SimError> {
    for (index, entry) in table.iter().enumerate() {
        require_lane(&format!("{place}[{index}].vl"), entry.vl, count)?;
    }
    match table.len() <= 64 {
        true => Ok(()),
        false => {
            let what = format!("{} entries", table.len());
            Err(SimError::document(place, what, "at most 64 entries"))
        }
    }
}
