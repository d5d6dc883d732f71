//! Who gets how much of a link: taper bounds, parking lots, neighbours on one switch, odd rates.

use crate::common::*;
use serde_json::{Value, json};

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const MTU: u64 = 4096;

fn bare(fabric: Value, work: Value, model: &str) -> Value {
    let case = scenario(fabric, work);
    let case = with(case, "packets", json!({"mtu_bytes": MTU, "headers": "none"}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536, "model": model}))
}

#[test]
fn three_inputs_of_an_output_have_a_third_each_whatever_they_carry() {
    // Hosts 1 and 2 are on the leaf of host 0; 3 and 4 come from another by one cable. All heads
    // are at the output of host 0 at the same moment: the far ones start two links earlier.
    let rate = 200 * GBPS;
    let n = 120;
    let lead = 2 * (DELAY + ROUTE);
    let rows: Vec<Value> = (1..=4u64)
        .map(|src| {
            let start_ps = if src <= 2 { lead } else { 0 };
            json!({"src": src, "dst": 0, "size_bytes": n * MTU, "start_ps": start_ps})
        })
        .collect();
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    for model in ["voq", "input_fifo", "infinite"] {
        let times = durations(&bare(tree(6, 3, 1, rate, DELAY), work.clone(), model));
        let path = 2 * DELAY + ROUTE;
        let turn = |time: u64, extra: u64| (time - path - extra).div_ceil(ser(MTU, rate));
        let mut near: Vec<u64> = times[..2].iter().map(|time| turn(*time, 0)).collect();
        let mut far: Vec<u64> = times[2..].iter().map(|time| turn(*time, lead)).collect();
        near.sort_unstable();
        far.sort_unstable();
        // A third each until the near ones are done, after 3 n turns; then the rest is alone.
        assert!(near[0] >= 3 * n - 2 && near[1] <= 3 * n && near[0] < near[1], "{model} {near:?}");
        assert_eq!(far, [4 * n - 1, 4 * n], "{model}: two flows share the third input's turns");
    }
}

#[test]
fn on_one_switch_neighbours_cost_nothing() {
    let n = 36u64;
    // 5 and 36 have no common divisor: every rank sends to one and receives from one.
    let flows: Vec<(u64, u64, u64)> =
        (0..n).map(|src| (src, (5 * src + 11) % n, 1 + src * 7919)).collect();
    assert!(flows.iter().all(|(src, dst, _)| src != dst));
    for (headers, forwarding) in [("infiniband", "cut_through"), ("none", "store_and_forward")] {
        let case = |flows: &[(u64, u64, u64)]| {
            let fabric = tree(n, n, 1, 97 * GBPS, DELAY);
            let case = bare(fabric, messages(flows.iter().copied()), "voq");
            let mut case = with(case, "packets", json!({"headers": headers}));
            case["switch"]["forwarding"] = json!(forwarding);
            durations(&case)
        };
        let together = case(&flows);
        for (flow, time) in flows.iter().zip(&together) {
            assert_eq!(case(&[*flow]), [*time], "{flow:?} {forwarding}: 1.0 exactly");
        }
    }
}

#[test]
fn a_million_packets_on_a_slow_cable_do_not_drift() {
    // 0.87 x 200 Gb/s: no whole number of picoseconds a bit.
    let n = 1_000_000;
    let case = scenario(tree(2, 2, 1, 200 * GBPS, DELAY), messages([(0, 1, n * 256)]));
    let case = with(case, "packets", json!({"mtu_bytes": 256, "headers": "infiniband"}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let rate = 174 * GBPS;
    for port in ["leaf-01[1]", "leaf-01[2]"] {
        let slow = json!([{"link": port, "rate_factor": 0.87}]);
        let time = durations(&with(case.clone(), "faults", slow))[0];
        // Slow first: the switch stores each packet before the faster egress. Slow last: the last
        // packet leaves when all bits have, begun when the first head is there.
        let bits = ser(framed(n * 256, 256), rate);
        let stored = if port == "leaf-01[1]" { ser(256 + HEADER, 200 * GBPS) } else { 0 };
        assert_eq!(time, bits + stored + 2 * DELAY + ROUTE, "{port}");
    }
}

// ---- the 11:9 tree: leaves of 44 hosts at 100 Gb/s, one cable at 200 Gb/s to each of 18 spines --

const HOSTS_A_LEAF: u64 = 44;
const SPINES: u64 = 18;
const HOST_RATE: u64 = 100 * GBPS;
const UP_RATE: u64 = 200 * GBPS;

fn tapered(n_hosts: u64) -> Value {
    let mut fabric = tree(n_hosts, HOSTS_A_LEAF, SPINES, HOST_RATE, DELAY);
    fabric["switch_bits_per_s"] = json!(UP_RATE);
    fabric
}

/// The path between leaves, cut through but where a packet goes to a faster cable.
const FAR: u64 = 4 * DELAY + 3 * ROUTE;

#[test]
fn what_leaves_a_tapered_leaf_has_81_8_per_cent_of_injection() {
    let share = (SPINES * UP_RATE) as f64 / (HOSTS_A_LEAF * HOST_RATE) as f64;
    assert!((share - 0.818).abs() < 0.0005);
    // All of leaf 1 send to 90 hosts of leaves 2 to 4: five to every spine under d-mod-k, so all
    // up-links carry the same.
    let (n_dst, packets) = (90, 4);
    let flows = || {
        let dsts = move |src| (0..n_dst).map(move |k| (src, HOSTS_A_LEAF + k, packets * MTU));
        (0..HOSTS_A_LEAF).flat_map(dsts)
    };
    let last = |model: &str| {
        let case = bare(tapered(4 * HOSTS_A_LEAF), messages(flows()), model);
        *durations(&case).iter().max().expect("flows")
    };
    let injection = ser(n_dst * packets * MTU, HOST_RATE);
    let bound = ser(HOSTS_A_LEAF * n_dst * packets * MTU, SPINES * UP_RATE);
    assert!((injection as f64 / bound as f64 - share).abs() < 1e-6);
    let endless = last("infinite");
    // Hosts go through their destinations in one order, so the last up-link begins a round of the
    // spines after the first; from then on none is idle until it is done.
    let round = SPINES * ser(MTU, HOST_RATE);
    let slack = FAR + ser(MTU, HOST_RATE) + round + ser(HOSTS_A_LEAF * MTU, HOST_RATE);
    assert!(endless > bound && endless <= bound + slack, "{endless} {bound} {slack}");
    assert!(last("voq") > bound, "back-pressure wins nothing");
}

#[test]
fn an_alltoall_of_512_on_the_tapered_tree_has_89_3_per_cent_of_injection() {
    let n = 512;
    let leaving = (n - HOSTS_A_LEAF) as f64 / (n - 1) as f64;
    let share = (SPINES * UP_RATE) as f64 / (HOSTS_A_LEAF * HOST_RATE) as f64 / leaving;
    assert!((share - 0.893).abs() < 0.0005);
    let work = json!([{"benchmark": "alltoall", "algorithm": "linear", "size_bytes": MTU}]);
    let time = durations(&bare(tapered(n), work, "infinite"))[0];
    let bound = ser(HOSTS_A_LEAF * (n - HOSTS_A_LEAF) * MTU, SPINES * UP_RATE);
    assert!((ser((n - 1) * MTU, HOST_RATE) as f64 / bound as f64 - share).abs() < 1e-6);
    // d-mod-k gives an up-link every destination of another leaf with its number modulo 18.
    let of_uplink = |leaf: u64, spine: u64| {
        (0..n).filter(|dst| dst / HOSTS_A_LEAF != leaf && dst % SPINES == spine).count() as u64
    };
    let leaves = n / HOSTS_A_LEAF;
    let busiest = (0..leaves).flat_map(|leaf| (0..SPINES).map(move |s| of_uplink(leaf, s))).max();
    let busiest = ser(HOSTS_A_LEAF * busiest.expect("up-links") * MTU, UP_RATE);
    assert!(busiest >= bound && time >= busiest + FAR, "{time} {busiest} {bound}");
    // Packets that choose level the up links out: the bound is come near to, within an eighth.
    let work = json!([{"benchmark": "alltoall", "algorithm": "linear", "size_bytes": MTU}]);
    let adaptive = json!({"engine": "dmodk", "adaptive": {"grade_bytes": MTU}});
    let time = durations(&with(bare(tapered(n), work, "infinite"), "routing", adaptive))[0];
    assert!(time >= bound + FAR && time <= bound + bound / 8, "{time} {bound}");
}

#[test]
fn a_large_packet_keeps_its_turn_while_small_ones_could_go() {
    // The buffers hold one large packet, or small ones in plenty. Turns go one by one all the same:
    // after a large packet one small one, which is on its way when the next large one needs all.
    let (n, small, rate) = (40, 64, 200 * GBPS);
    let round_trip = |bytes: u64| 2 * DELAY + ROUTE + ser(bytes, rate);
    let turns = (n - 1) * (round_trip(MTU) + round_trip(small));
    let case = |fabric: Value, flows: Vec<(u64, u64, u64)>| {
        let mut case = bare(fabric, messages(flows), "voq");
        case["switch"]["buffer_bytes"] = json!(MTU);
        durations(&case)[0]
    };
    // In a switch: hosts 0 and 1 share the cable to the other leaf. Their own cables are shorter,
    // so the next large packet is there when the last one's credit comes back.
    let mut fabric = tree(4, 2, 1, rate, DELAY);
    fabric["host_delay_ps"] = json!(DELAY / 2);
    let mut flows = vec![(0, 2, n * MTU)];
    flows.extend((0..3 * n).map(|_| (1, 3, small)));
    let far = 3 * DELAY + 3 * ROUTE + ser(MTU, rate);
    assert_eq!(case(fabric, flows), turns + far, "in a switch");
    // In an HCA that sends to two: the first packet is gone before the second pair has anything.
    let mut flows = vec![(0, 1, n * MTU)];
    flows.extend((0..3 * n).map(|_| (0, 2, small)));
    let near = 2 * DELAY + ROUTE + ser(MTU, rate) - round_trip(small);
    assert_eq!(case(tree(3, 3, 1, rate, DELAY), flows), turns + near, "in an HCA");
}

#[test]
fn waiting_for_credit_counts_from_its_beginning_whoever_comes_meanwhile() {
    // Hosts 0 and 1 send over one cable whose far buffer holds one packet: what comes to the port
    // while it waits does not begin its waiting anew.
    let (n, rate) = (30, 200 * GBPS);
    let flows = [(0, 2, n * MTU), (1, 3, n * MTU)];
    let mut fabric = tree(4, 2, 1, rate, DELAY);
    fabric["host_delay_ps"] = json!(DELAY / 2);
    let mut case = bare(fabric, messages(flows), "voq");
    case["switch"]["buffer_bytes"] = json!(MTU);
    let outcome = run(&case);
    let up = outcome.ports.port_name.iter().position(|name| name == "leaf-01[3]").expect("a port");
    assert_eq!(outcome.ports.xmit_packets[up], 2 * n);
    // Of each round trip but the last it sends for one serialisation and waits for the rest.
    let wait = (2 * n - 1) * (2 * DELAY + ROUTE);
    assert_eq!(outcome.ports.xmit_wait_ps[up], wait);
}

#[test]
fn one_queue_is_read_one_packet_after_the_other() {
    // Host 0 sends n packets each to a host at half the rate and to one at the whole rate: all go
    // through one queue, each for as long as its own output takes it.
    let (n, rate) = (50, 200 * GBPS);
    let flows = messages([(0, 1, n * MTU), (0, 2, n * MTU)]);
    let mut case = bare(tree(3, 3, 1, rate, DELAY), flows, "input_fifo");
    case["switch"]["buffer_bytes"] = json!(1 << 22);
    let case = with(case, "faults", json!([{"link": "leaf-01[2]", "rate_factor": 0.5}]));
    let read = n * ser(MTU, rate / 2) + n * ser(MTU, rate);
    assert_eq!(durations(&case)[1], 2 * DELAY + ROUTE + read);
}
