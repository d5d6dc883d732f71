//! What repeats itself may be skipped: the rows are those of the whole run, within what is said.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const MTU: u64 = 4096;
/// Ranks of the rings.
const N: u64 = 48;
/// Packets of a block: more than eight times the 32 that are tried first.
const PACKETS: u64 = 272;
const TOLERANCE: f64 = 0.03;

fn skipping(case: &Value) -> Value {
    with(case.clone(), "steady_state", json!({"tolerance": TOLERANCE, "least_moves": 32}))
}

/// A step, its messages agreed on first, on buffers that keep the cables busy.
fn small(fabric: Value, step: Value) -> Value {
    let case = with(scenario(fabric, json!([step])), "transport", json!({}));
    let case = with(case, "host", json!({"regimes": [{"protocol": "rendezvous"}]}));
    with(case, "switch", json!({"delay_ps": 200_000, "buffer_bytes": 65_536}))
}

fn ring(shuffle: Option<u64>) -> Value {
    json!({"benchmark": "allreduce", "algorithm": "ring", "size_bytes": N * PACKETS * MTU,
           "shuffle": shuffle})
}

fn plain_tree() -> Value {
    tree(N, 12, 12, 200 * GBPS, 500_000)
}

/// Leaves of 11 hosts below 9 cables of the same rate.
fn tapered_tree() -> Value {
    tree(N, 11, 9, 200 * GBPS, 500_000)
}

/// The largest error of a row, as a share of it.
fn error(fast: &Outcome, whole: &Outcome) -> f64 {
    assert_eq!(fast.status, Status::Complete, "{}", fast.message);
    assert_eq!(fast.rows.duration_ps.len(), whole.rows.duration_ps.len());
    let pairs = fast.rows.duration_ps.iter().zip(&whole.rows.duration_ps);
    let off = |(fast, whole): (&u64, &u64)| (*fast as f64 / *whole as f64 - 1.0).abs();
    pairs.map(off).fold(0.0, f64::max)
}

/// Without contention all moves are alike.
#[test]
fn a_ring_in_order_is_a_line() {
    for operation in ["allreduce", "allgather", "reduce_scatter"] {
        let mut step = json!({"benchmark": operation, "algorithm": "ring",
            "size_bytes": N * PACKETS * MTU});
        if operation == "allgather" {
            step["size_bytes"] = json!(PACKETS * MTU);
        }
        let mut case = small(plain_tree(), step);
        // No rank has to be asked first, so none runs ahead of another.
        case["host"] = json!({"regimes": [{}]});
        let (whole, fast) = (run(&case), run(&skipping(&case)));
        assert!(error(&fast, &whole) < 1e-3, "{operation}: {}", error(&fast, &whole));
        assert_eq!(fast.steady.whole_because, [""]);
        let moves = if operation == "allreduce" { 2 * (N - 1) } else { N - 1 };
        assert!(fast.steady.moves[0] < moves, "{operation}: {:?}", fast.steady);
        assert!(fast.hops < whole.hops && fast.end_ps.abs_diff(whole.end_ps) < whole.end_ps / 1000);
    }
}

/// Whatever holds up whom: the error is within what the outcome estimates, or the tolerance.
#[test]
fn the_error_is_what_the_outcome_says() {
    let slow_node = json!([{"node": "n007", "slow_factor": 3.0}]);
    let slow_cable = json!([{"link": "leaf-01[13]", "rate_factor": 0.25}]);
    let adaptive = json!({"engine": "dmodk", "adaptive": {"grade_bytes": 8192}});
    let contended = small(plain_tree(), ring(Some(1)));
    let cases = [
        ("in order", small(plain_tree(), ring(None))),
        ("shuffled", contended.clone()),
        ("tapered", small(tapered_tree(), ring(Some(1)))),
        ("adaptive", with(contended.clone(), "routing", adaptive)),
        ("slow node", with(small(plain_tree(), ring(None)), "faults", slow_node)),
        ("slow cable", with(contended, "faults", slow_cable)),
    ];
    for (name, case) in cases {
        let (whole, fast) = (run(&case), run(&skipping(&case)));
        let (error, said) = (error(&fast, &whole), fast.steady.error[0]);
        println!("{name}: {error:.4}, said {said:.4}, share {:.3}", fast.steady.share[0]);
        assert!(error <= said.max(1e-3), "{name}: {error} but {said} is said");
        assert_eq!(fast.steady.whole_because, [""], "{name}");
        assert_eq!(whole.steady.share, [0.0; 0]);
    }
}

/// Sizes alone: windows, both ways, rings of neighbours, trees and chains of segments.
#[test]
fn times_are_lines_in_the_size() {
    let size_bytes = 3000 * MTU + 777;
    let steps = [
        json!({"benchmark": "bandwidth", "window": 8, "size_bytes": size_bytes}),
        json!({"benchmark": "bidirectional", "window": 8, "size_bytes": size_bytes}),
        json!({"benchmark": "latency", "size_bytes": size_bytes, "iterations": 3, "warmup": 2}),
        json!({"benchmark": "message_rate", "window": 2, "size_bytes": size_bytes / 8}),
        json!({"benchmark": "natural_ring", "window": 2, "size_bytes": size_bytes / 8}),
        json!({"benchmark": "pairs", "kind": "bandwidth_ab", "window": 4,
               "rounds": [[[0, 1], [2, 13]], [[0, 30]]], "size_bytes": size_bytes}),
        json!({"benchmark": "broadcast", "algorithm": "chain", "size_bytes": 2 * size_bytes,
               "segment_bytes": 8192}),
        json!({"benchmark": "allreduce", "algorithm": "double_binary_tree",
               "size_bytes": 4 * size_bytes, "segment_bytes": 8192}),
        json!({"benchmark": "allreduce", "algorithm": "recursive_doubling",
               "size_bytes": size_bytes / 8}),
    ];
    for step in steps {
        let case = small(plain_tree(), step.clone());
        let (whole, fast) = (run(&case), run(&skipping(&case)));
        let error = error(&fast, &whole);
        println!("{step}: {error:.5} {:?}", fast.steady);
        assert!(error <= fast.steady.error[0].max(5e-4), "{step}: {error}");
        assert!(fast.steady.whole_because.iter().all(String::is_empty), "{step}");
        assert_eq!(fast.rows.iteration, whole.rows.iteration);
        assert_eq!((&fast.rows.pair, &fast.rows.round), (&whole.rows.pair, &whole.rows.round));
    }
}

/// Iterations follow one another in the time that rows tell, and so does the next step.
#[test]
fn what_was_skipped_has_passed_in_the_time_that_rows_tell() {
    let mut first = ring(None);
    (first["iterations"], first["warmup"]) = (json!(3), json!(2));
    let mut case = small(plain_tree(), first);
    case["work"].as_array_mut().unwrap().push(json!({"benchmark": "barrier", "iterations": 2}));
    let outcome = run(&skipping(&case));
    let rows = &outcome.rows;
    assert_eq!(rows.step, [0, 0, 0, 1, 1]);
    assert_eq!(rows.iteration, [0, 1, 2, 0, 1]);
    let period = rows.start_ps[1] - rows.start_ps[0];
    assert!(period >= rows.duration_ps[0]);
    let start = |k: u64| k * period;
    assert_eq!(rows.start_ps[..4], [start(2), start(3), start(4), start(5)]);
    assert_eq!(outcome.end_ps, outcome.tenants.end_ps[0]);
    assert!(outcome.end_ps > start(5) && outcome.end_ps < start(6));
    assert_eq!(outcome.steady.step, [0, 1]);
    assert_eq!(outcome.steady.whole_because[1], "it carries nothing");
    let [cut, whole] = outcome.notes.as_slice() else { panic!("{:?}", outcome.notes) };
    assert!(cut.starts_with("steady state: 1 of 2 phases are extrapolated, from "), "{cut}");
    assert_eq!(whole, "steady state: 1 of 2 phases are simulated whole: it carries nothing");
    // Five iterations are as many times the bytes of one.
    let mut one = case.clone();
    (one["work"][0]["iterations"], one["work"][0]["warmup"]) = (json!(1), json!(0));
    let one = run(&skipping(&one));
    assert!((one.steady.share[0] - 5.0 * outcome.steady.share[0]).abs() < 1e-9);
}

/// What depends on more than the work before it runs as without the key, and the reason is told.
#[test]
fn what_is_not_steady_runs_whole_and_says_why() {
    let case = small(plain_tree(), ring(None));
    let short = json!({"benchmark": "allgather", "algorithm": "ring", "size_bytes": 9 * MTU});
    let mut noisy = case["host"].clone();
    noisy["noise"] = json!({"probability": 0.1, "mean_ns": 900});
    let mut late = case["host"].clone();
    late["start_jitter_ns"] = json!(500);
    let flap = json!([{"link": "leaf-01[13]", "rate_factor": 0.5, "from_ns": 100}]);
    let lossy = json!([{"link": "leaf-01[13]", "lost": 0.0001}]);
    let one = |step: Value| small(tree(8, 4, 4, 100 * GBPS, 5000), step);
    let small_ring = json!({"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 40_000});
    let noise = with(one(small_ring.clone()), "host", noisy);
    let jitter = with(one(small_ring.clone()), "host", late);
    let faulty = |list| {
        let mut case = one(small_ring.clone());
        case["faults"] = list;
        case["faults"][0]["link"] = json!("leaf-01[5]");
        case
    };
    let mut tenants = one(small_ring.clone());
    let work = tenants.as_object_mut().unwrap().remove("work").unwrap();
    let tenant = |name: &str, nodes: [&str; 3]| {
        let placement = json!({"nodes": nodes});
        json!({"name": name, "work": work, "placement": placement})
    };
    tenants["tenants"] =
        json!([tenant("a", ["n001", "n002", "n003"]), tenant("b", ["n004", "n005", "n006"])]);
    let flows = with(one(small_ring.clone()), "probes", json!({"flows": 3}));
    let listed = one(json!({"benchmark": "permutation", "permutation": {"shift": 1},
        "size_bytes": 400}));
    let uneven = one(json!({"benchmark": "alltoallv", "skew": 0.5, "size_bytes": 500}));
    let control = with(one(small_ring.clone()), "congestion_control", json!({"dcqcn": {}}));
    let dct = with(one(small_ring.clone()), "transport", json!({"kind": "dct"}));
    let sharp = one(json!({"benchmark": "allreduce", "algorithm": "sharp", "size_bytes": 9000}));
    let sharp = with(sharp, "in_network", json!({"reduction_ns": 100, "payload_bytes": 256}));
    let cases = [
        (sharp, "switches carry it out"),
        (control, "congestion control remembers what came before"),
        (dct, "initiators stay connected from one message to the next"),
        (noise, "chance lengthens what processors do"),
        (jitter, "chance lengthens what processors do"),
        (faulty(flap), "cables change, or lose or correct packets"),
        (faulty(lossy), "cables change, or lose or correct packets"),
        (tenants, "several tenants share the fabric"),
        (flows, "load or flows are written"),
        (listed, "its messages have rows of their own"),
        (uneven, "its blocks have sizes of their own"),
        (small(plain_tree(), short), "it is too short for anything to repeat itself"),
    ];
    for (case, why) in cases {
        let (whole, asked) = (run(&case), run(&skipping(&case)));
        assert!(asked.steady.whole_because.iter().all(|told| told == why), "{:?}", asked.steady);
        assert!(!asked.steady.whole_because.is_empty());
        assert!(asked.notes.last().expect("a note").ends_with(why), "{:?}", asked.notes);
        let (steady, notes) = (whole.steady.clone(), whole.notes.clone());
        assert_eq!(Outcome { steady, notes, ..asked }, whole, "{why}");
    }
}

/// What is tried and found on no line is simulated after all, every iteration for itself.
#[test]
fn what_is_on_no_line_is_simulated_after_all() {
    let mut step = ring(Some(1));
    (step["iterations"], step["warmup"]) = (json!(3), json!(1));
    let work = json!([step, {"benchmark": "barrier"}]);
    let mut case = small(plain_tree(), ring(None));
    case["work"] = work;
    let asked = with(case.clone(), "steady_state", json!({"tolerance": 1e-9, "least_moves": 32}));
    let (whole, asked) = (run(&case), run(&asked));
    assert_eq!(asked.rows, whole.rows);
    assert_eq!((asked.end_ps, &asked.tenants), (whole.end_ps, &whole.tenants));
    assert_eq!(asked.steady.whole_because[0], "its moves differ, and so do its sizes");
    assert_eq!(asked.steady.error[0], 0.0);
    assert!(asked.steady.share[0] > 1.0 && asked.hops > whole.hops);
}

/// A size below which a message is of another kind is not what the large one's time follows from.
#[test]
fn only_sizes_of_one_regime_are_on_a_line() {
    let mut case = small(plain_tree(), ring(None));
    let below = (PACKETS - 1) * MTU;
    case["host"] = json!({"regimes": [{"max_bytes": below}, {"protocol": "rendezvous"}]});
    let outcome = run(&skipping(&case));
    assert_eq!(outcome.steady.size_bytes, [N * PACKETS * MTU], "moves alone are skipped");
    case["host"]["regimes"][0]["max_bytes"] = json!(20 * MTU);
    assert!(run(&skipping(&case)).steady.size_bytes[0] < N * PACKETS * MTU);
}

/// The oracle sees the same events in the same order, and so finds the same pace.
#[test]
fn leaving_out_events_changes_nothing_of_what_is_skipped() {
    let adaptive = json!({"engine": "dmodk", "adaptive": {"grade_bytes": 8192}});
    let contended = small(tapered_tree(), ring(Some(3)));
    for case in [with(contended.clone(), "routing", adaptive), contended] {
        let elided = run(&skipping(&case));
        let oracle = run(&with(skipping(&case), "elide", json!(false)));
        assert_eq!(physics(&elided), physics(&oracle));
    }
}

#[test]
fn flows_are_skipped_as_packets_are() {
    let case = with(small(plain_tree(), ring(Some(1))), "fidelity", json!("flow"));
    let (whole, fast) = (run(&case), run(&skipping(&case)));
    assert!(error(&fast, &whole) <= fast.steady.error[0].max(TOLERANCE));
    assert!(2 * fast.events < whole.events);
    let step = json!({"benchmark": "alltoall", "algorithm": "linear", "size_bytes": 1 << 30});
    let fast = run(&skipping(&with(small(plain_tree(), step), "fidelity", json!("flow"))));
    assert_eq!(fast.steady.whole_because, ["flows take as long to simulate at any size"]);
}
