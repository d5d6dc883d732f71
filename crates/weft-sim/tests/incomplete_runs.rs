//! How runs end that do not complete: a stall while neighbours go on, limits, a request to stop.

use crate::common::*;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use weft_sim::{Monitor, Outcome, Status, ValidScenario, simulate_watched};

/// Four switches in a ring, all traffic clockwise: tables that can deadlock. Three nodes at each.
fn ring() -> Value {
    let names = ["a", "b", "c", "d"];
    let (mut links, mut nodes, mut lfts) = (Vec::new(), Vec::new(), serde_json::Map::new());
    let cable = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": GBPS, "delay_ps": 0});
    for (i, name) in names.iter().enumerate() {
        for port in 1..=3 {
            nodes.push(
                json!({"name": format!("{name}{port}"), "hcas": [format!("{name}{port}/h")]}),
            );
            links.push(cable(format!("{name}{port}/h[1]"), format!("s{name}[{port}]")));
        }
        links.push(cable(format!("s{name}[4]"), format!("s{}[5]", names[(i + 1) % 4])));
        let row = (0..12).map(|dst| if dst / 3 == i { dst % 3 + 1 } else { 4 });
        lfts.insert(format!("s{name}"), row.collect());
    }
    let switches = names.map(|name| json!({"name": format!("s{name}"), "ports": 5}));
    json!({"schema": "weft.fabric/1", "nodes": nodes, "switches": switches, "links": links,
           "lfts": lfts})
}

/// A tenant that deadlocks on the ring, and one beside it that would go on for ever.
fn stall() -> Value {
    let round = (0..4).map(|src| (src, (src + 2) % 4, 100_000));
    let stuck = json!({"name": "stuck", "work": messages(round),
        "placement": {"nodes": ["a1", "b1", "c1", "d1"]}});
    let busy = json!({"name": "busy", "repeat": true, "role": "aggressor",
        "placement": {"nodes": ["a2", "a3"]}, "work": messages([(0, 1, 1000)])});
    json!({"schema": "weft.scenario/1", "fabric": ring(), "host": free_hosts(),
        "routing": {"allow_credit_loops": true}, "limits": {"stall_ns": 200_000},
        "switch": {"buffer_bytes": 4224, "delay_ps": 0}, "tenants": [stuck, busy]})
}

#[test]
fn the_watchdog_ends_what_is_stuck_while_others_go_on_and_names_who_waits() {
    let outcome = run(&stall());
    assert_eq!(outcome.status, Status::Stalled);
    let text = &outcome.message;
    assert!(
        text.starts_with("stalled: nothing of tenant 'stuck' was delivered for 200000 ns: "),
        "{text}"
    );
    for name in ["sa[4]", "sb[4]", "sc[4]", "sd[4]", "packets wait in a circle"] {
        assert!(text.contains(name), "{text}");
    }
    for rank in 0..4 {
        let waits =
            format!("rank {rank} of 'stuck' waits for a message of rank {}", (rank + 2) % 4);
        assert!(text.contains(&waits), "{text}");
    }
    assert!(!text.contains("'busy' waits"), "{text}");
    assert!(outcome.tenants.passes[1] > 0 && outcome.tenants.end_ps == [0, 0]);
    // It was seen within the time and a quarter more, counted from the last thing that moved.
    assert!((200_000_000..2_000_000_000).contains(&outcome.end_ps), "{}", outcome.end_ps);
}

#[test]
fn the_watchdog_sees_the_same_with_and_without_elided_events() {
    let oracle = run(&with(stall(), "elide", json!(false)));
    assert_eq!(physics(&run(&stall())), physics(&oracle));
}

#[test]
fn no_one_is_stalled_whose_processor_is_busy() {
    // A rank that computes for a whole second, and a peer that waits for it.
    let slow = json!({"regimes": [{"send_overhead_ns": 1e9}]});
    let case = scenario(tree(2, 2, 1, 100 * GBPS, 0), messages([(0, 1, 100)]));
    let case = with(with(case, "host", slow), "limits", json!({"stall_ns": 1000}));
    assert_eq!(run(&case).status, Status::Complete);
}

#[test]
fn the_watchdog_s_time_is_a_time() {
    let case = scenario(tree(2, 2, 1, GBPS, 0), messages([(0, 1, 8)]));
    for (stall_ns, what) in
        [(json!(0), "0"), (json!(999), "999"), (json!(1e15), "1000000000000000")]
    {
        let text = refusal(&with(case.clone(), "limits", json!({"stall_ns": stall_ns})));
        assert!(text.starts_with(&format!("limits.stall_ns: {what} is no such time")), "{text}");
    }
}

#[test]
fn a_run_tells_its_monitor_how_far_it_is() {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 50_000, "iterations": 40}]);
    let case = scenario(tree(16, 4, 4, 200 * GBPS, 500_000), work);
    let valid = ValidScenario::parse(&case.to_string()).expect("a valid scenario");
    let monitor = Monitor::default();
    let go_on = AtomicBool::new(false);
    let whole: Outcome = simulate_watched(&valid, &go_on, &monitor);
    let end = monitor.read();
    assert_eq!((end.now_ps, end.hops), (whole.end_ps, whole.hops));
    assert_eq!((end.events, end.done), (whole.events, 1.0));
    // Half the events are about half of the same work, over and over.
    let half = with(case, "limits", json!({"max_events": whole.events / 2}));
    let valid = ValidScenario::parse(&half.to_string()).expect("a valid scenario");
    let outcome = simulate_watched(&valid, &go_on, &monitor);
    assert_eq!(outcome.status, Status::Stopped);
    let standing = monitor.read();
    assert!((0.4..0.6).contains(&standing.done), "{standing:?}");
}

#[test]
fn messages_that_are_posted_and_not_received_are_bounded() {
    // Every rank posts to every other at once, and nothing is received before all have.
    let n = 30;
    let alltoall = |change: Value| {
        let mut step = json!({"benchmark": "alltoall", "algorithm": "linear", "size_bytes": 100});
        for (key, value) in change.as_object().expect("an object") {
            step[key] = value.clone();
        }
        scenario(tree(n, n, 1, 100 * GBPS, 50_000), json!([step]))
    };
    let at_most = |case: Value, max_messages: u64| {
        run(&with(case, "limits", json!({"max_messages": max_messages})))
    };
    let all = n * (n - 1);
    assert_eq!(at_most(alltoall(json!({})), all).status, Status::Complete);
    let outcome = at_most(alltoall(json!({})), all - 1);
    assert_eq!(outcome.status, Status::Stopped);
    let most = all - 1;
    let text = format!("stopped: more than {most} messages posted and not received");
    assert_eq!(outcome.message, text);
    // With a window there are as many a rank.
    assert_eq!(at_most(alltoall(json!({"window": 3})), 3 * n).status, Status::Complete);
}

#[test]
fn a_message_may_have_more_packets_than_a_connection_numbers() {
    let work = json!([{"benchmark": "latency", "size_bytes": 1u64 << 33}]);
    let case = scenario(tree(2, 2, 1, 100 * GBPS, 50_000), work);
    let case = with(case, "packets", json!({"mtu_bytes": 1}));
    let case = with(case, "faults", json!([{"link": "leaf-01[1]", "lost": 0.001}]));
    let case = with(case, "transport", json!({}));
    let outcome = run(&with(case, "limits", json!({"max_events": 20_000})));
    assert_eq!(outcome.message, "stopped after 20000 events");
}
