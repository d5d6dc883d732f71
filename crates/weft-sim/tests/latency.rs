//! Zero-load times against closed forms derived from the scenario.

use crate::common::*;
use serde_json::json;

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;

fn switch(forwarding: &str) -> serde_json::Value {
    json!({"forwarding": forwarding, "delay_ps": ROUTE, "buffer_bytes": 65536})
}

#[test]
fn one_packet_takes_its_wires_switches_and_one_serialisation_cut_through() {
    // (destination of node 0, links, switches) in a three-level tree of radix 4.
    for (dst, links, switches) in [(1, 2, 1), (2, 4, 3), (15, 6, 5)] {
        for size in [0, 1, 64, 4096] {
            let case = scenario(deep_tree(16, 4, 200 * GBPS, DELAY), messages([(0, dst, size)]));
            let case = with(case, "switch", switch("cut_through"));
            let expected = links * DELAY + switches * ROUTE + ser(framed(size, 4096), 200 * GBPS);
            assert_eq!(durations(&case), [expected], "{size} B to {dst}");
        }
    }
}

#[test]
fn one_packet_pays_a_serialisation_on_every_link_store_and_forward() {
    for (dst, links, switches) in [(1, 2, 1), (2, 4, 3), (15, 6, 5)] {
        let case = scenario(deep_tree(16, 4, 200 * GBPS, DELAY), messages([(0, dst, 1000)]));
        let case = with(case, "switch", switch("store_and_forward"));
        let packet = ser(framed(1000, 4096), 200 * GBPS);
        assert_eq!(durations(&case), [links * (DELAY + packet) + switches * ROUTE]);
    }
}

#[test]
fn a_packet_for_a_faster_egress_is_stored_first() {
    let mut fabric = tree(2, 1, 1, 100 * GBPS, DELAY);
    fabric["switch_bits_per_s"] = json!(200 * GBPS);
    let case = scenario(fabric, messages([(0, 1, 4096)]));
    let case = with(case, "switch", switch("cut_through"));
    let slow = ser(4096 + 42, 100 * GBPS);
    // The tail is in at the first leaf; then the packet is cut through, to the slow link as well.
    let stored = DELAY + ROUTE + slow;
    assert_eq!(durations(&case), [stored + 2 * (DELAY + ROUTE) + slow + DELAY]);
}

/// W1a: 128 hosts on a full three-level tree of radix 8, host s sends 10 MB to s + 64.
fn w1a(headers: &str, forwarding: &str) -> Vec<u64> {
    let flows = (0..128).map(|s| (s, (s + 64) % 128, 10_000_000));
    let case = scenario(deep_tree(128, 8, 200 * GBPS, DELAY), messages(flows));
    let case = with(case, "switch", switch(forwarding));
    durations(&with(case, "packets", json!({"mtu_bytes": 4096, "headers": headers})))
}

#[test]
fn w1a_bare_store_and_forward() {
    // The short last packet waits behind a full one on every link after the first.
    let (size, mtu) = (10_000_000, 4096);
    let full = ser(mtu, 200 * GBPS);
    let expected = ser(size, 200 * GBPS) + 5 * (DELAY + ROUTE + full) + DELAY;
    assert_eq!(expected, 404_819_200, "404.82 us");
    assert_eq!(w1a("none", "store_and_forward"), [expected; 128]);
}

#[test]
fn w1a_with_headers_and_cut_through() {
    let expected = ser(framed(10_000_000, 4096), 200 * GBPS) + 6 * DELAY + 5 * ROUTE;
    assert_eq!(expected, 406_540_320, "406.54 us");
    assert_eq!(w1a("infiniband", "cut_through"), [expected; 128]);
}

#[test]
fn a_million_packets_at_an_odd_rate_do_not_drift() {
    let rate = 54_545_000_000;
    let size = 1_000_000 * 256;
    let case = scenario(tree(2, 2, 1, rate, DELAY), messages([(0, 1, size)]));
    let case = with(case, "packets", json!({"mtu_bytes": 256, "headers": "infiniband"}));
    let case = with(case, "switch", switch("cut_through"));
    let expected = ser(framed(size, 256), rate) + 2 * DELAY + ROUTE;
    assert_eq!(durations(&case), [expected]);
}

#[test]
fn a_ping_pong_takes_two_overheads_and_the_network_each_direction() {
    let case = scenario(
        tree(2, 2, 1, 200 * GBPS, DELAY),
        json!([{"benchmark": "latency", "size_bytes": 8, "iterations": 3, "warmup": 2}]),
    );
    let case = with(case, "switch", switch("cut_through"));
    let host = json!({"regimes": [{"max_bytes": 64, "send_overhead_ns": 300.5,
        "recv_overhead_ns": 250, "send_ns_per_byte": 0.25, "recv_ns_per_byte": 0.125}]});
    let network = 2 * DELAY + ROUTE + ser(framed(8, 4096), 200 * GBPS);
    let one_way = (300_500 + 8 * 250) + network + (250_000 + 8 * 125);
    assert_eq!(durations(&with(case, "host", host)), [2 * one_way; 3]);
}

#[test]
fn rendezvous_adds_a_request_and_a_go_ahead() {
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), messages([(0, 1, 100_000)]));
    let case = with(case, "switch", switch("cut_through"));
    let host = |protocol: &str| {
        json!({"regimes": [{"protocol": protocol, "send_overhead_ns": 100,
                            "recv_overhead_ns": 200}]})
    };
    let path = 2 * DELAY + ROUTE;
    let data = ser(framed(100_000, 4096), 200 * GBPS) + path;
    let control = ser(HEADER + RETH, 200 * GBPS) + path;
    let eager = durations(&with(case.clone(), "host", host("eager")));
    let agreed = durations(&with(case, "host", host("rendezvous")));
    assert_eq!(eager, [100_000 + data + 200_000]);
    assert_eq!(agreed, [100_000 + 2 * control + data + 200_000]);
}

#[test]
fn ranks_of_one_node_talk_inside_it() {
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), messages([(0, 1, 1_000_000)]));
    let case = with(case, "placement", json!({"tasks_per_node": 2}));
    let host = json!({"regimes": [{"send_overhead_ns": 10, "recv_overhead_ns": 20}],
                      "intra_node": {"latency_ns": 300, "bits_per_s": 80_000_000_000u64}});
    let case = with(case, "host", host);
    let expected = 10_000 + ser(1_000_000, 80 * GBPS) + 300_000 + 20_000;
    assert_eq!(durations(&case), [expected]);
    assert_eq!(run(&case).hops, 0, "nothing crosses the fabric");
}

/// The channel's own processor times, by size; over the network those of the host.
#[test]
fn messages_inside_a_node_may_cost_their_own_processor_time() {
    let flows = messages([(0, 1, 100), (0, 1, 101), (0, 2, 100), (2, 0, 101)]);
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), flows);
    let case = with(case, "placement", json!({"tasks_per_node": 2}));
    let case = with(case, "switch", switch("cut_through"));
    let own = json!([{"max_bytes": 100, "send_overhead_ns": 1, "recv_overhead_ns": 2},
                     {"send_overhead_ns": 3, "recv_overhead_ns": 4, "recv_ns_per_byte": 1}]);
    let host = json!({"regimes": [{"send_overhead_ns": 1000, "recv_overhead_ns": 2000}],
                      "intra_node": {"latency_ns": 300, "bits_per_s": 80_000_000_000u64,
                                     "regimes": own}});
    let case = with(case, "host", host);
    let path = |size| 2 * DELAY + ROUTE + ser(framed(size, 4096), 200 * GBPS);
    // Rank 0 prepares its three messages one after the other. The second crosses after the first.
    let one = 1_000 + ser(100, 80 * GBPS) + 300_000 + 2_000;
    let two = 1_000 + ser(100 + 101, 80 * GBPS) + 300_000 + 105_000;
    let three = 4_000 + 1_000_000 + path(100) + 2_000_000;
    let four = 1_000_000 + path(101) + 2_000_000;
    assert_eq!(durations(&case), [one, two, three, four]);
}

#[test]
fn messages_of_a_rank_inside_a_node_cross_one_after_the_other() {
    let size = 1_000_000;
    let flows = [(0, 1, size), (0, 2, size), (3, 1, size)];
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), messages(flows));
    let case = with(case, "placement", json!({"tasks_per_node": 4}));
    let channel = json!({"latency_ns": 300, "bits_per_s": 80_000_000_000u64});
    let case = with(case, "host", json!({"regimes": [{}], "intra_node": channel}));
    let cross = ser(size, 80 * GBPS);
    // Rank 3 has a channel of its own.
    assert_eq!(durations(&case), [1, 2, 1].map(|turns| turns * cross + 300_000));
}

#[test]
fn small_messages_leave_a_gap_apart() {
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), messages((0..10).map(|_| (0, 1, 8))));
    let case = with(case, "switch", switch("cut_through"));
    let case = with(case, "host", json!({"regimes": [{}], "message_gap_ns": 100}));
    let first = 2 * DELAY + ROUTE + ser(framed(8, 4096), 200 * GBPS);
    let expected: Vec<u64> = (0..10).map(|k| first + k * 100_000).collect();
    assert_eq!(durations(&case), expected);
}
