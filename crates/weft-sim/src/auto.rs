//! Which fidelity `auto` chooses, and how far flows are off packets.

use crate::document::Fidelity;
use crate::monitor::Monitor;
use crate::outcome::{Outcome, Status};
use crate::scenario::{Ruling, Tenant, ValidScenario};
use crate::sim::simulate_once;
use std::sync::atomic::AtomicBool;
use weft_traffic::Algorithm;

/// Up to so many packet hops every packet is followed: some seconds.
pub(crate) const MOST_HOPS: f64 = 1e8;
/// A trial beside flows has about so many packet hops at most, and so many events.
const TRIAL_HOPS: f64 = 1e7;
const TRIAL_EVENTS: u64 = 1 << 25;
/// Sizes are cut to no less than 2^-this of what they are.
const MOST_HALVINGS: u32 = 40;

/// The fidelity of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) fidelity: Fidelity,
    /// Why it was chosen, and what its results cannot show.
    pub(crate) notes: Vec<String>,
    /// How far flows are off is tried beside the run.
    pub(crate) tries: bool,
}

impl ValidScenario {
    /// Have the fidelity that is asked for, or choose it and say why.
    pub(crate) fn settle(&mut self, ruling: Ruling) {
        let Ruling { asked, packets, notes } = ruling;
        self.chosen = match asked {
            Fidelity::Packet => Chosen::default(),
            Fidelity::Flow => Chosen { fidelity: asked, notes, tries: false },
            Fidelity::Auto => {
                let of_trees = || self.has_trees().then(|| "switches reduce packets".to_owned());
                let (fidelity, why) = self.choose(packets.or_else(of_trees));
                let tries = fidelity == Fidelity::Flow;
                let notes = if tries { notes } else { Vec::new() };
                Chosen { fidelity, notes: std::iter::once(why).chain(notes).collect(), tries }
            }
        };
    }

    /// Whether switches take part in any collective.
    fn has_trees(&self) -> bool {
        let mut steps = self.tenants.iter().flat_map(|tenant| &tenant.work);
        steps.any(|step| step.algorithm.is_some_and(Algorithm::is_offloaded))
    }

    fn choose(&self, packets: Option<String>) -> (Fidelity, String) {
        if let Some(why) = packets {
            return (
                Fidelity::Packet,
                format!("fidelity auto: packets, since flows cannot: {why}"),
            );
        }
        let hops = self.packet_hops(&self.tenants);
        if hops <= MOST_HOPS {
            let why = format!("fidelity auto: packets, about {hops:.1e} hops");
            return (Fidelity::Packet, format!("{why} of at most {MOST_HOPS:.0e}"));
        }
        let why = format!("fidelity auto: flows, since packets would make about {hops:.1e} hops");
        (Fidelity::Flow, format!("{why}, and up to {MOST_HOPS:.0e} are followed"))
    }

    /// Its tenants with every size halved so often, and each iteration done once.
    fn cut_tenants(&self, n_halvings: u32) -> Vec<Tenant> {
        let mut tenants = self.tenants.clone();
        for tenant in &mut tenants {
            tenant.work.iter_mut().for_each(|step| step.cut(n_halvings));
            tenant.repeat = false;
        }
        tenants
    }

    /// The same for such tenants, at a fidelity.
    fn trial(&self, tenants: Vec<Tenant>, fidelity: Fidelity) -> ValidScenario {
        let max_events = self.max_events.min(TRIAL_EVENTS);
        let chosen = Chosen { fidelity, ..Chosen::default() };
        ValidScenario { tenants, max_events, chosen, steady: None, ..self.clone() }
    }
}

/// How far flows are off packets on the same scenario with sizes cut so far that packets are few.
pub(crate) fn error_of_flows(scenario: &ValidScenario, stop: &AtomicBool) -> String {
    let cuts = (0..=MOST_HALVINGS).map(|n| (n, scenario.cut_tenants(n)));
    let mut cuts = cuts.map(|(n, tenants)| (n, scenario.packet_hops(&tenants), tenants));
    let Some((n_halvings, _, tenants)) = cuts.find(|(_, hops, _)| *hops <= TRIAL_HOPS) else {
        let hops = scenario.packet_hops(&scenario.cut_tenants(MOST_HALVINGS));
        return format!(
            "fidelity auto: no error is estimated, since packets of one a message would make \
             {hops:.1e} hops"
        );
    };
    let run = |fidelity: Fidelity| {
        let trial = scenario.trial(tenants.clone(), fidelity);
        simulate_once(&trial, stop, &Monitor::default())
    };
    let (packets, flows) = (run(Fidelity::Packet), run(Fidelity::Flow));
    let sizes = match n_halvings {
        0 => "at these sizes".to_owned(),
        n => format!("with every size divided by 2^{n}"),
    };
    if packets.status != Status::Complete || flows.status != Status::Complete {
        let why = if packets.status == Status::Complete { flows } else { packets }.message;
        let of_what = format!("since the trial {sizes} did not end");
        return format!("fidelity auto: no error is estimated, {of_what}: {why}");
    }
    // Tenths of a per cent, and no minus before nought.
    let [end, row] = differences(&packets, &flows).map(|part| (1000.0 * part).round() / 10.0 + 0.0);
    format!(
        "fidelity auto: estimated error of flows {end:+.1} % in all, {row:+.1} % where it is \
         largest: against packets {sizes}, one iteration each; congestion that takes longer than \
         that to build up is not in it"
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
