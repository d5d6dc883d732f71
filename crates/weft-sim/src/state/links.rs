//! Links: the ports at their ends, what these have done, and what cables suffer.

use crate::model::scenario::ValidScenario;
use crate::state::arbiter::Arbiter;
use crate::state::columns::load::Load;
use crate::state::link_faults::Troubles;
use crate::state::port::{Counters, Input, Link, Port, Waiting};

/// All ports and the links between them.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) ports: Vec<Port>,
    /// By port, what of it packets that come in ask for: [`Links::note_inputs`].
    pub(crate) inputs: Vec<Input>,
    /// Links of equal rate and delay are one.
    pub(crate) kinds: Vec<Link>,
    /// By port.
    pub(crate) waiting: Vec<Waiting>,
    /// By port, where there are several lanes.
    pub(crate) arbiters: Vec<Arbiter>,
    pub(crate) troubles: Troubles,
    /// Packets times links crossed.
    pub(crate) hops: u64,
    /// Where a probe asks for it.
    pub(crate) load: Option<Load>,
}

impl Links {
    /// Links without ports, for those of a scenario's fabric.
    pub(crate) fn new(scenario: &ValidScenario) -> Links {
        let n_ports = scenario.fabric.ports.len();
        Links {
            ports: Vec::with_capacity(n_ports),
            inputs: Vec::new(),
            kinds: Vec::new(),
            waiting: vec![Waiting::default(); n_ports],
            arbiters: Arbiter::of_ports(&scenario.lanes, n_ports),
            troubles: Troubles::new(n_ports, scenario.seed, &scenario.faults.troubles),
            hops: 0,
            load: scenario.probes.bin_ps.map(|bin_ps| Load::new(n_ports, bin_ps)),
        }
    }

    /// Note what packets that come in ask of every port, which begins and never changes but for its
    /// link.
    pub(crate) fn note_inputs(&mut self, n_hcas: u32) {
        let from_hca = |port: &Port| {
            self.ports.get(port.peer as usize).is_some_and(|feeder| feeder.vertex < n_hcas)
        };
        self.inputs = self.ports.iter().map(|port| Input::of(port, from_hca(port))).collect();
    }

    /// The number of a kind of link, a new one if there is none like it.
    pub(crate) fn number_of(&mut self, link: Link) -> u32 {
        let known = self.kinds.iter().position(|other| *other == link);
        known.unwrap_or_else(|| {
            self.kinds.push(link);
            self.kinds.len() - 1
        }) as u32
    }

    /// What a port has done.
    pub(crate) fn counters(&self, port: u32) -> Counters {
        let (waiting, port) = (self.waiting[port as usize], &self.ports[port as usize]);
        let Port { xmit_bytes, xmit_packets, .. } = *port;
        Counters { xmit_bytes, xmit_packets, xmit_wait_ps: waiting.total_ps }
    }
}
