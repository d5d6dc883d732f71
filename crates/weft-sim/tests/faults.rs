//! Slow and dead cables, slow nodes, deadlocks, limits: what they cost and what is refused.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Status;

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;

fn pair_bandwidth(faults: Value) -> u64 {
    let work = json!([{"benchmark": "bandwidth", "size_bytes": 1_000_000, "window": 8,
                       "ranks": [0, 5]}]);
    let case = scenario(tree(8, 4, 2, RATE, DELAY), work);
    durations(&with(case, "faults", faults))[0]
}

#[test]
fn a_cable_at_a_quarter_of_its_rate_gives_the_pair_a_quarter() {
    let healthy = pair_bandwidth(json!([]));
    // The route of node 6 (destination 5) leaves the first leaf by up port 5 mod 2 = 1.
    let slow = pair_bandwidth(json!([{"link": "leaf-01[6]", "rate_factor": 0.25}]));
    let elsewhere = pair_bandwidth(json!([{"link": "leaf-01[5]", "rate_factor": 0.25}]));
    let ratio = slow as f64 / healthy as f64;
    assert!((ratio - 4.0).abs() < 0.02, "{ratio}");
    // The acknowledgement comes back by the other up link, and a few bytes do not notice.
    assert!((elsewhere as f64 / healthy as f64 - 1.0).abs() < 0.001);
}

#[test]
fn a_slow_path_shows_in_both_directions_at_once_whichever_rank_it_leads_to() {
    let times = |ranks: [u32; 2], faults: Value| {
        let work = json!([{"benchmark": "bidirectional", "size_bytes": 1_000_000, "window": 8,
                           "ranks": ranks}]);
        let case = scenario(tree(8, 4, 2, RATE, DELAY), work);
        durations(&with(case, "faults", faults))[0]
    };
    // As above: only what goes to node 6 (destination 5) crosses it.
    let slow = json!([{"link": "leaf-01[6]", "rate_factor": 0.25}]);
    for ranks in [[0, 5], [5, 0]] {
        let ratio = times(ranks, slow.clone()) as f64 / times(ranks, json!([])) as f64;
        assert!((ratio - 4.0).abs() < 0.02, "{ratio}");
    }
}

#[test]
fn a_dead_cable_is_routed_round() {
    let healthy = pair_bandwidth(json!([]));
    assert_eq!(pair_bandwidth(json!([{"link": "spine-02[1]", "down": true}])), healthy);
}

#[test]
fn a_dead_cable_without_a_path_round_is_named() {
    let case = scenario(tree(8, 4, 2, RATE, DELAY), messages([(0, 1, 8)]));
    let dead = json!([{"link": "n003/hca0[1]", "down": true}]);
    let refused = refusal(&with(case.clone(), "faults", dead.clone()));
    assert!(refused.contains("n003/hca0") && refused.contains("is unreachable"), "{refused}");
    // A node that takes no part may be dead.
    let case = with(case, "placement", json!({"nodes": ["n001", "n002"]}));
    assert_eq!(run(&with(case, "faults", dead)).status, Status::Complete);
}

#[test]
fn a_slow_node_computes_and_sends_that_much_slower() {
    let size = 40_960;
    let case = scenario(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, size)]));
    let case = with(case, "packets", json!({"headers": "none"}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let regime = json!({"send_overhead_ns": 300, "recv_overhead_ns": 200});
    let case = with(case, "host", json!({"regimes": [regime]}));
    let slow = |node: &str| {
        let faults = json!([{"node": node, "slow_factor": 2.0}]);
        durations(&with(case.clone(), "faults", faults))[0]
    };
    let (path, half) = (2 * DELAY + ROUTE, RATE / 2);
    // Sending from a slow node, the last packet is stored before it goes on at full rate.
    let sent = ser(size, half) + ser(4096, RATE);
    assert_eq!(slow("n001"), 600_000 + path + sent + 200_000);
    assert_eq!(slow("n002"), 300_000 + path + ser(size, half) + 400_000);
}

#[test]
fn faults_that_cannot_be_are_refused_with_their_place() {
    let case = scenario(tree(8, 4, 2, RATE, DELAY), messages([(0, 1, 8)]));
    let cases = [
        (json!({"link": "leaf-09[1]", "down": true}), "faults[0].link: there is no HCA or switch"),
        (json!({"link": "leaf-01[7]", "down": true}), "faults[0].link: 'leaf-01' has no port 7"),
        (json!({"link": "leaf-01", "down": true}), "faults[0].link: 'leaf-01' is not a port"),
        (json!({"link": "leaf-01[1]"}), "faults[0]: no such fault"),
        (json!({"link": "leaf-01[1]", "rate_factor": 2}), "faults[0].rate_factor: the factor is 2"),
        (json!({"link": "leaf-01[1]", "rate_factor": 0}), "faults[0].rate_factor: the factor is 0"),
        (
            json!({"link": "leaf-01[1]", "rate_factor": 1e-15}),
            "faults[0].rate_factor: the factor 0.000000000000001 leaves no rate at all",
        ),
        (json!({"node": "n001", "slow_factor": 0.5}), "faults[0].slow_factor: the factor is 0.5"),
        (
            json!({"node": "n001", "slow_factor": 1e9}),
            "faults[0].slow_factor: the factor is 1000000",
        ),
        (json!({"link": "leaf-01[1]", "rate_factor": 1e-6}), "n001/hca0[1]: 100000 bits a second"),
        (json!({"node": "n009", "slow_factor": 2}), "faults[0].node: there is no node 'n009'"),
        (json!({"node": "n001", "slow_factor": 2, "down": true}), "faults[0]: no such fault"),
    ];
    for (fault, what) in cases {
        let refused = refusal(&with(case.clone(), "faults", json!([fault])));
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

/// Four switches in a ring, a node on each, everything routed clockwise.
fn ring() -> Value {
    let names = ["a", "b", "c", "d"];
    let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": RATE, "delay_ps": 0});
    let mut links = Vec::new();
    let mut lfts = serde_json::Map::new();
    for (i, name) in names.iter().enumerate() {
        let next = names[(i + 1) % 4];
        links.push(link(format!("{name}/hca[1]"), format!("s{name}[1]")));
        links.push(link(format!("s{name}[2]"), format!("s{next}[3]")));
        let row: Vec<u32> = (0..4).map(|dst| if dst == i { 1 } else { 2 }).collect();
        lfts.insert(format!("s{name}"), json!(row));
    }
    json!({"schema": "weft.fabric/1", "name": "ring",
           "nodes": names.map(|n| json!({"name": n, "hcas": [format!("{n}/hca")]})),
           "switches": names.map(|n| json!({"name": format!("s{n}"), "ports": 3})),
           "links": links, "lfts": lfts})
}

fn ring_scenario() -> Value {
    // Every node sends two switches on: every inter-switch link waits for the next.
    let flows = (0..4).map(|src| (src, (src + 2) % 4, 1_000_000));
    let case = json!({"schema": "weft.scenario/1", "fabric": ring(), "host": free_hosts(),
                      "work": messages(flows)});
    with(case, "switch", json!({"buffer_bytes": 4224, "delay_ps": 0}))
}

#[test]
fn a_ring_of_dependencies_is_refused_with_the_cycle() {
    let refused = refusal(&ring_scenario());
    let cycle = "credit loop over sa[2] -> sb[2] -> sc[2] -> sd[2] -> sa[2]";
    assert!(refused.contains(cycle), "{refused}");
    assert!(refused.contains("hint: the routing engine 'updn' has none"), "{refused}");
}

#[test]
fn a_deadlock_is_an_outcome_that_names_the_circle() {
    let case = with(ring_scenario(), "routing", json!({"allow_credit_loops": true}));
    let outcome = run(&case);
    assert_eq!(outcome.status, Status::Deadlock);
    assert!(outcome.message.contains("packets wait in a circle: "), "{}", outcome.message);
    for port in ["sa[2]", "sb[2]", "sc[2]", "sd[2]"] {
        assert!(outcome.message.contains(port), "{}", outcome.message);
    }
    let oracle = run(&with(case, "elide", json!(false)));
    assert_eq!(physics(&outcome), physics(&oracle));
}

#[test]
fn up_and_down_routes_on_the_same_ring_do_not_deadlock() {
    let case = with(ring_scenario(), "routing", json!({"engine": "updn"}));
    assert_eq!(run(&case).status, Status::Complete);
}

#[test]
fn a_run_stops_at_its_limit_of_events() {
    let case = scenario(tree(8, 4, 2, RATE, DELAY), messages([(0, 5, 1_000_000)]));
    let outcome = run(&with(case, "limits", json!({"max_events": 100})));
    assert_eq!((outcome.status, outcome.events), (Status::Stopped, 100));
    assert!(outcome.message.contains("stopped after 100 events"));
}

#[test]
fn what_outlasts_the_clock_is_stopped_and_called_so() {
    let day = 86_400 * 1_000_000_000_000u64;
    let once = json!({"src": 0, "dst": 1, "size_bytes": 8, "start_ps": 11 * day});
    let step = json!({"benchmark": "messages", "messages": [once]});
    let case = scenario(tree(2, 2, 1, RATE, DELAY), json!(vec![step; 20]));
    let outcome = run(&case);
    assert_eq!(outcome.status, Status::Stopped);
    assert_eq!(outcome.message, "stopped: more than 53 days of simulated time");
    assert_eq!(outcome.rows.duration_ps.len(), 4, "four waits of eleven days end in time");
    assert!(outcome.rows.start_ps.is_sorted());
    // 2^40 bytes at 1000 ns a byte, a thousand times slower: more picoseconds than 64 bits count.
    let case = scenario(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, 1 << 40)]));
    let case = with(case, "host", json!({"regimes": [{"send_ns_per_byte": 1000}]}));
    let outcome = run(&with(case, "faults", json!([{"node": "n001", "slow_factor": 1000}])));
    assert_eq!(outcome.message, "stopped: more than 53 days of simulated time");
}

#[test]
fn ranks_of_a_node_that_talk_for_longer_than_the_clock_are_stopped() {
    let case = scenario(tree(1, 1, 1, RATE, DELAY), messages([(0, 1, 1 << 40); 9]));
    let case = with(case, "placement", json!({"tasks_per_node": 2}));
    let slow = json!({"latency_ns": 0, "bits_per_s": 1_000_000});
    let case = with(case, "host", json!({"regimes": [{}], "intra_node": slow}));
    assert_eq!(run(&case).message, "stopped: more than 53 days of simulated time");
}

#[test]
fn a_switch_of_65535_ports_takes_no_more_memory_than_its_traffic() {
    let link = |n: u64| {
        json!({"a": format!("h{n}[1]"), "b": format!("s[{}]", n * 65_534 + 1), "bits_per_s": RATE,
               "delay_ps": DELAY})
    };
    let node = |n: u64| json!({"name": format!("n{n}"), "hcas": [format!("h{n}")]});
    let fabric = json!({"schema": "weft.fabric/1", "nodes": [node(0), node(1)],
                        "switches": [{"name": "s", "ports": 65_535}], "links": [link(0), link(1)]});
    // One queue for every two ports would be 34 GB.
    assert_eq!(run(&scenario(fabric, messages([(0, 1, 1000)]))).status, Status::Complete);
}
