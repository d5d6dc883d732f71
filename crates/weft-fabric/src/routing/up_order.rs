//! The order of up: which of two switches is the higher one.

use super::switch_graph::Graph;
use std::cmp::Reverse;
use std::collections::VecDeque;

/// No path from a root.
const UNRANKED: u32 = u32::MAX;

/// By switch its place by level, then by number: the highest last.
pub(crate) fn by_level(graph: &Graph) -> Vec<u32> {
    places(graph, |switch| (graph.levels[switch], switch))
}

/// By switch its place as OpenSM's updn ranks them: by the distance from the nearest root, then the
/// lower number is the higher switch.
pub(crate) fn by_distance(graph: &Graph, roots: &[usize]) -> Vec<u32> {
    let mut ranks = vec![UNRANKED; graph.n_switches()];
    roots.iter().for_each(|root| ranks[*root] = 0);
    let mut queue: VecDeque<usize> = roots.iter().copied().collect();
    while let Some(at) = queue.pop_front() {
        for to in graph.edges(at).iter().map(|edge| edge.to as usize) {
            if ranks[to] == UNRANKED {
                ranks[to] = ranks[at] + 1;
                queue.push_back(to);
            }
        }
    }
    places(graph, |switch| Reverse((ranks[switch], switch)))
}

fn places<K: Ord>(graph: &Graph, key: impl Fn(usize) -> K) -> Vec<u32> {
    let mut order: Vec<usize> = (0..graph.n_switches()).collect();
    order.sort_by_key(|switch| key(*switch));
    let mut places = vec![0; order.len()];
    (0..).zip(order).for_each(|(place, switch)| places[switch] = place);
    places
}

/// The highest switches of every part of the fabric; of a part where a cable joins two of them, the
/// first alone, as OpenSM's roots lead up to each other.
pub(crate) fn roots(graph: &Graph) -> Vec<usize> {
    let tops = parts(graph).into_iter().map(|part| {
        let highest = part.iter().map(|switch| graph.levels[*switch]).max();
        let is_top = |switch: usize| Some(graph.levels[switch]) == highest;
        let tops: Vec<usize> = part.into_iter().filter(|switch| is_top(*switch)).collect();
        let joined = |top: &usize| {
            let peers = graph.edges(*top).iter().map(|edge| edge.to as usize);
            peers.filter(|to| to != top).any(is_top)
        };
        if tops.iter().any(joined) { tops[..1].to_vec() } else { tops }
    });
    tops.flatten().collect()
}

/// The first of the highest switches of every part.
pub(crate) fn single_roots(graph: &Graph) -> Vec<usize> {
    let root = |part: Vec<usize>| part.into_iter().min_by_key(|s| (Reverse(graph.levels[*s]), *s));
    parts(graph).into_iter().filter_map(root).collect()
}

/// The switches of each part of the fabric, in the order of their numbers.
fn parts(graph: &Graph) -> Vec<Vec<usize>> {
    let mut seen = vec![false; graph.n_switches()];
    let mut parts = Vec::new();
    for first in 0..graph.n_switches() {
        let (mut stack, mut part) = (vec![first], Vec::new());
        while let Some(at) = stack.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                part.push(at);
                stack.extend(graph.edges(at).iter().map(|edge| edge.to as usize));
            }
        }
        part.sort_unstable();
        parts.extend(Some(part).filter(|part| !part.is_empty()));
    }
    parts
}
