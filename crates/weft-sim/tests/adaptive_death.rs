//! Cables that die under switches that choose: what was chosen for a packet may be gone.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const RATE: u64 = 100 * GBPS;
const DELAY: u64 = 50_000;
const ROUTE: u64 = 100_000;
const MTU: u64 = 4096;

/// 5 groups of 4 routers with a host each, one cable between every two groups.
fn dragonfly() -> Value {
    json!({"generate": "dragonfly", "groups": 5, "routers_per_group": 4, "nodes_per_router": 1,
        "global_ports": 1, "host_bits_per_s": RATE, "local_bits_per_s": RATE,
        "global_bits_per_s": RATE, "host_delay_ps": DELAY, "local_delay_ps": DELAY,
        "global_delay_ps": DELAY})
}

fn row((src, dst, size_bytes, start_ps): (u64, u64, u64, u64)) -> Value {
    json!({"src": src, "dst": dst, "size_bytes": size_bytes, "start_ps": start_ps})
}

/// Explicit messages (src, dst, bytes, start) over cables that die.
fn dying(fabric: Value, flows: &[(u64, u64, u64, u64)], routing: Value, faults: Value) -> Value {
    let rows: Vec<Value> = flows.iter().copied().map(row).collect();
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let flying = routing["engine"] == "dragonfly";
    let case = with(scenario(fabric, work), "routing", routing);
    let case = with(case, "packets", json!({"mtu_bytes": MTU, "headers": "none"}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65_536}));
    let case = with(case, "transport", json!({"timeout_exponent": 4, "retries": 7}));
    let case = with(case, "lanes", json!({"count": if flying { 6 } else { 1 }}));
    with(case, "faults", faults)
}

fn agreed(case: &Value) -> Outcome {
    let outcome = run(case);
    let oracle = run(&with(case.clone(), "elide", json!(false)));
    assert_eq!(physics(&outcome), physics(&oracle));
    outcome
}

fn sum(column: &[u64]) -> u64 {
    column.iter().sum()
}

/// The port of the cable from the group of the first host to that of host `dst`.
fn global_port_to(dst: u64) -> String {
    let flow = [(0, dst, MTU, 0)];
    let outcome = run(&dying(dragonfly(), &flow, json!({"engine": "dragonfly"}), json!([])));
    let named = outcome.ports.port_name.iter().zip(&outcome.ports.xmit_packets);
    // A host, a router's three to its group, and the global one: the fifth port of a router.
    let mut sent = named.filter(|(name, packets)| name.ends_with("[5]") && **packets == 1);
    let (name, _) = sent.next().expect("one hop between groups there");
    name.clone()
}

#[test]
fn a_flow_is_known_by_its_ranks_where_packets_are_numbered() {
    // Messages of a pair would take every port, were each a flow of its own.
    let pairs = || (0..4).map(|src| (src, 4 * (src + 1)));
    let flows: Vec<(u64, u64, u64, u64)> =
        (0..40).flat_map(|_| pairs().map(|(src, dst)| (src, dst, 2 * MTU, 0))).collect();
    let never = json!([{"link": "leaf-02[1]", "lost": 0.0}]);
    let adaptive = json!({"granularity": "flowlet", "flowlet_gap_ns": 2000});
    for routing in [json!({"engine": "ecmp"}), json!({"engine": "dmodk", "adaptive": adaptive})] {
        let case = dying(tree(20, 4, 4, RATE, DELAY), &flows, routing, never.clone());
        let outcome = agreed(&case);
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
        let up = (5..=8)
            .map(|n| value_at(&outcome, &outcome.ports.xmit_packets, &format!("leaf-01[{n}]")));
        let odd: Vec<u64> = up.filter(|packets| packets % 80 > 0).collect();
        assert!(odd.is_empty(), "one pair, one path: {odd:?}");
    }
}

#[test]
fn a_flowlet_leaves_a_port_that_dies() {
    // Whichever of the up ports the flowlet has when three of the four die, it goes on by the last.
    let dead =
        (5..=7).map(|n| json!({"link": format!("leaf-01[{n}]"), "down": true, "from_ns": 9000}));
    let faults = Value::Array(dead.collect());
    let adaptive = json!({"granularity": "flowlet", "flowlet_gap_ns": 100_000});
    let death = json!({"reaction": "subnet_manager", "delay_ns": 1_000_000});
    let routing = json!({"engine": "dmodk", "adaptive": adaptive, "link_death": death});
    for seed in 0..4 {
        let flow = [(0, 4, 100 * MTU, 0)];
        let case = dying(tree(20, 4, 4, RATE, DELAY), &flow, routing.clone(), faults.clone());
        let outcome = agreed(&with(case, "seed", json!(seed)));
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
        let ports = &outcome.ports;
        let discards = (5..=7)
            .map(|n| value_at(&outcome, &ports.port_xmit_discards, &format!("leaf-01[{n}]")));
        // What waited there when it died, at most a packet; nothing is sent after it.
        assert!(discards.sum::<u64>() <= 1);
    }
}

#[test]
fn ugal_goes_over_a_third_group_while_the_direct_cable_is_dead() {
    // The router that has the cable sends itself, so it knows.
    let port = global_port_to(19);
    let router: u64 = port["router-".len()..port.find('[').unwrap()].parse().unwrap();
    let faults = json!([{"link": port, "down": true, "from_ns": 0}]);
    let death = json!({"reaction": "subnet_manager", "delay_ns": 1_000_000_000});
    for detours in ["ugal", "valiant"] {
        let adaptive = json!({"non_minimal": detours});
        let routing = json!({"engine": "dragonfly", "adaptive": adaptive, "link_death": death});
        let flow = [(router - 1, 19, 20 * MTU, 1_000_000)];
        let outcome = agreed(&dying(dragonfly(), &flow, routing, faults.clone()));
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
        // (An answer may come to the other end, whose router may not be the one it enters by.)
        assert_eq!(value_at(&outcome, &outcome.ports.port_xmit_discards, &port), 0, "{detours}");
    }
}

#[test]
fn a_packet_that_is_led_round_does_not_go_back_for_its_detour() {
    // Every packet is on a detour; the switch reacts long before the subnet manager does. Those
    // whose third group is cut off must go straight on, not back to the router with the dead port.
    let faults = json!([{"link": global_port_to(19), "down": true, "from_ns": 0}]);
    let death = json!({"reaction": "switch", "delay_ns": 1_000_000_000});
    let adaptive = json!({"non_minimal": "valiant"});
    let routing = json!({"engine": "dragonfly", "adaptive": adaptive, "link_death": death});
    let n = 60;
    let flow = [(0, 11, n * MTU, 1_000_000), (1, 11, n * MTU, 1_000_000)];
    let outcome = agreed(&dying(dragonfly(), &flow, routing, faults));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    // Between two groups over a third: three times local, twice global, two hosts; led round once,
    // two more. Answers as many; nothing is sent twice.
    assert_eq!(sum(&outcome.ports.port_xmit_discards), 0);
    assert!(outcome.hops <= 2 * (n + 1) * 9, "{} hops", outcome.hops);
}

#[test]
fn a_packet_that_comes_back_does_not_follow_those_that_set_out() {
    // The sender's router has the cable to the destination's group, its neighbours' are dead: a
    // detour over them is given up there and comes back, to go straight on.
    let port = global_port_to(19);
    let router = port["router-".len()..port.find('[').unwrap()].parse::<u64>().unwrap();
    let dead = (1..=4).filter(|number| *number != router);
    let down =
        |number| json!({"link": format!("router-{number:02}[5]"), "down": true, "from_ns": 0});
    let faults = Value::Array(dead.map(down).collect());
    let death = json!({"reaction": "switch", "delay_ns": 1_000_000_000});
    let adaptive = json!({"non_minimal": "valiant", "granularity": "flowlet",
        "flowlet_gap_ns": 5000});
    let routing = json!({"engine": "dragonfly", "adaptive": adaptive, "link_death": death});
    let n = 20;
    let flow = [(router - 1, 19, n * MTU, 1_000_000)];
    let outcome = agreed(&dying(dragonfly(), &flow, routing, faults));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    let to_neighbours = (2..=4).map(|n| format!("router-{router:02}[{n}]"));
    let led: u64 =
        to_neighbours.map(|port| value_at(&outcome, &outcome.ports.xmit_packets, &port)).sum();
    assert!((n..2 * n).contains(&led), "{led} packets set out on a detour and came back");
}

fn any_death() -> impl Strategy<Value = Value> {
    let routing = prop::sample::select(vec![
        json!({"engine": "dmodk", "adaptive": {}}),
        json!({"engine": "minhop", "adaptive": {"granularity": "flowlet"}}),
        json!({"engine": "ecmp"}),
        json!({"engine": "dragonfly", "adaptive": {}}),
        json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal"}}),
        json!({"engine": "dragonfly", "adaptive": {"non_minimal": "valiant",
            "granularity": "flowlet"}}),
    ]);
    let flows = prop::collection::vec((0u64..12, 0u64..11, 0u64..150_000, 0u64..30_000_000), 3..20);
    let faults = prop::collection::vec((1u64..13, 2u64..6, 0u64..30_000, 0u64..30_000), 1..4);
    let reaction = prop::sample::select(vec!["subnet_manager", "switch"]);
    let model = prop::sample::select(vec!["voq", "input_fifo"]);
    let delay_ns = prop::sample::select(vec![2000u64, 20_000, 200_000]);
    let notice_ns = prop::sample::select(vec![0u64, 200, 3000]);
    let reorder_ns = prop::sample::select(vec![None, Some(500u64), Some(5000)]);
    let times = (delay_ns, notice_ns, reorder_ns);
    (routing, flows, faults, reaction, (model, times, 0u64..60_000, any::<u64>())).prop_map(
        |(mut routing, flows, faults, reaction, (model, times, extra, seed))| {
            let (delay_ns, notice_ns, reorder_ns) = times;
            let link_death =
                json!({"reaction": reaction, "delay_ns": delay_ns, "notice_ns": notice_ns});
            routing["link_death"] = link_death;
            let reorder_ns = reorder_ns.filter(|_| routing.get("adaptive").is_some());
            // Four routers that lose two cables of their group may be a ring.
            routing["allow_credit_loops"] = json!(true);
            let flying = routing["engine"] == "dragonfly";
            let fabric = if flying { dragonfly() } else { tree(12, 4, 3, RATE, DELAY) };
            let fault = |(at, port, from_ns, length_ns): (u64, u64, u64, u64)| {
                let link = match flying {
                    true => format!("router-{at:02}[{port}]"),
                    false => format!("leaf-0{}[{}]", 1 + at % 3, 5 + port % 3),
                };
                let mut fault = json!({"link": link, "down": true, "from_ns": from_ns});
                if length_ns % 3 > 0 {
                    fault["until_ns"] = json!(from_ns + length_ns);
                }
                fault
            };
            let flows: Vec<(u64, u64, u64, u64)> = flows
                .into_iter()
                .map(|(s, d, size, start)| (s, d + u64::from(d >= s), size, start))
                .collect();
            let faults = Value::Array(faults.into_iter().map(fault).collect());
            let mut case = dying(fabric, &flows, routing, faults);
            case["transport"]["reorder_ns"] = json!(reorder_ns);
            let switch = json!({"model": model, "delay_ps": ROUTE, "buffer_bytes": 4480 + extra});
            with(with(case, "switch", switch), "seed", json!(seed))
        },
    )
}

fn few_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(17);
    ProptestConfig { cases: 60, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]

    /// Whatever dies under whatever chooses: the oracle agrees, and what HCAs send is received,
    /// lost on a wire, discarded, or (of a run that ends early) still there.
    #[test]
    fn nothing_is_lost_uncounted(case in any_death()) {
        let outcome = run(&case);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&outcome), physics(&oracle));
        let ports = &outcome.ports;
        let lost = sum(&ports.port_rcv_errors) + sum(&ports.port_xmit_discards);
        let at_hcas = |column: &[u64]| -> u64 {
            let named = ports.port_name.iter().zip(column);
            named.filter(|(name, _)| name.contains("hca")).map(|(_, packets)| packets).sum()
        };
        let (sent, came) = (at_hcas(&ports.port_xmit_pkts), at_hcas(&ports.port_rcv_pkts));
        match outcome.status {
            Status::Complete => prop_assert_eq!(sent, came + lost),
            // A connection may break for good before there are new tables.
            Status::Failed | Status::Deadlock => prop_assert!(sent >= came + lost),
            status => prop_assert!(false, "{:?}: {}", status, &outcome.message),
        }
    }
}
