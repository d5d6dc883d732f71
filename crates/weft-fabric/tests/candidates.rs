//! Ports to choose from: all that lead closer, none that does not, whatever the destination.

use crate::common::any_fabric;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::collections::VecDeque;
use weft_fabric::document::{self, Engine};
use weft_fabric::{Fabric, HcaId, SwitchId, VertexId, engines, fault};

fn fabric_of(spec: Value) -> Fabric {
    Fabric::new(&document::read(spec).expect("a document")).expect("a fabric")
}

fn tree(change: Value) -> Fabric {
    let mut spec = json!({"generate": "fat_tree", "host_bits_per_s": 1, "switch_bits_per_s": 1,
        "host_delay_ps": 0, "switch_delay_ps": 0});
    for (key, value) in change.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    fabric_of(spec)
}

/// Cables to the vertex from every vertex, over cables that are up: an oracle of its own.
fn hops_to(fabric: &Fabric, target: VertexId) -> Vec<Option<u32>> {
    let mut hops = vec![None; fabric.vertices.len()];
    hops[target.index()] = Some(0);
    let mut queue = VecDeque::from([target]);
    while let Some(at) = queue.pop_front() {
        for next in fabric.ports_of(at).filter_map(|port| fabric.neighbour(port)) {
            // HCAs end paths, they carry none on.
            if hops[next.index()].is_none() && fabric.switch(next).is_some() {
                hops[next.index()] = hops[at.index()].map(|n| n + 1);
                queue.push_back(next);
            }
        }
    }
    hops
}

/// The numbers of the ports of a switch whose far ends are one hop closer to `dst`.
fn closer(fabric: &Fabric, switch: SwitchId, dst: HcaId, hops: &[Option<u32>]) -> Vec<u16> {
    let at = fabric.switch_vertex(switch);
    let one_less = |n: u32| n.checked_sub(1);
    let wanted = hops[at.index()].and_then(one_less);
    let ports = fabric.ports_of(at).zip(0u16..);
    let leads = |next: VertexId| {
        next == dst.vertex()
            || wanted.is_some() && hops[next.index()] == wanted && fabric.hca(next).is_none()
    };
    ports.filter(|(p, _)| fabric.neighbour(*p).is_some_and(leads)).map(|(_, n)| n).collect()
}

fn agree_with_the_oracle(fabric: &Fabric, engine: Engine) {
    let tables = engines::tables(fabric, engine);
    for dst in (0..fabric.n_hcas()).map(HcaId) {
        let hops = hops_to(fabric, dst.vertex());
        for switch in (0..fabric.n_switches()).map(SwitchId) {
            let group = tables.candidates.group(switch, dst);
            assert_eq!(group, closer(fabric, switch, dst, &hops), "{switch:?} to {dst:?}");
            let number = tables.routes.number(switch, dst) as u16;
            assert!(number > 0 && group.contains(&(number - 1)), "the table takes one of them");
        }
    }
}

#[test]
fn groups_of_trees_are_all_ports_of_shortest_ways() {
    let trees = [
        tree(json!({"levels": 2, "nodes": 13, "nodes_per_leaf": 4, "spines": 3})),
        tree(json!({"levels": 2, "nodes": 8, "nodes_per_leaf": 2, "spines": 2,
            "cables_per_spine": 3, "hcas_per_node": 2})),
        tree(json!({"levels": 3, "nodes": 16, "radix": 4})),
        tree(json!({"levels": 3, "nodes": 54, "radix": 6})),
    ];
    for fabric in &trees {
        for engine in [Engine::Dmodk, Engine::Minhop, Engine::Updn] {
            agree_with_the_oracle(fabric, engine);
        }
    }
}

#[test]
fn a_dead_cable_is_in_no_group() {
    let mut fabric = tree(json!({"levels": 2, "nodes": 8, "nodes_per_leaf": 4, "spines": 4}));
    let dead = fabric.port_named("test", "leaf-01[6]").expect("a port");
    fault::take_down(&mut fabric, "test", dead).expect("a cable");
    let tables = engines::tables(&fabric, Engine::Dmodk);
    assert_eq!(tables.candidates.group(SwitchId(0), HcaId(7)), [4, 6, 7]);
    assert_eq!(tables.candidates.group(SwitchId(1), HcaId(0)), [4, 6, 7]);
}

fn some_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(100);
    ProptestConfig { cases: 100, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn groups_of_fewest_hops_are_those_of_a_plain_search(spec in any_fabric()) {
        agree_with_the_oracle(&fabric_of(spec), Engine::Minhop);
    }
}
