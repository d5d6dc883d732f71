//! The fidelity that `auto` chooses, and how far flows are off packets.

use crate::document::Fidelity;
use crate::model::fidelity::Chosen;
use crate::model::placement::place::Tenant;
use crate::model::scenario::ValidScenario;
use crate::run::monitor::{Monitor, Standing};
use crate::run::simulate::simulate_once;
use crate::state::columns::outcome::{Outcome, Status};
use std::sync::atomic::AtomicBool;

/// A trial by packets has at most about so many packet hops, or the least number where every
/// message is one packet already, and so many events.
const TRIAL_HOPS: f64 = 1e7;
const LEAST_TRIAL_HOPS: f64 = 3e7;
const TRIAL_EVENTS: u64 = 1 << 27;
/// And so many looks at flows on links: seconds.
const TRIAL_LOOKS: u64 = 1 << 27;
/// So many of them take as long as a packet's hop.
const LOOKS_A_HOP: f64 = 2.0;
/// Sizes are cut to no less than 2^-this of what they are.
const MOST_HALVINGS: u32 = 40;

/// The result of a trial by packets.
enum Tried {
    /// Flows will do; how far they are off.
    Flows(String),
    /// Packets are less work, in words.
    Packets(String),
}

/// Its tenants with every size halved so often, and each iteration done once.
fn cut_tenants(scenario: &ValidScenario, n_halvings: u32) -> Vec<Tenant> {
    let mut tenants = scenario.tenants.clone();
    for tenant in &mut tenants {
        tenant.work.iter_mut().for_each(|step| step.cut(n_halvings));
        tenant.repeat = false;
    }
    tenants
}

/// The same for such tenants, at a fidelity.
fn trial(scenario: &ValidScenario, tenants: Vec<Tenant>, fidelity: Fidelity) -> ValidScenario {
    let max_events = scenario.max_events.min(TRIAL_EVENTS);
    let most_looks = Some(TRIAL_LOOKS);
    let chosen = Chosen { fidelity, most_looks, ..Chosen::default() };
    ValidScenario { tenants, max_events, chosen, steady: None, ..scenario.clone() }
}

/// The same by packets, and why.
fn by_packets(scenario: &ValidScenario, why: String) -> ValidScenario {
    let chosen = Chosen { notes: vec![why], ..Chosen::default() };
    ValidScenario { chosen, ..scenario.clone() }
}

/// Run a scenario for which flows were chosen, once a trial has shown whether that was right.
pub(crate) fn simulate(scenario: &ValidScenario, stop: &AtomicBool, monitor: &Monitor) -> Outcome {
    match try_flows(scenario, stop) {
        Tried::Flows(error) => {
            let mut outcome = simulate_once(scenario, stop, monitor);
            outcome.notes.push(error);
            outcome
        }
        Tried::Packets(why) => simulate_once(&by_packets(scenario, why), stop, monitor),
    }
}

/// Run flows and packets on the same scenario with sizes cut so far that packets are few: whether
/// flows are less work, and how far they are off.
fn try_flows(scenario: &ValidScenario, stop: &AtomicBool) -> Tried {
    let hops_of = |n| scenario.packet_hops(&cut_tenants(scenario, n));
    let least_hops = hops_of(MOST_HALVINGS);
    let most_hops = least_hops.max(TRIAL_HOPS);
    let enough = (0..MOST_HALVINGS).find(|n| hops_of(*n) <= most_hops);
    let n_halvings = enough.unwrap_or(MOST_HALVINGS);
    let tenants = cut_tenants(scenario, n_halvings);
    let run = |fidelity: Fidelity, monitor: &Monitor| {
        simulate_once(&trial(scenario, tenants.clone(), fidelity), stop, monitor)
    };
    let monitor = Monitor::default();
    let flows = run(Fidelity::Flow, &monitor);
    let Standing { looks, done, .. } = monitor.read();
    if looks as f64 > LOOKS_A_HOP * hops_of(0) * done {
        let why = "fidelity auto: packets, since flows share so many links that solving their \
                   rates takes longer";
        return Tried::Packets(why.to_owned());
    }
    if least_hops > LEAST_TRIAL_HOPS {
        return Tried::Flows(format!(
            "fidelity auto: no error is estimated, since packets of one a message would make \
             {least_hops:.1e} hops"
        ));
    }
    let packets = run(Fidelity::Packet, &Monitor::default());
    Tried::Flows(error_of(&packets, &flows, n_halvings))
}

/// How far flows are off, in words.
fn error_of(packets: &Outcome, flows: &Outcome, n_halvings: u32) -> String {
    let sizes = match n_halvings {
        0 => "at these sizes".to_owned(),
        n => format!("with every size divided by 2^{n}"),
    };
    if packets.status != Status::Complete || flows.status != Status::Complete {
        let open = if packets.status == Status::Complete { flows } else { packets };
        let of_what = format!("since the trial {sizes} did not end");
        return format!("fidelity auto: no error is estimated, {of_what}: {}", open.message);
    }
    // Tenths of a per cent, and no minus before nought.
    let [end, row] = differences(packets, flows).map(|part| (1000.0 * part).round() / 10.0 + 0.0);
    format!(
        "fidelity auto: estimated error of flows {end:+.1} % in all, {row:+.1} % where it is \
         largest, against packets {sizes}, one iteration each. It leaves out congestion that \
         takes longer than that to build up"
    )
}

/// By how much flows are slower than packets: in all, and in the row where they differ most.
fn differences(packets: &Outcome, flows: &Outcome) -> [f64; 2] {
    let part = |fluid: u64, exact: u64| match exact {
        0 => 0.0,
        exact => fluid as f64 / exact as f64 - 1.0,
    };
    let rows = flows.rows.duration_ps.iter().zip(&packets.rows.duration_ps);
    let largest = rows.map(|(fluid, exact)| part(*fluid, *exact));
    let worst =
        largest.fold(0.0, |worst: f64, now| if now.abs() > worst.abs() { now } else { worst });
    [part(flows.end_ps, packets.end_ps), worst]
}
