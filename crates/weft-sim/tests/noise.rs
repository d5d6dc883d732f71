//! Jitter and noise: within their bounds, of the mean they were given, zero where they are zero.

use crate::common::*;
use serde_json::{Value, json};

fn ping_pongs(iterations: u64, host: Value) -> Vec<u64> {
    let work = json!([{"benchmark": "latency", "size_bytes": 8, "iterations": iterations}]);
    durations(&with(scenario(tree(2, 2, 1, 100 * GBPS, 5000), work), "host", host))
}

fn quiet() -> Value {
    json!({"regimes": [{"send_overhead_ns": 100, "recv_overhead_ns": 100}]})
}

#[test]
fn without_noise_every_iteration_is_the_same() {
    let times = ping_pongs(20, quiet());
    assert!(times.iter().all(|time| *time == times[0]));
}

#[test]
fn noise_adds_its_mean_to_each_piece_of_processor_time_it_meets() {
    let base = ping_pongs(1, quiet())[0];
    let n = 4000;
    for probability in [1.0, 0.25] {
        let mut host = quiet();
        host["noise"] = json!({"probability": probability, "mean_ns": 1000});
        let times = ping_pongs(n, host);
        let added: u64 = times.iter().map(|time| time - base).sum();
        // A round trip holds two sends and two receives. The mean of 4000 x 4 exponential times
        // has a standard error of 0.8 % (1.6 % when a quarter is met, times the spread of that).
        let expected = 4.0 * probability * 1_000_000.0;
        let ratio = added as f64 / n as f64 / expected;
        assert!((ratio - 1.0).abs() < 0.1, "probability {probability}: {ratio}");
    }
}

#[test]
fn jitter_delays_no_iteration_by_more_than_its_bound() {
    let base = ping_pongs(1, quiet())[0];
    let mut host = quiet();
    host["start_jitter_ns"] = json!(5000);
    let times = ping_pongs(500, host);
    // The partner may be late by up to the jitter; the timing rank's own delay is not counted.
    assert!(times.iter().all(|time| (base..=base + 5_000_000).contains(time)));
    assert!(times.iter().any(|time| *time > base), "somebody is late");
    assert!(times.contains(&base), "somebody is not");
}

#[test]
fn jitter_is_uniform_up_to_its_bound() {
    let base = ping_pongs(1, quiet())[0];
    let (n, bound_ns) = (4000, 5_000_000);
    let mut host = quiet();
    host["start_jitter_ns"] = json!(bound_ns);
    let added: u64 = ping_pongs(n, host).iter().map(|time| time - base).sum();
    // Two uniform starts U and V: the mean of max(0, V - U) is a sixth of the bound, with a
    // standard error of 2.2 % here; the message's own way is one part in ten thousand of it.
    let ratio = added as f64 / n as f64 / (bound_ns as f64 * 1000.0 / 6.0);
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}

#[test]
fn an_iteration_takes_what_its_slowest_timing_rank_took() {
    let n = 4000;
    let rates = json!([{"benchmark": "message_rate", "size_bytes": 8, "window": 1,
                        "iterations": n}]);
    let case = scenario(tree(4, 4, 1, 100 * GBPS, 5000), rates);
    let base = durations(&with(case.clone(), "host", quiet()))[0];
    let mut host = quiet();
    host["start_jitter_ns"] = json!(5_000_000);
    let added: u64 = durations(&with(case, "host", host)).iter().map(|time| time - base).sum();
    // The larger of two independent max(0, V - U) has the mean 1/3 - 1/20 of the bound; that of the
    // pair that happens to end last would be 1/5.
    let ratio = added as f64 / n as f64 / (5e9 * 17.0 / 60.0);
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
}
