//! Small subnets of given cables, with GUIDs in no order and a LID for every port.

use proptest::prelude::*;
use weft_fabric::subnet::records::{CableRecord, Gathered, NodeRecord, PortRecord, Who};
use weft_fabric::subnet::{End, Kind, Lfts, Place, Subnet};

/// Cables between numbered switches, and how many adapters every switch has.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Pairs of switches; a pair may occur more than once.
    pub(crate) cables: Vec<(usize, usize)>,
    /// By switch.
    pub(crate) adapters: Vec<usize>,
    /// Shuffles the GUIDs.
    pub(crate) seed: u64,
    /// Of the adapters' ports.
    pub(crate) lmc: u8,
}

const PLACE: Place = Place { source: 0, line: 1 };

impl Plan {
    /// The GUID of a switch: its order is not the order of numbers.
    pub(crate) fn guid(&self, switch: usize) -> u64 {
        let mixed = (switch as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.seed;
        (mixed << 16) | (switch as u64 + 1)
    }

    /// The subnet: adapters on the lower ports of their switch, then its cables in order.
    pub(crate) fn subnet(&self) -> Subnet {
        let mut gathered = Gathered::default();
        let mut lid = 1;
        let mut next_port = vec![1; self.adapters.len()];
        let mut take = |switch: usize| {
            next_port[switch] += 1;
            (Who::Node(self.guid(switch)), next_port[switch] - 1)
        };
        let mut join = |a: (Who, u8), b: (Who, u8)| {
            gathered.cables.push(CableRecord { place: PLACE, ends: [a, b], rate: None });
        };
        let mut adapters = Vec::new();
        for (switch, n) in self.adapters.iter().enumerate() {
            for index in 0..*n {
                let who = Who::Node(self.guid(switch).rotate_left(32) ^ (index as u64 + 1));
                join((who, 1), take(switch));
                adapters.push(who);
            }
        }
        for (a, b) in &self.cables {
            join(take(*a), take(*b));
        }
        for switch in 0..self.adapters.len() {
            let mut node = NodeRecord::of(PLACE, Who::Node(self.guid(switch)));
            (node.kind, node.lid) = (Some(Kind::Switch), Some(lid));
            node.description = Some(format!("s{switch}"));
            gathered.nodes.push(node);
            lid += 1;
        }
        lid = lid.next_multiple_of(1 << self.lmc);
        for who in adapters {
            let mut port = PortRecord::of(PLACE, who, 1);
            (port.lid, port.lmc) = (Some(lid), Some(self.lmc));
            gathered.ports.push(port);
            lid += 1 << self.lmc;
        }
        Subnet::of(gathered)
    }
}

/// A random connected graph of switches with up to three adapters each, two at least in all.
pub(crate) fn any_plan() -> impl Strategy<Value = Plan> {
    let extra = prop::collection::vec((0usize..20, 0usize..20), 0..40);
    (3usize..20, any::<u64>(), extra, prop::collection::vec(0usize..4, 20)).prop_map(
        |(n, seed, extra, mut adapters)| {
            let parent = |i: usize| (seed >> (i % 60)) as usize % i;
            let mut cables: Vec<(usize, usize)> = (1..n).map(|i| (parent(i), i)).collect();
            cables.extend(extra.into_iter().map(|(a, b)| (a % n, b % n)).filter(|(a, b)| a != b));
            adapters.truncate(n);
            (adapters[0], adapters[n - 1]) = (adapters[0].max(1), adapters[n - 1].max(1));
            Plan { cables, adapters, seed, lmc: 0 }
        },
    )
}

/// A two-level fat-tree with `width` cables from every leaf to every spine.
pub(crate) fn fat_tree(leaves: usize, spines: usize, adapters: usize, width: usize) -> Plan {
    let pairs = (0..leaves).flat_map(|leaf| (0..spines).map(move |spine| (leaf, leaves + spine)));
    let cables = pairs.flat_map(|pair| std::iter::repeat_n(pair, width)).collect();
    let mut of = vec![adapters; leaves];
    of.resize(leaves + spines, 0);
    Plan { cables, adapters: of, seed: 0, lmc: 0 }
}

/// The nodes from one to where a LID leads; none where the tables have no entry or go in circles.
pub(crate) fn path(subnet: &Subnet, lfts: &Lfts, from: u32, lid: u16) -> Option<Vec<u32>> {
    let target = subnet.end_of_lid(lid)?;
    let mut path = vec![from];
    while path[path.len() - 1] != target.node {
        let node = path[path.len() - 1];
        let port = if subnet.nodes[node as usize].is_switch() {
            lfts.port(node as usize, lid)?
        } else {
            1
        };
        path.push(subnet.peer(End { node, port })?.node);
        if path.len() > subnet.nodes.len() {
            return None;
        }
    }
    Some(path)
}
