//! What a step may not say.

use weft_traffic::StepDocument;

fn step(text: &str) -> StepDocument {
    serde_json::from_str(text).expect("a step")
}

fn refusal(text: &str, n_ranks: u32) -> String {
    step(text).check("work[0]", n_ranks).expect_err("a step that cannot be").to_string()
}

/// Each step is refused by four ranks with a text that begins so.
fn all_refused(cases: &[(&str, &str)]) {
    for (text, what) in cases {
        let refused = refusal(text, 4);
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}

#[test]
fn what_a_step_may_not_say_is_refused_with_its_place() {
    all_refused(&[
        (r#"{"benchmark": "latency", "window": 4}"#, "work[0].window: 'window' has no meaning"),
        (r#"{"benchmark": "latency", "ranks": [0, 9]}"#, "work[0].ranks: there is no rank 9"),
        (r#"{"benchmark": "latency", "ranks": [1, 1]}"#, "work[0].ranks: rank 1 is in two pairs"),
        (r#"{"benchmark": "barrier", "iterations": 0}"#, "work[0].iterations: it is 0"),
        (r#"{"benchmark": "bandwidth", "window": 0}"#, "work[0].window: it is 0"),
        (
            r#"{"benchmark": "barrier", "iterations": 4000000000, "warmup": 4000000000}"#,
            "work[0]: 8000000000 iterations, warm-up included",
        ),
        (
            r#"{"benchmark": "bandwidth", "window": 4294967295}"#,
            "work[0].window: 4294967295 messages",
        ),
        (
            r#"{"benchmark": "pairs", "kind": "latency", "iterations": 9000000,
                "rounds": [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]],
                           [[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]]}"#,
            "work[0]: 108000000 rows",
        ),
        (r#"{"benchmark": "pairs", "kind": "latency"}"#, "work[0]: 'rounds' is missing"),
        (r#"{"benchmark": "pairs", "rounds": []}"#, "work[0]: 'kind' is missing"),
        (
            r#"{"benchmark": "pairs", "kind": "latency", "rounds": [[[0, 1]], [[1, 2], [2, 3]]]}"#,
            "work[0].rounds[1]: rank 2 is in two pairs",
        ),
        (
            r#"{"benchmark": "alltoall", "algorithm": "ring"}"#,
            "work[0].algorithm: Ring is no algorithm of alltoall",
        ),
        (r#"{"benchmark": "messages"}"#, "work[0]: 'messages' is missing"),
        (
            r#"{"benchmark": "messages", "messages": [{"src": 2, "dst": 2, "size_bytes": 1}]}"#,
            "work[0].messages[0]: rank 2 sends to itself",
        ),
        (
            r#"{"benchmark": "messages", "messages": [{"src": 0, "dst": 4, "size_bytes": 1}]}"#,
            "work[0].messages[0]: there is no rank 4",
        ),
        (
            r#"{"benchmark": "messages", "iterations": 2, "messages": []}"#,
            "work[0]: messages are sent once",
        ),
    ]);
}

#[test]
fn what_a_collective_may_not_say_is_refused_with_its_place() {
    all_refused(&[
        (r#"{"benchmark": "reduce", "root": 4}"#, "work[0].root: there is no rank 4"),
        (r#"{"benchmark": "allreduce", "root": 0}"#, "work[0].root: 'root' has no meaning"),
        (
            r#"{"benchmark": "alltoall", "algorithm": "bruck", "window": 3}"#,
            "work[0].window: 'window' has no meaning",
        ),
        (
            r#"{"benchmark": "alltoall", "window": 3, "barrier_every_step": true}"#,
            "work[0].window: several partners at a time and a barrier after each",
        ),
        (
            r#"{"benchmark": "allreduce", "segment_bytes": 8}"#,
            "work[0].segment_bytes: 'segment_bytes' has no meaning",
        ),
        (
            r#"{"benchmark": "broadcast", "algorithm": "chain", "size_bytes": 1099511627776,
                "segment_bytes": 1}"#,
            "work[0].segment_bytes: 1099511627776 segments",
        ),
        (
            r#"{"benchmark": "broadcast", "algorithm": "chain", "segment_bytes": 0}"#,
            "work[0].segment_bytes: it is 0",
        ),
        (
            r#"{"benchmark": "gather", "size_bytes": 1099511627776}"#,
            "work[0].size_bytes: blocks of 1099511627776 bytes of 4 ranks in one message",
        ),
        (
            r#"{"benchmark": "alltoall", "algorithm": "hierarchical", "tasks_per_node": 3}"#,
            "work[0].tasks_per_node: 4 ranks are no whole nodes of 3",
        ),
        (
            r#"{"benchmark": "alltoall", "algorithm": "hierarchical", "tasks_per_node": 0}"#,
            "work[0].tasks_per_node: it is 0",
        ),
        (r#"{"benchmark": "alltoallv", "skew": 1.5}"#, "work[0].skew: it is 1.5"),
        (r#"{"benchmark": "alltoall", "skew": 0.5}"#, "work[0].skew: 'skew' has no meaning"),
        (r#"{"benchmark": "compute"}"#, "work[0]: 'compute_ns' is missing"),
        (r#"{"benchmark": "compute", "compute_ns": -1}"#, "work[0].compute_ns: it is -1"),
        (r#"{"benchmark": "barrier", "imbalance": 1}"#, "work[0].imbalance: 'imbalance' has no"),
        (r#"{"benchmark": "permutation"}"#, "work[0]: 'permutation' is missing"),
        (
            r#"{"benchmark": "permutation", "permutation": {"affine": [2, 1]}}"#,
            "work[0].permutation: factor 2 shares a divisor with 4 ranks",
        ),
        (r#"{"benchmark": "incast", "fan": 4}"#, "work[0].fan: 4 ranks besides the root"),
        (r#"{"benchmark": "fan_in", "fan": 0}"#, "work[0].fan: it is 0"),
        (
            r#"{"benchmark": "incast", "bystander_start_ns": 1}"#,
            "work[0].bystander_start_ns: bystanders that send nothing",
        ),
        (
            r#"{"benchmark": "permutation", "permutation": {"shift": 1}, "window": 1000000,
                "iterations": 100}"#,
            "work[0]: 400000000 rows",
        ),
    ]);
}

#[test]
fn what_a_collective_by_two_levels_may_not_say_is_refused_with_its_place() {
    all_refused(&[
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "tasks_per_node": 3}"#,
            "work[0].tasks_per_node: 4 ranks are no whole nodes of 3",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "between": "two_level"}"#,
            "work[0].between: TwoLevel is no algorithm of ranks alone",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "between": "sharp"}"#,
            "work[0].between: Sharp is no algorithm of ranks alone",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "between": "binomial"}"#,
            "work[0].between: Binomial is no algorithm of ranks alone",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "ring", "between": "ring"}"#,
            "work[0].between: 'between' has no meaning",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "segment_bytes": 8}"#,
            "work[0].segment_bytes: 'segment_bytes' has no meaning",
        ),
        (
            r#"{"benchmark": "broadcast", "algorithm": "two_level", "between": "chain",
                "size_bytes": 1099511627776, "segment_bytes": 1, "tasks_per_node": 2}"#,
            "work[0].segment_bytes: 1099511627776 segments",
        ),
        (
            r#"{"benchmark": "broadcast", "algorithm": "two_level", "root": 1}"#,
            "work[0].root: it is 1",
        ),
        (
            r#"{"benchmark": "allreduce", "algorithm": "two_level", "shuffle": 1}"#,
            "work[0].shuffle: leaders know nodes, not an order",
        ),
    ]);
}

#[test]
fn too_few_ranks_for_a_step_are_refused() {
    let alone = refusal(r#"{"benchmark": "message_rate"}"#, 1);
    assert!(alone.starts_with("work[0]: one rank has no partner"), "{alone}");
    let alone = refusal(r#"{"benchmark": "natural_ring"}"#, 1);
    assert!(alone.starts_with("work[0]: one rank has no partner"), "{alone}");
    assert!(refusal(r#"{"benchmark": "barrier"}"#, 0).starts_with("work[0]: there is no rank"));
}
