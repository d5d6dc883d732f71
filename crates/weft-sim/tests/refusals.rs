//! Scenarios that cannot be are refused with the place of what is wrong.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::ValidScenario;

/// A good scenario with one key changed is refused by a text that begins like that.
fn refused(key: &str, value: Value, beginning: &str) {
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
    let text = refusal(&with(good, key, value));
    assert!(text.starts_with(beginning), "{text}");
    assert!(text.contains("\n  expected: "), "{text}");
}

#[test]
fn unknown_words() {
    refused("schema", json!("weft.scenario/9"), "scenario.schema: 'weft.scenario/9'");
    refused("colour", json!(1), "colour: unknown field `colour`");
    refused("fidelity", json!("fluid"), "fidelity: unknown variant `fluid`");
    refused("routing", json!({"engine": "magic"}), "routing.engine: unknown variant `magic`");
    refused("fabric", json!({"schema": "x"}), "fabric: missing field `nodes`");
}

#[test]
fn packets_and_switches() {
    refused("packets", json!({"mtu_bytes": 0}), "packets.mtu_bytes: an MTU of 0 bytes");
    let small = "switch.buffer_bytes: 4096 bytes hold no whole packet";
    refused("switch", json!({"buffer_bytes": 4096}), small);
    let slow = json!({"delay_ps": 2_000_000_000_000u64});
    refused("switch", slow, "switch.delay_ps: a delay of 2000000000000 ps");
    let long = json!({"mtu_bytes": 65_025});
    refused("packets", long, "packets.mtu_bytes: an MTU of 65025 bytes");
    let still = json!({"speedup": 0});
    refused("switch", still, "switch.speedup: a speed-up of 0");
    let shared = |share: Value| json!({"model": "shared_buffer", "output_share": share});
    refused("switch", shared(json!(null)), "switch.output_share: it is missing");
    refused("switch", shared(json!(1.5)), "switch.output_share: a share of 1.5");
    let little = "switch.output_share: a share of 0.01 holds no whole packet";
    refused("switch", shared(json!(0.01)), little);
    let alone = json!({"output_share": 0.5});
    refused("switch", alone, "switch.output_share: no buffer is shared");
}

#[test]
fn congestion_control() {
    let wrong = |law: &str, knobs: Value, beginning: &str| {
        let beginning = format!("congestion_control.{law}.{beginning}");
        refused("congestion_control", json!({law: knobs}), &beginning);
    };
    let unknown = "congestion_control.magic: unknown field `magic`";
    refused("congestion_control", json!({"magic": {}}), unknown);
    refused("congestion_control", json!({}), "congestion_control: 0 laws");
    let two = json!({"rtt": {}, "dcqcn": {}});
    refused("congestion_control", two, "congestion_control: 2 laws");
    wrong("annex_a10", json!({"threshold": 16}), "threshold: it is 16");
    wrong("annex_a10", json!({"full_bytes": 0}), "full_bytes: it is 0");
    wrong("annex_a10", json!({"timer_ns": 0}), "timer_ns: it is 0");
    wrong("annex_a10", json!({"ccti_limit": 256}), "ccti_limit: it is 256");
    wrong("annex_a10", json!({"ccti_min": 9, "ccti_limit": 8}), "ccti_min: it is 9");
    wrong("annex_a10", json!({"table": []}), "table: 0 entries");
    wrong("annex_a10", json!({"table": ["0:1", "4:1"]}), "table[1]: '4:1' is no entry");
    let still = json!({"table": {"doubling": 0, "entries": 9}});
    wrong("annex_a10", still, "table.doubling: it is 0e0");
    let more = json!({"table": {"doubling": 32, "entries": 9, "colour": 1}});
    wrong("annex_a10", more, "table.colour: unknown field `colour`");
    let many = json!({"table": {"doubling": 32, "entries": 70_000}});
    wrong("annex_a10", many, "table.entries: invalid value: integer `70000`");
    wrong("annex_a10", json!({"table": 7}), "table: invalid type: integer `7`");
    refused("congestion_control", json!("rtt"), "congestion_control: invalid type: string");
    wrong("annex_a10", json!({"cnp_service_level": 16}), "cnp_service_level: service level 16");
    wrong("annex_a10", json!({"cnp_interval_ns": -1}), "cnp_interval_ns: -1 is no such time");
    wrong("annex_a10", json!({"thresholds": 3}), "thresholds: unknown field");
    wrong("dcqcn", json!({"gain": 0}), "gain: it is 0");
    wrong("dcqcn", json!({"probability": 1.5}), "probability: it is 1.5");
    let backwards = json!({"least_bytes": 9000, "most_bytes": 8000});
    wrong("dcqcn", backwards, "most_bytes: it is 8000");
    wrong("dcqcn", json!({"increase_timer_ns": 0}), "increase_timer_ns: it is 0");
    wrong("dcqcn", json!({"least_bits_per_s": 1}), "least_bits_per_s: it is 1");
    wrong("rtt", json!({"gain": 0}), "gain: it is 0");
    wrong("rtt", json!({"most": 0.5}), "most: it is 0.5");
    wrong("rtt", json!({"most": 1e300}), "most: it is 1");
    wrong("rtt", json!({"most_decrease": 2}), "most_decrease: it is 2");
    wrong("rtt", json!({"answer_service_level": 99}), "answer_service_level: service level 99");
    wrong("endpoint", json!({"queue_bytes": 0}), "queue_bytes: it is 0");
    wrong("endpoint", json!({"change": 0}), "change: it is 0");
    wrong("dcqcn", json!({"least_bits_per_s": 999_999}), "least_bits_per_s: it is 999999");
    let dragonfly = json!({"generate": "dragonfly", "groups": 5, "routers_per_group": 2,
        "nodes_per_router": 2, "global_ports": 2, "host_bits_per_s": GBPS,
        "local_bits_per_s": GBPS, "global_bits_per_s": GBPS, "host_delay_ps": 1,
        "local_delay_ps": 1, "global_delay_ps": 1});
    let routing = json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal"}});
    let case = with(scenario(dragonfly, messages([(0, 9, 8)])), "routing", routing);
    let case = with(case, "lanes", json!({"count": 3}));
    let text = refusal(&with(case, "congestion_control", json!({"rtt": {}})));
    assert!(text.starts_with("congestion_control.rtt: a packet on a detour is late"), "{text}");
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
    let endless = with(good, "switch", json!({"model": "infinite"}));
    let text = refusal(&with(endless, "congestion_control", json!({"rtt": {}})));
    assert!(text.starts_with("congestion_control: buffers that never fill"), "{text}");
}

#[test]
fn switches_take_the_tasks_that_nodes_have() {
    let work = json!([{"benchmark": "allreduce", "algorithm": "sharp", "tasks_per_node": 2}]);
    let beginning = "work[0].tasks_per_node: it is 2, and nodes have 1 each";
    refused("work", work, beginning);
}

#[test]
fn what_is_skipped() {
    let asked = |key: &str, value: Value| json!({key: value});
    let none = "steady_state.tolerance: a tolerance of 0";
    refused("steady_state", asked("tolerance", json!(0)), none);
    let much = "steady_state.tolerance: a tolerance of 0.6";
    refused("steady_state", asked("tolerance", json!(0.6)), much);
    refused("steady_state", asked("least_moves", json!(8)), "steady_state.least_moves: 8 moves");
    refused("steady_state", asked("moves", json!(8)), "steady_state.moves: unknown field `moves`");
}

#[test]
fn virtual_lanes() {
    refused("lanes", json!({"count": 0}), "lanes.count: 0 lanes");
    refused("lanes", json!({"count": 16}), "lanes.count: 16 lanes");
    refused("lanes", json!({"count": 2, "sl2vl": [0, 1]}), "lanes.sl2vl: 2 entries");
    let levels = json!({"count": 2, "sl2vl": [0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]});
    refused("lanes", levels, "lanes.sl2vl[2]: lane 2");
    let entry = |vl: u8, weight: u8| json!({"vl": vl, "weight": weight});
    let high = json!({"count": 2, "high": [entry(1, 9), entry(5, 9)]});
    refused("lanes", high, "lanes.high[1].vl: lane 5");
    let low = json!({"count": 2, "low": vec![entry(0, 1); 65]});
    refused("lanes", low, "lanes.low: 65 entries");
    let never = json!({"count": 2, "low": [entry(0, 1), entry(1, 0)]});
    refused("lanes", never, "lanes: lane 1 is in neither table");
}

#[test]
fn hosts() {
    let regimes = |list: Value, beginning: &str| {
        refused("host", json!({"regimes": list}), &format!("host.regimes{beginning}"));
    };
    regimes(json!([]), ": there is no regime");
    regimes(json!([{"max_bytes": 9}, {"max_bytes": 9}]), "[1]: max_bytes does not rise");
    let below = "[0].send_overhead_ns: -1 is no such time";
    regimes(json!([{"send_overhead_ns": -1}]), below);
    let fine = "[0].recv_overhead_ns: 0.0001 is no such time";
    regimes(json!([{"recv_overhead_ns": 0.0001}]), fine);
    let cost = "[0].send_ns_per_byte: -0.5 is no such cost";
    regimes(json!([{"send_ns_per_byte": -0.5}]), cost);
    let noise = json!({"regimes": [{}], "noise": {"probability": 2, "mean_ns": 1}});
    refused("host", noise, "host.noise: the probability is 2");
    let intra = json!({"regimes": [{}], "intra_node": {"latency_ns": 1, "bits_per_s": 0}});
    refused("host", intra, "host.intra_node.bits_per_s: 0 bits a second");
    let crawling = json!({"regimes": [{}], "intra_node": {"latency_ns": 1, "bits_per_s": 999_999}});
    refused("host", crawling, "host.intra_node.bits_per_s: 999999 bits a second");
    let inner = |own: Value, what: &str| {
        let intra = json!({"latency_ns": 1, "bits_per_s": 80_000_000_000u64, "regimes": own});
        let what = format!("host.intra_node.regimes{what}");
        refused("host", json!({"regimes": [{}], "intra_node": intra}), &what);
    };
    inner(json!([{"max_bytes": 9}, {"max_bytes": 9}]), "[1]: max_bytes does not rise");
    inner(json!([{"send_overhead_ns": -1}]), "[0].send_overhead_ns: -1 is no such time");
    inner(json!([{}, {"latency_ns": 1}]), "[1]: max_bytes does not rise");
    inner(json!([{"latency_ns": 1}]), "[0]: a latency, a gap or a rendezvous");
    inner(json!([{"gap_ns_per_byte": 1}]), "[0]: a latency, a gap or a rendezvous");
    inner(json!([{"protocol": "rendezvous"}]), "[0]: a latency, a gap or a rendezvous");
    let many: Vec<Value> = (1..=256).map(|size| json!({"max_bytes": size})).collect();
    regimes(json!(many), ": 256 regimes");
}

#[test]
fn placements() {
    refused("placement", json!({"tasks_per_node": 0}), "placement.tasks_per_node: it is 0");
    refused("placement", json!({"nodes": []}), "placement.nodes: there is no rank");
    refused("placement", json!({"nodes": ["x"]}), "placement.nodes[0]: there is no node 'x'");
    let twice = "placement.nodes[1]: node 'n001' appears twice";
    refused("placement", json!({"nodes": ["n001", "n001"]}), twice);
    let many = json!({"tasks_per_node": 4_000_000_000u32});
    refused("placement", many, "placement: more than 4194304 ranks");
}

#[test]
fn work() {
    let window = json!([{"benchmark": "latency", "window": 1}]);
    refused("work", window, "work[0].window: 'window' has no meaning for latency");
    let huge = "work[0]: a message of 2199023255552 bytes";
    refused("work", messages([(0, 1, 1 << 41)]), huge);
    let late =
        json!({"src": 0, "dst": 1, "size_bytes": 1, "start_ps": 2_000_000_000_000_000_000u64});
    let late = json!([{"benchmark": "messages", "messages": [late]}]);
    refused("work", late, "work[0]: a message that starts after eleven days");
}

#[test]
fn a_wrong_key_is_named_by_its_path_and_the_one_that_was_meant() {
    let hinted = |key: &str, value: Value, beginning: &str, hint: &str| {
        let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
        let text = refusal(&with(good, key, value));
        assert!(text.starts_with(beginning), "{text}");
        assert!(text.ends_with(&format!("\n  hint: did you mean '{hint}'?")), "{text}");
    };
    let faults = json!([{"link": "leaf-01[5]", "down": true}, {"lnik": "leaf-01[5]"}]);
    hinted("faults", faults, "faults[1].lnik: unknown field `lnik`", "link");
    let switch = json!({"buffer_byte": 9000});
    hinted("switch", switch, "switch.buffer_byte: unknown field `buffer_byte`", "buffer_bytes");
    hinted("limit", json!({}), "limit: unknown field `limit`", "limits");
    let work = json!([{"benchmark": "alltoal"}]);
    hinted("work", work, "work[0].benchmark: unknown variant `alltoal`", "alltoall");
    let fabric = json!({"schema": "weft.fabric/1", "nodes": [], "switches": [],
        "links": [{"a": "x[1]", "b": "y[1]", "bits_per_s": 1, "dealy_ps": 0}]});
    let place = "fabric.links[0].dealy_ps: unknown field `dealy_ps`";
    hinted("fabric", fabric, place, "delay_ps");
    // Nothing is near.
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
    assert!(!refusal(&with(good, "colour", json!(1))).contains("did you mean"));
}

#[test]
fn values_that_are_no_values() {
    refused("seed", json!(-1), "seed: invalid value: integer `-1`");
    refused("seed", json!(1e300), "seed: invalid type: floating point `1e+300`");
    refused("lanes", json!({"count": 256}), "lanes.count: invalid value: integer `256`");
    let bits = json!({"schema": "weft.fabric/1", "nodes": [], "switches": [],
        "links": [{"a": "x[1]", "b": "y[1]", "bits_per_s": -5, "delay_ps": 0}]});
    refused("fabric", bits, "fabric.links[0].bits_per_s: invalid value: integer `-5`");
    refused("work", json!({}), "work: invalid type: map");
}

fn refused_text(text: &str, beginning: &str) {
    let error = ValidScenario::parse(text).expect_err("no scenario").to_string();
    assert!(error.starts_with(beginning), "{error}");
    assert!(error.contains("\n  expected: ") && error.len() < 2000, "{error}");
}

#[test]
fn texts_that_are_no_documents() {
    refused_text("", "scenario: EOF while parsing a value at line 1 column 0");
    refused_text("{\"schema\": 1e999}", "scenario: number out of range");
    refused_text("3", "scenario: invalid type: integer `3`");
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)])).to_string();
    refused_text(&format!("{good}x"), "scenario: trailing characters");
    let deep = format!("{}{}", "[".repeat(1000), "]".repeat(1000));
    let deep = good.replace("\"generate\":", &format!("\"deep\":{deep},\"generate\":"));
    refused_text(&deep, "scenario: recursion limit exceeded");
    let long = good.replace("\"schema\":", &format!("\"{}\":1,\"schema\":", "k".repeat(100_000)));
    refused_text(&long, "kkkk");
    let schema = good.replacen("weft.scenario/1", &"s".repeat(100_000), 1);
    refused_text(&schema, "scenario.schema: 'ssss");
}

#[test]
fn keys_that_appear_twice() {
    let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)])).to_string();
    let twice = |key: &str, again: &str, beginning: &str| {
        let text = good.replacen(&format!("\"{key}\":"), &format!("{again},\"{key}\":"), 1);
        refused_text(&text, beginning);
    };
    twice("schema", "\"schema\":\"weft.scenario/1\"", "scenario: duplicate field `schema`");
    twice("regimes", "\"regimes\":[{}]", "host: duplicate field `regimes`");
    twice("spines", "\"spines\":2", "fabric: duplicate field `spines`");
}

#[test]
fn lists_where_keys_are_wanted() {
    let case = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
    let refused = |key: &str, value: Value, beginning: &str| {
        let text = with(case.clone(), key, value).to_string();
        refused_text(&text, beginning);
    };
    refused("limits", json!([5, 6e9]), "limits: invalid type: sequence");
    refused("packets", json!([4096, "none"]), "packets: invalid type: sequence");
    refused("routing", json!(["dmodk"]), "routing: invalid type: sequence");
    refused("faults", json!([["leaf-01[5]"]]), "faults[0]: invalid type: sequence");
    refused("host", json!({"regimes": [[128]]}), "host.regimes[0]: invalid type: sequence");
    refused("lanes", json!({"low": [[0, 64]]}), "lanes.low[0]: invalid type: sequence");
    refused("placement", json!([["n001"]]), "placement: invalid type: sequence");
    let row = json!([{"benchmark": "messages", "messages": [[0, 1, 8, 0]]}]);
    refused("work", row, "work[0].messages[0]: invalid type: sequence");
    refused_text("[\"weft.scenario/1\"]", "scenario: invalid type: sequence");
}

#[test]
fn what_only_packets_have_is_refused_where_messages_are_flows() {
    let case = |key: &str, value: Value| {
        let good = scenario(tree(8, 4, 2, 100 * GBPS, 50_000), messages([(0, 1, 8)]));
        let flow = with(good, "fidelity", json!("flow"));
        refusal(&with(flow, key, value))
    };
    let named = |text: String, place: &str| {
        assert!(text.starts_with(&format!("{place}: ")), "{text}");
        assert!(text.contains("\n  expected: fidelity 'packet', or "), "{text}");
    };
    let adaptive = json!({"engine": "dragonfly", "adaptive": {"non_minimal": "ugal"}});
    for (key, value, place) in [
        ("switch", json!({"model": "input_fifo"}), "switch.model"),
        ("switch", json!({"model": "shared_buffer", "output_share": 0.5}), "switch.model"),
        ("switch", json!({"speedup": 1.5}), "switch.speedup"),
        ("lanes", json!({"count": 2, "high": [{"vl": 1, "weight": 4}]}), "lanes.high"),
        (
            "lanes",
            json!({"count": 2, "low": [{"vl": 0, "weight": 4}, {"vl": 1, "weight": 1}]}),
            "lanes.low",
        ),
        ("transport", json!({"out_of_order_ns": 20}), "transport.out_of_order_ns"),
        ("routing", adaptive, "routing.adaptive.non_minimal"),
        ("probes", json!({"load_bin_ns": 100}), "probes.load_bin_ns"),
        ("congestion_control", json!({"rtt": {}}), "congestion_control"),
        (
            "faults",
            json!([{"node": "n001", "slow_factor": 2.0},
            {"link": "leaf-01[5]", "lost": 0.1}]),
            "faults[1]",
        ),
        ("faults", json!([{"link": "leaf-01[5]", "down": true, "from_ns": 100}]), "faults[0]"),
        (
            "faults",
            json!([{"link": "leaf-01[5]",
            "corrected": {"probability": 0.1, "cost_ns": 100}}]),
            "faults[0]",
        ),
    ] {
        named(case(key, value), place);
    }
}
