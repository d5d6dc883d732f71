//! Tables that come when cables have died: credit loops in them are known before the run.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Status;

/// Five switches in a ring, a node on each, and a hub that all of them are cabled to. Ports of a
/// switch: 1 its node, 2 the hub, 3 the next, 4 the one before.
fn wheel() -> Value {
    let rate = 100 * GBPS;
    let link = |a, b: String| json!({"a": a, "b": b, "bits_per_s": rate, "delay_ps": 10_000});
    let mut links = Vec::new();
    for n in 0..5 {
        links.push(link(format!("h{n}[1]"), format!("s{n}[1]")));
        links.push(link(format!("hub[{}]", n + 1), format!("s{n}[2]")));
        links.push(link(format!("s{n}[3]"), format!("s{}[4]", (n + 1) % 5)));
    }
    let node = |n: u64| json!({"name": format!("n{n}"), "hcas": [format!("h{n}")]});
    let switch = |n: u64| json!({"name": format!("s{n}"), "ports": 4, "level": 1});
    let mut switches: Vec<Value> = (0..5).map(switch).collect();
    switches.push(json!({"name": "hub", "ports": 5, "level": 2}));
    json!({"schema": "weft.fabric/1", "name": "wheel", "links": links, "switches": switches,
        "nodes": (0..5).map(node).collect::<Vec<Value>>()})
}

/// A spoke of the wheel that is dead from one time (in us) to the other.
fn spoke(n: u64, from: u64, until: Option<u64>) -> Value {
    let mut fault = json!({"link": format!("hub[{}]", n + 1), "down": true,
        "from_ns": from * 1000});
    if let Some(until) = until {
        fault["until_ns"] = json!(until * 1000);
    }
    fault
}

fn case(engine: &str, faults: &[Value]) -> Value {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 20_000, "iterations": 4}]);
    let death = json!({"reaction": "subnet_manager", "delay_ns": 1000});
    let routing = json!({"engine": engine, "link_death": death});
    let case = with(scenario(wheel(), work), "routing", routing);
    with(with(case, "transport", json!({"timeout_exponent": 4})), "faults", json!(faults))
}

#[test]
fn a_loop_of_tables_to_come_is_refused_with_the_faults_that_bring_them() {
    // Without the hub the nearest way to the next but one is along the ring: ring switch waits for
    // ring switch, all the way round. Two dead spokes are not enough: from s2 to s4 the hub is as
    // near, and taken by the lower port. Of three the hub only keeps neighbours.
    let all: Vec<Value> = (0..5).map(|n| spoke(n, 1 + n, None)).collect();
    let text = refusal(&case("minhop", &all));
    let what = "faults[0], faults[1], faults[2]: credit loop once 'hub[1]' and 'hub[2]' and \
                'hub[3]' are down: s";
    assert!(text.starts_with(what), "{text}");
    assert!(text.contains("\n  expected: new tables whose channel"), "{text}");
    let cycle = text.split("are down: ").nth(1).and_then(|rest| rest.split('\n').next());
    let cycle: Vec<&str> = cycle.expect("a cycle").split(" -> ").collect();
    assert_eq!((cycle.len(), cycle[0]), (6, cycle[5]), "once round the ring of five");
    // The same from the start on, without times, is refused by what was checked ever since.
    let dead = |n: u64| json!({"link": format!("hub[{}]", n + 1), "down": true});
    let from_the_start: Vec<Value> = (0..3).map(dead).collect();
    let text = refusal(&case("minhop", &from_the_start));
    assert!(text.starts_with("routing: credit loop over s"), "{text}");
}

#[test]
fn only_what_is_dead_at_the_same_time_counts() {
    let (early, late) = (spoke(0, 1, Some(20)), [1, 3, 4].map(|n| spoke(n, 30, None)));
    let faults = [&[early], &late[..]].concat();
    let outcome = run(&case("minhop", &faults));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    let (longer, late) = (spoke(0, 1, Some(31)), [1, 3, 4].map(|n| spoke(n, 30, None)));
    let text = refusal(&case("minhop", &[&[longer], &late[..]].concat()));
    assert!(text.starts_with("faults[0], faults[1], faults[2], faults[3]: credit"), "{text}");
    // One that comes again and again meets them once.
    let mut flap = spoke(0, 1, Some(2));
    flap["every_ns"] = json!(7_000);
    let text = refusal(&case("minhop", &[&[flap], &late[..]].concat()));
    assert!(text.starts_with("faults[0], faults[1], faults[2], faults[3]: credit"), "{text}");
}

#[test]
fn up_and_down_has_none_and_who_allows_loops_has_them() {
    let all: Vec<Value> = (0..5).map(|n| spoke(n, 1 + n, None)).collect();
    let outcome = run(&case("updn", &all));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    let allowed = json!({"engine": "minhop", "allow_credit_loops": true});
    run(&with(case("minhop", &all), "routing", allowed));
}

#[test]
fn what_a_death_cuts_off_is_no_loop() {
    // The node's own cable, and a leaf's only path up: no packet arrives, none waits in a circle.
    for link in ["h0[1]", "leaf-01[3]"] {
        let fault = json!([{"link": link, "down": true, "from_ns": 1_000_000}]);
        let whole = match link {
            "h0[1]" => case("minhop", &[]),
            _ => {
                let work = json!([{"benchmark": "alltoall", "size_bytes": 10}]);
                scenario(tree(4, 2, 1, 100 * GBPS, 5), work)
            }
        };
        let outcome = run(&with(with(whole, "transport", json!({})), "faults", fault));
        assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    }
}

#[test]
fn round_dead_cables_between_groups_a_dragonfly_wants_a_lane_more() {
    let fabric = json!({"generate": "dragonfly", "groups": 5, "routers_per_group": 4,
        "nodes_per_router": 1, "global_ports": 1, "host_bits_per_s": 100 * GBPS,
        "local_bits_per_s": 100 * GBPS, "global_bits_per_s": 100 * GBPS, "host_delay_ps": 10_000,
        "local_delay_ps": 10_000, "global_delay_ps": 10_000});
    let work = json!([{"benchmark": "alltoall", "size_bytes": 1000}]);
    let case = with(scenario(fabric, work), "routing", json!({"engine": "dragonfly"}));
    // The fifth port of each router leads to another group; without these five the groups are a
    // ring.
    let dies = |n: u32| json!({"link": format!("router-{n:02}[5]"), "down": true, "from_ns": 1e9});
    let faults: Vec<Value> = [2, 3, 6, 7, 10].map(dies).into();
    let case = with(with(case, "transport", json!({})), "faults", json!(faults));
    let lanes = |count: u64| with(case.clone(), "lanes", json!({"count": count}));
    // One hop between groups as long as all cables are up: two lanes. Then two hops, and where the
    // second has the lane of the first, group waits for group all the way round.
    let text = refusal(&lanes(2));
    assert!(text.starts_with("faults[0], faults[1], faults[2], faults[3], faults[4]: "), "{text}");
    assert!(text.contains("'router-10[5]' are down: router-"), "{text}");
    assert!(text.contains("(raised 1)") && !text.contains("(raised 0)"), "{text}");
    assert_eq!(run(&lanes(3)).status, Status::Complete);
}

/// Four leaves with a node each; a spine between every two neighbours of a ring of them, and one
/// over all. Ports of a leaf: 1 its node, 2 the spine over all, 3 to the next, 4 to the one before.
fn crown() -> Value {
    let rate = 100 * GBPS;
    let link = |a, b: String| json!({"a": a, "b": b, "bits_per_s": rate, "delay_ps": 10_000});
    let (mut links, mut switches) = (Vec::new(), Vec::new());
    for n in 0..4 {
        links.push(link(format!("h{n}[1]"), format!("l{n}[1]")));
        links.push(link(format!("all[{}]", n + 1), format!("l{n}[2]")));
        links.push(link(format!("l{n}[3]"), format!("s{n}[1]")));
        links.push(link(format!("s{n}[2]"), format!("l{}[4]", (n + 1) % 4)));
        switches.push(json!({"name": format!("l{n}"), "ports": 4, "level": 1}));
        switches.push(json!({"name": format!("s{n}"), "ports": 2, "level": 2}));
    }
    switches.push(json!({"name": "all", "ports": 4, "level": 2}));
    let node = |n: u64| json!({"name": format!("n{n}"), "hcas": [format!("h{n}")]});
    json!({"schema": "weft.fabric/1", "name": "crown", "links": links, "switches": switches,
        "nodes": (0..4).map(node).collect::<Vec<Value>>()})
}

#[test]
fn what_switches_may_choose_then_is_looked_at_too() {
    // Without the spine over all, leaves across have two ways. Tables take the less loaded port,
    // the lower of equals: backwards from l0 and l3, onwards from l1 and l2; no circle. A choice
    // has both.
    let dies = |n: u64| json!({"link": format!("all[{n}]"), "down": true, "from_ns": 1e9});
    let faults: Vec<Value> = (1..5).map(dies).collect();
    let work = json!([{"benchmark": "alltoall", "size_bytes": 1000}]);
    let case = with(with(scenario(crown(), work), "transport", json!({})), "faults", json!(faults));
    let outcome = run(&with(case.clone(), "routing", json!({"engine": "minhop"})));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    for chooses in [
        json!({"engine": "minhop", "adaptive": {}}),
        json!({"engine": "minhop", "link_death": {"reaction": "switch"}}),
        json!({"engine": "ecmp"}),
    ] {
        let text = refusal(&with(case.clone(), "routing", chooses));
        assert!(text.contains(": credit loop once 'all[1]' and 'all[2]' "), "{text}");
    }
}
