//! Slurm's tree of switches, read and written.

use crate::common::{
    any_fabric,
    samples::{self, read},
};
use crate::export::generated;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;
use weft_fabric::export::slurm;
use weft_fabric::subnet::Subnet;
use weft_fabric::subnet::records::TreeSwitch;
use weft_fabric::{Fabric, generate};

/// The lines of a gathered tree, as 'name: nodes | switches'.
fn lines(tree: &[TreeSwitch]) -> Vec<String> {
    let line = |it: &TreeSwitch| {
        format!("{}: {} | {}", it.name, it.nodes.join(" "), it.switches.join(" "))
    };
    tree.iter().map(line).collect()
}

#[test]
fn the_tree_of_a_cluster_is_read() {
    let subnet = samples::subnet(&["slurm/four_nodes.conf"]);
    assert_eq!(
        lines(&subnet.tree),
        ["leaf0: vc1 vc2 | ", "leaf1: vc3 vc4 | ", "spine:  | leaf0 leaf1"]
    );
    assert!(subnet.unread.is_empty());
}

#[test]
fn what_scontrol_prints_is_the_same_tree() {
    let (written, read) =
        (samples::subnet(&["slurm/four_nodes.conf"]), samples::subnet(&["slurm/scontrol.txt"]));
    assert_eq!(lines(&read.tree), lines(&written.tree));
    assert!(read.unread.is_empty());
}

#[test]
fn comments_continued_lines_and_keys_in_any_case_are_read_and_an_include_is_reported() {
    let subnet = samples::subnet(&["slurm/written_by_hand.conf"]);
    let wanted = [
        "s0: c101-001 c101-002 c101-003 c102-001 c102-002 c102-003 login1 | ",
        "s1: c103-001 c103-002 | ",
        "s2:  | s0 s1",
    ];
    assert_eq!(lines(&subnet.tree), wanted);
    assert_eq!(subnet.tree[1].link_speed, Some(100));
    let reported: Vec<(u32, &str)> =
        subnet.unread.iter().map(|unread| (unread.place.line, &unread.what[..])).collect();
    assert_eq!(reported, [(7, "Include other.conf")]);
}

#[test]
fn lines_that_are_no_switch_are_reported_with_what_was_expected() {
    let text = [
        "SwitchName=a Nodes=n1",
        "SwitchName=b",
        "SwitchName=c Nodes=n[1-",
        "SwitchName=d Nodes=n1 Nodes=n2",
        "BlockName=e Nodes=n1",
        "SwitchName=f Nodes=n2 LinkSpeed=fast",
        "SwitchName=g Nodes=n[1-900000]",
        "SwitchName=h Nodes=n[1-900000]",
        "SwitchName=i Nodes=n",
    ];
    let gathered = read(text.join("\n"));
    assert_eq!(gathered.tree.iter().map(|it| &it.name[..]).collect::<Vec<_>>(), ["a", "g", "i"]);
    let reported: Vec<(u32, bool)> =
        gathered.unread.iter().map(|it| (it.place.line, !it.expected.is_empty())).collect();
    // Line 8 is too much for a file: 3 names stand before the 900,000 of line 7.
    assert_eq!(gathered.unread[5].expected, "a set of names: more than 148573 names");
    assert_eq!(reported, [(2, true), (3, true), (4, true), (5, true), (6, true), (8, true)]);
    assert_eq!(gathered.unread[1].expected, "a set of names: ']' is missing");
    assert_eq!(gathered.unread[2].expected, "Nodes once in a line");
}

/// Every host is on one line, and every line but one below one other.
fn is_a_tree(tree: &[TreeSwitch], n_hosts: usize) {
    let names: BTreeSet<&str> = tree.iter().map(|it| &it.name[..]).collect();
    assert_eq!(names.len(), tree.len());
    let below: Vec<&str> = tree.iter().flat_map(|it| it.switches.iter().map(|s| &s[..])).collect();
    let once: BTreeSet<&str> = below.iter().copied().collect();
    assert_eq!(once.len(), below.len(), "a line below two");
    assert!(once.is_subset(&names));
    assert_eq!(below.len() + 1, tree.len(), "one root");
    let hosts: Vec<&String> = tree.iter().flat_map(|it| &it.nodes).collect();
    assert_eq!(hosts.iter().collect::<BTreeSet<_>>().len(), hosts.len(), "a host twice");
    assert_eq!(hosts.len(), n_hosts);
}

#[test]
fn what_is_written_is_read_back() {
    let frontera = json!({"nodes": 8008, "nodes_per_leaf": 44, "directors": 6,
        "cables_per_director": 3, "inside": "boards", "board_ports": 40});
    let export = slurm(&generated("directors", frontera));
    let gathered = read(&export.text);
    assert!(gathered.unread.is_empty());
    is_a_tree(&gathered.tree, 8008);
    assert_eq!(gathered.tree[181].nodes.len(), 44);
    assert_eq!(gathered.tree[181].nodes[43], "n8008");
    // 20 leaves have 60 cables to a director, three whole boards: 10 groups of leaves, one of which
    // is leaves 181 and 182 with six cables on the last board.
    let groups: Vec<usize> = gathered.tree[182..192].iter().map(|it| it.switches.len()).collect();
    assert_eq!(groups, [20, 20, 20, 20, 20, 20, 20, 20, 20, 2]);
    assert_eq!(gathered.tree.len(), 182 + 10 + 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_connected_fabric_is_a_tree_for_slurm(spec in any_fabric()) {
        let mut spec = spec;
        for link in spec["links"].as_array_mut().expect("links") {
            link["bits_per_s"] = json!(100_000_000_000u64);
        }
        let fabric = Fabric::new(&generate::read(spec).expect("a document")).expect("a fabric");
        let subnet = Subnet::of_fabric(&fabric).expect("a subnet");
        let gathered = read(&slurm(&subnet).text);
        prop_assert!(gathered.unread.is_empty());
        is_a_tree(&gathered.tree, subnet.endports().count());
    }
}
