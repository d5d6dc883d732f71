//! Dragonflies: cables as published, at most one hop between groups, lanes against credit loops.

use serde_json::{Value, json};
use weft_fabric::check::{Plan, check_plan};
use weft_fabric::document::Engine;
use weft_fabric::engines::{self, Tables};
use weft_fabric::generate;
use weft_fabric::{Fabric, FabricError, HcaId, PortId, SwitchId};

fn spec(change: Value) -> Value {
    let mut spec = json!({"generate": "dragonfly", "groups": 9, "routers_per_group": 4,
        "nodes_per_router": 2, "global_ports": 2, "host_bits_per_s": 1, "local_bits_per_s": 2,
        "global_bits_per_s": 3, "host_delay_ps": 4, "local_delay_ps": 5, "global_delay_ps": 6});
    for (key, value) in change.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec
}

fn fabric(change: Value) -> Fabric {
    Fabric::new(&generate::read(spec(change)).expect("a document")).expect("a fabric")
}

fn all(fabric: &Fabric) -> Vec<HcaId> {
    (0..fabric.n_hcas()).map(HcaId).collect()
}

/// Dragonflies of every shape: the full one, one with spare cables, one of leaves and spines.
fn shapes() -> [Fabric; 4] {
    [
        fabric(json!({})),
        fabric(json!({"groups": 4})),
        fabric(json!({"groups": 5, "spines_per_group": 3, "global_ports": 4})),
        fabric(json!({"groups": 7, "spines_per_group": 3, "hcas_per_node": 2})),
    ]
}

#[test]
fn every_two_groups_are_joined_by_the_same_number_of_cables() {
    for (fabric, cables) in shapes().into_iter().zip([1, 2, 3, 1]) {
        let group = |port: PortId| {
            fabric.vertices[fabric.ports[port.index()].vertex.index()].group.map(|g| g as usize)
        };
        let mut joined = vec![0; 100];
        for port in (0..fabric.ports.len() as u32).map(PortId) {
            if fabric.is_global(port) {
                let peer = fabric.ports[port.index()].peer.expect("a cable");
                joined[group(port).unwrap() * 10 + group(peer).unwrap()] += 1;
                assert_eq!(fabric.ports[port.index()].rate.0, 3);
            }
        }
        let n =
            1 + fabric.vertices.iter().filter_map(|vertex| vertex.group).max().unwrap() as usize;
        for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
            let wanted = if a == b { 0 } else { cables };
            assert_eq!(joined[a * 10 + b], wanted, "{} {a} {b}", fabric.name);
        }
    }
}

#[test]
fn minimal_routes_cross_between_groups_once_at_most() {
    for fabric in shapes() {
        let tables = engines::tables(&fabric, Engine::Dragonfly);
        for src in all(&fabric) {
            for dst in all(&fabric).into_iter().filter(|dst| *dst != src) {
                let path = tables.routes.trace(&fabric, src, dst).expect("a route");
                let group = |hca| {
                    let leaf = fabric.neighbour(fabric.hca_port(hca)).expect("a router");
                    fabric.vertices[leaf.index()].group
                };
                let global = path.iter().filter(|port| fabric.is_global(**port)).count();
                assert_eq!(global, usize::from(group(src) != group(dst)));
                // The HCA's own cable, one to it, and at most a local hop on either side.
                assert!(path.len() <= 2 + 1 + 2, "{path:?}");
            }
        }
    }
}

fn lanes(fabric: &Fabric, tables: &Tables, detours: bool) -> Result<usize, FabricError> {
    let Tables { routes, candidates } = tables;
    let plan = Plan { routes, candidates: Some(candidates), detours, raised: true };
    check_plan(fabric, plan, &all(fabric))
}

#[test]
fn a_raise_between_groups_frees_minimal_routes_and_detours_of_credit_loops() {
    for fabric in shapes() {
        let mut tables = engines::tables(&fabric, Engine::Dragonfly);
        engines::add_detours(&fabric, &mut tables.candidates).expect("groups");
        assert_eq!(lanes(&fabric, &tables, false), Ok(2), "one hop between groups");
        assert_eq!(lanes(&fabric, &tables, true), Ok(3), "two hops between groups");
    }
}

#[test]
fn without_a_raise_a_dragonfly_has_a_credit_loop_that_is_named() {
    let fabric = fabric(json!({}));
    let Tables { routes, candidates } = engines::tables(&fabric, Engine::Dragonfly);
    let plan = Plan { routes: &routes, candidates: None, detours: false, raised: false };
    let error = check_plan(&fabric, plan, &all(&fabric)).expect_err("a loop");
    let text = error.to_string();
    let cycle = text.strip_prefix("routing: credit loop over ").expect("the cycle first");
    let names: Vec<&str> = cycle.lines().next().expect("a line").split(" -> ").collect();
    assert_eq!(names.first(), names.last());
    // Each port is at the switch that the cable of the one before leads to.
    for pair in names.windows(2) {
        let port = |name| fabric.port_named("test", name).expect("a port");
        let there = fabric.neighbour(port(pair[0])).expect("a cable");
        assert_eq!(there, fabric.ports[port(pair[1]).index()].vertex, "{text}");
    }
    let plan = Plan { candidates: Some(&candidates), raised: true, ..plan };
    assert_eq!(check_plan(&fabric, plan, &all(&fabric)), Ok(2));
}

#[test]
fn detours_need_three_groups() {
    let two = fabric(json!({"groups": 2}));
    let mut tables = engines::tables(&two, Engine::Dragonfly);
    let error = engines::add_detours(&two, &mut tables.candidates).expect_err("no third group");
    assert!(error.to_string().starts_with("routing.adaptive.non_minimal: 2 groups"), "{error}");
    let tree = json!({"generate": "fat_tree", "levels": 2, "nodes": 4, "nodes_per_leaf": 2,
        "spines": 1, "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0,
        "switch_delay_ps": 0});
    let tree = Fabric::new(&generate::read(tree).expect("a document")).expect("a fabric");
    let mut tables = engines::tables(&tree, Engine::Minhop);
    let error = engines::add_detours(&tree, &mut tables.candidates).expect_err("no groups");
    let what = "routing.adaptive.non_minimal: a switch of the fabric is in no group";
    assert!(error.to_string().starts_with(what), "{error}");
}

#[test]
fn hops_of_a_detour_are_counted_to_the_group_and_from_its_farthest_switch() {
    let fabric = fabric(json!({}));
    let mut tables = engines::tables(&fabric, Engine::Dragonfly);
    engines::add_detours(&fabric, &mut tables.candidates).expect("groups");
    // One cable from group 0 to each other: the router that has it is one hop away from it, the
    // others two; back from a group, the farthest router needs local, global, local.
    let hops: Vec<(u32, u32)> =
        (0..4).map(|router| tables.candidates.hops(SwitchId(router), HcaId(20), 1)).collect();
    assert_eq!(hops.iter().map(|(_, over)| over).min(), Some(&(1 + 3)));
    assert_eq!(hops.iter().map(|(_, over)| over).max(), Some(&(2 + 3)));
    assert!(hops.iter().all(|(direct, _)| (1..=3).contains(direct)));
    // Whichever of the group's four routers is the farthest from a destination.
    let direct = |router: u32, dst: HcaId| tables.candidates.hops(SwitchId(router), dst, 1).0;
    for dst in (8..fabric.n_hcas()).map(HcaId) {
        let farthest = (4..8).map(|router| direct(router, dst)).max().expect("four routers");
        let back =
            (0..4).map(|router| tables.candidates.hops(SwitchId(router), dst, 1).1 - farthest);
        assert_eq!(back.min(), Some(1), "{dst:?}");
    }
}

#[test]
fn dragonflies_that_cannot_be_are_refused() {
    let cases = [
        (json!({"groups": 1}), "fabric.groups: 1 groups"),
        (json!({"groups": 10}), "fabric.groups: 10 groups"),
        (json!({"routers_per_group": 0}), "fabric.routers_per_group: it is 0"),
        (json!({"nodes_per_router": 0}), "fabric.nodes_per_router: it is 0"),
        (json!({"hcas_per_node": 0}), "fabric.hcas_per_node: it is 0"),
        (json!({"global_ports": 0}), "fabric.global_ports: it is 0"),
        (json!({"nodes_per_router": 1_000_000, "hcas_per_node": 1000}), "fabric: about"),
        (json!({"levels": 2}), "fabric.levels: unknown field `levels`"),
    ];
    for (change, what) in cases {
        let text = generate::read(spec(change)).expect_err("no such dragonfly").to_string();
        assert!(text.starts_with(what), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    }
}

#[test]
fn more_dependencies_than_can_be_held_are_refused() {
    // Two groups of one switch each, which no product has so wide: 40,000 cables between them.
    let n_cables = 40_000u64;
    let cable = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 0});
    let between = |n: u64| cable(format!("s[{}]", n + 2), format!("t[{}]", n + 2));
    let mut links: Vec<Value> = (0..n_cables).map(between).collect();
    links.extend(["s", "t"].map(|at| cable(format!("h{at}[1]"), format!("{at}[1]"))));
    let switch =
        |name: &str, group: u32| json!({"name": name, "ports": n_cables + 1, "group": group});
    let document = json!({"schema": "weft.fabric/1", "name": "wide", "links": links,
        "nodes": [{"name": "a", "hcas": ["hs"]}, {"name": "b", "hcas": ["ht"]}],
        "switches": [switch("s", 0), switch("t", 1)]});
    let fabric = Fabric::new(&generate::read(document).expect("a document")).expect("a fabric");
    let Tables { routes, .. } = engines::tables(&fabric, Engine::Dragonfly);
    let examined = |raised| {
        let plan = Plan { routes: &routes, candidates: None, detours: false, raised };
        check_plan(&fabric, plan, &[HcaId(0), HcaId(1)]).map_err(|error| error.to_string())
    };
    // Each cable both ways has a row of so many words; raised lanes are 16 times as many.
    let words = 2 * n_cables * (n_cables + 1).div_ceil(64);
    let text = examined(true).expect_err("more than 2 GiB");
    let what = format!("fabric: up to {} words of dependencies", 16 * words);
    assert!(text.starts_with(&what) && text.contains("\n  expected: at most 268435456"), "{text}");
    assert_eq!(examined(false), Ok(1));
}

#[test]
fn detours_want_groups_without_a_gap_in_their_numbers() {
    // One switch a group, all cabled to each other.
    let refusal = |groups: &[u32]| {
        let numbered = || (0..).zip(groups);
        let cable = |(a, b): (usize, usize)| {
            json!({"a": format!("s{a}[{}]", b + 1), "b": format!("s{b}[{}]", a + 1),
                "bits_per_s": 1, "delay_ps": 0})
        };
        let pairs = (0..groups.len()).flat_map(|a| (0..a).map(move |b| (a, b)));
        let ports = groups.len();
        let switch = |(n, group): (usize, &u32)| -> Value {
            json!({"name": format!("s{n}"), "ports": ports, "group": group})
        };
        let document = json!({"schema": "weft.fabric/1", "name": "groups", "nodes": [],
            "links": pairs.map(cable).collect::<Vec<Value>>(),
            "switches": numbered().map(switch).collect::<Vec<Value>>()});
        let fabric = Fabric::new(&generate::read(document).expect("a document")).expect("one");
        let mut candidates = engines::tables(&fabric, Engine::Dragonfly).candidates;
        engines::add_detours(&fabric, &mut candidates).err().map(|error| error.to_string())
    };
    let text = refusal(&[0, 1, 3]).expect("a number is left out");
    let what = "routing.adaptive.non_minimal: no switch is in group 2, and one is in 3\n  expected";
    assert!(text.starts_with(what), "{text}");
    assert_eq!(refusal(&[0, 2, 1, 2]), None);
}
