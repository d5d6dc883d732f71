//! The speed at which input buffers are read, and the shares of them that outputs hold.

use crate::common::*;
use serde_json::{Value, json};

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;
const PACKET: u64 = 4096;

/// One leaf, packets without headers, a switch with these keys beside the delay.
fn on_a_leaf(nodes: u64, flows: Vec<(u64, u64, u64)>, switch: Value) -> Value {
    let case = scenario(tree(nodes, nodes, 1, RATE, DELAY), messages(flows));
    let case = with(case, "packets", json!({"mtu_bytes": PACKET, "headers": "none"}));
    let mut whole = json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 22});
    for (key, value) in switch.as_object().unwrap() {
        whole[key] = value.clone();
    }
    with(case, "switch", whole)
}

#[test]
fn a_backlog_for_two_outputs_drains_at_the_speed_up() {
    // Host 0 sends 3n packets to each of two outputs, where three others send n each as well.
    let n = 200;
    let mut flows = vec![(0, 1, 3 * n * PACKET), (0, 2, 3 * n * PACKET)];
    flows.extend((3..6).map(|src| (src, 1, n * PACKET)));
    flows.extend((6..9).map(|src| (src, 2, n * PACKET)));
    // Four inputs share each output until the others are done, at 4n: host 0 then has 2n left for
    // each output, its buffer and its link hand on no more than `speedup` links.
    let alone = |speedup: f64| (4.0 * n as f64 / speedup).max(2.0 * n as f64);
    let slack = 10 * ser(PACKET, RATE) + 4 * DELAY + 2 * ROUTE;
    for speedup in [1.0, 1.25, 1.5, 2.0, 8.0] {
        let case = on_a_leaf(9, flows.clone(), json!({"speedup": speedup}));
        let times = durations(&case);
        let packets = 4.0 * n as f64 + alone(speedup);
        let expected = (packets * ser(PACKET, RATE) as f64) as u64;
        for time in &times[..2] {
            assert!(time.abs_diff(expected) <= slack, "{speedup}: {times:?}, not {expected}");
        }
    }
    let free = durations(&on_a_leaf(9, flows, json!({})));
    assert!(free[0].abs_diff(6 * n * ser(PACKET, RATE)) <= slack, "without limit: {free:?}");
}

#[test]
fn a_slow_crossbar_is_as_slow_as_it_is_said_to_be() {
    let n = 300;
    for model in ["voq", "input_fifo"] {
        let case = on_a_leaf(2, vec![(0, 1, n * PACKET)], json!({"speedup": 0.5, "model": model}));
        let read = 2 * ser(PACKET, RATE);
        let expected = 2 * DELAY + ROUTE + (n - 1) * read + ser(PACKET, RATE);
        assert_eq!(durations(&case), [expected], "{model}");
    }
}

#[test]
fn outputs_of_one_input_are_read_for_in_turn() {
    // Both outputs are always wanted from the same buffer, which is read at one link's rate.
    let n = 200;
    let flows = vec![(0, 1, n * PACKET), (0, 2, n * PACKET), (0, 3, n * PACKET)];
    let times = durations(&on_a_leaf(4, flows, json!({"speedup": 0.9})));
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    assert!(last - first <= 6 * ser(PACKET, RATE), "{times:?}");
}

/// Six hosts of leaf 1 send to host 8 of leaf 2, whose cable is slow; a host of leaf 3 to host 9.
fn victim_of_a_slow_host(switch: Value) -> u64 {
    let mut flows: Vec<(u64, u64, u64)> = (0..6).map(|src| (src, 8, 100 * PACKET)).collect();
    flows.push((16, 9, 50 * PACKET));
    let case = scenario(tree(24, 8, 1, RATE, DELAY), messages(flows));
    let case = with(case, "packets", json!({"mtu_bytes": PACKET, "headers": "none"}));
    let case = with(case, "faults", json!([{"link": "leaf-02[1]", "rate_factor": 0.05}]));
    durations(&with(case, "switch", switch))[6]
}

#[test]
fn a_share_keeps_room_for_packets_of_other_outputs() {
    let buffer = 16 * PACKET;
    let base = json!({"delay_ps": ROUTE, "buffer_bytes": buffer});
    let mut shared = base.clone();
    (shared["model"], shared["output_share"]) = (json!("shared_buffer"), json!(0.5));
    let own = 50 * ser(PACKET, RATE);
    // The slow host's packets fill the buffer of leaf 2: the victim gets a place for each of theirs
    // that leaves, so at a twentieth of the rate.
    let filled = victim_of_a_slow_host(base);
    assert!(filled > 10 * own, "{filled}");
    // With half of it kept free, what the slow host leaves of the cable is the victim's.
    let kept = victim_of_a_slow_host(shared);
    assert!(kept < 2 * own, "{kept}, alone {own}");
}

#[test]
fn a_share_of_the_whole_buffer_is_no_limit() {
    let flows: Vec<(u64, u64, u64)> =
        (0..12).map(|src| (src, (src * 5 + 1) % 12, 40 * PACKET)).collect();
    let times = |model: Value| {
        let case = scenario(tree(12, 4, 2, RATE, DELAY), messages(flows.clone()));
        let mut switch = json!({"delay_ps": ROUTE, "buffer_bytes": 8 * 4160});
        switch["model"] = model.clone();
        if model == json!("shared_buffer") {
            switch["output_share"] = json!(1.0);
        }
        durations(&with(case, "switch", switch))
    };
    assert_eq!(times(json!("shared_buffer")), times(json!("voq")));
}

#[test]
fn a_share_of_two_packets_halves_what_four_let_through() {
    // One flow over a long cable: what its output may hold of the next buffer is all it has.
    let (long, n) = (5_000_000, 400);
    let time = |share: f64| {
        let fabric = tree(2, 1, 1, RATE, long);
        let case = scenario(fabric, messages([(0, 1, n * PACKET)]));
        let case = with(case, "packets", json!({"mtu_bytes": PACKET, "headers": "none"}));
        let switch = json!({"model": "shared_buffer", "output_share": share, "delay_ps": ROUTE,
                            "buffer_bytes": 16 * PACKET});
        durations(&with(case, "switch", switch))[0]
    };
    let round_trip = 2 * long + ROUTE + ser(PACKET, RATE);
    for packets in [1, 2, 4] {
        let time = time(packets as f64 / 16.0);
        let expected = n / packets * round_trip;
        assert!(time.abs_diff(expected) <= 2 * round_trip, "{packets}: {time}, not {expected}");
    }
}

#[test]
fn routed_packets_carry_a_global_header_each() {
    let (n, grh) = (10, 40);
    let case = scenario(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, n * PACKET)]));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 17}));
    let case = with(case, "packets", json!({"mtu_bytes": PACKET, "routed": true}));
    let expected = 2 * DELAY + ROUTE + ser(framed(n * PACKET, PACKET) + n * grh, RATE);
    assert_eq!(durations(&case), [expected]);
}

#[test]
fn a_million_packets_do_not_drift_at_any_rate() {
    // The fabric's limit apart, three rates of the field: HDR100 of 54.545 Gb/s effective, NVLink
    // of 450 GB/s, and a cable that lost some of its 200 Gb/s.
    for rate in [54_545_000_000, 3_600 * GBPS, 174 * GBPS] {
        let size = 1_000_000 * 256;
        let case = scenario(tree(2, 2, 1, rate, DELAY), messages([(0, 1, size)]));
        let case = with(case, "packets", json!({"mtu_bytes": 256}));
        let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 22}));
        let expected = ser(framed(size, 256), rate) + 2 * DELAY + ROUTE;
        assert_eq!(durations(&case), [expected], "{rate}");
    }
}
