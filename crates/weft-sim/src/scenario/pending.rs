//! What a scenario can say and the engine cannot do yet: refused, never ignored.

use crate::document::ScenarioDocument;
use crate::error::SimError;

pub(super) fn refuse(scenario: &ScenarioDocument) -> Result<(), SimError> {
    let pending = [("routing.adaptive", scenario.routing.adaptive.is_some())];
    match pending.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((place, _)) => {
            Err(SimError::document(*place, "not simulated yet", "the scenario without it"))
        }
    }
}
