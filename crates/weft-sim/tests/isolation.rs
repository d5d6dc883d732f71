//! What keeps a neighbour's congestion away: lanes of one's own, by service level or partition.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Outcome;

const RATE: u64 = 200 * GBPS;

/// Names of nodes `from .. to`, counted from 0.
fn nodes(range: std::ops::Range<u64>) -> Value {
    json!(range.map(|node| format!("n{:03}", node + 1)).collect::<Vec<String>>())
}

/// On 32 hosts, 12 send to one for as long as pairs of others exchange: adaptive routing spreads
/// what waits for the hot host over all cables.
fn shared(aggressor: Value, victim: Value, partitions: Value) -> Value {
    let mut case = scenario(deep_tree(32, 8, RATE, 500_000), json!([]));
    case.as_object_mut().unwrap().remove("work");
    let case = with(case, "routing", json!({"engine": "dmodk", "adaptive": {}}));
    let case = with(case, "switch", json!({"delay_ps": 200_000, "buffer_bytes": 65_536}));
    let case = with(case, "lanes", json!({"count": 2}));
    let case = with(case, "partitions", partitions);
    let mut hot = json!({"name": "hot", "role": "aggressor", "repeat": true,
        "placement": {"nodes": nodes(0..1).as_array().unwrap().iter().cloned()
            .chain(nodes(20..32).as_array().unwrap().iter().cloned()).collect::<Vec<Value>>()},
        "work": [{"benchmark": "fan_in", "size_bytes": 2_000_000}]});
    let mut cold = json!({"name": "cold", "start_ns": 1_000_000,
        "placement": {"nodes": nodes(1..17)},
        "work": [{"benchmark": "permutation", "permutation": {"shift": 8}, "size_bytes": 500_000,
                  "iterations": 3}]});
    for (tenant, keys) in [(&mut hot, aggressor), (&mut cold, victim)] {
        tenant.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    }
    with(case, "tenants", json!([hot, cold]))
}

/// The slowest flow of the second tenant.
fn slowest(outcome: &Outcome) -> u64 {
    let rows = &outcome.rows;
    let times = rows.tenant.iter().zip(&rows.duration_ps);
    *times.filter(|(tenant, _)| **tenant == 1).map(|(_, ps)| ps).max().expect("a row")
}

#[test]
fn a_lane_of_its_own_keeps_a_tenant_from_waiting_in_its_neighbours_buffers() {
    let with_levels = |hot: u64, cold: u64| {
        let case = shared(json!({"service_level": hot}), json!({"service_level": cold}), json!([]));
        slowest(&complete(&case))
    };
    let (together, apart) = (with_levels(0, 0), with_levels(1, 0));
    let ideal = ser(500_000, RATE);
    assert!(together > 10 * ideal, "{together} of {ideal}");
    // The lanes take turns on a cable that both want: at worst half of it is left.
    assert!(apart < 2 * ideal + ideal / 2, "{apart} of {ideal}");
}

#[test]
fn a_partition_brings_its_tenants_a_service_level() {
    let everybody = nodes(0..32);
    let partitions = json!([{"key": 7, "nodes": everybody, "service_level": 1}]);
    let by_partition = shared(json!({"partition_key": 7}), json!({}), partitions.clone());
    let by_level = shared(json!({"service_level": 1}), json!({}), json!([]));
    assert_eq!(complete(&by_partition), complete(&by_level));
    // A tenant's own level goes before its partition's.
    let own = shared(json!({"partition_key": 7, "service_level": 0}), json!({}), partitions);
    assert_eq!(complete(&own), complete(&shared(json!({}), json!({}), json!([]))));
}

#[test]
fn a_partitions_level_is_refused_above_fifteen() {
    let partitions = json!([{"key": 7, "nodes": ["n001"], "service_level": 16}]);
    let text = refusal(&shared(json!({}), json!({}), partitions));
    assert!(text.starts_with("partitions[0].service_level: 16 is no service level"), "{text}");
}

/// The case of two tenants with lanes of their own, the aggressor's of level 1; the law controls
/// the levels given, all without them.
fn controlled(law: &str, levels: Option<Value>) -> Value {
    let case = shared(json!({"service_level": 1}), json!({"service_level": 0}), json!([]));
    let mut control = json!({law: {}});
    if let Some(levels) = levels {
        control["service_levels"] = levels;
    }
    with(case, "congestion_control", control)
}

const LAWS: [&str; 4] = ["annex_a10", "dcqcn", "rtt", "endpoint"];

#[test]
fn a_law_slows_down_the_service_levels_it_is_for_and_no_other() {
    let free = shared(json!({"service_level": 1}), json!({"service_level": 0}), json!([]));
    let free = complete(&free).rows.duration_ps;
    for law in LAWS {
        let rows = |levels: Value| complete(&controlled(law, Some(levels))).rows.duration_ps;
        let all = complete(&controlled(law, None)).rows.duration_ps;
        assert_eq!(rows(json!([0, 1])), all, "{law}");
        assert_eq!(rows(json!([])), free, "{law}");
        // All congestion is the incast's, on level 1: no switch marks what others send.
        assert_ne!(rows(json!([1])), free, "{law}");
        assert_ne!(all, free, "{law}");
    }
    // Of the victim's level nothing waits anywhere: the law has nobody to slow down.
    let victim = complete(&controlled("annex_a10", Some(json!([0]))));
    assert_eq!(victim.rows.duration_ps, free);
}

#[test]
fn levels_that_share_a_lane_cannot_be_controlled_apart() {
    let case = with(controlled("rtt", Some(json!([1]))), "lanes", json!({"count": 1}));
    let text = refusal(&case);
    let start = "congestion_control.service_levels: levels 0 and 1 share lane 0";
    assert!(text.starts_with(start), "{text}");
    let text = refusal(&controlled("rtt", Some(json!([16]))));
    assert!(text.starts_with("congestion_control.service_levels: service level 16"), "{text}");
}

/// On one switch, all but one of 8 hosts send 4 KiB to the first, again and again.
fn incast(keys: Value, recv_ns: f64) -> Outcome {
    let step = json!([{"benchmark": "fan_in", "size_bytes": 4096, "iterations": 40}]);
    let mut case = scenario(deep_tree(8, 8, RATE, 0), json!([]));
    case.as_object_mut().unwrap().remove("work");
    let regime = json!({"send_overhead_ns": 0, "recv_overhead_ns": recv_ns, "protocol": "eager"});
    let case = with(case, "host", json!({"regimes": [regime]}));
    let mut tenant = json!({"name": "hot", "work": step, "placement": {"nodes": nodes(0..8)}});
    tenant.as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    complete(&with(case, "tenants", json!([tenant])))
}

#[test]
fn no_processor_holds_one_sided_messages_up() {
    let slowest = |outcome: &Outcome| *outcome.rows.duration_ps.iter().max().expect("a row");
    let free = slowest(&incast(json!({}), 0.0));
    assert_eq!(slowest(&incast(json!({"one_sided": true}), 5_000.0)), free);
    // Seven receives of 5 us take 35 us of the one processor.
    assert!(slowest(&incast(json!({}), 5_000.0)) >= free + 30_000_000);
}
