//! Assembly of a subnet from records: identities are resolved, contradictions become misfits.

use super::identities::Identities;
use super::records::{CableRecord, Gathered, Kind, NodeRecord, Place, PortRecord, Who};
use super::{End, Lfts, Misfit, Reading, Subnet, SubnetPort};
use std::collections::HashMap;
use std::fmt::Debug;

/// The highest number of a port: 255 means "no port".
const MAX_PORT: u8 = 254;

pub(super) fn assemble(gathered: Gathered) -> Subnet {
    let who = Identities::of(&gathered);
    let mut assembly = Assembly { subnet: who.nodes(), who, n_ports: HashMap::new() };
    for record in &gathered.nodes {
        assembly.node(record);
    }
    assembly.name_the_nameless();
    assembly.report_duplicates(&gathered.nodes);
    for record in &gathered.ports {
        assembly.port(record);
    }
    for record in &gathered.cables {
        assembly.cable(record);
    }
    for (place, guid, first, last) in &gathered.lids {
        assembly.lids(*place, *guid, *first, *last);
    }
    assembly.subnet.index_lids();
    assembly.tables(&gathered);
    assembly.partitions(&gathered);
    assembly.readings(&gathered);
    let mut subnet = assembly.subnet;
    subnet.devices = gathered.devices;
    subnet.tree = gathered.tree;
    subnet.sm_logs = gathered.sm_logs;
    subnet.insides = gathered.insides;
    subnet.kept = gathered.kept;
    subnet.sources = gathered.sources;
    subnet.unread = gathered.unread;
    subnet.assumed = gathered.assumed;
    subnet
}

/// A subnet in the making.
struct Assembly {
    subnet: Subnet,
    who: Identities,
    /// By node: how many ports a file reports it has.
    n_ports: HashMap<u32, u8>,
}

impl Assembly {
    fn find(&mut self, who: Who, place: Place, about: &str) -> Option<u32> {
        let found = self.who.index(who);
        if found.is_none() {
            let what = match who {
                Who::Node(guid) => format!("node GUID {guid:#018x}"),
                Who::Port(guid) => format!("port GUID {guid:#018x}"),
                Who::Lid(lid) => format!("LID {lid}"),
            };
            self.subnet.misfits.push(Misfit::Stranger { place, what, about: about.to_owned() });
        }
        found
    }

    fn node(&mut self, record: &NodeRecord) {
        let guid = record.guid.map_or(record.who, Who::Node);
        let Some(index) = self.find(guid, record.place, "a node") else { return };
        let node = &mut self.subnet.nodes[index as usize];
        if let Some(kind) = record.kind {
            node.kind = kind;
        }
        if node.description.is_empty() {
            node.description = record.description.clone().unwrap_or_default();
        }
        node.system_guid = node.system_guid.or(record.system_guid);
        node.vendor = node.vendor.or(record.vendor);
        node.device = node.device.or(record.device);
        if let Some(lid) = record.lid.filter(|lid| *lid > 0) {
            let about = format!("LID of '{}'", node.description);
            let first = (node.lid > 0).then_some(node.lid);
            node.lid = first.unwrap_or(lid);
            note_conflict(&mut self.subnet.misfits, record.place, about, first, lid);
        }
        let node = &mut self.subnet.nodes[index as usize];
        node.lmc = node.lmc.max(record.lmc.unwrap_or(0).min(7));
        if let Some(n_ports) = record.n_ports {
            let n_ports = n_ports.min(MAX_PORT);
            let known = self.n_ports.entry(index).or_insert(n_ports);
            *known = (*known).max(n_ports);
            let wanted = usize::from(*known);
            let ports = &mut self.subnet.nodes[index as usize].ports;
            ports.resize(ports.len().max(wanted), SubnetPort::default());
        }
    }

    fn report_duplicates(&mut self, records: &[NodeRecord]) {
        let mut entries: HashMap<(u32, u64), &NodeRecord> = HashMap::new();
        for record in records.iter().filter(|record| record.is_entry) {
            let Some(guid) = self.who.guid(record.guid.map_or(record.who, Who::Node)) else {
                continue;
            };
            match entries.entry((record.place.source, guid)) {
                std::collections::hash_map::Entry::Vacant(slot) => {
                    slot.insert(record);
                }
                std::collections::hash_map::Entry::Occupied(first) => {
                    let pair = [*first.get(), record];
                    let descriptions = pair.map(|r| r.description.clone().unwrap_or_default());
                    self.subnet.misfits.push(Misfit::DuplicateGuid {
                        guid,
                        descriptions: descriptions.to_vec(),
                        places: pair.map(|r| r.place),
                    });
                }
            }
        }
    }

    /// The port of a number, made where the node's number of ports is not known.
    fn socket(&mut self, node: u32, number: u8, place: Place) -> Option<&mut SubnetPort> {
        let there = &mut self.subnet.nodes[node as usize];
        let most = self.n_ports.get(&node).copied().unwrap_or(MAX_PORT);
        if number == 0 || number > most {
            let node = there.description.clone();
            self.subnet.misfits.push(Misfit::NoSuchPort { place, node, port: number });
            return None;
        }
        let wanted = usize::from(number);
        there.ports.resize(there.ports.len().max(wanted), SubnetPort::default());
        Some(&mut there.ports[wanted - 1])
    }

    fn port(&mut self, record: &PortRecord) {
        let Some(node) = self.find(record.who, record.place, "a port") else { return };
        let about = format!("{}[{}]", self.subnet.nodes[node as usize].description, record.number);
        let Some(port) = self.socket(node, record.number, record.place) else { return };
        port.guid = port.guid.or(record.guid);
        port.lmc = port.lmc.max(record.lmc.unwrap_or(0).min(7));
        let lid = record.lid.filter(|lid| *lid > 0);
        let first = (port.lid > 0).then_some(port.lid);
        port.lid = first.or(lid).unwrap_or(0);
        let firsts = (first, port.rate, port.logical);
        port.rate = port.rate.or(record.rate);
        port.supported = port.supported.or(record.supported);
        port.logical = port.logical.or(record.logical);
        port.physical = port.physical.or(record.physical);
        for (name, fact) in &record.facts {
            port.facts.entry(name.clone()).or_insert_with(|| fact.clone());
        }
        let misfits = &mut self.subnet.misfits;
        if let Some(lid) = lid {
            note_conflict(misfits, record.place, format!("LID of {about}"), firsts.0, lid);
        }
        if let Some(rate) = record.rate {
            let (first, rate) = (firsts.1.map(|r| r.to_string()), rate.to_string());
            note_conflict(misfits, record.place, format!("rate of {about}"), first, rate);
        }
        if let Some(state) = record.logical {
            note_conflict(misfits, record.place, format!("state of {about}"), firsts.2, state);
        }
    }

    fn cable(&mut self, record: &CableRecord) {
        let mut ends = Vec::new();
        for (who, number) in record.ends {
            let Some(node) = self.find(who, record.place, "a cable") else { return };
            if self.socket(node, number, record.place).is_none() {
                return;
            }
            ends.push(End { node, port: number });
        }
        let (a, b) = (ends[0], ends[1]);
        for (here, there) in [(a, b), (b, a)] {
            if a == b || self.subnet.peer(here).is_some_and(|peer| peer != there) {
                let port = (self.subnet.nodes[here.node as usize].description.clone(), here.port);
                self.subnet.misfits.push(Misfit::PortUsedTwice { place: record.place, port });
                return;
            }
        }
        for (here, there) in [(a, b), (b, a)] {
            let port = &mut self.subnet.nodes[here.node as usize].ports[usize::from(here.port) - 1];
            port.peer = Some(there);
            port.rate = port.rate.or(record.rate);
        }
    }

    fn lids(&mut self, place: Place, guid: u64, first: u16, last: u16) {
        // A file of all port GUIDs of a site: those of hosts that are gone are no error.
        let Some(index) = self.who.index(Who::Port(guid)) else { return };
        let lmc = (u32::from(last.saturating_sub(first)) + 1).ilog2().min(7) as u8;
        let node = &mut self.subnet.nodes[index as usize];
        let (about, lid, had) = match node.ports.iter_mut().find(|port| port.guid == Some(guid)) {
            Some(port) => (format!("{guid:#018x}"), &mut port.lid, &mut port.lmc),
            None => (format!("'{}'", node.description), &mut node.lid, &mut node.lmc),
        };
        if *lid == 0 {
            *lid = first;
        }
        if *lid == first {
            *had = lmc.max(*had);
        } else if !(first..=last).contains(lid) {
            let about = format!("LID of {about}");
            note_conflict(&mut self.subnet.misfits, place, about, Some(*lid), first);
        }
    }

    fn tables(&mut self, gathered: &Gathered) {
        let mut lfts = Lfts::new(self.subnet.nodes.len());
        for record in &gathered.tables {
            let Some(node) = self.find(record.who, record.place, "a forwarding table") else {
                continue;
            };
            self.subnet.nodes[node as usize].kind = Kind::Switch;
            match lfts.row(node as usize) {
                None => lfts.set_row(node as usize, record.ports.clone()),
                Some(first) if same_table(first, &record.ports) => {}
                Some(_) => {
                    let description = &self.subnet.nodes[node as usize].description;
                    let about = format!("forwarding table of '{description}'");
                    let (first, second) = ("a table".to_owned(), "another table".to_owned());
                    let place = record.place;
                    self.subnet.misfits.push(Misfit::Conflict { place, about, first, second });
                }
            }
        }
        self.subnet.lfts = lfts;
        for (place, who, record) in &gathered.adaptive {
            if let Some(node) = self.find(*who, *place, "adaptive-routing groups") {
                self.subnet.adaptive.insert(node, record.clone());
            }
        }
        for record in &gathered.sl2vl {
            if let Some(node) = self.find(record.who, record.place, "virtual lanes") {
                let key = (node, record.ingress, record.egress);
                self.subnet.sl2vl.insert(key, record.lanes);
            }
        }
    }

    fn partitions(&mut self, gathered: &Gathered) {
        for record in &gathered.arbitration {
            if let Some(node) = self.find(record.who, record.place, "arbitration of lanes") {
                self.subnet.arbitration.insert((node, record.port), record.arbitration.clone());
            }
        }
        for record in &gathered.partition_keys {
            let Some(node) = self.find(record.who, record.place, "partition keys") else {
                continue;
            };
            let keys = self.subnet.partition_keys.entry((node, record.port)).or_default();
            let first = u32::from(record.block) * record.keys.len() as u32;
            // What a later reading no longer has is gone.
            let last = first + record.keys.len() as u32;
            keys.retain(|at, _| !(first..last).contains(&u32::from(*at)));
            let there = (first..).zip(&record.keys).filter(|(_, key)| **key != 0);
            keys.extend(there.filter_map(|(at, key)| Some((u16::try_from(at).ok()?, *key))));
        }
        self.subnet.path_levels.clone_from(&gathered.path_levels);
    }

    fn readings(&mut self, gathered: &Gathered) {
        for record in &gathered.readings {
            let Some(node) = self.find(record.who, record.place, "counters") else { continue };
            if record.port > 0 && self.socket(node, record.port, record.place).is_none() {
                continue;
            }
            self.subnet.readings.push(Reading {
                source: record.place.source,
                end: End { node, port: record.port },
                counters: record.counters.clone(),
                ratios: record.ratios.clone(),
            });
        }
    }

    fn name_the_nameless(&mut self) {
        for node in self.subnet.nodes.iter_mut().filter(|node| node.description.is_empty()) {
            node.description = format!("{:#018x}", node.guid);
        }
    }
}

fn same_table(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let tail = &long[short.len()..];
    long[..short.len()] == *short && tail.iter().all(|port| *port == crate::subnet::lfts::NO_PORT)
}

fn note_conflict<T: Debug + PartialEq>(
    misfits: &mut Vec<Misfit>,
    place: Place,
    about: String,
    first: Option<T>,
    second: T,
) {
    if let Some(first) = first.filter(|first| *first != second) {
        let (first, second) = (format!("{first:?}"), format!("{second:?}"));
        misfits.push(Misfit::Conflict { place, about, first, second });
    }
}
