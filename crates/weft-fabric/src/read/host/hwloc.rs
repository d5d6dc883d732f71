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
use std::collections::BTreeMap;
use std::io;

pub(crate) const FORMAT: Format =
    Format { name: "hwloc", is_it, max_bytes: MAX_XML_BYTES as u64, read };

const EXPECTED: &str = "what 'lstopo --of xml' writes: an element 'topology' of elements 'object'";
/// Words of a set of CPUs, of 32 bits each.
const MAX_CPU_WORDS: usize = 256;
/// Words of a set of NUMA nodes.
///
/// SOURCE: Linux, CONFIG_NODES_SHIFT: at most 2^10 nodes.
const MAX_NODE_WORDS: usize = 32;
/// Devices of a host, each with its sets: a thousand virtual functions have a few each.
const MAX_DEVICES: usize = 8192;
/// Longest address of a device on its bus: 8 digits of a domain, 8 characters, and room.
const MAX_BUS_BYTES: usize = 20;
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

/// The PCI devices and processors of a host, as a topology file of NCCL needs them.
#[derive(Debug, Default)]
pub struct PciTree {
    /// Bridges and devices in the file's order.
    pub devices: Vec<PciDevice>,
    /// The CPUs of each NUMA node.
    pub cpus: BTreeMap<u32, Vec<u32>>,
    /// The first value of each fact about an object: `CPUVendor`, `Architecture` and others.
    pub facts: BTreeMap<String, String>,
}

/// A bridge or device. Texts are the file's.
#[derive(Debug)]
pub struct PciDevice {
    /// Its address on the bus.
    pub bus: String,
    /// Its class and ids: `0302 [10de:2330] [10de:16c1]`.
    pub ids: String,
    /// The address of the bridge above it.
    pub above: Option<String>,
    /// The NUMA nodes that are near.
    pub numa_nodes: Vec<u32>,
}

/// The PCI tree in a file of `lstopo --of xml`, or the line and what is wrong there.
pub fn pci_tree(text: &str) -> Result<PciTree, (u32, String)> {
    with_objects(text, |_, objects| {
        let mut tree = PciTree::default();
        for object in objects {
            tree.add(object);
            require_few(tree.devices.len(), object)?;
        }
        Ok(tree)
    })
}

fn inside(text: &str) -> Result<Value, (u32, String)> {
    with_objects(text, |topology, objects| {
        let mut host = Host::default();
        for object in objects {
            host.add(object);
            require_few(host.devices.len(), object)?;
        }
        Ok(host.to_document(topology.attribute("version").unwrap_or("1")))
    })
}

fn require_few(n_devices: usize, last: &Node<'_, '_>) -> Result<(), (u32, String)> {
    match n_devices > MAX_DEVICES {
        true => Err((xml::line_of(last), format!("more than {MAX_DEVICES} devices"))),
        false => Ok(()),
    }
}

/// What `read` makes of the root and of all objects below it.
fn with_objects<T>(
    text: &str,
    read: impl Fn(Node<'_, '_>, &[Node<'_, '_>]) -> Result<T, (u32, String)>,
) -> Result<T, (u32, String)> {
    let text = xml::without_doctype(text, &["hwloc.dtd", "hwloc2.dtd"]);
    let document = xml::parse(&text)?;
    let topology = document.root_element();
    if topology.tag_name().name() != "topology" {
        let name = topology.tag_name().name();
        return Err((xml::line_of(&topology), format!("an element '{name}'")));
    }
    let objects: Vec<Node<'_, '_>> =
        topology.descendants().filter(|node| node.has_tag_name("object")).collect();
    if objects.is_empty() {
        return Err((1, "no 'object'".to_owned()));
    }
    read(topology, &objects)
}

impl PciTree {
    fn add(&mut self, object: &Node<'_, '_>) {
        for (name, value) in facts(object) {
            self.facts.entry(name).or_insert(value);
        }
        let text = |name| object.attribute(name).unwrap_or_default();
        match text("type") {
            "NUMANode" => {
                if let Ok(number) = text("os_index").parse() {
                    self.cpus.insert(number, members(text("cpuset"), MAX_CPU_WORDS));
                }
            }
            "PCIDev" | "Bridge" => self.devices.push(PciDevice {
                bus: text("pci_busid").to_owned(),
                ids: text("pci_type").to_owned(),
                above: bridges_above(object).last().map(str::to_owned),
                numa_nodes: nearest_numa_nodes(object).unwrap_or_default(),
            }),
            _ => {}
        }
    }
}

/// Counts so far.
#[derive(Default)]
struct Host {
    name: Option<String>,
    n_packages: u64,
    n_numa_nodes: u64,
    n_cores: u64,
    n_threads: u64,
    memory_bytes: u64,
    devices: Vec<Value>,
}

impl Host {
    fn to_document(&self, version: &str) -> Value {
        json!({
            "kind": "hwloc",
            "version": version,
            "host": self.name,
            "packages": self.n_packages,
            "numa_nodes": self.n_numa_nodes,
            "cores": self.n_cores,
            "hardware_threads": self.n_threads,
            "memory_bytes": self.memory_bytes,
            "devices": self.devices,
        })
    }

    fn add(&mut self, object: &Node<'_, '_>) {
        match object.attribute("type").unwrap_or_default() {
            "Machine" if self.name.is_none() => {
                self.name = facts(object).find(|(name, _)| name == "HostName").map(|it| it.1);
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

/// A device by its name in the operating system, with its PCI device, the bridges above it from
/// the processor on, and the NUMA nodes that are near.
fn device(object: &Node<'_, '_>) -> Value {
    let kind = object.attribute("osdev_type").unwrap_or_default();
    let named = kind.parse::<usize>().ok().and_then(|number| OS_DEVICES.get(number));
    let pci = object.ancestors().find(|node| node.attribute("type") == Some("PCIDev"));
    let speed = pci.and_then(|node| node.attribute("pci_link_speed")?.parse::<f64>().ok());
    json!({
        "name": object.attribute("name"),
        "kind": named.copied().unwrap_or(kind),
        "subtype": object.attribute("subtype"),
        "pci": pci.and_then(|node| node.attribute("pci_busid")),
        "pci_type": pci.and_then(|node| node.attribute("pci_type")),
        "pci_gb_per_s": speed.filter(|speed| *speed > 0.0 && speed.is_finite()),
        "pci_path": bridges_above(object).collect::<Vec<_>>(),
        "numa_nodes": nearest_numa_nodes(object),
        "facts": facts(object).map(|(name, value)| (name, value.into())).collect::<Map<_, _>>(),
    })
}

/// Addresses of the PCI bridges above an object, from the processor on.
fn bridges_above<'a>(object: &Node<'a, '_>) -> impl Iterator<Item = &'a str> {
    let above: Vec<_> = object.ancestors().skip(1).collect();
    let bridges = above.into_iter().rev().filter(|it| it.attribute("type") == Some("Bridge"));
    let addresses = bridges.filter_map(|bridge| bridge.attribute("pci_busid"));
    addresses.filter(|address| address.len() <= MAX_BUS_BYTES)
}

/// Names and values that stand in an object.
fn facts(object: &Node<'_, '_>) -> impl Iterator<Item = (String, String)> {
    let infos = object.children().filter(|node| node.has_tag_name("info"));
    infos.filter_map(|info| {
        Some((info.attribute("name")?.to_owned(), info.attribute("value")?.to_owned()))
    })
}

/// The NUMA nodes of an object, or of the nearest above it that names some.
fn nearest_numa_nodes(object: &Node<'_, '_>) -> Option<Vec<u32>> {
    let set = object.ancestors().find_map(|node| node.attribute("nodeset"))?;
    Some(members(set, MAX_NODE_WORDS))
}

/// '0x00000001,,0x00000003' as numbers, 0, 1 and 64 here: words of 32 bits, the highest first, and
/// nothing where all bits are 0. A set without an end (0xf...f), with too many words, or with a
/// word that is no number, has no members.
fn members(set: &str, max_words: usize) -> Vec<u32> {
    let mut found = Vec::new();
    for (at, word) in set.split(',').rev().enumerate() {
        let word = match word.strip_prefix("0x").unwrap_or(word) {
            "" => 0,
            digits => match u32::from_str_radix(digits, 16) {
                Ok(word) if at < max_words => word,
                _ => return Vec::new(),
            },
        };
        let at = at as u32;
        found.extend((0..32).filter(|bit| word >> bit & 1 == 1).map(|bit| 32 * at + bit));
    }
    found
}
