//! The description of a subnet: everything that was read, as a JSON document.

use serde_json::{Map, Value, json};
use weft_fabric::paths::Net;
use weft_fabric::subnet::host::factory_sentences;
use weft_fabric::subnet::{End, Lfts, Subnet, SubnetNode};

/// The description of a subnet with forwarding tables.
pub(crate) fn describe(subnet: &Subnet, lfts: &Lfts) -> Value {
    let net = Net::new(subnet, lfts);
    let nodes: Vec<Value> =
        subnet.nodes.iter().enumerate().map(|(at, node)| describe_node(&net, at, node)).collect();
    let endports: Vec<Value> =
        net.endports.iter().map(|it| json!([it.end.node, it.end.port, it.lid])).collect();
    let tables = (0..subnet.nodes.len()).filter(|node| lfts.row(*node).is_some()).count();
    let kept: Vec<Value> = (subnet.kept.iter())
        .map(|(place, name, rows)| json!({"place": place, "name": name, "n_rows": rows.len()}))
        .collect();
    json!({
        "nodes": nodes,
        "cables": cables(subnet),
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

/// A node, with those of its ports that no cable shows but something is known about.
fn describe_node(net: &Net<'_>, at: usize, node: &SubnetNode) -> Value {
    let number = net.switch_number(at as u32);
    let uncabled: Vec<Value> = (node.ports.iter().enumerate())
        .filter(|(_, port)| port.peer.is_none() && port.physical.is_some())
        .map(|(index, port)| json!({"port": index + 1, "physical": port.physical}))
        .collect();
    let lids: Map<String, Value> = (node.ports.iter().enumerate())
        .filter(|(_, port)| port.lid > 0)
        .map(|(index, port)| ((index + 1).to_string(), port.lid.into()))
        .collect();
    json!({
        "guid": node.guid,
        "system_guid": node.system_guid,
        "kind": node.kind,
        "description": node.description,
        "vendor": node.vendor,
        "device": node.device,
        "lid": node.lid,
        "lmc": node.lmc,
        "n_ports": node.ports.len(),
        "port_lids": lids,
        "level": number.and_then(|number| net.level(number)),
        "uncabled": uncabled,
    })
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
fn cables(subnet: &Subnet) -> Vec<Value> {
    let end = |end: End| {
        let port = subnet.port(end).expect("cables are between ports");
        let rate = port.rate.map(|rate| rate.to_string());
        json!({
            "node": end.node,
            "port": end.port,
            "rate": rate,
            "gbps": port.rate.map(|rate| rate.data_rate().0 as f64 / 1e9),
            "supported": port.supported.map(|rate| rate.to_string()),
            "supported_gbps": port.supported.map(|rate| rate.data_rate().0 as f64 / 1e9),
            "logical": port.logical,
            "physical": port.physical,
            "facts": port.facts,
        })
    };
    subnet.cables().map(|(a, b)| json!([end(a), end(b)])).collect()
}
