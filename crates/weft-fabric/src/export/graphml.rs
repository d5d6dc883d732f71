//! GraphML, for networkx, Gephi, yEd and others.
//!
//! SOURCE: GraphML Primer, graphml.graphdrawing.org.

use super::Export;
use crate::subnet::{Kind, Subnet};
use std::fmt::Write;

/// Attributes of nodes and cables: the element, the name, and the type in GraphML.
const KEYS: [(&str, &str, &str); 13] = [
    ("node", "description", "string"),
    ("node", "kind", "string"),
    ("node", "guid", "string"),
    ("node", "system_guid", "string"),
    ("node", "lid", "int"),
    ("node", "level", "int"),
    ("node", "ports", "int"),
    ("edge", "port_a", "int"),
    ("edge", "port_b", "int"),
    ("edge", "width", "string"),
    ("edge", "speed", "string"),
    ("edge", "gbps", "double"),
    ("edge", "state", "string"),
];

/// The subnet as an undirected graph with parallel edges.
pub fn graphml(subnet: &Subnet) -> Export {
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
        .to_owned();
    for (of, name, kind) in KEYS {
        let id = format!("id=\"{name}\" for=\"{of}\"");
        let _ = writeln!(text, "<key {id} attr.name=\"{name}\" attr.type=\"{kind}\"/>");
    }
    text.push_str("<graph id=\"subnet\" edgedefault=\"undirected\">\n");
    let levels = subnet.levels();
    for (index, (node, level)) in subnet.nodes.iter().zip(levels).enumerate() {
        let _ = write!(text, "<node id=\"n{index}\">");
        let kind = match node.kind {
            Kind::Switch => "switch",
            Kind::Ca => "ca",
            Kind::Router => "router",
        };
        let lid = match node.kind {
            Kind::Switch => node.lid,
            _ => node.ports.iter().map(|port| port.lid).find(|lid| *lid > 0).unwrap_or(0),
        };
        fact(&mut text, "description", &escaped(&node.description));
        fact(&mut text, "kind", kind);
        fact(&mut text, "guid", &format!("{:#018x}", node.guid));
        if let Some(guid) = node.system_guid {
            fact(&mut text, "system_guid", &format!("{guid:#018x}"));
        }
        fact(&mut text, "lid", &lid.to_string());
        if let Some(level) = level {
            fact(&mut text, "level", &level.to_string());
        }
        fact(&mut text, "ports", &node.ports.len().to_string());
        text.push_str("</node>\n");
    }
    for (number, (a, b)) in subnet.cables().enumerate() {
        let ends = format!("source=\"n{}\" target=\"n{}\"", a.node, b.node);
        let _ = write!(text, "<edge id=\"e{number}\" {ends}>");
        fact(&mut text, "port_a", &a.port.to_string());
        fact(&mut text, "port_b", &b.port.to_string());
        let of = |end| subnet.port(end);
        if let Some(rate) = of(a).and_then(|p| p.rate).or(of(b).and_then(|p| p.rate)) {
            fact(&mut text, "width", &rate.width.to_string());
            fact(&mut text, "speed", rate.speed.name());
            fact(&mut text, "gbps", &(rate.data_rate().0 as f64 / 1e9).to_string());
        }
        if let Some(state) = of(a).and_then(|port| port.logical) {
            fact(&mut text, "state", &format!("{state:?}").to_lowercase());
        }
        text.push_str("</edge>\n");
    }
    text.push_str("</graph>\n</graphml>\n");
    Export { text, changed: Vec::new() }
}

fn fact(text: &mut String, key: &str, value: &str) {
    let _ = write!(text, "<data key=\"{key}\">{value}</data>");
}

/// A text between tags; letters that XML 1.0 does not have are left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if letter.is_control() => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}
