//! Laws of collectives that switches carry out: what an operation costs, and what it does not.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{CollectiveMethod, Outcome, Status};

const RATE: u64 = 100 * GBPS;
const WIRE_PS: u64 = 30_000;
const ROUTE_PS: u64 = 90_000;
const REDUCTION_PS: u64 = 400_000;
/// What a host's processor spends on a send, and on a receive.
const SEND_PS: u64 = 210_000;
const RECV_PS: u64 = 170_000;
const LATENCY_PS: u64 = 500_000;
const PAYLOAD: u64 = 256;

fn model() -> Value {
    json!({"reduction_ns": REDUCTION_PS / 1000, "payload_bytes": PAYLOAD})
}

/// A collective of switches, hosts with costs of their own.
fn asked(fabric: Value, step: Value) -> Value {
    let case = scenario(fabric, json!([step]));
    let case = with(case, "switch", json!({"delay_ps": ROUTE_PS}));
    let regime = json!({"send_overhead_ns": SEND_PS / 1000, "recv_overhead_ns": RECV_PS / 1000,
        "latency_ns": LATENCY_PS / 1000});
    let case = with(case, "host", json!({"regimes": [regime]}));
    with(case, "in_network", model())
}

fn allreduce(size_bytes: u64) -> Value {
    json!({"benchmark": "allreduce", "algorithm": "sharp", "size_bytes": size_bytes})
}

/// A run that the switches carried out.
fn carried_out(case: &Value) -> Outcome {
    let outcome = run(case);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert_eq!(
        outcome.offloads.by,
        [CollectiveMethod::Operations],
        "{:?}",
        outcome.offloads.reason
    );
    outcome
}

/// An operation of `payload` bytes over so many levels of switches: up and down every wire, stored
/// and routed by every switch, reduced on the way up and copied on the way down (once by the root).
fn operation_ps(levels: u64, payload: u64) -> u64 {
    let wire = ser(payload + HEADER, RATE) + WIRE_PS;
    let hosts = SEND_PS + LATENCY_PS + RECV_PS;
    let routed = (2 * levels - 1) * ROUTE_PS;
    hosts + 2 * levels * wire + routed + (2 * levels - 1) * REDUCTION_PS
}

/// Sixteen nodes below one, two and three levels of switches.
fn fabrics() -> [(u64, Value); 3] {
    [
        (1, tree(16, 16, 1, RATE, WIRE_PS)),
        (2, tree(16, 4, 2, RATE, WIRE_PS)),
        (3, deep_tree(16, 4, RATE, WIRE_PS)),
    ]
}

#[test]
fn an_operation_costs_its_wires_its_switches_and_its_reductions() {
    for (levels, fabric) in fabrics() {
        for size in [0, 8, 200, PAYLOAD] {
            let outcome = carried_out(&asked(fabric.clone(), allreduce(size)));
            assert_eq!(outcome.rows.duration_ps, [operation_ps(levels, size)], "{levels} levels");
        }
    }
}

#[test]
fn a_barrier_is_an_operation_without_payload_and_reduce_and_broadcast_cost_as_much() {
    for (levels, fabric) in fabrics() {
        let barrier = json!({"benchmark": "barrier", "algorithm": "sharp"});
        let outcome = carried_out(&asked(fabric.clone(), barrier));
        assert_eq!(outcome.rows.duration_ps, [operation_ps(levels, 0)]);
        for benchmark in ["reduce", "broadcast"] {
            let step = json!({"benchmark": benchmark, "algorithm": "sharp", "size_bytes": 64});
            let outcome = carried_out(&asked(fabric.clone(), step));
            assert_eq!(outcome.rows.duration_ps, [operation_ps(levels, 64)], "{benchmark}");
        }
    }
}

/// Aggregation nodes do one operation at a time. With results by multicast they see each operation
/// once, with results by the tree those below the root see it twice.
#[test]
fn operations_follow_one_another_as_fast_as_the_busiest_aggregation_node() {
    let n = 21;
    for (levels, fabric) in fabrics() {
        for (result, visits) in [("multicast", 1), ("tree", if levels == 1 { 1 } else { 2 })] {
            let mut case = asked(fabric.clone(), allreduce(n * PAYLOAD));
            case["in_network"]["result"] = json!(result);
            case["in_network"]["outstanding"] = json!(n);
            let one = with(case.clone(), "work", json!([allreduce(PAYLOAD)]));
            let (one, all) = (carried_out(&one), carried_out(&case));
            let (one, all) = (one.rows.duration_ps[0], all.rows.duration_ps[0]);
            let expected = one + (n - 1) * visits * REDUCTION_PS;
            // While the first result is above it, such a node works on operations to come.
            let ahead = if visits == 2 { one } else { 0 };
            assert!(
                (expected - ahead..=expected).contains(&all),
                "{levels} levels, {result}: {all} ps, not {expected}"
            );
        }
    }
}

#[test]
fn a_multicast_result_saves_every_level_a_reduction_and_a_packet() {
    for (levels, fabric) in fabrics() {
        let mut case = asked(fabric, allreduce(PAYLOAD));
        case["in_network"]["result"] = json!("multicast");
        let saved = (levels - 1) * (REDUCTION_PS + ser(PAYLOAD + HEADER, RATE));
        let outcome = carried_out(&case);
        assert_eq!(outcome.rows.duration_ps, [operation_ps(levels, PAYLOAD) - saved]);
    }
}

/// What ports sent, of those that sent anything.
fn sent_packets(outcome: &Outcome) -> Vec<u64> {
    outcome.ports.xmit_packets.iter().copied().filter(|n| *n > 0).collect()
}

#[test]
fn every_link_of_the_tree_carries_an_operation_once_each_direction() {
    // Switches of the tree: the leaf; four leaves and a spine; eight leaves, a spine for each of
    // the four pods, and a core.
    for ((_, fabric), n_switches) in fabrics().into_iter().zip([1, 5, 13]) {
        for result in ["tree", "multicast"] {
            let mut case = asked(fabric.clone(), allreduce(5 * PAYLOAD));
            case["in_network"]["result"] = json!(result);
            let outcome = carried_out(&case);
            assert_eq!(sent_packets(&outcome), vec![5; 2 * (16 + n_switches - 1)], "{result}");
        }
    }
}

#[test]
fn the_busiest_node_decides_and_no_one_goes_before_the_last_has_come() {
    let late = json!({"benchmark": "barrier", "algorithm": "sharp", "compute_ns": 1000,
        "imbalance": 3.0});
    let [(levels, fabric), ..] = fabrics();
    let case = asked(fabric, late);
    let alone = with(
        case.clone(),
        "work",
        json!([{"benchmark": "compute", "compute_ns": 1000,
        "imbalance": 3.0}]),
    );
    let compute_ps = run(&alone).rows.duration_ps[0];
    assert!(compute_ps > 3_000_000, "somebody is late");
    assert_eq!(carried_out(&case).rows.duration_ps, [compute_ps + operation_ps(levels, 0)]);
}

/// Tasks of a node reduce to their leader up a binomial tree, and have the result down it.
#[test]
fn tasks_of_a_node_take_the_channel_inside_before_and_after() {
    let (inner_ps, rate) = (320_000, 80 * GBPS);
    let (levels, fabric) = &fabrics()[1];
    for (tasks, rounds) in [(2, 1), (4, 2), (8, 3)] {
        let size = 128;
        let mut case = asked(fabric.clone(), allreduce(size));
        case["placement"] = json!({"tasks_per_node": tasks});
        case["host"]["intra_node"] = json!({"latency_ns": inner_ps / 1000, "bits_per_s": rate});
        case["in_network"]["task_ns"] = json!(90);
        let round = SEND_PS + ser(size, rate) + inner_ps + RECV_PS;
        let leader = (tasks - 1) * 90_000;
        let outcome = carried_out(&case);
        let expected = operation_ps(*levels, size) + 2 * rounds * round + leader;
        assert_eq!(outcome.rows.duration_ps, [expected], "{tasks} tasks");
    }
}

#[test]
fn a_tree_goes_round_dead_cables() {
    let (_, fabric) = &fabrics()[1];
    let case = asked(fabric.clone(), allreduce(8));
    // Of two spines the first is the root; without its cable to a leaf it is the second.
    let faults = json!([{"link": "leaf-01[5]", "down": true}]);
    let outcome = carried_out(&with(case.clone(), "faults", faults));
    assert_eq!(outcome.rows.duration_ps, [operation_ps(2, 8)]);
    let sent = |outcome: &Outcome, port: &str| {
        let at = outcome.ports.port_name.iter().position(|name| name == port).expect("a port");
        outcome.ports.xmit_packets[at]
    };
    let whole = carried_out(&case);
    assert_eq!((sent(&whole, "spine-01[1]"), sent(&whole, "spine-02[1]")), (1, 0));
    assert_eq!((sent(&outcome, "spine-01[2]"), sent(&outcome, "spine-02[1]")), (0, 1));
}

#[test]
fn buffers_above_the_limit_are_left_to_the_hosts_who_take_the_time_they_always_took() {
    let (_, fabric) = &fabrics()[1];
    let mut case = asked(
        fabric.clone(),
        json!({"benchmark": "allreduce", "algorithm": "sharp",
        "size_bytes": 8192, "fallback": "rabenseifner"}),
    );
    case["in_network"]["max_bytes"] = json!(4096);
    let outcome = run(&case);
    assert_eq!(outcome.offloads.by, [CollectiveMethod::Hosts]);
    assert_eq!(outcome.offloads.reason, ["8192 bytes are more than in_network.max_bytes (4096)"]);
    let hosts = with(
        case,
        "work",
        json!([{"benchmark": "allreduce",
        "algorithm": "rabenseifner", "size_bytes": 8192}]),
    );
    assert_eq!(outcome.rows, run(&hosts).rows);
    assert!(run(&hosts).offloads.by.is_empty());
}

#[test]
fn what_switches_cannot_do_is_refused_with_its_place() {
    let (_, fabric) = &fabrics()[1];
    let case = asked(fabric.clone(), allreduce(8));
    let refused = |case: Value, beginning: &str| {
        let error = refusal(&case);
        assert!(error.starts_with(beginning), "{error}");
    };
    let mut without = case.clone();
    without.as_object_mut().expect("a document").remove("in_network");
    refused(without, "work[0].algorithm: switches are to reduce, and nothing says");
    for (key, value, beginning) in [
        ("payload_bytes", json!(0), "in_network.payload_bytes: it is 0"),
        ("payload_bytes", json!(5000), "in_network.payload_bytes: it is 5000"),
        ("outstanding", json!(0), "in_network.outstanding: it is 0"),
        ("reduction_ns", json!(-1), "in_network.reduction_ns: -1"),
        ("header_bytes", json!(300), "in_network.header_bytes: it is 300"),
        ("result", json!("pigeon"), "in_network.result: unknown variant `pigeon`"),
    ] {
        let mut wrong = case.clone();
        wrong["in_network"][key] = value;
        refused(wrong, beginning);
    }
    for (key, value, beginning) in [
        ("fidelity", json!("flow"), "fidelity: switches reduce packets"),
        ("switch", json!({"model": "input_fifo"}), "switch.model: "),
        ("switch", json!({"speedup": 2.0}), "switch.speedup: "),
    ] {
        refused(with(case.clone(), key, value), beginning);
    }
    let lossy = json!([{"link": "leaf-01[5]", "lost": 0.1}]);
    refused(
        with(with(case.clone(), "faults", lossy), "transport", json!({})),
        "faults: packets of",
    );
    // A cable that dies while switches take part; a node, and a leaf, that nothing leads to.
    let dies = json!([{"link": "leaf-01[5]", "down": true, "from_ns": 100}]);
    let answered = with(case.clone(), "transport", json!({}));
    refused(with(answered, "faults", dies), "faults: packets of");
    for cut in [json!(["leaf-01[1]"]), json!(["leaf-01[5]", "leaf-01[6]"])] {
        let links = cut.as_array().expect("links").iter();
        let faults: Vec<Value> = links.map(|link| json!({"link": link, "down": true})).collect();
        let error = refusal(&with(case.clone(), "faults", json!(faults)));
        assert!(error.contains("is unreachable from"), "{error}");
    }
    for (key, value) in [("root", json!(3)), ("shuffle", json!(3)), ("fallback", json!("sharp"))] {
        let mut step = json!({"benchmark": "reduce", "algorithm": "sharp", "size_bytes": 8});
        step[key] = value;
        refused(with(case.clone(), "work", json!([step])), &format!("work[0].{key}: "));
    }
}
