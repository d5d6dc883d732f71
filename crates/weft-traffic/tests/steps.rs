//! Any step is carried out or refused: no key and no value does more harm than that.

use crate::executor;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use weft_traffic::{Phase, Rows, StepDocument};

const BENCHMARKS: [&str; 26] = [
    "latency",
    "bandwidth",
    "bidirectional",
    "message_rate",
    "barrier",
    "allreduce",
    "alltoall",
    "alltoallv",
    "allgather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "gather",
    "scatter",
    "natural_ring",
    "random_ring",
    "permutation",
    "bisect",
    "incast",
    "fan_in",
    "fan_out",
    "pairs",
    "messages",
    "compute",
    "schedule",
    "nothing",
];
const ALGORITHMS: [&str; 22] = [
    "dissemination",
    "tree",
    "recursive_doubling",
    "recursive_halving",
    "ring",
    "rabenseifner",
    "double_binary_tree",
    "reduce_broadcast",
    "pairwise",
    "linear",
    "bruck",
    "hierarchical",
    "neighbor_exchange",
    "binomial",
    "scatter_allgather",
    "chain",
    "sharp",
    "multicast",
    "nvls",
    "collnet",
    "nvls_tree",
    "magic",
];
const KINDS: [&str; 5] = ["latency", "bandwidth_ab", "bandwidth_ba", "bidirectional", "magic"];

/// Every row of messages is the row of one message, every other row that of some rank.
fn rows_are_filled(phase: &Phase) {
    let moves = |rank| (0..).take_while(move |index| phase.exchange(rank, *index).is_some());
    let ranks = 0..phase.n_ranks();
    let mut rows: Vec<u32> = match phase.rows {
        Rows::Message => ranks
            .flat_map(|rank| moves(rank).filter_map(move |index| phase.message_row(rank, index)))
            .map(|(row, _)| row)
            .collect(),
        _ => ranks.filter_map(|rank| phase.timed_row(rank)).collect(),
    };
    rows.sort_unstable();
    if phase.rows != Rows::Message {
        rows.dedup();
    }
    assert_eq!(rows, (0..phase.n_rows()).collect::<Vec<u32>>(), "{phase:?}");
}

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0..9u32).prop_map(|number| json!(number)),
        1 => prop_oneof![
            Just(json!(u32::MAX)), Just(json!(u64::MAX)), Just(json!(1u64 << 40)),
            Just(json!(-1)), Just(json!(0.5)), Just(json!(1e300)), Just(json!("x")),
        ],
    ]
}

/// A key with a value, of its type for the most part.
fn any_key() -> impl Strategy<Value = (&'static str, Value)> {
    let counts = prop::sample::select(vec![
        "size_bytes",
        "iterations",
        "warmup",
        "window",
        "root",
        "shuffle",
        "segment_bytes",
        "tasks_per_node",
        "skew",
        "compute_ns",
        "imbalance",
        "seed",
        "fan",
        "bystander_bytes",
        "bystander_start_ns",
    ]);
    let pair = prop::array::uniform2(0..9u32);
    let permutation = prop_oneof![
        any_number().prop_map(|shift| json!({"shift": shift})),
        any_number().prop_map(|seed| json!({"random": seed})),
        pair.clone().prop_map(|affine| json!({"affine": affine})),
    ];
    let messages = prop::collection::vec((0..9u32, 0..9u32, any_number()), 0..5).prop_map(|all| {
        let message = |(src, dst, size)| json!({"src": src, "dst": dst, "size_bytes": size});
        Value::Array(all.into_iter().map(message).collect())
    });
    let rounds = prop::collection::vec(prop::collection::vec(pair.clone(), 0..3), 0..3);
    prop_oneof![
        8 => (counts, any_number()),
        4 => prop::sample::select(&ALGORITHMS[..]).prop_map(|name| ("algorithm", json!(name))),
        1 => prop::sample::select(&ALGORITHMS[..]).prop_map(|name| ("fallback", json!(name))),
        1 => any::<bool>().prop_map(|yes| ("barrier_every_step", json!(yes))),
        1 => any::<bool>().prop_map(|yes| ("both_ways", json!(yes))),
        1 => Just(("skew_of", json!("destination"))),
        1 => pair.prop_map(|ranks| ("ranks", json!(ranks))),
        2 => permutation.prop_map(|kind| ("permutation", kind)),
        1 => messages.prop_map(|messages| ("messages", messages)),
        1 => rounds.prop_map(|rounds| ("rounds", json!(rounds))),
        1 => prop::sample::select(&KINDS[..]).prop_map(|kind| ("kind", json!(kind))),
        1 => Just(("text", json!("num_ranks 1"))),
        1 => Just(("unknown", json!(1))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn any_step_is_carried_out_or_refused(
        benchmark in prop::sample::select(&BENCHMARKS[..]),
        keys in prop::collection::vec(any_key(), 0..5),
        n in 1..10u32,
    ) {
        let mut step: Map<String, Value> =
            keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        step.insert("benchmark".to_owned(), json!(benchmark));
        let Ok(step) = serde_json::from_value::<StepDocument>(Value::Object(step)) else {
            return Ok(());
        };
        if let Err(refused) = step.check("work[0]", n) {
            prop_assert!(refused.to_string().starts_with("work[0]"), "{}", refused);
            return Ok(());
        }
        // As long as it does not take for ever.
        if step.window.unwrap_or(1) > 100 || step.size_bytes > 1 << 20 {
            return Ok(());
        }
        for round in 0..step.n_phases() {
            let phase = step.phase("work[0]", 0, round, n).expect("it was checked");
            let mut states = vec![(); n as usize];
            let next = |rank, index| phase.exchange(rank, index);
            executor::run("a step", &mut states, next, |_, _, _| (), |_, _, _, _| ());
            rows_are_filled(&phase);
        }
    }
}
