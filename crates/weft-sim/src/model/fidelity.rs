//! The flow level refuses work beyond its reach, and notes effects that it cannot show.

use crate::document::{Fidelity, NonMinimal, Queueing, ScenarioDocument, TransportKind};
use crate::error::SimError;
use crate::model::faults::run_faults::{LinkFault, Planted, Trouble};

const EXPECTED: &str = "fidelity 'packet', or a scenario without this key";

/// Refuse what only packets have.
fn check(scenario: &ScenarioDocument) -> Result<(), SimError> {
    let refuse = |place: &str, what: &str| Err(SimError::document(place, what, EXPECTED));
    match scenario.switch.model {
        Queueing::Voq | Queueing::Infinite => {}
        Queueing::InputFifo => {
            return refuse("switch.model", "flows do not queue: 'input_fifo' would change nothing");
        }
        Queueing::SharedBuffer => {
            return refuse("switch.model", "flows fill no buffer: shares of it mean nothing");
        }
    }
    if scenario.switch.speedup.is_some() {
        return refuse("switch.speedup", "flows are not read from buffers");
    }
    if !scenario.lanes.high.is_empty() {
        return refuse("lanes.high", "flows share links without regard to lanes");
    }
    if scenario.lanes.low.is_some() && scenario.lanes.count > 1 {
        return refuse("lanes.low", "flows share links without regard to lanes");
    }
    if scenario.congestion_control.is_some() {
        return refuse("congestion_control", "flows fill no queue that would be marked");
    }
    if scenario.transport.kind == TransportKind::Dct {
        return refuse("transport.kind", "flows have no initiators");
    }
    if scenario.transport.out_of_order_ns > 0.0 {
        return refuse("transport.out_of_order_ns", "flows have no packets to overtake others");
    }
    let adaptive = scenario.routing.adaptive.as_ref();
    if adaptive.is_some_and(|adaptive| adaptive.non_minimal != NonMinimal::None) {
        return refuse("routing.adaptive.non_minimal", "flows take no detours");
    }
    if scenario.probes.load_bin_ns.is_some() {
        return refuse("probes.load_bin_ns", "load over time is counted packet by packet");
    }
    Ok(())
}

/// Refuse faults that change cables during the run.
fn check_faults(faults: &Planted) -> Result<(), SimError> {
    let Some(Trouble { kind, fault, .. }) = faults.troubles.first() else { return Ok(()) };
    let what = match kind {
        LinkFault::Lost(_) => "there are no packets to lose",
        LinkFault::Corrected { .. } => "there are no packets with errors",
        LinkFault::Rate(_) | LinkFault::Down => "cables do not change while flows run",
    };
    let expected = "fidelity 'packet', or a rate, a width or a dead cable without times";
    Err(SimError::document(format!("faults[{fault}]"), what, expected))
}

/// The fidelity that is asked for, and what follows.
#[derive(Debug)]
pub(crate) struct Ruling {
    pub(crate) asked: Fidelity,
    /// Why only packets will do, where `auto` is to choose.
    pub(crate) packets: Option<String>,
    /// Effects that results of flows cannot show.
    pub(crate) notes: Vec<String>,
}

impl Ruling {
    /// The fidelity asked for, where the work allows it.
    pub(crate) fn new(scenario: &ScenarioDocument) -> Result<Ruling, SimError> {
        let (asked, notes) = (scenario.fidelity, notes(scenario));
        let mut ruling = Ruling { asked, packets: None, notes };
        ruling.heed(check(scenario))?;
        Ok(ruling)
    }

    /// Heed what is planted as well.
    pub(crate) fn heed_faults(&mut self, faults: &Planted) -> Result<(), SimError> {
        self.heed(check_faults(faults))
    }

    /// Work beyond the reach of flows: refused if asked for, and a reason for packets.
    fn heed(&mut self, checked: Result<(), SimError>) -> Result<(), SimError> {
        match (self.asked, checked) {
            (Fidelity::Packet, _) => Ok(()),
            (Fidelity::Flow, checked) => checked,
            (Fidelity::Auto, checked) => {
                let why = checked.err().map(|error| error.to_string());
                let first = why.as_deref().and_then(|why| why.lines().next());
                self.packets = self.packets.take().or(first.map(str::to_owned));
                Ok(())
            }
        }
    }
}

/// Effects that results of flows cannot show, in sentences for a reader of the outcome.
fn notes(scenario: &ScenarioDocument) -> Vec<String> {
    let mut notes = vec![
        "flow level: messages share links max-min fairly from one instant to the next; no buffer \
         fills, so no message waits for traffic to other hosts, and congestion does not spread"
            .to_owned(),
        "flow level: requests, go-aheads and acknowledgements take their time and no bandwidth, \
         and no packet waits for its turn"
            .to_owned(),
    ];
    if scenario.routing.adaptive.is_some() {
        notes.push(
            "flow level: adaptive routing is ideal; every flow is split in equal parts over all \
             the ports that its switches choose from, which real choices only approach"
                .to_owned(),
        );
    }
    if scenario.lanes.count > 1 {
        notes.push("flow level: virtual lanes keep no traffic apart".to_owned());
    }
    notes
}

/// The fidelity of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) fidelity: Fidelity,
    /// Why it was chosen, and what its results cannot show.
    pub(crate) notes: Vec<String>,
    /// A trial by packets shows how far flows are off.
    pub(crate) tries: bool,
    /// More looks at flows on links end the run; none: any number.
    pub(crate) most_looks: Option<u64>,
}
