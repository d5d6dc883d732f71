//! The switches of a subnet, their cables and their channel adapters, in the order in which OpenSM
//! goes over them.

use super::error::RouteError;
use crate::subnet::{End, Kind, LogicalState, MULTICAST_LID, Subnet, SubnetNode, SubnetPort};
use std::collections::VecDeque;

/// A switch that none of the roots reaches.
pub(super) const UNRANKED: u32 = u32::MAX;

/// A cable from a switch to another, seen from one of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct SwitchLink {
    /// Port of the switch.
    pub(super) port: u8,
    /// The switch at the other end.
    pub(super) to: u32,
    /// Its port.
    pub(super) to_port: u8,
    /// The same cable seen from there, counted over all switches.
    pub(super) back: u32,
}

/// A channel adapter's port at a switch.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostPort {
    /// Port of the switch.
    pub(super) port: u8,
    /// 0 where it has none.
    pub(super) lid: u16,
    pub(super) lmc: u8,
}

/// All switches, numbered in the order in which OpenSM goes over them.
#[derive(Debug, Default)]
pub(super) struct Switches {
    /// Node indices.
    pub(super) nodes: Vec<u32>,
    /// GUIDs as numbers; rising as OpenSM compares them, in network byte order read as numbers of a
    /// little-endian machine.
    pub(super) guids: Vec<u64>,
    /// Of the whole system, or the switch's own.
    pub(super) systems: Vec<u64>,
    pub(super) names: Vec<String>,
    pub(super) lids: Vec<u16>,
    /// Cables to other switches by port; those of switch `s` are `links[first[s]..first[s + 1]]`.
    pub(super) links: Vec<SwitchLink>,
    pub(super) first: Vec<u32>,
    /// Adapters' ports by port of the switch.
    pub(super) ends: Vec<Vec<HostPort>>,
    /// Descriptions of adapters that are cabled to each other.
    pub(super) adapter_pairs: Vec<[String; 2]>,
    /// Number of nodes that are no switches, and of those that are channel adapters.
    pub(super) n_others: usize,
    pub(super) n_adapters: usize,
    pub(super) without_lid: Vec<End>,
    /// The highest LID.
    pub(super) top_lid: u16,
    /// The subnet's LMC.
    pub(super) lmc: u8,
}

impl Switches {
    pub(super) fn new(subnet: &Subnet) -> Result<Switches, RouteError> {
        let mut nodes: Vec<u32> = (0..subnet.nodes.len() as u32).collect();
        let node = |index: &u32| &subnet.nodes[*index as usize];
        nodes.retain(|index| node(index).is_switch());
        nodes.sort_by_key(|index| node(index).guid.swap_bytes());
        if nodes.is_empty() {
            return Err(RouteError::NoSwitch);
        }
        if let Some(index) = nodes.iter().find(|index| lid_of(node(index).lid) == 0) {
            return Err(RouteError::NoLid { switch: node(index).description.clone() });
        }
        let guids: Vec<u64> = nodes.iter().map(|index| node(index).guid).collect();
        let n_adapters = subnet.nodes.iter().filter(|node| node.kind == Kind::Ca).count();
        let mut switches = Switches {
            guids,
            systems: nodes.iter().map(|i| node(i).system_guid.unwrap_or(node(i).guid)).collect(),
            names: nodes.iter().map(|index| node(index).description.clone()).collect(),
            lids: nodes.iter().map(|index| lid_of(node(index).lid)).collect(),
            adapter_pairs: adapter_pairs(subnet),
            n_others: subnet.nodes.len() - nodes.len(),
            n_adapters,
            nodes,
            ..Switches::default()
        };
        switches.cable(subnet);
        switches.measure_lids();
        Ok(switches)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Cables of a switch to other switches, by its port.
    pub(super) fn links_of(&self, switch: usize) -> &[SwitchLink] {
        &self.links[self.first[switch] as usize..self.first[switch + 1] as usize]
    }

    /// By switch the steps from the nearest of some switches; [`UNRANKED`] without a path.
    pub(super) fn steps_from(&self, from: Vec<usize>) -> Vec<u32> {
        let mut steps = vec![UNRANKED; self.len()];
        from.iter().for_each(|at| steps[*at] = 0);
        let mut queue = VecDeque::from(from);
        while let Some(at) = queue.pop_front() {
            for link in self.links_of(at) {
                if steps[link.to as usize] == UNRANKED {
                    steps[link.to as usize] = steps[at] + 1;
                    queue.push_back(link.to as usize);
                }
            }
        }
        steps
    }

    fn cable(&mut self, subnet: &Subnet) {
        let mut number = vec![u32::MAX; subnet.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            number[*node as usize] = at as u32;
        }
        // By node and port the number of the cable, so that both its ends find each other.
        let mut cable_of = vec![[0u32; 256]; self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate() {
            self.first.push(self.links.len() as u32);
            let mut ends = Vec::new();
            for (port, peer) in cables(&subnet.nodes[*node as usize]) {
                let to = number[peer.node as usize];
                if to == u32::MAX {
                    let end = endport(subnet, port, peer);
                    self.without_lid.extend((end.lid == 0).then_some(peer));
                    ends.push(end);
                } else if to as usize != at {
                    cable_of[at][usize::from(port)] = self.links.len() as u32;
                    self.links.push(SwitchLink { port, to, to_port: peer.port, back: 0 });
                }
            }
            self.ends.push(ends);
        }
        self.first.push(self.links.len() as u32);
        for link in &mut self.links {
            link.back = cable_of[link.to as usize][usize::from(link.to_port)];
        }
    }

    fn measure_lids(&mut self) {
        let ends = self.ends.iter().flatten();
        let lasts = ends.map(|end| end.lid.saturating_add((1 << end.lmc) - 1));
        self.top_lid = lasts.chain(self.lids.iter().copied()).max().unwrap_or(0);
        self.top_lid = self.top_lid.min(MULTICAST_LID - 1);
        self.lmc = self.ends.iter().flatten().map(|end| end.lmc).max().unwrap_or(0);
    }

    /// A table without entries for every switch.
    pub(super) fn empty_rows(&self) -> Vec<Vec<u8>> {
        vec![vec![crate::subnet::lfts::NO_PORT; usize::from(self.top_lid) + 1]; self.len()]
    }
}

/// A LID that a port can have, or 0.
fn lid_of(lid: u16) -> u16 {
    if lid < MULTICAST_LID { lid } else { 0 }
}

/// Ports whose cable works, by number, with the other end.
fn cables(node: &SubnetNode) -> impl Iterator<Item = (u8, End)> + '_ {
    let up = |port: &SubnetPort| port.peer.filter(|_| port.logical != Some(LogicalState::Down));
    node.ports.iter().zip(1..=254).filter_map(move |(port, n)| up(port).map(|peer| (n, peer)))
}

fn endport(subnet: &Subnet, port: u8, end: End) -> HostPort {
    let there = subnet.port(end);
    let lid = there.map_or(0, |there| lid_of(there.lid));
    HostPort { port, lid, lmc: there.map_or(0, |there| there.lmc.min(7)) }
}

fn adapter_pairs(subnet: &Subnet) -> Vec<[String; 2]> {
    let adapter = |end: &End| subnet.nodes[end.node as usize].kind == Kind::Ca;
    let pairs = subnet.cables().filter(|(a, b)| adapter(a) && adapter(b));
    pairs.map(|(a, b)| [subnet.name(a), subnet.name(b)]).collect()
}
