//! A switch without another path notifies those that send it packets: what they know, and when.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;
const MTU: u64 = 4096;
/// When cables die, and how long a notification takes beyond its cable and switch.
const DEATH: u64 = 10_000_000;
const NOTICE: u64 = 300_000;
/// 4.096 us x 2^4.
const TIMEOUT: u64 = 65_536_000;
/// No flow stalls so long.
const MAX_STALL: u64 = 10_000_000_000;

fn shield() -> Value {
    json!({"reaction": "switch", "notice_ns": NOTICE / 1000})
}

/// Messages of a packet from the first node to `dst`, at these times; what dies at `DEATH`.
fn packets_at(fabric: Value, dst: u64, times_ps: &[u64], dies: &str) -> Value {
    let row =
        |start_ps: &u64| json!({"src": 0, "dst": dst, "size_bytes": MTU, "start_ps": start_ps});
    let rows: Vec<Value> = times_ps.iter().map(row).collect();
    let case = scenario(fabric, json!([{"benchmark": "messages", "messages": rows}]));
    let case = with(case, "packets", json!({"headers": "none", "mtu_bytes": MTU}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 20}));
    let case = with(case, "transport", json!({"timeout_exponent": 4}));
    let case = with(case, "routing", json!({"engine": "dmodk", "link_death": shield()}));
    let fault = json!({"link": dies, "down": true, "from_ns": DEATH / 1000});
    with(case, "faults", json!([fault]))
}

fn agreed(case: &Value) -> Outcome {
    let outcome = run(case);
    let oracle = run(&with(case.clone(), "elide", json!(false)));
    assert_eq!(physics(&outcome), physics(&oracle));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome
}

fn sum(column: &[u64]) -> u64 {
    column.iter().sum()
}

/// What a packet takes over so many switches when nothing is in its way.
fn alone_ps(n_switches: u64) -> u64 {
    ser(MTU, RATE) + (n_switches + 1) * DELAY + n_switches * ROUTE
}

/// The latest start of a packet that its leaf still sends to where it is lost, where the
/// notification passes so many cables between switches: both take the leaf's routing time.
fn last_lost_ps(n_hops: u64) -> u64 {
    DEATH + n_hops * (DELAY + ROUTE + NOTICE) - (DELAY + ROUTE)
}

#[test]
fn a_leaf_avoids_a_spine_once_it_is_notified() {
    // Node 1 to node 6 goes up to the second spine, whose cable down to the second leaf dies.
    let case = |start| packets_at(tree(8, 4, 2, RATE, DELAY), 5, &[start], "spine-02[2]");
    let outcome = agreed(&case(last_lost_ps(1) + 1));
    assert_eq!(outcome.rows.duration_ps, [alone_ps(3)], "the other spine is as near");
    assert_eq!(sum(&outcome.ports.port_xmit_discards), 0);
    assert_eq!(value_at(&outcome, &outcome.ports.xmit_packets, "leaf-01[5]"), 1);
    let outcome = agreed(&case(last_lost_ps(1)));
    assert_eq!(value_at(&outcome, &outcome.ports.port_xmit_discards, "spine-02[2]"), 1);
    // Nothing follows it that would show the gap: the sender waits for its timeout.
    assert_eq!(outcome.rows.duration_ps, [ser(MTU, RATE) + TIMEOUT + alone_ps(3)]);
}

#[test]
fn a_later_message_shows_that_the_last_packet_of_one_is_lost() {
    let times = [last_lost_ps(1), 2 * DEATH];
    let case = packets_at(tree(8, 4, 2, RATE, DELAY), 5, &times, "spine-02[2]");
    let outcome = agreed(&case);
    assert_eq!(value_at(&outcome, &outcome.ports.port_xmit_discards, "spine-02[2]"), 1);
    // The later one comes, its receiver reports the gap, and the sender repeats both.
    let least = 2 * DEATH + alone_ps(3) - times[0];
    let first = outcome.rows.duration_ps[0];
    assert!((least..least + 2 * alone_ps(3)).contains(&first), "{first} {least}");
}

#[test]
fn who_has_no_other_path_either_passes_it_on() {
    // A spine of a pod loses its cable to a leaf. Every core above it has that cable alone, so has
    // each spine of that place in other pods: their leaves take the other spine, three cables off.
    let fabric = deep_tree(16, 4, RATE, DELAY);
    let first = agreed(&packets_at(fabric.clone(), 14, &[0], "leaf-01[3]"));
    let came = |port: &&str| value_at(&first, &first.ports.port_rcv_pkts, port) == 1;
    let port = ["leaf-08[3]", "leaf-08[4]"].into_iter().find(came).expect("one of the two");
    let case = |start| packets_at(fabric.clone(), 14, &[start], port);
    let outcome = agreed(&case(last_lost_ps(3) + 1));
    assert_eq!(outcome.rows.duration_ps, [alone_ps(5)]);
    assert_eq!(sum(&outcome.ports.port_xmit_discards), 0);
    let outcome = agreed(&case(last_lost_ps(3)));
    assert_eq!(sum(&outcome.ports.port_xmit_discards), 1);
}

#[test]
fn new_tables_end_what_notifications_said() {
    // The cable is back long before the subnet manager looks: until then the leaf avoids it.
    let mut case = packets_at(
        tree(8, 4, 2, RATE, DELAY),
        5,
        &[0, 14_000_000, 20_000_000, 60_000_000],
        "spine-02[2]",
    );
    case["faults"][0]["until_ns"] = json!(16_000);
    case["routing"]["link_death"]["delay_ns"] = json!(30_000);
    let outcome = agreed(&case);
    assert_eq!(outcome.rows.duration_ps, [alone_ps(3); 4]);
    let sent = |port: &str| value_at(&outcome, &outcome.ports.xmit_packets, port);
    assert_eq!((sent("leaf-01[5]"), sent("leaf-01[6]")), (2, 2));
}

#[test]
fn where_no_switch_has_another_path_the_timeout_remains() {
    let mut case = packets_at(tree(8, 4, 1, RATE, DELAY), 5, &[12_000_000], "spine-01[2]");
    case["faults"][0]["until_ns"] = json!(30_000);
    let outcome = agreed(&case);
    assert_eq!(outcome.rows.duration_ps, [ser(MTU, RATE) + TIMEOUT + alone_ps(3)]);
}

#[test]
fn only_trees_have_notifications() {
    // Six switches in a ring: between those across there are two paths, one of which dies halfway.
    let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": RATE, "delay_ps": 50});
    let mut links = Vec::new();
    for n in 0..6 {
        links.push(link(format!("h{n}[1]"), format!("s{n}[1]")));
        links.push(link(format!("s{n}[2]"), format!("s{}[3]", (n + 1) % 6)));
    }
    let node = |n: u64| json!({"name": format!("n{n}"), "hcas": [format!("h{n}")]});
    let switch = |n: u64| json!({"name": format!("s{n}"), "ports": 3, "level": 1});
    let ring = json!({"schema": "weft.fabric/1", "name": "ring", "links": links,
        "switches": (0..6).map(switch).collect::<Vec<Value>>(),
        "nodes": (0..6).map(node).collect::<Vec<Value>>()});
    for dead in ["s1[2]", "s4[2]"] {
        let mut case = packets_at(ring.clone(), 3, &[20_000_000], dead);
        case["routing"]["engine"] = json!("minhop");
        case["routing"]["allow_credit_loops"] = json!(true);
        case["routing"]["link_death"]["delay_ns"] = json!(30_000);
        let outcome = agreed(&case);
        let lost = outcome.rows.duration_ps[0] > TIMEOUT;
        assert_eq!(sum(&outcome.ports.port_xmit_discards) > 0, lost);
        if lost {
            return;
        }
    }
    panic!("one of the two is on the path");
}

/// 32 hosts on four leaves send `size_bytes` to the host so many further; a cable of a leaf dies.
fn shift(by: u64, spines: u64, size_bytes: u64, dies: (u64, u64), death_ps: u64) -> Value {
    let flows = (0..32).map(|src| (src, (src + by) % 32, size_bytes));
    let case = scenario(tree(32, 8, spines, RATE, DELAY), messages(flows));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let case = with(case, "transport", json!({}));
    let link = format!("leaf-{:02}[{}]", 1 + dies.0, 9 + dies.1 % spines);
    let fault = json!({"link": link, "down": true, "from_ns": death_ps / 1000});
    with(case, "faults", json!([fault]))
}

fn n_stalled(outcome: &Outcome) -> usize {
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome.rows.duration_ps.iter().filter(|duration| **duration > MAX_STALL).count()
}

#[test]
fn a_dead_cable_stalls_no_flow_of_a_shift() {
    let size_bytes = 1 << 20;
    for (by, spines, adaptive, seed) in [
        (8, 8, false, 0),
        (8, 8, true, 1),
        (16, 4, false, 2),
        (16, 4, true, 3),
        (5, 8, false, 4),
        (5, 8, true, 5),
    ] {
        for n in 0..4 {
            // At a sixth to two thirds of the time that the messages take.
            let death_ps = ser(size_bytes, RATE) * (1 + n) / 6;
            let case = shift(by, spines, size_bytes, (n, seed + 3 * n), death_ps);
            let case = with(case, "seed", json!(seed));
            let routed = |link_death: Value| {
                let mut routing = json!({"engine": "dmodk", "link_death": link_death});
                if adaptive {
                    routing["adaptive"] = json!({});
                }
                with(case.clone(), "routing", routing)
            };
            let what = format!("shift by {by}, adaptive {adaptive}, death at {death_ps} ps");
            assert_eq!(n_stalled(&run(&routed(json!({"reaction": "switch"})))), 0, "{what}");
            if by == 8 {
                let left_alone = run(&routed(json!({"reaction": "subnet_manager"})));
                assert!(n_stalled(&left_alone) > 0, "{what}: the cable carries nothing");
            }
        }
    }
}

#[test]
fn flows_that_do_not_choose_keep_their_order_round_a_dead_cable() {
    // One flow over the second of four up ports, which dies: all that is left takes one other.
    let flows = [(0, 9, 1 << 20)];
    let case = scenario(tree(32, 8, 4, RATE, DELAY), messages(flows));
    let case = with(case, "routing", json!({"engine": "dmodk", "link_death": shield()}));
    let case = with(case, "transport", json!({}));
    let fault = json!({"link": "leaf-01[10]", "down": true, "from_ns": 40_000});
    let outcome = agreed(&with(case, "faults", json!([fault])));
    let sent = |n: u64| {
        let port = format!("leaf-01[{n}]");
        value_at(&outcome, &outcome.ports.xmit_packets, &port)
    };
    assert!(sent(10) > 0, "until it dies");
    assert_eq!([9, 11, 12].iter().filter(|n| sent(**n) > 0).count(), 1);
    // A report a round trip later, and again what had left until then.
    let round_trip = 2 * alone_ps(3);
    let most = ser((1 << 20) + 300 * 42, RATE) + alone_ps(3) + 2 * round_trip;
    assert!(outcome.rows.duration_ps[0] < most, "{:?} {most}", outcome.rows.duration_ps);
}

#[test]
fn a_receiver_reports_a_packet_that_was_overtaken_so_long_ago() {
    let reorder_ps = 100_000_000;
    let case = shift(8, 8, 1 << 20, (0, 0), 40_000_000);
    let adaptive = json!({"engine": "dmodk", "adaptive": {}, "link_death": shield()});
    let case = with(case, "routing", adaptive);
    let slowest = |transport: Value| {
        let outcome = agreed(&with(case.clone(), "transport", transport));
        *outcome.rows.duration_ps.iter().max().expect("flows")
    };
    let message_ps = ser(1 << 20, RATE);
    let usual = slowest(json!({}));
    assert!((1_000_000_000..1_000_000_000 + 3 * message_ps).contains(&usual), "{usual}");
    let sooner = slowest(json!({"reorder_ns": reorder_ps / 1000}));
    assert!((reorder_ps..reorder_ps + 3 * message_ps).contains(&sooner), "{sooner}");
}

#[test]
fn times_that_cannot_be_are_refused_with_their_place() {
    let mut case = shift(8, 8, 1, (0, 0), 1000);
    case["routing"]["link_death"] = json!({"reaction": "switch", "notice_ns": -1});
    let refused = refusal(&case);
    assert!(refused.starts_with("routing.link_death.notice_ns: -1 is no such time"), "{refused}");
    let mut case = shift(8, 8, 1, (0, 0), 1000);
    case["transport"] = json!({"reorder_ns": 5.0});
    let refused = refusal(&case);
    assert!(refused.starts_with("transport.reorder_ns: packets keep their order"), "{refused}");
    case["routing"]["adaptive"] = json!({});
    case["transport"] = json!({"reorder_ns": 0.00001});
    let refused = refusal(&case);
    assert!(refused.starts_with("transport.reorder_ns: 0.00001 is no such time"), "{refused}");
}
