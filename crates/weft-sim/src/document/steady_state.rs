//! What need not be simulated again, as written.

use serde::Deserialize;

/// When what repeats itself is skipped.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SteadyStateDocument {
    /// How far what should be alike may differ, as a share of it.
    pub tolerance: f64,
    /// Fewest moves that show a pace.
    pub least_moves: u32,
}

impl Default for SteadyStateDocument {
    fn default() -> SteadyStateDocument {
        SteadyStateDocument { tolerance: 0.01, least_moves: 64 }
    }
}
