//! A scenario becomes an outcome.

use crate::flow::flows::Flows;
use crate::host::mode::{Mode, PacketMode};
use crate::in_network::switches::Switches;
use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::run::fidelity_choice;
use crate::run::monitor::Monitor;
use crate::run::sim::Sim;
use crate::state::columns::outcome::Outcome;
use std::sync::atomic::AtomicBool;

/// Run a scenario to its end, a deadlock or its limit of events.
pub fn simulate(scenario: &ValidScenario) -> Outcome {
    simulate_until(scenario, &AtomicBool::new(false))
}

/// Run a scenario as [`simulate`] does, until `stop` is set: the outcome is then `stopped`,
/// and what was timed by then is in its rows.
pub fn simulate_until(scenario: &ValidScenario, stop: &AtomicBool) -> Outcome {
    simulate_watched(scenario, stop, &Monitor::default())
}

/// Run a scenario as [`simulate_until`] does, reporting to a monitor now and then where it stands.
pub fn simulate_watched(scenario: &ValidScenario, stop: &AtomicBool, monitor: &Monitor) -> Outcome {
    if scenario.chosen.tries {
        return fidelity_choice::simulate(scenario, stop, monitor);
    }
    simulate_once(scenario, stop, monitor)
}

/// Run a scenario alone.
pub(crate) fn simulate_once(
    scenario: &ValidScenario,
    stop: &AtomicBool,
    monitor: &Monitor,
) -> Outcome {
    let rules = Rules::new(scenario);
    if rules == Rules::PLAIN {
        simulate_as::<PacketMode, true>(scenario, stop, monitor)
    } else if rules.fluid {
        simulate_as::<Flows, false>(scenario, stop, monitor)
    } else if rules.trees {
        simulate_as::<Switches, false>(scenario, stop, monitor)
    } else {
        simulate_as::<PacketMode, false>(scenario, stop, monitor)
    }
}

/// Run a scenario, `PLAIN` where its rules are [`Rules::PLAIN`]: then by an engine that is compiled
/// without what such a scenario never asks for. What comes out is the same.
fn simulate_as<M: Mode<PLAIN>, const PLAIN: bool>(
    scenario: &ValidScenario,
    stop: &AtomicBool,
    monitor: &Monitor,
) -> Outcome {
    let mut sim = Sim::<M, PLAIN>::new(scenario);
    let status = sim.run(stop, monitor);
    monitor.write(sim.standing());
    sim.finish(status)
}
