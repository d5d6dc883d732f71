//! Faults that come and go: what they cost, to the picosecond, and what they may not change.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use weft_sim::{Outcome, Status, simulate_many};

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;
const MTU: u64 = 4096;

/// Two nodes on one switch, without headers: a message is its packets.
fn pair(sizes: impl IntoIterator<Item = (u64, u64, u64)>) -> Value {
    let case = scenario(tree(2, 2, 1, RATE, DELAY), messages(sizes));
    let case = with(case, "packets", json!({"headers": "none", "mtu_bytes": MTU}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 20}))
}

fn faulty(case: &Value, faults: Value) -> Outcome {
    let case = with(case.clone(), "faults", faults);
    let elided = run(&case);
    assert_eq!(physics(&elided), physics(&run(&with(case, "elide", json!(false)))));
    elided
}

fn complete(outcome: &Outcome) -> &[u64] {
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    &outcome.rows.duration_ps
}

fn at(outcome: &Outcome, port: &str) -> usize {
    let place = outcome.ports.port_name.iter().position(|name| name == port);
    place.expect("a cabled port")
}

/// When the last of `n` packets has left a link whose rate is `rate(time)` at the time it begins.
fn walk(n: u64, rate: impl Fn(u64) -> u64) -> u64 {
    (0..n).fold(0, |time_ps, _| time_ps + ser(MTU, rate(time_ps)))
}

#[test]
fn a_rate_holds_from_the_first_packet_after_it_changes_until_it_changes_back() {
    let n = 1000;
    let (from_ps, until_ps) = (50_123_000, 199_999_000);
    let slow = |time_ps: u64| {
        // A packet that begins at the very moment still goes at the old rate.
        if time_ps > from_ps && time_ps <= until_ps { RATE / 4 } else { RATE }
    };
    let fault = |kind: &str, value: Value| {
        json!([{"link": "n001/hca0[1]", kind: value, "from_ns": from_ps as f64 / 1000.0,
                "until_ns": until_ps as f64 / 1000.0}])
    };
    let case = pair([(0, 1, n * MTU)]);
    let slowed = faulty(&case, fault("rate_factor", json!(0.25)));
    // What comes slowly is stored in the switch: from then on it is a packet behind.
    let behind_ps = ser(MTU, RATE);
    assert_eq!(complete(&slowed), [walk(n, slow) + 2 * DELAY + ROUTE + behind_ps]);
    let narrow = faulty(&case, fault("lanes", json!([1, 4])));
    assert_eq!(physics(&narrow), physics(&slowed));
    // Both ends trained twice: down to a lane and back.
    for port in ["n001/hca0[1]", "leaf-01[1]"] {
        assert_eq!(slowed.ports.link_error_recovery_counter[at(&slowed, port)], 2);
    }
    assert_eq!(slowed.ports.link_error_recovery_counter[at(&slowed, "n002/hca0[1]")], 0);
}

#[test]
fn a_fault_that_comes_again_costs_every_time() {
    let n = 1000;
    let (from_ps, until_ps, every_ps) = (10_000_000u64, 30_000_000, 70_000_000);
    let slow = |time_ps: u64| {
        let phase_ps = (time_ps.max(from_ps) - from_ps) % every_ps;
        let begins = time_ps > from_ps && phase_ps > 0;
        if begins && phase_ps <= until_ps - from_ps { RATE / 2 } else { RATE }
    };
    let fault = json!([{"link": "leaf-01[1]", "rate_factor": 0.5, "from_ns": 10_000,
                        "until_ns": 30_000, "every_ns": 70_000}]);
    let outcome = faulty(&pair([(0, 1, n * MTU)]), fault);
    let behind_ps = ser(MTU, RATE);
    assert_eq!(complete(&outcome), [walk(n, slow) + 2 * DELAY + ROUTE + behind_ps]);
}

#[test]
fn a_fault_without_an_end_is_a_fault_from_the_start_for_what_comes_later() {
    let mut case = pair([(0, 1, 50 * MTU)]);
    case["work"][0]["messages"][0]["start_ps"] = json!(5_000_000);
    let from_start = faulty(&case, json!([{"link": "leaf-01[1]", "rate_factor": 0.5}]));
    let late = json!([{"link": "leaf-01[1]", "rate_factor": 0.5, "from_ns": 4000}]);
    assert_eq!(faulty(&case, late).rows, from_start.rows);
    let at_once = json!([{"link": "leaf-01[1]", "rate_factor": 0.5, "from_ns": 0}]);
    assert_eq!(physics(&faulty(&case, at_once)), physics(&from_start));
}

#[test]
fn every_corrected_error_keeps_the_link_busy_and_delays_its_packet() {
    let (n, cost_ns) = (500u64, 150);
    let case = pair([(0, 1, n * MTU)]);
    let faults = |probability: f64| {
        json!([{"link": "n001/hca0[1]",
                "corrected": {"probability": probability, "cost_ns": cost_ns}}])
    };
    let clean_ps = ser(n * MTU, RATE) + 2 * DELAY + ROUTE;
    assert_eq!(complete(&faulty(&case, faults(0.0))), [clean_ps]);
    let always = faulty(&case, faults(1.0));
    assert_eq!(complete(&always), [clean_ps + n * cost_ns * 1000]);
    let counter =
        |outcome: &Outcome, port: &str| outcome.ports.symbol_error_counter[at(outcome, port)];
    // The receiving end counts.
    assert_eq!(counter(&always, "leaf-01[1]"), n);
    assert_eq!(counter(&always, "n001/hca0[1]"), 0);
    let sometimes = faulty(&case, faults(0.3));
    let errors = counter(&sometimes, "leaf-01[1]");
    assert_eq!(complete(&sometimes), [clean_ps + errors * cost_ns * 1000]);
    // Five standard errors of a binomial count.
    let (mean, spread) = (0.3 * n as f64, (0.3 * 0.7 * n as f64).sqrt());
    assert!((errors as f64 - mean).abs() < 5.0 * spread, "{errors}");
    let other = faulty(&with(case, "seed", json!(2)), faults(0.3));
    assert_ne!(counter(&other, "leaf-01[1]"), errors);
}

#[test]
fn an_hca_whose_cable_is_down_waits_for_it() {
    let mut case = pair([(0, 1, 20 * MTU)]);
    case["work"][0]["messages"][0]["start_ps"] = json!(7_000_000);
    case["transport"] = json!({});
    let down = json!([{"link": "leaf-01[1]", "down": true, "from_ns": 5000, "until_ns": 9000}]);
    let outcome = faulty(&case, down);
    let waited_ps = 9_000_000 - 7_000_000;
    assert_eq!(complete(&outcome), [waited_ps + ser(20 * MTU, RATE) + 2 * DELAY + ROUTE]);
    for port in ["n001/hca0[1]", "leaf-01[1]"] {
        assert_eq!(outcome.ports.link_downed_counter[at(&outcome, port)], 1);
    }
    assert_eq!(outcome.ports.xmit_wait_ps[at(&outcome, "n001/hca0[1]")], 0, "no link, no wait");
}

#[test]
fn lost_packets_are_counted_where_they_should_have_come_and_are_sent_again() {
    let n = 2000;
    let case = with(pair([(0, 1, n * MTU)]), "transport", json!({"timeout_exponent": 4}));
    let outcome = faulty(&case, json!([{"link": "n002/hca0[1]", "lost": 0.02}]));
    complete(&outcome);
    let ports = &outcome.ports;
    let (leaf, hca) = (at(&outcome, "leaf-01[2]"), at(&outcome, "n002/hca0[1]"));
    let (sent, lost) = (ports.port_xmit_pkts[leaf], ports.port_rcv_errors[hca]);
    assert_eq!(ports.port_rcv_pkts[hca], sent - lost);
    assert!(sent > n, "some are sent again");
    // Five standard errors of a binomial count.
    let (mean, spread) = (0.02 * sent as f64, (0.02 * 0.98 * sent as f64).sqrt());
    assert!((lost as f64 - mean).abs() < 5.0 * spread, "{lost} of {sent}");
}

#[test]
fn times_that_cannot_be_are_refused_with_their_place() {
    let case = pair([(0, 1, 8)]);
    let link = |key: &str, value: Value, more: Value| {
        let mut fault = json!({"link": "leaf-01[1]", key: value});
        fault.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        fault
    };
    let cases = [
        (link("down", json!(true), json!({"from_ns": -1})), "faults[0].from_ns: -1 is no such"),
        (
            link("down", json!(true), json!({"from_ns": 5, "until_ns": 5})),
            "faults[0].until_ns: it is over before it begins",
        ),
        (
            link("down", json!(true), json!({"every_ns": 5})),
            "faults[0].every_ns: it never ends, so it cannot come again",
        ),
        (
            link("down", json!(true), json!({"from_ns": 1, "until_ns": 3, "every_ns": 2})),
            "faults[0].every_ns: it comes again before it is over",
        ),
        (link("lost", json!(1.1), json!({})), "faults[0].lost: the probability is 1.1"),
        (
            link("corrected", json!({"probability": -0.1, "cost_ns": 1}), json!({})),
            "faults[0].corrected.probability: the probability is -0.1",
        ),
        (
            link("corrected", json!({"probability": 0.1, "cost_ns": -1}), json!({})),
            "faults[0].corrected.cost_ns: -1 is no such time",
        ),
        (
            link("rate_factor", json!(1e-6), json!({"from_ns": 1})),
            "n001/hca0[1]: 100000 bits a second",
        ),
    ];
    for (fault, what) in cases {
        let refused = refusal(&with(case.clone(), "faults", json!([fault])));
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

/// A fault of a cable of the tree below, whatever kind and time.
fn any_fault() -> impl Strategy<Value = Value> {
    let links = vec!["n001/hca0[1]", "n005/hca0[1]", "leaf-01[5]", "leaf-02[6]", "spine-02[1]"];
    let kinds = vec![
        json!({"rate_factor": 0.37}),
        json!({"lanes": [1, 4]}),
        json!({"corrected": {"probability": 0.2, "cost_ns": 700}}),
        json!({"lost": 0.03}),
        json!({"down": true}),
    ];
    let times = (0u64..30_000, 1u64..20_000, prop::option::of(1u64..20_000), 0u8..4);
    (prop::sample::select(links), prop::sample::select(kinds), times).prop_map(
        |(link, mut fault, (from_ns, length_ns, pause_ns, how))| {
            fault["link"] = json!(link);
            // A cable that is dead for ever is another matter.
            if how > 0 || fault.get("down").is_some() {
                fault["from_ns"] = json!(from_ns);
                fault["until_ns"] = json!(from_ns + length_ns);
                if let Some(pause_ns) = pause_ns.filter(|_| how > 1) {
                    fault["every_ns"] = json!(length_ns + pause_ns);
                }
            }
            fault
        },
    )
}

fn any_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..8, 0u64..7, 0u64..60_000, 0u64..40_000_000), 1..20);
    (
        flows,
        prop::collection::vec(any_fault(), 1..5),
        prop::sample::select(vec!["voq", "input_fifo", "shared_buffer"]),
        prop::sample::select(vec!["subnet_manager", "switch"]),
        (any::<u64>(), prop::option::of(1.0f64..2.0), 1u8..3),
    )
        .prop_map(|(flows, faults, model, reaction, (seed, speedup, n_lanes))| {
            let rows: Vec<Value> = flows
                .into_iter()
                .map(|(src, dst, size_bytes, start_ps)| {
                    json!({"src": src, "dst": dst + u64::from(dst >= src),
                           "size_bytes": size_bytes, "start_ps": start_ps})
                })
                .collect();
            let work = json!([{"benchmark": "messages", "messages": rows}]);
            let case = scenario(tree(8, 4, 2, 54_545_000_000, DELAY), work);
            let mut switch = json!({"model": model, "delay_ps": ROUTE, "buffer_bytes": 9000});
            if model == "shared_buffer" {
                switch["output_share"] = json!(0.6);
            }
            if let Some(speedup) = speedup {
                switch["speedup"] = json!(speedup);
            }
            let case = with(case, "switch", switch);
            let case = with(case, "lanes", json!({"count": n_lanes}));
            let death = json!({"reaction": reaction, "delay_ns": 3000});
            let case = with(case, "routing", json!({"engine": "dmodk", "link_death": death}));
            let case = with(case, "probes", json!({"load_bin_ns": 100, "load_ports": 1000}));
            let case = with(case, "transport", json!({"timeout_exponent": 4, "retries": 3}));
            with(with(case, "faults", json!(faults)), "seed", json!(seed))
        })
}

/// Two outcomes are the same but for their events.
fn same(left: &Outcome, right: &Outcome) -> Result<(), TestCaseError> {
    prop_assert_eq!((left.status, &left.message), (right.status, &right.message));
    prop_assert_eq!(&left.rows, &right.rows);
    prop_assert_eq!(&left.ports, &right.ports);
    prop_assert!(left.load == right.load, "the load differs");
    prop_assert_eq!((left.hops, left.trace_hash), (right.hops, right.trace_hash));
    prop_assert_eq!(left.end_ps, right.end_ps);
    Ok(())
}

fn few_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(61);
    ProptestConfig { cases: 80, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]

    /// Whatever breaks when: the oracle agrees, and what is sent either comes or is counted as
    /// lost; what a probe saw sums to the counters. (That credits are whole is asserted inside.)
    #[test]
    fn nothing_vanishes_uncounted(case in any_case()) {
        let elided = run(&case);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        same(&elided, &oracle)?;
        let ports = &elided.ports;
        let sum = |column: &[u64]| column.iter().sum::<u64>();
        let (sent, came) = (sum(&ports.port_xmit_pkts), sum(&ports.port_rcv_pkts));
        prop_assert_eq!(sent, came + sum(&ports.port_rcv_errors));
        let n_bins = elided.load.n_bins as usize;
        prop_assert_eq!(elided.load.port_name.len(), ports.port_name.len());
        for (number, bytes) in ports.xmit_bytes.iter().enumerate() {
            let bins = &elided.load.xmit_bytes[number * n_bins..(number + 1) * n_bins];
            prop_assert_eq!(sum(bins), *bytes);
        }
        let quiet = run(&with(case, "probes", json!({})));
        prop_assert_eq!(quiet.rows, elided.rows);
        prop_assert_eq!(quiet.ports, elided.ports);
        prop_assert_eq!(quiet.trace_hash, elided.trace_hash);
    }
}

#[test]
fn cables_in_trouble_are_the_same_on_one_thread_and_two() {
    let faults = json!([
        {"link": "leaf-01[1]", "lost": 0.01},
        {"link": "leaf-01[2]", "corrected": {"probability": 0.1, "cost_ns": 40}},
        {"link": "leaf-01[1]", "down": true, "from_ns": 9000, "until_ns": 9500, "every_ns": 20_000},
    ]);
    let case = with(pair([(0, 1, 300 * MTU), (1, 0, 200 * MTU)]), "faults", faults);
    let case = with(case, "transport", json!({"timeout_exponent": 4}));
    let seeded = |seed: u64| with(case.clone(), "seed", json!(seed)).to_string();
    let texts: Vec<String> = (0..6).map(seeded).collect();
    let many = |threads| simulate_many(&texts, threads, &AtomicBool::new(false)).expect("valid");
    let (one, two) = (many(1), many(2));
    assert_eq!(one, two);
    assert_ne!(one[0].trace_hash, one[1].trace_hash, "the seed decides");
}
