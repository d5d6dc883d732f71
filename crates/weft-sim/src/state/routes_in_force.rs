//! Routes in force, which the subnet manager may change, and what choosing switches remember.

use crate::model::scenario::ValidScenario;
use crate::state::links::Links;
use crate::state::notices::Notices;
use crate::state::port::DOWN;
use crate::state::route_choice::Steers;
use std::collections::BTreeMap;
use std::sync::Arc;
use weft_fabric::{Candidates, HcaId, Routes, SwitchId};

/// Tables and candidates in force.
#[derive(Debug)]
pub(crate) struct RoutesInForce {
    pub(crate) routes: Arc<Routes>,
    /// Those before any cable went down.
    at_start: Arc<Routes>,
    /// The ports to choose from, where something chooses.
    pub(crate) candidates: Option<Arc<Candidates>>,
    /// Those to take instead of a dead one, where switches react themselves.
    pub(crate) instead: Option<Arc<Candidates>>,
    /// Ports that were down when the subnet manager last computed tables.
    pub(crate) known_down: Vec<u32>,
    pub(crate) steers: Steers,
    pub(crate) notices: Notices,
    /// By closed port and destination: the port that those take that do not choose.
    pub(crate) substitutes: BTreeMap<(u32, u32), u32>,
}

impl RoutesInForce {
    /// Those at the start of a run.
    pub(crate) fn new(scenario: &ValidScenario) -> RoutesInForce {
        let (n_switches, choice) = (scenario.fabric.n_switches(), scenario.steering.choice);
        RoutesInForce {
            routes: Arc::clone(&scenario.routes),
            at_start: Arc::clone(&scenario.routes),
            candidates: scenario.steering.candidates.clone(),
            instead: scenario.link_death.instead.clone(),
            known_down: Vec::new(),
            steers: Steers::new(n_switches, scenario.seed, choice),
            notices: Notices::default(),
            substitutes: BTreeMap::new(),
        }
    }

    /// Whether no packet for `dst` gets on by a port: it is down, or the switch at its other end
    /// has said so.
    #[inline]
    pub(crate) fn is_closed(&self, links: &Links, o: u32, dst: HcaId) -> bool {
        let told = |candidates: &Arc<Candidates>| {
            self.notices.avoid(o, candidates.attachments().leaf_of(dst))
        };
        links.ports[o as usize].has(DOWN) || self.instead.as_ref().is_some_and(told)
    }

    /// The number (from 0) of the port by which the tables send a packet for `dst`.
    #[inline(always)]
    pub(crate) fn written(&self, switch: SwitchId, dst: HcaId) -> u32 {
        let mut number = self.routes.number(switch, dst);
        if number == 0 {
            // The subnet manager found no path around a dead cable: the old one ends there.
            number = self.at_start.number(switch, dst);
            assert!(number > 0, "routes were checked before the run");
        }
        number - 1
    }
}
