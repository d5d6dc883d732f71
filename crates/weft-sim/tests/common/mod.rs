//! Scenarios of the laws, built from a few numbers so that a law can be derived from the same.

pub(crate) mod insides;

use proptest::test_runner::{Config as ProptestConfig, RngSeed};
use serde_json::{Value, json};
use weft_sim::{Outcome, Status, ValidScenario, simulate};

pub(crate) const GBPS: u64 = 1_000_000_000;
pub(crate) const PS_PER_S: u128 = 1_000_000_000_000;

/// The laws of congestion control.
pub(crate) const LAWS: [&str; 4] = ["annex_a10", "dcqcn", "rtt", "endpoint"];
/// Two ranks of eight that send, compute and add up, with a mark each.
pub(crate) const CALLS: &str = include_str!("../fixtures/two_ranks.calls");

/// LRH + BTH + ICRC + VCRC, and RETH on the first packet of a message.
pub(crate) const HEADER: u64 = 8 + 12 + 4 + 2;
pub(crate) const RETH: u64 = 16;

/// Hosts that cost nothing: what is left is the network.
pub(crate) fn free_hosts() -> Value {
    json!({"regimes": [{}]})
}

/// Two levels, every cable alike.
pub(crate) fn tree(
    nodes: u64,
    nodes_per_leaf: u64,
    spines: u64,
    bits_per_s: u64,
    delay_ps: u64,
) -> Value {
    json!({"generate": "fat_tree", "levels": 2, "nodes": nodes, "nodes_per_leaf": nodes_per_leaf,
           "spines": spines, "host_bits_per_s": bits_per_s, "switch_bits_per_s": bits_per_s,
           "host_delay_ps": delay_ps, "switch_delay_ps": delay_ps})
}

/// Three levels of switches with `radix` ports, every cable alike.
pub(crate) fn deep_tree(nodes: u64, radix: u64, bits_per_s: u64, delay_ps: u64) -> Value {
    json!({"generate": "fat_tree", "levels": 3, "nodes": nodes, "radix": radix,
           "host_bits_per_s": bits_per_s, "switch_bits_per_s": bits_per_s,
           "host_delay_ps": delay_ps, "switch_delay_ps": delay_ps})
}

/// A scenario with d-mod-k routes, free hosts and no acknowledgements.
pub(crate) fn scenario(fabric: Value, work: Value) -> Value {
    json!({"schema": "weft.scenario/1", "fabric": fabric, "routing": {"engine": "dmodk"},
           "transport": {"acknowledge": false}, "host": free_hosts(), "work": work})
}

/// The same scenario with one more key, or another value of one.
pub(crate) fn with(mut scenario: Value, key: &str, value: Value) -> Value {
    scenario[key] = value;
    scenario
}

/// One step of explicit messages (src, dst, bytes), all due at once.
pub(crate) fn messages(list: impl IntoIterator<Item = (u64, u64, u64)>) -> Value {
    let rows: Vec<Value> = list
        .into_iter()
        .map(|(src, dst, size_bytes)| json!({"src": src, "dst": dst, "size_bytes": size_bytes}))
        .collect();
    json!([{"benchmark": "messages", "messages": rows}])
}

pub(crate) fn run(scenario: &Value) -> Outcome {
    let valid = ValidScenario::parse(&scenario.to_string()).expect("a valid scenario");
    simulate(&valid)
}

/// The outcome of a run that must be complete.
pub(crate) fn complete(case: &Value) -> Outcome {
    let outcome = run(case);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome
}

/// The durations of a run that must be complete.
pub(crate) fn durations(scenario: &Value) -> Vec<u64> {
    complete(scenario).rows.duration_ps
}

pub(crate) fn refusal(scenario: &Value) -> String {
    ValidScenario::parse(&scenario.to_string()).expect_err("a scenario that cannot be").to_string()
}

/// Time of `bytes` at a rate, rounded up once.
pub(crate) fn ser(bytes: u64, bits_per_s: u64) -> u64 {
    u64::try_from((u128::from(bytes) * 8 * PS_PER_S).div_ceil(u128::from(bits_per_s))).unwrap()
}

/// Bytes on the wire of a message under InfiniBand headers.
pub(crate) fn framed(size_bytes: u64, mtu_bytes: u64) -> u64 {
    size_bytes + size_bytes.div_ceil(mtu_bytes).max(1) * HEADER + RETH
}

/// Everything about an outcome but the number of events.
pub(crate) fn physics(outcome: &Outcome) -> Outcome {
    Outcome { events: 0, ..outcome.clone() }
}

/// A port's value of a column.
pub(crate) fn value_at(outcome: &Outcome, column: &[u64], port: &str) -> u64 {
    let at = outcome.ports.port_name.iter().position(|name| name == port);
    column[at.expect("a cabled port")]
}

/// So many random cases, the same in every run.
pub(crate) fn cases(cases: u32) -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(60);
    ProptestConfig { cases, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}
