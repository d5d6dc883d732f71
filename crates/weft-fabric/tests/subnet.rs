//! What belongs together is joined, and what does not fit is reported.

use crate::common::samples;
use serde_json::{Value, json};
use weft_fabric::paths::trace;
use weft_fabric::subnet::records::{CableRecord, Gathered, NodeRecord, Who};
use weft_fabric::subnet::{End, Misfit, Place, Subnet};
use weft_fabric::{Fabric, generate};

fn place(line: u32) -> Place {
    Place { source: 0, line }
}

fn cable(line: u32, ends: [(u64, u8); 2]) -> CableRecord {
    let ends = ends.map(|(guid, port)| (Who::Node(guid), port));
    CableRecord { place: place(line), ends, rate: None }
}

#[test]
fn lids_of_ports_that_no_one_describes_are_no_error() {
    let subnet = samples::subnet(&["opensm/guid2lid"]);
    assert_eq!((subnet.nodes.len(), subnet.misfits.len(), subnet.unread.len()), (0, 0, 0));
}

#[test]
fn a_second_cable_in_a_port_is_reported_and_the_first_one_holds() {
    let cables = vec![cable(1, [(1, 1), (2, 1)]), cable(2, [(3, 1), (2, 1)])];
    let subnet = Subnet::of(Gathered { cables, ..Gathered::default() });
    assert_eq!(subnet.peer(End { node: 1, port: 1 }), Some(End { node: 0, port: 1 }));
    assert_eq!(subnet.peer(End { node: 2, port: 1 }), None);
    let reported =
        Misfit::PortUsedTwice { place: place(2), port: ("0x0000000000000002".to_owned(), 1) };
    assert_eq!(subnet.misfits, [reported]);
}

#[test]
fn a_guid_with_two_entries_in_one_file_is_a_duplicate_but_not_in_two_files() {
    let entry = |source: u32, line: u32, description: &str| NodeRecord {
        description: Some(description.to_owned()),
        is_entry: true,
        ..NodeRecord::of(Place { source, line }, Who::Node(7))
    };
    let nodes = vec![entry(0, 1, "a"), entry(1, 1, "a"), entry(1, 9, "b")];
    let subnet = Subnet::of(Gathered { nodes, ..Gathered::default() });
    let descriptions = vec!["a".to_owned(), "b".to_owned()];
    let places = [Place { source: 1, line: 1 }, Place { source: 1, line: 9 }];
    assert_eq!(subnet.misfits, [Misfit::DuplicateGuid { guid: 7, descriptions, places }]);
}

#[test]
fn a_generated_fabric_becomes_a_subnet_with_a_lid_for_every_port() {
    let spec = json!({"generate": "fat_tree", "levels": 2, "nodes": 8, "nodes_per_leaf": 4,
        "spines": 2, "host_bits_per_s": 100_000_000_000u64, "host_delay_ps": 0,
        "switch_bits_per_s": 200_000_000_000u64, "switch_delay_ps": 0});
    let fabric = Fabric::new(&generate::read(spec).expect("a spec")).expect("a fabric");
    let subnet = Subnet::of_fabric(&fabric).expect("rates that InfiniBand has");
    assert_eq!((subnet.nodes.len(), subnet.top_lid(), subnet.endports().count()), (12, 12, 8));
    assert_eq!(subnet.cables().count(), 12);
    for lid in 1..=12 {
        let end = subnet.end_of_lid(lid).expect("every LID is somebody's");
        assert_eq!(end.node, u32::from(lid) - 1);
        assert_eq!(end.port, u8::from(lid <= 8));
    }
    let rates: Vec<String> =
        subnet.cables().map(|(a, _)| subnet.port(a).unwrap().rate.unwrap().to_string()).collect();
    // Half of what the switches have: ports split in two.
    assert_eq!((&rates[0][..], &rates[11][..]), ("2xHDR", "4xHDR"));
    assert_eq!(subnet.nodes[0].description, "n001 hca0");
}

#[test]
fn the_boards_of_a_director_are_one_system() {
    let spec = json!({"generate": "directors", "nodes": 8, "nodes_per_leaf": 4, "directors": 2,
        "cables_per_director": 1, "inside": "boards", "board_ports": 4,
        "host_bits_per_s": 25_000_000_000u64, "host_delay_ps": 0,
        "switch_bits_per_s": 100_000_000_000u64, "switch_delay_ps": 0});
    let fabric = Fabric::new(&generate::read(spec).expect("a spec")).expect("a fabric");
    let subnet = Subnet::of_fabric(&fabric).expect("rates that InfiniBand has");
    let of = |name: &str| {
        subnet.nodes.iter().find(|node| node.description == name).expect(name).system_guid
    };
    assert_eq!(of("director-01/line-01"), of("director-01/spine-02"));
    assert_ne!(of("director-01/line-01"), of("director-02/line-01"));
    assert_ne!(of("leaf-01"), of("leaf-02"));
    let first = subnet.cables().next().expect("a cable").0;
    assert_eq!(subnet.port(first).unwrap().rate.unwrap().to_string(), "1xEDR");
}

/// Its cables, up to two million, are never built.
#[test]
fn a_document_too_large_for_infiniband_is_refused_for_its_switches() {
    let dragonfly = |change: Value| {
        let mut spec = json!({"generate": "dragonfly", "groups": 3, "routers_per_group": 2,
            "nodes_per_router": 2, "global_ports": 2, "host_bits_per_s": 1, "local_bits_per_s": 1,
            "global_bits_per_s": 1, "host_delay_ps": 0, "local_delay_ps": 0, "global_delay_ps": 0});
        change.as_object().unwrap().iter().for_each(|(key, value)| spec[key] = value.clone());
        Subnet::parse_document(&spec.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(dragonfly(json!({})).expect("a document").switches.len(), 6);
    let wide = dragonfly(json!({"routers_per_group": 700})).expect_err("2 + 699 + 2 ports");
    let beginning = "fabric.switches: switch 'router-0001' has 703 ports\n  expected: at most 254";
    assert!(wide.starts_with(beginning), "{wide}");
    // 2 x 100 x 246 HCAs, beside 2 x 100 switches of 246 + 1 + 1 ports.
    let long = json!({"groups": 2, "routers_per_group": 100, "spines_per_group": 1,
        "nodes_per_router": 246});
    let long = dragonfly(long).expect_err("more LIDs than there are");
    assert!(long.starts_with("fabric: 49201 HCAs and switches or more\n  expected: at most 49151"));
    // Switches that somebody wrote are refused alike.
    let mut written = dragonfly(json!({})).expect("a document");
    written.switches[5].ports = 255;
    let text = serde_json::to_string(&written).expect("JSON");
    let wide = Subnet::parse_document(&text).expect_err("255 ports").to_string();
    assert!(wide.starts_with("fabric.switches: switch 'router-06' has 255 ports"), "{wide}");
}

#[test]
fn a_fabric_document_is_read_like_any_tools_file_and_its_tables_lead_where_they_say() {
    let subnet = samples::subnet(&["weft/fat-tree-6.json"]);
    assert_eq!((subnet.nodes.len(), subnet.cables().count(), subnet.unread.len()), (11, 12, 0));
    let node = |name: &str| {
        subnet.nodes.iter().position(|node| node.description == name).expect("it is there") as u32
    };
    let (src, dst) = (node("n001 hca0"), node("n006 hca0"));
    let lid = subnet.nodes[dst as usize].ports[0].lid;
    let path = trace(&subnet, &subnet.lfts, End { node: src, port: 1 }, lid).expect("a path");
    let through: Vec<u32> = path.iter().map(|hop| hop.ingress.node).collect();
    assert_eq!((through.len(), through[0], through[2]), (4, node("leaf-01"), node("leaf-03")));
    assert_eq!(through[3], dst);
}
