//! Flows with and without the events that change nothing.

use crate::common::*;
use crate::flow::{as_flow, complete};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};

fn some_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(81);
    ProptestConfig { cases: 600, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

/// Work in which ranks wait for each other in many ways, on hosts that cost nothing or something.
fn any_work() -> impl Strategy<Value = Value> {
    let work = prop::sample::select(vec![
        json!({"benchmark": "allreduce", "algorithm": "ring"}),
        json!({"benchmark": "allreduce", "algorithm": "rabenseifner"}),
        json!({"benchmark": "allreduce", "algorithm": "double_binary_tree",
            "segment_bytes": 9000}),
        json!({"benchmark": "alltoall", "algorithm": "linear", "window": 1}),
        json!({"benchmark": "alltoall", "algorithm": "linear", "window": 3}),
        json!({"benchmark": "alltoall", "algorithm": "linear", "barrier_every_step": true,
            "window": 1}),
        json!({"benchmark": "alltoall", "algorithm": "pairwise"}),
        json!({"benchmark": "alltoall", "algorithm": "bruck"}),
        json!({"benchmark": "allgather", "algorithm": "neighbor_exchange"}),
        json!({"benchmark": "random_ring", "window": 2}),
        json!({"benchmark": "gather", "algorithm": "linear"}),
        json!({"benchmark": "permutation", "permutation": {"random": 3}, "window": 3}),
    ]);
    let rest = (any::<bool>(), any::<bool>(), any::<bool>(), 0u64..200_000, 4u64..15, 0u64..500);
    let routing = prop::sample::select(vec![
        json!({"engine": "dmodk"}),
        json!({"engine": "ecmp"}),
        json!({"engine": "updn", "adaptive": {}}),
    ]);
    (work, rest, routing, prop::sample::select(vec![0.0, 0.0, 30.0])).prop_map(
        |(mut work, (agreed, taper, acknowledge, size, n, delay), routing, cost_ns)| {
            work["size_bytes"] = json!(size);
            work["iterations"] = json!(2);
            let mut fabric = tree(n, 4, if taper { 1 } else { 2 }, 100 * GBPS, delay * 1000);
            fabric["host_bits_per_s"] = json!(54_545_000_000u64);
            let case = with(scenario(fabric, json!([work])), "routing", routing);
            let protocol = if agreed { "rendezvous" } else { "eager" };
            let host = json!({"regimes": [{"max_bytes": 3000}, {"protocol": protocol,
                "send_overhead_ns": cost_ns, "latency_ns": 7, "gap_ns": 2.0 * cost_ns}],
                "message_gap_ns": cost_ns / 4.0});
            let case = with(case, "host", host);
            let case = with(case, "transport", json!({"acknowledge": acknowledge}));
            as_flow(&with(case, "placement", json!({"tasks_per_node": 1 + u64::from(taper)})))
        },
    )
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn what_is_foreseen_and_left_out_changes_only_the_events(case in any_work()) {
        let elided = complete(&case);
        let oracle = complete(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(&elided.rows, &oracle.rows);
        prop_assert!(physics(&elided) == physics(&oracle), "counters and sums");
    }
}
