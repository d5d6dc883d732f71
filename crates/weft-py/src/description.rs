//! The description of a subnet: everything that was read, as a JSON document.

use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use weft_fabric::paths::Net;
use weft_fabric::subnet::host::factory_sentences;
use weft_fabric::subnet::{
    Arbitration, End, Kind, Lfts, LogicalState, PhysicalState, Subnet, SubnetNode,
};

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
        "lanes": lanes(subnet),
        "n_without_lanes": n_without_lanes(subnet),
        "arbitration": arbitration(subnet),
        "partition_keys": partition_keys(subnet),
        "path_levels": subnet.path_levels,
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

/// Each list of lanes by service level, and how many paths of messages have it.
fn lanes(subnet: &Subnet) -> Vec<Value> {
    let mut n_paths = BTreeMap::new();
    for ((node, ingress, _), list) in &subnet.sl2vl {
        // What a switch itself sends is management.
        if *ingress > 0 || subnet.nodes[*node as usize].kind != Kind::Switch {
            *n_paths.entry(list).or_insert(0) += 1;
        }
    }
    n_paths.into_iter().map(|(list, n)| json!({"by_level": list, "n_paths": n})).collect()
}

/// Paths between cabled ports through a switch, and adapters' ports, whose lanes were not read.
fn n_without_lanes(subnet: &Subnet) -> usize {
    let is_cabled = |node: &SubnetNode, at: usize| node.ports[at].peer.is_some();
    let mut n_without = 0;
    for (index, node) in subnet.nodes.iter().enumerate() {
        let cabled: Vec<u8> = (0..node.ports.len())
            .filter(|at| is_cabled(node, *at))
            .map(|at| at as u8 + 1)
            .collect();
        let has = |ingress, egress| subnet.sl2vl.contains_key(&(index as u32, ingress, egress));
        if node.kind == Kind::Switch {
            let others = |i: u8| cabled.iter().filter(move |o| **o != i && !has(i, **o)).count();
            n_without += cabled.iter().map(|i| others(*i)).sum::<usize>();
        } else {
            n_without += cabled.iter().filter(|port| !has(0, 0) && !has(0, **port)).count();
        }
    }
    n_without
}

/// Each pair of tables, with the ports that have it.
fn arbitration(subnet: &Subnet) -> Vec<Value> {
    let mut ends: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for (end, tables) in &subnet.arbitration {
        ends.entry(tables).or_default().push(end);
    }
    let one = |(tables, ends): (&Arbitration, _)| {
        let (low, high) = (&tables.low, &tables.high);
        json!({"low": low, "high": high, "ends": ends})
    };
    ends.into_iter().map(one).collect()
}

/// Node, port, and its keys by index.
fn partition_keys(subnet: &Subnet) -> Vec<Value> {
    let all = subnet.partition_keys.iter();
    all.map(|((node, port), keys)| json!([node, port, keys])).collect()
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
