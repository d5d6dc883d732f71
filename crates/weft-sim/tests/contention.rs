//! Sharing, credits and back-pressure against what must be.

use crate::common::*;
use serde_json::json;

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;

fn bare(fabric: serde_json::Value, work: serde_json::Value, buffer: u64) -> serde_json::Value {
    let case = scenario(fabric, work);
    let case = with(case, "packets", json!({"mtu_bytes": 4096, "headers": "none"}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": buffer}))
}

#[test]
fn an_incast_drains_at_the_rate_of_the_last_link() {
    let senders = 15;
    let size = 100_000;
    let flows = (1..=senders).map(|src| (src, 0, size));
    let times = durations(&bare(tree(16, 16, 1, RATE, DELAY), messages(flows), 65_536));
    let expected = 2 * DELAY + ROUTE + ser(senders * size, RATE);
    assert_eq!(times.iter().max(), Some(&expected));
}

#[test]
fn senders_that_share_an_egress_share_it_evenly() {
    let flows = (1..=4).map(|src| (src, 0, 4096 * 100));
    let times = durations(&bare(tree(5, 5, 1, RATE, DELAY), messages(flows), 65_536));
    let (first, last) = (times.iter().min().unwrap(), times.iter().max().unwrap());
    // Round robin packet by packet: no sender finishes more than one turn of the others ahead.
    assert!(last - first <= 3 * ser(4096, RATE), "{times:?}");
}

#[test]
fn an_hca_serves_its_messages_to_two_partners_in_turn() {
    let n = 100;
    let flows = [(0, 1, 4096 * n), (0, 2, 4096 * n)];
    let times = durations(&bare(tree(3, 3, 1, RATE, DELAY), messages(flows), 65_536));
    // Packet by packet: the first, which had the link alone for a packet, ends two before the
    // second, not in half its time.
    let tail = |packets: u64| 2 * DELAY + ROUTE + ser(4096 * packets, RATE);
    assert_eq!(times, [tail(2 * n - 2), tail(2 * n)]);
}

#[test]
fn inputs_get_equal_shares_however_many_flows_are_behind_them() {
    // Parking lot: one flow from the destination's own leaf against three that come by one up link.
    let flows = [(1, 0, 4096 * 200), (2, 0, 4096 * 200), (3, 0, 4096 * 200), (4, 0, 4096 * 200)];
    let mut fabric = tree(5, 2, 1, RATE, DELAY);
    fabric["nodes"] = json!(6);
    fabric["nodes_per_leaf"] = json!(2);
    let times = durations(&bare(fabric, messages(flows), 65_536));
    let local = ser(2 * 4096 * 200, RATE);
    let slack = 4 * ser(4096, RATE) + 6 * DELAY + 4 * ROUTE;
    assert!(times[0].abs_diff(local) <= slack, "the local flow has half: {times:?}");
    let rest = ser(4 * 4096 * 200, RATE);
    assert!(times[1..].iter().all(|time| *time > local), "{times:?}");
    assert!(times.iter().max().unwrap().abs_diff(rest) <= slack, "{times:?}");
}

#[test]
fn a_buffer_of_one_packet_lets_one_packet_go_each_round_trip() {
    let n = 50;
    for forwarding in ["cut_through", "store_and_forward"] {
        let case = bare(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, n * 4096)]), 4096);
        let packet = ser(4096, RATE);
        let mut case = case;
        case["switch"]["forwarding"] = json!(forwarding);
        let stored = if forwarding == "cut_through" { 0 } else { packet };
        // Out, through the switch, until the tail has left it, and the credit back.
        let round_trip = 2 * DELAY + ROUTE + stored + packet;
        let last = 2 * DELAY + ROUTE + stored + packet;
        assert_eq!(durations(&case), [(n - 1) * round_trip + last], "{forwarding}");
    }
}

#[test]
fn throughput_is_the_buffer_over_the_round_trip_until_the_link_is_full() {
    let long = 5_000_000;
    let n = 400;
    let packet = ser(4096, RATE);
    let round_trip = 2 * long + ROUTE + packet;
    for packets in [2, 4, 8] {
        let fabric = tree(2, 2, 1, RATE, long);
        let case = bare(fabric, messages([(0, 1, n * 4096)]), packets * 4096);
        let time = durations(&case)[0];
        let expected = n / packets * round_trip;
        assert!(time.abs_diff(expected) <= round_trip, "{packets} packets: {time} {expected}");
    }
    let fabric = tree(2, 2, 1, RATE, long);
    let case = bare(fabric, messages([(0, 1, n * 4096)]), 1 << 20);
    assert_eq!(durations(&case), [2 * long + ROUTE + n * packet]);
}

#[test]
fn credits_are_whole_blocks_so_a_framed_mtu_takes_65() {
    // 4096 + 26 bytes: 64 KiB hold fifteen packets, not sixteen.
    let case = scenario(tree(2, 2, 1, RATE, 50_000_000), messages([(0, 1, 4096 * 60)]));
    let with_buffer = |blocks: u64| {
        let switch = json!({"delay_ps": ROUTE, "buffer_bytes": blocks * 64});
        durations(&with(case.clone(), "switch", switch))[0]
    };
    assert_eq!(with_buffer(1024), with_buffer(15 * 65));
    assert!(with_buffer(16 * 65) < with_buffer(1024));
}

#[test]
fn blocked_time_is_counted_where_credit_is_missing() {
    let n = 50;
    let case = bare(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, n * 4096)]), 4096);
    let outcome = run(&case);
    let of = |name: &str| outcome.ports.port_name.iter().position(|port| port == name).unwrap();
    let hca = of("n001/hca0[1]");
    let idle_each_round_trip = 2 * DELAY + ROUTE;
    assert_eq!(outcome.ports.xmit_wait_ps[hca], (n - 1) * idle_each_round_trip);
    assert_eq!(outcome.ports.xmit_bytes[hca], n * 4096);
    assert_eq!(outcome.ports.xmit_packets[of("leaf-01[2]")], n);
    assert_eq!(outcome.ports.xmit_packets[of("leaf-01[1]")], 0);
}

/// Time of a bystander's `packets` to host h + 1 while `far` other hosts of its leaf and `near`
/// hosts of the other leaf send to host h there; one up-link, four packets in a buffer.
fn bystander(model: &str, far: u64, near: u64, packets: u64) -> u64 {
    let h = (far + 1).max(near + 2);
    // Senders go on for longer than the bystander.
    let long = (far * packets + 50) * 4096;
    let flows = (0..far).chain(h + 2..h + 2 + near).map(|src| (src, h, long));
    let flows = flows.chain([(far, h + 1, packets * 4096)]);
    let mut case = bare(tree(2 * h, h, 1, RATE, DELAY), messages(flows), 4 * 4096);
    case["switch"]["model"] = json!(model);
    *durations(&case).last().unwrap()
}

#[test]
fn a_bystander_has_its_share_by_the_credit_tree_of_an_incast() {
    // The credit tree: host h's cable serves `near` + 1 inputs in turn, so packets that came by the
    // up-link leave at 1 / (near + 1) of its rate. Buffers behind the up-link are full of them, and
    // it sends one when one has left. It serves `far` + 1 inputs in turn: `far` such packets for
    // one of the bystander's, whose share of a cable is 1 / (far (near + 1)).
    let (path, packet, packets) = (4 * DELAY + 3 * ROUTE, ser(4096, RATE), 100);
    for (far, near) in [(1, 1), (2, 2), (4, 4), (6, 6), (3, 12), (10, 5)] {
        let turn = (near + 1) * packet;
        // At least `far` others go before each packet but the first. When the last one goes, those
        // that have not left hold credit of two links (four packets each) or are leaving.
        let least = ((packets - 1) * far - (2 * 4 + 1)) * turn;
        // At most `far` others go before each packet. The first is there after its path, from then
        // on one leaves each turn: a link brings the next within a round trip, 2 DELAY + ROUTE +
        // packet, and the others in its buffer last for longer. Then the last packet's own path.
        let most = packets * far * turn + 2 * (path + packet) + turn;
        let time = bystander("voq", far, near, packets);
        assert!((least..=most).contains(&time), "{far} + {near}: {least} {time} {most}");
        // Without back-pressure it has its turn on the up-link; in one queue it also waits behind
        // others at the last switch.
        let fair = (far + 1) * (packets + 1) * packet + path;
        assert!(bystander("infinite", far, near, packets) <= fair, "{far} + {near}");
        assert!(bystander("input_fifo", far, near, packets) > most, "{far} + {near}");
    }
}

#[test]
fn in_one_queue_a_packet_waits_until_the_tail_before_it_has_left() {
    let time_of_the_second = |model: &str| {
        let flows = messages([(0, 1, 4096), (0, 2, 4096)]);
        let mut case = bare(tree(3, 3, 1, RATE, DELAY), flows, 65_536);
        case["switch"]["model"] = json!(model);
        let half = json!([{"link": "leaf-01[2]", "rate_factor": 0.5}]);
        durations(&with(case, "faults", half))[1]
    };
    // The first packet leaves at half the rate; the second came in one serialisation behind it.
    let packet = ser(4096, RATE);
    let path = 2 * DELAY + ROUTE;
    assert_eq!(time_of_the_second("voq"), packet + path + packet);
    assert_eq!(time_of_the_second("input_fifo"), 2 * packet + path + packet);
}

#[test]
fn shifts_on_a_full_tree_are_free_of_contention_under_d_mod_k() {
    let size = 40_000;
    let alone = |links: u64, switches: u64| links * DELAY + switches * ROUTE + ser(size, RATE);
    for shift in [1, 4, 7, 13, 31] {
        let flows = (0..32u64).map(|src| (src, (src + shift) % 32, size));
        let times = durations(&bare(tree(32, 4, 4, RATE, DELAY), messages(flows), 65_536));
        for (src, time) in times.iter().enumerate() {
            let near = src as u64 / 4 == (src as u64 + shift) % 32 / 4;
            let expected = if near { alone(2, 1) } else { alone(4, 3) };
            assert_eq!(*time, expected, "shift {shift}, host {src}");
        }
    }
}

#[test]
fn a_ring_allreduce_takes_its_steps_one_after_the_other() {
    let n = 8;
    let size = n * 8192;
    let case = scenario(
        tree(n, n, 1, RATE, DELAY),
        json!([{"benchmark": "allreduce", "size_bytes": size, "algorithm": "ring"}]),
    );
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let regime = json!({"send_overhead_ns": 300, "recv_overhead_ns": 200});
    let case = with(case, "host", json!({"regimes": [regime]}));
    let step = 300_000 + 2 * DELAY + ROUTE + ser(framed(size / n, 4096), RATE) + 200_000;
    assert_eq!(durations(&case), [2 * (n - 1) * step]);
}

#[test]
fn a_barrier_of_sixteen_takes_four_messages_in_a_row() {
    let case = scenario(tree(16, 16, 1, RATE, DELAY), json!([{"benchmark": "barrier"}]));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let message = 2 * DELAY + ROUTE + ser(framed(0, 4096), RATE);
    assert_eq!(durations(&case), [4 * message]);
}

#[test]
fn bandwidth_counts_the_window_and_its_acknowledgement() {
    let work = json!([{"benchmark": "bandwidth", "size_bytes": 65_536, "window": 64}]);
    let times = durations(&bare(tree(2, 2, 1, RATE, DELAY), work, 65_536));
    let path = 2 * DELAY + ROUTE;
    assert_eq!(times, [path + ser(64 * 65_536, RATE) + path + ser(4, RATE)]);
}

#[test]
fn both_directions_of_a_cable_carry_at_once() {
    let work = json!([{"benchmark": "bidirectional", "size_bytes": 65_536, "window": 16}]);
    let times = durations(&bare(tree(2, 2, 1, RATE, DELAY), work, 65_536));
    assert_eq!(times, [2 * DELAY + ROUTE + ser(16 * 65_536, RATE)]);
}

#[test]
fn pairs_that_send_in_both_directions_carry_twice_what_they_carry_in_one_direction() {
    let step = |kind: &str| {
        json!({"benchmark": "pairs", "kind": kind, "rounds": [[[0, 1], [3, 2]]],
               "size_bytes": 65_536, "window": 16})
    };
    let kinds = ["bandwidth_ab", "bandwidth_ba", "bidirectional"];
    let work = json!(kinds.map(step));
    let times = durations(&bare(tree(4, 4, 1, RATE, DELAY), work, 65_536));
    // Twice the bytes in the same time, and no acknowledgement.
    let path = 2 * DELAY + ROUTE;
    let both = path + ser(16 * 65_536, RATE);
    let one = both + path + ser(4, RATE);
    assert_eq!(times, [one, one, one, one, both, both]);
}
