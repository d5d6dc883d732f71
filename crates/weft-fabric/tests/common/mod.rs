//! Fabrics that more than one file of tests wants.

pub(crate) mod damage;
pub(crate) mod samples;
pub(crate) mod subnets;

use proptest::prelude::*;
use serde_json::{Value, json};

/// A connected random graph of switches, a node on each.
pub(crate) fn any_fabric() -> impl Strategy<Value = Value> {
    (2usize..9, prop::collection::vec((0usize..9, 0usize..9), 0..12)).prop_map(|(n, extra)| {
        let mut edges: Vec<(usize, usize)> = (1..n).map(|i| (i / 2, i)).collect();
        edges.extend(extra.into_iter().map(|(a, b)| (a % n, b % n)).filter(|(a, b)| a != b));
        let mut next = vec![2; n];
        let mut take = |switch: usize| {
            next[switch] += 1;
            format!("s{switch}[{}]", next[switch] - 1)
        };
        let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 0});
        let mut links: Vec<Value> = edges.iter().map(|(a, b)| link(take(*a), take(*b))).collect();
        links.extend((0..n).map(|i| link(format!("h{i}[1]"), format!("s{i}[1]"))));
        let node = |i: usize| json!({"name": format!("n{i}"), "hcas": [format!("h{i}")]});
        let switch = |i: usize| json!({"name": format!("s{i}"), "ports": 40});
        json!({"schema": "weft.fabric/1", "name": "random", "links": links,
            "nodes": (0..n).map(node).collect::<Vec<Value>>(),
            "switches": (0..n).map(switch).collect::<Vec<Value>>()})
    })
}
