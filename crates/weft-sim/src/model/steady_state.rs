//! Whether a scenario may skip what repeats itself, and by what rule.

use crate::document::{Queueing, SteadyStateDocument};
use crate::error::SimError;
use crate::model::in_network::forest::InNetwork;
use crate::model::scenario::ValidScenario;
use weft_traffic::{Growth, Phase};

/// Fewest moves that may show a pace: four windows of four.
const LEAST_MOVES: u32 = 16;
/// Longest path in a group of routers: up to six buffers, with a detour.
const BUFFERS_OF_A_DRAGONFLY: u64 = 6;

/// When what is alike is not simulated again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteadyRule {
    /// How far what should be alike may differ, as a share of it.
    pub(crate) tolerance: f64,
    /// Fewest moves that show a pace; a multiple of four.
    pub(crate) least_moves: u64,
}

impl SteadyRule {
    /// The rule of a document; none where it asks for none.
    pub(crate) fn new(
        document: Option<&SteadyStateDocument>,
    ) -> Result<Option<SteadyRule>, SimError> {
        let Some(document) = document else { return Ok(None) };
        let tolerance = document.tolerance;
        if !(1e-9..=0.5).contains(&tolerance) {
            let what = format!("a tolerance of {tolerance}");
            let expected = "a share from 1e-9 to 0.5";
            return Err(SimError::document("steady_state.tolerance", what, expected));
        }
        let least_moves = document.least_moves;
        if !(LEAST_MOVES..=1 << 20).contains(&least_moves) {
            let what = format!("{least_moves} moves");
            let expected = format!("from {LEAST_MOVES} to 1048576");
            return Err(SimError::document("steady_state.least_moves", what, expected));
        }
        let least_moves = u64::from(least_moves.next_multiple_of(4));
        Ok(Some(SteadyRule { tolerance, least_moves }))
    }
}

impl ValidScenario {
    /// Why nothing may be skipped, if so: what happens depends on more than the work before it.
    pub(crate) fn unsteady(&self) -> Option<&'static str> {
        let noisy = self.faults.noise.iter().any(Option::is_some);
        [
            (self.tenants.len() > 1 || self.tenants[0].repeat, "several tenants share the fabric"),
            (self.hosts.leaves_to_chance() || noisy, "chance lengthens what processors do"),
            (!self.faults.troubles.is_empty(), "cables change, or lose or correct packets"),
            (self.congestion.is_some(), "congestion control remembers what came before"),
            (
                self.transport.dct.is_some(),
                "initiators stay connected from one message to the next",
            ),
            (self.probes.bin_ps.is_some() || self.probes.flows > 0, "load or flows are written"),
        ]
        .into_iter()
        .find_map(|(holds, why)| holds.then_some(why))
    }

    /// Bytes of a message, or of a GPU's slice, that fill its path: it must outgrow them before its
    /// time is a line in its size. They are what the buffers on a longest path hold; of a slice
    /// four times what may be under way, since its tree passes segments on after one another.
    pub(crate) fn depth_bytes(&self, phase: &Phase, growth: &Growth) -> u64 {
        let switches = self.in_network.as_ref().filter(|_| phase.offload().is_some());
        let n_slices = (growth.unit_bytes / growth.grain_bytes.max(1)).max(1);
        let under_way = |network: &InNetwork| 4 * network.model.nvls_bytes_under_way() / n_slices;
        self.buffered_bytes().max(switches.map_or(0, under_way))
    }

    fn buffered_bytes(&self) -> u64 {
        if self.switch.model == Queueing::Infinite {
            return 0;
        }
        let vertices = &self.fabric.vertices;
        let levels = vertices.iter().map(|vertex| u64::from(vertex.level)).max().unwrap_or(0);
        let grouped = vertices.iter().any(|vertex| vertex.group.is_some());
        let n_buffers = (2 * levels).max(if grouped { BUFFERS_OF_A_DRAGONFLY } else { 0 });
        let inner = self.fabric.ports.iter().filter_map(|port| port.buffer_bytes).max();
        // At either end of a path there are three links at most from a GPU to its HCA.
        let outer_bytes = n_buffers.saturating_mul(self.switch.buffer_bytes);
        outer_bytes.saturating_add(inner.unwrap_or(0).saturating_mul(6))
    }
}
