//! Routing engines: d-mod-k, fewest hops, up*/down*.
//!
//! SOURCE: d-mod-k after E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
//! permutations on real life fat trees" (2010); up*/down* after Schroeder et al., Autonet (1991).

use crate::document::{Engine, FabricDocument};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId, VertexId};
use crate::routes::Routes;

const FAR: u32 = u32::MAX;

/// The tables of a document: those of the named engine, else the document's own, else minhop.
pub fn routes_of(
    fabric: &Fabric,
    document: &FabricDocument,
    engine: Option<Engine>,
) -> Result<Routes, FabricError> {
    if let Some(engine) = engine {
        return Ok(compute(fabric, engine));
    }
    let written = Routes::from_document(fabric, document)?;
    Ok(written.unwrap_or_else(|| compute(fabric, Engine::Minhop)))
}

/// Forwarding tables over the cables that are up; entries without a route stay empty.
pub fn compute(fabric: &Fabric, engine: Engine) -> Routes {
    let levels = fabric.vertices.iter().map(|vertex| vertex.level).collect();
    let (routes, n_missing) = fill(fabric, engine, levels);
    if engine == Engine::Updn && n_missing > 0 {
        // Levels may have several tops with no legal way from one to the other; one root always
        // has a way.
        let (rooted, n_still_missing) = fill(fabric, engine, heights_from_one_root(fabric));
        if n_still_missing < n_missing {
            return rooted;
        }
    }
    routes
}

/// Tables for the given heights, and how many entries stay empty.
fn fill(fabric: &Fabric, engine: Engine, heights: Vec<u32>) -> (Routes, usize) {
    let mut routes = Routes::empty(fabric);
    let mut planner = Planner::new(fabric, engine, heights);
    let mut n_missing = 0;
    for dst in (0..fabric.n_hcas()).map(HcaId) {
        planner.aim_at(dst);
        for switch in (0..fabric.n_switches()).map(SwitchId) {
            let Some(port) = planner.choose(switch, dst) else {
                n_missing += 1;
                continue;
            };
            let first = fabric.vertices[fabric.switch_vertex(switch).index()].first_port.0;
            routes.set(switch, dst, port.0 - first + 1);
        }
    }
    (routes, n_missing)
}

/// Heights that fall with the distance from the first of the highest switches.
fn heights_from_one_root(fabric: &Fabric) -> Vec<u32> {
    let switches = (0..fabric.n_switches()).map(|n| fabric.switch_vertex(SwitchId(n)));
    let mut hops = vec![FAR; fabric.vertices.len()];
    let Some(root) = switches.min_by_key(|v| (u32::MAX - fabric.vertices[v.index()].level, *v))
    else {
        return hops;
    };
    hops[root.index()] = 0;
    spread(fabric, vec![root], &mut hops, |_, _| true);
    hops.into_iter().map(|hops| FAR - hops).collect()
}

/// What the engines share: distances towards the current destination's switch.
struct Planner<'a> {
    fabric: &'a Fabric,
    engine: Engine,
    /// What up means: by height, then by number.
    heights: Vec<u32>,
    /// The switch the distances lead to.
    root: Option<VertexId>,
    /// Hops going down only (minhop: any way), and hops of the best legal path.
    down: Vec<u32>,
    best: Vec<u32>,
    /// Destinations already routed over each port.
    load: Vec<u32>,
    /// d-mod-k: up ports of each switch in port order, and what to divide destinations by.
    up_ports: Vec<Vec<PortId>>,
    divisors: Vec<u32>,
}

impl<'a> Planner<'a> {
    fn new(fabric: &'a Fabric, engine: Engine, heights: Vec<u32>) -> Planner<'a> {
        let n = fabric.vertices.len();
        let up_ports: Vec<Vec<PortId>> = (0..n as u32)
            .map(VertexId)
            .map(|vertex| {
                let above = |port: &PortId| {
                    let peer = fabric.ports[port.index()].peer;
                    peer.is_some_and(|p| above(&heights, fabric.ports[p.index()].vertex, vertex))
                };
                fabric.ports_of(vertex).filter(above).collect()
            })
            .collect();
        let divisors = divisors(fabric, &up_ports);
        Planner {
            fabric,
            engine,
            heights,
            root: None,
            down: vec![FAR; n],
            best: vec![FAR; n],
            load: vec![0; fabric.ports.len()],
            up_ports,
            divisors,
        }
    }

    /// Prepare distances to `dst`; destinations on one switch share them.
    fn aim_at(&mut self, dst: HcaId) {
        let root = self.fabric.neighbour(self.fabric.hca_port(dst));
        let root = root.filter(|vertex| self.fabric.switch(*vertex).is_some());
        if root == self.root && root.is_some() {
            return;
        }
        self.root = root;
        self.down.fill(FAR);
        self.best.fill(FAR);
        let Some(root) = root else { return };
        let any_way = self.engine == Engine::Minhop;
        self.down[root.index()] = 0;
        spread(self.fabric, vec![root], &mut self.down, |from, to| {
            any_way || above(&self.heights, to, from)
        });
        self.best.copy_from_slice(&self.down);
        if !any_way {
            let reached = |v: &VertexId| self.down[v.index()] != FAR;
            let mut start: Vec<VertexId> =
                (0..self.down.len() as u32).map(VertexId).filter(reached).collect();
            start.sort_by_key(|vertex| self.down[vertex.index()]);
            spread_sorted(self.fabric, &self.heights, start, &mut self.best);
        }
    }

    /// The port of `switch` towards `dst`.
    fn choose(&mut self, switch: SwitchId, dst: HcaId) -> Option<PortId> {
        let at = self.fabric.switch_vertex(switch);
        if self.root == Some(at) {
            let hca_end = self.fabric.ports[self.fabric.hca_port(dst).index()].peer;
            return hca_end;
        }
        if self.best[at.index()] == FAR {
            return None;
        }
        let port = match self.engine {
            Engine::Dmodk => self.by_modulo(at, dst),
            Engine::Minhop | Engine::Updn => {
                self.fabric.ports_of(at).filter(|p| self.leads_closer(at, *p)).min_by_key(|p| {
                    let load = self.load[p.index()];
                    (load, p.0)
                })
            }
        };
        if let Some(port) = port {
            self.load[port.index()] += 1;
        }
        port
    }

    /// Whether a port of `at` is one hop closer to the destination on a legal path.
    fn leads_closer(&self, at: VertexId, port: PortId) -> bool {
        let Some(next) = self.fabric.neighbour(port) else {
            return false;
        };
        // INVARIANT: a vertex that can go down does so, and what it goes down to can too: no
        // packet turns up again, whatever tables it crosses.
        let goes_down = self.down[at.index()] != FAR;
        let hops = if goes_down { &self.down } else { &self.best };
        let closer = hops[next.index()] != FAR && hops[next.index()] < hops[at.index()];
        let legal = self.engine == Engine::Minhop || above(&self.heights, at, next) == goes_down;
        closer && legal
    }

    fn by_modulo(&self, at: VertexId, dst: HcaId) -> Option<PortId> {
        let level = self.fabric.vertices[at.index()].level as usize;
        let up = &self.up_ports[at.index()];
        if self.down[at.index()] == FAR {
            let start = (dst.0 / self.divisors[level]) as usize % up.len().max(1);
            // From the destination's own port on: a dead cable moves only the routes it carried.
            let turned = up[start..].iter().chain(&up[..start]);
            return turned.copied().find(|port| self.leads_closer(at, *port));
        }
        let below: Vec<PortId> =
            self.fabric.ports_of(at).filter(|port| self.leads_closer(at, *port)).collect();
        let child = self.fabric.neighbour(*below.first()?)?;
        let child_level = self.fabric.vertices[child.index()].level as usize;
        let n_up = self.up_ports[child.index()].len().max(1);
        let spines = (n_up / below.len()).max(1);
        let turn = (dst.0 / self.divisors[child_level]) as usize % n_up;
        Some(below[turn / spines % below.len()])
    }
}

/// Whether `high` is above `low`: by height, then by number.
fn above(heights: &[u32], high: VertexId, low: VertexId) -> bool {
    (heights[high.index()], high) > (heights[low.index()], low)
}

/// By level: the product of the up-port counts of the levels below.
fn divisors(fabric: &Fabric, up_ports: &[Vec<PortId>]) -> Vec<u32> {
    let highest = fabric.vertices.iter().map(|v| v.level).max().unwrap_or(0) as usize;
    let mut widths = vec![1u32; highest + 1];
    for (vertex, ups) in fabric.vertices.iter().zip(up_ports) {
        if vertex.level > 0 {
            let width = &mut widths[vertex.level as usize];
            *width = (*width).max(ups.len() as u32);
        }
    }
    let mut divisors = vec![1u32; highest + 1];
    for level in 2..=highest {
        divisors[level] = divisors[level - 1].saturating_mul(widths[level - 1]);
    }
    divisors
}

/// Breadth first from `start` (distance set) over switches, along steps that `allowed` accepts.
fn spread(
    fabric: &Fabric,
    start: Vec<VertexId>,
    hops: &mut [u32],
    allowed: impl Fn(VertexId, VertexId) -> bool,
) {
    let mut frontier = start;
    while !frontier.is_empty() {
        let mut next = Vec::new();
        for from in frontier {
            for to in fabric.ports_of(from).filter_map(|port| fabric.neighbour(port)) {
                let fresh = hops[to.index()] == FAR && fabric.switch(to).is_some();
                if fresh && allowed(from, to) {
                    hops[to.index()] = hops[from.index()] + 1;
                    next.push(to);
                }
            }
        }
        frontier = next;
    }
}

/// Best up-then-down hops: from every vertex that can go down, downwards to those that must first
/// go up to it.
fn spread_sorted(fabric: &Fabric, heights: &[u32], start: Vec<VertexId>, best: &mut [u32]) {
    let mut buckets: Vec<Vec<VertexId>> = Vec::new();
    let put = |buckets: &mut Vec<Vec<VertexId>>, hops: u32, vertex: VertexId| {
        if buckets.len() <= hops as usize {
            buckets.resize(hops as usize + 1, Vec::new());
        }
        buckets[hops as usize].push(vertex);
    };
    for vertex in start {
        put(&mut buckets, best[vertex.index()], vertex);
    }
    let mut hops = 0;
    while hops < buckets.len() {
        for from in std::mem::take(&mut buckets[hops]) {
            for to in fabric.ports_of(from).filter_map(|port| fabric.neighbour(port)) {
                let lower = fabric.switch(to).is_some() && above(heights, from, to);
                if lower && best[to.index()] == FAR {
                    best[to.index()] = hops as u32 + 1;
                    put(&mut buckets, hops as u32 + 1, to);
                }
            }
        }
        hops += 1;
    }
}
