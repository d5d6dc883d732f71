//! Laws of adaptive routing, hashed paths and detours.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const RATE: u64 = 100 * GBPS;
const DELAY: u64 = 50_000;
const ROUTE: u64 = 100_000;

fn bare(fabric: Value, work: Value, routing: Value) -> Value {
    let case = with(scenario(fabric, work), "routing", routing);
    let case = with(case, "packets", json!({"headers": "none"}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}))
}

fn packets_at(outcome: &Outcome, ports: impl Iterator<Item = String>) -> Vec<u64> {
    let names = &outcome.ports.port_name;
    let at = |port: String| names.iter().position(|name| *name == port).expect("a port");
    ports.map(|port| outcome.ports.xmit_packets[at(port)]).collect()
}

/// Packets that left over the four up ports of the first of leaves with four hosts.
fn up_of_leaf_1(outcome: &Outcome) -> Vec<u64> {
    packets_at(outcome, (5..=8).map(|number| format!("leaf-1[{number}]").replace("-1[", "-01[")))
}

/// From each host of the first leaf to another leaf, all by the same up port of d-mod-k.
fn colliding(size: u64) -> Value {
    messages((0..4).map(|src| (src, 4 * (src + 1), size)))
}

#[test]
fn flows_that_collide_under_d_mod_k_are_spread_evenly_over_the_group() {
    let (fabric, size) = (tree(20, 4, 4, RATE, DELAY), 4096 * 250);
    let slowest = |routing: Value| {
        let outcome = complete(&bare(fabric.clone(), colliding(size), routing));
        (outcome.rows.duration_ps.iter().copied().max().unwrap(), up_of_leaf_1(&outcome))
    };
    let (fixed_ps, up) = slowest(json!({"engine": "dmodk"}));
    assert_eq!(up, [1000, 0, 0, 0], "the case is what it says");
    assert!(fixed_ps >= ser(4 * size, RATE), "four flows share one cable");
    for grade_bytes in [4096, 8192] {
        let adaptive = json!({"grade_bytes": grade_bytes});
        let (chosen_ps, up) = slowest(json!({"engine": "dmodk", "adaptive": adaptive}));
        assert_eq!(up.iter().sum::<u64>(), 1000);
        assert!(up.iter().all(|n| n.abs_diff(250) <= 10), "{up:?}");
        // Each flow has a cable's worth of the four: no more than a buffer of extra wait.
        let alone = 4 * DELAY + 3 * ROUTE + ser(size, RATE);
        assert!(chosen_ps <= alone + ser(65_536, RATE), "{chosen_ps} against {alone}");
    }
}

#[test]
fn equal_grades_are_taken_in_turn() {
    // One grade for every load there can be: only the turn decides.
    let adaptive = json!({"grade_bytes": 1 << 30});
    let routing = json!({"engine": "dmodk", "adaptive": adaptive});
    let work = messages([(0, 4, 4096 * 400)]);
    let outcome = complete(&bare(tree(20, 4, 4, RATE, DELAY), work, routing));
    assert_eq!(up_of_leaf_1(&outcome), [100; 4]);
}

#[test]
fn a_port_whose_credit_is_back_is_as_good_as_any() {
    // Packets so far apart that all is quiet between them: however much each one took, the turn
    // alone decides, and every fourth packet, the large one, has the same port.
    let n = 10;
    let rows: Vec<Value> = (0..4 * n)
        .map(|k: u64| {
            let size_bytes = if k.is_multiple_of(4) { 4096 } else { 64 };
            json!({"src": 0, "dst": 4, "size_bytes": size_bytes, "start_ps": k * 100_000_000})
        })
        .collect();
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let routing = json!({"engine": "dmodk", "adaptive": {"grade_bytes": 64}});
    let outcome = complete(&bare(tree(20, 4, 4, RATE, DELAY), work, routing));
    assert_eq!(up_of_leaf_1(&outcome), [n; 4]);
    let is_up = |name: &&String| (5..=8).any(|port| **name == format!("leaf-01[{port}]"));
    let names = &outcome.ports.port_name;
    let at = |name: &String| names.iter().position(|other| other == name).expect("a port");
    let ports = names.iter().filter(is_up).map(at);
    let mut bytes: Vec<u64> = ports.map(|at| outcome.ports.xmit_bytes[at]).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [64 * n, 64 * n, 64 * n, 4096 * n]);
}

#[test]
fn the_seed_turns_ties() {
    let first_port = |seed: u64| {
        let routing = json!({"engine": "dmodk", "adaptive": {}});
        let case = bare(tree(20, 4, 4, RATE, DELAY), messages([(0, 4, 4096)]), routing);
        let outcome = complete(&with(case, "seed", json!(seed)));
        up_of_leaf_1(&outcome).iter().position(|n| *n == 1).expect("one packet went up")
    };
    let ports: Vec<usize> = (0..16).map(first_port).collect();
    assert_eq!(ports, (0..16).map(first_port).collect::<Vec<usize>>());
    assert!((0..4).all(|port| ports.contains(&port)), "{ports:?}");
}

#[test]
fn a_flowlet_keeps_its_port_until_a_pause() {
    let up = |gap_ns: f64| {
        let adaptive = json!({"granularity": "flowlet", "flowlet_gap_ns": gap_ns});
        let routing = json!({"engine": "dmodk", "adaptive": adaptive});
        let work = messages([(0, 4, 4096 * 400)]);
        up_of_leaf_1(&complete(&bare(tree(20, 4, 4, RATE, DELAY), work, routing)))
    };
    // Packets of a lone flow follow one another by their serialisation, 327.68 ns.
    let mut kept = up(328.0);
    kept.sort_unstable();
    assert_eq!(kept, [0, 0, 0, 400], "no pause is that long");
    assert!(up(327.0).iter().all(|n| n.abs_diff(100) <= 10), "every packet is one");
}

#[test]
fn answers_do_not_follow_data_whose_rank_is_the_number_of_their_hca() {
    // Data from rank 0 to rank 3, on the sixth HCA; answers to HCA number 3, by the same spine.
    let adaptive = json!({"granularity": "flowlet", "flowlet_gap_ns": 5000});
    let routing = json!({"engine": "dmodk", "adaptive": adaptive});
    let case = bare(tree(12, 4, 1, RATE, DELAY), messages([(0, 3, 4096 * 50)]), routing);
    let case = with(case, "transport", json!({"ack_every": 1}));
    let nodes = json!({"nodes": ["n004", "n006"], "tasks_per_node": 2});
    let outcome = complete(&with(case, "placement", nodes));
    let of = |port: &str| packets_at(&outcome, [port.to_owned()].into_iter())[0];
    let (data, answers) = (of("n004/hca0[1]"), of("n006/hca0[1]"));
    assert!(data == 50 && answers > 0);
    assert_eq!(of("leaf-01[4]"), answers, "they arrive where they should");
    assert_eq!(of("leaf-02[2]"), data);
}

#[test]
fn a_hashed_pair_keeps_one_path_and_the_seed_says_which() {
    let up = |seed: u64| {
        let flows = (0..4).flat_map(|src| (4..20).map(move |dst| (src, dst, 4096)));
        let case = bare(tree(20, 4, 4, RATE, DELAY), messages(flows), json!({"engine": "ecmp"}));
        up_of_leaf_1(&complete(&with(case, "seed", json!(seed))))
    };
    assert_eq!(up(1), up(1));
    assert!((2..6).any(|seed| up(seed) != up(1)));
    assert_eq!(up(1).iter().sum::<u64>(), 64);
    assert!(up(1).iter().all(|n| (6..=30).contains(n)), "64 pairs over 4 ports: {:?}", up(1));
    let case =
        bare(tree(20, 4, 4, RATE, DELAY), messages([(1, 9, 409_600)]), json!({"engine": "ecmp"}));
    let mut alone = up_of_leaf_1(&complete(&case));
    alone.sort_unstable();
    assert_eq!(alone, [0, 0, 0, 100]);
}

#[test]
fn a_hashed_pair_is_the_same_where_packets_are_numbered() {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 9000, "iterations": 3},
                      {"benchmark": "allreduce", "size_bytes": 20_000}]);
    let case = bare(tree(20, 4, 4, RATE, DELAY), work, json!({"engine": "ecmp"}));
    let case = with(case, "transport", json!({"ack_every": 3}));
    // Packets may be lost, long after all is done: until then they are only numbered.
    let later = json!([{"link": "n001/hca0[1]", "lost": 1, "from_ns": 1e12}]);
    let (plain, numbered) = (complete(&case), complete(&with(case, "faults", later)));
    assert_eq!(plain.rows, numbered.rows);
    assert_eq!(plain.trace_hash, numbered.trace_hash);
}

/// 9 groups of 4 routers with 2 hosts each, one cable between every two groups.
fn dragonfly() -> Value {
    json!({"generate": "dragonfly", "groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
        "global_ports": 2, "host_bits_per_s": RATE, "local_bits_per_s": RATE,
        "global_bits_per_s": RATE, "host_delay_ps": DELAY, "local_delay_ps": DELAY,
        "global_delay_ps": DELAY})
}

fn flown(flows: Vec<(u64, u64, u64)>, adaptive: Option<Value>) -> Outcome {
    let mut routing = json!({"engine": "dragonfly"});
    if let Some(adaptive) = adaptive {
        routing["adaptive"] = adaptive;
    }
    let case = bare(dragonfly(), messages(flows), routing);
    complete(&with(case, "lanes", json!({"count": 3})))
}

/// When the last is done.
fn span(flows: &[(u64, u64, u64)], non_minimal: Option<&str>) -> f64 {
    let bias_bytes = if non_minimal == Some("ugal") { 16_384 } else { 0 };
    let adaptive = non_minimal.map(|name| json!({"non_minimal": name, "bias_bytes": bias_bytes}));
    let outcome = flown(flows.to_vec(), adaptive);
    outcome.rows.duration_ps.iter().copied().max().unwrap() as f64
}

/// Every host to its like in the next group: one cable for the eight hosts of a group.
fn adversarial(size: u64) -> Vec<(u64, u64, u64)> {
    (0..72).map(|src| (src, (src + 8) % 72, size)).collect()
}

/// Every host to `per_host` others, by shifts that meet every group equally often.
fn uniform(size: u64) -> Vec<(u64, u64, u64)> {
    let shifts = [11, 19, 29, 35, 43, 50, 58, 65];
    shifts.iter().flat_map(|s| (0..72).map(move |src| (src, (src + s) % 72, size))).collect()
}

#[test]
fn detours_beat_the_shortest_path_between_two_groups() {
    let size = 4096 * 100;
    let minimal = span(&adversarial(size), None);
    // All eight hosts of a group over the one cable to the next.
    assert!(minimal >= ser(8 * size, RATE) as f64);
    let (ugal, valiant) =
        (span(&adversarial(size), Some("ugal")), span(&adversarial(size), Some("valiant")));
    assert!(ugal < 0.6 * minimal, "{ugal} against {minimal}");
    assert!(valiant < 0.6 * minimal, "{valiant} against {minimal}");
}

#[test]
fn ugal_is_minimal_where_traffic_is_even_and_always_detouring_is_not() {
    let flows = uniform(4096 * 12);
    let (minimal, ugal) = (span(&flows, None), span(&flows, Some("ugal")));
    let valiant = span(&flows, Some("valiant"));
    assert!(ugal <= 1.1 * minimal, "{ugal} against {minimal}");
    assert!(valiant > 1.3 * minimal, "{valiant} against {minimal}");
    // Hops that carry data: what a detour costs is cables crossed.
    let hops = |name| flown(flows.clone(), Some(json!({"non_minimal": name}))).hops as f64;
    let ratio = hops("valiant") / hops("none");
    assert!((1.3..=1.8).contains(&ratio), "{ratio}");
}

#[test]
fn lanes_that_routes_need_are_asked_for() {
    let case = bare(dragonfly(), messages([(0, 9, 1)]), json!({"engine": "dragonfly"}));
    let text = refusal(&case);
    let what = "lanes.count: 1 lanes, and routes raise a packet's lane up to 1 times\n  expected: \
                at least 2";
    assert!(text.starts_with(what), "{text}");
    let routing = json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal"}});
    let text = refusal(&with(with(case, "routing", routing), "lanes", json!({"count": 2})));
    assert!(text.contains("up to 2 times\n  expected: at least 3"), "{text}");
}

#[test]
fn what_routing_cannot_do_is_refused() {
    let with_adaptive = |adaptive: Value| json!({"engine": "dmodk", "adaptive": adaptive});
    let cases = [
        (with_adaptive(json!({"grade_bytes": 5000})), "routing.adaptive.grade_bytes: 5000 bytes"),
        (with_adaptive(json!({"grade_bytes": 32})), "routing.adaptive.grade_bytes: 32 bytes"),
        (with_adaptive(json!({"grades": 1})), "routing.adaptive.grades: 1 grades"),
        (with_adaptive(json!({"bias_bytes": 1u64 << 50})), "routing.adaptive.bias_bytes: 11258"),
        (with_adaptive(json!({"flowlet_gap_ns": -1})), "routing.adaptive.flowlet_gap_ns: -1"),
        (with_adaptive(json!({"flowlet_gap_ns": 600})), "routing.adaptive.flowlet_gap_ns: packets"),
        (with_adaptive(json!({"bias_bytes": 64})), "routing.adaptive.bias_bytes: no detour"),
        (
            with_adaptive(json!({"service_levels": [16]})),
            "routing.adaptive.service_levels: service",
        ),
        (
            with_adaptive(json!({"service_levels": [1]})),
            "routing.adaptive.service_levels: levels 0",
        ),
        (with_adaptive(json!({"non_minimal": "ugal"})), "routing.adaptive.non_minimal: a switch"),
        (json!({"engine": "dragonfly"}), "routing.engine: no cable leads from one group"),
        (json!({"engine": "torus"}), "routing.engine: unknown variant `torus`"),
    ];
    for (routing, what) in cases {
        let text = refusal(&bare(tree(8, 4, 2, RATE, DELAY), messages([(0, 5, 1)]), routing));
        assert!(text.starts_with(what), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    }
    let case = bare(tree(8, 4, 2, RATE, DELAY), messages([(0, 5, 1)]), with_adaptive(json!({})));
    let shared = json!({"model": "shared_buffer", "output_share": 0.5});
    let text = refusal(&with(case, "switch", shared.clone()));
    let what = "switch.model: 'shared_buffer' counts by the output";
    assert!(text.starts_with(what), "{text}");
    // An engine that the fabric names chooses as well.
    let mut fabric = tree(8, 4, 2, RATE, DELAY);
    fabric["routing"] = json!({"engine": "ecmp"});
    let case = bare(fabric, messages([(0, 5, 1)]), json!({}));
    let text = refusal(&with(case, "switch", shared));
    assert!(text.starts_with(what), "{text}");
    let routing = json!({"engine": "minhop", "adaptive": {"non_minimal": "ugal"}});
    let text = refusal(&bare(dragonfly(), messages([(0, 9, 1)]), routing));
    assert!(text.starts_with("routing.adaptive.non_minimal: detours over a third group"), "{text}");
}

#[test]
fn a_wrong_entry_of_a_table_that_no_one_follows_is_refused() {
    let wrong = json!([{"switch": "leaf-01", "dst": "n006", "port": 5}]);
    let case = |routing: Value| {
        let case = bare(tree(8, 4, 2, RATE, DELAY), messages([(0, 5, 1)]), routing);
        with(with(case, "faults", wrong.clone()), "lanes", json!({"count": 2}))
    };
    for routing in [json!({"engine": "ecmp"}), json!({"adaptive": {}})] {
        let text = refusal(&case(routing));
        let what = "faults: an entry of a table that no packet follows\n  expected: routing by";
        assert!(text.starts_with(what), "{text}");
    }
    complete(&case(json!({"adaptive": {"service_levels": [1]}})));
}

#[test]
fn levels_that_do_not_choose_follow_the_tables() {
    let adaptive = json!({"service_levels": [1]});
    let routing = json!({"engine": "dmodk", "adaptive": adaptive});
    let case = bare(tree(20, 4, 4, RATE, DELAY), colliding(409_600), routing);
    let outcome = complete(&with(case, "lanes", json!({"count": 2})));
    assert_eq!(up_of_leaf_1(&outcome), [400, 0, 0, 0]);
}

fn any_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..24, 0u64..23, 0u64..50_000), 1..40);
    let routing = prop::sample::select(vec![
        json!({"engine": "dmodk", "adaptive": {}}),
        json!({"engine": "minhop", "adaptive": {"grade_bytes": 64, "grades": 3}}),
        json!({"engine": "updn", "adaptive": {"granularity": "flowlet", "flowlet_gap_ns": 700}}),
        json!({"engine": "ecmp"}),
        json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal"}}),
        json!({"engine": "dragonfly", "adaptive": {"non_minimal": "valiant",
            "granularity": "flowlet"}}),
        json!({"engine": "dragonfly"}),
    ]);
    let model = prop::sample::select(vec!["voq", "input_fifo", "infinite"]);
    let up = prop::sample::select(vec![54_545_000_000u64, RATE, 2 * RATE]);
    (flows, routing, model, up, 0u64..60_000, any::<u64>()).prop_map(
        |(flows, routing, model, up, extra, seed)| {
            let flying = routing["engine"] == "dragonfly";
            let mut fabric = if flying { dragonfly() } else { tree(24, 4, 3, RATE, 10_000) };
            let faster = if flying { "global_bits_per_s" } else { "switch_bits_per_s" };
            fabric[faster] = json!(up);
            let flows = flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size));
            let case = bare(fabric, messages(flows), routing);
            let case = with(case, "lanes", json!({"count": if flying { 3 } else { 1 }}));
            let switch = json!({"model": model, "delay_ps": 70_000, "buffer_bytes": 4160 + extra});
            with(with(case, "switch", switch), "seed", json!(seed))
        },
    )
}

fn few_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(80);
    ProptestConfig { cases: 80, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn choices_are_the_same_with_and_without_elided_events(case in any_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}
