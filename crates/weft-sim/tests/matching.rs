//! Tag matching: linear in what is looked at by software, flat in hardware, and what goes ahead
//! without the processor.

use crate::common::*;
use serde_json::{Value, json};

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const NS_PER_ENTRY: u64 = 40;

/// `n` large messages to rank 0, posted before a small one that is there first.
fn behind(n: u64, matching: Value) -> Value {
    let list = (1..=n).map(|src| (src, 0, 1_000_000)).chain([(n + 1, 0, 8)]);
    let case = scenario(tree(16, 16, 1, 200 * GBPS, DELAY), messages(list));
    with(case, "host", json!({"regimes": [{}], "matching": matching}))
}

fn small(n: u64, matching: Value) -> u64 {
    *durations(&behind(n, matching)).last().expect("the small message")
}

fn software(ns_per_entry: u64) -> Value {
    json!({"by": "software", "ns_per_entry": ns_per_entry})
}

fn hardware(entries: u64) -> Value {
    json!({"by": "hardware", "ns_per_entry": NS_PER_ENTRY, "hardware_entries": entries})
}

#[test]
fn software_looks_at_every_receive_that_was_posted_before() {
    for n in [0, 1, 5, 14] {
        let searched = small(n, software(NS_PER_ENTRY)) - small(n, software(0));
        assert_eq!(searched, n * NS_PER_ENTRY * 1000, "behind {n}");
    }
}

#[test]
fn hardware_looks_for_nothing_as_long_as_it_holds_the_receives() {
    for n in [0, 5, 14] {
        assert_eq!(small(n, hardware(n + 1)), small(n, software(0)), "behind {n}");
    }
    // The HCA holds 6 of the 15 receives; the processor looks at the 8 others that come before.
    let searched = small(14, hardware(6)) - small(14, software(0));
    assert_eq!(searched, 8 * NS_PER_ENTRY * 1000);
}

#[test]
fn a_slow_node_searches_slowly() {
    let slow = json!([{"node": "n001", "slow_factor": 3.0}]);
    let time = |ns| small_with_faults(5, software(ns), slow.clone());
    assert_eq!(time(NS_PER_ENTRY) - time(0), 3 * 5 * NS_PER_ENTRY * 1000);
}

fn small_with_faults(n: u64, matching: Value, faults: Value) -> u64 {
    *durations(&with(behind(n, matching), "faults", faults)).last().expect("the small message")
}

fn network(size: u64) -> u64 {
    2 * DELAY + ROUTE + ser(framed(size, 4096), 200 * GBPS)
}

/// The receiver is busy with an eager message when the request of a large one comes.
fn busy_receiver(matching: Value) -> u64 {
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 1, "dst": 0, "size_bytes": 8},
        {"src": 2, "dst": 0, "size_bytes": 8_000_000, "start_ps": 1_000_000}]}]);
    let case = scenario(tree(3, 3, 1, 200 * GBPS, DELAY), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    let regimes = json!([{"max_bytes": 100, "recv_overhead_ns": 100_000},
                         {"protocol": "rendezvous"}]);
    durations(&with(case, "host", json!({"regimes": regimes, "matching": matching})))[1]
}

#[test]
fn a_request_waits_for_the_processor_unless_the_hca_holds_the_receive() {
    let busy_until = network(8) + 100_000_000;
    let data = network(8_000_000);
    assert_eq!(busy_receiver(software(0)), busy_until + network(0) + data - 1_000_000);
    assert_eq!(busy_receiver(hardware(2)), 2 * network(0) + data);
    // The HCA holds the first receive only, the processor the one of the request.
    assert_eq!(busy_receiver(hardware(1)), busy_until + network(0) + data - 1_000_000);
}

#[test]
fn a_request_is_answered_when_the_search_for_its_receive_is_over() {
    // Rank 1 is busy with another message first, so rank 2's request passes over its receive.
    let list = [(1, 2, 8), (1, 0, 8), (2, 0, 8)];
    let last = |ns: u64| {
        let case = scenario(tree(3, 3, 1, 200 * GBPS, DELAY), messages(list));
        let regimes = json!([{"protocol": "rendezvous", "send_overhead_ns": 5000}]);
        durations(&with(case, "host", json!({"regimes": regimes, "matching": software(ns)})))[2]
    };
    assert_eq!(last(500) - last(0), 500_000);
}

#[test]
fn elided_and_not_are_the_same() {
    for matching in [software(70), hardware(3)] {
        let work = json!([{"benchmark": "alltoall", "size_bytes": 3000, "algorithm": "linear"},
                          {"benchmark": "alltoall", "size_bytes": 300, "algorithm": "linear"}]);
        let case = scenario(tree(12, 4, 2, 100 * GBPS, 20_000), work);
        let regimes = json!([{"max_bytes": 1000, "recv_overhead_ns": 50},
                             {"protocol": "rendezvous", "send_overhead_ns": 20}]);
        let case = with(case, "host", json!({"regimes": regimes, "matching": matching}));
        let elided = run(&case);
        assert_eq!(physics(&elided), physics(&run(&with(case, "elide", json!(false)))));
    }
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let refused = refusal(&behind(1, json!({"ns_per_entry": -1})));
    assert!(refused.starts_with("host.matching.ns_per_entry: -1 is no such time"), "{refused}");
    let refused = refusal(&behind(1, hardware(0)));
    let expected = "host.matching.hardware_entries: it is 0\n  \
                    expected: 1 or more, or matching by software";
    assert_eq!(refused, expected);
}
