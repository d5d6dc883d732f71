//! Same seed, same run: with and without elided events, on one thread and two.

use crate::common::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use weft_sim::{Status, ValidScenario, simulate_many, simulate_until};

/// These runs are not stopped.
static GO_ON: AtomicBool = AtomicBool::new(false);

/// Scenarios that stress what elision could break: contention, mixed rates, small buffers, both
/// queueings, agreed messages, acknowledgements, latencies and gaps of hosts, jitter and noise.
fn hard_cases() -> Vec<Value> {
    let gbps = GBPS;
    let mut mixed = tree(12, 4, 2, 54_545_000_000, 20_000);
    mixed["switch_bits_per_s"] = json!(97 * gbps);
    let fabrics =
        [tree(12, 4, 2, 100 * gbps, 20_000), mixed, deep_tree(12, 4, 200 * gbps, 500_000)];
    let noisy = json!({"regimes": [{"max_bytes": 1000, "send_overhead_ns": 100,
        "latency_ns": 400, "gap_ns": 170, "gap_ns_per_byte": 0.3}, {"protocol": "rendezvous",
        "send_overhead_ns": 150, "recv_ns_per_byte": 0.01, "latency_ns": 90, "gap_ns": 1500}],
        "message_gap_ns": 5, "start_jitter_ns": 700, "intra_node": {"latency_ns": 200,
        "bits_per_s": 50_000_000_000u64}, "noise": {"probability": 0.1, "mean_ns": 900}});
    let work = json!([
        {"benchmark": "alltoall", "size_bytes": 20_000, "algorithm": "linear", "iterations": 2},
        {"benchmark": "allreduce", "size_bytes": 30_001, "algorithm": "ring"},
        {"benchmark": "message_rate", "size_bytes": 300, "window": 16},
        {"benchmark": "alltoall", "size_bytes": 700, "algorithm": "bruck"}]);
    let mut cases = Vec::new();
    for fabric in fabrics {
        for model in ["voq", "input_fifo", "infinite"] {
            for buffer_bytes in [4160, 9000, 65_536] {
                let case = scenario(fabric.clone(), work.clone());
                let case = with(
                    case,
                    "switch",
                    json!({"model": model, "delay_ps": 90_000,
                                                       "buffer_bytes": buffer_bytes}),
                );
                let case = with(case, "placement", json!({"tasks_per_node": 2}));
                let case = with(case, "transport", json!({"ack_every": 3}));
                cases.push(with(case, "host", noisy.clone()));
            }
        }
    }
    cases
}

#[test]
fn leaving_out_events_changes_only_their_number() {
    for case in hard_cases() {
        let elided = run(&case);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        assert_eq!(elided.status, Status::Complete, "{}", elided.message);
        assert_eq!(physics(&elided), physics(&oracle), "{}", case["switch"]);
        assert!(elided.events < oracle.events);
    }
}

#[test]
fn one_thread_and_two_give_the_same_outcomes() {
    let texts: Vec<String> = hard_cases().iter().take(6).map(Value::to_string).collect();
    let one = simulate_many(&texts, 1, &GO_ON).expect("valid scenarios");
    let two = simulate_many(&texts, 2, &GO_ON).expect("valid scenarios");
    let crowd = simulate_many(&texts, 1_000_000, &GO_ON).expect("no more threads than scenarios");
    assert_eq!(one, crowd);
    assert_eq!(one, two);
}

#[test]
fn the_seed_decides_and_is_the_only_thing_that_does() {
    let case = &hard_cases()[0];
    let hash = |seed: u64| run(&with(case.clone(), "seed", json!(seed))).trace_hash;
    assert_eq!(hash(7), hash(7));
    assert_ne!(hash(7), hash(8));
}

#[test]
fn a_wrong_scenario_among_many_is_named_by_its_number() {
    let good = hard_cases()[0].to_string();
    let refused =
        simulate_many(&[good, "{}".to_owned()], 1, &GO_ON).expect_err("the second is empty");
    assert!(refused.to_string().starts_with("scenarios[1]: scenario: missing field"));
}

fn any_case(models: &'static [&'static str]) -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..60_000), 1..25);
    let rates = prop::sample::select(vec![25_000_000_000u64, 54_545_000_000, 100_000_000_000]);
    (
        flows,
        rates.clone(),
        rates,
        1u64..5,
        1u64..4,
        prop::sample::select(models),
        prop::sample::select(vec!["cut_through", "store_and_forward"]),
        0u64..100_000,
        (any::<u64>(), 0u32..3000, 0u32..3000),
    )
        .prop_map(|(flows, host, up, leaf, spines, model, forwarding, extra, rest)| {
            let (seed, latency_ns, gap_ns) = rest;
            // The destination skips the source: no rank sends to itself.
            let shared = model == "shared_buffer";
            // Thirteen blocks and 65, of which shares of 65 are exactly full.
            let size_of =
                |size: u64| if shared { [790, 4000, 29_000][size as usize % 3] } else { size };
            let flows =
                flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size_of(size)));
            let mut fabric = tree(12, leaf, spines, host, 10_000);
            fabric["switch_bits_per_s"] = json!(up);
            let case = scenario(fabric, messages(flows));
            let mut switch = json!({"model": model, "forwarding": forwarding,
                "delay_ps": 100_000, "buffer_bytes": 4160 + extra});
            if shared {
                let buffer_bytes = (1 + extra % 3) * 65 * 64;
                (switch["buffer_bytes"], switch["output_share"]) =
                    (json!(buffer_bytes), json!(4160.0 / buffer_bytes as f64));
            }
            let case = with(case, "switch", switch);
            // Answers go ahead of data, and may lack their share when data lack credit.
            let answers = json!({"acknowledge": shared, "ack_every": 1});
            let case = with(case, "transport", answers);
            let regimes = json!([{"max_bytes": 9000, "gap_ns": gap_ns, "latency_ns": latency_ns},
                {"latency_ns": latency_ns / 2, "gap_ns_per_byte": 0.1}]);
            let case = with(case, "host", json!({"regimes": regimes}));
            with(case, "seed", json!(seed))
        })
}

/// An answer lacks its share while the data behind it lack credit: what was due for the data is too
/// late for the answer. The least of the random cases below that told so.
#[test]
fn an_answer_that_lacks_its_share_does_not_sleep_until_there_is_credit_for_data() {
    let small = [(10, 0), (10, 9), (9, 6), (6, 8)].map(|(src, dst)| (src, dst, 790));
    let whole = [(7, 0), (0, 9), (9, 4)].map(|(src, dst)| (src, dst, 4000));
    let long = [(6, 9), (4, 0), (10, 8)].map(|(src, dst)| (src, dst, 29_000));
    let flows = [whole[0], whole[1], small[0], small[1], small[2], long[0], long[1], whole[2]];
    let flows = flows.into_iter().chain([long[2], small[3]]);
    let mut fabric = tree(12, 2, 1, 25_000_000_000, 10_000);
    fabric["switch_bits_per_s"] = json!(54_545_000_000u64);
    let switch = json!({"model": "shared_buffer", "output_share": 0.5, "buffer_bytes": 8320,
        "delay_ps": 100_000});
    let case = with(scenario(fabric, messages(flows)), "switch", switch);
    let case = with(case, "transport", json!({"acknowledge": true, "ack_every": 1}));
    let regimes = json!([{"max_bytes": 9000, "gap_ns": 1443}, {"gap_ns_per_byte": 0.1}]);
    let case = with(case, "host", json!({"regimes": regimes}));
    let oracle = run(&with(case.clone(), "elide", json!(false)));
    assert_eq!(physics(&run(&case)), physics(&oracle));
}

proptest! {
    #![proptest_config(cases(60))]

    /// Conservation of credits is asserted inside every complete run; here also of packets and
    /// bytes: what HCAs send, HCAs are sent.
    #[test]
    fn whatever_is_sent_arrives_and_the_oracle_agrees(case in any_case(&["voq", "input_fifo"])) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
        let rows = case["work"][0]["messages"].as_array().unwrap();
        let sizes: Vec<u64> = rows.iter().map(|row| row["size_bytes"].as_u64().unwrap()).collect();
        let wanted: u64 = sizes.iter().map(|size| framed(*size, 4096)).sum();
        let ports = &elided.ports;
        let from_hcas: u64 = ports.port_name.iter().zip(&ports.xmit_bytes)
            .filter(|(name, _)| name.contains("hca")).map(|(_, bytes)| bytes).sum();
        prop_assert_eq!(from_hcas, wanted);
        // No message is faster than its own bits on its host link.
        let rate = case["fabric"]["host_bits_per_s"].as_u64().unwrap();
        for (size, duration) in sizes.iter().zip(&elided.rows.duration_ps) {
            prop_assert!(*duration > ser(*size, rate));
        }
    }
}

#[test]
fn a_run_that_is_reported_to_stop_says_so_and_keeps_what_was_timed() {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 100_000, "iterations": 50}]);
    let case = scenario(tree(16, 4, 4, 200 * GBPS, 500_000), work);
    let whole = run(&case);
    assert_eq!(whole.status, Status::Complete);
    let valid = ValidScenario::parse(&case.to_string()).expect("a valid scenario");
    let stop = AtomicBool::new(true);
    let stopped = simulate_until(&valid, &stop);
    assert_eq!(stopped.status, Status::Stopped);
    assert!(stopped.events < whole.events);
    assert!(stopped.rows.duration_ps.len() < whole.rows.duration_ps.len());
}

proptest! {
    #![proptest_config(cases(1000))]

    /// What starves for a share is woken when that is there, whatever else is due.
    #[test]
    fn full_shares_are_distinguished_from_credit(case in any_case(&["shared_buffer"])) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}
