//! Faults that hold from the start, each against what it must come to.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const DELAY: u64 = 50_000;
const RATE: u64 = 100 * GBPS;

fn two_leaves(work: Value) -> Value {
    scenario(tree(8, 4, 2, RATE, DELAY), work)
}

fn faulty(case: &Value, faults: Value) -> Outcome {
    run(&with(case.clone(), "faults", faults))
}

fn sent_by(outcome: &Outcome, port: &str) -> u64 {
    let at = outcome.ports.port_name.iter().position(|name| name == port);
    outcome.ports.xmit_bytes[at.expect("a cabled port")]
}

#[test]
fn a_lost_lane_is_a_lost_share_of_the_rate() {
    let case = two_leaves(messages([(0, 5, 3_000_000), (1, 5, 40_000)]));
    for (lanes, factor) in [([1, 4], 0.25), ([2, 4], 0.5), ([3, 4], 0.75), ([12, 12], 1.0)] {
        let narrow = faulty(&case, json!([{"link": "leaf-01[6]", "lanes": lanes}]));
        let slow = faulty(&case, json!([{"link": "leaf-01[6]", "rate_factor": factor}]));
        assert_eq!(narrow, slow, "{lanes:?}");
    }
}

#[test]
fn a_wrong_route_takes_the_port_it_names_and_only_for_its_destination() {
    let case = two_leaves(messages([(0, 5, 100_000), (0, 7, 300_000)]));
    // Both go up by port 5 mod 2 = 7 mod 2 = 1, the second; node 6 is sent by the first instead.
    let wrong = faulty(&case, json!([{"switch": "leaf-01", "dst": "n006", "port": 5}]));
    assert_eq!(sent_by(&wrong, "leaf-01[5]"), framed(100_000, 4096));
    assert_eq!(sent_by(&wrong, "leaf-01[6]"), framed(300_000, 4096));
    let same = faulty(&case, json!([{"switch": "leaf-01", "dst": "n006/hca0", "port": 5}]));
    assert_eq!(wrong, same, "a node is all its HCAs");
}

#[test]
fn a_wrong_route_that_never_arrives_is_refused_whatever_is_allowed() {
    let case = two_leaves(messages([(0, 5, 8)]));
    let case = with(case, "routing", json!({"engine": "dmodk", "allow_credit_loops": true}));
    let refused = |switch: &str, port: u32| {
        let wrong = json!([{"switch": switch, "dst": "n006", "port": port}]);
        refusal(&with(case.clone(), "faults", wrong))
    };
    let back = refused("spine-02", 1);
    assert!(back.contains("the route to 'n006/hca0' comes back to the same switch"), "{back}");
    let astray = refused("leaf-02", 1);
    let text = "faults[0].port: it leads to 'n005/hca0'\n  expected: a port to a switch, or";
    assert!(astray.starts_with(text), "{astray}");
}

#[test]
fn swapped_cables_are_those_of_each_other() {
    // Node 1 and node 5 change leaves: what was across the tree is next door.
    let swapped = json!([{"swapped": ["leaf-01[1]", "leaf-02[1]"]}]);
    let near = two_leaves(messages([(0, 5, 50_000)]));
    let within = durations(&two_leaves(messages([(4, 5, 50_000)])));
    assert_eq!(faulty(&near, swapped.clone()).rows.duration_ps, within);
    let far = two_leaves(messages([(0, 1, 50_000)]));
    let across = durations(&two_leaves(messages([(4, 1, 50_000)])));
    assert_eq!(faulty(&far, swapped).rows.duration_ps, across);
}

#[test]
fn a_swapped_cable_takes_its_rate_along_and_other_faults_name_the_socket() {
    let mut fabric = tree(8, 4, 2, RATE, DELAY);
    fabric["switch_bits_per_s"] = json!(RATE / 2);
    // Two up-links of half the rate in each other's places: nothing changes but the spine.
    let case = scenario(fabric, messages([(0, 4, 400_000)]));
    let swap = json!({"swapped": ["leaf-01[5]", "leaf-01[6]"]});
    let healthy = run(&case);
    let swapped = faulty(&case, json!([swap]));
    assert_eq!(swapped.rows, healthy.rows);
    let slow = json!({"link": "leaf-01[5]", "rate_factor": 0.5});
    let both = faulty(&case, json!([slow, swap]));
    assert_eq!(sent_by(&both, "leaf-01[5]"), framed(400_000, 4096));
    let ratio = both.rows.duration_ps[0] as f64 / healthy.rows.duration_ps[0] as f64;
    assert!((ratio - 2.0).abs() < 0.1, "{ratio}");
}

#[test]
fn noise_of_a_node_is_its_own() {
    let work = json!([{"benchmark": "latency", "size_bytes": 8, "iterations": 2000}]);
    let case = scenario(tree(2, 2, 1, RATE, DELAY), work);
    let regimes = json!([{"send_overhead_ns": 100, "recv_overhead_ns": 100}]);
    let case = with(case, "host", json!({"regimes": regimes}));
    let total = |outcome: &Outcome| outcome.rows.duration_ps.iter().sum::<u64>() as f64;
    let quiet = total(&run(&case));
    let noise = json!({"probability": 1, "mean_ns": 1000});
    let noisy = total(&faulty(&case, json!([{"node": "n002", "noise": noise}])));
    // One send and one receive of an iteration are the noisy node's; 4000 exponential times have
    // a standard error of 1.6 %.
    let added = (noisy - quiet) / 2000.0 / (2.0 * 1_000_000.0);
    assert!((added - 1.0).abs() < 0.06, "{added}");
    // It replaces the noise of all hosts.
    let all = with(case.clone(), "host", json!({"regimes": regimes, "noise": noise}));
    let none = json!({"probability": 0, "mean_ns": 0});
    let silenced = [json!({"node": "n001", "noise": none}), json!({"node": "n002", "noise": none})];
    assert_eq!(run(&with(all, "faults", json!(silenced))), run(&case));
}

#[test]
fn kinds_that_cannot_be_are_refused_with_their_place() {
    let case = two_leaves(messages([(0, 1, 8)]));
    let cases = [
        (json!({}), "faults[0]: no such fault: "),
        (json!({"lanes": [1, 4]}), "faults[0]: no such fault: lanes"),
        (
            json!({"link": "leaf-01[1]", "down": true, "lost": 0.1}),
            "faults[0]: no such fault: link with down with lost",
        ),
        (
            json!({"link": "leaf-01[1]", "node": "n001", "down": true}),
            "faults[0]: no such fault: link with node with down",
        ),
        (json!({"link": "leaf-01[1]", "down": false}), "faults[0].down: it is false"),
        (json!({"link": "leaf-01[1]", "lanes": [0, 4]}), "faults[0].lanes: 0 lanes of 4"),
        (json!({"link": "leaf-01[1]", "lanes": [5, 4]}), "faults[0].lanes: 5 lanes of 4"),
        (json!({"link": "leaf-01[1]", "lanes": [1, 13]}), "faults[0].lanes: 1 lanes of 13"),
        (
            json!({"node": "n001", "noise": {"probability": 1.5, "mean_ns": 1}}),
            "faults[0].noise: the probability is 1.5",
        ),
        (
            json!({"node": "n001", "noise": {"probability": 1, "mean_ns": -1}}),
            "faults[0].noise.mean_ns: -1 is no such time",
        ),
        (
            json!({"node": "n009", "noise": {"probability": 1, "mean_ns": 1}}),
            "faults[0].node: there is no node 'n009'",
        ),
        (
            json!({"node": "n001", "slow_factor": 2, "from_ns": 5}),
            "faults[0]: 'node' holds from the start",
        ),
        (json!({"switch": "leaf-01", "dst": "n001"}), "faults[0]: no such fault: switch with dst"),
        (
            json!({"switch": "leaf-09", "dst": "n001", "port": 1}),
            "faults[0].switch: there is no HCA or switch 'leaf-09'",
        ),
        (
            json!({"switch": "leaf-01", "dst": "n001", "port": 7}),
            "faults[0].switch: 'leaf-01' has no port 7",
        ),
        (
            json!({"switch": "n001/hca0", "dst": "n001", "port": 1}),
            "faults[0].switch: 'n001/hca0' is no switch",
        ),
        (
            json!({"switch": "leaf-01", "dst": "n009", "port": 1}),
            "faults[0].dst: there is no node or HCA 'n009'",
        ),
        (
            json!({"swapped": ["leaf-01[1]", "leaf-01[1]"]}),
            "faults[0].swapped: 'leaf-01[1]' and 'leaf-01[1]' are not ends of two cables",
        ),
        (
            json!({"swapped": ["leaf-01[5]", "spine-01[1]"]}),
            "faults[0].swapped: 'leaf-01[5]' and 'spine-01[1]' are not ends of two cables",
        ),
        (
            json!({"swapped": ["leaf-01[1]", "leaf-09[1]"]}),
            "faults[0].swapped: there is no HCA or switch 'leaf-09'",
        ),
    ];
    for (fault, what) in cases {
        let refused = refusal(&with(case.clone(), "faults", json!([fault])));
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

#[test]
fn a_port_without_a_cable_has_no_fault_and_carries_no_route() {
    let whole = json!({"schema": "weft.fabric/1", "nodes": [
        {"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h"]}],
        "switches": [{"name": "s", "ports": 3}], "links": [
        {"a": "a/h[1]", "b": "s[1]", "bits_per_s": RATE, "delay_ps": DELAY},
        {"a": "b/h[1]", "b": "s[2]", "bits_per_s": RATE, "delay_ps": DELAY}]});
    let case = with(scenario(whole, messages([(0, 1, 8)])), "routing", json!({}));
    for (fault, place) in [
        (json!({"switch": "s", "dst": "a", "port": 3}), "faults[0].port"),
        (json!({"link": "s[3]", "lanes": [1, 4]}), "faults[0].link"),
        (json!({"swapped": ["s[1]", "s[3]"]}), "faults[0].swapped"),
    ] {
        let refused = refusal(&with(case.clone(), "faults", json!([fault])));
        assert!(refused.starts_with(&format!("{place}: port 's[3]' has no cable")), "{refused}");
    }
    assert_eq!(run(&case).status, Status::Complete);
}

#[test]
fn nothing_happens_to_a_cable_that_is_dead_from_the_start() {
    let case = two_leaves(messages([(0, 5, 8)]));
    let dead = json!({"link": "spine-02[1]", "down": true});
    for other in [
        json!({"link": "leaf-01[6]", "down": true, "from_ns": 5, "until_ns": 9}),
        json!({"link": "leaf-01[6]", "rate_factor": 0.5, "from_ns": 5}),
        json!({"link": "leaf-01[6]", "lost": 0.5}),
    ] {
        // The cable is the same by either end, and the order of the faults does not matter.
        for (faults, place) in [(json!([dead, other]), 1), (json!([other, dead]), 0)] {
            let refused = refusal(&with(case.clone(), "faults", faults));
            let what = format!("faults[{place}].link: 'leaf-01[6]' is down from the start\n  exp");
            assert!(refused.starts_with(&what), "{refused}");
        }
    }
}
