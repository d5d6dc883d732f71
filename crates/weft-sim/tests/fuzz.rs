//! The scenario reader takes anything: it answers with an outcome, or with an error that names a
//! place and what was expected; never with a panic, never with silence.
//!
//! `WEFT_FUZZ=1000000 cargo test --release -p weft-sim --test all -- fuzz:: --nocapture` tries so
//! many in a loop: proptest names no scenario that hangs, cargo-fuzz needs a nightly compiler.

use crate::common::*;
use crate::mutate::Mutator;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use weft_sim::{ScenarioDocument, Status, ValidScenario, simulate};

/// A scenario of the fuzzer may run so long.
const MAX_EVENTS: u64 = 2000;
/// And may take so much of a processor, reading included.
const MAX_TIME: Duration = Duration::from_secs(1);

/// The laws of congestion control, with every knob.
fn controlled_seeds(small: &Value) -> Vec<Value> {
    let laws = [
        json!({"dcqcn": {"least_bytes": 4096, "most_bytes": 9000, "probability": 0.5,
            "cnp_interval_ns": 100, "cnp_service_level": 1, "gain": 0.1, "first_alpha": 0.9,
            "alpha_timer_ns": 700, "increase_timer_ns": 300, "increase_bytes": 9000,
            "fast_rounds": 1, "additive_bits_per_s": 5_000_000, "hyper_bits_per_s": 9_000_000,
            "least_bits_per_s": 2_000_000}}),
        json!({"rtt": {"target_ns": 300, "probe_interval_ns": 0, "answer_service_level": 0,
            "gain": 0.8, "most_decrease": 0.5, "most": 1.5, "additive_bytes": 100,
            "least_bits_per_s": 1_000_000}}),
        json!({"endpoint": {"queue_bytes": 9000, "hold_ns": 9000, "count_ns": 500, "change": 0.1,
            "cnp_service_level": 2}}),
    ];
    let work = json!([{"benchmark": "incast", "size_bytes": 30_000, "fan": 5,
        "bystander_bytes": 9000}]);
    let case = |law: Value| with(scenario(small.clone(), work.clone()), "congestion_control", law);
    laws.into_iter().map(case).collect()
}

/// Scenarios that between them use every key.
fn seeds() -> Vec<Value> {
    let small = tree(8, 4, 2, 100 * GBPS, 50_000);
    let named = json!({"schema": "weft.fabric/1", "name": "pair",
        "nodes": [{"name": "a", "hcas": ["a/h"]}, {"name": "b", "hcas": ["b/h", "b/i"]}],
        "switches": [{"name": "s", "ports": 4, "level": 1}],
        "links": [{"a": "a/h[1]", "b": "s[1]", "bits_per_s": 100 * GBPS, "delay_ps": 5},
                  {"a": "b/h[1]", "b": "s[2]", "bits_per_s": 100 * GBPS, "delay_ps": 5},
                  {"a": "s[4]", "b": "b/i[1]", "bits_per_s": 54_545_000_000u64, "delay_ps": 5}],
        "lfts": {"s": [1, 2, 4]}});
    let host = json!({"regimes": [{"max_bytes": 1000, "send_overhead_ns": 100, "latency_ns": 4,
            "recv_overhead_ns": 3.5, "gap_ns": 17, "gap_ns_per_byte": 0.3},
            {"protocol": "rendezvous", "recv_ns_per_byte": 0.01, "send_ns_per_byte": 0.02}],
        "message_gap_ns": 5, "start_jitter_ns": 700,
        "intra_node": {"latency_ns": 200, "bits_per_s": 50 * GBPS},
        "matching": {"by": "hardware", "ns_per_entry": 2, "hardware_entries": 8},
        "noise": {"probability": 0.1, "mean_ns": 900}});
    let work = json!([
        {"benchmark": "alltoall", "size_bytes": 20_000, "algorithm": "linear", "iterations": 2},
        {"benchmark": "pairs", "kind": "bandwidth_ab", "window": 4, "size_bytes": 5000,
         "rounds": [[[0, 1], [2, 3]], [[0, 2]]], "warmup": 1},
        {"benchmark": "allreduce", "size_bytes": 3001, "algorithm": "ring"}]);
    let first = scenario(small.clone(), work.clone());
    let first = with(first, "host", host);
    let placement = json!({"nodes": ["n001", "n005", "n002"], "tasks_per_node": 2});
    let first = with(first, "placement", placement);
    let switch = json!({"model": "input_fifo", "buffer_bytes": 9000,
        "forwarding": "store_and_forward", "delay_ps": 90_000});
    let first = with(first, "switch", switch);
    let mut tenants = scenario(deep_tree(12, 4, 100 * GBPS, 20_000), json!([]));
    tenants.as_object_mut().unwrap().remove("work");
    tenants["partitions"] = json!([{"key": 5, "nodes": ["n001", "n002", "n003"]}]);
    tenants["tenants"] = json!([
        {"name": "a", "placement": {"nodes": ["n001", "n002"], "tasks_per_node": 2},
         "partition_key": 5, "work": work, "service_level": 1},
        {"name": "b", "role": "aggressor", "repeat": true, "start_ns": 12.5,
         "work": [{"benchmark": "messages", "messages": [
            {"src": 0, "dst": 5, "size_bytes": 70_000, "start_ps": 100}]}]}]);
    let faults = json!([{"link": "leaf-01[5]", "rate_factor": 0.25},
        {"link": "leaf-02[6]", "down": true}, {"node": "n007", "slow_factor": 3.0},
        {"link": "n003/hca0[1]", "lanes": [1, 4]},
        {"switch": "leaf-01", "dst": "n002", "port": 2}]);
    let faulty = with(scenario(small.clone(), json!([{"benchmark": "barrier"}])), "faults", faults);
    let faulty = with(faulty, "routing", json!({"engine": "updn", "allow_credit_loops": true}));
    let faulty = with(faulty, "limits", json!({"max_events": 5000, "stall_ns": 1e6}));
    tenants["congestion_control"] = json!({"annex_a10": {"threshold": 15, "full_bytes": 9000,
        "marking_rate": 1, "packet_size": 2, "victim_mask": "all", "slows": "lane",
        "increase": 3, "timer_ns": 900, "ccti_min": 1, "ccti_limit": 2, "cnp_service_level": 3,
        "table": ["0:0", "3:7", "1:900"], "cnp_interval_ns": 0}});
    let two = scenario(named, json!([{"benchmark": "latency", "size_bytes": 8}]));
    let mut all = vec![first, tenants, faulty, two];
    all.extend(controlled_seeds(&small));
    all.push(skipped_seed(&small));
    all.extend(later_seeds(&small));
    all.extend(other_seeds(&small));
    let flows: Vec<Value> =
        all.iter().filter(|seed| seed.get("in_network").is_none()).map(flow_seed).collect();
    all.extend(flows);
    all.push(in_network_seed(&small));
    all.extend(slices_seeds(&small));
    all.push(dct_seed(&small));
    all
}

/// A scenario with messages as flows, without what these have not.
fn flow_seed(packets: &Value) -> Value {
    let mut flow = with(packets.clone(), "fidelity", json!("flow"));
    for (place, key) in [
        ("/switch", "model"),
        ("/switch", "output_share"),
        ("/switch", "speedup"),
        ("/lanes", "high"),
        ("/lanes", "low"),
        ("/transport", "out_of_order_ns"),
        ("/routing/adaptive", "non_minimal"),
        ("/routing/adaptive", "bias_bytes"),
        ("/probes", "load_bin_ns"),
        ("", "congestion_control"),
    ] {
        if let Some(part) = flow.pointer_mut(place).and_then(Value::as_object_mut) {
            part.remove(key);
        }
    }
    if let Some(faults) = flow["faults"].as_array_mut() {
        let in_the_run = ["from_ns", "lost", "corrected"];
        faults.retain(|fault| in_the_run.iter().all(|key| fault.get(key).is_none()));
    } else {
        flow.as_object_mut().unwrap().remove("faults");
    }
    flow
}

/// Collectives that switches carry out.
fn in_network_seed(fabric: &Value) -> Value {
    let step =
        |benchmark| json!({"benchmark": benchmark, "algorithm": "sharp", "size_bytes": 3000});
    let mut reduced = step("allreduce");
    (reduced["fallback"], reduced["tasks_per_node"]) = (json!("ring"), json!(2));
    let copied = json!({"benchmark": "broadcast", "algorithm": "multicast", "size_bytes": 9000});
    let work = json!([reduced, step("broadcast"), step("reduce"), copied]);
    let case = scenario(fabric.clone(), work);
    let case = with(case, "placement", json!({"tasks_per_node": 2}));
    let model = json!({"reduction_ns": 400, "interval_ns": 300, "payload_bytes": 256,
        "header_bytes": 12, "outstanding": 4, "max_bytes": 5000, "task_ns": 20,
        "result": "multicast", "quota": {"trees_per_switch": 2, "operations_per_switch": 9},
        "sat": {"threshold_bytes": 2000, "payload_bytes": 512, "outstanding": 3, "lock": "port"}});
    with(case, "in_network", model)
}

/// Collectives of NvSwitches, in one node and in several.
fn slices_seeds(fabric: &Value) -> [Value; 3] {
    let rate = 200 * GBPS;
    let wire = |a: &str, b: &str| json!({"a": a, "b": b, "bits_per_s": rate, "delay_ps": 90_000});
    let node = json!({"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"},
            {"name": "nvs0", "kind": "nv_switch"}, {"name": "nvs1", "kind": "nv_switch"},
            {"name": "pcie", "kind": "pcie_switch"}],
        "links": [wire("gpu0", "nvs0"), wire("gpu1", "nvs0"), wire("gpu0", "nvs1"),
            wire("gpu1", "nvs1"), wire("gpu0", "pcie"), wire("gpu1", "pcie"),
            wire("hca0", "pcie")],
        "ranks_on": ["gpu0", "gpu1"]});
    let model = json!({"reduction_ns": 400, "payload_bytes": 256, "sat": {"payload_bytes": 512},
        "nvls": {"payload_bytes": 300, "outstanding": 7, "reduction_ns": 50}});
    let three = json!(["n001", "n004", "n007"]);
    [("nvls", json!(["n001"])), ("collnet", three.clone()), ("nvls_tree", three)].map(
        |(name, nodes)| {
            let segment = (name == "nvls_tree").then_some(1000);
            let step = json!({"benchmark": "allreduce", "algorithm": name, "size_bytes": 9000,
                "segment_bytes": segment});
            let case = with(scenario(fabric.clone(), json!([step])), "node", node.clone());
            let case = with(case, "placement", json!({"nodes": nodes, "tasks_per_node": 2}));
            with(case, "in_network", model.clone())
        },
    )
}

/// A ring and windows of which part is skipped.
fn skipped_seed(fabric: &Value) -> Value {
    let work = json!([{"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 4_000_000},
        {"benchmark": "bandwidth", "size_bytes": 9_000_000, "iterations": 2, "warmup": 1},
        {"benchmark": "barrier"}]);
    let steady = json!({"tolerance": 0.05, "least_moves": 16});
    with(scenario(fabric.clone(), work), "steady_state", steady)
}

/// Initiators that turn from target to target.
fn dct_seed(fabric: &Value) -> Value {
    let work = messages([(0, 5, 9000), (0, 1, 9000), (0, 5, 100), (6, 2, 100)]);
    let transport = json!({"kind": "dct", "ack_every": 2,
        "dct": {"initiators": 1, "reconnect_ns": 500}});
    with(scenario(fabric.clone(), work), "transport", transport)
}

/// Insides of nodes, detours on a dragonfly, and the patterns and schedules that no other has.
fn other_seeds(fabric: &Value) -> Vec<Value> {
    let node = json!({"vertices": [{"name": "gpu0", "kind": "gpu"}, {"name": "gpu1", "kind": "gpu"},
            {"name": "pcie0", "kind": "pcie_switch"}, {"name": "ram", "kind": "memory"}],
        "links": [{"a": "gpu0", "b": "pcie0", "bits_per_s": 192 * GBPS, "delay_ps": 150_000},
            {"a": "gpu1", "b": "pcie0", "bits_per_s": 192 * GBPS, "delay_ps": 150_000},
            {"a": "ram", "b": "pcie0", "bits_per_s": 192 * GBPS, "delay_ps": 150_000},
            {"a": "hca0", "b": "pcie0", "bits_per_s": 192 * GBPS, "delay_ps": 150_000}],
        "ranks_on": ["gpu0", "gpu1"], "rail": "nearest", "gpudirect": false,
        "bounce": "ram", "bounce_chunk_bytes": 8192, "bounce_chunks": 2});
    let inner =
        with(scenario(fabric.clone(), messages([(0, 1, 9000), (0, 9, 20_000)])), "node", node);
    let inner = with(inner, "placement", json!({"tasks_per_node": 2}));
    let rates = 100 * GBPS;
    let dragonfly = json!({"generate": "dragonfly", "groups": 3, "routers_per_group": 2,
        "nodes_per_router": 2, "global_ports": 1, "host_bits_per_s": rates,
        "local_bits_per_s": rates, "global_bits_per_s": rates, "host_delay_ps": 5000,
        "local_delay_ps": 5000, "global_delay_ps": 90_000});
    let detours = scenario(dragonfly, messages([(0, 5, 30_000), (1, 4, 30_000)]));
    let detours = with(detours, "lanes", json!({"count": 3}));
    let detours = with(
        detours,
        "routing",
        json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal", "bias_bytes": 4096}}),
    );
    let goal = "num_ranks 8\nrank 0 {\na: calc 1\nb: send 9000b to 1\nb requires a\n}\nrank 1 {\n\
                recv 9000b from 0\n}\n";
    let xml = "<algo nchunksperloop='2'><gpu id='0'><tb id='0' send='1' recv='-1' chan='0'>\
               <step s='0' type='s' cnt='1' depid='-1' deps='-1'/></tb></gpu><gpu id='1'>\
               <tb id='0' send='-1' recv='0' chan='0'><step s='0' type='r' cnt='1' depid='-1' \
               deps='-1'/></tb></gpu></algo>";
    let patterns = json!([
        {"benchmark": "incast", "fan": 3, "root": 1, "size_bytes": 5000, "bystander_bytes": 2000,
         "bystander_start_ns": 50},
        {"benchmark": "permutation", "permutation": {"affine": [3, 1]}, "size_bytes": 3000,
         "window": 2},
        {"benchmark": "bisect", "seed": 3, "both_ways": true, "size_bytes": 3000},
        {"benchmark": "random_ring", "shuffle": 3, "size_bytes": 900, "compute_ns": 40},
        {"benchmark": "alltoallv", "algorithm": "linear", "skew": 0.5, "skew_of": "destination",
         "barrier_every_step": true, "size_bytes": 500},
        {"benchmark": "allreduce", "algorithm": "double_binary_tree", "segment_bytes": 500,
         "size_bytes": 2000, "imbalance": 0.5, "compute_ns": 30},
        {"benchmark": "alltoall", "algorithm": "hierarchical", "tasks_per_node": 2,
         "size_bytes": 100},
        {"benchmark": "broadcast", "root": 3, "shuffle": 9, "size_bytes": 800}]);
    let schedules = json!([
        {"benchmark": "schedule", "text": goal},
        {"benchmark": "schedule", "format": "calls", "text": CALLS},
        {"benchmark": "schedule", "format": "msccl", "text": xml, "size_bytes": 8000}]);
    let both = patterns.as_array().into_iter().chain(schedules.as_array()).flatten();
    both.map(|work| scenario(fabric.clone(), json!([work]))).chain([inner, detours]).collect()
}

/// Keys of lanes, adaptive routing, the transport, and probes.
fn later_seeds(fabric: &Value) -> Vec<Value> {
    let work = messages([(0, 5, 30_000), (1, 5, 30_000), (6, 2, 100)]);
    // Losses need acknowledgements.
    let case = with(scenario(fabric.clone(), work), "transport", json!({}));
    let lanes = json!({"count": 2, "sl2vl": [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
        "high": [{"vl": 1, "weight": 4}], "low": [{"vl": 0, "weight": 64}], "high_limit": 2});
    let adaptive = json!({"engine": "updn", "adaptive": {"granularity": "flowlet",
        "flowlet_gap_ns": 100, "grade_bytes": 4096, "grades": 4, "service_levels": [0, 1]},
        "link_death": {"reaction": "switch", "delay_ns": 1000}});
    let transport = json!({"acknowledge": true, "ack_every": 2, "timeout_exponent": 4,
        "retries": 3, "out_of_order_ns": 20});
    let flap = json!([{"link": "leaf-01[6]", "down": true, "from_ns": 100, "until_ns": 200,
        "every_ns": 1000}, {"link": "leaf-02[5]", "lost": 0.1},
        {"link": "leaf-02[6]", "corrected": {"probability": 0.1, "cost_ns": 100}}]);
    let probes = json!({"top_ports": 5, "load_bin_ns": 100, "load_ports": 2, "flows": 10});
    let switch = json!({"model": "shared_buffer", "output_share": 0.5, "speedup": 1.5});
    let keys = [
        ("lanes", lanes),
        ("routing", adaptive),
        ("transport", transport),
        ("faults", flap),
        ("probes", probes),
        ("switch", switch),
    ];
    let each = keys.iter().map(|(key, value)| with(case.clone(), key, value.clone()));
    let whole = keys.iter().fold(case.clone(), |all, (key, value)| with(all, key, value.clone()));
    // A buffer shared by outputs is for tables alone.
    let whole = with(whole, "switch", json!({"speedup": 1.5, "buffer_bytes": 9000}));
    each.chain([whole]).collect()
}

/// Time this thread has spent on a processor, where the system tells.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// What became of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Refused,
    Ran(Status),
}

fn try_text(text: &str) -> Fate {
    let read = ScenarioDocument::parse(text).and_then(|mut document| {
        document.limits.max_events = document.limits.max_events.min(MAX_EVENTS);
        ValidScenario::new(document)
    });
    match read {
        Ok(scenario) => {
            let outcome = simulate(&scenario);
            let complete = outcome.status == Status::Complete;
            assert_eq!(complete, outcome.message.is_empty(), "{}", outcome.message);
            Fate::Ran(outcome.status)
        }
        Err(error) => {
            let error = error.to_string();
            let (first, rest) = error.split_once("\n  expected: ").expect("what was expected");
            assert!(first.contains(": "), "a place: {error}");
            assert!(!rest.is_empty() && error.len() < 8000, "{}", &error[..100]);
            Fate::Refused
        }
    }
}

/// Damage the scenario of that number and try it; what became of it, and what it cost.
fn try_number(seeds: &[Value], number: u64) -> (Fate, Duration) {
    let text = Mutator::new(number).damaged(seeds);
    let before = processor_time();
    let fate = catch_unwind(AssertUnwindSafe(|| try_text(&text)));
    let spent = processor_time().zip(before).map_or(Duration::ZERO, |(now, then)| now - then);
    match fate {
        Ok(fate) => (fate, spent),
        Err(_) => {
            let beginning: String = text.chars().take(3000).collect();
            panic!("scenario {number} of the fuzzer panics:\n{beginning}")
        }
    }
}

#[test]
fn the_seeds_are_good_scenarios() {
    for seed in seeds() {
        assert_ne!(try_text(&seed.to_string()), Fate::Refused, "{}", refusal(&seed));
    }
}

fn some_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(11);
    ProptestConfig { cases: 2000, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(some_cases())]

    #[test]
    fn damaged_scenarios_run_or_are_refused_with_a_place(number in any::<u64>()) {
        try_number(&seeds(), number);
    }
}

/// As many as `WEFT_FUZZ` says; none without it.
#[test]
fn as_many_as_are_asked_for() {
    let Some(asked) = std::env::var("WEFT_FUZZ").ok().and_then(|n| n.parse::<u64>().ok()) else {
        return;
    };
    let seeds = seeds();
    let current = AtomicU64::new(0);
    let (mut refused, mut complete, mut slowest) = (0u64, 0u64, (Duration::ZERO, 0));
    std::thread::scope(|scope| {
        scope.spawn(|| watch(&current, asked));
        let _over = Over(&current);
        for number in 0..asked {
            current.store(number, Ordering::Relaxed);
            let (fate, spent) = try_number(&seeds, number);
            refused += u64::from(fate == Fate::Refused);
            complete += u64::from(fate == Fate::Ran(Status::Complete));
            slowest = slowest.max((spent, number));
            assert!(spent < MAX_TIME, "scenario {number} takes {spent:?}");
        }
    });
    let ran = asked - refused;
    println!(
        "{asked} scenarios: {refused} refused, {ran} ran ({complete} to their end); slowest \
              {:?} (number {})",
        slowest.0, slowest.1
    );
}

/// Tells the watcher that nothing more comes, after a panic too.
struct Over<'a>(&'a AtomicU64);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }
}

/// A scenario that never comes back is named.
fn watch(current: &AtomicU64, last: u64) {
    let (mut seen, mut n_same) = (u64::MAX, 0);
    while current.load(Ordering::Relaxed) < last {
        std::thread::sleep(Duration::from_millis(100));
        let now = current.load(Ordering::Relaxed);
        (seen, n_same) = (now, if now == seen { n_same + 1 } else { 0 });
        if n_same > 600 {
            eprintln!("scenario {now} of the fuzzer hangs");
            std::process::exit(1);
        }
    }
}
