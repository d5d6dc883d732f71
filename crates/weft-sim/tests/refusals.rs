//! Scenarios that cannot be are refused with the place of what is wrong.

mod common;

use common::*;
use serde_json::{Value, json};

/// A good scenario with one key changed is refused by a text that begins like that.
fn refused(key: &str, value: Value, beginning: &str) {
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
    let text = refusal(&with(good, key, value));
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.contains("\n  expected: "), "{text}");
}

#[test]
fn unknown_words() {
    refused("schema", json!("weft.scenario/9"), "scenario.schema: 'weft.scenario/9'");
    refused("colour", json!(1), "scenario: unknown field `colour`");
    refused("fidelity", json!("flow"), "scenario: unknown variant `flow`");
    refused("routing", json!({"engine": "magic"}), "scenario: unknown variant `magic`");
    refused("fabric", json!({"schema": "x"}), "fabric: missing field `nodes`");
}

#[test]
fn packets_and_switches() {
    refused("packets", json!({"mtu_bytes": 0}), "packets.mtu_bytes: an MTU of 0 bytes");
    let small = "switch.buffer_bytes: 4096 bytes hold no whole packet";
    refused("switch", json!({"buffer_bytes": 4096}), small);
    let slow = json!({"delay_ps": 2_000_000_000_000u64});
    refused("switch", slow, "switch.delay_ps: a delay of 2000000000000 ps");
}

#[test]
fn hosts() {
    let regimes = |list: Value, beginning: &str| {
        refused("host", json!({"regimes": list}), &format!("host.regimes{beginning}"));
    };
    regimes(json!([]), ": there is no regime");
    regimes(json!([{"max_bytes": 9}, {"max_bytes": 9}]), "[1]: max_bytes does not rise");
    let below = "[0].send_overhead_ns: -1 is no such time";
    regimes(json!([{"send_overhead_ns": -1}]), below);
    let fine = "[0].recv_overhead_ns: 0.0001 is no such time";
    regimes(json!([{"recv_overhead_ns": 0.0001}]), fine);
    let cost = "[0].send_ns_per_byte: -0.5 is no such cost";
    regimes(json!([{"send_ns_per_byte": -0.5}]), cost);
    let noise = json!({"regimes": [{}], "noise": {"probability": 2, "mean_ns": 1}});
    refused("host", noise, "host.noise: the probability is 2");
    let intra = json!({"regimes": [{}], "intra_node": {"latency_ns": 1, "bits_per_s": 0}});
    refused("host", intra, "host.intra_node.bits_per_s: 0 bits a second");
    let crawling = json!({"regimes": [{}], "intra_node": {"latency_ns": 1, "bits_per_s": 999_999}});
    refused("host", crawling, "host.intra_node.bits_per_s: 999999 bits a second");
    let many: Vec<Value> = (1..=256).map(|size| json!({"max_bytes": size})).collect();
    regimes(json!(many), ": 256 regimes");
}

#[test]
fn placements() {
    refused("placement", json!({"tasks_per_node": 0}), "placement.tasks_per_node: it is 0");
    refused("placement", json!({"nodes": []}), "placement.nodes: there is no rank");
    refused("placement", json!({"nodes": ["x"]}), "placement.nodes[0]: there is no node 'x'");
    let twice = "placement.nodes[1]: node 'n001' appears twice";
    refused("placement", json!({"nodes": ["n001", "n001"]}), twice);
    let many = json!({"tasks_per_node": 4_000_000_000u32});
    refused("placement", many, "placement: more than 4194304 ranks");
}

#[test]
fn work() {
    let window = json!([{"benchmark": "latency", "window": 1}]);
    refused("work", window, "work[0].window: 'window' has no meaning for latency");
    let huge = "work[0]: a message of 2199023255552 bytes";
    refused("work", messages([(0, 1, 1 << 41)]), huge);
    let late =
        json!({"src": 0, "dst": 1, "size_bytes": 1, "start_ps": 2_000_000_000_000_000_000u64});
    let late = json!([{"benchmark": "messages", "messages": [late]}]);
    refused("work", late, "work[0]: a message that starts after eleven days");
}
