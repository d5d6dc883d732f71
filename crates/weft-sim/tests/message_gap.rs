//! LogGP's latency and gap of a host: what a ping-pong feels, what a window feels, who shares them.

use crate::common::*;
use serde_json::{Value, json};

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const SEND: u64 = 300_000;
const RECV: u64 = 250_000;
const LATENCY: u64 = 1_200_000;

fn pair(work: Value, host: Value) -> Value {
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    with(case, "host", host)
}

/// One regime with a gap of `gap_ns`, and 2 ns a byte more.
fn host(gap_ns: f64) -> Value {
    json!({"regimes": [{"send_overhead_ns": 300, "recv_overhead_ns": 250, "latency_ns": 1200,
                        "gap_ns": gap_ns, "gap_ns_per_byte": 2}]})
}

fn gap(gap_ns: f64, size: u64) -> u64 {
    (gap_ns * 1000.0) as u64 + 2000 * size
}

fn network(size: u64) -> u64 {
    2 * DELAY + ROUTE + ser(framed(size, 4096), 200 * GBPS)
}

fn one_way(size: u64) -> u64 {
    SEND + LATENCY + network(size) + RECV
}

#[test]
fn a_ping_pong_feels_the_latency_once_each_direction_and_no_gap() {
    for gap_ns in [0.0, 3000.0] {
        let work = json!([{"benchmark": "latency", "size_bytes": 8, "iterations": 4}]);
        assert_eq!(durations(&pair(work, host(gap_ns))), [2 * one_way(8); 4]);
    }
}

#[test]
fn a_latency_that_grows_with_the_size_is_felt_for_every_byte() {
    let work = json!([{"benchmark": "latency", "size_bytes": 1000}]);
    let regime = json!({"regimes": [{"latency_ns": 100, "latency_ns_per_byte": 0.25}]});
    assert_eq!(durations(&pair(work, regime)), [2 * (100_000 + 250 * 1000 + network(1000))]);
}

#[test]
fn an_iteration_begins_with_every_gap_over() {
    let work = json!([{"benchmark": "latency", "size_bytes": 1000, "iterations": 2},
                      {"benchmark": "latency", "size_bytes": 0, "iterations": 2}]);
    let times = durations(&pair(work, host(50_000.0)));
    assert_eq!(times, [2 * one_way(1000), 2 * one_way(1000), 2 * one_way(0), 2 * one_way(0)]);
}

#[test]
fn who_sends_twice_leaves_a_gap_between() {
    let list = messages([(0, 1, 0), (0, 1, 0)]);
    let times = durations(&pair(list, host(50_000.0)));
    assert_eq!(times, [one_way(0), one_way(0) + gap(50_000.0, 0)]);
}

#[test]
fn a_window_takes_its_slowest_stage_for_every_message_but_one() {
    for (size, n) in [(8, 1), (8, 64), (4096, 64)] {
        for gap_ns in [0.0, 100.5, 2000.0] {
            let work = json!([{"benchmark": "bandwidth", "size_bytes": size, "window": n}]);
            let wire = ser(framed(size, 4096), 200 * GBPS);
            let stage = gap(gap_ns, size).max(SEND).max(RECV).max(wire);
            let expected = (n - 1) * stage + one_way(size) + one_way(4);
            assert_eq!(durations(&pair(work, host(gap_ns))), [expected], "{size} B, {gap_ns} ns");
        }
    }
}

#[test]
fn both_directions_at_once_each_sender_has_its_own_gap() {
    let (size, n, gap_ns) = (64, 64, 2000.0);
    let work = json!([{"benchmark": "bidirectional", "size_bytes": size, "window": n}]);
    let times = durations(&pair(work, host(gap_ns)));
    // A processor sends and receives in turn; what it does in between is hidden by the gap.
    let alone = (n - 1) * gap(gap_ns, size) + one_way(size);
    assert!((alone..=alone + SEND + RECV).contains(&times[0]), "{} {alone}", times[0]);
}

#[test]
fn ranks_of_one_node_have_a_gap_each() {
    let list = (0..10).flat_map(|_| [(0, 2, 8), (1, 3, 8)]);
    let case = with(pair(messages(list), host(700.0)), "placement", json!({"tasks_per_node": 2}));
    let times = durations(&case);
    let last = one_way(8) + 9 * gap(700.0, 8);
    // Two packets cannot leave one HCA at the same instant: the second waits for the first.
    let wire = ser(framed(8, 4096), 200 * GBPS);
    assert!(times.iter().max().unwrap() - last <= wire);
}

#[test]
fn messages_of_a_pair_stay_in_order_where_a_later_one_has_less_latency() {
    let regimes = json!({"regimes": [{"max_bytes": 100},
        {"latency_ns": 5000, "recv_overhead_ns": 10}]});
    let times = durations(&pair(messages([(0, 1, 200), (0, 1, 8)]), regimes));
    let first = 5_000_000 + network(200);
    assert_eq!(times[0], first + 10_000);
    assert!(times[1] > first, "the small one does not overtake: {times:?}");
}

#[test]
fn another_destination_waits_for_the_gap_but_not_for_the_latency() {
    let regimes = json!({"regimes": [{"max_bytes": 100, "gap_ns": 40},
        {"latency_ns": 5000, "gap_ns": 70}]});
    let case = scenario(tree(3, 3, 1, 200 * GBPS, DELAY), messages([(0, 1, 200), (0, 2, 8)]));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    let times = durations(&with(case, "host", regimes));
    assert_eq!(times, [5_000_000 + network(200), 70_000 + network(8)]);
}

#[test]
fn rendezvous_feels_latency_and_gap_with_its_data_only() {
    let regime = json!({"regimes": [{"protocol": "rendezvous", "latency_ns": 1200}]});
    let times = durations(&pair(messages([(0, 1, 100_000)]), regime));
    assert_eq!(times, [2 * network(0) + LATENCY + network(100_000)]);
}

#[test]
fn inside_a_node_there_is_neither() {
    let mut host = host(5000.0);
    host["intra_node"] = json!({"latency_ns": 300, "bits_per_s": 80_000_000_000u64});
    let case =
        with(pair(messages([(0, 1, 1000); 2]), host), "placement", json!({"tasks_per_node": 2}));
    let copy = ser(1000, 80 * GBPS);
    let first = SEND + copy + 300_000 + RECV;
    assert_eq!(durations(&case), [first, first + SEND.max(RECV).max(copy)]);
}

#[test]
fn a_slow_node_has_a_slow_gap() {
    let work = json!([{"benchmark": "bandwidth", "size_bytes": 8, "window": 64}]);
    let case = pair(work, host(2000.0));
    let base = durations(&case)[0];
    let case = with(case, "faults", json!([{"node": "n001", "slow_factor": 3.0}]));
    let slow = durations(&case)[0];
    assert!(slow - base >= 63 * 2 * gap(2000.0, 8), "{base} {slow}");
}

#[test]
fn zeros_are_the_same_as_nothing() {
    let work = json!([{"benchmark": "bidirectional", "size_bytes": 5000, "window": 16}]);
    let bare = json!({"regimes": [{"send_overhead_ns": 30, "recv_overhead_ns": 20}]});
    let mut zeros = bare.clone();
    for key in ["latency_ns", "latency_ns_per_byte", "gap_ns", "gap_ns_per_byte"] {
        zeros["regimes"][0][key] = json!(0);
    }
    assert_eq!(run(&pair(work.clone(), bare)), run(&pair(work, zeros)));
}

#[test]
fn what_is_no_time_is_refused_where_it_stands() {
    for key in ["latency_ns", "latency_ns_per_byte", "gap_ns", "gap_ns_per_byte"] {
        let work = json!([{"benchmark": "latency", "size_bytes": 8}]);
        let refused = refusal(&pair(work, json!({"regimes": [{key: -1}]})));
        assert!(refused.contains(&format!("host.regimes[0].{key}")), "{refused}");
    }
}
