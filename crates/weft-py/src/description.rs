//! The description of a subnet: everything that was read, as a JSON document.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use weft_fabric::paths::Net;
use weft_fabric::subnet::host::factory_sentences;
use weft_fabric::subnet::{End, Kind, Lfts, LogicalState, PhysicalState, Subnet, SubnetNode};

/// Nodes and cables are written as they are read; as values, a fabric of a million ports would be
/// gigabytes.
#[derive(Serialize)]
struct Description<'a> {
    nodes: Vec<Node<'a>>,
    cables: Vec<[CableEnd<'a>; 2]>,
    #[serde(flatten)]
    others: Value,
}

#[derive(Serialize)]
struct Node<'a> {
    guid: u64,
    system_guid: Option<u64>,
    kind: Kind,
    description: &'a str,
    vendor: Option<u32>,
    device: Option<u32>,
    lid: u16,
    lmc: u8,
    n_ports: usize,
    port_lids: BTreeMap<usize, u16>,
    level: Option<u32>,
    uncabled: Vec<Uncabled>,
}

/// A port that no cable shows but something is known about.
#[derive(Serialize)]
struct Uncabled {
    port: usize,
    physical: PhysicalState,
}

#[derive(Serialize)]
struct CableEnd<'a> {
    node: u32,
    port: u8,
    rate: Option<String>,
    gbps: Option<f64>,
    supported: Option<String>,
    supported_gbps: Option<f64>,
    logical: Option<LogicalState>,
    physical: Option<PhysicalState>,
    facts: &'a BTreeMap<String, String>,
}

/// The description of a subnet with forwarding tables, as JSON.
pub(crate) fn describe(subnet: &Subnet, lfts: &Lfts) -> String {
    let net = Net::new(subnet, lfts);
    let nodes =
        subnet.nodes.iter().enumerate().map(|(at, node)| describe_node(&net, at, node)).collect();
    let description = Description { nodes, cables: cables(subnet), others: others(&net, lfts) };
    serde_json::to_string(&description).expect("keys are text")
}

fn others(net: &Net<'_>, lfts: &Lfts) -> Value {
    let subnet = net.subnet;
    let endports: Vec<Value> =
        net.endports.iter().map(|it| json!([it.end.node, it.end.port, it.lid])).collect();
    let tables = (0..subnet.nodes.len()).filter(|node| lfts.row(*node).is_some()).count();
    let kept: Vec<Value> = (subnet.kept.iter())
        .map(|(place, name, rows)| json!({"place": place, "name": name, "n_rows": rows.len()}))
        .collect();
    json!({
        "assumed": subnet.assumed,
        "renamed": factory_sentences(&subnet.nodes),
        "endports": endports,
        "port_guids": port_guids(subnet),
        "n_tables": tables,
        "n_adaptive": subnet.adaptive.len(),
        "n_sl2vl": subnet.sl2vl.len(),
        "readings": subnet.readings,
        "devices": subnet.devices,
        "tree": subnet.tree,
        "sm_logs": subnet.sm_logs,
        "insides": subnet.insides,
        "kept": kept,
        "sources": subnet.sources,
        "unread": subnet.unread,
        "misfits": subnet.misfits,
    })
}

fn describe_node<'a>(net: &Net<'_>, at: usize, node: &'a SubnetNode) -> Node<'a> {
    let number = net.switch_number(at as u32);
    let ports = || (1..).zip(&node.ports);
    Node {
        guid: node.guid,
        system_guid: node.system_guid,
        kind: node.kind,
        description: &node.description,
        vendor: node.vendor,
        device: node.device,
        lid: node.lid,
        lmc: node.lmc,
        n_ports: node.ports.len(),
        port_lids: ports().filter(|(_, it)| it.lid > 0).map(|(port, it)| (port, it.lid)).collect(),
        level: number.and_then(|number| net.level(number)),
        uncabled: ports()
            .filter(|(_, it)| it.peer.is_none())
            .filter_map(|(port, it)| it.physical.map(|physical| Uncabled { port, physical }))
            .collect(),
    }
}

fn port_guids(subnet: &Subnet) -> Vec<Value> {
    let mut found = Vec::new();
    for (index, node) in subnet.nodes.iter().enumerate() {
        for (at, port) in node.ports.iter().enumerate() {
            if let Some(guid) = port.guid {
                found.push(json!([index, at + 1, port.lid, guid]));
            }
        }
    }
    found
}

/// Every cable once, with what each of its ends says.
fn cables(subnet: &Subnet) -> Vec<[CableEnd<'_>; 2]> {
    let end = |end: End| {
        let port = subnet.port(end).expect("cables are between ports");
        CableEnd {
            node: end.node,
            port: end.port,
            rate: port.rate.map(|rate| rate.to_string()),
            gbps: port.rate.map(|rate| rate.data_rate().0 as f64 / 1e9),
            supported: port.supported.map(|rate| rate.to_string()),
            supported_gbps: port.supported.map(|rate| rate.data_rate().0 as f64 / 1e9),
            logical: port.logical,
            physical: port.physical,
            facts: &port.facts,
        }
    };
    subnet.cables().map(|(a, b)| [end(a), end(b)]).collect()
}
