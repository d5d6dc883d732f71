//! Dynamically connected transport: one target costs what a connection costs, another one a turn.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::Status;

const RATE: u64 = 100 * GBPS;
const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const MTU: u64 = 4096;
/// LRH + BTH + AETH + ICRC + VCRC.
const ACK: u64 = HEADER + 4;
const RECONNECT_NS: u64 = 1700;

/// Hosts at one switch.
fn one_switch(work: Value, transport: Value) -> Value {
    let case = scenario(tree(6, 6, 1, RATE, DELAY), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    with(case, "transport", transport)
}

fn dct(initiators: u32) -> Value {
    json!({"kind": "dct", "dct": {"initiators": initiators, "reconnect_ns": RECONNECT_NS}})
}

/// Zero-load time of so many bytes in packets of a message, from the first bit to the last.
fn network(wire_bytes: u64) -> u64 {
    2 * DELAY + ROUTE + ser(wire_bytes, RATE)
}

#[test]
fn one_target_costs_nothing_more_than_a_connection() {
    let lists = [
        messages([(0, 1, 9 * MTU), (0, 1, 100), (2, 3, 5000), (0, 1, 70_000), (3, 2, 8)]),
        json!([{"benchmark": "bandwidth", "size_bytes": 50_000, "window": 16, "iterations": 3}]),
        json!([{"benchmark": "latency", "size_bytes": 8, "iterations": 3}]),
        json!([{"benchmark": "message_rate", "size_bytes": 700, "window": 9}]),
    ];
    let rendezvous = json!({"regimes": [{"max_bytes": 1000, "send_overhead_ns": 100},
        {"protocol": "rendezvous", "latency_ns": 300}]});
    for work in lists {
        for host in [free_hosts(), rendezvous.clone()] {
            let rc = with(one_switch(work.clone(), json!({})), "host", host);
            let one = complete(&with(rc.clone(), "transport", dct(1)));
            assert_eq!(one, complete(&rc), "{work}");
            assert_eq!(one.reconnects, 0);
        }
    }
}

/// Each turn waits for the last target's acknowledgement, and then for the connection.
#[test]
fn alternating_targets_pay_once_a_turn() {
    for size in [100, 5 * MTU] {
        let list = messages((0..7).map(|k| (0, 1 + k % 2, size)));
        let outcome = complete(&one_switch(list, dct(1)));
        let one_way = network(framed(size, MTU));
        let turn = one_way + network(ACK) + RECONNECT_NS * 1000;
        let expected: Vec<u64> = (0..7).map(|k| k * turn + one_way).collect();
        assert_eq!(outcome.rows.duration_ps, expected, "{size}");
        assert_eq!(outcome.reconnects, 6);
    }
}

/// Two to each target, one after the other: only every second message is a turn.
#[test]
fn messages_of_one_target_follow_at_once() {
    let size = 3 * MTU;
    let list = messages((0..6).map(|k| (0, 1 + k / 2 % 2, size)));
    let outcome = complete(&one_switch(list, dct(1)));
    let both = network(2 * framed(size, MTU));
    let turn = both + network(ACK) + RECONNECT_NS * 1000;
    let ends: Vec<u64> = (0..3).map(|k| k * turn + both).collect();
    let seen: Vec<u64> = outcome.rows.duration_ps.iter().skip(1).step_by(2).copied().collect();
    assert_eq!((seen, outcome.reconnects), (ends, 2));
}

#[test]
fn enough_initiators_hide_it() {
    let list = messages((0..20).map(|k| (0, 1 + k % 4, 2 * MTU)));
    let rc = complete(&one_switch(list.clone(), json!({})));
    let of = |initiators| complete(&one_switch(list.clone(), dct(initiators)));
    // Two that serve two targets each turn as often as three of which one serves two.
    let [one, two, three] = [1, 2, 3].map(|n| of(n).end_ps);
    assert!(one > two.max(three) && two.min(three) > rc.end_ps, "{one} {two} {three}");
    assert_eq!(of(1).reconnects, 19);
    for enough in [4, 8, 255] {
        assert_eq!(of(enough), rc, "{enough}");
    }
}

/// Whatever waits for whom, it ends, and carries the same bytes as connections of every pair.
#[test]
fn collectives_take_longer_by_turns_alone() {
    let of = |benchmark: &str, algorithm: &str| {
        let step = json!({"benchmark": benchmark, "algorithm": algorithm, "iterations": 2});
        if benchmark == "barrier" { step } else { with(step, "size_bytes", json!(9000)) }
    };
    for (benchmark, algorithm) in [
        ("alltoall", "linear"),
        ("allreduce", "recursive_doubling"),
        ("allgather", "bruck"),
        ("barrier", "dissemination"),
        ("broadcast", "binomial"),
    ] {
        let work = json!([of(benchmark, algorithm)]);
        let rc = complete(&one_switch(work.clone(), json!({})));
        let one = complete(&one_switch(work, dct(1)));
        assert!(one.reconnects > 0 && one.end_ps > rc.end_ps, "{benchmark}");
        assert_eq!(one.ports.xmit_bytes, rc.ports.xmit_bytes, "{benchmark}");
        assert_eq!(one.hops, rc.hops);
    }
    // Round a ring every rank has one target.
    let work = json!([of("allgather", "ring")]);
    let rc = complete(&one_switch(work.clone(), json!({})));
    assert_eq!(complete(&one_switch(work, dct(1))), rc);
}

#[test]
fn what_initiators_are_not_followed_through_is_refused() {
    let refused = |transport: Value, beginning: &str| {
        let text = refusal(&one_switch(messages([(0, 1, 8)]), transport));
        assert!(text.starts_with(beginning), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    };
    refused(json!({"kind": "ud"}), "transport.kind: unknown variant `ud`");
    refused(json!({"dct": {}}), "transport.dct: 'rc' has no initiators");
    refused(dct(0), "transport.dct.initiators: 0 initiators");
    refused(dct(256), "transport.dct.initiators: 256 initiators");
    let endless = json!({"kind": "dct", "dct": {"reconnect_ns": -1}});
    refused(endless, "transport.dct.reconnect_ns: -1 is no such time");
    let ages = json!({"kind": "dct", "dct": {"reconnect_ns": 60e9}});
    refused(ages, "transport.dct.reconnect_ns: the watchdog would take a turn for a stall");
    let deaf = json!({"kind": "dct", "acknowledge": false});
    refused(deaf, "transport.acknowledge: an initiator waits for acknowledgements");
    let also = |key: &str, value: Value, beginning: &str| {
        let text = refusal(&with(one_switch(messages([(0, 1, 8)]), dct(2)), key, value));
        assert!(text.starts_with(beginning), "{text}");
    };
    let lossy = json!([{"link": "leaf-01[2]", "lost": 0.1}]);
    also("faults", lossy, "transport.kind: 'dct' does not repeat packets");
    also("fidelity", json!("flow"), "transport.kind: flows have no initiators");
    let control = json!({"rtt": {}});
    also("congestion_control", control, "transport.kind: 'dct' with congestion control");
    let node = json!({"vertices": [{"name": "gpu0", "kind": "gpu"}], "ranks_on": ["gpu0"],
        "links": [{"a": "gpu0", "b": "hca0", "bits_per_s": RATE, "delay_ps": 1000}]});
    also("node", node, "transport.kind: 'dct' inside nodes");
}

fn any_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..40_000), 1..40);
    let models = prop::sample::select(vec!["voq", "input_fifo", "infinite"]);
    let rest = (1u32..4, 0u32..3000, 0u32..2000, any::<bool>(), 1u8..3, any::<u64>());
    (flows, models, rest).prop_map(|(flows, model, rest)| {
        let (initiators, reconnect_ns, latency_ns, adaptive, lanes, seed) = rest;
        let flows = flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size));
        let case = scenario(tree(12, 3, 2, RATE, 10_000), messages(flows));
        let case = with(case, "switch", json!({"model": model, "buffer_bytes": 9000}));
        let transport = json!({"kind": "dct", "ack_every": 3,
            "dct": {"initiators": initiators, "reconnect_ns": reconnect_ns}});
        let case = with(case, "transport", transport);
        let regimes = json!([{"max_bytes": 9000, "latency_ns": latency_ns},
            {"protocol": "rendezvous", "latency_ns": latency_ns / 2}]);
        let case = with(case, "host", json!({"regimes": regimes, "message_gap_ns": 5}));
        let case = with(case, "lanes", json!({"count": lanes}));
        let mut case = with(case, "seed", json!(seed));
        if adaptive {
            case["routing"]["adaptive"] = json!({"grade_bytes": 4096});
        }
        case
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, failure_persistence: None, rng_seed: RngSeed::Fixed(8),
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_oracle_agrees(case in any_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
        let rc = run(&with(case.clone(), "transport", json!({"ack_every": 3})));
        prop_assert_eq!(rc.rows.duration_ps.len(), elided.rows.duration_ps.len());
        prop_assert_eq!(rc.reconnects, 0);
    }
}

/// Hops between groups raise the lane of an acknowledgement; its initiator keeps the first lane.
#[test]
fn an_acknowledgement_on_a_raised_lane_finds_its_initiator() {
    let fabric = json!({"generate": "dragonfly", "groups": 3, "routers_per_group": 2,
        "nodes_per_router": 2, "global_ports": 1, "host_bits_per_s": RATE,
        "local_bits_per_s": RATE, "global_bits_per_s": RATE, "host_delay_ps": DELAY,
        "local_delay_ps": DELAY, "global_delay_ps": DELAY});
    let work = json!([{"benchmark": "alltoall", "algorithm": "linear", "size_bytes": 9000}]);
    for count in [2, 4, 5] {
        let case = scenario(fabric.clone(), work.clone());
        let case = with(case, "routing", json!({"engine": "dragonfly"}));
        let levels: Vec<u64> = (0..16).map(|level| level % (count / 2)).collect();
        let case = with(case, "lanes", json!({"count": count, "sl2vl": levels}));
        let outcome = complete(&with(case, "transport", dct(2)));
        assert!(outcome.reconnects > 0);
    }
}
