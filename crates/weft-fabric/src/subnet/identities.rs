//! Identities of nodes: by node GUID, by a port's GUID, by a LID.

use super::records::{Gathered, NodeRecord, Who};
use super::{Subnet, SubnetNode};
use std::collections::{BTreeMap, HashMap};

/// A port has 2^7 LIDs at most.
const MAX_LIDS_OF_PORT: usize = 128;
/// Stand-ins for GUIDs that no file gives: this and the LID. No maker's number begins like this.
const NAMELESS: u64 = 0xffff_ffff_0000_0000;

/// The identities in all files.
pub(super) struct Identities {
    /// By node GUID, in order, the node's index.
    guids: BTreeMap<u64, u32>,
    /// By port GUID the node's GUID.
    ports: HashMap<u64, u64>,
    /// By LID the node's GUID.
    lids: HashMap<u16, u64>,
}

impl Identities {
    pub(super) fn of(gathered: &Gathered) -> Identities {
        let mut identities =
            Identities { guids: BTreeMap::new(), ports: HashMap::new(), lids: HashMap::new() };
        for record in &gathered.nodes {
            let guid = record.guid.or(as_node(record.who));
            identities.guids.extend(guid.map(|guid| (guid, 0)));
        }
        for record in &gathered.nodes {
            if let (Who::Port(port), Some(guid)) = (record.who, record.guid) {
                identities.ports.entry(port).or_insert(guid);
            }
        }
        for record in &gathered.ports {
            if let (Who::Node(node), Some(port)) = (record.who, record.guid) {
                identities.ports.entry(port).or_insert(node);
            }
        }
        identities.learn_siblings(&gathered.siblings);
        // What is only ever called by a port's GUID is a node of that GUID.
        let called = gathered.nodes.iter().map(|record| record.who);
        let called = called.chain(gathered.ports.iter().map(|record| record.who));
        for who in called.chain(gathered.cables.iter().flat_map(|r| r.ends.map(|end| end.0))) {
            match who {
                Who::Port(guid) if !identities.ports.contains_key(&guid) => {
                    identities.guids.insert(guid, 0);
                }
                Who::Node(guid) => {
                    identities.guids.insert(guid, 0);
                }
                _ => {}
            }
        }
        identities.learn_lids(gathered);
        identities.learn_nameless(&gathered.nodes);
        for (index, slot) in identities.guids.values_mut().enumerate() {
            *slot = index as u32;
        }
        identities
    }

    /// Ports of one adapter are one node: the known node of any of them, else the first's own.
    fn learn_siblings(&mut self, siblings: &[(u64, u64)]) {
        for (first, other) in siblings {
            if let Some(node) = self.ports.get(other).copied() {
                self.ports.entry(*first).or_insert(node);
            }
        }
        for (first, other) in siblings {
            let node = *self.ports.entry(*first).or_insert(*first);
            self.guids.insert(node, 0);
            self.ports.entry(*other).or_insert(node);
        }
    }

    /// A node that is described, and only ever called by a LID, has a stand-in for a GUID.
    fn learn_nameless(&mut self, nodes: &[NodeRecord]) {
        for record in nodes.iter().filter(|record| record.guid.is_none()) {
            if let (Who::Lid(lid @ 1..), Some(_)) = (record.who, &record.description) {
                let guid = *self.lids.entry(lid).or_insert(NAMELESS | u64::from(lid));
                self.guids.insert(guid, 0);
            }
        }
    }

    fn learn_lids(&mut self, gathered: &Gathered) {
        let nodes = gathered.nodes.iter().map(|record| (record.who, record.guid, record.lid));
        let ports = gathered.ports.iter().map(|record| (record.who, None, record.lid));
        let ranges = gathered.lids.iter().flat_map(|(_, guid, first, last)| {
            let lids = (*first..=*last).take(MAX_LIDS_OF_PORT);
            lids.map(|lid| (Who::Port(*guid), None, Some(lid)))
        });
        for (who, guid, lid) in nodes.chain(ports).chain(ranges) {
            let guid = guid.or_else(|| self.guid(who));
            if let (Some(guid), Some(lid)) = (guid, lid.filter(|lid| *lid > 0)) {
                self.lids.entry(lid).or_insert(guid);
            }
        }
    }

    pub(super) fn guid(&self, who: Who) -> Option<u64> {
        match who {
            Who::Node(guid) => Some(guid),
            Who::Port(guid) => {
                let known = self.ports.get(&guid).copied();
                known.or_else(|| self.guids.contains_key(&guid).then_some(guid))
            }
            Who::Lid(lid) => self.lids.get(&lid).copied(),
        }
    }

    pub(super) fn index(&self, who: Who) -> Option<u32> {
        self.guids.get(&self.guid(who)?).copied()
    }

    pub(super) fn nodes(&self) -> Subnet {
        let nodes = self.guids.keys();
        let nodes = nodes.map(|guid| SubnetNode { guid: *guid, ..SubnetNode::default() });
        Subnet { nodes: nodes.collect(), ..Subnet::default() }
    }
}

fn as_node(who: Who) -> Option<u64> {
    match who {
        Who::Node(guid) => Some(guid),
        Who::Port(_) | Who::Lid(_) => None,
    }
}
