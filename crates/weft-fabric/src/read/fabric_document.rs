//! weft's own fabric document (schema `weft.fabric/1`), or a generator's.

use super::format::{Format, MAX_TEXT_BYTES};
use super::lines::Lines;
use crate::fabric::Fabric;
use crate::ids::{HcaId, SwitchId};
use crate::routing::routes::Routes;
use crate::subnet::lfts::NO_PORT;
use crate::subnet::records::{
    CableRecord, Gathered, NodeRecord, Place, PortRecord, TableRecord, Who,
};
use crate::subnet::{End, Subnet};
use std::io;

/// A JSON object whose schema is ours, or that names a generator.
pub(crate) const FORMAT: Format =
    Format { name: "weft fabric document", is_it, max_bytes: MAX_TEXT_BYTES, read };

fn is_it(head: &str) -> bool {
    let ours = head.contains("\"weft.fabric/") || head.contains("\"generate\"");
    head.trim_start().starts_with('{') && ours
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let text = lines.whole_text(MAX_TEXT_BYTES as usize)?;
    let place = lines.at(1);
    let read = Subnet::parse_document(&text).and_then(|written| {
        let fabric = Fabric::new(&written)?;
        let tables = Routes::from_document(&fabric, &written)?;
        gathered.assumed.extend(written.assumed);
        Ok((Subnet::of_fabric(&fabric)?, fabric, tables))
    });
    match read {
        Ok((subnet, fabric, tables)) => add(&subnet, &fabric, tables.as_ref(), gathered, place),
        Err(error) => {
            let text = error.to_string();
            let (what, expected) = text.split_once("\n  expected: ").unwrap_or((&text, ""));
            gathered.unread(place, what, expected);
        }
    }
    Ok(())
}

fn add(
    subnet: &Subnet,
    fabric: &Fabric,
    tables: Option<&Routes>,
    gathered: &mut Gathered,
    place: Place,
) {
    for node in &subnet.nodes {
        let who = Who::Node(node.guid);
        gathered.nodes.push(NodeRecord {
            kind: Some(node.kind),
            system_guid: node.system_guid,
            n_ports: Some(node.ports.len() as u8),
            description: Some(node.description.clone()),
            lid: Some(node.lid),
            is_entry: true,
            ..NodeRecord::of(place, who)
        });
        for (at, port) in node.ports.iter().enumerate() {
            gathered.ports.push(PortRecord {
                guid: port.guid,
                lid: Some(port.lid),
                rate: port.rate,
                logical: port.logical,
                physical: port.physical,
                ..PortRecord::of(place, who, at as u8 + 1)
            });
        }
    }
    let named = |end: End| (Who::Node(subnet.nodes[end.node as usize].guid), end.port);
    for (a, b) in subnet.cables() {
        gathered.cables.push(CableRecord { place, ends: [named(a), named(b)], rate: None });
    }
    for switch in tables.iter().flat_map(|_| 0..fabric.n_switches()).map(SwitchId) {
        let routes = tables.expect("looked at above");
        let node = &subnet.nodes[(fabric.n_hcas() + switch.0) as usize];
        let mut ports = vec![NO_PORT; usize::from(subnet.top_lid()) + 1];
        ports[usize::from(node.lid)] = 0;
        for hca in (0..fabric.n_hcas()).map(HcaId) {
            let lid = subnet.nodes[hca.index()].ports[0].lid;
            if let Some(number) = u8::try_from(routes.number(switch, hca)).ok().filter(|n| *n > 0) {
                ports[usize::from(lid)] = number;
            }
        }
        gathered.tables.push(TableRecord { place, who: Who::Node(node.guid), ports });
    }
}
