//! Where dynamically connected transport cannot be.

use crate::error::SimError;
use crate::limits::MAX_INITIATORS_IN_ALL;
use crate::model::scenario::ValidScenario;

/// Refuse what initiators are not followed through.
pub(crate) fn check(scenario: &ValidScenario) -> Result<(), SimError> {
    let Some(dct) = scenario.transport.dct else { return Ok(()) };
    let place = "transport.kind";
    let cannot = [
        (scenario.fabric.inside.is_some(), "'dct' inside nodes"),
        (scenario.in_network.is_some(), "'dct' with aggregation or multicast in switches"),
        (scenario.congestion.is_some(), "'dct' with congestion control"),
    ];
    if let Some((_, what)) = cannot.iter().find(|(holds, _)| *holds) {
        return Err(SimError::document(place, *what, "'rc' there"));
    }
    if dct.reconnect_ps >= scenario.stall_ps {
        let what = "the watchdog would take a turn for a stall";
        let expected = format!("less than limits.stall_ns, {}", scenario.stall_ps / 1000);
        return Err(SimError::document("transport.dct.reconnect_ns", what, expected));
    }
    let lanes = u64::from(scenario.lanes.count);
    let n = scenario.ranks.len() as u64 * lanes * u64::from(dct.initiators);
    if n > MAX_INITIATORS_IN_ALL {
        let what = format!("{n} initiators of all ranks and lanes");
        let expected = format!("at most {MAX_INITIATORS_IN_ALL}");
        return Err(SimError::document("transport.dct.initiators", what, expected));
    }
    Ok(())
}
