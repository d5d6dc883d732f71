//! Congestion control: what switches mark, whom that slows down and by how much.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Outcome;

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const MTU: u64 = 4096;
const RATE: u64 = 200 * GBPS;

fn bare(fabric: Value, work: Value, control: Value) -> Value {
    let case = scenario(fabric, work);
    let case = with(case, "packets", json!({"mtu_bytes": MTU, "headers": "none"}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    with(case, "congestion_control", control)
}

fn sum(column: &[u64]) -> u64 {
    column.iter().sum()
}

/// A table whose entry n is a delay of n packets.
fn linear(n: u64) -> Value {
    json!((0..n).map(|entry| format!("0:{entry}")).collect::<Vec<String>>())
}

/// A table that slows no sender down.
fn powerless() -> Value {
    json!(["0:0"])
}

// ---- the table of delays ------------------------------------------------------------------

#[test]
fn after_a_packet_the_next_of_its_queue_pair_waits_for_the_entry() {
    let n = 50;
    for index in [0u64, 1, 3, 9] {
        let knobs = json!({"annex_a10": {"threshold": 0, "ccti_min": index, "table": linear(10)}});
        let case = bare(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, n * MTU)]), knobs);
        let packet = ser(MTU, RATE);
        let expected = (n - 1) * (1 + index) * packet + packet + 2 * DELAY + ROUTE;
        assert_eq!(durations(&case), [expected], "entry {index}");
    }
}

#[test]
fn queue_pairs_wait_each_for_itself_and_lanes_as_a_whole() {
    // Host 0 sends to two others. One by one, each queue pair has a packet in four packet times;
    // of the lane only one of the two goes then.
    let (n, packet) = (40, ser(MTU, RATE));
    let time = |slows: &str| {
        let knobs = json!({"annex_a10": {"threshold": 0, "ccti_min": 3, "table": linear(4),
            "slows": slows}});
        let work = messages([(0, 1, n * MTU), (0, 2, n * MTU)]);
        durations(&bare(tree(3, 3, 1, RATE, DELAY), work, knobs))
    };
    let far = packet + 2 * DELAY + ROUTE;
    let alone = (n - 1) * 4 * packet + far;
    assert_eq!(time("queue_pair"), [alone, alone + packet]);
    let turns = |number: u64| (number - 1) * 4 * packet + far;
    // The first packet is gone before the second pair has anything.
    assert_eq!(time("lane"), [turns(2 * n - 2), turns(2 * n)]);
}

#[test]
fn a_message_that_begins_later_waits_for_the_one_before_it() {
    let packet = ser(MTU, RATE);
    let knobs = json!({"annex_a10": {"threshold": 0, "ccti_min": 9, "table": linear(10)}});
    // The second is posted when the first has left and its delay is not over.
    let rows = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 1, "size_bytes": MTU},
        {"src": 0, "dst": 1, "size_bytes": MTU, "start_ps": 2 * packet}]}]);
    let case = bare(tree(2, 2, 1, RATE, DELAY), rows, knobs);
    let far = packet + 2 * DELAY + ROUTE;
    assert_eq!(durations(&case), [far, far + 10 * packet - 2 * packet]);
}

// ---- marks --------------------------------------------------------------------------------

/// Two hosts send to a third on their switch, and none is slowed down.
fn two_to_one(n: u64, knobs: Value) -> Outcome {
    let mut knobs = knobs;
    knobs["table"] = powerless();
    knobs["full_bytes"] = json!(16 * MTU);
    let work = messages([(0, 2, n * MTU), (1, 2, n * MTU)]);
    let case = bare(tree(3, 3, 1, RATE, DELAY), work, json!({"annex_a10": knobs}));
    complete(&with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 20})))
}

#[test]
fn a_packet_is_marked_where_the_threshold_waits_behind_it() {
    let n = 12;
    for threshold in [8u64, 12, 15] {
        let marks = sum(&two_to_one(n, json!({"threshold": threshold})).ports.port_xmit_fecn);
        // Sixteenths of sixteen packets.
        let least = 16 - threshold;
        // What waits behind the k-th packet of 2 n when it leaves: two have come each packet time,
        // n times, and of the two that come at that moment the first sets the port going.
        let behind = |k: u64| (2 * k + 1).min(2 * n) - k - 1;
        let eligible = (0..2 * n).filter(|k| behind(*k) >= least).count() as u64;
        assert!(eligible > 0);
        assert_eq!(marks, eligible, "threshold {threshold}");
    }
    assert_eq!(sum(&two_to_one(n, json!({"threshold": 0})).ports.port_xmit_fecn), 0);
}

#[test]
fn the_marking_rate_lets_so_many_pass_between_two_marks() {
    let n = 100;
    let marks = |rate: u64| {
        let outcome = two_to_one(n, json!({"threshold": 14, "marking_rate": rate}));
        sum(&outcome.ports.port_xmit_fecn)
    };
    let all = marks(0);
    assert!(all > 100, "{all}");
    for rate in [1, 3, 10] {
        assert_eq!(marks(rate), all / (rate + 1), "one of {}", rate + 1);
    }
}

#[test]
fn small_packets_are_not_marked() {
    let marks = |packet_size: u64| {
        let outcome = two_to_one(60, json!({"threshold": 14, "packet_size": packet_size}));
        sum(&outcome.ports.port_xmit_fecn)
    };
    assert!(marks(MTU / 64) > 0);
    assert_eq!(marks(MTU / 64 + 1), 0);
}

#[test]
fn who_waits_for_credit_is_a_victim_and_marks_only_where_that_is_masked() {
    // Hosts of two leaves send to a host of a third, over one spine: its port there is the root.
    // The leaves' ports up are that only until the spine's buffers are full; then they wait for
    // credit, each for half of the rate.
    let (n, per_leaf) = (200, 3);
    let senders = (0..per_leaf).chain(4..4 + per_leaf);
    let flows: Vec<(u64, u64, u64)> = senders.map(|src| (src, 8, n * MTU)).collect();
    let marks = |mask: &str| {
        let knobs = json!({"annex_a10": {"threshold": 15, "table": powerless(),
            "full_bytes": 16 * MTU, "victim_mask": mask}});
        let case = bare(tree(12, 4, 1, RATE, DELAY), messages(flows.clone()), knobs);
        let ports = complete(&case).ports;
        let named = ports.port_name.iter().zip(&ports.port_xmit_fecn);
        let of = |name: &str| {
            let its = named.clone().filter(|(port, _)| port.starts_with(name));
            its.map(|(_, marks)| marks).sum::<u64>()
        };
        (of("spine"), of("leaf"))
    };
    let (root, victims) = marks("none");
    let (masked_root, masked_victims) = marks("all");
    let all = 2 * per_leaf * n;
    assert_eq!(root, masked_root, "a root is one whatever is masked");
    assert!(root > all * 9 / 10, "{root} of {all}");
    // The spine's two buffers, and what is under way in a round trip, fill before any sender waits.
    let before = 2 * (65_536 + 2 * (2 * DELAY + ROUTE) * RATE / 8 / 1_000_000_000_000) / MTU;
    assert!(victims <= before, "{victims} of {before}");
    assert!(masked_victims > all * 9 / 10, "{masked_victims} of {all}");
}

#[test]
fn a_queue_pair_is_notified_no_more_often_than_the_interval() {
    for interval_ns in [0u64, 3_000, 10_000] {
        let knobs = json!({"annex_a10": {"threshold": 15, "table": powerless(),
            "full_bytes": 16 * MTU, "cnp_interval_ns": interval_ns}});
        let flows = [(0, 2, 300 * MTU), (1, 2, 300 * MTU)];
        let outcome = complete(&bare(tree(3, 3, 1, RATE, DELAY), messages(flows), knobs));
        let ports = &outcome.ports;
        let (marked, came) = (sum(&ports.port_xmit_fecn), sum(&ports.port_rcv_fecn));
        assert_eq!(marked, came, "nothing is lost");
        let notified = sum(&ports.port_rcv_becn);
        if interval_ns == 0 {
            assert_eq!(notified, marked);
        } else {
            let most = 2 * (outcome.end_ps / (interval_ns * 1000) + 1);
            assert!(notified > 4 && notified <= most, "{notified} of {most}");
        }
    }
}

// ---- what all laws obey -------------------------------------------------------------------

fn law(name: &str) -> Value {
    json!({name: {}})
}

/// The most aggressive marks there are.
fn eager(name: &str) -> Value {
    match name {
        "annex_a10" => json!({"annex_a10": {"threshold": 15}}),
        "dcqcn" => json!({"dcqcn": {"least_bytes": 8192, "most_bytes": 8192}}),
        _ => law(name),
    }
}

#[test]
fn an_idle_network_loses_nothing() {
    // A shift on a full tree: no flow meets another.
    let flows: Vec<(u64, u64, u64)> = (0..64).map(|src| (src, (src + 32) % 64, 1 << 20)).collect();
    let case = |control: Value| {
        let fabric = deep_tree(128, 8, RATE, DELAY);
        durations(&bare(fabric, messages(flows.clone()), control))
    };
    let without = case(Value::Null);
    for name in LAWS {
        let found = case(eager(name));
        if name != "rtt" {
            assert_eq!(found, without, "{name}");
            continue;
        }
        // Probes take their bytes.
        for (found, without) in found.iter().zip(&without) {
            let ratio = *found as f64 / *without as f64;
            assert!((0.99..=1.01).contains(&ratio), "{name}: {ratio}");
        }
    }
}

#[test]
fn a_single_long_flow_is_never_marked() {
    for adaptive in [false, true] {
        for name in ["annex_a10", "dcqcn"] {
            let fabric = deep_tree(128, 8, RATE, DELAY);
            let case = bare(fabric, messages([(0, 127, 40 << 20)]), eager(name));
            let adaptive = if adaptive { json!({}) } else { Value::Null };
            let routing = json!({"engine": "dmodk", "adaptive": adaptive});
            let outcome = complete(&with(case, "routing", routing));
            assert_eq!(sum(&outcome.ports.port_xmit_fecn), 0, "{name}");
        }
    }
}

#[test]
fn long_flows_that_meet_have_like_shares() {
    // Eight flows into one host from one leaf and another, whose inputs a switch would serve in
    // turn: five by an input each, three by one. Whoever is done last had the least.
    let flows: Vec<(u64, u64, u64)> = (1..9).map(|src| (src, 0, 32 << 20)).collect();
    for name in LAWS {
        let case = bare(tree(12, 6, 1, RATE, DELAY), messages(flows.clone()), law(name));
        let times = durations(&case);
        let rates: Vec<f64> = times.iter().map(|ps| 1.0 / *ps as f64).collect();
        let (total, squares): (f64, f64) =
            rates.iter().fold((0.0, 0.0), |(sum, squares), r| (sum + r, squares + r * r));
        // SOURCE: Jain, Chiu, Hawe (1984): 1 for equal shares, 1/n for one who has all.
        let fairness = total * total / (rates.len() as f64 * squares);
        assert!(fairness > 0.95, "{name}: {fairness} {times:?}");
    }
}

/// A lasting incast on 128 hosts and pairs of others that begin later, all moved on by `shift`.
fn incast(shift: u64, control: Value, adaptive: bool) -> Value {
    let place = |host: u64| (host + shift) % 128;
    let late_ps = 3_000_000_000u64;
    let mut rows: Vec<Value> = (64..128)
        .map(|src| json!({"src": place(src), "dst": place(0), "size_bytes": 4_000_000}))
        .collect();
    rows.extend((1..64u64).map(|src| {
        json!({"src": place(src), "dst": place(1 + (src - 1 + 32) % 63), "size_bytes": 1_000_000,
               "start_ps": late_ps})
    }));
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let case = with(scenario(deep_tree(128, 8, RATE, DELAY), work), "congestion_control", control);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let routing = if adaptive { json!({"grade_bytes": 8192}) } else { Value::Null };
    with(case, "routing", json!({"engine": "dmodk", "adaptive": routing}))
}

/// Slowest bystander, and the end of the incast.
fn suffered(case: &Value) -> (u64, u64) {
    let times = durations(case);
    (*times[64..].iter().max().unwrap(), *times[..64].iter().max().unwrap())
}

#[test]
fn bystanders_collapse_without_control_and_recover_with_it() {
    // Every thirty-second destination in `make test`; all of them in the figures.
    let twice = 2 * ser(1_000_000, RATE);
    for shift in (0..128).step_by(32) {
        let (alone, drained) = suffered(&incast(shift, Value::Null, true));
        assert!(alone > 20 * twice, "shift {shift}: {alone}");
        for name in LAWS {
            let (helped, last) = suffered(&incast(shift, law(name), true));
            assert!(helped <= twice, "{name}, shift {shift}: {helped} of {alone}");
            assert!(last * 10 <= drained * 11, "{name}, shift {shift}: {last} of {drained}");
        }
    }
}

#[test]
fn under_tables_the_last_hop_helps_too_though_queues_form_before_it() {
    // All of the incast comes by one cable to the last switch, as fast as it leaves by the next.
    for shift in [1, 4, 9] {
        let (alone, _) = suffered(&incast(shift, Value::Null, false));
        let (helped, _) = suffered(&incast(shift, law("endpoint"), false));
        assert!(5 * helped < alone, "shift {shift}: {helped} of {alone}");
    }
}

#[test]
fn random_traffic_keeps_its_mean_efficiency_under_each_law() {
    let flows: Vec<(u64, u64, u64)> =
        (0..128).map(|src| (src, (37 * src + 11) % 128, 2_000_000)).collect();
    let mean = |control: Value| {
        let case = scenario(deep_tree(128, 8, RATE, DELAY), messages(flows.clone()));
        let case = with(case, "congestion_control", control);
        let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
        let case = with(case, "routing", json!({"engine": "dmodk", "adaptive": {}}));
        let times = durations(&case);
        times.iter().map(|ps| 1.0 / *ps as f64).sum::<f64>()
    };
    let without = mean(Value::Null);
    for name in LAWS {
        let kept = mean(law(name)) / without;
        assert!(kept > 0.95, "{name}: {kept}");
    }
    // A notification for each mark makes it collapse.
    let often = mean(json!({"annex_a10": {"cnp_interval_ns": 0}})) / without;
    assert!(often < 0.95, "{often}");
}

#[test]
fn on_one_switch_neighbours_cost_nothing_under_control() {
    // GPCNeT's rule: a switch that does not block has an impact of 1.0.
    let flows: Vec<(u64, u64, u64)> =
        (0..12).map(|src| (src, (5 * src + 11) % 12, 1 + src * 79_190)).collect();
    let crowd: Vec<(u64, u64, u64)> = (12..20).map(|src| (src, 20, 4_000_000)).collect();
    for name in LAWS {
        let case = |flows: Vec<(u64, u64, u64)>| {
            durations(&bare(tree(24, 24, 1, RATE, DELAY), messages(flows), law(name)))
        };
        let both: Vec<(u64, u64, u64)> = flows.iter().chain(&crowd).copied().collect();
        assert_eq!(case(both)[..12], case(flows.clone())[..], "{name}");
    }
}
