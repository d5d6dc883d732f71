//! Random scenarios under random congestion control: elided and un-elided runs are the same.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::Status;

fn any_control() -> impl Strategy<Value = Value> {
    let knobs = (0u64..16, 0u64..4, 1u64..5, 1u64..40, 0u64..6, any::<bool>());
    let a10 = knobs.prop_map(|(threshold, rate, increase, timer, interval, by_lane)| {
        json!({"annex_a10": {"threshold": threshold, "full_bytes": 20_000, "marking_rate": rate,
            "increase": increase, "timer_ns": timer * 1000, "cnp_interval_ns": interval * 1000,
            "victim_mask": "all", "slows": if by_lane { "lane" } else { "queue_pair" }}})
    });
    let dcqcn = (1u64..8, 1u64..8, 0.01f64..1.0).prop_map(|(least, more, probability)| {
        json!({"dcqcn": {"least_bytes": least * 2048, "most_bytes": (least + more) * 2048,
            "probability": probability, "cnp_interval_ns": 2000, "increase_timer_ns": 5000}})
    });
    let rtt = (0u64..5, 0u64..5).prop_map(|(target, interval)| {
        json!({"rtt": {"target_ns": target * 500, "probe_interval_ns": interval * 700}})
    });
    let endpoint = (1u64..8, 1u64..50).prop_map(|(queue, hold)| {
        json!({"endpoint": {"queue_bytes": queue * 2048, "hold_ns": hold * 1000,
            "count_ns": 3000}})
    });
    prop_oneof![a10, dcqcn, rtt, endpoint]
}

fn any_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..90_000), 8..40);
    let routing = prop::sample::select(vec![
        json!({"engine": "dmodk"}),
        json!({"engine": "dmodk", "adaptive": {"grade_bytes": 1024}}),
        json!({"engine": "ecmp"}),
    ]);
    let rest = (any::<u64>(), 1u64..4, 0u64..40_000, any::<bool>(), any::<bool>(), 0u64..3);
    (flows, any_control(), routing, rest).prop_map(|(flows, control, routing, rest)| {
        let (seed, lanes, extra, acknowledge, lossy, to_few) = rest;
        let n_hot = if to_few == 0 { 1 } else { 11 };
        let flows = flows.into_iter().map(|(src, dst, size)| {
            let dst = dst % n_hot;
            (src, dst + u64::from(dst >= src), size)
        });
        let case = scenario(tree(12, 4, 2, 100 * GBPS, 20_000), messages(flows));
        let case = with(case, "congestion_control", control);
        let case = with(case, "routing", routing);
        let case = with(case, "lanes", json!({"count": lanes}));
        let switch = json!({"delay_ps": 70_000, "buffer_bytes": 8320 + extra});
        let case = with(case, "switch", switch);
        let acknowledge = acknowledge || lossy;
        let transport = json!({"acknowledge": acknowledge, "ack_every": 4, "timeout_exponent": 6});
        let case = with(case, "transport", transport);
        let lost = if lossy { 0.01 } else { 0.0 };
        let case = if lossy {
            with(case, "faults", json!([{"link": "leaf-01[5]", "lost": lost}]))
        } else {
            case
        };
        with(case, "seed", json!(seed))
    })
}

fn some_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(80);
    ProptestConfig { cases: 120, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn whoever_is_slowed_down_all_comes_and_the_oracle_agrees(case in any_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}
