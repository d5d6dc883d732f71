//! The net file of ibsim: what ibnetdiscover prints, as ibsim 0.10 reads it.

use super::Export;
use crate::subnet::{End, Kind, LinkRate, Speed, Subnet, SubnetNode};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The fastest speed that ibsim 0.10 reads; faster ones it takes for SDR without a word.
///
/// SOURCE: tried with ibsim-utils 0.10-2 of Debian 12.
const FASTEST: Speed = Speed::Hdr;
/// Letters of a node description: an InfiniBand NodeDescription has 64 bytes.
const MAX_DESCRIPTION: usize = 63;

/// The subnet as ibsim reads it: channel adapters first, since tools attach to the first node.
pub fn ibsim(subnet: &Subnet) -> Export {
    let mut net = NetFile {
        subnet,
        text: String::new(),
        slower: BTreeMap::new(),
        renumbered: (0, String::new()),
        others: Vec::new(),
    };
    net.text.push_str("# for ibsim\n");
    for kind in [Kind::Ca, Kind::Switch] {
        for (index, node) in subnet.nodes.iter().enumerate().filter(|(_, node)| node.kind == kind) {
            net.node(index as u32, node);
        }
    }
    let routers = subnet.nodes.iter().filter(|node| node.kind == Kind::Router);
    net.others.extend(routers.map(|node| format!("router '{}' is left out", node.description)));
    let slower = net.slower.iter().map(|((from, to), n_ends)| {
        format!("{from} is written as {to} on {} cables: ibsim reads no faster one", n_ends / 2)
    });
    let (n_ports, example) = net.renumbered;
    let renumbered = (n_ports > 0).then(|| {
        let why = "ibsim counts ports on from their node";
        format!("{n_ports} port GUIDs become others, {why}: {example}")
    });
    let changed = slower.chain(renumbered).chain(net.others).collect();
    Export { text: net.text, changed }
}

/// A net file in the making.
struct NetFile<'a> {
    subnet: &'a Subnet,
    text: String,
    /// By rate and what is written for it: how many ends of cables.
    slower: BTreeMap<(String, String), u64>,
    /// How many adapters' ports have GUIDs that a net file cannot hold, and one of them.
    renumbered: (u64, String),
    others: Vec<String>,
}

impl NetFile<'_> {
    fn node(&mut self, index: u32, node: &SubnetNode) {
        let name = self.description(node);
        let (guid, system) = (node.guid, node.system_guid.unwrap_or(node.guid));
        let (vendor, device) = (node.vendor.unwrap_or(0x2c9), node.device.unwrap_or(0));
        let (id, n_ports) = (identity(node), node.ports.len());
        let begin = format!("\nvendid={vendor:#x}\ndevid={device:#x}\nsysimgguid={system:#x}\n");
        self.text.push_str(&begin);
        let line = if node.is_switch() {
            let port_0 = format!("enhanced port 0 lid {} lmc {}", node.lid, node.lmc);
            let guids = format!("switchguid={guid:#x}({guid:x})");
            format!("{guids}\nSwitch\t{n_ports} \"{id}\"\t\t# \"{name}\" {port_0}\n")
        } else {
            format!("caguid={guid:#x}\nCa\t{n_ports} \"{id}\"\t\t# \"{name}\"\n")
        };
        self.text.push_str(&line);
        for number in (1..=n_ports).filter_map(|number| u8::try_from(number).ok()) {
            self.port(node, End { node: index, port: number });
        }
    }

    fn port(&mut self, node: &SubnetNode, here: End) {
        let Some(peer) = self.subnet.peer(here) else { return };
        let there = &self.subnet.nodes[peer.node as usize];
        if there.kind == Kind::Router {
            return;
        }
        let (number, id) = (here.port, identity(there));
        let port = &node.ports[usize::from(number) - 1];
        let far = there.port(peer.port).and_then(|port| port.rate);
        let rate =
            port.rate.or(far).map_or(String::new(), |rate| format!(" {}", self.written(rate)));
        let (own_guid, own_lid) = match node.kind {
            Kind::Switch => (String::new(), String::new()),
            _ => {
                let guid = node.guid.wrapping_add(u64::from(number));
                if port.guid.is_some_and(|real| real != guid) {
                    self.renumbered.0 += 1;
                    if self.renumbered.0 == 1 {
                        self.renumbered.1 = format!("{} is {guid:#x}", self.subnet.name(here));
                    }
                }
                (format!("({guid:x})"), format!(" lid {} lmc {}", port.lid, port.lmc))
            }
        };
        let (guid, lid) = match there.kind {
            Kind::Switch => (String::new(), there.lid),
            _ => {
                let lid = there.port(peer.port).map_or(0, |port| port.lid);
                (format!("({:x})", there.guid.wrapping_add(u64::from(peer.port))), lid)
            }
        };
        let name = clean(&there.description);
        let port = peer.port;
        let _ = writeln!(
            self.text,
            "[{number}]{own_guid}\t\"{id}\"[{port}]{guid}\t\t#{own_lid} \"{name}\" lid {lid}{rate}"
        );
    }

    /// A rate that ibsim reads as it is meant.
    fn written(&mut self, rate: LinkRate) -> LinkRate {
        if rate.speed <= FASTEST {
            return rate;
        }
        let mapped = LinkRate { speed: FASTEST, ..rate };
        *self.slower.entry((rate.to_string(), mapped.to_string())).or_default() += 1;
        mapped
    }

    fn description(&mut self, node: &SubnetNode) -> String {
        let name = clean(&node.description);
        if name != node.description {
            self.others.push(format!("'{}' is written as '{name}'", node.description));
        }
        name
    }
}

/// 'S-...' and 'H-...': how the tools name a node.
fn identity(node: &SubnetNode) -> String {
    format!("{}-{:016x}", if node.is_switch() { 'S' } else { 'H' }, node.guid)
}

/// A description without what would end it, or the line, too early.
fn clean(description: &str) -> String {
    let plain = |letter: char| match letter {
        '"' => '\'',
        letter if letter.is_ascii() && !letter.is_ascii_control() => letter,
        _ => '?',
    };
    description.chars().take(MAX_DESCRIPTION).map(plain).collect()
}
