//! Routing engines: every pair is reached, up then down, evenly, round dead cables.

use crate::common::any_fabric;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use weft_fabric::document::Engine;
use weft_fabric::generate;
use weft_fabric::{Fabric, HcaId, PortId, Routes, check, engines, fault};

const ENGINES: [Engine; 3] = [Engine::Dmodk, Engine::Minhop, Engine::Updn];

fn fabric_of(spec: Value) -> Fabric {
    Fabric::new(&generate::read(spec).expect("a document")).expect("a fabric")
}

fn two_levels(nodes: u32, per_leaf: u32, spines: u32, cables: u32) -> Fabric {
    fabric_of(json!({"generate": "fat_tree", "levels": 2, "nodes": nodes,
        "nodes_per_leaf": per_leaf, "spines": spines, "cables_per_spine": cables,
        "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0, "switch_delay_ps": 0}))
}

fn three_levels(nodes: u32, radix: u32) -> Fabric {
    fabric_of(json!({"generate": "fat_tree", "levels": 3, "nodes": nodes, "radix": radix,
        "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0, "switch_delay_ps": 0}))
}

fn rails(shape: Value) -> Fabric {
    let mut spec = json!({"generate": "rails", "hcas_per_node": 8, "host_bits_per_s": 1,
        "switch_bits_per_s": 1, "host_delay_ps": 0, "switch_delay_ps": 0});
    spec.as_object_mut().expect("a map").extend(shape.as_object().expect("a map").clone());
    fabric_of(spec)
}

fn hcas(fabric: &Fabric) -> Vec<HcaId> {
    (0..fabric.n_hcas()).map(HcaId).collect()
}

/// How many of the flows cross each port.
fn loads(
    fabric: &Fabric,
    routes: &Routes,
    flows: impl Iterator<Item = (u32, u32)>,
) -> BTreeMap<PortId, u32> {
    let mut loads = BTreeMap::new();
    for (src, dst) in flows {
        for port in routes.trace(fabric, HcaId(src), HcaId(dst)).expect("a route") {
            *loads.entry(port).or_insert(0) += 1;
        }
    }
    loads
}

#[test]
fn all_shifts_are_free_of_contention_under_d_mod_k_on_full_trees() {
    let full = [
        two_levels(32, 4, 4, 1),
        two_levels(32, 4, 2, 2),
        two_levels(24, 6, 3, 2),
        three_levels(54, 6),
        three_levels(128, 8),
    ];
    for fabric in full {
        let routes = engines::compute(&fabric, Engine::Dmodk);
        let n = fabric.n_hcas();
        for shift in 1..n {
            let flows = (0..n).map(|src| (src, (src + shift) % n));
            let loads = loads(&fabric, &routes, flows);
            assert!(loads.values().all(|load| *load == 1), "{} shift {shift}", fabric.name);
        }
    }
}

/// One rail's traffic leaves its leaves by all their up ports, as that of a tree of its own would.
#[test]
fn shifts_on_every_rail_are_free_of_contention_under_d_mod_k() {
    let full = [
        rails(json!({"levels": 2, "nodes": 40, "nodes_per_unit": 20, "spines": 10,
            "cables_per_spine": 2})),
        rails(json!({"levels": 2, "nodes": 12, "nodes_per_unit": 4, "spines": 4,
            "cables_per_spine": 1})),
        rails(json!({"levels": 3, "nodes": 24, "nodes_per_unit": 2, "units_per_pod": 3,
            "spines_per_rail": 2, "cores_per_spine": 3})),
    ];
    for fabric in full {
        let routes = engines::compute(&fabric, Engine::Dmodk);
        let n_nodes = fabric.n_hcas() / 8;
        for shift in 1..n_nodes {
            let flows = (0..n_nodes * 8).map(|src| (src, (src + 8 * shift) % (n_nodes * 8)));
            let loads = loads(&fabric, &routes, flows);
            assert!(loads.values().all(|load| *load == 1), "{} shift {shift}", fabric.name);
        }
    }
}

#[test]
fn every_engine_reaches_every_pair_in_the_fewest_hops_of_a_tree() {
    for fabric in [two_levels(13, 4, 3, 2), three_levels(16, 4), three_levels(5, 4)] {
        for engine in ENGINES {
            let routes = engines::compute(&fabric, engine);
            check::check_routes(&fabric, &routes, &hcas(&fabric)).expect("good routes");
            for src in hcas(&fabric) {
                for dst in hcas(&fabric).into_iter().filter(|dst| *dst != src) {
                    let path = routes.trace(&fabric, src, dst).expect("a route");
                    let leaf = |hca| fabric.neighbour(fabric.hca_port(hca)).unwrap();
                    let near = leaf(src) == leaf(dst);
                    let allowed = if near { 2..=2 } else { 4..=6 };
                    assert!(allowed.contains(&path.len()), "{engine:?} {path:?}");
                    assert_eq!(path[0], fabric.hca_port(src));
                }
            }
        }
    }
}

#[test]
fn minhop_spreads_destinations_evenly_over_the_up_links() {
    let fabric = two_levels(32, 4, 4, 1);
    let routes = engines::compute(&fabric, Engine::Minhop);
    // From one leaf: 28 destinations elsewhere over four up links.
    let loads = loads(&fabric, &routes, (4..32).map(|dst| (0, dst)));
    let name = |port: &PortId| fabric.port_name(*port);
    let up: Vec<u32> =
        loads.iter().filter(|(p, _)| name(p).starts_with("leaf-1[")).map(|(_, n)| *n).collect();
    let up_named: Vec<u32> =
        loads.iter().filter(|(p, _)| name(p).starts_with("leaf-01[")).map(|(_, n)| *n).collect();
    assert!(up.is_empty(), "names are padded");
    assert_eq!(up_named, [7, 7, 7, 7]);
}

#[test]
fn a_dead_up_link_moves_only_the_routes_it_carried() {
    let mut fabric = two_levels(32, 4, 4, 1);
    let before = engines::compute(&fabric, Engine::Dmodk);
    let dead = fabric.port_named("test", "leaf-01[6]").expect("a port");
    fault::take_down(&mut fabric, "test", dead).expect("a cable");
    let after = engines::compute(&fabric, Engine::Dmodk);
    check::check_routes(&fabric, &after, &hcas(&fabric)).expect("good routes");
    let whole = two_levels(32, 4, 4, 1);
    let dead_ends = [dead, fabric.ports[dead.index()].peer.unwrap()];
    let (mut kept, mut moved) = (0, 0);
    for src in hcas(&fabric) {
        for dst in hcas(&fabric).into_iter().filter(|dst| *dst != src) {
            let old = before.trace(&whole, src, dst).expect("a route");
            let new = after.trace(&fabric, src, dst).expect("a route");
            assert!(new.iter().all(|port| !dead_ends.contains(port)));
            if old.iter().any(|port| dead_ends.contains(port)) {
                moved += 1;
            } else if old == new {
                kept += 1;
            } else {
                // A spine that lost its path to leaf 1 is left by other leaves for that leaf only.
                assert!(dst.0 < 4, "{src:?} to {dst:?} moved for nothing");
            }
        }
    }
    assert!(moved > 0 && kept > 900, "{moved} moved, {kept} kept");
}

/// Each pair's path by d-mod-k's tables, or why there is none, and the same without the tables.
fn ways_twice(fabric: &Fabric, src: HcaId, dst: HcaId) -> [Result<Vec<PortId>, String>; 2] {
    let tables = engines::compute(fabric, Engine::Dmodk);
    let by_tables = tables.trace(fabric, src, dst);
    let by_itself = engines::dmodk_paths(fabric, &[(src, dst)]).map(|mut paths| paths.remove(0));
    [by_tables, by_itself].map(|path| path.map_err(|error| error.to_string()))
}

#[test]
fn paths_of_some_pairs_are_those_of_the_tables_around_dead_cables() {
    let trees = [two_levels(24, 6, 3, 2), three_levels(54, 6), three_levels(40, 6)];
    for (whole, n_dead) in trees.iter().flat_map(|tree| [(tree, 0), (tree, 3), (tree, 9)]) {
        let mut fabric = whole.clone();
        let ports: Vec<PortId> = (0..fabric.ports.len() as u32).map(PortId).collect();
        let cabled = |port: &&PortId| whole.ports[port.index()].peer.is_some();
        let cabled: Vec<&PortId> = ports.iter().filter(cabled).collect();
        for n in 0..n_dead {
            fault::take_down(&mut fabric, "test", *cabled[(n * 37 + 11) % cabled.len()]).unwrap();
        }
        let all = hcas(&fabric);
        let pairs: Vec<(HcaId, HcaId)> =
            all.iter().flat_map(|src| all.iter().rev().map(|dst| (*src, *dst))).collect();
        let tables = engines::compute(&fabric, Engine::Dmodk);
        let reached = |(src, dst): &(HcaId, HcaId)| tables.trace(&fabric, *src, *dst).ok();
        let (good, paths): (Vec<_>, Vec<_>) =
            pairs.iter().filter_map(|pair| Some((*pair, reached(pair)?))).unzip();
        assert!(n_dead > 0 || good.len() == pairs.len());
        assert_eq!(engines::dmodk_paths(&fabric, &good), Ok(paths));
        for (src, dst) in pairs.iter().filter(|pair| reached(pair).is_none()).take(5) {
            let [by_tables, by_itself] = ways_twice(&fabric, *src, *dst);
            assert_eq!(by_tables, by_itself);
        }
    }
}

#[test]
fn a_route_that_goes_in_a_circle_is_named() {
    let spec = json!({"generate": "fat_tree", "levels": 2, "nodes": 4, "nodes_per_leaf": 2,
        "spines": 1, "host_bits_per_s": 1, "switch_bits_per_s": 1, "host_delay_ps": 0,
        "switch_delay_ps": 0});
    let fabric = fabric_of(spec);
    let mut routes = engines::compute(&fabric, Engine::Dmodk);
    // The spine (switch 2) sends node 3's packets back to the first leaf (its port 1).
    routes.set(weft_fabric::SwitchId(2), HcaId(2), 1);
    let error = check::check_routes(&fabric, &routes, &hcas(&fabric)).expect_err("a loop");
    let text = error.to_string();
    assert!(text.contains("the route to 'n003/hca0' comes back to the same switch"), "{text}");
    assert!(text.contains("spine-01") && text.contains("leaf-01"), "{text}");
    let traced = routes.trace(&fabric, HcaId(0), HcaId(2)).expect_err("a loop");
    assert!(traced.to_string().contains("comes back to the same switch"));
}

#[test]
fn a_missing_entry_is_unreachable_from_its_first_sender() {
    let fabric = two_levels(4, 2, 1, 1);
    let mut routes = engines::compute(&fabric, Engine::Minhop);
    routes.set(weft_fabric::SwitchId(0), HcaId(3), 0);
    let error = check::check_routes(&fabric, &routes, &hcas(&fabric)).expect_err("no route");
    assert!(
        error.to_string().starts_with("leaf-01: 'n004/hca0' is unreachable from 'n001/hca0'"),
        "{error}"
    );
}

#[test]
fn every_missing_entry_that_a_pair_uses_is_found() {
    for fabric in [two_levels(3, 3, 1, 1), two_levels(6, 2, 2, 1), three_levels(8, 4)] {
        let routes = engines::compute(&fabric, Engine::Dmodk);
        let all = hcas(&fabric);
        for switch in (0..fabric.n_switches()).map(weft_fabric::SwitchId) {
            for dst in hcas(&fabric) {
                let mut broken = routes.clone();
                broken.set(switch, dst, 0);
                let others = || all.iter().filter(|src| **src != dst);
                let used = others().any(|src| broken.trace(&fabric, *src, dst).is_err());
                let found = check::check_routes(&fabric, &broken, &all).is_err();
                assert_eq!(found, used, "{switch:?} {dst:?}");
            }
        }
    }
}

#[test]
fn tables_survive_a_document() {
    let fabric = two_levels(13, 4, 3, 1);
    let routes = engines::compute(&fabric, Engine::Updn);
    let mut written = generate::read(json!({"generate": "fat_tree", "levels": 2, "nodes": 13,
        "nodes_per_leaf": 4, "spines": 3, "host_bits_per_s": 1, "switch_bits_per_s": 1,
        "host_delay_ps": 0, "switch_delay_ps": 0}))
    .expect("a document");
    written.lfts = Some(routes.to_lfts(&fabric));
    let text = serde_json::to_string(&written).expect("JSON");
    let again = generate::parse(&text).expect("the same document");
    assert_eq!(Routes::from_document(&fabric, &again).expect("tables"), Some(routes));
}

fn many_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(200);
    ProptestConfig { cases: 200, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn up_and_down_reaches_everything_without_credit_loops(spec in any_fabric()) {
        let fabric = fabric_of(spec);
        let routes = engines::compute(&fabric, Engine::Updn);
        prop_assert_eq!(check::check_routes(&fabric, &routes, &hcas(&fabric)), Ok(()));
    }

    #[test]
    fn paths_of_some_pairs_are_those_of_the_tables_on_any_fabric(
        spec in any_fabric(),
        dead in proptest::collection::vec(any::<u32>(), 0..4),
        ends in any::<(u32, u32)>(),
    ) {
        let mut fabric = fabric_of(spec);
        let n_ports = fabric.ports.len() as u32;
        for port in dead.iter().map(|n| PortId(n % n_ports)) {
            if fabric.ports[port.index()].peer.is_some() {
                fault::take_down(&mut fabric, "test", port).expect("a cable");
            }
        }
        let [src, dst] = [ends.0, ends.1].map(|n| HcaId(n % fabric.n_hcas()));
        let [by_tables, by_itself] = ways_twice(&fabric, src, dst);
        prop_assert_eq!(by_tables, by_itself);
    }

    #[test]
    fn minhop_takes_the_fewest_hops(spec in any_fabric()) {
        let fabric = fabric_of(spec);
        let minhop = engines::compute(&fabric, Engine::Minhop);
        let updn = engines::compute(&fabric, Engine::Updn);
        for src in hcas(&fabric) {
            for dst in hcas(&fabric).into_iter().filter(|dst| *dst != src) {
                let fewest = minhop.trace(&fabric, src, dst).expect("a route").len();
                let other = updn.trace(&fabric, src, dst).expect("a route").len();
                let back = minhop.trace(&fabric, dst, src).expect("a route").len();
                prop_assert!(fewest <= other);
                prop_assert_eq!(fewest, back);
            }
        }
    }
}

#[test]
fn a_table_that_leads_to_a_foreign_hca_ends_there() {
    let (mut fabric, routes) = {
        let link = |a: &str, b: &str| json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 0});
        let document = json!({"schema": "weft.fabric/1", "name": "three",
            "nodes": [{"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h"]},
                {"name": "c", "hcas": ["c/h"]}],
            "switches": [{"name": "s", "ports": 3}],
            "links": [link("a/h[1]", "s[1]"), link("b/h[1]", "s[2]"), link("c/h[1]", "s[3]")],
            "lfts": {"s": [1, 2, 2]}});
        let written = generate::read(document).expect("a document");
        let fabric = Fabric::new(&written).expect("a fabric");
        let routes = Routes::from_document(&fabric, &written).expect("tables").expect("some");
        (fabric, routes)
    };
    let text = routes.trace(&fabric, HcaId(0), HcaId(2)).expect_err("it comes to b").to_string();
    assert!(text.starts_with("b/h: 'c/h' is unreachable from 'a/h'"), "{text}");
    // Cables that change places take the other's socket, and with it the entry.
    let [b, c] = ["s[2]", "s[3]"].map(|name| fabric.port_named("test", name).expect("a port"));
    fault::swap(&mut fabric, "test", [b, c]).expect("two cables");
    assert_eq!(routes.trace(&fabric, HcaId(0), HcaId(2)).expect("a path").len(), 2);
}

#[test]
fn rate_and_delay_go_with_a_cable_that_is_swapped() {
    let link = |a: &str, b: &str, rate: u64| -> Value {
        json!({"a": a, "b": b, "bits_per_s": rate, "delay_ps": 10 * rate})
    };
    let document = json!({"schema": "weft.fabric/1", "name": "two",
        "nodes": [{"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h"]}],
        "switches": [{"name": "s", "ports": 2}],
        "links": [link("a/h[1]", "s[1]", 7), link("b/h[1]", "s[2]", 8)]});
    let written = generate::read(document).expect("a document");
    let mut fabric = Fabric::new(&written).expect("a fabric");
    let port = |fabric: &Fabric, name: &str| fabric.port_named("test", name).expect("a port");
    let ends = ["s[1]", "s[2]"].map(|name| port(&fabric, name));
    fault::swap(&mut fabric, "test", ends).expect("two cables");
    for (socket, hca, rate) in [("s[1]", "b/h[1]", 8), ("s[2]", "a/h[1]", 7)] {
        let (socket, hca) = (port(&fabric, socket), port(&fabric, hca));
        assert_eq!(fabric.ports[socket.index()].peer, Some(hca));
        assert_eq!(fabric.ports[hca.index()].peer, Some(socket));
        for end in [socket, hca] {
            let there = fabric.ports[end.index()];
            assert_eq!((there.rate.0, there.delay.0), (rate, 10 * rate));
        }
    }
}
