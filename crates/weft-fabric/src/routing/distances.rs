//! Distances of switches from a destination's leaf along the paths an engine allows.

use super::switch_graph::{Edge, Graph};
use super::up_down_hops::{Step, UpDownHops};
use crate::document::Engine;

/// No allowed path.
pub(crate) const FAR: u32 = u32::MAX;
/// The weight of a hop between groups of a dragonfly: more than any number of hops inside them.
const GLOBAL_COST: u32 = 1 << 16;

/// Distances towards the current target.
#[derive(Debug)]
pub(crate) struct Distances<'a> {
    pub(crate) graph: &'a Graph,
    engine: Engine,
    /// By switch its place in the order of up: the highest comes last.
    places: Vec<u32>,
    /// Hops as OpenSM's updn has them, and whether they hold for the current target: not where one
    /// of its paths goes up again.
    up_down: Option<UpDownHops>,
    is_up_down: bool,
    /// Hops going down only (up*/down* engines), and cost of the best allowed path.
    down: Vec<u32>,
    best: Vec<u32>,
    /// After `aim_up`: switches whose best path is not looked for yet.
    unknown: Vec<bool>,
}

impl<'a> Distances<'a> {
    /// `places`: by switch its place in the order of up, the highest last; each once.
    pub(crate) fn new(graph: &'a Graph, engine: Engine, places: Vec<u32>) -> Distances<'a> {
        let n = graph.n_switches();
        let step = |(at, edge): (usize, &Edge)| Step {
            to: edge.to,
            back: edge.back,
            is_up: places[edge.to as usize] > places[at],
        };
        let edges = || (0..n).flat_map(|at| graph.edges(at).iter().map(move |edge| (at, edge)));
        let up_down = (engine == Engine::Updn)
            .then(|| UpDownHops::new(graph.starts().to_vec(), edges().map(step).collect()));
        let (down, best, unknown) = (vec![FAR; n], vec![FAR; n], vec![false; n]);
        Distances { graph, engine, places, up_down, is_up_down: false, down, best, unknown }
    }

    fn up_then_down(&self) -> bool {
        matches!(self.engine, Engine::Dmodk | Engine::Updn)
    }

    fn cost(&self, edge: &Edge) -> u32 {
        if edge.global && self.engine == Engine::Dragonfly { GLOBAL_COST } else { 1 }
    }

    /// Prepare distances to the nearest of `targets`.
    pub(crate) fn aim_at(&mut self, targets: &[usize]) {
        if let (Some(up_down), [target]) = (&mut self.up_down, targets) {
            up_down.aim_at(*target);
            self.is_up_down = !up_down.has_valley();
            if self.is_up_down {
                return;
            }
        }
        self.best.fill(FAR);
        for target in targets {
            self.best[*target] = 0;
        }
        if !self.up_then_down() {
            return self.spread_costs(targets);
        }
        let reached = self.spread_above(targets);
        self.spread_below(reached);
    }

    /// Prepare distances to `target` for an engine that goes up, then down: those of switches that
    /// only have to go down, and of others what [`Distances::reach`] is asked for.
    pub(crate) fn aim_up(&mut self, target: usize) {
        self.spread_above(&[target]);
        for (unknown, down) in self.unknown.iter_mut().zip(&self.down) {
            *unknown = *down == FAR;
        }
    }

    /// After [`Distances::aim_up`]: know the distances of `at` and of what is above it.
    pub(crate) fn reach(&mut self, at: usize) {
        if !self.unknown[at] {
            return;
        }
        self.unknown[at] = false;
        let mut asked = vec![at];
        let mut next = 0;
        while next < asked.len() {
            let from = asked[next];
            next += 1;
            for edge in self.graph.edges(from) {
                let to = edge.to as usize;
                if self.unknown[to] && self.above(to, from) {
                    self.unknown[to] = false;
                    asked.push(to);
                }
            }
        }
        // The highest first: what is above is known before what goes up to it.
        asked.sort_unstable_by_key(|switch| std::cmp::Reverse(self.places[*switch]));
        for from in asked {
            let edges = self.graph.edges(from).iter().map(|edge| edge.to as usize);
            let above = edges.filter(|to| self.above(*to, from)).map(|to| self.best[to]);
            self.best[from] = above.min().unwrap_or(FAR).saturating_add(1);
        }
    }

    /// Hops down to `targets`, of all that can go down to them: these switches. They are their
    /// best, too.
    fn spread_above(&mut self, targets: &[usize]) -> Vec<usize> {
        self.down.fill(FAR);
        let mut reached = targets.to_vec();
        for target in targets {
            self.down[*target] = 0;
        }
        let mut next = 0;
        while next < reached.len() {
            let from = reached[next];
            next += 1;
            for edge in self.graph.edges(from) {
                let to = edge.to as usize;
                if self.down[to] == FAR && self.above(to, from) {
                    self.down[to] = self.down[from] + 1;
                    reached.push(to);
                }
            }
        }
        self.best.copy_from_slice(&self.down);
        reached
    }

    /// Any path, by cost: one bucket a cost, those of the next costs only.
    fn spread_costs(&mut self, targets: &[usize]) {
        let mut frontier: Vec<usize> = targets.to_vec();
        while !frontier.is_empty() {
            let mut beyond = Vec::new();
            let mut next = 0;
            // Inside the groups first: frontier grows while it is read, in order of hops.
            while next < frontier.len() {
                let from = frontier[next];
                next += 1;
                for edge in self.graph.edges(from) {
                    let to = edge.to as usize;
                    let cost = self.best[from] + self.cost(edge);
                    if cost >= self.best[to] {
                        continue;
                    }
                    let local = self.cost(edge) == 1;
                    let fresh = self.best[to] == FAR || local;
                    self.best[to] = cost;
                    if local {
                        frontier.push(to);
                    } else if fresh {
                        beyond.push(to);
                    }
                }
            }
            beyond.sort_by_key(|switch| self.best[*switch]);
            frontier = beyond;
        }
    }

    /// Best up-then-down hops: from every switch that can go down, downwards to those that must
    /// first go up to it.
    fn spread_below(&mut self, start: Vec<usize>) {
        let mut buckets: Vec<Vec<usize>> = Vec::new();
        let put = |buckets: &mut Vec<Vec<usize>>, hops: u32, switch: usize| {
            if buckets.len() <= hops as usize {
                buckets.resize(hops as usize + 1, Vec::new());
            }
            buckets[hops as usize].push(switch);
        };
        for switch in start {
            put(&mut buckets, self.best[switch], switch);
        }
        let mut hops = 0;
        while hops < buckets.len() {
            for from in std::mem::take(&mut buckets[hops]) {
                for edge in self.graph.edges(from) {
                    let to = edge.to as usize;
                    if self.best[to] == FAR && self.above(from, to) {
                        self.best[to] = hops as u32 + 1;
                        put(&mut buckets, hops as u32 + 1, to);
                    }
                }
            }
            hops += 1;
        }
    }

    /// Whether `high` is above `low`.
    pub(crate) fn above(&self, high: usize, low: usize) -> bool {
        self.places[high] > self.places[low]
    }

    /// Whether a switch only has to go down (engines that go up, then down).
    pub(crate) fn goes_down(&self, at: usize) -> bool {
        self.down[at] != FAR
    }

    /// Hops from a switch to the target; none where no allowed path leads there.
    pub(crate) fn hops(&self, at: usize) -> Option<u32> {
        let cost = self.best[at];
        (cost != FAR).then_some(cost % GLOBAL_COST + cost / GLOBAL_COST)
    }

    /// The edges of `at` that lead closer to the target on an allowed path, in port order.
    pub(crate) fn closer(&self, at: usize) -> impl Iterator<Item = &Edge> {
        // INVARIANT: a switch that can go down does so, and what it goes down to can too: no
        // packet turns up again in any mix of tables.
        let tree = self.up_then_down();
        let goes_down = tree && self.goes_down(at);
        let costs = if goes_down { &self.down } else { &self.best };
        let up_down = self.up_down.as_ref().filter(|_| self.is_up_down);
        let edges = self.graph.edges(at).iter().enumerate().filter(move |(number, edge)| {
            if let Some(up_down) = up_down {
                return up_down.is_nearest(at, *number);
            }
            let to = edge.to as usize;
            let closer =
                costs[to] != FAR && costs[at] != FAR && costs[to] + self.cost(edge) == costs[at];
            closer && (!tree || self.above(at, to) == goes_down)
        });
        edges.map(|(_, edge)| edge)
    }
}
