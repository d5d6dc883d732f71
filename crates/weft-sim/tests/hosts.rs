//! What collectives take, from the costs of hosts and links; how many messages an HCA begins; what
//! processors do between.

use crate::common::*;
use serde_json::{Value, json};

const RATE: u64 = 200 * GBPS;
const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const SEND: u64 = 310_000;
const RECV: u64 = 270_000;

/// `n` hosts at one switch, whose messages cost `SEND` and `RECV`.
fn one_switch(n: u64, work: Value) -> Value {
    let case = scenario(tree(n, n, 1, RATE, DELAY), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    let regimes = json!([{"send_overhead_ns": SEND / 1000, "recv_overhead_ns": RECV / 1000}]);
    with(case, "host", json!({"regimes": regimes}))
}

/// A message from one processor to another, no other traffic.
fn one_way(size: u64) -> u64 {
    SEND + 2 * DELAY + ROUTE + ser(framed(size, 4096), RATE) + RECV
}

#[test]
fn a_ring_allreduce_is_two_rounds_of_blocks() {
    for n in [2, 3, 8, 12] {
        for block in [64, 4096, 50_000] {
            let work = json!([{"benchmark": "allreduce", "algorithm": "ring",
                               "size_bytes": n * block}]);
            let expected = 2 * (n - 1) * one_way(block);
            assert_eq!(durations(&one_switch(n, work)), [expected], "{n} ranks, {block} B");
        }
    }
}

#[test]
fn recursive_doubling_is_a_round_a_doubling() {
    for log in 1..5 {
        for size in [8, 30_000] {
            let work = json!([{"benchmark": "allreduce", "algorithm": "recursive_doubling",
                               "size_bytes": size}]);
            assert_eq!(durations(&one_switch(1 << log, work)), [log * one_way(size)]);
        }
    }
}

#[test]
fn a_binomial_tree_is_as_deep_as_its_doublings() {
    for log in 1..5 {
        // The next send of a parent is ready before the first child can go on: its message must
        // leave the wire before, too.
        let size = 4000;
        assert!(ser(framed(size, 4096), RATE) < SEND);
        let work = json!([{"benchmark": "broadcast", "algorithm": "binomial", "size_bytes": size}]);
        assert_eq!(durations(&one_switch(1 << log, work)), [log * one_way(size)]);
    }
}

#[test]
fn acknowledgements_leave_the_closed_forms_where_processors_take_longer_than_they_do() {
    // What is sent is a message of one packet, and an acknowledgement is gone before the next.
    let work = json!([{"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 8 * 4096},
                      {"benchmark": "allreduce", "size_bytes": 8}]);
    let case = with(one_switch(8, work), "transport", json!({}));
    assert_eq!(durations(&case), [14 * one_way(4096), 3 * one_way(8)]);
}

#[test]
fn ranks_of_a_node_share_the_messages_its_hca_can_begin() {
    let (gap, window) = (150_000, 50);
    for tasks in [1, 2, 4] {
        let work = json!([{"benchmark": "message_rate", "size_bytes": 8, "window": window}]);
        let case = scenario(tree(2, 2, 1, RATE, DELAY), work);
        let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
        let host = json!({"regimes": [{}], "message_gap_ns": gap / 1000});
        let case = with(case, "placement", json!({"tasks_per_node": tasks}));
        let took = durations(&with(case, "host", host))[0];
        // The last message of the last rank, and the window's answers: one a rank, a gap apart.
        let flight = |size| 2 * DELAY + ROUTE + ser(framed(size, 4096), RATE);
        let all = (tasks * window - 1) * gap + flight(8);
        let least = all + flight(4);
        assert!((least..=least + tasks * gap).contains(&took), "{tasks} ranks: {took} {least}");
    }
}

#[test]
fn a_compute_phase_takes_its_time_and_more_on_a_slow_node() {
    let work = json!([{"benchmark": "allreduce", "size_bytes": 8, "compute_ns": 5000}]);
    let case = one_switch(2, work);
    assert_eq!(durations(&case), [5_000_000 + one_way(8)]);
    let alone = one_switch(2, json!([{"benchmark": "compute", "compute_ns": 5000}]));
    assert_eq!(durations(&alone), [5_000_000]);
    let slow = with(alone, "faults", json!([{"node": "n001", "slow_factor": 3.0}]));
    assert_eq!(durations(&slow), [15_000_000]);
}

#[test]
fn noise_lengthens_what_is_computed() {
    let work = json!([{"benchmark": "compute", "compute_ns": 1000, "iterations": 4000}]);
    let case = one_switch(2, work);
    let quiet = durations(&case);
    assert!(quiet.iter().all(|time| *time == 1_000_000));
    let noisy = json!({"regimes": [{}], "noise": {"probability": 1, "mean_ns": 500}});
    let times = durations(&with(case, "host", noisy));
    // The larger of two exponential times has one and a half times their mean; its standard error
    // over 4000 is 1.2 %.
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    assert!(((mean - 1e6) / (1.5 * 500_000.0) - 1.0).abs() < 0.1, "{mean}");
}

#[test]
fn a_window_of_one_is_a_step_at_a_time() {
    let steps = |window: u64, protocol: &str| {
        let work = json!([{"benchmark": "alltoall", "algorithm": "linear", "window": window,
                           "size_bytes": 50_000}]);
        let case = one_switch(8, work);
        let regimes = json!([{"max_bytes": 100}, {"protocol": protocol}]);
        durations(&with(case, "host", json!({"regimes": regimes})))[0]
    };
    let data = 2 * DELAY + ROUTE + ser(framed(50_000, 4096), RATE);
    assert_eq!(steps(1, "eager"), 7 * data);
    // All at once the wire is the bound, and the round trips are paid once.
    let wire = 7 * ser(framed(50_000, 4096), RATE) + 2 * DELAY + ROUTE;
    assert_eq!(steps(7, "eager"), wire);
    let between = steps(2, "eager");
    assert!((wire..7 * data).contains(&between), "{between}");
}
