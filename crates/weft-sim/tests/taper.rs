//! Bounds of a tapered tree: leaves of 44 hosts at 100 Gb/s below 18 cables of 200 Gb/s, 11:9.

use crate::common::*;
use serde_json::{Value, json};
use weft_fabric::document::Engine;
use weft_fabric::generate;
use weft_fabric::{Fabric, HcaId, engines};
use weft_sim::Status;

const HOSTS_A_LEAF: u64 = 44;
const SPINES: u64 = 18;
const HOST: u64 = 100 * GBPS;
const UP: u64 = 200 * GBPS;

fn tapered(nodes: u64) -> Value {
    let mut fabric = tree(nodes, HOSTS_A_LEAF, SPINES, HOST, 50_000);
    fabric["switch_bits_per_s"] = json!(UP);
    fabric
}

/// What of its injection a leaf's cables carry when that share of its bytes leaves the leaf.
fn bound(share_that_leaves: f64) -> f64 {
    let (up, injection) = ((SPINES * UP) as f64, (HOSTS_A_LEAF * HOST) as f64);
    (up / (injection * share_that_leaves)).min(1.0)
}

#[test]
fn traffic_that_leaves_the_leaf_has_nine_elevenths_of_its_injection_and_no_more() {
    let size = 4096 * 1000;
    let flows = (0..HOSTS_A_LEAF).map(|src| (src, HOSTS_A_LEAF + src, size));
    let case = scenario(tapered(2 * HOSTS_A_LEAF), messages(flows));
    let case = with(case, "packets", json!({"headers": "none"}));
    let spans = |routing: Value| {
        let outcome = run(&with(case.clone(), "routing", routing));
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
        outcome.rows.duration_ps.iter().copied().max().unwrap() as f64
    };
    let alone = ser(size, HOST) as f64;
    assert!((bound(1.0) - 9.0 / 11.0).abs() < 1e-12);
    // Every packet goes over some cable of the 18: none is faster than all of them together.
    let adaptive = spans(json!({"engine": "dmodk", "adaptive": {}}));
    assert!(alone / adaptive <= bound(1.0), "{}", alone / adaptive);
    assert!(alone / adaptive >= 0.95 * bound(1.0), "{}", alone / adaptive);
    // 44 destinations modulo 18: eight cables carry three flows, which is all one of them has.
    let fixed = spans(json!({"engine": "dmodk"}));
    assert!(alone / fixed <= (UP as f64 / 3.0) / HOST as f64, "{}", alone / fixed);
}

#[test]
fn of_an_alltoall_of_512_a_leaf_carries_its_share() {
    let fabric = Fabric::new(&generate::read(tapered(512)).expect("a document")).expect("a tree");
    let routes = engines::compute(&fabric, Engine::Dmodk);
    let leaf = fabric.neighbour(fabric.hca_port(HcaId(0))).expect("a leaf");
    let mut leaving = vec![0u64; fabric.ports.len()];
    let (mut n_flows, mut n_leaving) = (0u64, 0u64);
    for src in (0..HOSTS_A_LEAF as u32).map(HcaId) {
        for dst in (0..fabric.n_hcas()).map(HcaId).filter(|dst| *dst != src) {
            n_flows += 1;
            for port in routes.trace(&fabric, src, dst).expect("a route") {
                let up = fabric.ports[port.index()].rate.0 == UP;
                if up && fabric.ports[port.index()].vertex == leaf {
                    leaving[port.index()] += 1;
                    n_leaving += 1;
                }
            }
        }
    }
    assert_eq!((n_flows, n_leaving), (HOSTS_A_LEAF * 511, HOSTS_A_LEAF * (512 - HOSTS_A_LEAF)));
    // What a leaf's cables allow the mix: 9/11 over the share that leaves.
    let share = n_leaving as f64 / n_flows as f64;
    assert!((bound(share) - 0.8934).abs() < 1e-4, "{}", bound(share));
    // d-mod-k meets it over all steps: each cable carries the same share of destinations.
    let used: Vec<u64> = leaving.into_iter().filter(|n| *n > 0).collect();
    assert_eq!(used.len() as u64, SPINES);
    let (least, most) = (used.iter().min().unwrap(), used.iter().max().unwrap());
    assert!(most - least <= HOSTS_A_LEAF, "{least} to {most}: at most one destination apart");
}
