//! A generated fabric as a subnet: GUIDs and LIDs that nobody gave it yet.

use super::records::Kind;
use super::{
    End, LinkRate, LogicalState, PhysicalState, Speed, Subnet, SubnetNode, SubnetPort, Width,
};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{PortId, VertexId};
use crate::subnet::{Lfts, MULTICAST_LID};
use crate::units::BitsPerSecond;

/// GUIDs of generated HCAs begin here: the bit of locally administered addresses is set.
const FIRST_HCA: u64 = 0x0200_0000_0000_0000;
/// GUIDs of generated switches begin here.
const FIRST_SWITCH: u64 = 0x0200_0000_1000_0000;
/// What GUIDs of neighbours differ by; a port's GUID is its node's and its number.
const STRIDE: u64 = 16;
/// Most ports of an InfiniBand switch.
const MAX_PORTS: u32 = 254;

impl Subnet {
    /// The subnet of a fabric: one LID a port, HCAs first, then switches, in the fabric's order.
    /// An error where InfiniBand has no LIDs, ports or rates for it. Cables that are down are left
    /// out, as the tools leave them out.
    pub fn of_fabric(fabric: &Fabric) -> Result<Subnet, FabricError> {
        let n_vertices = fabric.n_hcas() + fabric.n_switches();
        if n_vertices >= u32::from(MULTICAST_LID) {
            let what = format!("{n_vertices} HCAs and switches");
            let expected = format!("at most {}, one LID each", MULTICAST_LID - 1);
            return Err(FabricError::document("fabric", what, expected));
        }
        let mut subnet = Subnet::default();
        for vertex in (0..n_vertices).map(VertexId) {
            subnet.nodes.push(node(fabric, vertex)?);
        }
        subnet.lfts = Lfts::new(subnet.nodes.len());
        subnet.index_lids();
        Ok(subnet)
    }
}

fn node(fabric: &Fabric, id: VertexId) -> Result<SubnetNode, FabricError> {
    let vertex = &fabric.vertices[id.index()];
    let is_switch = fabric.switch(id).is_some();
    // Ports inside the node are none of the network.
    let n_ports = if is_switch { vertex.n_ports } else { 1 };
    if n_ports > MAX_PORTS {
        let what = format!("switch '{}' has {n_ports} ports", vertex.name);
        let expected = format!("at most {MAX_PORTS}, as InfiniBand numbers them");
        return Err(FabricError::document("fabric.switches", what, expected));
    }
    let guid = match fabric.switch(id) {
        Some(switch) => FIRST_SWITCH + STRIDE * u64::from(switch.0),
        None => FIRST_HCA + STRIDE * u64::from(id.0 + 1),
    };
    let lid = id.0 as u16 + 1;
    let mut ports = Vec::new();
    for number in 1..=n_ports {
        let port = PortId(vertex.first_port.0 + number - 1);
        let mut socket = socket(fabric, port)?;
        if !is_switch {
            (socket.guid, socket.lid) = (Some(guid + u64::from(number)), lid);
        }
        ports.push(socket);
    }
    Ok(SubnetNode {
        kind: if is_switch { Kind::Switch } else { Kind::Ca },
        guid,
        system_guid: Some(guid),
        description: vertex.name.clone(),
        vendor: None,
        device: None,
        lid: if is_switch { lid } else { 0 },
        lmc: 0,
        ports,
    })
}

fn socket(fabric: &Fabric, port: PortId) -> Result<SubnetPort, FabricError> {
    let down = SubnetPort {
        logical: Some(LogicalState::Down),
        physical: Some(PhysicalState::Polling),
        ..SubnetPort::default()
    };
    let record = &fabric.ports[port.index()];
    let Some(peer) = record.peer.filter(|_| record.up) else { return Ok(down) };
    let there = fabric.ports[peer.index()].vertex;
    let number = peer.0 - fabric.vertices[there.index()].first_port.0 + 1;
    if number > MAX_PORTS {
        let what = format!("a cable to port {number} of '{}'", fabric.vertices[there.index()].name);
        let expected = format!("ports up to {MAX_PORTS}");
        return Err(FabricError::document("fabric.links", what, expected));
    }
    Ok(SubnetPort {
        peer: Some(End { node: there.0, port: number as u8 }),
        rate: Some(nearest_rate(record.rate, &fabric.port_name(port))?),
        logical: Some(LogicalState::Active),
        physical: Some(PhysicalState::LinkUp),
        ..SubnetPort::default()
    })
}

/// The width and speed whose data rate is nearest, within a tenth.
fn nearest_rate(rate: BitsPerSecond, place: &str) -> Result<LinkRate, FabricError> {
    // Of equals the first: cables have four lanes, split ports two.
    let widths = [Width::X4, Width::X2, Width::X1, Width::X8, Width::X12];
    let all = widths
        .into_iter()
        .flat_map(|width| Speed::ALL.into_iter().map(move |speed| LinkRate { width, speed }));
    let off = |it: &LinkRate| it.data_rate().0.abs_diff(rate.0);
    let best = all.min_by_key(off).expect("there are widths and speeds");
    if off(&best) * 10 > rate.0 {
        let what = format!("{} bits a second", rate.0);
        let expected = "within a tenth of a rate that InfiniBand has, such as 100 Gb/s";
        return Err(FabricError::document(place, what, expected));
    }
    Ok(best)
}
