//! What laws of congestion control leave alone, and what they do at other link rates and times than
//! those that they were set for.

use crate::common::*;
use serde_json::{Value, json};

const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const BUFFER: u64 = 65_536;
/// What usual times and rates are given for.
const USUAL: u64 = 200 * GBPS;

fn under(law: Option<&str>, case: Value) -> Value {
    let control = law.map_or(Value::Null, |law| json!({law: {}}));
    with(case, "congestion_control", control)
}

/// Collectives whose ranks change partners, and one whose do not.
fn collectives() -> Value {
    let step = |benchmark: &str, algorithm: &str, size_bytes: u64| {
        let size = json!(size_bytes);
        json!({"benchmark": benchmark, "algorithm": algorithm, "size_bytes": size})
    };
    json!([
        step("allreduce", "recursive_doubling", 65_536),
        step("allreduce", "rabenseifner", 1 << 20),
        step("allreduce", "ring", 1 << 20),
        step("alltoall", "pairwise", 16_384),
        step("allgather", "recursive_doubling", 16_384),
        step("barrier", "dissemination", 0),
    ])
}

#[test]
fn collectives_in_which_nothing_waits_lose_nothing_at_any_rate() {
    for rate in [25 * GBPS, USUAL, 400 * GBPS] {
        for forwarding in ["cut_through", "store_and_forward"] {
            let time = |law: Option<&str>| {
                let case = scenario(tree(32, 8, 8, rate, DELAY), collectives());
                let switch = json!({"delay_ps": ROUTE, "buffer_bytes": BUFFER,
                    "forwarding": forwarding});
                durations(&under(law, with(case, "switch", switch)))
            };
            let without = time(None);
            for law in LAWS {
                for (step, (found, without)) in time(Some(law)).iter().zip(&without).enumerate() {
                    let ratio = *found as f64 / *without as f64;
                    let place = format!("{law}, {forwarding}, {rate} b/s, row {step}");
                    assert!((0.99..=1.01).contains(&ratio), "{place}: {ratio}");
                }
            }
        }
    }
}

#[test]
fn small_messages_of_many_tasks_lose_nothing() {
    let work = json!([
        {"benchmark": "allreduce", "algorithm": "recursive_doubling", "size_bytes": 8},
        {"benchmark": "barrier", "algorithm": "dissemination"},
    ]);
    let time = |law: Option<&str>| {
        let case = scenario(tree(16, 8, 8, 25 * GBPS, 5_000), work.clone());
        let host = json!({"regimes": [{"send_overhead_ns": 300, "recv_overhead_ns": 300}]});
        let case = with(case, "host", host);
        durations(&under(law, with(case, "placement", json!({"tasks_per_node": 16}))))
    };
    let without = time(None);
    for law in LAWS {
        for (found, without) in time(Some(law)).iter().zip(&without) {
            let ratio = *found as f64 / *without as f64;
            assert!((0.99..=1.01).contains(&ratio), "{law}: {ratio}");
        }
    }
}

#[test]
fn what_was_learnt_from_a_crowd_is_forgotten_in_a_second() {
    let work = json!([
        {"benchmark": "gather", "algorithm": "linear", "size_bytes": 1 << 20},
        {"benchmark": "compute", "compute_ns": 1_000_000_000},
        {"benchmark": "allreduce", "algorithm": "rabenseifner", "size_bytes": 262_144},
    ]);
    let last = |law: Option<&str>| {
        let case = scenario(tree(32, 8, 8, USUAL, DELAY), work.clone());
        let switch = json!({"delay_ps": ROUTE, "buffer_bytes": BUFFER});
        *durations(&under(law, with(case, "switch", switch))).last().expect("a row") as f64
    };
    let without = last(None);
    for law in LAWS {
        let ratio = last(Some(law)) / without;
        assert!((0.99..=1.01).contains(&ratio), "{law}: {ratio}");
    }
}

/// 24 of 40 hosts send to one, and seven to others of them later, all from `begin_ps` on; every
/// time is that of a link of 200 Gb/s, `slower` times as long.
fn crowd(law: Option<&str>, begin_ps: u64, slower: u64) -> Value {
    let message = |src: u64, dst: u64, size_bytes: u64, start_ps: u64| {
        json!({"src": src, "dst": dst, "size_bytes": size_bytes,
               "start_ps": begin_ps + start_ps * slower})
    };
    let mut rows: Vec<Value> =
        (8..32).map(|src| message(src, 0, 1 << 20, (src << 18) * 8)).collect();
    rows.extend((1..8u64).map(|src| message(src, 8 + 3 * src, 1 << 20, 200_000_000)));
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let fabric = tree(40, 8, 4, USUAL / slower, DELAY * slower);
    let case = with(scenario(fabric, work), "routing", json!({"engine": "dmodk", "adaptive": {}}));
    let switch = json!({"delay_ps": ROUTE * slower, "buffer_bytes": BUFFER});
    under(law, with(case, "switch", switch))
}

#[test]
fn a_job_takes_as_long_whenever_it_begins() {
    // InfiniBand's timer is cyclic: a multiple of it.
    let later_ps = 5_000 * 9_000_000;
    for law in LAWS {
        let found = durations(&crowd(Some(law), later_ps, 1));
        assert_eq!(found, durations(&crowd(Some(law), 0, 1)), "{law}");
        assert_ne!(found, durations(&crowd(None, 0, 1)), "{law} has nothing to do");
    }
}

#[test]
fn where_all_is_slower_alike_what_no_one_wrote_is_too() {
    for law in LAWS {
        let (fast, slow) = (crowd(Some(law), 0, 1), crowd(Some(law), 0, 8));
        let (fast, slow) = (durations(&fast), durations(&slow));
        let total = |times: &[u64]| times.iter().sum::<u64>() as f64;
        let ratio = total(&slow) / total(&fast);
        assert!((7.9..=8.1).contains(&ratio), "{law}: {ratio}");
    }
}

#[test]
fn one_bad_cable_of_a_host_does_not_set_the_times_of_all() {
    let fault = json!([{"link": "n039/hca0[1]", "rate_factor": 0.01}]);
    for law in LAWS {
        let well = crowd(Some(law), 0, 1);
        let sick = with(well.clone(), "faults", fault.clone());
        assert_eq!(durations(&sick), durations(&well), "{law}");
    }
}
