//! Fabric documents: what generators build, and what is refused with its place.

use serde::Deserialize;
use serde_json::{Value, json};
use weft_fabric::document::{Engine, LinkDocument};
use weft_fabric::units::{BitsPerSecond, Picoseconds};
use weft_fabric::{Fabric, HcaId, check, engines, generate};

fn fat_tree(change: Value) -> Value {
    let mut spec = json!({"generate": "fat_tree", "levels": 2, "nodes": 8, "nodes_per_leaf": 4,
        "spines": 2, "host_bits_per_s": 100, "switch_bits_per_s": 200, "host_delay_ps": 1,
        "switch_delay_ps": 2});
    for (key, value) in change.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec
}

fn whole() -> Value {
    serde_json::to_value(generate::read(fat_tree(json!({}))).expect("a document")).expect("JSON")
}

fn refusal(spec: Value) -> String {
    let error = match generate::read(spec) {
        Err(error) => error,
        Ok(written) => match Fabric::new(&written) {
            Err(error) => error,
            Ok(fabric) => weft_fabric::Routes::from_document(&fabric, &written)
                .expect_err("a document that cannot be"),
        },
    };
    let text = error.to_string();
    assert!(text.contains("\n  expected: "), "{text}");
    text
}

#[test]
fn a_two_level_tree_has_its_switches_cables_and_rates() {
    let spec = fat_tree(json!({"cables_per_spine": 3, "hcas_per_node": 2}));
    let written = generate::read(spec).expect("a document");
    assert_eq!((written.nodes.len(), written.switches.len()), (8, 2 + 2));
    // 16 HCA cables, and from each of two leaves three cables to each of two spines.
    assert_eq!(written.links.len(), 16 + 2 * 2 * 3);
    let fabric = Fabric::new(&written).expect("a fabric");
    let leaf = fabric.port_named("test", "leaf-01[9]").expect("the first up port");
    assert_eq!(fabric.ports[leaf.index()].rate, BitsPerSecond(200));
    assert_eq!(fabric.ports[leaf.index()].delay, Picoseconds(2));
    let hca = fabric.port_named("test", "n008/hca1[1]").expect("the last HCA");
    assert_eq!(fabric.ports[hca.index()].rate, BitsPerSecond(100));
    // Every up port of a leaf leads to a spine; together they meet each spine three times.
    let spines: Vec<u32> = (9..=14)
        .map(|n| fabric.port_named("test", &format!("leaf-01[{n}]")).expect("a port"))
        .map(|port| fabric.neighbour(port).expect("a spine").0)
        .collect();
    let first = spines[0];
    assert_eq!(spines.iter().filter(|spine| **spine == first).count(), 3);
}

#[test]
fn a_three_level_tree_of_radix_k_has_k_cubed_over_four_places() {
    let spec = json!({"generate": "fat_tree", "levels": 3, "nodes": 16, "radix": 4,
        "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0, "switch_delay_ps": 0});
    let written = generate::read(spec.clone()).expect("a document");
    let count = |name: &str| written.switches.iter().filter(|s| s.name.starts_with(name)).count();
    assert_eq!((count("leaf"), count("spine"), count("core")), (8, 8, 4));
    assert_eq!(written.links.len(), 48);
    let mut more = spec;
    more["nodes"] = json!(17);
    assert!(refusal(more).starts_with("fabric.nodes: 17 nodes do not fit a tree of radix 4"));
}

/// A pod of 72 leaves and 72 spines, and 72 x 72 cores: what is built counts, not the radix.
#[test]
fn a_small_tree_of_wide_switches_is_not_refused() {
    let spec = json!({"generate": "fat_tree", "levels": 3, "nodes": 2000, "radix": 144,
        "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0, "switch_delay_ps": 0});
    let written = generate::read(spec.clone()).expect("a document");
    assert_eq!(written.links.len(), 2000 + 2 * 72 * 72);
    let mut more = spec;
    more["radix"] = json!(1000);
    more["nodes"] = json!(1_000_000);
    // Four pods of 500 leaves with 500 cables up, and as many further up.
    assert!(refusal(more).starts_with("fabric: about 3000000 cables\n  expected: at most 2000000"));
}

/// What a leaf does not use downwards goes up: 2 of 8 ports down, 6 up to as many spines a pod.
#[test]
fn fewer_nodes_a_leaf_leave_more_ports_to_go_up() {
    let spec = json!({"generate": "fat_tree", "levels": 3, "nodes": 20, "radix": 8,
        "nodes_per_leaf": 2, "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0,
        "switch_delay_ps": 0});
    let written = generate::read(spec).expect("a document");
    let fabric = Fabric::new(&written).expect("a fabric");
    let count = |name: &str| written.switches.iter().filter(|s| s.name.starts_with(name)).count();
    // 20 nodes fill 10 of the 12 leaves of 3 pods.
    assert_eq!((count("leaf"), count("spine"), count("core")), (12, 18, 24));
    assert_eq!(written.links.len(), 20 + 12 * 6 + 18 * 4);
    let up_of = |name: &str, kind: &str| {
        let goes_up =
            |l: &&LinkDocument| l.a.starts_with(&format!("{name}[")) && l.b.starts_with(kind);
        written.links.iter().filter(goes_up).count()
    };
    assert_eq!((up_of("leaf-01", "spine"), up_of("spine-18", "core")), (6, 4));
    let routes = engines::compute(&fabric, Engine::Dmodk);
    let hcas: Vec<HcaId> = (0..20).map(HcaId).collect();
    check::check_routes(&fabric, &routes, &hcas).expect("paths for all, none in a circle");
}

#[test]
fn levels_that_are_not_written_are_worked_out() {
    let mut spec = whole();
    for switch in spec["switches"].as_array_mut().expect("switches") {
        switch.as_object_mut().expect("a switch").remove("level");
    }
    let fabric = Fabric::new(&generate::read(spec).expect("a document")).expect("a fabric");
    let level = |name: &str| {
        fabric.vertices.iter().find(|vertex| vertex.name == name).expect("a switch").level
    };
    assert_eq!((level("leaf-02"), level("spine-01")), (1, 2));
}

#[test]
fn generators_refuse_what_they_cannot_build() {
    let cases = [
        (json!({"generate": "torus"}), "fabric.generate: unknown generator 'torus'"),
        (json!({"levels": 5}), "fabric.levels: 5 levels"),
        (json!({"nodes": 0}), "fabric.nodes: it is 0"),
        (json!({"hcas_per_node": 0}), "fabric.hcas_per_node: it is 0"),
        (json!({"cables_per_spine": 0}), "fabric.cables_per_spine: it is 0"),
        (json!({"spines": null}), "fabric: 'spines' is missing"),
        (json!({"nodes_per_leaf": 0}), "fabric.nodes_per_leaf: it is 0"),
        (json!({"radix": 4}), "fabric.radix: 'radix' has no meaning in a fat-tree of 2 levels"),
        (
            json!({"levels": 3, "radix": 4}),
            "fabric.spines: 'spines' has no meaning in a fat-tree of 3",
        ),
        (
            json!({"levels": 3, "radix": 4, "spines": null, "nodes_per_leaf": 4}),
            "fabric.nodes_per_leaf: 4 of 4 ports of a leaf go to HCAs",
        ),
        (
            json!({"levels": 3, "radix": 4, "spines": null, "nodes_per_leaf": 0}),
            "fabric.nodes_per_leaf: it is 0",
        ),
        (json!({"schema": "weft.fabric/9"}), "fabric.schema: 'weft.fabric/9' is not a schema"),
        (json!({"host_bits_per_s": 0}), "fabric.links[0]: the rate is zero"),
        (json!({"nodes": 2_000_000}), "fabric.nodes: it is 2000000"),
        (json!({"spines": 10_000, "cables_per_spine": 10_000}), "fabric: about 200000008 cables"),
        (json!({"spines": 70_000}), "fabric.switches[0]: switch 'leaf-01' has 70004 ports"),
        (json!({"host_bits_per_s": 9e12 as u64}), "fabric.links[0]: 9000000000000 bits a second"),
        (json!({"host_delay_ps": 2e12 as u64}), "fabric.links[0]: 100 bits a second, 2000000"),
        (json!({"colour": 1}), "fabric.colour: unknown field `colour`"),
        (json!({"nodes": -1}), "fabric.nodes: invalid value: integer `-1`"),
    ];
    for (change, what) in cases {
        let text = refusal(fat_tree(change));
        assert!(text.starts_with(what), "{text}");
    }
}

/// The whole document after a change is refused by a text that begins like that.
fn refused(change: impl Fn(&mut Value), beginning: &str) {
    let mut spec = whole();
    change(&mut spec);
    let text = refusal(spec);
    assert!(text.starts_with(beginning), "{text}");
}

#[test]
fn links_are_refused_with_their_place() {
    let end = |which: &'static str, port: &'static str| {
        move |spec: &mut Value| spec["links"][3][which] = json!(port)
    };
    refused(end("b", "leaf-01[1]"), "fabric.links[3]: port 'leaf-01[1]' is used twice");
    refused(end("b", "leaf-09[1]"), "fabric.links[3].b: there is no HCA or switch 'leaf-09'");
    refused(end("b", "leaf-01[99]"), "fabric.links[3].b: 'leaf-01' has no port 99");
    refused(end("b", "leaf-01[0]"), "fabric.links[3].b: 'leaf-01' has no port 0");
    refused(end("b", "leaf-01[04]"), "fabric.links[3].b: 'leaf-01[04]' is not a port");
    refused(end("b", "leaf-01[+4]"), "fabric.links[3].b: 'leaf-01[+4]' is not a port");
    refused(end("a", "n004"), "fabric.links[3].a: 'n004' is not a port");
    refused(end("b", "n004/hca0[1]"), "fabric.links[3]: 'n004/hca0[1]' is cabled to itself");
    refused(|d| d["links"][3]["bits_per_s"] = json!(0), "fabric.links[3]: the rate is zero");
    let without = |spec: &mut Value| drop(spec["links"].as_array_mut().unwrap().remove(3));
    refused(without, "fabric.links: HCA 'n004/hca0' has no cable");
}

#[test]
fn nodes_switches_and_tables_are_refused_with_their_place() {
    let second = "fabric.nodes[1]: a second node 'n001'";
    refused(|d| d["nodes"][1]["name"] = json!("n001"), second);
    refused(|d| d["nodes"][1]["hcas"] = json!([]), "fabric.nodes[1]: node 'n002' has no HCA");
    let vertex = "fabric.nodes[1]: a second vertex 'n001/hca0'";
    refused(|d| d["nodes"][1]["hcas"] = json!(["n001/hca0"]), vertex);
    let empty = "fabric.switches[1]: switch 'leaf-02' has no ports";
    refused(|d| d["switches"][1]["ports"] = json!(0), empty);
    let many = |d: &mut Value| {
        let empty = |n: u32| json!({"name": format!("x{n}"), "ports": 65_535});
        d["switches"] = (0..257).map(empty).collect();
    };
    refused(many, "fabric: 16842503 ports");
    let square = |d: &mut Value| {
        d["nodes"][0]["hcas"] = (0..70_000).map(|n| json!(format!("h{n}"))).collect();
        d["switches"] = (0..70_000).map(|n| json!({"name": format!("x{n}"), "ports": 1})).collect();
    };
    refused(square, "fabric: 4900490000 entries in forwarding tables");
    let leaves = |d: &mut Value| {
        let n = 12_000;
        let node = |n| json!({"name": format!("c{n}"), "hcas": [format!("h{n}")]});
        let switch = |n| json!({"name": format!("x{n}"), "ports": 1});
        let link = |n| {
            let (a, b) = (format!("h{n}[1]"), format!("x{n}[1]"));
            json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 1})
        };
        d["nodes"] = (0..n).map(node).collect();
        d["switches"] = (0..n).map(switch).collect();
        d["links"] = (0..n).map(link).collect();
    };
    refused(leaves, "fabric: routes of 12000 switches to 12000 leaves");
    let high = "fabric.switches[1]: switch 'leaf-02' is on level 256";
    refused(|d| d["switches"][1]["level"] = json!(256), high);
    let tables = |leaf: &'static str, row: Vec<u32>| {
        move |spec: &mut Value| spec["lfts"] = json!({leaf: row.clone()})
    };
    refused(tables("leaf-01", vec![1]), "fabric.lfts[\"leaf-01\"]: 1 entries");
    refused(tables("nobody", vec![]), "fabric.lfts: there is no switch 'nobody'");
    let high = "fabric.lfts[\"leaf-01\"]: port 7 for HCA number 0";
    refused(tables("leaf-01", vec![7, 1, 1, 1, 1, 1, 1, 1]), high);
    refused(tables("leaf-01", vec![1; 8]), "fabric.lfts[\"leaf-02\"]: the table is missing");
}

#[test]
fn a_burst_is_rounded_once_however_it_is_cut() {
    let rate = BitsPerSecond(54_545_000_000);
    let whole = rate.duration_of_bits(1_000_000 * 8);
    // 8e18 / 54.545e9 = 146,667,888.8990... ps
    assert_eq!(whole, Picoseconds(146_667_889));
    assert_eq!(BitsPerSecond(200_000_000_000).scaled(0.87), BitsPerSecond(174_000_000_000));
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    #[serde(rename = "delay_ps")]
    _delay_ps: u64,
    #[serde(rename = "model")]
    _model: String,
    #[serde(rename = "name")]
    _name: String,
}

/// The word that a refusal asks for.
fn hint(text: &str) -> Option<String> {
    let error =
        weft_fabric::json::from_text::<Settings>("settings", "", text).expect_err("wrong settings");
    let text = error.to_string();
    let (_, hint) = text.split_once("hint: did you mean '")?;
    hint.split_once('\'').map(|(word, _)| word.to_owned())
}

#[test]
fn the_nearest_expected_word_is_meant_if_it_is_near() {
    assert_eq!(hint(r#"{"dealy_ps": 1}"#).as_deref(), Some("delay_ps"));
    assert_eq!(hint(r#"{"modes": 1}"#).as_deref(), Some("model"));
    assert_eq!(hint(r#"{"colour": 1}"#), None);
    assert_eq!(hint(r#"{"model": {}}"#), None);
}
