//! What a scenario can say and the engine cannot do yet: refused, never ignored.

use crate::document::{FaultDocument, Queueing, ScenarioDocument};
use crate::error::SimError;

pub(super) fn refuse(scenario: &ScenarioDocument) -> Result<(), SimError> {
    let pending = [
        ("routing.adaptive", scenario.routing.adaptive.is_some()),
        ("packets.routed", scenario.packets.routed),
        ("lanes.count", scenario.lanes.count != 1),
        ("switch.model", scenario.switch.model == Queueing::SharedBuffer),
        ("switch.speedup", scenario.switch.speedup.is_some()),
        ("node", scenario.node.is_some()),
        ("partitions", !scenario.partitions.is_empty()),
        ("probes.load_bin_ns", scenario.probes.load_bin_ns.is_some()),
        ("probes.flows", scenario.probes.flows > 0),
        ("faults", scenario.faults.iter().any(is_new)),
    ];
    match pending.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((place, _)) => {
            Err(SimError::document(*place, "not simulated yet", "the scenario without it"))
        }
    }
}

fn is_new(fault: &FaultDocument) -> bool {
    let timed = [fault.from_ns, fault.until_ns, fault.every_ns].iter().any(Option::is_some);
    timed
        || fault.lanes.is_some()
        || fault.corrected.is_some()
        || fault.lost.is_some()
        || fault.noise.is_some()
        || fault.switch.is_some()
        || fault.dst.is_some()
        || fault.port.is_some()
        || fault.swapped.is_some()
}
