//! Collectives of switches at random beside other traffic: all ends, and the un-elided oracle
//! agrees.

use crate::common::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use weft_sim::{CollectiveMethod, Status};

fn any_fabric() -> impl Strategy<Value = Value> {
    let rates = prop::sample::select(vec![25 * GBPS, 54_545_000_000, 100 * GBPS]);
    let cut = |rate: u64, up: u64, mut fabric: Value| {
        fabric["switch_bits_per_s"] = json!(up);
        fabric["host_bits_per_s"] = json!(rate);
        fabric
    };
    (rates.clone(), rates, 1u64..5, 1u64..4, any::<bool>()).prop_map(
        move |(rate, up, leaf, spines, deep)| {
            let fabric = if deep {
                deep_tree(12, 4, rate, 10_000)
            } else {
                tree(12, leaf, spines, rate, 10_000)
            };
            cut(rate, up, fabric)
        },
    )
}

fn any_step() -> impl Strategy<Value = Value> {
    let operations = prop::sample::select(vec!["barrier", "allreduce", "reduce", "broadcast"]);
    (operations, 0u64..20_000, 1u32..4).prop_map(|(benchmark, size_bytes, iterations)| {
        let copied = benchmark == "broadcast" && size_bytes % 2 == 0;
        let algorithm = if copied { "multicast" } else { "sharp" };
        json!({"benchmark": benchmark, "algorithm": algorithm, "size_bytes": size_bytes,
            "iterations": iterations})
    })
}

fn any_model() -> impl Strategy<Value = Value> {
    let result = prop::sample::select(vec!["tree", "multicast"]);
    let lock = prop::sample::select(vec!["switch", "port"]);
    let sat = prop::option::of((1u64..9000, 40u32..2000, 1u32..20, lock));
    let sat = sat.prop_map(|sat| {
        sat.map(|(threshold, payload, outstanding, lock)| {
            json!({"threshold_bytes": threshold, "payload_bytes": payload,
                "outstanding": outstanding, "lock": lock})
        })
    });
    (0u32..900, 0u32..900, 40u32..1500, 1u32..12, result, 0u32..100, sat).prop_map(
        |(reduction, interval, payload, outstanding, result, task, sat)| {
            json!({"sat": sat, "reduction_ns": reduction, "interval_ns": interval,
                "payload_bytes": payload,
                "outstanding": outstanding, "result": result, "task_ns": task, "header_bytes": 12})
        },
    )
}

fn any_tenants() -> impl Strategy<Value = Value> {
    let nodes = |first: u64, n: u64| -> Vec<String> {
        (first..first + n).map(|node| format!("n{node:03}")).collect()
    };
    let steps = || prop::collection::vec(any_step(), 1..3);
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..90_000), 0..20);
    (steps(), steps(), flows, 1u32..4, 0u32..3000, any::<bool>()).prop_map(
        move |(first, second, flows, tasks, start, repeat)| {
            let flows: Vec<Value> = flows
                .into_iter()
                .map(|(s, d, size)| {
                    json!({"src": s, "dst": d + u64::from(d >= s),
                    "size_bytes": size})
                })
                .collect();
            json!([
                {"name": "a", "placement": {"nodes": nodes(1, 8), "tasks_per_node": tasks},
                    "work": first},
                {"name": "b", "placement": {"nodes": nodes(5, 8)}, "work": second,
                    "start_ns": start, "repeat": repeat},
                {"name": "c", "work": [{"benchmark": "messages", "messages": flows}]}])
        },
    )
}

fn any_case() -> impl Strategy<Value = Value> {
    let models = prop::sample::select(vec!["voq", "infinite"]);
    let forwarding = prop::sample::select(vec!["cut_through", "store_and_forward"]);
    let rest = (models, forwarding, 0u64..60_000, any::<u64>(), 0u32..2000, 1u8..3);
    let adaptive = prop::sample::select(vec![
        json!({"engine": "dmodk"}),
        json!({"engine": "updn",
        "adaptive": {"grade_bytes": 256}}),
    ]);
    let slow = prop::option::of(prop::sample::select(vec![
        json!({"link": "leaf-01[1]", "rate_factor": 0.3, "from_ns": 2000, "until_ns": 9000}),
        json!({"link": "leaf-02[1]", "corrected": {"probability": 0.2, "cost_ns": 300}}),
        json!({"node": "n006", "slow_factor": 2.5}),
    ]));
    let law = prop::sample::select(vec![
        Value::Null,
        json!({"annex_a10": {"threshold": 15, "full_bytes": 9000, "timer_ns": 2000,
            "slows": "lane"}}),
        json!({"dcqcn": {"least_bytes": 3000, "most_bytes": 9000, "probability": 0.5}}),
        json!({"rtt": {}}),
        json!({"endpoint": {}}),
    ]);
    (any_fabric(), any_model(), any_tenants(), rest, adaptive, slow, law).prop_map(
        |(fabric, model, tenants, rest, routing, slow, law)| {
            let (queueing, forwarding, extra, seed, latency, lanes) = rest;
            let mut case = scenario(fabric, json!([]));
            case.as_object_mut().expect("a document").remove("work");
            let regimes = json!([{"max_bytes": 1000, "send_overhead_ns": 110, "gap_ns": 60,
                "recv_overhead_ns": 70, "latency_ns": latency}, {"latency_ns": 90,
                "protocol": "rendezvous"}]);
            let host = json!({"regimes": regimes, "message_gap_ns": 5, "start_jitter_ns": 700,
                "intra_node": {"latency_ns": 200, "bits_per_s": 50 * GBPS},
                "noise": {"probability": 0.1, "mean_ns": 900}});
            let switch = json!({"model": queueing, "forwarding": forwarding, "delay_ps": 100_000,
                "buffer_bytes": 4224 + extra});
            let faults: Vec<Value> = slow.into_iter().collect();
            for (key, value) in [
                ("host", host),
                ("switch", switch),
                ("tenants", tenants),
                ("in_network", model),
                ("routing", routing),
                ("seed", json!(seed)),
                ("lanes", json!({"count": lanes})),
                ("faults", json!(faults)),
                ("transport", json!({"ack_every": 2})),
            ] {
                case = with(case, key, value);
            }
            case["tenants"][1]["service_level"] = json!(1);
            if !law.is_null() && queueing == "voq" {
                case["congestion_control"] = law;
            }
            case
        },
    )
}

proptest! {
    #![proptest_config(cases(300))]

    /// Credits and packets are conserved (asserted inside every complete run), every operation is
    /// complete once (asserted by every switch), and what is left out changes nothing.
    #[test]
    fn trees_next_to_other_traffic_end_and_the_oracle_agrees(case in any_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let by_hosts = |(by, reason): (&CollectiveMethod, &String)| {
            (*by == CollectiveMethod::Hosts) == reason.contains("streams for tenant")
        };
        let offloads = &elided.offloads;
        prop_assert!(offloads.by.iter().zip(&offloads.reason).all(by_hosts), "{:?}", offloads);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}
