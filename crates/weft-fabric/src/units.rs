//! Units of time and rate. Time is integer picoseconds so that no run drifts.

use serde::{Deserialize, Serialize};

/// A time or a duration in picoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Picoseconds(pub u64);

/// A link's rate in bits a second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BitsPerSecond(pub u64);

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

impl BitsPerSecond {
    /// Time to send `n_bits`, rounded up once. Rounding a burst as a whole, from its cumulative
    /// bits, is what keeps 54.545 Gb/s or 0.87 x 200 Gb/s free of drift.
    pub fn duration_of_bits(self, n_bits: u64) -> Picoseconds {
        let exact = u128::from(n_bits) * u128::from(PS_PER_S);
        let ps = exact.div_ceil(u128::from(self.0));
        Picoseconds(u64::try_from(ps).expect("a transmission shorter than 213 days"))
    }

    /// The rate times `factor`, to the nearest bit a second.
    pub fn scaled(self, factor: f64) -> BitsPerSecond {
        BitsPerSecond((self.0 as f64 * factor).round() as u64)
    }
}
