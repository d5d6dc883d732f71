//! A subnet with parts taken out and put in: what stays is the same, by GUID.

use crate::common::subnets::{any_plan, fat_tree};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;
use weft_fabric::alteration::{Alteration, NewCable, NewSwitch, altered};
use weft_fabric::opensm::{OpensmEngine, Options, route};
use weft_fabric::subnet::{End, Lfts, Subnet};

const NO_OPTIONS: Options = Options { roots: Vec::new() };

/// Cables by the GUIDs and numbers of their ends.
fn cables(subnet: &Subnet) -> BTreeSet<[(u64, u8); 2]> {
    let name = |end: End| (subnet.nodes[end.node as usize].guid, end.port);
    let both = subnet.cables().map(|(a, b)| {
        let mut ends = [name(a), name(b)];
        ends.sort_unstable();
        ends
    });
    both.collect()
}

/// By GUID of a switch its whole table.
fn tables(subnet: &Subnet, lfts: &Lfts) -> Vec<(u64, Option<Vec<u8>>)> {
    let nodes = subnet.nodes.iter().enumerate();
    nodes.map(|(at, node)| (node.guid, lfts.row(at).map(<[u8]>::to_vec))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(60),
        ..ProptestConfig::default()
    })]

    #[test]
    fn without_a_node_all_other_cables_and_tables_stay(plan in any_plan(), pick in any::<usize>()) {
        let subnet = plan.subnet();
        let before = route(&subnet, OpensmEngine::Minhop, &NO_OPTIONS).expect("tables").lfts;
        let gone = (pick % subnet.nodes.len()) as u32;
        let guid = subnet.nodes[gone as usize].guid;
        let alteration = Alteration { gone: [gone].into(), ..Alteration::default() };
        let (after, lfts) = altered(&subnet, &before, &alteration).expect("a subnet");
        let mut stay = cables(&subnet);
        stay.retain(|ends| ends.iter().all(|(at, _)| *at != guid));
        prop_assert_eq!(cables(&after), stay);
        let mut same = tables(&subnet, &before);
        same.retain(|(at, _)| *at != guid);
        prop_assert_eq!(tables(&after, &lfts), same);
        prop_assert!(after.nodes.is_sorted_by_key(|node| node.guid));
        for lid in 1..=subnet.top_lid() {
            let guid_of = |of: &Subnet| {
                of.end_of_lid(lid).map(|end| of.nodes[end.node as usize].guid)
            };
            let expected = guid_of(&subnet).filter(|at| *at != guid);
            prop_assert_eq!(guid_of(&after), expected);
        }
    }
}

#[test]
fn a_switch_that_comes_with_cables_is_routed_to() {
    let plan = fat_tree(3, 2, 2, 1);
    let subnet = plan.subnet();
    let lid = subnet.top_lid() + 1;
    let spine = NewSwitch { guid: 7, description: "new".to_owned(), n_ports: 8, lid };
    // Each leaf has 2 adapters and 2 spines: port 5 is not there yet.
    let mut wide = subnet.clone();
    wide.nodes.iter_mut().filter(|node| node.is_switch()).for_each(|node| {
        node.ports.resize(5, weft_fabric::subnet::SubnetPort::default());
    });
    let cable =
        |leaf: usize| NewCable { ends: [(7, leaf as u8 + 1), (plan.guid(leaf), 5)], rate: None };
    let alteration = Alteration {
        switches: vec![spine],
        cables: (0..3).map(cable).collect(),
        ..Alteration::default()
    };
    let (after, _) = altered(&wide, &Lfts::new(wide.nodes.len()), &alteration).expect("a subnet");
    assert_eq!(cables(&after).len(), cables(&subnet).len() + 3);
    let routed = route(&after, OpensmEngine::Minhop, &NO_OPTIONS).expect("tables").lfts;
    let new = after.node_of_guid(7).expect("the switch") as usize;
    for end in after.endports() {
        let lid = after.port(end).expect("a port").lid;
        assert!(routed.port(new, lid).is_some());
    }
}

#[test]
fn what_is_there_already_is_refused() {
    let plan = fat_tree(2, 1, 1, 1);
    let subnet = plan.subnet();
    let lfts = Lfts::new(subnet.nodes.len());
    let refusal = |alteration: Alteration| {
        altered(&subnet, &lfts, &alteration).expect_err("a refusal").to_string()
    };
    let guid = plan.guid(0);
    let again = NewSwitch { guid, description: "x".to_owned(), n_ports: 1, lid: 99 };
    let twice = refusal(Alteration { switches: vec![again], ..Alteration::default() });
    assert!(twice.contains("a GUID that no node has"), "{twice}");
    let cable = NewCable { ends: [(guid, 1), (plan.guid(1), 1)], rate: None };
    let taken = refusal(Alteration { cables: vec![cable], ..Alteration::default() });
    assert!(taken.contains("a free port of a node that is there"), "{taken}");
}
