//! The paths inside a node: highest rate first, then fewest links.

use super::graph::{InnerId, InnerVertex};
use std::cmp::Reverse;

/// The cost of a path; the least is the best: the highest rate of its slowest link, then the fewest
/// links.
pub(crate) type Cost = (Reverse<u64>, u32);

const NO_PATH: Cost = (Reverse(0), u32::MAX);

/// For every pair of vertices the ports of the first that are equally good towards the second.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    n: usize,
    costs: Vec<Cost>,
    next: Vec<Vec<u16>>,
}

impl Paths {
    pub(crate) fn new(vertices: &[InnerVertex]) -> Paths {
        let n = vertices.len();
        let mut paths = Paths { n, costs: Vec::new(), next: Vec::new() };
        for dst in (0..n as u32).map(InnerId) {
            let costs = costs_to(vertices, dst);
            for (at, vertex) in vertices.iter().enumerate() {
                let good = |port: &usize| {
                    let (rate, links) = costs[at];
                    let to = vertex.ports[*port].peer;
                    may_cross(vertices, to, dst)
                        && links != u32::MAX
                        && at != dst.index()
                        && widened(costs[to.index()], vertex.ports[*port].rate.0) == (rate, links)
                };
                let ports = (0..vertex.ports.len()).filter(good);
                paths.next.push(ports.map(|port| port as u16).collect());
            }
            paths.costs.extend(costs);
        }
        paths
    }

    /// The cost of the best path.
    pub(crate) fn cost(&self, at: InnerId, dst: InnerId) -> Cost {
        self.costs[dst.index() * self.n + at.index()]
    }

    /// The ports of `at` on equally good paths to `dst`, none where there is no path.
    pub(crate) fn next(&self, at: InnerId, dst: InnerId) -> &[u16] {
        &self.next[dst.index() * self.n + at.index()]
    }
}

/// Nothing passes through GPUs, memory and HCAs.
fn may_cross(vertices: &[InnerVertex], at: InnerId, dst: InnerId) -> bool {
    let vertex = &vertices[at.index()];
    at == dst || (vertex.kind.is_some() && !vertex.is_end())
}

/// The cost of a path with one more link.
fn widened((Reverse(rate), links): Cost, link_rate: u64) -> Cost {
    (Reverse(rate.min(link_rate)), links.saturating_add(1))
}

/// The least cost from every vertex to `dst`.
///
/// INVARIANT: the next vertex of a path has a higher rate, or the same one and fewer links: packets
/// that follow the tables hop by hop come to an end.
fn costs_to(vertices: &[InnerVertex], dst: InnerId) -> Vec<Cost> {
    let mut costs = vec![NO_PATH; vertices.len()];
    costs[dst.index()] = (Reverse(u64::MAX), 0);
    let mut settled = vec![false; vertices.len()];
    // Dijkstra's order: adding a link never makes a path better.
    loop {
        let open = (0..vertices.len()).filter(|v| !settled[*v] && costs[*v] != NO_PATH);
        let Some(at) = open.min_by_key(|v| (costs[*v], *v)) else {
            return costs;
        };
        settled[at] = true;
        if !may_cross(vertices, InnerId(at as u32), dst) {
            continue;
        }
        for port in &vertices[at].ports {
            let cost = widened(costs[at], port.rate.0);
            let known = &mut costs[port.peer.index()];
            *known = cost.min(*known);
        }
    }
}
