//! What an adaptive switch compares, packet by packet; hashes that differ by switch.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Outcome;

const RATE: u64 = 100 * GBPS;
const DELAY: u64 = 50_000;
const ROUTE: u64 = 100_000;
const LARGE: u64 = 4096;
const SMALL: u64 = 64;

fn bare(fabric: Value, work: Value, routing: Value) -> Value {
    let case = with(scenario(fabric, work), "routing", routing);
    let case = with(case, "packets", json!({"headers": "none"}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}))
}

fn adaptive(grade_bytes: u64) -> Value {
    json!({"engine": "dmodk", "adaptive": {"grade_bytes": grade_bytes}})
}

/// What the ports of a switch that begin with `name` sent, fewest bytes first.
fn bytes_of(outcome: &Outcome, name: &str) -> Vec<u64> {
    let columns = outcome.ports.port_name.iter().zip(&outcome.ports.xmit_bytes);
    let sent = columns.filter(|(port, bytes)| port.starts_with(name) && **bytes > 0);
    let mut bytes: Vec<u64> = sent.map(|(_, bytes)| *bytes).collect();
    bytes.sort_unstable();
    bytes
}

/// Host 0 sends packets over four up ports, every fourth a large one, so far apart.
fn every_fourth_large(n: u64, apart_ps: u64) -> Value {
    let rows: Vec<Value> = (0..n)
        .map(|k| {
            let size_bytes = if k.is_multiple_of(4) { LARGE } else { SMALL };
            json!({"src": 0, "dst": 4, "size_bytes": size_bytes, "start_ps": k * apart_ps})
        })
        .collect();
    json!([{"benchmark": "messages", "messages": rows}])
}

/// Time from the beginning of a packet on a cable between switches until its credit is back.
fn round_trip(size: u64) -> u64 {
    2 * DELAY + ROUTE + ser(size, RATE)
}

#[test]
fn loads_of_one_grade_are_equal() {
    // When the fifth packet comes, the first one's credit is not back, nor that of those between:
    // 64 blocks against one. In a grade of twice that the turn decides, and all large packets have
    // the same port.
    let n = 10;
    let apart_ps = 110_000;
    assert!(ser(LARGE, RATE) + 3 * ser(SMALL, RATE) < 4 * apart_ps);
    assert!(4 * apart_ps < round_trip(LARGE) && 4 * apart_ps > ser(LARGE, RATE));
    let work = every_fourth_large(4 * n, apart_ps);
    let outcome = complete(&bare(tree(20, 4, 4, RATE, DELAY), work, adaptive(2 * LARGE)));
    assert_eq!(bytes_of(&outcome, "leaf-01"), [n * SMALL, n * SMALL, n * SMALL, n * LARGE]);
}

#[test]
fn credit_that_is_not_back_is_load_where_nothing_waits() {
    // The same five packets in the finest grades: the second large one goes elsewhere.
    let work = every_fourth_large(5, 110_000);
    let outcome = complete(&bare(tree(20, 4, 4, RATE, DELAY), work, adaptive(64)));
    assert_eq!(bytes_of(&outcome, "leaf-01"), [SMALL, SMALL, LARGE, SMALL + LARGE]);
}

#[test]
fn what_waits_is_load_where_little_credit_is_spent() {
    // All at one moment, by two up ports: a large packet by one and a small one by the other,
    // where the next large one then waits. The last finds 64 blocks here and 65 there.
    let sizes = [LARGE, SMALL, LARGE, LARGE];
    let flows = sizes.into_iter().zip(0u64..).map(|(size, src)| (src, src + 4, size));
    let outcome = complete(&bare(tree(8, 4, 2, RATE, DELAY), messages(flows), adaptive(64)));
    let up = |port: &str| bytes_of(&outcome, port).iter().sum::<u64>();
    let mut bytes = [up("leaf-01[5]"), up("leaf-01[6]")];
    bytes.sort_unstable();
    assert_eq!(bytes, [SMALL + LARGE, 2 * LARGE]);
}

#[test]
fn an_adaptive_switch_leaves_its_dead_port_out() {
    // The cable dies before the message is sent; the subnet manager is far from done.
    let n = 400;
    let start_ps = 10_000_000;
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 4, "size_bytes": n * LARGE, "start_ps": start_ps}]}]);
    let case = bare(tree(20, 4, 4, RATE, DELAY), work, adaptive(8192));
    let case = with(case, "transport", json!({"acknowledge": true}));
    let dead = json!([{"link": "leaf-01[6]", "down": true, "from_ns": 1000}]);
    let outcome = complete(&with(case, "faults", dead));
    let at = |port: &str| outcome.ports.port_name.iter().position(|name| name == port).unwrap();
    assert_eq!(outcome.ports.port_xmit_discards[at("leaf-01[6]")], 0);
    let sent = [5, 7, 8].map(|port| outcome.ports.xmit_packets[at(&format!("leaf-01[{port}]"))]);
    assert_eq!(sent.iter().sum::<u64>(), n, "each once: {sent:?}");
    assert!(sent.iter().all(|packets| packets.abs_diff(n / 3) <= 2), "{sent:?}");
}

#[test]
fn switches_hash_a_pair_each_in_its_own_way() {
    // All pairs that leave the first pod of a tree of radix 8, four up ports on each of two levels:
    // were the hashes the same, a quarter of the 16 cores would carry everything.
    let flows = (0..16u64).flat_map(|src| (16..128).map(move |dst| (src, dst, SMALL)));
    let case = bare(deep_tree(128, 8, RATE, DELAY), messages(flows), json!({"engine": "ecmp"}));
    let outcome = complete(&case);
    let by_core = (1..=16).map(|core| format!("core-{core:02}["));
    let packets: Vec<u64> =
        by_core.map(|core| bytes_of(&outcome, &core).iter().sum::<u64>() / SMALL).collect();
    assert_eq!(packets.iter().sum::<u64>(), 16 * 112);
    // 112 each on average; a binomial share is within five standard deviations of it.
    assert!(packets.iter().all(|n| n.abs_diff(112) <= 52), "{packets:?}");
}

#[test]
fn what_has_left_is_no_load_any_more() {
    // Two up ports: large, small, and a large one that waits behind the small one. Long after,
    // one more packet each: the turn goes on where it was, to the port where nothing had waited.
    let (late, size) = (100_000_000, LARGE);
    let list = [(0, size, 0), (1, SMALL, 0), (2, size, 0), (0, size, late), (1, size, 2 * late)];
    let row = |(src, size_bytes, start_ps): (u64, u64, u64)| {
        let dst = src + 4;
        json!({"src": src, "dst": dst, "size_bytes": size_bytes, "start_ps": start_ps})
    };
    let rows: Vec<Value> = list.into_iter().map(row).collect();
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let outcome = complete(&bare(tree(8, 4, 2, RATE, DELAY), work, adaptive(64)));
    assert_eq!(bytes_of(&outcome, "leaf-01"), [2 * LARGE, SMALL + 2 * LARGE]);
}

// ---- detours: groups of one router, each joined to each ----------------------------------------

fn one_router_groups(groups: u64, nodes: u64) -> Value {
    json!({"generate": "dragonfly", "groups": groups, "routers_per_group": 1,
        "nodes_per_router": nodes, "global_ports": groups - 1, "host_bits_per_s": RATE,
        "local_bits_per_s": RATE, "global_bits_per_s": RATE, "host_delay_ps": DELAY,
        "local_delay_ps": DELAY, "global_delay_ps": DELAY})
}

/// Packets by each cable of the first router to another group; the first is the direct one.
fn cables_used(fabric: &Value, flows: &[(u64, u64, u64)], detours: Value) -> (u64, Vec<u64>) {
    let sent = |routing: Value| {
        let case = bare(fabric.clone(), messages(flows.iter().copied()), routing);
        let outcome = complete(&with(case, "lanes", json!({"count": 3})));
        let columns = outcome.ports.port_name.iter().zip(&outcome.ports.xmit_packets);
        let own = columns.filter(|(port, _)| port.starts_with("router-01["));
        own.map(|(port, packets)| (port.clone(), *packets)).collect::<Vec<(String, u64)>>()
    };
    let minimal = sent(json!({"engine": "dragonfly"}));
    let direct = &minimal.iter().find(|(_, packets)| *packets > 0).expect("a direct cable").0;
    let chosen = sent(json!({"engine": "dragonfly", "adaptive": detours}));
    let (there, others): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|(port, _)| port == direct);
    let others = others.into_iter().map(|(_, packets)| packets).filter(|packets| *packets > 0);
    (there.iter().map(|(_, packets)| packets).sum(), others.collect())
}

#[test]
fn ugal_weighs_loads_by_hops_and_asks_for_the_bias() {
    // Three groups, so that there is one detour, of two hops for one. Four packets at one moment:
    // the second finds one ahead of it and none on the detour, the fourth two and one, which by
    // hops is even.
    let flows: Vec<(u64, u64, u64)> = (0..4).map(|src| (src, src + 4, LARGE)).collect();
    let split = |bias_bytes: u64| {
        let detours = json!({"non_minimal": "ugal", "bias_bytes": bias_bytes, "grade_bytes": 64});
        cables_used(&one_router_groups(3, 4), &flows, detours)
    };
    assert_eq!(split(0), (3, vec![1]));
    assert_eq!(split(3 * LARGE), (4, vec![]), "three packets ahead are no more than the bias");
}

#[test]
fn valiant_goes_over_every_third_group_and_never_straight() {
    let n = 300;
    for group in 1..5 {
        let flows = [(0, group, n * LARGE)];
        let valiant = json!({"non_minimal": "valiant"});
        let (direct, others) = cables_used(&one_router_groups(5, 1), &flows, valiant);
        assert_eq!(direct, 0, "to group {group}");
        assert_eq!((others.len(), others.iter().sum::<u64>()), (3, n), "to group {group}");
        // A third each on average: within five standard deviations.
        assert!(others.iter().all(|packets| packets.abs_diff(n / 3) <= 41), "{others:?}");
    }
}
