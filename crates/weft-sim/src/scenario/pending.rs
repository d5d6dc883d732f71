//! What a scenario can say and the engine cannot do yet: refused, never ignored.

use crate::document::{Queueing, ScenarioDocument};
use crate::error::SimError;

pub(super) fn refuse(scenario: &ScenarioDocument) -> Result<(), SimError> {
    let pending = [
        ("routing.adaptive", scenario.routing.adaptive.is_some()),
        ("packets.routed", scenario.packets.routed),
        ("lanes.count", scenario.lanes.count != 1),
        ("switch.model", scenario.switch.model == Queueing::SharedBuffer),
        ("switch.speedup", scenario.switch.speedup.is_some()),
        ("partitions", !scenario.partitions.is_empty()),
    ];
    match pending.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((place, _)) => {
            Err(SimError::document(*place, "not simulated yet", "the scenario without it"))
        }
    }
}
