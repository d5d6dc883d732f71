//! Lanes of the paths of tables: what a document may say, circles by lane, and an assignment of
//! service levels that leaves none.

use crate::common::any_fabric;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_fabric::document::{Engine, FabricDocument};
use weft_fabric::lane_paths::{assign_levels, check_laned_routes};
use weft_fabric::{Fabric, HcaId, PathLanes, Routes, SwitchId, engines, generate};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

/// Four switches in a ring, all routed clockwise.
fn ring(lanes: Value) -> Value {
    let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 0});
    let (mut links, mut lfts) = (Vec::new(), serde_json::Map::new());
    for (i, name) in NAMES.iter().enumerate() {
        links.push(link(format!("{name}/hca[1]"), format!("s{name}[1]")));
        links.push(link(format!("s{name}[2]"), format!("s{}[3]", NAMES[(i + 1) % 4])));
        let row: Vec<u32> = (0..4).map(|dst| if dst == i { 1 } else { 2 }).collect();
        lfts.insert(format!("s{name}"), json!(row));
    }
    json!({"schema": "weft.fabric/1", "name": "ring", "links": links, "lfts": lfts,
           "nodes": NAMES.map(|n| json!({"name": n, "hcas": [format!("{n}/hca")]})),
           "switches": NAMES.map(|n| json!({"name": format!("s{n}"), "ports": 3})),
           "lanes": lanes})
}

fn modulo(count: u8) -> Value {
    let list: Vec<u8> = (0..16).map(|level| level % count).collect();
    json!({"count": count, "levels": {}, "sl2vl": [list]})
}

fn read(spec: Value) -> (Fabric, Routes, Result<Option<PathLanes>, String>) {
    let written: FabricDocument = generate::read(spec).expect("a document");
    let fabric = Fabric::new(&written).expect("a fabric");
    let routes = Routes::from_document(&fabric, &written).expect("tables").expect("some");
    let lanes = PathLanes::from_document(&fabric, &written).map_err(|error| error.to_string());
    (fabric, routes, lanes)
}

fn hcas(fabric: &Fabric) -> Vec<HcaId> {
    (0..fabric.n_hcas()).map(HcaId).collect()
}

#[test]
fn a_ring_on_one_lane_has_a_circle_whatever_its_levels() {
    let (fabric, routes, lanes) = read(ring(modulo(1)));
    let mut lanes = lanes.unwrap().unwrap();
    let checked = check_laned_routes(&fabric, &routes, Some(&lanes), &hcas(&fabric));
    let text = checked.expect_err("a circle").to_string();
    assert!(text.contains("credit loop over ") && text.contains("[2] (lane 0) -> "), "{text}");
    assert!(!assign_levels(&fabric, &routes, &mut lanes));
}

#[test]
fn two_lanes_are_enough_for_a_ring_and_each_level_is_a_lanes() {
    let (fabric, routes, lanes) = read(ring(modulo(2)));
    let mut lanes = lanes.unwrap().unwrap();
    assert!(assign_levels(&fabric, &routes, &mut lanes));
    check_laned_routes(&fabric, &routes, Some(&lanes), &hcas(&fabric)).expect("no circle");
    let all = || (0..4).flat_map(|s| (0..4).map(move |dst| (SwitchId(s), HcaId(dst))));
    let levels: Vec<u8> = all().map(|(entry, dst)| lanes.level(entry, dst)).collect();
    assert!(levels.iter().all(|level| *level < 2) && levels.contains(&1), "{levels:?}");
    assert!(lanes.is_constant());
}

#[test]
fn levels_are_found_where_lanes_change_on_the_path() {
    let list = |of_level_1: u8| (0..16).map(move |l| if l == 1 { of_level_1 } else { 0 });
    let lists: Vec<Vec<u8>> = vec![list(0).collect(), list(1).collect()];
    let from_ring = json!([[0, 0, 0], [0, 0, 0], [1, 1, 1]]);
    let lanes = json!({"count": 2, "levels": {}, "sl2vl": lists,
                       "ports": {"sa": from_ring, "sb": from_ring}});
    let (fabric, routes, lanes) = read(ring(lanes));
    let mut lanes = lanes.unwrap().unwrap();
    assert!(assign_levels(&fabric, &routes, &mut lanes));
    check_laned_routes(&fabric, &routes, Some(&lanes), &hcas(&fabric)).expect("no circle");
}

#[test]
fn packets_on_the_lane_that_drops_them_are_refused() {
    let mut lanes = modulo(2);
    lanes["sl2vl"][0][1] = json!(15);
    lanes["levels"] = json!({"sb": [1, 0, 0, 0]});
    let (fabric, routes, lanes) = read(ring(lanes));
    let lanes = lanes.unwrap();
    let checked = check_laned_routes(&fabric, &routes, lanes.as_ref(), &hcas(&fabric)[..2]);
    let text = checked.expect_err("dropped").to_string();
    assert!(text.starts_with("fabric.lanes: 'sb' drops packets from 'b/hca' to 'a/hca'"), "{text}");
}

#[test]
fn what_no_lanes_can_be_is_refused_where_it_stands() {
    let wrong = |key: &str, value: Value| {
        let mut lanes = modulo(2);
        lanes[key] = value;
        lanes
    };
    let rows = json!([[0, 0, 0], [0, 0, 0], [0, 0, 7]]);
    for (lanes, place) in [
        (wrong("count", json!(0)), "fabric.lanes.count: 0 lanes"),
        (wrong("count", json!(16)), "fabric.lanes.count: 16 lanes"),
        (wrong("count", json!(1)), "fabric.lanes.sl2vl[0]: lane 1"),
        (wrong("sl2vl", json!([])), "fabric.lanes.sl2vl: there is no list"),
        (wrong("levels", json!({"sx": [0, 0, 0, 0]})), "fabric.lanes.levels[\"sx\"]: there is no"),
        (wrong("levels", json!({"a/hca": [0, 0, 0, 0]})), "fabric.lanes.levels[\"a/hca\"]: there"),
        (wrong("levels", json!({"sa": [0, 0]})), "fabric.lanes.levels[\"sa\"]: 2 entries"),
        (wrong("levels", json!({"sa": [0, 0, 0, 16]})), "fabric.lanes.levels[\"sa\"]: service"),
        (wrong("ports", json!({"sx": [[0]]})), "fabric.lanes.ports: there is no switch or HCA"),
        (wrong("ports", json!({"sa": [[0]]})), "fabric.lanes.ports[\"sa\"]: rows of another size"),
        (wrong("ports", json!({"sa": rows})), "fabric.lanes.ports: list 7"),
    ] {
        let (_, _, read) = read(ring(lanes));
        let text = read.expect_err("refused");
        assert!(text.starts_with(place), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    }
    let mut without = ring(modulo(2));
    without.as_object_mut().unwrap().remove("lfts");
    let written = generate::read(without).expect("a document");
    let fabric = Fabric::new(&written).expect("a fabric");
    let text = PathLanes::from_document(&fabric, &written).expect_err("no tables").to_string();
    assert!(text.starts_with("fabric.lanes: lanes of paths without the tables"), "{text}");
}

fn some_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(80);
    ProptestConfig { cases: 80, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn shortest_paths_of_any_fabric_fit_the_lanes_of_a_port(spec in any_fabric()) {
        let mut written = generate::read(spec).expect("a document");
        let fabric = Fabric::new(&written).expect("a fabric");
        let routes = engines::compute(&fabric, Engine::Minhop);
        written.lfts = Some(routes.to_lfts(&fabric));
        written.lanes = Some(serde_json::from_value(modulo(8)).expect("lanes"));
        let lanes = PathLanes::from_document(&fabric, &written).expect("lanes");
        let mut lanes = lanes.expect("some");
        prop_assert!(assign_levels(&fabric, &routes, &mut lanes));
        let all = hcas(&fabric);
        prop_assert_eq!(check_laned_routes(&fabric, &routes, Some(&lanes), &all), Ok(()));
        // On one lane the verdict is the plain check's.
        written.lanes = Some(serde_json::from_value(modulo(1)).expect("lanes"));
        let one = PathLanes::from_document(&fabric, &written).expect("lanes");
        let plain = check_laned_routes(&fabric, &routes, None, &all);
        let laned = check_laned_routes(&fabric, &routes, one.as_ref(), &all);
        prop_assert_eq!(plain.is_ok(), laned.is_ok());
    }
}
