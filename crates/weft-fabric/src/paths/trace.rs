//! The path between two ports, or all that adaptive routing may take.

use crate::subnet::records::AdaptiveRecord;
use crate::subnet::{End, Lfts, Subnet};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A cable on the path: out of one port, into the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Hop {
    /// The port it leaves by.
    pub egress: End,
    /// The port at the other end.
    pub ingress: End,
}

/// Why a path does not arrive.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PathError {
    /// No port has the LID.
    #[error("no port has LID {lid}\n  expected: a LID of this subnet, up to {top}")]
    NoSuchLid {
        /// The LID.
        lid: u16,
        /// The highest in use.
        top: u16,
    },
    /// A switch without an entry, or with one that leads to no cable.
    #[error(
        "'{at}': LID {lid} goes out by {port}\n  expected: an entry in its forwarding table that \
         leads on\n  hint: tables may be older than the cables; read both anew"
    )]
    DeadEnd {
        /// The switch.
        at: String,
        /// The LID.
        lid: u16,
        /// Its table's entry: 'no port', 'port 7, where no cable is'.
        port: String,
    },
    /// A switch of which no table was read: nothing shows whether the path arrives.
    #[error(
        "no forwarding table of '{at}' was read: whether the path arrives is unknown\n  expected: \
         the table of every switch\n  hint: dump_fts prints them all"
    )]
    NoTable {
        /// The switch.
        at: String,
    },
    /// The tables lead in a circle.
    #[error("'{at}': LID {lid} comes back to this switch\n  expected: tables without circles")]
    Circle {
        /// A switch on the circle.
        at: String,
        /// The LID.
        lid: u16,
    },
}

/// The path from a port to a LID by the tables: every cable crossed, none where both are one.
pub fn trace(subnet: &Subnet, lfts: &Lfts, src: End, lid: u16) -> Result<Vec<Hop>, PathError> {
    let no_such = PathError::NoSuchLid { lid, top: subnet.top_lid() };
    let dst = subnet.end_of_lid(lid).ok_or(no_such)?;
    let mut path = Vec::new();
    let mut at = src;
    while at.node != dst.node || !arrived(subnet, at, dst) {
        let is_first = path.is_empty();
        let node = &subnet.nodes[at.node as usize];
        let name = || node.description.clone();
        if node.is_switch() && lfts.row(at.node as usize).is_none() {
            return Err(PathError::NoTable { at: name() });
        }
        let egress = match lfts.port(at.node as usize, lid) {
            Some(port) if node.is_switch() => End { node: at.node, port },
            // Adapters forward nothing: a path begins or ends there.
            _ if !node.is_switch() && is_first => at,
            _ => return Err(PathError::DeadEnd { at: name(), lid, port: "no port".to_owned() }),
        };
        let Some(ingress) = subnet.peer(egress) else {
            let port = format!("port {}, where no cable is", egress.port);
            return Err(PathError::DeadEnd { at: name(), lid, port });
        };
        path.push(Hop { egress, ingress });
        if path.len() > subnet.nodes.len() {
            return Err(PathError::Circle { at: name(), lid });
        }
        at = ingress;
    }
    Ok(path)
}

/// A switch is reached by any of its ports, an adapter by the one that has the LID.
fn arrived(subnet: &Subnet, at: End, dst: End) -> bool {
    subnet.nodes[dst.node as usize].is_switch() || at.port == dst.port
}

/// The ports switches choose from under adaptive routing.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// Their groups, by node; and the table's port where they have none.
    Groups(&'a BTreeMap<u32, AdaptiveRecord>),
    /// Every port with the fewest hops, as a subnet manager groups them on trees.
    FewestHops,
}

/// Every cable that packets from a port to a LID may take where switches choose, in the order in
/// which they are met. The table's own path must arrive: it is what is taken without a choice.
pub fn trace_adaptive(
    subnet: &Subnet,
    lfts: &Lfts,
    choice: Choice<'_>,
    src: End,
    lid: u16,
) -> Result<Vec<Hop>, PathError> {
    let table = trace(subnet, lfts, src, lid)?;
    let Some(last) = table.last() else { return Ok(table) };
    let chooser = Chooser { subnet, lfts, choice, lid, hops: hops_to(subnet, last.ingress.node) };
    let is_switch = |node: u32| subnet.nodes[node as usize].is_switch();
    // An adapter has one path out.
    let first = table.first().filter(|_| !is_switch(src.node));
    let mut hops: Vec<Hop> = first.into_iter().copied().collect();
    let mut known: BTreeSet<Hop> = hops.iter().copied().collect();
    let start = first.map_or(src.node, |hop| hop.ingress.node);
    let (mut wave, mut seen) = (vec![start], BTreeSet::from([start]));
    while !wave.is_empty() {
        let mut next = Vec::new();
        for node in wave.into_iter().filter(|node| is_switch(*node)) {
            for hop in chooser.choices(node) {
                if known.insert(hop) {
                    hops.push(hop);
                }
                if seen.insert(hop.ingress.node) {
                    next.push(hop.ingress.node);
                }
            }
        }
        wave = next;
    }
    Ok(hops)
}

struct Chooser<'a> {
    subnet: &'a Subnet,
    lfts: &'a Lfts,
    choice: Choice<'a>,
    lid: u16,
    /// By node, cables to the destination; none where there is no path.
    hops: BTreeMap<u32, u32>,
}

impl Chooser<'_> {
    fn choices(&self, node: u32) -> Vec<Hop> {
        let table = self.lfts.port(node as usize, self.lid);
        let mut ports: BTreeSet<u8> = match self.choice {
            Choice::Groups(groups) => {
                let record = groups.get(&node);
                let group = record.and_then(|it| it.groups.get(it.group_of_lid.get(&self.lid)?));
                group.into_iter().flatten().copied().collect()
            }
            Choice::FewestHops => self.nearer(node),
        };
        ports.extend(table);
        let hop = |port: u8| {
            let egress = End { node, port };
            Some(Hop { egress, ingress: self.subnet.peer(egress)? })
        };
        ports.into_iter().filter_map(hop).collect()
    }

    fn nearer(&self, node: u32) -> BTreeSet<u8> {
        let Some(here) = self.hops.get(&node) else { return BTreeSet::new() };
        let ports = self.subnet.nodes[node as usize].ports.iter().zip(1u8..);
        let leads_nearer = |peer: End| self.hops.get(&peer.node).is_some_and(|hops| hops < here);
        ports.filter(|(port, _)| port.peer.is_some_and(leads_nearer)).map(|(_, at)| at).collect()
    }
}

/// By node, cables to a node; adapters on the path forward nothing.
fn hops_to(subnet: &Subnet, node: u32) -> BTreeMap<u32, u32> {
    let mut hops = BTreeMap::from([(node, 0)]);
    let mut wave = vec![node];
    while !wave.is_empty() {
        let mut next = Vec::new();
        for at in
            wave.into_iter().filter(|at| *at == node || subnet.nodes[*at as usize].is_switch())
        {
            let further = hops[&at] + 1;
            for peer in subnet.nodes[at as usize].ports.iter().filter_map(|port| port.peer) {
                if let std::collections::btree_map::Entry::Vacant(slot) = hops.entry(peer.node) {
                    slot.insert(further);
                    next.push(peer.node);
                }
            }
        }
        wave = next;
    }
    hops
}
