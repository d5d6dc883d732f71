//! Tables after a cable died: what still arrived keeps its entries, and what can arrive does.

use crate::common::subnets::{any_plan, path};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use weft_fabric::opensm::{OpensmEngine, Options, reroute, route};
use weft_fabric::subnet::{End, Subnet};

const NO_OPTIONS: Options = Options { roots: Vec::new() };

fn without(subnet: &Subnet, dead: End) -> Subnet {
    let mut cut = subnet.clone();
    for end in [Some(dead), subnet.peer(dead)].into_iter().flatten() {
        cut.nodes[end.node as usize].ports[usize::from(end.port) - 1].peer = None;
    }
    cut
}

/// The nodes that a node reaches.
fn reached(subnet: &Subnet, from: u32) -> BTreeSet<u32> {
    let (mut found, mut stack) = (BTreeSet::new(), vec![from]);
    while let Some(node) = stack.pop() {
        if found.insert(node) {
            let ports = subnet.nodes[node as usize].ports.iter();
            stack.extend(ports.filter_map(|port| port.peer).map(|peer| peer.node));
        }
    }
    found
}

/// A cable between two switches.
fn inner_cable(subnet: &Subnet, pick: usize) -> Option<End> {
    let inner: Vec<End> = subnet
        .cables()
        .filter(|(a, b)| [a, b].iter().all(|end| subnet.nodes[end.node as usize].is_switch()))
        .map(|(a, _)| a)
        .collect();
    inner.get(pick % inner.len().max(1)).copied()
}

fn many_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(150);
    ProptestConfig { cases: 150, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(many_cases())]

    #[test]
    fn around_a_dead_cable_all_that_can_arrive_does_and_the_rest_stays(
        plan in any_plan(),
        pick in any::<usize>(),
        by_minhop in any::<bool>(),
    ) {
        let subnet = plan.subnet();
        let Some(dead) = inner_cable(&subnet, pick) else { return Ok(()) };
        let before = route(&subnet, OpensmEngine::Minhop, &NO_OPTIONS).expect("tables").lfts;
        let engine = by_minhop.then_some(OpensmEngine::Minhop);
        let after = reroute(&subnet, &before, engine, &NO_OPTIONS, &[dead]).expect("tables");
        prop_assert_eq!(after.engine, engine);
        let cut = without(&subnet, dead);
        for from in 0..subnet.nodes.len() as u32 {
            let there = reached(&cut, from);
            for lid in 1..=subnet.top_lid() {
                let Some(end) = subnet.end_of_lid(lid) else { continue };
                let now = path(&cut, &after.lfts, from, lid);
                prop_assert_eq!(now.is_some(), there.contains(&end.node));
                // Between two switches there may be another cable.
                let old = path(&cut, &before, from, lid);
                if engine.is_none() && old.is_some() && subnet.nodes[from as usize].is_switch() {
                    let port = |lfts: &weft_fabric::subnet::Lfts| lfts.port(from as usize, lid);
                    prop_assert_eq!(port(&after.lfts), port(&before));
                }
            }
        }
    }
}
