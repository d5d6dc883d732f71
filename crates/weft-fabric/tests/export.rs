//! What other programs are reported about a subnet, and what comes back.

use serde_json::{Value, json};
use std::collections::BTreeSet;
use weft_fabric::document::Engine;
use weft_fabric::export::{graphml, ibsim, slurm};
use weft_fabric::subnet::records::{CableRecord, NodeRecord, PortRecord, Who};
use weft_fabric::subnet::{Gathered, Kind, LinkRate, Place, Subnet, Unsaid};
use weft_fabric::{BitsPerSecond, Fabric, HcaId, Picoseconds, check, engines, generate};

pub(crate) const UNSAID: Unsaid =
    Unsaid { delay: Picoseconds(5000), rate: BitsPerSecond(100_000_000_000) };

pub(crate) fn generated(generator: &str, more: Value) -> Subnet {
    let mut spec = json!({"generate": generator, "host_bits_per_s": 100_000_000_000u64,
        "switch_bits_per_s": 200_000_000_000u64, "host_delay_ps": 0, "switch_delay_ps": 0});
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec.as_object_mut().expect("an object").retain(|_, value| !value.is_null());
    let fabric = Fabric::new(&generate::read(spec).expect("a spec")).expect("a fabric");
    Subnet::of_fabric(&fabric).expect("rates that InfiniBand has")
}

fn two_levels() -> Subnet {
    generated("fat_tree", json!({"levels": 2, "nodes": 10, "nodes_per_leaf": 4, "spines": 2}))
}

/// Nodes by number, their kinds and descriptions; cables between them, of 4xNDR.
fn drawn(nodes: &[(u64, Kind, &str)], cables: &[(u64, u8, u64, u8)]) -> Subnet {
    let place = Place { source: 0, line: 1 };
    let mut gathered = Gathered::default();
    for (guid, kind, description) in nodes {
        let mut record = NodeRecord::of(place, Who::Node(*guid));
        (record.kind, record.description) = (Some(*kind), Some((*description).to_owned()));
        gathered.nodes.push(record);
    }
    for (a, port_a, b, port_b) in cables {
        let ends = [(Who::Node(*a), *port_a), (Who::Node(*b), *port_b)];
        gathered.cables.push(CableRecord { place, ends, rate: LinkRate::from_word("4xNDR") });
        for (who, number) in ends {
            let rate = LinkRate::from_word("4xNDR");
            gathered.ports.push(PortRecord { rate, ..PortRecord::of(place, who, number) });
        }
    }
    Subnet::of(gathered)
}

#[test]
fn ibsim_reads_the_cables_with_names_guids_and_rates() {
    let export = ibsim(&two_levels());
    assert_eq!(export.changed, Vec::<String>::new());
    let host = "caguid=0x200000000000010\nCa\t1 \"H-0200000000000010\"\t\t# \"n001 hca0\"\n\
        [1](200000000000011)\t\"S-0200000010000000\"[1]\t\t\
        # lid 1 lmc 0 \"leaf-01\" lid 11 2xHDR\n";
    assert!(export.text.contains(host), "{}", export.text);
    let leaf = "[5]\t\"S-0200000010000030\"[1]\t\t# \"spine-01\" lid 14 4xHDR\n";
    assert!(export.text.contains(leaf), "{}", export.text);
}

#[test]
fn port_guids_that_ibsim_cannot_take_are_counted() {
    let nodes = [(1, Kind::Switch, "leaf"), (16, Kind::Ca, "n1"), (32, Kind::Ca, "n2")];
    let mut subnet = drawn(&nodes, &[(16, 1, 1, 1), (32, 1, 1, 2)]);
    // As ConnectX adapters have them: the port's GUID is its node's.
    for (node, guid) in [(1, 16), (2, 32)] {
        subnet.nodes[node].ports[0].guid = Some(guid);
    }
    let why = "ibsim counts ports on from their node: n1[1] is 0x11";
    assert_eq!(ibsim(&subnet).changed[1..], [format!("2 port GUIDs become others, {why}")]);
}

#[test]
fn rates_names_and_routers_that_ibsim_does_not_know_are_reported() {
    let nodes = [(1, Kind::Ca, "a \"b\""), (2, Kind::Switch, "s"), (3, Kind::Router, "r")];
    let export = ibsim(&drawn(&nodes, &[(1, 1, 2, 1), (2, 2, 3, 1)]));
    let reported = [
        "4xNDR is written as 4xHDR on 1 cables: ibsim reads no faster one",
        "'a \"b\"' is written as 'a 'b''",
        "router 'r' is left out",
    ];
    assert_eq!(export.changed, reported);
    assert!(!export.text.contains("NDR"), "{}", export.text);
}

#[test]
fn slurm_has_a_line_a_leaf_and_one_for_the_spines() {
    let text = "# A tree of switches and hosts for Slurm's topology/tree.\n\
        SwitchName=leaf-01 Nodes=n[001-004]\n\
        SwitchName=leaf-02 Nodes=n[005-008]\n\
        SwitchName=leaf-03 Nodes=n[009-010]\n\
        # level2-1: 2 switches: spine-01, spine-02\n\
        SwitchName=level2-1 Switches=leaf-[01-03]\n";
    let export = slurm(&two_levels());
    assert_eq!(export.text, text);
    assert_eq!(export.changed, ["2 switches of level 2 are one line, 'level2-1'"]);
}

/// Of 12 cables to a director, a line board has four: leaf 2 is on boards 1 and 2, leaf 3 on 2 and
/// 3. So line boards are one line, and spine boards above it say nothing more.
#[test]
fn slurm_sees_directors_as_one_line_and_pods_as_several() {
    let directors = generated(
        "directors",
        json!({"nodes": 12, "nodes_per_leaf": 3, "directors": 2,
        "cables_per_director": 3, "inside": "boards", "board_ports": 8}),
    );
    let text = slurm(&directors).text;
    assert!(text.contains("\nSwitchName=level2-1 Switches=leaf-[01-04]\n"), "{text}");
    assert_eq!(text.matches("SwitchName=").count(), 5);
    let pods = generated(
        "fat_tree",
        json!({"levels": 3, "nodes": 20, "nodes_per_leaf": 4,
        "leaves_per_pod": 2, "spines_per_pod": 2, "cores_per_spine": 1}),
    );
    let text = slurm(&pods).text;
    assert!(text.contains("\nSwitchName=level2-2 Switches=leaf-[03-04]\n"), "{text}");
    // The third pod is one leaf: its spines say nothing more.
    assert!(text.contains("\nSwitchName=level3-1 Switches=leaf-05,level2-[1-2]\n"), "{text}");
}

#[test]
fn slurm_sees_the_leaves_of_a_unit_as_one_line_and_groups_below_one_more() {
    let rails = generated(
        "rails",
        json!({"levels": 2, "nodes": 5, "hcas_per_node": 4,
        "nodes_per_unit": 3, "spines": 2}),
    );
    let text = slurm(&rails).text;
    assert!(text.contains("\nSwitchName=level1-2 Nodes=n[004-005]\n"), "{text}");
    assert!(text.contains("\nSwitchName=level2-1 Switches=level1-[1-2]\n"), "{text}");
    let groups = generated(
        "dragonfly",
        json!({"groups": 3, "routers_per_group": 2,
        "spines_per_group": 2, "nodes_per_router": 1, "global_ports": 2, "switch_bits_per_s": null,
        "local_bits_per_s": 100_000_000_000u64, "global_bits_per_s": 100_000_000_000u64,
        "switch_delay_ps": null, "local_delay_ps": 0, "global_delay_ps": 0}),
    );
    let text = slurm(&groups).text;
    assert!(text.ends_with("SwitchName=fabric Switches=level2-[1-3]\n"), "{text}");
    assert!(text.contains("\nSwitchName=level2-3 Switches=router-[05-06]\n"), "{text}");
}

#[test]
fn names_of_real_switches_are_shortened_and_unusual_hosts_reported() {
    let nodes = [
        (1, Kind::Ca, "c101-001 HCA-1"),
        (2, Kind::Ca, "odd,host mlx5_0"),
        (3, Kind::Switch, "MF0;leaf001:MQM8700/U1"),
        (4, Kind::Switch, "MF0;core1:CS8500/L01/U1"),
        (5, Kind::Ca, "alone mlx5_0"),
        (6, Kind::Ca, "Mellanox Technologies Aggregation Node"),
    ];
    let cables = [(1, 1, 3, 1), (2, 1, 4, 1), (3, 9, 4, 9), (6, 1, 4, 41)];
    let export = slurm(&drawn(&nodes, &cables));
    for line in
        ["leaf001 Nodes=c101-001\n", "core1-L01 Nodes=odd-host\n", "Switches=core1-L01,leaf001\n"]
    {
        assert!(export.text.contains(line), "{line}{}", export.text);
    }
    assert!(export.changed.iter().any(|it| it == "host 'odd,host' is written as 'odd-host'"));
    let alone = "1 adapters without a cable to a switch are left out";
    assert!(export.changed.iter().any(|it| it == alone), "{:?}", export.changed);
}

#[test]
fn hosts_of_one_name_are_reported() {
    let nodes =
        [(1, Kind::Switch, "leaf"), (16, Kind::Ca, "localhost"), (32, Kind::Ca, "localhost")];
    let reported = slurm(&drawn(&nodes, &[(16, 1, 1, 1), (32, 1, 1, 2)])).changed;
    let what = "2 adapters have the description 'localhost', which names no host: named by GUID";
    assert_eq!(reported, [what]);
    let nodes = [(1, Kind::Switch, "leaf"), (16, Kind::Ca, "n1"), (32, Kind::Ca, "n1")];
    let reported = slurm(&drawn(&nodes, &[(16, 1, 1, 1), (32, 1, 1, 2)])).changed;
    let what = "2 adapters are called 'n1', which Slurm takes for one host: name them first";
    assert_eq!(reported, [what]);
}

#[test]
fn graphml_is_xml_with_every_node_and_cable() {
    let subnet = drawn(&[(1, Kind::Ca, "a<b&\u{1}"), (2, Kind::Switch, "s")], &[(1, 1, 2, 7)]);
    let text = graphml(&subnet).text;
    let document = roxmltree::Document::parse(&text).expect("XML");
    let of = |tag: &str| document.descendants().filter(|n| n.has_tag_name(tag)).collect::<Vec<_>>();
    let has = |node: &roxmltree::Node<'_, '_>, key: &str| {
        let mut facts = node.children().filter(|fact| fact.attribute("key") == Some(key));
        facts.next().and_then(|fact| fact.text()).map(str::to_owned)
    };
    let graph = "http://graphml.graphdrawing.org/xmlns";
    assert_eq!(document.root_element().tag_name().namespace(), Some(graph));
    let (nodes, edges) = (of("node"), of("edge"));
    assert_eq!((nodes.len(), edges.len(), of("key").len()), (2, 1, 13));
    assert_eq!(has(&nodes[0], "description").as_deref(), Some("a<b&"));
    assert_eq!(has(&nodes[0], "guid").as_deref(), Some("0x0000000000000001"));
    assert_eq!(has(&edges[0], "port_b").as_deref(), Some("7"));
    assert_eq!(has(&edges[0], "gbps").as_deref(), Some("400"));
}

#[test]
fn a_subnet_becomes_a_fabric_that_routes() {
    let drawn = two_levels().to_fabric("copy", UNSAID).expect("a fabric");
    assert_eq!(drawn.changed, Vec::<String>::new());
    assert_eq!(drawn.document.assumed, ["every cable's delay: 5000 ps"]);
    let fabric = Fabric::new(&drawn.document).expect("a fabric");
    assert_eq!((fabric.nodes.len(), fabric.n_hcas(), fabric.n_switches()), (10, 10, 5));
    assert_eq!(drawn.document.nodes[9].hcas, ["n010/hca0"]);
    let levels: Vec<u32> = drawn.document.switches.iter().map(|switch| switch.level).collect();
    assert_eq!(levels, [1, 1, 1, 2, 2]);
    assert_eq!(
        drawn
            .document
            .links
            .iter()
            .map(|link| link.bits_per_s.0 / 1_000_000_000)
            .collect::<BTreeSet<_>>(),
        BTreeSet::from([100, 200])
    );
    let routes = engines::compute(&fabric, Engine::Minhop);
    let hcas: Vec<HcaId> = (0..10).map(HcaId).collect();
    check::check_routes(&fabric, &routes, &hcas).expect("paths for all");
}

#[test]
fn the_tables_of_a_subnet_go_with_it() {
    let mut subnet = two_levels();
    // Every leaf sends everything to its port 5, the spines' tables are one entry.
    for node in 10..13 {
        (1..=10).for_each(|lid| subnet.lfts.set(node, lid, 5));
    }
    subnet.lfts.set(13, 10, 3);
    subnet.lfts.set(12, 10, 2);
    subnet.lfts.set(12, 9, 77);
    let drawn = subnet.to_fabric("copy", UNSAID).expect("a fabric");
    let lfts = drawn.document.lfts.as_ref().expect("tables");
    assert_eq!(lfts["leaf-01"], [5; 10]);
    assert_eq!(lfts["leaf-03"], [5, 5, 5, 5, 5, 5, 5, 5, 0, 2]);
    assert_eq!(lfts["spine-01"], [0, 0, 0, 0, 0, 0, 0, 0, 0, 3]);
    assert_eq!(lfts["spine-02"], [0; 10]);
    let reported = [
        "1 switches have no forwarding table: nothing leaves them",
        "1 entries of forwarding tables name a port that is not there",
    ];
    assert_eq!(drawn.changed, reported);
    let fabric = Fabric::new(&drawn.document).expect("a fabric");
    let routes = engines::routes_of(&fabric, &drawn.document, None).expect("its own tables");
    let path = routes.trace(&fabric, HcaId(0), HcaId(9)).expect("a route");
    let names: Vec<String> = path.iter().map(|port| fabric.port_name(*port)).collect();
    assert_eq!(names, ["n001/hca0[1]", "leaf-01[5]", "spine-01[3]", "leaf-03[2]"]);
}

#[test]
fn adapters_are_put_into_their_hosts() {
    let nodes = [
        (1, Kind::Ca, "h1 mlx5_0"),
        (2, Kind::Ca, "h1 mlx5_1"),
        (3, Kind::Ca, "MT4123 ConnectX6   Mellanox Technologies"),
        (4, Kind::Ca, "MT4123 ConnectX6   Mellanox Technologies"),
        (5, Kind::Ca, "h2 mlx5_0"),
        (6, Kind::Ca, "Mellanox Technologies Aggregation Node"),
        (7, Kind::Switch, "s"),
        (8, Kind::Switch, "s"),
        (9, Kind::Switch, "far"),
        (10, Kind::Ca, "h3 mlx5_0"),
    ];
    let cables = [
        (1, 1, 7, 1),
        (1, 2, 8, 1),
        (2, 1, 7, 2),
        (3, 1, 7, 3),
        (4, 1, 8, 2),
        (6, 1, 7, 9),
        (7, 8, 8, 8),
        (10, 1, 9, 1),
    ];
    let drawn = drawn(&nodes, &cables).to_fabric("x", UNSAID).expect("a fabric");
    let names: Vec<(&str, Vec<&str>)> = drawn
        .document
        .nodes
        .iter()
        .map(|node| (&node.name[..], node.hcas.iter().map(|hca| &hca[..]).collect()))
        .collect();
    let odd = "MT4123 ConnectX6   Mellanox Technologies";
    assert_eq!(
        names,
        [
            ("0x0000000000000003", vec!["0x0000000000000003/hca"]),
            ("0x0000000000000004", vec!["0x0000000000000004/hca"]),
            ("h1", vec!["h1/mlx5_0/1", "h1/mlx5_0/2", "h1/mlx5_1"]),
            ("h3", vec!["h3/mlx5_0"]),
        ]
    );
    assert_eq!(
        drawn.changed,
        [
            format!("2 adapters have the description '{odd}', which names no host: named by GUID"),
            "1 aggregation engines of switches are left out".to_owned(),
            "1 adapters without a cable are left out".to_owned(),
            "a second 's' is called 's#2'".to_owned(),
            "hosts are in 2 parts without a cable between them".to_owned(),
        ]
    );
    Fabric::new(&drawn.document).expect("a fabric");
}

#[test]
fn a_subnet_without_hosts_is_no_fabric() {
    let error = drawn(&[(1, Kind::Switch, "s")], &[]).to_fabric("x", UNSAID).expect_err("empty");
    assert!(error.to_string().starts_with("subnet: no channel adapter has a cable"));
}
