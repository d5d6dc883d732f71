//! Which switches are leaves: links tell it, whatever hosts are cabled to a spine.

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
fn a_host_at_a_spine_above_leaves_makes_it_no_leaf() {
    for hosts in [1, 2, 10, 11] {
        assert_eq!(levels(tree(hosts, "the manager's host")), TREE);
    }
}

/// Two pods of two leaves and two spines each, below two cores; `hosts` at every leaf, and one
/// service node at a core and at a spine.
fn pods(hosts: u64) -> Gathered {
    let switches = (1..=10).map(|guid| node(guid, Kind::Switch, "a switch"));
    let mut gathered = Gathered { nodes: switches.collect(), ..Gathered::default() };
    let mut used = [0u8; 11];
    let mut join = |a: u64, b: u64| {
        let ends = [a, b].map(|guid| {
            let port = used.get_mut(guid as usize).map_or(1, |port| {
                *port += 1;
                *port
            });
            (Who::Node(guid), port)
        });
        gathered.cables.push(CableRecord { place: PLACE, ends, rate: None });
    };
    for (leaf, spine) in [(1, 5), (1, 6), (2, 5), (2, 6), (3, 7), (3, 8), (4, 7), (4, 8)] {
        join(leaf, spine);
    }
    for (spine, core) in [(5, 9), (6, 10), (7, 9), (8, 10)] {
        join(spine, core);
    }
    let of_leaves = (1..=4).flat_map(|leaf| (1..=hosts).map(move |host| (leaf, 100 * leaf + host)));
    let service = [(9, 901), (6, 601)];
    let all: Vec<(u64, u64)> = of_leaves.chain(service).collect();
    for (switch, host) in &all {
        join(*switch, *host);
    }
    gathered.nodes.extend(all.iter().map(|(_, host)| node(*host, Kind::Ca, "host")));
    gathered
}

#[test]
fn service_nodes_at_a_core_and_at_a_spine_make_no_leaves() {
    let subnet = Subnet::of(pods(4));
    let levels = subnet.levels();
    let found: Vec<Option<u32>> = levels[..10].to_vec();
    let want = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3];
    assert_eq!(found, want.map(Some));
}

#[test]
fn a_spine_that_lost_all_its_leaves_stays_a_spine() {
    let mut gathered = pods(4);
    // Spine 5 keeps its up-link alone, at a port of 40. No host is at its core: that would look
    // like a leaf.
    let node_of = |who: Who| match who {
        Who::Node(guid) => guid,
        _ => 0,
    };
    gathered.cables.retain(|cable| {
        let [a, b] = cable.ends.map(|(who, _)| node_of(who));
        !(a < 5 && b == 5) && b != 901
    });
    for cable in &mut gathered.cables {
        if node_of(cable.ends[0].0) == 5 {
            cable.ends[0].1 = 40;
        }
    }
    let levels = Subnet::of(gathered).levels();
    let want = [1, 1, 1, 1, 2, 2, 2, 2, 3, 3];
    assert_eq!(levels[..10], want.map(Some));
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

#[test]
fn a_factory_description_is_no_host() {
    use weft_fabric::subnet::host::is_factory_description;
    for name in
        ["MT25408 ConnectX Mellanox Technologies", "MT4115 ConnectX-4", "", "localhost mlx5_0"]
    {
        assert!(is_factory_description(name), "{name}");
    }
    for name in ["n001 mlx5_0", "n001", "MT01 HCA-1", "c101-001 HCA-1", "n001/hca0"] {
        assert!(!is_factory_description(name), "{name}");
    }
}
