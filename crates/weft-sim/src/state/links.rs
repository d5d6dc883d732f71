//! Links: the ports at their ends, what these have done, and what cables suffer.

use crate::limits::NEVER;
use crate::model::scenario::ValidScenario;
use crate::state::arbiter::Arbiter;
use crate::state::calendar::Kind;
use crate::state::clock::Clock;
use crate::state::columns::load::Load;
use crate::state::link_faults::Troubles;
use crate::state::port::{
    BLOCKED, Counters, ENDPOINT, FRAIL, INSIDE, Input, Link, Port, TO_ENDPOINT, WATCHED, Waiting,
};
use std::collections::HashMap;
use weft_fabric::{Fabric, PortId, SwitchId};

/// All ports and the links between them.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) ports: Vec<Port>,
    /// By port, what of it packets that come in ask for.
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
    /// Vertices from this number on are switches.
    n_hcas: u32,
}

impl Links {
    /// The links of a scenario's fabric, before any fault.
    pub(crate) fn new(scenario: &ValidScenario) -> Links {
        let (fabric, n_ports) = (&scenario.fabric, scenario.fabric.ports.len());
        let mut links = Links {
            ports: Vec::with_capacity(n_ports),
            inputs: Vec::new(),
            kinds: Vec::new(),
            waiting: vec![Waiting::default(); n_ports],
            arbiters: Arbiter::of_ports(&scenario.lanes, n_ports),
            troubles: Troubles::new(n_ports, scenario.seed, &scenario.faults.troubles),
            hops: 0,
            load: scenario.probes.bin_ps.map(|bin_ps| Load::new(n_ports, bin_ps)),
            n_hcas: fabric.n_hcas(),
        };
        links.add_ports(fabric, scenario.switch.delay_ps);
        links.mark_ends(fabric);
        let watched = links.load.is_some();
        links.ports.iter_mut().for_each(|port| port.set(WATCHED, watched));
        for port in scenario.faults.troubles.iter().flat_map(|trouble| trouble.ends) {
            links.ports[port.index()].set(WATCHED | FRAIL, true);
        }
        let from_hca = |port: &Port| {
            links.ports.get(port.peer as usize).is_some_and(|feeder| feeder.vertex < links.n_hcas)
        };
        links.inputs = links.ports.iter().map(|port| Input::of(port, from_hca(port))).collect();
        links
    }

    fn add_ports(&mut self, fabric: &Fabric, switch_delay_ps: u64) {
        let mut numbers: HashMap<Link, u32> = HashMap::new();
        for (number, port) in (0..).zip(&fabric.ports) {
            let to_switch = port.peer.map(|peer| fabric.ports[peer.index()].vertex);
            let to_switch = to_switch.and_then(|vertex| fabric.switch(vertex)).is_some();
            let route_ps = if to_switch { switch_delay_ps } else { 0 };
            let link = Link::new(port.rate, port.delay.0, route_ps);
            let known = *numbers.entry(link).or_insert_with(|| {
                self.kinds.push(link);
                self.kinds.len() as u32 - 1
            });
            self.ports.push(Port::new(fabric, PortId(number), known));
        }
    }

    /// Mark the ports of endpoints, those that lead to one, and those inside nodes.
    fn mark_ends(&mut self, fabric: &Fabric) {
        for (number, port) in fabric.ports.iter().enumerate() {
            if fabric.is_end(port.vertex) {
                self.ports[number].set(ENDPOINT, true);
                if let Some(peer) = port.peer {
                    self.ports[peer.index()].set(TO_ENDPOINT, true);
                }
            } else if fabric.switch(port.vertex).is_none() {
                self.ports[number].set(INSIDE, true);
            }
        }
    }

    /// The properties by which a port sends.
    #[inline(always)]
    pub(crate) fn link_of(&self, port: u32) -> &Link {
        &self.kinds[self.ports[port as usize].link as usize]
    }

    /// The switch that an input belongs to, neither at an endpoint nor inside a node.
    #[inline(always)]
    pub(crate) fn switch_of(&self, input: &Input) -> SwitchId {
        SwitchId(input.vertex - self.n_hcas)
    }

    /// Go on at another rate, from the next packet on.
    pub(crate) fn change_link(&mut self, port: u32, link: Link) {
        let link = self.number_of(link);
        self.ports[port as usize].change_link(link);
        self.inputs[port as usize].link = link;
    }

    /// The number of a kind of link, a new one if there is none like it.
    fn number_of(&mut self, link: Link) -> u32 {
        let known = self.kinds.iter().position(|other| *other == link);
        known.unwrap_or_else(|| {
            self.kinds.push(link);
            self.kinds.len() - 1
        }) as u32
    }

    /// Let an event look at `time_ps` whether a port may send, if none does before.
    #[inline(always)]
    pub(crate) fn kick(&mut self, clock: &mut Clock, o: u32, time_ps: u64) {
        let port = &mut self.ports[o as usize];
        if time_ps < port.kick_ps {
            port.kick_ps = time_ps;
            clock.schedule(time_ps, Kind::Kick, o, 0);
        }
    }

    /// From now on a port waits for credit, if it did not already.
    pub(crate) fn block(&mut self, o: u32, now_ps: u64) {
        let port = &mut self.ports[o as usize];
        if !port.has(BLOCKED) {
            port.set(BLOCKED, true);
            self.waiting[o as usize].since_ps = now_ps;
        }
    }

    /// A port waits for credit no longer, if it did.
    #[inline(always)]
    pub(crate) fn unblock(&mut self, o: u32, now_ps: u64) {
        let port = &mut self.ports[o as usize];
        if port.has(BLOCKED) {
            port.set(BLOCKED, false);
            let waiting = &mut self.waiting[o as usize];
            waiting.total_ps += now_ps - waiting.since_ps;
        }
    }

    /// When the last link is free.
    pub(crate) fn free_ps(&self) -> u64 {
        let busy = self.ports.iter().map(|port| port.busy_until_ps).filter(|time| *time != NEVER);
        busy.chain(self.troubles.busy_until_ps()).max().unwrap_or(0)
    }

    /// The counters of a port.
    pub(crate) fn counters(&self, port: u32) -> Counters {
        let (waiting, port) = (self.waiting[port as usize], &self.ports[port as usize]);
        let Port { xmit_bytes, xmit_packets, .. } = *port;
        Counters { xmit_bytes, xmit_packets, xmit_wait_ps: waiting.total_ps }
    }
}
