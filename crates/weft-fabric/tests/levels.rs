//! Which switches are leaves: those with hosts of their own, whatever else is cabled to a spine.

use weft_fabric::paths::Net;
use weft_fabric::subnet::records::{CableRecord, Gathered, Kind, NodeRecord, Who};
use weft_fabric::subnet::{Lfts, Place, Subnet};

const PLACE: Place = Place { source: 0, line: 1 };

fn node(guid: u64, kind: Kind, description: &str) -> NodeRecord {
    NodeRecord {
        kind: Some(kind),
        description: Some(description.to_owned()),
        ..NodeRecord::of(PLACE, Who::Node(guid))
    }
}

/// Leaves 1 and 2 with `hosts` hosts each, spine 3 above both with one adapter of that name.
fn tree(hosts: u64, at_the_spine: &str) -> Gathered {
    let switches = (1..=3).map(|guid| node(guid, Kind::Switch, "a switch"));
    let mut gathered = Gathered { nodes: switches.collect(), ..Gathered::default() };
    gathered.nodes.push(node(99, Kind::Ca, at_the_spine));
    let mut join = |a: (u64, u8), b: (u64, u8)| {
        let ends = [a, b].map(|(guid, port)| (Who::Node(guid), port));
        gathered.cables.push(CableRecord { place: PLACE, ends, rate: None });
    };
    join((1, 40), (3, 1));
    join((2, 40), (3, 2));
    join((3, 3), (99, 1));
    for leaf in [1, 2] {
        for host in 1..=hosts {
            join((leaf, host as u8), (100 * leaf + host, 1));
        }
    }
    for leaf in [1, 2] {
        let guids = (1..=hosts).map(|host| 100 * leaf + host);
        gathered.nodes.extend(guids.map(|guid| node(guid, Kind::Ca, "host")));
    }
    gathered
}

fn levels(gathered: Gathered) -> Vec<Option<u32>> {
    let subnet = Subnet::of(gathered);
    let lfts = Lfts::new(subnet.nodes.len());
    let net = Net::new(&subnet, &lfts);
    (0..3).map(|switch| net.level(switch)).collect()
}

const TREE: [Option<u32>; 3] = [Some(1), Some(1), Some(2)];

#[test]
fn hosts_make_a_leaf_before_any_subnet_manager_gave_them_lids() {
    let mut gathered = tree(2, "host");
    gathered.cables.retain(|cable| cable.ends[1].0 != Who::Node(99));
    assert_eq!(levels(gathered), TREE);
}

#[test]
fn the_adapter_inside_a_spine_makes_it_no_leaf() {
    assert_eq!(levels(tree(2, "Mellanox Technologies Aggregation Node")), TREE);
}

#[test]
fn one_host_at_a_spine_above_full_leaves_is_a_guest() {
    assert_eq!(levels(tree(11, "the manager's host")), TREE);
    // A tenth of what a leaf has is no guest.
    assert_eq!(levels(tree(10, "a host")), [Some(1); 3]);
}

#[test]
fn a_leaf_whose_hosts_are_all_down_is_a_leaf_and_a_core_is_none() {
    let mut gathered = tree(2, "host");
    gathered.cables.retain(|cable| cable.ends[1].0 != Who::Node(99));
    // Leaf 2 without hosts, but with 40 ports; switch 3 stays above both.
    let is_host_of_2 = |cable: &CableRecord| matches!(cable.ends[1].0, Who::Node(201 | 202));
    gathered.cables.retain(|cable| !is_host_of_2(cable));
    assert_eq!(levels(gathered), TREE);
    // A switch above leaf 2's spine that is full is a core: switch 2 with 3 of its ports, all used.
    let mut core = tree(2, "host");
    core.cables.retain(|cable| !is_host_of_2(cable) && cable.ends[1].0 != Who::Node(99));
    for cable in &mut core.cables {
        if cable.ends[0] == (Who::Node(2), 40) {
            cable.ends[0].1 = 1;
        }
    }
    assert_eq!(levels(core), [Some(1), Some(3), Some(2)]);
}
