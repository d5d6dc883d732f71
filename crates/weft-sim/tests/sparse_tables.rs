//! Tables that say nothing of some destinations at some switches: no harm where they are not asked.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Status;

const RATE: u64 = 100 * GBPS;

/// Nodes on each of the two leaves.
const N: u64 = 20;

/// Two leaves under two spines of so many sockets; the tables know one spine.
fn two_spines(ports: u64) -> Value {
    let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": RATE, "delay_ps": 5});
    let (mut nodes, mut links) = (Vec::new(), Vec::new());
    for n in 0..2 * N {
        nodes.push(json!({"name": format!("n{n}"), "hcas": [format!("h{n}")]}));
        links.push(link(format!("h{n}[1]"), format!("l{}[{}]", n / N, n % N + 1)));
    }
    let mut switches = Vec::new();
    for n in 0..2 {
        switches.push(json!({"name": format!("l{n}"), "ports": N + 2, "level": 1}));
        switches.push(json!({"name": format!("s{n}"), "ports": ports, "level": 2}));
        for leaf in 0..2 {
            links.push(link(format!("s{n}[{}]", leaf + 1), format!("l{leaf}[{}]", N + 1 + n)));
        }
    }
    let row = |leaf: u64| -> Vec<u64> {
        (0..2 * N).map(|n| if n / N == leaf { n % N + 1 } else { N + 1 }).collect()
    };
    let down: Vec<u64> = (0..2 * N).map(|n| n / N + 1).collect();
    let lfts = json!({"l0": row(0), "l1": row(1), "s0": down, "s1": vec![0; 2 * N as usize]});
    json!({"schema": "weft.fabric/1", "name": "sparse", "nodes": nodes, "switches": switches,
        "links": links, "lfts": lfts})
}

fn case(ports: u64, routing: Value) -> Value {
    let work = json!([{"benchmark": "message_rate", "size_bytes": 100, "window": 100}]);
    with(scenario(two_spines(ports), work), "routing", routing)
}

#[test]
fn switches_that_choose_go_where_tables_are_empty() {
    // From 2^14 ports on, what events need is loaded ahead by the tables.
    for ports in [4, 9000] {
        let outcome = run(&case(ports, json!({"adaptive": {}})));
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
        let at = outcome.ports.port_name.iter().position(|name| name == "s1[2]");
        assert!(outcome.ports.xmit_packets[at.expect("a cabled port")] > 100);
        let by_tables = run(&case(ports, json!({})));
        assert_eq!(by_tables.ports.xmit_packets[at.expect("a cabled port")], 0);
    }
}

/// From `a` to `b` over either of two switches; one of those could go on by a third spine, were
/// that one's cable down to `b` not dead.
fn a_dead_end() -> Value {
    let link = |a: &str, b: &str| json!({"a": a, "b": b, "bits_per_s": RATE, "delay_ps": 5});
    let level = |n: u64, names: &[&str]| -> Vec<Value> {
        names.iter().map(|name| json!({"name": name, "ports": 4, "level": n})).collect()
    };
    let levels =
        [level(1, &["la", "lb"]), level(2, &["m0", "m1", "n"]), level(3, &["s", "t", "u"])];
    json!({"schema": "weft.fabric/1", "name": "dead end",
        "nodes": [{"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h"]}],
        "switches": levels.concat(),
        "links": [link("a/h[1]", "la[1]"), link("la[2]", "m1[1]"), link("la[3]", "m0[1]"),
            link("m0[2]", "s[1]"), link("m1[2]", "t[1]"), link("m1[3]", "u[1]"),
            link("s[2]", "n[2]"), link("t[2]", "n[3]"), link("u[2]", "n[4]"),
            link("n[1]", "lb[2]"), link("lb[1]", "b/h[1]")]})
}

#[test]
fn new_tables_may_lead_where_no_table_knows_on() {
    // Destination 1 goes up by the second of two ports, to m0. When that dies, m1 sends it to `u`.
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 1, "size_bytes": 100, "start_ps": 50_000_000}]}]);
    // Where `u` knows no way but back, the circle of the two would be refused.
    let death = json!({"reaction": "subnet_manager", "delay_ns": 1000});
    let routing = json!({"engine": "dmodk", "allow_credit_loops": true, "link_death": death});
    let case = with(scenario(a_dead_end(), work), "routing", routing);
    let faults = |port: u64| {
        json!([{"link": "u[2]", "down": true}, {"link": "la[3]", "down": true, "from_ns": 10},
            {"switch": "m1", "dst": "b", "port": port}])
    };
    let case = with(case, "transport", json!({"timeout_exponent": 4, "retries": 1}));
    let case = with(case, "limits", json!({"max_events": 100_000}));
    let outcome = run(&with(case.clone(), "faults", faults(2)));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    let outcome = run(&with(case, "faults", faults(3)));
    assert_eq!(outcome.status, Status::Failed, "{}", outcome.message);
}
