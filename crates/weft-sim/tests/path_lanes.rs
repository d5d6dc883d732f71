//! Lanes of the paths of a fabric's own tables: a ring on which one lane deadlocks runs on two, by
//! the service level of each path and by what each pair of ports makes of it.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::Status;

/// Nodes a to d on a ring of four switches, all routed clockwise, and these lanes.
fn ring(lanes: Value) -> Value {
    let names = ["a", "b", "c", "d"];
    let link =
        |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": 100 * GBPS, "delay_ps": 0});
    let (mut links, mut lfts) = (Vec::new(), serde_json::Map::new());
    for (i, name) in names.iter().enumerate() {
        links.push(link(format!("{name}/hca[1]"), format!("s{name}[1]")));
        links.push(link(format!("s{name}[2]"), format!("s{}[3]", names[(i + 1) % 4])));
        let row: Vec<u32> = (0..4).map(|dst| if dst == i { 1 } else { 2 }).collect();
        lfts.insert(format!("s{name}"), json!(row));
    }
    json!({"schema": "weft.fabric/1", "name": "ring", "links": links, "lfts": lfts,
           "nodes": names.map(|n| json!({"name": n, "hcas": [format!("{n}/hca")]})),
           "switches": names.map(|n| json!({"name": format!("s{n}"), "ports": 3})),
           "lanes": lanes})
}

/// Level 1 for every path over the cable from d to a.
fn levels() -> Value {
    json!({"sb": [1, 0, 0, 0], "sc": [1, 1, 0, 0], "sd": [1, 1, 1, 0]})
}

fn list(of_level_1: u8) -> Vec<u8> {
    let mut list = vec![0; 16];
    list[1] = of_level_1;
    list
}

/// Level 1 changes from lane 0 to 1 where it comes from d to a, and stays there.
fn dateline() -> Value {
    let from_ring = json!([[0, 0, 0], [0, 0, 0], [1, 1, 1]]);
    json!({"count": 2, "levels": levels(), "sl2vl": [list(0), list(1)],
           "ports": {"sa": from_ring, "sb": from_ring}})
}

fn case(lanes: Value, hops: u64) -> Value {
    let flows = (0..4).map(move |src| (src, (src + hops) % 4, 1_000_000));
    let case = json!({"schema": "weft.scenario/1", "fabric": ring(lanes), "host": free_hosts(),
                      "work": messages(flows)});
    with(case, "switch", json!({"buffer_bytes": 4224, "delay_ps": 0}))
}

#[test]
fn levels_that_change_lanes_on_their_path_free_a_ring_of_its_circle() {
    for hops in 1..4 {
        let case = case(dateline(), hops);
        let outcome = complete(&case);
        let oracle = run(&with(case, "elide", json!(false)));
        assert_eq!(physics(&outcome), physics(&oracle));
    }
}

#[test]
fn a_circle_on_one_of_the_lanes_is_named_with_it() {
    // Everything is of level 1, whose packets stay on lane 1.
    let every = json!({"sa": [1, 1, 1, 1], "sb": [1, 1, 1, 1], "sc": [1, 1, 1, 1],
                       "sd": [1, 1, 1, 1]});
    let text = refusal(&case(json!({"count": 2, "levels": every, "sl2vl": [list(1)]}), 2));
    assert!(text.starts_with("routing: credit loop over "), "{text}");
    for port in ["sa[2]", "sb[2]", "sc[2]", "sd[2]"] {
        assert!(text.contains(&format!("{port} (lane 1)")), "{text}");
    }
}

#[test]
fn what_has_a_circle_deadlocks_when_it_is_allowed_and_what_has_none_does_not() {
    let one = json!({"count": 1, "levels": {}, "sl2vl": [list(0)]});
    let allowed = json!({"allow_credit_loops": true});
    let outcome = run(&with(case(one, 2), "routing", allowed.clone()));
    assert_eq!(outcome.status, Status::Deadlock);
    assert_eq!(run(&with(case(dateline(), 2), "routing", allowed)).status, Status::Complete);
}

#[test]
fn acknowledgements_take_the_lanes_of_their_own_paths() {
    for transport in [json!({"ack_every": 1}), json!({"ack_every": 1, "retries": 7})] {
        let case = with(case(dateline(), 3), "transport", transport);
        let outcome = complete(&case);
        let oracle = run(&with(case, "elide", json!(false)));
        assert_eq!(physics(&outcome), physics(&oracle));
    }
}

#[test]
fn an_engine_fills_tables_of_its_own_and_lanes_are_left_out() {
    let with_lanes = with(case(dateline(), 2), "routing", json!({"engine": "updn"}));
    let mut without = with_lanes.clone();
    without["fabric"].as_object_mut().unwrap().remove("lanes");
    assert_eq!(complete(&with_lanes), complete(&without));
}

#[test]
fn what_would_leave_the_paths_of_the_tables_is_refused() {
    let dct = json!({"dct": {"initiators": 1, "reconnect_ns": 100}});
    for (key, value, place) in [
        ("routing", json!({"adaptive": {}}), "routing.adaptive: "),
        ("transport", dct, "transport.dct: "),
    ] {
        let text = refusal(&with(case(dateline(), 2), key, value));
        assert!(text.starts_with(place), "{text}");
        assert!(text.contains("\n  expected: "), "{text}");
    }
}
