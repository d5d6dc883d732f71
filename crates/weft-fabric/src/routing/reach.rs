//! Reach of packets when switches choose among candidates, and the channels they may wait for.

use super::candidates::Candidates;
use super::channels::{Channel, Channels};
use super::routes::{Routes, unreachable};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, SwitchId};
use std::collections::HashMap;

/// Whether packets have to arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// A route that ends elsewhere is an error.
    Required,
    /// It is none.
    Open,
}

/// A switch, and how often the lane of a packet there has been raised.
type State = (usize, usize);

/// A search over switches and lanes, one target leaf (or group) at a time.
pub(crate) struct Reach<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    candidates: &'a Candidates,
    arrival: Arrival,
    /// By leaf: its HCAs in use.
    used: Vec<Vec<HcaId>>,
    /// By state: the channels that lead there for the current target.
    came_by: Vec<Vec<Channel>>,
    seen: Vec<bool>,
    states: Vec<State>,
    /// By list of the tables and list of the candidates: whether these hold all of those.
    held: HashMap<(usize, usize), bool>,
}

/// Where a search leads to.
#[derive(Clone, Copy)]
enum Target {
    Leaf(usize),
    Group(u32),
}

impl<'a> Reach<'a> {
    pub(crate) fn new(
        fabric: &'a Fabric,
        routes: &'a Routes,
        candidates: &'a Candidates,
        hcas: &[HcaId],
        arrival: Arrival,
    ) -> Reach<'a> {
        let mut used = vec![Vec::new(); candidates.attachments().n_leaves()];
        for hca in hcas {
            used[candidates.attachments().leaf_of(*hca)].push(*hca);
        }
        let (came_by, seen, states) = (Vec::new(), Vec::new(), Vec::new());
        let held = HashMap::new();
        Reach { fabric, routes, candidates, arrival, used, came_by, seen, states, held }
    }

    /// Add the dependencies of every choice that packets between HCAs in use may meet.
    pub(crate) fn spread(
        &mut self,
        channels: &mut Channels<'_>,
        detours: bool,
    ) -> Result<(), FabricError> {
        let n_states = self.fabric.n_switches() as usize * channels.n_raises();
        self.came_by = vec![Vec::new(); n_states];
        self.seen = vec![false; n_states];
        let leaves: Vec<usize> = (0..self.used.len())
            .filter(|leaf| !self.used[*leaf].is_empty() && self.switch_of(*leaf).is_some())
            .collect();
        let sources: Vec<usize> = leaves.iter().filter_map(|leaf| self.switch_of(*leaf)).collect();
        let mut arrivals = Vec::new();
        if detours {
            for group in 0..self.candidates.n_groups() {
                arrivals.extend(self.detour_to(channels, &sources, group)?);
            }
        }
        for leaf in leaves {
            self.reach_leaf(channels, &sources, &arrivals, leaf)?;
        }
        Ok(())
    }

    fn switch_of(&self, leaf: usize) -> Option<usize> {
        self.candidates.attachments().switch_of(leaf).map(|switch| switch.index())
    }

    fn group_of(&self, switch: usize) -> Option<u32> {
        self.fabric.vertices[self.fabric.switch_vertex(SwitchId(switch as u32)).index()].group
    }

    fn visit(&mut self, n_raises: usize, (switch, raise): State, by: Option<Channel>) {
        let state = switch * n_raises + raise;
        self.came_by[state].extend(by);
        if !self.seen[state] {
            self.seen[state] = true;
            self.states.push((switch, raise));
        }
    }

    /// Detours towards a group: the channels by which packets come into it.
    fn detour_to(
        &mut self,
        channels: &mut Channels<'_>,
        sources: &[usize],
        group: u32,
    ) -> Result<Vec<(usize, Channel)>, FabricError> {
        for source in sources {
            if self.group_of(*source) != Some(group) {
                self.visit(channels.n_raises(), (*source, 0), None);
            }
        }
        self.search(channels, Target::Group(group))
    }

    /// Paths to a leaf, from sources and from the groups of detours.
    fn reach_leaf(
        &mut self,
        channels: &mut Channels<'_>,
        sources: &[usize],
        arrivals: &[(usize, Channel)],
        leaf: usize,
    ) -> Result<(), FabricError> {
        let target = self.switch_of(leaf).expect("leaves in use are switches");
        for source in sources.iter().filter(|source| **source != target) {
            self.visit(channels.n_raises(), (*source, 0), None);
        }
        for (switch, channel) in arrivals {
            if self.group_of(*switch) != self.group_of(target) {
                self.visit(channels.n_raises(), (*switch, channel.1), Some(*channel));
            }
        }
        self.search(channels, Target::Leaf(leaf)).map(|_| ())
    }

    /// From the states visited so far to the target; the channels by which it is reached.
    fn search(
        &mut self,
        channels: &mut Channels<'_>,
        target: Target,
    ) -> Result<Vec<(usize, Channel)>, FabricError> {
        let n_raises = channels.n_raises();
        let mut arrived = Vec::new();
        let mut next = 0;
        while next < self.states.len() {
            let (switch, raise) = self.states[next];
            next += 1;
            let vertex = self.fabric.switch_vertex(SwitchId(switch as u32));
            let first = self.fabric.vertices[vertex.index()].first_port.0;
            let ports = self.ports(switch, target)?;
            for number in &ports {
                let channel = channels.channel(first + u32::from(*number), raise);
                let there = channels.far(channel.0).and_then(|to| self.fabric.switch(to));
                let Some(there) = there.map(|switch| switch.index()) else { continue };
                if self.is_target(there, target) {
                    arrived.push((there, channel));
                } else {
                    self.visit(n_raises, (there, channel.1), Some(channel));
                }
            }
        }
        for (switch, raise) in std::mem::take(&mut self.states) {
            let state = switch * n_raises + raise;
            self.seen[state] = false;
            let came_by = std::mem::take(&mut self.came_by[state]);
            let ports = self.ports(switch, target)?;
            channels.add_all(&came_by, &ports);
            self.came_by[state] = came_by;
            self.came_by[state].clear();
        }
        Ok(arrived)
    }

    fn is_target(&self, switch: usize, target: Target) -> bool {
        match target {
            Target::Leaf(leaf) => self.switch_of(leaf) == Some(switch),
            Target::Group(group) => self.group_of(switch) == Some(group),
        }
    }

    /// The ports a packet at a switch may take: every candidate, and the tables' port: service
    /// levels that do not choose and switches that react to a dead cable mix the two.
    fn ports(&mut self, switch: usize, target: Target) -> Result<Vec<u16>, FabricError> {
        let id = SwitchId(switch as u32);
        let leaf = match target {
            Target::Group(group) => return Ok(self.candidates.towards_group(id, group).to_vec()),
            Target::Leaf(leaf) => leaf,
        };
        let mut ports = self.candidates.towards_leaf(id, leaf).to_vec();
        if !self.holds(switch, leaf) {
            for hca in &self.used[leaf] {
                let written = self.routes.number(id, *hca).checked_sub(1).map(|n| n as u16);
                ports.extend(written.filter(|number| !ports.contains(number)));
            }
        }
        if ports.is_empty() && self.arrival == Arrival::Required {
            let dst = self.used[leaf][0];
            let src = self.used.iter().flatten().find(|src| **src != dst);
            let vertex = self.fabric.switch_vertex(id);
            return Err(unreachable(self.fabric, *src.unwrap_or(&dst), dst, vertex));
        }
        Ok(ports)
    }

    /// Whether the candidates hold every port of the table. Few lists meet, so what was
    /// found out about two of them is kept.
    fn holds(&mut self, switch: usize, leaf: usize) -> bool {
        let (written, choice) = (&self.routes.table, &self.candidates.table);
        let key = (written.id(switch, leaf), choice.id(switch, leaf));
        *self.held.entry(key).or_insert_with(|| {
            let group = choice.get(switch, leaf);
            let in_group = |number: &u16| *number == 0 || group.contains(&(number - 1));
            written.get(switch, leaf).iter().all(in_group)
        })
    }
}
