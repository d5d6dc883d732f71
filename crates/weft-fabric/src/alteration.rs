//! A subnet with nodes and cables taken out and put in, before a subnet manager routes it anew.

use crate::error::FabricError;
use crate::subnet::{End, Kind, Lfts, LinkRate, LogicalState, Misfit, Subnet};
use crate::subnet::{SubnetNode, SubnetPort};
use std::collections::{BTreeMap, BTreeSet};

/// A switch that is put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSwitch {
    /// Its node GUID, which no other node has.
    pub guid: u64,
    /// Its node description.
    pub description: String,
    /// How many ports it has.
    pub n_ports: u8,
    /// Its LID, which no other port has.
    pub lid: u16,
}

/// A cable that is put in between two free ports, each by its node's GUID and number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCable {
    /// Both ends.
    pub ends: [(u64, u8); 2],
    /// Width and speed, where they are known.
    pub rate: Option<LinkRate>,
}

/// What is taken out of a subnet, and then put in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alteration {
    /// Nodes that leave, with their cables.
    pub gone: BTreeSet<u32>,
    /// Ports whose cable is unplugged; one end is enough.
    pub unplugged: Vec<End>,
    /// Switches that come.
    pub switches: Vec<NewSwitch>,
    /// Cables that come.
    pub cables: Vec<NewCable>,
}

/// The subnet after an alteration, and the tables of before for the nodes that stay. Counters are
/// of another time, so that they are left out.
///
/// An error where a GUID is there twice, and where a new cable ends at no free port.
pub fn altered(
    subnet: &Subnet,
    lfts: &Lfts,
    alteration: &Alteration,
) -> Result<(Subnet, Lfts), FabricError> {
    let unplugged = unplugged(subnet, alteration);
    let stay = (0..subnet.nodes.len() as u32).filter(|at| !alteration.gone.contains(at));
    // By GUID, with the index of before: INVARIANT of a subnet.
    let mut nodes: BTreeMap<u64, (Option<u32>, SubnetNode)> = stay
        .map(|at| (subnet.nodes[at as usize].guid, (Some(at), subnet.nodes[at as usize].clone())))
        .collect();
    for switch in &alteration.switches {
        if nodes.insert(switch.guid, (None, new_node(switch))).is_some() {
            let what = format!("GUID {:#018x} of '{}'", switch.guid, switch.description);
            return Err(FabricError::document("switch", what, "a GUID that no node has"));
        }
    }
    let mut index = vec![None; subnet.nodes.len()];
    for (now, (before, _)) in nodes.values().enumerate() {
        if let Some(before) = before {
            index[*before as usize] = Some(now as u32);
        }
    }
    let mut after = moved(subnet, &index);
    let mut tables = Lfts::new(nodes.len());
    for (now, (before, _)) in nodes.values().enumerate() {
        if let Some(row) = before.and_then(|before| lfts.row(before as usize)) {
            tables.set_row(now, row.to_vec());
        }
    }
    for (before, mut node) in nodes.into_values() {
        for (port, number) in node.ports.iter_mut().zip(1..=254) {
            let is_cut =
                before.is_some_and(|at| unplugged.contains(&End { node: at, port: number }));
            port.peer = port.peer.filter(|_| !is_cut);
            port.peer = port.peer.and_then(|peer| {
                index[peer.node as usize].map(|node| End { node, port: peer.port })
            });
        }
        after.nodes.push(node);
    }
    plug_in(&mut after, &alteration.cables)?;
    after.index_lids();
    Ok((after, tables))
}

/// Both ends of the cables that are unplugged.
fn unplugged(subnet: &Subnet, alteration: &Alteration) -> BTreeSet<End> {
    let ends = alteration.unplugged.iter();
    ends.flat_map(|end| [Some(*end), subnet.peer(*end)]).flatten().collect()
}

fn new_node(switch: &NewSwitch) -> SubnetNode {
    SubnetNode {
        kind: Kind::Switch,
        guid: switch.guid,
        description: switch.description.clone(),
        lid: switch.lid,
        ports: vec![SubnetPort::default(); usize::from(switch.n_ports)],
        ..SubnetNode::default()
    }
}

/// What is said of nodes that stay, by their index of now; without nodes.
fn moved(subnet: &Subnet, index: &[Option<u32>]) -> Subnet {
    let now = |node: u32| index.get(node as usize).copied().flatten();
    let mut after = Subnet::default();
    let groups = subnet.adaptive.iter();
    after.adaptive = groups.filter_map(|(at, one)| Some((now(*at)?, one.clone()))).collect();
    let lanes = subnet.sl2vl.iter();
    after.sl2vl = lanes.filter_map(|((at, i, o), one)| Some(((now(*at)?, *i, *o), *one))).collect();
    let keys = subnet.partition_keys.iter();
    after.partition_keys =
        keys.filter_map(|((at, port), one)| Some(((now(*at)?, *port), one.clone()))).collect();
    after.sm_logs = subnet.sm_logs.clone();
    after.sources = subnet.sources.clone();
    after.unread = subnet.unread.clone();
    after.assumed = subnet.assumed.clone();
    let said = subnet.misfits.iter();
    after.misfits =
        said.filter(|one| !matches!(one, Misfit::DuplicateLid { .. })).cloned().collect();
    after
}

fn plug_in(subnet: &mut Subnet, cables: &[NewCable]) -> Result<(), FabricError> {
    for cable in cables {
        let mut ends = [End { node: 0, port: 0 }; 2];
        for (end, (guid, port)) in ends.iter_mut().zip(cable.ends) {
            let found = subnet.node_of_guid(guid).map(|node| End { node, port });
            let free = found.filter(|end| subnet.port(*end).is_some_and(|it| it.peer.is_none()));
            *end = free.ok_or_else(|| {
                let what = format!("port {port} of {guid:#018x}");
                FabricError::document("cable", what, "a free port of a node that is there")
            })?;
        }
        if ends[0] == ends[1] {
            let what = format!("both ends at {}", subnet.name(ends[0]));
            return Err(FabricError::document("cable", what, "two ports"));
        }
        for (here, there) in [(ends[0], ends[1]), (ends[1], ends[0])] {
            let ports = &mut subnet.nodes[here.node as usize].ports;
            let port = &mut ports[usize::from(here.port) - 1];
            (port.peer, port.rate, port.physical) = (Some(there), cable.rate, None);
            port.logical = Some(LogicalState::Active);
        }
    }
    Ok(())
}
