//! Several jobs on one fabric: each its own ranks, barriers, rows and times.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Outcome;

fn tenant(name: &str, nodes: &[&str], work: Value) -> Value {
    json!({"name": name, "placement": {"nodes": nodes}, "work": work})
}

/// Eight nodes on one switch, whose ports do not block one another.
fn one_switch(tenants: Value) -> Value {
    shared(tree(8, 8, 1, 100 * GBPS, 50_000), tenants)
}

fn shared(fabric: Value, tenants: Value) -> Value {
    let mut case = scenario(fabric, json!([]));
    case.as_object_mut().unwrap().remove("work");
    with(case, "tenants", tenants)
}

/// (start, duration) of each row of a tenant.
fn rows_of(outcome: &Outcome, tenant: u32) -> Vec<(u64, u64)> {
    let rows = &outcome.rows;
    let times = rows.start_ps.iter().copied().zip(rows.duration_ps.iter().copied());
    let whose = rows.tenant.iter().zip(times);
    whose.filter(|(number, _)| **number == tenant).map(|(_, times)| times).collect()
}

fn ring(iterations: u32, size_bytes: u64) -> Value {
    json!([{"benchmark": "allreduce", "algorithm": "ring", "size_bytes": size_bytes,
            "iterations": iterations, "warmup": 1}])
}

#[test]
fn one_tenant_is_what_a_scenario_of_one_job_is() {
    let work = ring(3, 50_000);
    let fabric = tree(8, 4, 2, 100 * GBPS, 50_000);
    let alone = complete(&scenario(fabric.clone(), work.clone()));
    let tenant = complete(&shared(fabric, json!([{"name": "", "work": work}])));
    assert_eq!(alone, tenant);
}

#[test]
fn neighbours_on_a_switch_that_does_not_block_cost_nothing() {
    let left = tenant("left", &["n001", "n002", "n003", "n004"], ring(5, 100_000));
    let alltoall = json!([{"benchmark": "alltoall", "size_bytes": 70_000, "iterations": 4}]);
    let right = tenant("right", &["n005", "n006", "n007", "n008"], alltoall);
    let both = complete(&one_switch(json!([left, right])));
    for (number, alone) in [(0, left), (1, right)] {
        let alone = complete(&one_switch(json!([alone])));
        assert_eq!(rows_of(&both, number), rows_of(&alone, 0), "factor 1.0");
        assert_eq!(both.tenants.end_ps[number as usize], alone.end_ps);
    }
    assert_eq!(both.tenants.tenant_name, ["left", "right"]);
    assert_eq!(both.end_ps, *both.tenants.end_ps.iter().max().unwrap());
}

#[test]
fn a_tenant_begins_when_it_is_due_and_its_rows_say_when() {
    let early = tenant("early", &["n001", "n002"], ring(2, 9000));
    let mut late = tenant("late", &["n003", "n004"], ring(2, 9000));
    late["start_ns"] = json!(123_456.789);
    let outcome = complete(&one_switch(json!([early, late])));
    let (early, late) = (rows_of(&outcome, 0), rows_of(&outcome, 1));
    assert_eq!(outcome.tenants.start_ps, [0, 123_456_789]);
    for ((start_ps, duration_ps), (late_start_ps, late_duration_ps)) in early.iter().zip(&late) {
        assert_eq!(start_ps + 123_456_789, *late_start_ps);
        assert_eq!(duration_ps, late_duration_ps);
    }
}

#[test]
fn two_flows_of_different_tenants_share_a_link_in_halves() {
    let size = 1_000_000;
    let flow =
        |name: &str, from: &str, to: &str| tenant(name, &[from, to], messages([(0, 1, size)]));
    let alone = complete(&one_switch(json!([flow("a", "n001", "n003")])));
    let both = complete(&one_switch(json!([flow("a", "n001", "n003"), flow("b", "n002", "n003")])));
    // Round robin: each waits a packet time for each of its packets but the last ones.
    let packet = ser(4096 + HEADER, 100 * GBPS);
    for number in 0..2 {
        let extra = rows_of(&both, number)[0].1 - rows_of(&alone, 0)[0].1;
        let shared = ser(framed(size, 4096), 100 * GBPS);
        assert!(extra.abs_diff(shared) <= 2 * packet, "{extra} {shared}");
    }
}

#[test]
fn a_tenant_that_repeats_does_so_until_the_others_are_done() {
    let victim = tenant("victim", &["n001", "n002"], ring(20, 100_000));
    let mut aggressor = tenant("aggressor", &["n003", "n004"], ring(2, 1000));
    aggressor["role"] = json!("aggressor");
    aggressor["repeat"] = json!(true);
    let outcome = complete(&one_switch(json!([aggressor, victim])));
    let (aggressor, victim) = (rows_of(&outcome, 0), rows_of(&outcome, 1));
    let passes = outcome.tenants.passes[0];
    assert!(passes > 3);
    assert_eq!(victim.len(), 20);
    // Its iterations are counted on; the one that ran when the victim was done was its last.
    let rows = &outcome.rows;
    let all = rows.tenant.iter().zip(&rows.iteration);
    let iterations: Vec<u32> = all.filter(|(who, _)| **who == 0).map(|(_, i)| *i).collect();
    assert_eq!(iterations, (0..iterations.len() as u32).collect::<Vec<_>>());
    let victim_end_ps = victim[19].0 + victim[19].1;
    assert!(aggressor.iter().all(|(start_ps, _)| *start_ps < victim_end_ps));
    assert!(outcome.tenants.end_ps[0] >= victim_end_ps);
    assert_eq!(outcome.tenants.end_ps[1], victim_end_ps);
}

#[test]
fn work_without_end_that_takes_no_time_is_done_once() {
    let victim = tenant("victim", &["n001", "n002"], ring(2, 1000));
    let mut idle = tenant("idle", &["n003"], json!([{"benchmark": "barrier"}]));
    idle["repeat"] = json!(true);
    let outcome = complete(&one_switch(json!([victim, idle])));
    assert_eq!(outcome.tenants.passes, [1, 1]);
}

#[test]
fn tenants_may_share_nodes_and_the_oracle_agrees() {
    let fabric = tree(8, 4, 2, 100 * GBPS, 50_000);
    let everywhere = json!({"tasks_per_node": 2});
    let a = json!({"name": "a", "placement": everywhere, "work": ring(2, 30_000)});
    let b = json!({"name": "b", "placement": everywhere, "start_ns": 700,
        "work": [{"benchmark": "alltoall", "size_bytes": 5000, "algorithm": "linear"}]});
    let c = json!({"name": "c", "placement": {"nodes": ["n008", "n001"]}, "repeat": true,
        "start_ns": 900, "work": messages([(0, 1, 50_000), (1, 0, 300)])});
    let case = shared(fabric, json!([a, b, c]));
    let case = with(case, "switch", json!({"buffer_bytes": 9000}));
    let elided = complete(&case);
    let oracle = complete(&with(case, "elide", json!(false)));
    assert_eq!(physics(&elided), physics(&oracle));
    assert_eq!(elided.tenants.tenant_name, ["a", "b", "c"]);
}

fn refused(case: &Value, beginning: &str) {
    let text = refusal(case);
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.contains("\n  expected: "), "{text}");
}

#[test]
fn of_what_is_repeated_so_many_rows_are_kept_and_the_others_counted() {
    let compute =
        |ns: u64, n: u64| json!([{"benchmark": "compute", "compute_ns": ns, "iterations": n}]);
    let victim = tenant("victim", &["n001"], compute(3500, 1));
    let mut busy = tenant("busy", &["n003"], compute(1, 50));
    busy["repeat"] = json!(true);
    let mut other = tenant("other", &["n004"], compute(50, 2));
    other["repeat"] = json!(true);
    let outcome = complete(&one_switch(json!([victim, busy.clone(), other])));
    // Each 3500 ns: 3500 iterations of one, 70 of the other, the first pass of each among them.
    assert_eq!((rows_of(&outcome, 1).len(), rows_of(&outcome, 2).len()), (3500, 70));
    assert_eq!(outcome.rows.left_out, 0);
    let victim = tenant("victim", &["n001"], compute(70_000, 1));
    let outcome = complete(&one_switch(json!([victim, busy])));
    assert_eq!(rows_of(&outcome, 1).len(), 50 + 65_536);
    assert_eq!(outcome.rows.left_out, 70_000 - 50 - 65_536);
}

#[test]
fn tenants_that_cannot_be() {
    let good = tenant("a", &["n001", "n002"], ring(1, 8));
    let changed = |key: &str, value: Value, beginning: &str| {
        let other = tenant("b", &["n003", "n004"], ring(1, 8));
        refused(&one_switch(json!([good, with(other, key, value)])), beginning);
    };
    changed("name", json!("a"), "tenants[1].name: there are two tenants 'a'");
    changed("service_level", json!(16), "tenants[1].service_level: 16 is no service level");
    changed("start_ns", json!(-1), "tenants[1].start_ns: -1 is no such time");
    changed("partition_key", json!(9), "tenants[1].partition_key: there is no partition 0x0009");
    let nobody = json!({"nodes": []});
    changed("placement", nobody, "tenants[1].placement.nodes: there is no rank");
    let twice = json!({"nodes": ["n003", "n003"]});
    changed("placement", twice, "tenants[1].placement.nodes[1]: node 'n003' appears twice");
    let nothing = "tenants[1].work[0].window: 'window' has no meaning for barrier";
    changed("work", json!([{"benchmark": "barrier", "window": 3}]), nothing);
    let endless = with(good.clone(), "repeat", json!(true));
    refused(&one_switch(json!([endless])), "tenants: 1 tenants, of which none ends");
    let both = with(one_switch(json!([good])), "work", ring(1, 8));
    refused(&both, "scenario: 'work' together with 'tenants'");
    let neither = shared(tree(8, 8, 1, GBPS, 0), Value::Null);
    refused(&neither, "scenario: 'work' is missing");
}

#[test]
fn a_tenant_outside_its_partition_is_refused() {
    let mut job = tenant("a", &["n001", "n002"], ring(1, 8));
    job["partition_key"] = json!(0x11);
    let case = one_switch(json!([job]));
    let with_table = |table: Value| with(case.clone(), "partitions", table);
    complete(&with_table(json!([{"key": 0x11, "nodes": ["n002", "n001", "n005"]}])));
    let outside = with_table(json!([{"key": 0x11, "nodes": ["n002", "n005"]}]));
    refused(&outside, "tenants[0].placement: node 'n001' is not in partition 0x0011");
    let member = with_table(json!([{"key": 0x8011, "nodes": []}]));
    refused(&member, "partitions[0].key: 0x8011 is no partition's key");
    let twice = json!([{"key": 1, "nodes": []}, {"key": 1, "nodes": []}]);
    refused(&with_table(twice), "partitions[1].key: there are two partitions 0x0001");
    let node_twice = with_table(json!([{"key": 1, "nodes": ["n001", "n001"]}]));
    refused(&node_twice, "partitions[0].nodes[1]: node 'n001' appears twice");
    let stranger = with_table(json!([{"key": 1, "nodes": ["x"]}]));
    refused(&stranger, "partitions[0].nodes[0]: there is no node 'x'");
    // The default partition holds all nodes unless the table says otherwise.
    let one_job = scenario(tree(8, 8, 1, GBPS, 0), ring(1, 8));
    let default = json!([{"key": 0x7fff, "nodes": ["n001"]}]);
    let refusal = "placement: node 'n002' is not in partition 0x7fff";
    refused(&with(one_job, "partitions", default), refusal);
}
