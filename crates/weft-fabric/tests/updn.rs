//! Lengths of the paths of `updn` on rings and tori: the fewest hops of all legal paths.

use serde_json::{Value, json};
use std::collections::VecDeque;
use weft_fabric::document::Engine;
use weft_fabric::{Fabric, HcaId, engines, generate};

/// Switches with a host each, and cables between them.
fn fabric(n: usize, cables: impl Iterator<Item = (usize, usize)>) -> Fabric {
    let mut next = vec![2; n];
    let mut take = |switch: usize| {
        next[switch] += 1;
        format!("s{switch:02}[{}]", next[switch] - 1)
    };
    let link = |a: String, b: String| json!({"a": a, "b": b, "bits_per_s": 1, "delay_ps": 0});
    let mut links: Vec<Value> = cables.map(|(a, b)| link(take(a), take(b))).collect();
    links.extend((0..n).map(|i| link(format!("h{i}[1]"), format!("s{i:02}[1]"))));
    let node = |i: usize| json!({"name": format!("n{i}"), "hcas": [format!("h{i}")]});
    let switch = |i: usize| json!({"name": format!("s{i:02}"), "ports": 40});
    let document = json!({"schema": "weft.fabric/1", "name": "net", "links": links,
        "nodes": (0..n).map(node).collect::<Vec<Value>>(),
        "switches": (0..n).map(switch).collect::<Vec<Value>>()});
    Fabric::new(&generate::read(document).expect("a document")).expect("a fabric")
}

fn ring(n: usize) -> (usize, Vec<(usize, usize)>) {
    (n, (0..n).map(|at| (at, (at + 1) % n)).collect())
}

fn torus(x: usize, y: usize) -> (usize, Vec<(usize, usize)>) {
    let at = |i: usize, j: usize| (i % x) * y + j % y;
    let places = (0..x).flat_map(|i| (0..y).map(move |j| (i, j)));
    (
        x * y,
        places.flat_map(|(i, j)| [(at(i, j), at(i + 1, j)), (at(i, j), at(i, j + 1))]).collect(),
    )
}

fn steps_from(start: usize, n: usize, next: impl Fn(usize) -> Vec<usize>) -> Vec<Option<usize>> {
    let mut steps = vec![None; n];
    steps[start] = Some(0);
    let mut queue = VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for to in next(at) {
            if steps[to].is_none() {
                steps[to] = steps[at].map(|hops| hops + 1);
                queue.push_back(to);
            }
        }
    }
    steps
}

/// By switch the fewest hops from another on paths up, then down, seen from switch 0 as the root:
/// states are switches, and once more those of packets that went down.
fn legal_hops(from: usize, n: usize, cables: &[(usize, usize)]) -> Vec<usize> {
    let peers = |at: usize| -> Vec<usize> {
        let ends = cables.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        ends.filter(|(a, _)| *a == at).map(|(_, b)| b).collect()
    };
    let ranks = steps_from(0, n, peers);
    let is_up = |at: usize, to: usize| (ranks[to], to) < (ranks[at], at);
    let states = steps_from(from, 2 * n, |state| {
        let (at, went_down) = (state % n, state >= n);
        let next = peers(at).into_iter().filter(|to| !went_down || !is_up(at, *to));
        next.map(|to| if is_up(at, to) { to } else { n + to }).collect()
    });
    let least = |to: usize| states[to].into_iter().chain(states[n + to]).min().expect("a path");
    (0..n).map(least).collect()
}

#[test]
fn on_rings_and_tori_no_legal_path_is_shorter() {
    let rings = (4..15).map(ring);
    let tori = [(3, 3), (4, 3), (4, 4), (5, 4), (5, 5), (7, 3)].map(|(x, y)| torus(x, y));
    for (n, cables) in rings.chain(tori) {
        let fabric = fabric(n, cables.iter().copied());
        let routes = engines::compute(&fabric, Engine::Updn);
        for src in 0..n {
            let fewest = legal_hops(src, n, &cables);
            for dst in (0..n).filter(|dst| *dst != src) {
                let path = routes.trace(&fabric, HcaId(src as u32), HcaId(dst as u32));
                let hops = path.expect("a route").len() - 2;
                assert_eq!(hops, fewest[dst], "{n} switches: {src} to {dst}");
            }
        }
    }
}
