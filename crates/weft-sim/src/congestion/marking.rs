//! The packets that a switch marks.

use serde::Deserialize;
use weft_traffic::mixed;

/// Largest backlog that may count as full: fewer than 2^32 blocks.
pub(super) const MAX_FULL_BYTES: u64 = 1 << 37;

/// Whose ports mark although they wait for credit themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VictimMask {
    /// Only roots of congestion mark.
    None,
    /// Ports to hosts mark, too: no port behind them could.
    #[default]
    Hosts,
    /// All ports do.
    All,
}

/// When a packet that leaves a switch is marked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marking {
    /// Blocks that wait for the output on the packet's lane, at least; `u32::MAX`: never.
    pub(super) threshold_blocks: u32,
    /// Blocks from which on all are marked; below, by chance.
    pub(super) certain_blocks: u32,
    /// That chance just below, in 2^-32.
    pub(super) chance: u64,
    /// Eligible packets between two marks.
    pub(super) rate: u16,
    /// Blocks of the smallest packet that is marked.
    pub(super) least_blocks: u32,
    pub(super) victim_mask: VictimMask,
}

/// A packet that is about to leave, and the port it leaves by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// Blocks that wait behind it for the same lane of the port.
    pub(crate) behind_blocks: u32,
    pub(crate) blocks: u32,
    /// The port has waited for credit since it sent its last packet.
    pub(crate) starved: bool,
    pub(crate) to_host: bool,
    /// The parts of a draw: the seed's and the port's, and the packet's number there.
    pub(crate) draws: (u64, u64),
}

impl Leaving {
    /// Uniform in 2^32.
    fn draw(&self) -> u32 {
        (mixed(self.draws.0 ^ mixed(self.draws.1)) >> 32) as u32
    }
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
