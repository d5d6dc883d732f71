//! Tables of our engines against those that OpenSM 3.3.23 gave the same networks on ibsim.

use crate::common::samples;
use weft_fabric::opensm::{OpensmEngine, Options, RouteError, Rule, route};
use weft_fabric::subnet::Subnet;

/// The network as `ibnetdiscover` found it, with the tables that OpenSM's engine gave it.
fn dumped(folder: &str, engine: &str, variant: &str) -> Subnet {
    let network = format!("opensm/routing/{folder}/ibnetdiscover{variant}");
    let tables = format!("opensm/routing/{folder}/{engine}{variant}.fdbs");
    let subnet = samples::subnet(&[&network, &tables]);
    assert_eq!((&subnet.unread, &subnet.misfits), (&Vec::new(), &Vec::new()));
    subnet
}

/// Every entry of every switch is OpenSM's; how many entries that are.
fn compare(subnet: &Subnet, engine: &str, roots: &[u64]) -> usize {
    let engine = OpensmEngine::from_word(engine).expect("an engine");
    let routed = route(subnet, engine, &Options { roots: roots.to_vec() }).expect("tables");
    let mut n_entries = 0;
    for (node, there) in subnet.nodes.iter().enumerate().filter(|(_, node)| node.is_switch()) {
        for lid in 1..=subnet.top_lid() {
            let (ours, theirs) = (routed.lfts.port(node, lid), subnet.lfts.port(node, lid));
            assert_eq!(ours, theirs, "{} of '{}', LID {lid}", engine.name(), there.description);
            n_entries += usize::from(theirs.is_some());
        }
    }
    n_entries
}

#[test]
fn two_levels_with_double_cables_and_missing_hosts() {
    // 13 hosts and 6 switches on 6 switches; of the spines' LIDs only minhop knows the way from
    // the other spine, up again over a leaf.
    assert_eq!(compare(&dumped("two-levels", "minhop", ""), "minhop", &[]), 6 * 19);
    assert_eq!(compare(&dumped("two-levels", "updn", ""), "updn", &[]), 6 * 19 - 2);
    assert_eq!(compare(&dumped("two-levels", "ftree", ""), "ftree", &[]), 6 * 19 - 2);
}

#[test]
fn three_levels_with_a_cable_between_two_switches_of_one_level() {
    assert_eq!(compare(&dumped("three-levels", "minhop", ""), "minhop", &[]), 240);
    assert_eq!(compare(&dumped("three-levels", "updn", ""), "updn", &[]), 212);
    assert_eq!(compare(&dumped("three-levels", "ftree", ""), "ftree", &[]), 212);
}

/// What `root_guid_file` said.
const ROOTS: [u64; 2] = [0x506b_4b03_29c9_ae20, 0x506b_4b03_1a39_fa80];

#[test]
fn irregular_networks_with_given_roots() {
    assert_eq!(compare(&dumped("irregular", "minhop", ""), "minhop", &[]), 104);
    assert_eq!(compare(&dumped("irregular", "updn", ""), "updn", &ROOTS), 92);
}

#[test]
fn two_lids_for_every_adapter() {
    assert_eq!(compare(&dumped("two-levels", "minhop", "-lmc1"), "minhop", &[]), 6 * 32);
    assert_eq!(compare(&dumped("irregular", "updn", "-lmc1"), "updn", &ROOTS), 128);
}

#[test]
fn a_torus_has_minhop_only() {
    let subnet = dumped("torus", "minhop", "");
    assert_eq!(compare(&subnet, "minhop", &[]), 9 * 18);
    // OpenSM logs "disabling UPDN algorithm, no root nodes were found" and ERR AB2B.
    let refused = |engine| route(&subnet, engine, &Options::default()).expect_err("no tables");
    assert_eq!(refused(OpensmEngine::Updn), RouteError::NoRoot { n_switches: 9 });
    assert!(matches!(
        refused(OpensmEngine::Ftree),
        RouteError::NotATree { rule: Rule::Levels, .. }
    ));
}

#[test]
fn opensms_own_updn_goes_up_again_where_cables_join_switches_of_one_rank() {
    let subnet = dumped("valley", "updn", "");
    let roots = [0x8c66_7d23_43ea_0002, 0x2b06_f8be_df53_0007];
    assert_eq!(compare(&subnet, "updn", &roots), 184);
    let routed = route(&subnet, OpensmEngine::Updn, &Options { roots: roots.to_vec() }).unwrap();
    let node = |name: &str| {
        let found = subnet.nodes.iter().position(|node| node.description == name);
        found.expect("a switch of the network")
    };
    let (s6, s3, s0, s2) = (node("s6"), node("s3"), node("s0"), node("s2"));
    let lid = subnet.nodes[s2].lid;
    let next = |at: usize| {
        let port = subnet.lfts.port(at, lid).expect("an entry");
        subnet.nodes[at].port(port).and_then(|port| port.peer).expect("a cable").node as usize
    };
    assert_eq!([next(s6), next(s3), next(s0)], [s3, s0, s2]);
    // Down from the root s6, up among equals (to the lower GUID), and down again.
    assert_eq!([s6, s3, s0, s2].map(|at| routed.ranks[&(at as u32)]), [0, 1, 1, 2]);
    assert!(subnet.nodes[s0].guid < subnet.nodes[s3].guid);
}
