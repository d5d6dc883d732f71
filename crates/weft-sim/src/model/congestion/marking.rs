//! What a switch marks.

use crate::document::{AnnexA10Document, DcqcnDocument, VictimMask};
use crate::error::SimError;
use crate::limits::BLOCK_BYTES;
use crate::model::congestion::defaults::within;
use crate::model::congestion::defaults::within_share;
use crate::model::congestion::endpoint::Door;
use weft_traffic::mixed;

/// A threshold has four bits.
const MAX_THRESHOLD: u8 = 15;
/// Largest backlog that may count as full: fewer than 2^32 blocks.
const MAX_FULL_BYTES: u64 = 1 << 37;

/// When a packet that leaves a switch is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    /// Blocks that wait for the output on the packet's lane, at least; `u32::MAX`: never.
    threshold_blocks: u32,
    /// Blocks from which on all are marked; below, by chance.
    certain_blocks: u32,
    /// That chance just below, in 2^-32.
    chance: u64,
    /// Eligible packets between two marks.
    rate: u16,
    /// Blocks of the smallest packet that is marked.
    least_blocks: u32,
    victim_mask: VictimMask,
}

/// A packet that is about to leave, and the port it leaves by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// What waits behind it for the same lane of the port.
    pub(crate) behind_blocks: u32,
    pub(crate) blocks: u32,
    /// The port has waited for credit since it sent its last packet.
    pub(crate) starved: bool,
    pub(crate) to_host: bool,
    /// What a draw is made of: the seed's and the port's, and the packet's number there.
    pub(crate) draws: (u64, u64),
}

impl Leaving {
    /// Uniform in 2^32.
    fn draw(&self) -> u32 {
        (mixed(self.draws.0 ^ mixed(self.draws.1)) >> 32) as u32
    }
}

/// What a port has marked, and what has come to it, in packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Told {
    pub(crate) marked: u64,
    pub(crate) rcv_fecn: u64,
    pub(crate) rcv_becn: u64,
    /// Where it leads to a host: who sends there.
    pub(crate) door: Door,
}

/// How many eligible packets each lane has let pass since its last mark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marker {
    passed: Vec<u16>,
}

impl Marking {
    /// Nothing is ever marked.
    pub(crate) const NONE: Marking = Marking {
        threshold_blocks: u32::MAX,
        certain_blocks: u32::MAX,
        chance: 0,
        rate: 0,
        least_blocks: 0,
        victim_mask: VictimMask::None,
    };

    pub(crate) fn of_annex_a10(
        place: &str,
        knobs: &AnnexA10Document,
        buffer_bytes: u64,
    ) -> Result<Marking, SimError> {
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

    pub(crate) fn of_dcqcn(
        place: &str,
        knobs: &DcqcnDocument,
        buffer_bytes: u64,
    ) -> Result<Marking, SimError> {
        let buffer_bytes = buffer_bytes.min(MAX_FULL_BYTES / 3);
        let least_bytes = knobs.least_bytes.unwrap_or(buffer_bytes / 2);
        let most_bytes = knobs.most_bytes.unwrap_or(buffer_bytes / 2 * 3);
        within(place, "least_bytes", least_bytes, BLOCK_BYTES, MAX_FULL_BYTES)?;
        within(place, "most_bytes", most_bytes, least_bytes, MAX_FULL_BYTES)?;
        within_share(place, "probability", knobs.probability)?;
        Ok(Marking {
            threshold_blocks: (least_bytes / BLOCK_BYTES) as u32,
            certain_blocks: (most_bytes / BLOCK_BYTES) as u32,
            chance: (knobs.probability * (1u64 << 32) as f64) as u64,
            rate: 0,
            least_blocks: 0,
            victim_mask: VictimMask::All,
        })
    }

    /// Whether an eligible packet is drawn.
    #[inline]
    fn is_drawn(&self, leaving: Leaving) -> bool {
        if leaving.behind_blocks >= self.certain_blocks {
            return true;
        }
        let above = u64::from(leaving.behind_blocks - self.threshold_blocks);
        let width = u64::from(self.certain_blocks - self.threshold_blocks);
        u128::from(leaving.draw()) * u128::from(width) < u128::from(self.chance * above)
    }

    /// Whether a packet is eligible for a mark: enough waits behind it, and its port is the root of
    /// the congestion, or masks that it is not.
    #[inline]
    fn is_eligible(&self, leaving: Leaving) -> bool {
        let root = !leaving.starved
            || match self.victim_mask {
                VictimMask::None => false,
                VictimMask::Hosts => leaving.to_host,
                VictimMask::All => true,
            };
        root && leaving.behind_blocks >= self.threshold_blocks
            && leaving.blocks >= self.least_blocks
    }
}

impl Marker {
    pub(crate) fn of_lanes(n: usize) -> Marker {
        Marker { passed: vec![0; n] }
    }

    /// Whether a packet that leaves by a lane is marked.
    #[inline]
    pub(crate) fn marks(&mut self, marking: &Marking, index: usize, leaving: Leaving) -> bool {
        if !marking.is_eligible(leaving) || !marking.is_drawn(leaving) {
            return false;
        }
        let passed = &mut self.passed[index];
        let marks = *passed >= marking.rate;
        *passed = if marks { 0 } else { *passed + 1 };
        marks
    }
}
