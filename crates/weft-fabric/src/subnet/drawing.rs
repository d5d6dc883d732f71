//! A subnet as a fabric document, which the simulator takes.

use super::host::{factory_sentences, is_aggregation_node, named_host};
use super::{End, Kind, Subnet, lanes};
use crate::document::{FABRIC_SCHEMA, FabricDocument, LinkDocument, NodeDocument, SwitchDocument};
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};
use std::collections::{BTreeMap, HashMap};

/// Values of cables that no tool reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsaid {
    /// Time of flight of every cable.
    pub delay: Picoseconds,
    /// Rate of cables whose width and speed no file gives.
    pub rate: BitsPerSecond,
}

/// A fabric document, and in words its differences from the subnet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// The document; what was assumed stands in it, too.
    pub document: FabricDocument,
    /// Parts left out or renamed: one sentence each.
    pub changed: Vec<String>,
}

impl Subnet {
    /// The fabric of a subnet: hosts with their adapters' cabled ports as HCAs, switches, cables,
    /// and the forwarding tables where there are any. An error where no adapter has a cable.
    pub fn to_fabric(&self, name: &str, unsaid: Unsaid) -> Result<Drawn, FabricError> {
        let mut drawing = Drawing::of(self, name, unsaid);
        drawing.add_hosts();
        if drawing.hcas.is_empty() {
            let what = "no channel adapter has a cable";
            return Err(FabricError::document("subnet", what, "hosts with cables to switches"));
        }
        drawing.add_switches();
        drawing.add_cables();
        drawing.add_tables();
        drawing.add_lanes()?;
        drawing.report_parts();
        let Drawing { document, changed, .. } = drawing;
        Ok(Drawn { document, changed })
    }
}

impl Subnet {
    /// The ends of the ports that a fabric document of the subnet names so.
    pub fn ends_named(&self, names: &[String]) -> Result<Vec<End>, FabricError> {
        let unsaid = Unsaid { delay: Picoseconds(0), rate: BitsPerSecond(1) };
        let mut drawing = Drawing::of(self, "", unsaid);
        drawing.add_hosts();
        drawing.add_switches();
        let ends: HashMap<&str, End> =
            drawing.ports.iter().map(|(end, name)| (name.as_str(), *end)).collect();
        let end = |name: &String| {
            ends.get(name.as_str()).copied().ok_or_else(|| {
                let what = format!("there is no port '{name}'");
                FabricError::document("dead", what, "ports of the subnet, such as 'leaf003[5]'")
            })
        };
        names.iter().map(end).collect()
    }
}

/// A document in the making.
struct Drawing<'a> {
    subnet: &'a Subnet,
    unsaid: Unsaid,
    document: FabricDocument,
    changed: Vec<String>,
    /// Names of hosts, HCAs and switches so far, with the highest number behind each.
    taken: HashMap<String, u32>,
    /// The vertex's port of an end: 'n001/hca0[1]'.
    ports: HashMap<End, String>,
    /// Ends that are HCAs, in the document's order.
    hcas: Vec<End>,
    /// Names of switches by node.
    switches: Vec<(u32, String)>,
}

impl<'a> Drawing<'a> {
    fn of(subnet: &'a Subnet, name: &str, unsaid: Unsaid) -> Drawing<'a> {
        let document = FabricDocument {
            schema: FABRIC_SCHEMA.to_owned(),
            name: name.to_owned(),
            assumed: subnet.assumed.clone(),
            ..FabricDocument::default()
        };
        let mut drawing = Drawing {
            subnet,
            unsaid,
            document,
            changed: Vec::new(),
            taken: HashMap::new(),
            ports: HashMap::new(),
            hcas: Vec::new(),
            switches: Vec::new(),
        };
        let delay = format!("every cable's delay: {} ps", unsaid.delay.0);
        drawing.document.assumed.push(delay);
        drawing
    }

    /// Hosts in the order of their names, each with its adapters in the order of theirs.
    fn add_hosts(&mut self) {
        let mut hosts: BTreeMap<String, BTreeMap<&str, Vec<u32>>> = BTreeMap::new();
        let (mut engines, mut routers) = (0, 0);
        for (index, node) in (0..).zip(&self.subnet.nodes) {
            match node.kind {
                Kind::Switch => {}
                Kind::Router => routers += 1,
                Kind::Ca if is_aggregation_node(&node.description) => engines += 1,
                Kind::Ca => {
                    let (host, device) = named_host(node);
                    let devices = hosts.entry(host).or_default();
                    devices.entry(device.unwrap_or_default()).or_default().push(index);
                }
            }
        }
        self.changed.extend(factory_sentences(&self.subnet.nodes));
        self.report(routers, "routers are left out");
        self.report(engines, "aggregation engines of switches are left out");
        let mut without = 0;
        for (host, devices) in hosts {
            // Adapters of one name cannot be in one host.
            let n_hosts = devices.values().map(Vec::len).max().unwrap_or(0);
            if n_hosts > 1 {
                self.changed.push(format!("{n_hosts} hosts are called '{host}': numbered"));
            }
            for turn in 0..n_hosts {
                let of_turn =
                    devices.iter().filter_map(|(name, all)| Some((*name, *all.get(turn)?)));
                let adapters: Vec<(&str, u32)> = of_turn.collect();
                without += self.add_host(&host, &adapters);
            }
        }
        self.report(without, "adapters without a cable are left out");
    }

    /// Add a host; how many of its adapters have no cable.
    fn add_host(&mut self, host: &str, adapters: &[(&str, u32)]) -> u32 {
        let (mut hcas, mut without) = (Vec::new(), 0);
        let host = self.free(host);
        for (device, index) in adapters {
            let node = &self.subnet.nodes[*index as usize];
            let cabled: Vec<u8> = (1..=u8::MAX)
                .filter(|number| node.port(*number).is_some_and(|port| port.peer.is_some()))
                .collect();
            without += u32::from(cabled.is_empty());
            for number in &cabled {
                let device = if device.is_empty() { "hca" } else { device };
                let name = match cabled.len() {
                    1 => format!("{host}/{device}"),
                    _ => format!("{host}/{device}/{number}"),
                };
                let name = self.free(&name);
                let end = End { node: *index, port: *number };
                self.ports.insert(end, format!("{name}[1]"));
                self.hcas.push(end);
                hcas.push(name);
            }
        }
        if !hcas.is_empty() {
            self.document.nodes.push(NodeDocument { name: host, hcas });
        }
        without
    }

    fn add_switches(&mut self) {
        let levels = self.subnet.levels();
        for (index, node) in (0..).zip(&self.subnet.nodes).filter(|(_, node)| node.is_switch()) {
            let name = self.free(&node.description);
            if name != node.description {
                let what = format!("a second '{}' is called '{name}'", node.description);
                self.changed.push(what);
            }
            for port in 1..=node.ports.len().min(usize::from(u8::MAX)) as u8 {
                self.ports.insert(End { node: index, port }, format!("{name}[{port}]"));
            }
            self.document.switches.push(SwitchDocument {
                name: name.clone(),
                ports: (node.ports.len() as u32).max(1),
                level: levels[index as usize].unwrap_or(0),
                group: None,
            });
            self.switches.push((index, name));
        }
    }

    fn add_cables(&mut self) {
        let mut unknown = 0;
        for (a, b) in self.subnet.cables() {
            let (Some(here), Some(there)) = (self.ports.get(&a), self.ports.get(&b)) else {
                continue;
            };
            let of = |end| self.subnet.port(end).and_then(|port| port.rate);
            let rate = of(a).or(of(b)).map(|rate| rate.data_rate());
            unknown += u32::from(rate.is_none());
            self.document.links.push(LinkDocument {
                a: here.clone(),
                b: there.clone(),
                bits_per_s: rate.unwrap_or(self.unsaid.rate),
                delay_ps: self.unsaid.delay,
            });
        }
        if unknown > 0 {
            let rate = self.unsaid.rate.0;
            let what = format!("the rate of {unknown} cables: {rate} bits a second");
            self.document.assumed.push(what);
        }
    }

    /// Tables by HCA, where the subnet has any; entries for ports that are not there are none.
    fn add_tables(&mut self) {
        let lfts = &self.subnet.lfts;
        if lfts.is_empty() {
            return;
        }
        let lids: Vec<u16> =
            self.hcas.iter().map(|end| self.subnet.port(*end).map_or(0, |p| p.lid)).collect();
        let (mut tables, mut missing, mut without) = (BTreeMap::new(), 0, 0);
        for (index, name) in &self.switches {
            let n_ports = self.subnet.nodes[*index as usize].ports.len();
            without += u32::from(lfts.row(*index as usize).is_none());
            let entry = |lid: &u16| {
                let port = lfts.port(*index as usize, *lid).filter(|_| *lid > 0).unwrap_or(0);
                let is_there = usize::from(port) <= n_ports;
                missing += u32::from(!is_there);
                if is_there { u32::from(port) } else { 0 }
            };
            let row: Vec<u32> = lids.iter().map(entry).collect();
            tables.insert(name.clone(), row);
        }
        self.document.lfts = Some(tables);
        self.report(without, "switches have no forwarding table: nothing leaves them");
        self.report(missing, "entries of forwarding tables name a port that is not there");
        let nameless = lids.iter().filter(|lid| **lid == 0).count() as u32;
        self.report(nameless, "adapters have no LID: no table leads to them");
    }

    /// The lanes of the paths, where SL2VL tables were read and the tables' paths would wait in a
    /// circle on one lane.
    fn add_lanes(&mut self) -> Result<(), FabricError> {
        let vertices = self.vertices();
        match lanes::lanes_of(&self.subnet.sl2vl, &vertices, &self.document)? {
            lanes::LaneNeed::Plain => {}
            lanes::LaneNeed::Assigned(lanes) => {
                self.document.lanes = Some(lanes);
                self.document.assumed.push(lanes::LEVELS_ASSUMED.to_owned());
            }
            lanes::LaneNeed::NoneFit => self.changed.push(lanes::NONE_FIT.to_owned()),
        }
        Ok(())
    }

    /// Names of HCAs and switches with the ends that they are of.
    fn vertices(&self) -> Vec<(String, End)> {
        let name = |end: &End| self.ports[end].trim_end_matches("[1]").to_owned();
        let hcas = self.hcas.iter().map(|end| (name(end), *end));
        let switches =
            self.switches.iter().map(|(node, name)| (name.clone(), End { node: *node, port: 0 }));
        hcas.chain(switches).collect()
    }

    fn report_parts(&mut self) {
        let mut hosts: Vec<u32> = self.subnet.parts_of(&self.hcas);
        hosts.sort_unstable();
        hosts.dedup();
        if hosts.len() > 1 {
            let n = hosts.len();
            self.changed.push(format!("hosts are in {n} parts without a cable between them"));
        }
    }

    fn report(&mut self, n: u32, what: &str) {
        if n > 0 {
            self.changed.push(format!("{n} {what}"));
        }
    }

    /// A name that is free: the wanted one if possible.
    fn free(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = self.taken.get(wanted).copied().unwrap_or(0);
        while self.taken.contains_key(&name) {
            number += 1;
            name = format!("{wanted}#{number}");
        }
        self.taken.insert(wanted.to_owned(), number.max(1));
        self.taken.entry(name.clone()).or_insert(1);
        name
    }
}
