//! The path between two ports, or all that adaptive routing may take.

use crate::subnet::records::AdaptiveRecord;
use crate::subnet::{End, Lfts, Subnet};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// A cable on the way: out of one port, into the next.
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
    #[error("LID {lid} is nobody's\n  expected: a LID of this subnet, up to {top}")]
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
        /// What its table says: 'no port', 'port 7, where no cable is'.
        port: String,
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

/// Every cable that packets from a port to a LID may take where switches choose by their
/// adaptive-routing groups, and by the table where they have none. In the order in which they are
/// met. Switches that have no way on are left out.
pub fn trace_adaptive(
    subnet: &Subnet,
    lfts: &Lfts,
    groups: &BTreeMap<u32, AdaptiveRecord>,
    src: End,
    lid: u16,
) -> Result<Vec<Hop>, PathError> {
    // The table's own path must arrive, too: it is what is taken without a choice.
    let mut hops: Vec<Hop> = Vec::new();
    let table = trace(subnet, lfts, src, lid)?;
    let mut known: BTreeSet<Hop> = BTreeSet::new();
    let mut wave = vec![src.node];
    let mut seen: BTreeSet<u32> = BTreeSet::from([src.node]);
    hops.extend(table.first().filter(|_| !subnet.nodes[src.node as usize].is_switch()));
    if let Some(first) = hops.first() {
        known.insert(*first);
        wave = vec![first.ingress.node];
    }
    while !wave.is_empty() {
        let mut next = Vec::new();
        for node in wave {
            for hop in choices(subnet, lfts, groups, node, lid) {
                if known.insert(hop) {
                    hops.push(hop);
                }
                let there = &subnet.nodes[hop.ingress.node as usize];
                if there.is_switch() && seen.insert(hop.ingress.node) {
                    next.push(hop.ingress.node);
                }
            }
        }
        wave = next;
    }
    Ok(hops)
}

fn choices(
    subnet: &Subnet,
    lfts: &Lfts,
    groups: &BTreeMap<u32, AdaptiveRecord>,
    node: u32,
    lid: u16,
) -> Vec<Hop> {
    let table = lfts.port(node as usize, lid);
    let group = groups.get(&node).and_then(|record| {
        let group = record.group_of_lid.get(&lid)?;
        record.groups.get(group)
    });
    let ports: BTreeSet<u8> = group.into_iter().flatten().copied().chain(table).collect();
    let hop = |port: u8| {
        let egress = End { node, port };
        Some(Hop { egress, ingress: subnet.peer(egress)? })
    };
    ports.into_iter().filter_map(hop).collect()
}
