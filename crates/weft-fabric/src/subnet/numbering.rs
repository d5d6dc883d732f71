//! Numbering of a generated fabric as a subnet: it gets GUIDs and LIDs.

use super::records::Kind;
use super::{
    End, LinkRate, LogicalState, PhysicalState, Speed, Subnet, SubnetNode, SubnetPort, Width,
};
use super::{Lfts, MULTICAST_LID};
use crate::document::{FabricDocument, SwitchDocument};
use crate::error::FabricError;
use crate::fabric::{self, Fabric};
use crate::generate;
use crate::ids::{PortId, SwitchId, VertexId};
use crate::units::BitsPerSecond;
use std::collections::HashMap;
use std::iter;

/// GUIDs of generated HCAs begin here: the bit of locally administered addresses is set.
const FIRST_HCA: u64 = 0x0200_0000_0000_0000;
/// GUIDs of generated switches begin here.
const FIRST_SWITCH: u64 = 0x0200_0000_1000_0000;
/// The difference between GUIDs of neighbours; a port's GUID is its node's and its number.
const STRIDE: u64 = 16;
/// Most ports of an InfiniBand switch.
const MAX_PORTS: u32 = 254;

/// Refuse a switch that InfiniBand has no numbers for, the last of so many HCAs and switches.
fn admit(n_vertices: u64, switch: &SwitchDocument) -> Result<(), FabricError> {
    check_ports(&switch.name, switch.ports)?;
    check_lids(n_vertices)
}

fn check_lids(n_vertices: u64) -> Result<(), FabricError> {
    if n_vertices < u64::from(MULTICAST_LID) {
        return Ok(());
    }
    let what = format!("{n_vertices} HCAs and switches or more");
    let expected = format!("at most {}, one LID each", MULTICAST_LID - 1);
    Err(FabricError::document("fabric", what, expected))
}

fn check_ports(switch: &str, n_ports: u32) -> Result<(), FabricError> {
    if n_ports <= MAX_PORTS {
        return Ok(());
    }
    let what = format!("switch '{switch}' has {n_ports} ports");
    let expected = format!("at most {MAX_PORTS}, as InfiniBand numbers them");
    Err(FabricError::document("fabric.switches", what, expected))
}

impl Subnet {
    /// The document of a JSON text that `of_fabric` is to take: InfiniBand has LIDs and port
    /// numbers for its switches.
    pub fn parse_document(text: &str) -> Result<FabricDocument, FabricError> {
        generate::parse_admitted(text, admit)
    }

    /// The subnet of a fabric: one LID a port, HCAs first, then switches, in the fabric's order.
    /// An error where InfiniBand has no LIDs, ports or rates for it. Cables that are down are left
    /// out, as the tools leave them out.
    pub fn of_fabric(fabric: &Fabric) -> Result<Subnet, FabricError> {
        let n_vertices = fabric.n_hcas() + fabric.n_switches();
        check_lids(n_vertices.into())?;
        let mut subnet = Subnet::default();
        let numbering = Numbering::of(fabric);
        for vertex in (0..n_vertices).map(VertexId) {
            subnet.nodes.push(numbering.node(vertex)?);
        }
        subnet.lfts = Lfts::new(subnet.nodes.len());
        subnet.index_lids();
        Ok(subnet)
    }
}

/// A fabric, and what its nodes have in common.
struct Numbering<'a> {
    fabric: &'a Fabric,
    /// By HCA the node it is in.
    node_of: Vec<&'a str>,
    /// By system ('director-01/') the GUID of its first switch.
    systems: HashMap<&'a str, u64>,
    /// Data rate of the fastest cable.
    fastest: BitsPerSecond,
}

impl Numbering<'_> {
    fn of(fabric: &Fabric) -> Numbering<'_> {
        let hcas = |node: &fabric::Node| iter::repeat_n(node.first_hca, node.n_hcas as usize);
        let node_of = fabric.nodes.iter().flat_map(|node| hcas(node).map(|_| &node.name[..]));
        let mut systems = HashMap::new();
        for switch in (0..fabric.n_switches()).map(SwitchId) {
            let name = &fabric.vertices[fabric.switch_vertex(switch).index()].name;
            if let Some((system, _)) = name.split_once('/') {
                systems.entry(system).or_insert(guid_of_switch(switch));
            }
        }
        let switches = (0..fabric.n_switches()).map(|n| fabric.switch_vertex(SwitchId(n)));
        let ports = switches.flat_map(|vertex| fabric.ports_of(vertex));
        let fastest = ports.map(|port| fabric.ports[port.index()].rate).max().unwrap_or_default();
        Numbering { node_of: node_of.collect(), fabric, systems, fastest }
    }

    /// 'n001 mlx5_0', as hosts name themselves; the vertex's own name where it does not begin
    /// with its node's.
    fn description(&self, id: VertexId) -> String {
        let name = &self.fabric.vertices[id.index()].name;
        let of_node = self.node_of.get(id.index()).and_then(|node| name.strip_prefix(node));
        match of_node.and_then(|tail| tail.strip_prefix('/')) {
            Some(hca) => format!("{} {hca}", self.node_of[id.index()]),
            None => name.clone(),
        }
    }

    fn node(&self, id: VertexId) -> Result<SubnetNode, FabricError> {
        let fabric = self.fabric;
        let vertex = &fabric.vertices[id.index()];
        let is_switch = fabric.switch(id).is_some();
        // Ports inside the node are none of the network.
        let n_ports = if is_switch { vertex.n_ports } else { 1 };
        check_ports(&vertex.name, n_ports)?;
        let guid = match fabric.switch(id) {
            Some(switch) => guid_of_switch(switch),
            None => FIRST_HCA + STRIDE * u64::from(id.0 + 1),
        };
        let system = vertex.name.split_once('/').filter(|_| is_switch);
        let system = system.and_then(|(name, _)| self.systems.get(name)).copied().unwrap_or(guid);
        let lid = id.0 as u16 + 1;
        let mut ports = Vec::new();
        for number in 1..=n_ports {
            let port = PortId(vertex.first_port.0 + number - 1);
            let mut socket = self.socket(port)?;
            if !is_switch {
                (socket.guid, socket.lid) = (Some(guid + u64::from(number)), lid);
            }
            ports.push(socket);
        }
        Ok(SubnetNode {
            kind: if is_switch { Kind::Switch } else { Kind::Ca },
            guid,
            system_guid: Some(system),
            description: self.description(id),
            lid: if is_switch { lid } else { 0 },
            ports,
            ..SubnetNode::default()
        })
    }

    fn socket(&self, port: PortId) -> Result<SubnetPort, FabricError> {
        let down = SubnetPort {
            logical: Some(LogicalState::Down),
            physical: Some(PhysicalState::Polling),
            ..SubnetPort::default()
        };
        let fabric = self.fabric;
        let record = &fabric.ports[port.index()];
        let Some(peer) = record.peer.filter(|_| record.up) else { return Ok(down) };
        let there = fabric.ports[peer.index()].vertex;
        let number = peer.0 - fabric.vertices[there.index()].first_port.0 + 1;
        if number > MAX_PORTS {
            let what =
                format!("a cable to port {number} of '{}'", fabric.vertices[there.index()].name);
            let expected = format!("ports up to {MAX_PORTS}");
            return Err(FabricError::document("fabric.links", what, expected));
        }
        Ok(SubnetPort {
            peer: Some(End { node: there.0, port: number as u8 }),
            rate: Some(self.rate(record.rate, &fabric.port_name(port))?),
            logical: Some(LogicalState::Active),
            physical: Some(PhysicalState::LinkUp),
            ..SubnetPort::default()
        })
    }

    /// The width and speed of a rate. Half of the fastest cable's is a port split in two, where
    /// that generation has such: 100 Gb/s below HDR is HDR100, not EDR.
    fn rate(&self, rate: BitsPerSecond, place: &str) -> Result<LinkRate, FabricError> {
        let fastest = nearest_rate(self.fastest, place).ok().map(|fastest| fastest.speed);
        let split = fastest.filter(|speed| *speed >= Speed::Hdr);
        let split = split.map(|speed| LinkRate { width: Width::X2, speed });
        match split.filter(|split| split.data_rate() == rate) {
            Some(split) => Ok(split),
            None => nearest_rate(rate, place),
        }
    }
}

fn guid_of_switch(switch: SwitchId) -> u64 {
    FIRST_SWITCH + STRIDE * u64::from(switch.0)
}

/// The width and speed whose data rate is nearest, within a tenth.
fn nearest_rate(rate: BitsPerSecond, place: &str) -> Result<LinkRate, FabricError> {
    // Of equals the first: cables have four lanes, split ports two.
    let widths = [Width::X4, Width::X2, Width::X1, Width::X8, Width::X12];
    let all = widths
        .into_iter()
        .flat_map(|width| Speed::all().map(move |speed| LinkRate { width, speed }));
    let off = |it: &LinkRate| it.data_rate().0.abs_diff(rate.0);
    let best = all.min_by_key(off).expect("there are widths and speeds");
    if off(&best) * 10 > rate.0 {
        let what = format!("{} bits a second", rate.0);
        let expected = "within a tenth of a rate that InfiniBand has, such as 100 Gb/s";
        return Err(FabricError::document(place, what, expected));
    }
    Ok(best)
}
