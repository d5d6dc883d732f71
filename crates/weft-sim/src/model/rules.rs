//! The rules of a scenario that every packet asks for, and the plain case.

use crate::document::{Fidelity, Forwarding, NonMinimal, Queueing};
use crate::model::scenario::ValidScenario;
use crate::model::steering::Choice;

/// The rules of a scenario that every packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rules {
    pub(crate) elide: bool,
    pub(crate) cut_through: bool,
    /// There is more than one virtual lane.
    pub(crate) laned: bool,
    /// Buffers have no limit.
    pub(crate) endless: bool,
    /// An input buffer is one queue.
    pub(crate) fifo: bool,
    /// Inputs may be held up by more than their turn and credit.
    pub(crate) choosy: bool,
    /// Packets have numbers, and are repeated.
    pub(crate) numbered: bool,
    /// Cables get into trouble, or their load is watched.
    pub(crate) watched: bool,
    /// Congestion control slows senders down.
    pub(crate) throttled: bool,
    /// Nodes have links inside.
    pub(crate) inside: bool,
    /// Switches reduce and copy.
    pub(crate) trees: bool,
    /// Where something chooses, it does more than to take the least loaded port for each packet.
    pub(crate) subtle: bool,
    /// Messages are fluids: there are no packets.
    pub(crate) fluid: bool,
    /// Transport is dynamically connected.
    pub(crate) dct: bool,
}

impl Rules {
    /// Of most scenarios, and of those whose speed counts.
    pub(crate) const PLAIN: Rules = Rules {
        elide: true,
        cut_through: true,
        laned: false,
        endless: false,
        fifo: false,
        choosy: false,
        numbered: false,
        watched: false,
        throttled: false,
        inside: false,
        trees: false,
        subtle: false,
        fluid: false,
        dct: false,
    };

    pub(crate) fn new(scenario: &ValidScenario) -> Rules {
        let (switch, steering) = (&scenario.switch, &scenario.steering);
        let subtle = match steering.choice {
            Choice::Tables => false,
            Choice::Hash => true,
            Choice::Least => {
                steering.flowlet_gap_ps.is_some()
                    || steering.non_minimal != NonMinimal::None
                    || steering.choosing & 1 == 0
            }
        };
        Rules {
            elide: scenario.elide,
            cut_through: switch.forwarding == Forwarding::CutThrough,
            laned: scenario.lanes.count > 1,
            endless: switch.model == Queueing::Infinite,
            fifo: switch.model == Queueing::InputFifo,
            choosy: switch.speedup.is_some() || switch.model == Queueing::SharedBuffer,
            numbered: scenario.transport.numbered,
            watched: !scenario.faults.troubles.is_empty() || scenario.probes.bin_ps.is_some(),
            throttled: scenario.congestion.is_some(),
            inside: scenario.fabric.inside.is_some(),
            trees: scenario.in_network.is_some(),
            subtle,
            fluid: scenario.chosen.fidelity == Fidelity::Flow,
            dct: scenario.transport.dct.is_some(),
        }
    }
}
