//! OpenSM's engines: what every table must obey, on random subnets.

use crate::common::subnets::{Plan, any_plan, fat_tree, path};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use weft_fabric::opensm::{OpensmEngine, Options, RouteError, Routed, Rule, route};
use weft_fabric::subnet::Subnet;

const NO_OPTIONS: Options = Options { roots: Vec::new() };

fn roots(plan: &Plan, switches: &[usize]) -> Options {
    Options { roots: switches.iter().map(|switch| plan.guid(*switch)).collect() }
}

/// Fewest cables from a node to every other, searched breadth first over all cables.
fn distances(subnet: &Subnet, from: u32) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::from([(from, 0)]);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front() {
        for peer in subnet.nodes[node as usize].ports.iter().filter_map(|port| port.peer) {
            if !found.contains_key(&peer.node) {
                found.insert(peer.node, found[&node] + 1);
                queue.push_back(peer.node);
            }
        }
    }
    found
}

/// Whether a step between two switches goes up: to the lower rank; among equals to the lower GUID.
fn is_up(subnet: &Subnet, routed: &Routed, step: &[u32]) -> bool {
    let key = |node: u32| (routed.ranks[&node], subnet.nodes[node as usize].guid);
    key(step[1]) < key(step[0])
}

/// Whether a path goes up after it went down.
fn has_valley(subnet: &Subnet, routed: &Routed, path: &[u32]) -> bool {
    let is_switch = |node: &&u32| subnet.nodes[**node as usize].is_switch();
    let switches: Vec<u32> = path.iter().filter(is_switch).copied().collect();
    let ups: Vec<bool> = switches.windows(2).map(|step| is_up(subnet, routed, step)).collect();
    ups.windows(2).any(|pair| !pair[0] && pair[1])
}

fn lids(subnet: &Subnet) -> impl Iterator<Item = (u16, u32)> + '_ {
    (1..=subnet.top_lid()).filter_map(|lid| Some((lid, subnet.end_of_lid(lid)?.node)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn minhop_leads_everywhere_by_the_fewest_cables(plan in any_plan(), lmc in 0u8..3) {
        let subnet = Plan { lmc, ..plan }.subnet();
        let routed = route(&subnet, OpensmEngine::Minhop, &NO_OPTIONS).expect("switches with LIDs");
        for from in 0..subnet.nodes.len() as u32 {
            let fewest = distances(&subnet, from);
            for (lid, node) in lids(&subnet) {
                let path = path(&subnet, &routed.lfts, from, lid).expect("a path");
                prop_assert_eq!(path.len() - 1, fewest[&node]);
            }
        }
        prop_assert_eq!(&routed, &route(&subnet, OpensmEngine::Minhop, &NO_OPTIONS).unwrap());
    }

    #[test]
    fn updn_from_one_root_leads_everywhere(plan in any_plan(), root in 0usize..3) {
        let subnet = plan.subnet();
        let routed = route(&subnet, OpensmEngine::Updn, &roots(&plan, &[root])).expect("a root");
        let root = subnet.node_of_guid(plan.guid(root)).unwrap();
        prop_assert_eq!(&routed.roots, &[root]);
        for from in 0..subnet.nodes.len() as u32 {
            for (lid, _) in lids(&subnet) {
                prop_assert!(path(&subnet, &routed.lfts, from, lid).is_some());
            }
        }
    }

    #[test]
    fn updn_never_goes_up_again_where_no_cable_joins_switches_of_one_rank(
        plan in any_plan(), others in prop::collection::vec(0usize..20, 1..4)
    ) {
        let n = plan.adapters.len();
        let others: Vec<usize> = others.into_iter().map(|switch| switch % n).collect();
        let options = roots(&plan, &others);
        let plan = without_level_cables(plan, &options);
        let subnet = plan.subnet();
        let routed = route(&subnet, OpensmEngine::Updn, &options).expect("roots");
        for from in routed.ranks.keys().copied() {
            let legal = legal_distances(&subnet, &routed, from);
            for (lid, node) in lids(&subnet) {
                let has_entry = routed.lfts.port(from as usize, lid).is_some();
                prop_assert_eq!(has_entry, legal.contains_key(&node));
                if has_entry {
                    let path = path(&subnet, &routed.lfts, from, lid).expect("a path to its end");
                    prop_assert!(!has_valley(&subnet, &routed, &path), "{:?}", path);
                    prop_assert_eq!(path.len() - 1, legal[&node]);
                }
            }
        }
        prop_assert_eq!(&routed, &route(&subnet, OpensmEngine::Updn, &options).unwrap());
    }
}

/// The plan less its cables between switches that are equally far from the nearest root.
fn without_level_cables(plan: Plan, options: &Options) -> Plan {
    let subnet = plan.subnet();
    let ranks = route(&subnet, OpensmEngine::Updn, options).expect("roots").ranks;
    let rank = |switch: usize| ranks[&subnet.node_of_guid(plan.guid(switch)).unwrap()];
    let steep = |(a, b): &&(usize, usize)| rank(*a) != rank(*b);
    Plan { cables: plan.cables.iter().filter(steep).copied().collect(), ..plan }
}

/// Fewest cables from a node to every other that can be reached without going up after going
/// down: a search over nodes twice, as they are reached by going up only and by going down.
fn legal_distances(subnet: &Subnet, routed: &Routed, from: u32) -> BTreeMap<u32, usize> {
    let mut found = BTreeMap::from([((from, false), 0)]);
    let mut queue = VecDeque::from([(from, false)]);
    while let Some((node, went_down)) = queue.pop_front() {
        for peer in subnet.nodes[node as usize].ports.iter().filter_map(|port| port.peer) {
            let are_switches = [node, peer.node].iter().all(|node| routed.ranks.contains_key(node));
            let up = are_switches && is_up(subnet, routed, &[node, peer.node]);
            if (up && went_down) || found.contains_key(&(peer.node, !up)) {
                continue;
            }
            found.insert((peer.node, !up), found[&(node, went_down)] + 1);
            queue.push_back((peer.node, !up));
        }
    }
    let mut fewest = BTreeMap::new();
    for ((node, _), hops) in found {
        let least = fewest.entry(node).or_insert(hops);
        *least = (*least).min(hops);
    }
    fewest
}

#[test]
fn ftree_spreads_every_leafs_adapters_over_all_spines_alike() {
    // 4 adapters on each leaf, 2 spines, 2 cables to each: 4 ways up, 3 other leaves' worth of 12.
    let subnet = fat_tree(4, 2, 4, 2).subnet();
    let routed = route(&subnet, OpensmEngine::Ftree, &NO_OPTIONS).expect("a regular tree");
    for (node, rank) in routed.ranks.iter().filter(|(_, rank)| **rank == 1) {
        let mut paths: BTreeMap<u8, usize> = BTreeMap::new();
        for (lid, _) in lids(&subnet).filter(|(_, node)| !routed.ranks.contains_key(node)) {
            *paths.entry(routed.lfts.port(*node as usize, lid).unwrap()).or_default() += 1;
        }
        assert_eq!(*rank, 1);
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), {
            let own = (1..=4).map(|port| (port, 1));
            own.chain((5..=8).map(|port| (port, 3))).collect::<Vec<_>>()
        });
    }
}

fn refused(plan: &Plan) -> (Rule, String, Vec<String>) {
    match route(&plan.subnet(), OpensmEngine::Ftree, &NO_OPTIONS) {
        Err(RouteError::NotATree { rule, what, nodes }) => (rule, what, nodes),
        other => panic!("ftree took it: {other:?}"),
    }
}

#[test]
fn ftree_names_the_rule_and_the_switches_where_opensm_only_falls_back() {
    let tree = || fat_tree(3, 2, 2, 2);
    let without = |pair: (usize, usize), n: usize| {
        let mut plan = tree();
        for _ in 0..n {
            let at = plan.cables.iter().position(|cable| *cable == pair).unwrap();
            plan.cables.remove(at);
        }
        plan
    };
    let (rule, _, nodes) = refused(&without((1, 4), 2));
    assert_eq!(rule, Rule::UpGroups);
    assert!(nodes.contains(&"s1".to_owned()), "{nodes:?}");
    let (rule, what, nodes) = refused(&without((1, 4), 1));
    assert_eq!((rule, nodes.contains(&"s1".to_owned())), (Rule::UpWidth, true), "{what}");
    let mut uneven = tree();
    uneven.adapters[3] = 1;
    assert_eq!(refused(&uneven).0, Rule::LeafLevel);
    let ring = Plan { cables: vec![(0, 1), (1, 2), (2, 0)], adapters: vec![1; 3], ..tree() };
    assert_eq!(refused(&ring).0, Rule::Levels);
    let mut lost = tree();
    lost.adapters.push(0);
    assert_eq!(refused(&lost).0, Rule::Connected);
    let single = fat_tree(1, 2, 4, 1);
    assert_eq!(refused(&single).0, Rule::Size);
    assert_eq!(refused(&Plan { lmc: 1, ..tree() }).0, Rule::Size);
}

#[test]
fn the_texts_of_the_errors_say_what_where_and_what_was_expected() {
    let text = |plan: &Plan, engine, options: &Options| {
        route(&plan.subnet(), engine, options).expect_err("no tables").to_string()
    };
    let mut broken = fat_tree(2, 2, 2, 1);
    broken.cables.pop();
    let reported = text(&broken, OpensmEngine::Ftree, &NO_OPTIONS);
    let (reported, hint) = reported.split_once("\n  hint: ").expect("a hint");
    let (what, expected) = reported.split_once("\n  expected: ").expect("what was expected");
    let either = [
        "'s0' has 2 switches above it and 's1' has 1",
        "'s1' has 1 switches above it and 's0' has 2",
    ];
    let wanted = either.map(|wanted| format!("routing with ftree: at rank 1, {wanted}"));
    assert!(wanted.contains(&what.to_owned()), "{what}");
    assert_eq!(expected, "as many switches above every switch of a level (OpenSM: ERR AB09, AB0D)");
    assert!(hint.contains("OpenSM itself would route with minhop here"));
    // A ring of three switches: from none are nine in ten adapters equally far.
    let ring =
        Plan { cables: vec![(0, 1), (1, 2), (2, 0)], adapters: vec![1; 3], ..broken.clone() };
    let reported = text(&ring, OpensmEngine::Updn, &NO_OPTIONS);
    assert!(
        reported.starts_with("routing with updn: none of 3 switches looks like a root\n"),
        "{reported}"
    );
    let reported = text(&ring, OpensmEngine::Updn, &Options { roots: vec![0xabc] });
    assert_eq!(
        reported,
        "routing: no switch has the GUID 0x0000000000000abc of a root\n  expected: the node GUID \
         of a switch of the subnet"
    );
    let mut subnet = ring.subnet();
    let index = subnet.nodes.iter().position(|node| node.is_switch()).unwrap();
    subnet.nodes[index].lid = 0;
    let reported =
        route(&subnet, OpensmEngine::Minhop, &NO_OPTIONS).expect_err("no LID").to_string();
    let name = &subnet.nodes[index].description;
    assert!(reported.starts_with(&format!("routing: switch '{name}' has no LID\n")), "{reported}");
    let reported = route(&Subnet::default(), OpensmEngine::Minhop, &NO_OPTIONS).expect_err("empty");
    assert_eq!(reported, RouteError::NoSwitch);
}

#[test]
fn adapters_without_a_lid_are_reported_and_the_others_routed() {
    let plan = fat_tree(2, 1, 2, 1);
    let mut subnet = plan.subnet();
    let first = subnet.endports().next().expect("adapters");
    let lid = subnet.nodes[first.node as usize].ports[0].lid;
    subnet.nodes[first.node as usize].ports[0].lid = 0;
    subnet.index_lids();
    for engine in OpensmEngine::ALL {
        let routed = route(&subnet, engine, &NO_OPTIONS).expect("tables for the others");
        assert_eq!(routed.without_lid, [first]);
        for switch in subnet.nodes.iter().enumerate().filter(|(_, node)| node.is_switch()) {
            assert_eq!(routed.lfts.port(switch.0, lid), None);
        }
    }
}
