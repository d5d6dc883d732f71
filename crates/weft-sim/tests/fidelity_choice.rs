//! `"fidelity": "auto"`: what it chooses, why, and how far off it says that flows are.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Fidelity, Outcome, Status};

fn auto(scenario: &Value) -> Outcome {
    let outcome = run(&with(scenario.clone(), "fidelity", json!("auto")));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome
}

fn shift(n: u64, size_bytes: u64, iterations: u64) -> Value {
    let work = json!([{"benchmark": "permutation", "permutation": {"shift": 4},
        "size_bytes": size_bytes, "iterations": iterations}]);
    with(scenario(tree(n, 4, 4, 200 * GBPS, 20_000), work), "transport", json!({}))
}

/// Messages, packets of each, and links: the hops that it says are those that packets make.
#[test]
fn few_packets_are_followed_and_the_hops_it_counts_are_those_they_make() {
    let case = shift(16, 100_000, 3);
    let outcome = auto(&case);
    assert_eq!(outcome.fidelity, Fidelity::Packet);
    assert_eq!(physics(&Outcome { notes: Vec::new(), ..outcome.clone() }), physics(&run(&case)));
    let said = format!("about {:.1e} hops", outcome.hops as f64);
    assert!(outcome.notes[0].contains(&said), "{:?}, not {said}", outcome.notes);
}

#[test]
fn very_many_packets_are_flows_and_the_error_is_reported() {
    let outcome = auto(&shift(16, 1 << 36, 2));
    assert_eq!(outcome.fidelity, Fidelity::Flow);
    assert!(outcome.notes[0].starts_with("fidelity auto: flows, since packets would make about "));
    let error = outcome.notes.last().unwrap();
    // Nothing is shared on a full tree, so flows take the time of packets.
    assert!(
        error.starts_with("fidelity auto: estimated error of flows +0.0 % in all, "),
        "{error}"
    );
}

/// What packets show and flows do not is in the error: turns of inputs, who is held up. Both are
/// run here on the sizes that it says.
#[test]
fn the_error_shows_what_flows_do_not() {
    let of_size = |size: u64| {
        let work = json!([{"benchmark": "incast", "size_bytes": size, "fan": 8,
            "bystander_bytes": size}]);
        let case = with(scenario(tree(16, 4, 2, 100 * GBPS, 20_000), work), "transport", json!({}));
        with(case, "limits", json!({"stall_ns": 1e12}))
    };
    let outcome = auto(&of_size(1 << 36));
    let error = outcome.notes.last().unwrap();
    let number = |before: &str, after: &str| -> f64 {
        let (_, rest) = error.split_once(before).expect("what comes before a number");
        rest.split_once(after).expect("what comes after it").0.parse().expect("a number")
    };
    let small = of_size(1 << (36 - number("2^", ",") as u64));
    let packets = run(&small);
    let flows = run(&with(small, "fidelity", json!("flow")));
    let off = |fluid: u64, exact: u64| 100.0 * (fluid as f64 / exact as f64 - 1.0);
    let rows = flows.rows.duration_ps.iter().zip(&packets.rows.duration_ps);
    let all = rows.map(|(fluid, exact)| off(*fluid, *exact));
    let worst = all.fold(0.0, |worst: f64, now| if now.abs() > worst.abs() { now } else { worst });
    assert!(worst.abs() > 10.0, "{worst}");
    assert!((number("in all, ", " %") - worst).abs() <= 0.05 + 1e-9, "{error}, {worst} here");
    let end = off(flows.end_ps, packets.end_ps);
    assert!((number("of flows ", " %") - end).abs() <= 0.05 + 1e-9, "{error}, {end} here");
}

#[test]
fn where_packets_are_needed_they_are_chosen_whatever_they_cost() {
    let case = with(shift(16, 1 << 20, 1), "switch", json!({"model": "input_fifo"}));
    let outcome = auto(&case);
    assert_eq!(outcome.fidelity, Fidelity::Packet);
    assert!(
        outcome.notes[0].starts_with("fidelity auto: packets, since flows cannot: switch.model: ")
    );
    let faults = json!([{"link": "leaf-01[5]", "lost": 0.01}]);
    let lossy = with(shift(16, 1 << 20, 1), "faults", faults);
    let lossy = with(lossy, "transport", json!({"timeout_exponent": 4}));
    assert!(auto(&lossy).notes[0].contains("faults[0]: there are no packets to lose"));
}

/// Where very many flows share links all over the network, each that begins or ends changes the
/// rates of all: packets are less work then, and are chosen after a trial.
#[test]
fn flows_that_would_be_more_work_than_packets_are_not_chosen() {
    let work = json!([{"benchmark": "alltoall", "algorithm": "linear", "window": 16, "shuffle": 3,
        "size_bytes": 9000, "iterations": 100_000}]);
    let case = scenario(tree(32, 8, 3, 100 * GBPS, 20_000), work);
    let case = with(case, "limits", json!({"max_events": 1000}));
    let outcome = run(&with(case, "fidelity", json!("auto")));
    assert_eq!(outcome.fidelity, Fidelity::Packet);
    assert!(outcome.notes[0].contains("solving their rates takes longer"), "{:?}", outcome.notes);
}
