//! The inside of a host as hwloc's `lstopo --of xml` writes it (versions 1 and 2).
//!
//! SOURCE: hwloc 2.9, `hwloc2.dtd` and `hwloc.dtd`: an object tree; of I/O, bridges, PCI devices
//! and what the operating system calls them (`osdev_type`).

use super::xml::{self, MAX_XML_BYTES};
use crate::read::format::Format;
use crate::read::lines::Lines;
use crate::subnet::records::Gathered;
use roxmltree::Node;
use serde_json::{Map, Value, json};
use std::io;

pub(crate) const FORMAT: Format =
    Format { name: "hwloc", is_it, max_bytes: MAX_XML_BYTES as u64, read };

const EXPECTED: &str = "what 'lstopo --of xml' writes: an element 'topology' of elements 'object'";
/// Words of a set of NUMA nodes, of 32 bits each.
const MAX_WORDS: usize = 64;
/// The kinds that `osdev_type` numbers.
const OS_DEVICES: [&str; 6] = ["block", "gpu", "network", "openfabrics", "dma", "coproc"];

fn is_it(head: &str) -> bool {
    head.trim_start().starts_with('<') && head.contains("<topology")
}

fn read(lines: &mut Lines<'_>, gathered: &mut Gathered) -> io::Result<()> {
    let text = lines.whole_text(MAX_XML_BYTES)?;
    match inside(&text) {
        Ok(inside) => gathered.insides.push(inside),
        Err((line, what)) => gathered.unread(lines.at(line), &what, EXPECTED),
    }
    Ok(())
}

fn inside(text: &str) -> Result<Value, (u32, String)> {
    let text = xml::without_doctype(text, &["hwloc.dtd", "hwloc2.dtd"]);
    let document = xml::parse(&text)?;
    let topology = document.root_element();
    if topology.tag_name().name() != "topology" {
        let name = topology.tag_name().name();
        return Err((xml::line_of(&topology), format!("an element '{name}'")));
    }
    let mut host = Host::default();
    for object in topology.descendants().filter(|node| node.has_tag_name("object")) {
        host.add(&object);
    }
    if host.n_objects == 0 {
        return Err((1, "no 'object'".to_owned()));
    }
    let version = topology.attribute("version").unwrap_or("1");
    Ok(json!({
        "kind": "hwloc",
        "version": version,
        "host": host.name,
        "packages": host.n_packages,
        "numa_nodes": host.n_numa_nodes,
        "cores": host.n_cores,
        "hardware_threads": host.n_threads,
        "memory_bytes": host.memory_bytes,
        "devices": host.devices,
    }))
}

/// Counts so far.
#[derive(Default)]
struct Host {
    name: Option<String>,
    n_objects: u64,
    n_packages: u64,
    n_numa_nodes: u64,
    n_cores: u64,
    n_threads: u64,
    memory_bytes: u64,
    devices: Vec<Value>,
}

impl Host {
    fn add(&mut self, object: &Node<'_, '_>) {
        self.n_objects += 1;
        match object.attribute("type").unwrap_or_default() {
            "Machine" if self.name.is_none() => {
                self.name =
                    facts(object).get("HostName").and_then(Value::as_str).map(str::to_owned);
            }
            // Version 1 called packages sockets until 1.11.
            "Package" | "Socket" => self.n_packages += 1,
            "NUMANode" => {
                self.n_numa_nodes += 1;
                let memory = object.attribute("local_memory").and_then(|text| text.parse().ok());
                self.memory_bytes = self.memory_bytes.saturating_add(memory.unwrap_or(0));
            }
            "Core" => self.n_cores += 1,
            "PU" => self.n_threads += 1,
            "OSDev" => self.devices.push(device(object)),
            _ => {}
        }
    }
}

/// A device by its name in the operating system, with the PCI device it is of, the bridges above
/// that one from the processor on, and the NUMA nodes that are near.
fn device(object: &Node<'_, '_>) -> Value {
    let kind = object.attribute("osdev_type").unwrap_or_default();
    let named = kind.parse::<usize>().ok().and_then(|number| OS_DEVICES.get(number));
    let above = || object.ancestors().skip(1).filter(|node| node.has_tag_name("object"));
    let pci = above().find(|node| node.attribute("type") == Some("PCIDev"));
    let bridges = above().filter(|node| node.attribute("type") == Some("Bridge"));
    let mut path: Vec<&str> = bridges.filter_map(|node| node.attribute("pci_busid")).collect();
    path.reverse();
    let near = above().find_map(|node| node.attribute("nodeset"));
    let speed = pci.and_then(|node| node.attribute("pci_link_speed")?.parse::<f64>().ok());
    json!({
        "name": object.attribute("name"),
        "kind": named.copied().unwrap_or(kind),
        "subtype": object.attribute("subtype"),
        "pci": pci.and_then(|node| node.attribute("pci_busid")),
        "pci_type": pci.and_then(|node| node.attribute("pci_type")),
        "pci_gb_per_s": speed.filter(|speed| *speed > 0.0 && speed.is_finite()),
        "pci_path": path,
        "numa_nodes": near.map(numa_nodes),
        "facts": facts(object),
    })
}

fn facts(object: &Node<'_, '_>) -> Map<String, Value> {
    let infos = object.children().filter(|node| node.has_tag_name("info"));
    let fact = |node: Node<'_, '_>| {
        Some((node.attribute("name")?.to_owned(), Value::from(node.attribute("value")?)))
    };
    infos.filter_map(fact).collect()
}

/// '0x00000001,0x00000000' as numbers, 32 here; words of 32 bits, the highest first.
fn numa_nodes(set: &str) -> Vec<u32> {
    let words = set.split(',').rev().take(MAX_WORDS);
    let words = words.map(|word| u32::from_str_radix(word.trim_start_matches("0x"), 16));
    let mut found = Vec::new();
    for (at, word) in (0u32..).zip(words) {
        let Ok(word) = word else { break };
        found.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 32 * at + bit));
    }
    found
}
