//! The flow level beside the packet engine: exactly the same where nothing is shared, max-min fair
//! where something is, and the same columns.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::{Fidelity, Outcome, Status};

pub(crate) fn as_flow(scenario: &Value) -> Value {
    with(scenario.clone(), "fidelity", json!("flow"))
}

pub(crate) fn complete(scenario: &Value) -> Outcome {
    let outcome = run(scenario);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome
}

/// Both outcomes: by packets, and by flows.
fn both(scenario: &Value) -> [Outcome; 2] {
    [complete(scenario), complete(&as_flow(scenario))]
}

fn assert_within(scenario: &Value, part: f64) {
    let [packets, flows] = both(scenario);
    for (exact, fluid) in packets.rows.duration_ps.iter().zip(&flows.rows.duration_ps) {
        let error = (*fluid as f64 / *exact as f64 - 1.0).abs();
        assert!(error <= part, "{exact} ps by packets and {fluid} by flows");
    }
    assert_eq!(packets.ports, flows.ports.clone(), "counters");
}

fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(80);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

/// One message on a tree of mixed rates.
fn one_message() -> impl Strategy<Value = Value> {
    let rates = || prop::sample::select(vec![25 * GBPS, 50 * GBPS, 100 * GBPS, 200 * GBPS]);
    let sizes = prop_oneof![0u64..10_000, 10_000u64..3_000_000];
    let forwarding = prop::sample::select(vec!["cut_through", "store_and_forward"]);
    let rest = (prop::sample::select(vec!["eager", "rendezvous"]), any::<bool>(), 1u64..11);
    (rates(), rates(), rates(), sizes, forwarding, 0u64..3_000_000, rest).prop_map(
        |(host, up, core, size, forwarding, delay_ps, (protocol, acknowledge, dst))| {
            let fabric = json!({"generate": "fat_tree", "levels": 3, "radix": 4, "nodes": 16,
                "host_bits_per_s": host, "switch_bits_per_s": up, "core_bits_per_s": core,
                "host_delay_ps": delay_ps, "switch_delay_ps": 5000, "core_delay_ps": 90_000});
            let case = scenario(fabric, messages([(0, dst, size)]));
            let case = with(case, "transport", json!({"acknowledge": acknowledge}));
            let host = json!({"regimes": [{"protocol": protocol, "send_overhead_ns": 100.5,
                "latency_ns": 33, "recv_ns_per_byte": 0.125}], "message_gap_ns": 5});
            // Buffers that never fill: that they do is for packets to show.
            let switch = json!({"model": "infinite", "forwarding": forwarding,
                "delay_ps": 90_000});
            with(with(case, "host", host), "switch", switch)
        },
    )
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn a_message_alone_takes_exactly_the_time_of_its_packets(case in one_message()) {
        let [packets, flows] = both(&case);
        prop_assert_eq!(&packets.ports, &flows.ports);
        prop_assert_eq!(packets.hops, flows.hops);
        let agreed = case["host"]["regimes"][0]["protocol"] == "rendezvous";
        let answered = case["transport"]["acknowledge"] == true;
        // A go-ahead follows an answer, each stored and sent on by up to six links: who is first
        // where is for packets to say.
        let unsure_ps = if agreed && answered { 6 * ser(HEADER + RETH, 25 * GBPS) } else { 0 };
        let (exact, fluid) = (packets.rows.duration_ps[0], flows.rows.duration_ps[0]);
        prop_assert!(exact.abs_diff(fluid) <= unsure_ps, "{exact} {fluid}");
    }
}

/// Flows over the cable from one switch to the next, of `n` switches in a line with two hosts each,
/// which are numbered along it.
fn line(n: usize, bits_per_s: u64, cable_bits_per_s: &[u64]) -> Value {
    let nodes: Vec<Value> =
        (0..2 * n).map(|k| json!({"name": format!("h{k}"), "hcas": [format!("h{k}/a")]})).collect();
    let switches: Vec<Value> =
        (0..n).map(|k| json!({"name": format!("s{k}"), "ports": 4, "level": 1})).collect();
    let host = |k: usize| {
        json!({"a": format!("h{k}/a[1]"), "b": format!("s{}[{}]", k / 2, k % 2 + 1),
            "bits_per_s": bits_per_s, "delay_ps": 0})
    };
    let cable = |k: usize| {
        json!({"a": format!("s{k}[3]"), "b": format!("s{}[4]", k + 1),
            "bits_per_s": cable_bits_per_s[k], "delay_ps": 0})
    };
    let links: Vec<Value> = (0..2 * n).map(host).chain((0..n - 1).map(cable)).collect();
    json!({"schema": "weft.fabric/1", "name": "line", "nodes": nodes, "switches": switches,
        "links": links, "routing": {"engine": "minhop"}})
}

fn bare(fabric: Value, flows: &[(u64, u64, u64)]) -> Value {
    let mut case = scenario(fabric, messages(flows.iter().copied()));
    case["routing"] = json!({"engine": "minhop"});
    case["packets"] = json!({"headers": "none"});
    case["switch"] = json!({"delay_ps": 0, "buffer_bytes": 1 << 20});
    as_flow(&case)
}

/// Times in nanoseconds, of links without delay.
fn assert_times(case: &Value, expected_ns: &[f64]) {
    let times = complete(case).rows.duration_ps;
    assert_eq!(times.len(), expected_ns.len());
    for (time_ps, expected_ns) in times.iter().zip(expected_ns) {
        // Cut through, but stored before a faster link: at most a packet of 4096 bytes a link.
        let late_ps = *time_ps as f64 - expected_ns * 1000.0;
        assert!((-1.0..=4.0 * 4096.0 * 80.0).contains(&late_ps), "{times:?} ps, {expected_ns} ns");
    }
}

/// One flow over all cables and one over each: all have half, whatever the number of cables.
#[test]
fn parking_lot_a_flow_over_all_cables_has_as_much_as_those_over_one() {
    let rate = 100 * GBPS;
    for n in [2, 3, 6] {
        let size = 10_000_000;
        let long = (0, 2 * n as u64 - 2, size);
        let short = (0..n as u64 - 1).map(|k| (2 * k + 1, 2 * k + 3, size));
        let flows: Vec<_> = [long].into_iter().chain(short).collect();
        let case = bare(line(n, rate, &vec![rate; n - 1]), &flows);
        assert_times(&case, &vec![size as f64 * 8.0 / 50.0; n]);
    }
}

/// Two bottlenecks: the first cable carries flows A and B, the second B and C at twice the rate.
/// A and B have half of the first; C what B leaves of the second. SOURCE for the shape: Bertsekas
/// and Gallager, "Data Networks" (2nd ed., 1992), section 6.5.2.
#[test]
fn two_bottlenecks_and_what_is_left_when_a_flow_ends() {
    let fabric = line(3, 400 * GBPS, &[100 * GBPS, 200 * GBPS]);
    let flows = [(0, 2, 5_000_000), (1, 4, 10_000_000), (3, 5, 15_000_000)];
    // 50, 50 and 150 Gb/s until A is through at 800 us; then B has 100 and C 100.
    let b_left = 80e6 - 50.0 * 800e3;
    let b_ns = 800e3 + b_left / 100.0;
    let c_left: f64 = 120e6 - 150.0 * 800e3;
    assert!(c_left.abs() < 1.0);
    assert_times(&bare(fabric, &flows), &[800e3, b_ns, 800e3]);
}

/// Three flows into one host over a slow, a middling and a fast cable: the slow one keeps what it
/// has, the others share the rest.
#[test]
fn unequal_links_the_slow_keep_theirs_and_the_others_share_the_rest() {
    let fabric = line(2, 100 * GBPS, &[10 * GBPS]);
    let size = 9_000_000;
    // From the far side 10 Gb/s in all; h3 beside the receiver has what that leaves of 100.
    let flows = [(0, 2, size), (1, 2, size), (3, 2, 9 * size)];
    let far_ns = size as f64 * 8.0 / 5.0;
    let near_ns = 9.0 * size as f64 * 8.0 / 90.0;
    assert_times(&bare(fabric, &flows), &[far_ns, far_ns, near_ns]);
}

#[test]
fn an_incast_drains_at_the_rate_of_its_last_link() {
    let (rate, size) = (100 * GBPS, 2_000_000);
    let flows = (1..16).map(|src| (src, 0, size));
    let case = scenario(tree(16, 4, 4, rate, 20_000), messages(flows));
    let [packets, flows] = both(&case);
    let wire_ps = 15 * ser(framed(size, 4096), rate);
    for outcome in [&packets, &flows] {
        assert!(outcome.end_ps >= wire_ps && outcome.end_ps <= wire_ps + wire_ps / 100);
    }
    assert_eq!(packets.ports.xmit_bytes, flows.ports.xmit_bytes);
}

#[test]
fn shifts_on_full_trees_take_the_time_of_packets() {
    for shift in [1, 3, 8, 16, 27] {
        let work = json!([{"benchmark": "permutation", "permutation": {"shift": shift},
            "size_bytes": 300_000}]);
        let case = scenario(tree(32, 8, 8, 200 * GBPS, 500_000), work);
        assert_within(&case, 0.0);
        let fabric = deep_tree(16, 4, 200 * GBPS, 500_000);
        let work = json!([{"benchmark": "permutation", "permutation": {"shift": shift % 16},
            "size_bytes": 300_000}]);
        assert_within(&scenario(fabric, work), 0.0);
    }
}

#[test]
fn collectives_where_nothing_blocks_are_within_three_hundredths_of_packets() {
    let regime = json!({"regimes": [{"max_bytes": 8192, "send_overhead_ns": 250.5,
        "recv_overhead_ns": 300}, {"protocol": "rendezvous", "send_overhead_ns": 400,
        "gap_ns": 20}], "message_gap_ns": 5});
    for (benchmark, algorithm, size) in [
        ("allreduce", "ring", 4_000_000),
        ("allreduce", "recursive_doubling", 60_000),
        ("allreduce", "rabenseifner", 1_000_000),
        ("allgather", "ring", 100_000),
        ("alltoall", "pairwise", 50_000),
        ("broadcast", "binomial", 500_000),
        ("barrier", "dissemination", 0),
    ] {
        let work = json!([{"benchmark": benchmark, "algorithm": algorithm, "size_bytes": size,
            "iterations": 2}]);
        let work = if benchmark == "barrier" {
            json!([{"benchmark": "barrier", "iterations": 2}])
        } else {
            work
        };
        let case = scenario(tree(16, 4, 4, 200 * GBPS, 200_000), work);
        let case = with(with(case, "host", regime.clone()), "transport", json!({}));
        let [packets, flows] = both(&case);
        let error = flows.end_ps as f64 / packets.end_ps as f64 - 1.0;
        assert!(error.abs() <= 0.03, "{benchmark} {algorithm}: {error}");
        assert_eq!(packets.ports.xmit_bytes, flows.ports.xmit_bytes, "{benchmark}");
        assert_eq!(packets.hops, flows.hops);
    }
}

#[test]
fn pairs_in_windows_have_the_bandwidth_of_packets() {
    let host = json!({"regimes": [{"send_overhead_ns": 100, "recv_overhead_ns": 120}],
        "message_gap_ns": 5});
    for benchmark in ["latency", "bandwidth", "bidirectional", "message_rate"] {
        for size in [8, 4096, 1_000_000] {
            let work = json!([{"benchmark": benchmark, "size_bytes": size, "iterations": 2}]);
            let case = scenario(tree(8, 4, 4, 200 * GBPS, 500_000), work);
            let case = with(with(case, "host", host.clone()), "transport", json!({}));
            let [packets, flows] = both(&case);
            for (exact, fluid) in packets.rows.duration_ps.iter().zip(&flows.rows.duration_ps) {
                let error = *fluid as f64 / *exact as f64 - 1.0;
                assert!(error.abs() <= 0.03, "{benchmark} {size}: {error}");
            }
        }
    }
}

/// Up-links of a whole leaf are one for a flow that is split: half of the hosts' rate each way.
#[test]
fn ideal_adaptive_routing_uses_every_cable_of_a_leaf() {
    let size = 4096 * 1000;
    let flows = (0..44u64).map(|src| (src, 44 + src, size));
    let mut fabric = tree(88, 44, 18, 100 * GBPS, 50_000);
    fabric["switch_bits_per_s"] = json!(200 * GBPS);
    let case = scenario(fabric, messages(flows));
    let case = with(case, "packets", json!({"headers": "none"}));
    let case = with(case, "routing", json!({"engine": "dmodk", "adaptive": {}}));
    let outcome = complete(&as_flow(&case));
    // 44 hosts at 100 Gb/s over 18 cables at 200: 9/11 of their rate.
    let bound_ps = ser(size, 100 * GBPS) as f64 * 11.0 / 9.0;
    for time_ps in &outcome.rows.duration_ps {
        let ratio = *time_ps as f64 / bound_ps;
        assert!((1.0..1.005).contains(&ratio), "{ratio}");
    }
    assert!(outcome.notes.iter().any(|note| note.contains("adaptive routing is ideal")));
    // What leaves the hosts crosses the leaves' cables, each its part.
    let sent = |prefix: &str, least: u32, most: u32| -> u64 {
        let ports = outcome.ports.port_name.iter().zip(&outcome.ports.xmit_bytes);
        let number = |name: &str| name.split_once('[').unwrap().1.trim_end_matches(']').parse();
        let chosen = ports.filter(|(name, _)| {
            let number: u32 = number(name).unwrap();
            name.starts_with(prefix) && (least..=most).contains(&number)
        });
        chosen.map(|(_, bytes)| bytes).sum()
    };
    let all = 44 * size;
    assert!(sent("leaf-01", 45, 62).abs_diff(all) <= 18);
    let each = sent("leaf-01", 45, 45);
    assert!(each.abs_diff(all / 18) <= 1, "{each}");
}

/// Neighbours of an incast share nothing full with it but buffers: only packets show them held up.
#[test]
fn victims_of_an_incast_are_not_held_up_and_the_outcome_says_that_it_cannot_show_them() {
    let work = json!([{"benchmark": "incast", "size_bytes": 1_000_000, "fan": 12,
        "bystander_bytes": 1_000_000}]);
    let case = scenario(tree(16, 4, 2, 100 * GBPS, 20_000), work);
    let outcome = complete(&as_flow(&case));
    assert_eq!(outcome.fidelity, Fidelity::Flow);
    assert!(outcome.notes[0].contains("no message waits for traffic to other hosts"));
    assert!(outcome.ports.xmit_wait_ps.iter().all(|wait_ps| *wait_ps == 0));
    let packets = complete(&case);
    assert!(packets.notes.is_empty() && packets.fidelity == Fidelity::Packet);
}

#[test]
fn faults_that_hold_from_the_start_hold_for_flows() {
    let (rate, size) = (100 * GBPS, 1_000_000);
    let case = scenario(tree(8, 4, 2, rate, 20_000), messages([(0, 5, size), (1, 6, size)]));
    let faults = [
        json!([{"link": "n001/hca0[1]", "rate_factor": 0.25}]),
        json!([{"link": "leaf-01[5]", "down": true}]),
        json!([{"link": "leaf-01[5]", "lanes": [1, 4]}]),
        json!([{"node": "n006", "slow_factor": 3.0}]),
    ];
    for fault in faults {
        let case = with(case.clone(), "faults", fault);
        let [packets, flows] = both(&case);
        for (exact, fluid) in packets.rows.duration_ps.iter().zip(&flows.rows.duration_ps) {
            let error = *fluid as f64 / *exact as f64 - 1.0;
            assert!(error.abs() <= 0.03, "{error} {}", case["faults"]);
        }
        assert_eq!(packets.ports.xmit_bytes, flows.ports.xmit_bytes);
    }
}

#[test]
fn tenants_share_links_and_nothing_else() {
    let tenant = |name: &str, dst: u64, first: u64| {
        let nodes: Vec<String> = (0..2).map(|k| format!("n{:03}", first + 4 * k)).collect();
        json!({"name": name, "placement": {"nodes": nodes},
            "work": [{"benchmark": "messages",
                "messages": [{"src": 0, "dst": dst, "size_bytes": 5_000_000}]}]})
    };
    let mut case = scenario(tree(8, 4, 1, 100 * GBPS, 20_000), json!([]));
    case.as_object_mut().unwrap().remove("work");
    case["tenants"] = json!([tenant("a", 1, 1), tenant("b", 1, 2)]);
    let [packets, flows] = both(&case);
    let pairs = packets.rows.duration_ps.iter().zip(&flows.rows.duration_ps);
    for (exact, fluid) in pairs {
        assert!((*fluid as f64 / *exact as f64 - 1.0).abs() <= 0.03);
    }
    // One cable for both: each takes twice as long as it would alone.
    let alone_ps = ser(framed(5_000_000, 4096), 100 * GBPS);
    assert!(flows.rows.duration_ps.iter().all(|time_ps| *time_ps >= 2 * alone_ps));
}

/// Random flows, sizes, rates and trees.
fn any_flows() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..400_000), 1..40);
    let rates = || prop::sample::select(vec![25_000_000_000u64, 54_545_000_000, 100_000_000_000]);
    let routing = prop::sample::select(vec![
        json!({"engine": "dmodk"}),
        json!({"engine": "ecmp"}),
        json!({"engine": "updn", "adaptive": {}}),
    ]);
    let rest = (any::<bool>(), 0u32..300, any::<u64>());
    (flows, rates(), rates(), 1u64..5, 1u64..4, routing, rest).prop_map(
        |(flows, host, up, leaf, spines, routing, (agreed, gap_ns, seed))| {
            let flows = flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size));
            let mut fabric = tree(12, leaf, spines, host, 10_000);
            fabric["switch_bits_per_s"] = json!(up);
            let case = with(scenario(fabric, messages(flows)), "routing", routing);
            let protocol = if agreed { "rendezvous" } else { "eager" };
            let host = json!({"regimes": [{"protocol": protocol, "send_overhead_ns": 10}],
                "message_gap_ns": gap_ns});
            let case = with(with(case, "host", host), "transport", json!({}));
            with(case, "seed", json!(seed))
        },
    )
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn bytes_are_conserved_and_the_counters_are_those_of_packets(case in any_flows()) {
        let outcome = complete(&as_flow(&case));
        let again = complete(&as_flow(&case));
        prop_assert_eq!(&outcome, &again);
        let rows = case["work"][0]["messages"].as_array().unwrap();
        let rate = case["fabric"]["host_bits_per_s"].as_u64().unwrap();
        for (row, time_ps) in rows.iter().zip(&outcome.rows.duration_ps) {
            prop_assert!(*time_ps >= ser(row["size_bytes"].as_u64().unwrap(), rate));
        }
        let packets = complete(&case);
        if case["routing"]["adaptive"].is_null() {
            prop_assert_eq!(&packets.ports.xmit_bytes, &outcome.ports.xmit_bytes);
            prop_assert_eq!(&packets.ports.xmit_packets, &outcome.ports.xmit_packets);
        }
        prop_assert_eq!(packets.hops, outcome.hops);
    }
}
