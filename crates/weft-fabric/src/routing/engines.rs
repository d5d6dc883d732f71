//! Routing engines: d-mod-k, fewest hops, up*/down*, dragonfly.
//!
//! SOURCE: d-mod-k after E. Zahavi, "D-Mod-K routing providing non-blocking traffic for shift
//! permutations on real life fat trees" (2010); up*/down* after Schroeder et al., Autonet (1991);
//! minimal paths of a dragonfly after Kim, Dally, Scott & Abts (2008).

use super::attachments::Attachments;
use super::candidates::Candidates;
use super::detours;
use super::distances::Distances;
use super::leaf_table::LeafTableBuilder;
use super::routes::{Routes, trace_by};
use super::switch_graph::{Edge, Graph};
use super::up_order;
use crate::document::{Engine, FabricDocument};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId};

/// The result of an engine: one port a destination, and every port that it allows.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Forwarding tables; entries without a route stay empty.
    pub routes: Routes,
    /// The ports to choose from.
    pub candidates: Candidates,
}

/// The tables of a document: those of the named engine, else the document's own, else minhop.
pub fn routes_of(
    fabric: &Fabric,
    document: &FabricDocument,
    engine: Option<Engine>,
) -> Result<Routes, FabricError> {
    if let Some(engine) = engine {
        if engine == Engine::Ecmp {
            let expected = "dmodk, minhop, updn or dragonfly";
            let what = "no table says 'ecmp': it chooses by queue pair";
            return Err(FabricError::document("routing.engine", what, expected));
        }
        return Ok(compute(fabric, engine));
    }
    let written = Routes::from_document(fabric, document)?;
    Ok(written.unwrap_or_else(|| compute(fabric, Engine::Minhop)))
}

/// Add paths over a third group to candidates, for packets that take detours.
pub fn add_detours(fabric: &Fabric, candidates: &mut Candidates) -> Result<(), FabricError> {
    candidates.detours = Some(detours::detours(fabric, &candidates.attached)?);
    Ok(())
}

/// Forwarding tables over the cables that are up; entries without a route stay empty.
pub fn compute(fabric: &Fabric, engine: Engine) -> Routes {
    tables(fabric, engine).routes
}

/// The paths of d-mod-k for some pairs, as [`Routes::trace`] gives them: of its tables only the
/// entries on these paths.
pub fn dmodk_paths(
    fabric: &Fabric,
    pairs: &[(HcaId, HcaId)],
) -> Result<Vec<Vec<PortId>>, FabricError> {
    let attached = Attachments::of(fabric);
    let graph = Graph::of(fabric);
    let places = up_order::by_level(&graph);
    let mut planner = Planner::new(fabric, &graph, &attached, Engine::Dmodk, places);
    let mut paths = vec![Vec::new(); pairs.len()];
    let mut by_leaf: Vec<usize> = (0..pairs.len()).collect();
    by_leaf.sort_by_key(|pair| attached.leaf_of(pairs[*pair].1));
    let mut aimed = None;
    for pair in by_leaf {
        let (src, dst) = pairs[pair];
        let target = attached.switch_of(attached.leaf_of(dst)).map(SwitchId::index);
        if let Some(leaf) = target.filter(|_| aimed != target) {
            planner.distances.aim_up(leaf);
            aimed = target;
        }
        paths[pair] = trace_by(fabric, src, dst, |switch| {
            let target = target?;
            let number = if switch.index() == target {
                live_number(fabric, &attached, dst)
            } else {
                planner.distances.reach(switch.index());
                let closer: Vec<Edge> = planner.distances.closer(switch.index()).copied().collect();
                planner.number(switch.index(), dst, &closer)
            };
            (number > 0).then_some(u32::from(number))
        })?;
    }
    Ok(paths)
}

/// Forwarding tables and candidates over the cables that are up. Those of `ecmp` are of the fewest
/// hops, as minhop's are.
pub fn tables(fabric: &Fabric, engine: Engine) -> Tables {
    let graph = Graph::of(fabric);
    if engine != Engine::Updn {
        return fill(fabric, &graph, engine, up_order::by_level(&graph)).0;
    }
    let from = |roots: &[usize]| fill(fabric, &graph, engine, up_order::by_distance(&graph, roots));
    let (tables, n_missing) = from(&up_order::roots(&graph));
    if n_missing > 0 {
        // Several roots may have no legal path from one to the other; one root always has a path.
        let (rooted, n_still_missing) = from(&up_order::single_roots(&graph));
        if n_still_missing < n_missing {
            return rooted;
        }
    }
    tables
}

/// Tables for the given order of up, and how many entries stay empty.
fn fill(fabric: &Fabric, graph: &Graph, engine: Engine, places: Vec<u32>) -> (Tables, usize) {
    let attached = Attachments::of(fabric);
    let (n, n_leaves) = (graph.n_switches(), attached.n_leaves());
    let mut routes = LeafTableBuilder::new(n, n_leaves);
    let mut candidates = LeafTableBuilder::new(n, n_leaves);
    let mut planner = Planner::new(fabric, graph, &attached, engine, places);
    let mut n_missing = 0;
    let (mut group, mut block): (Vec<u16>, Vec<u16>) = (Vec::new(), Vec::new());
    for leaf in 0..n_leaves {
        let hcas = attached.hcas_of(leaf);
        let Some(target) = attached.switch_of(leaf).map(|switch| switch.index()) else {
            n_missing += hcas.len() * n;
            continue;
        };
        planner.distances.aim_at(&[target]);
        for switch in 0..n {
            block.clear();
            if switch == target {
                block.extend(hcas.iter().map(|hca| live_number(fabric, &attached, *hca)));
            } else {
                let closer: Vec<Edge> = planner.distances.closer(switch).copied().collect();
                group.clear();
                group.extend(closer.iter().map(|edge| edge.number));
                candidates.set(switch, leaf, &group);
                let ports = hcas.iter().map(|hca| planner.number(switch, *hca, &closer));
                block.extend(ports);
            }
            n_missing += block.iter().filter(|number| **number == 0).count();
            routes.set(switch, leaf, &block);
        }
    }
    let routes = Routes::new(fabric, attached.clone(), routes.finish());
    let candidates = Candidates { attached, table: candidates.finish(), detours: None };
    (Tables { routes, candidates }, n_missing)
}

/// Port number (from 1) of the leaf's port to one of its HCAs, 0 where the cable is dead.
fn live_number(fabric: &Fabric, attached: &Attachments, hca: HcaId) -> u16 {
    let up = fabric.ports[fabric.hca_port(hca).index()].up;
    if up { attached.number_of(hca) + 1 } else { 0 }
}

/// Chooses one of the ports that lead closer for each destination.
struct Planner<'a> {
    engine: Engine,
    distances: Distances<'a>,
    /// d-mod-k: destinations are counted leaf by leaf, so those of one leaf take all up ports in
    /// turn, whatever rail or plane the leaf belongs to.
    attached: &'a Attachments,
    /// By switch and port number: destinations already routed over it.
    load: Vec<Vec<u32>>,
    /// d-mod-k: up ports of each switch in port order, and what to divide destinations by.
    up_ports: Vec<Vec<u16>>,
    divisors: Vec<u32>,
}

impl<'a> Planner<'a> {
    fn new(
        fabric: &Fabric,
        graph: &'a Graph,
        attached: &'a Attachments,
        engine: Engine,
        places: Vec<u32>,
    ) -> Planner<'a> {
        let distances = Distances::new(graph, engine, places);
        let switches = 0..graph.n_switches();
        // Dead cables count: the up port of a destination stays where it was.
        let up_ports: Vec<Vec<u16>> =
            switches.clone().map(|switch| up_ports(fabric, switch, &distances)).collect();
        let widest = |switch: usize| graph.edges(switch).last().map_or(0, |e| e.number + 1);
        let load = switches.map(|switch| vec![0; usize::from(widest(switch))]).collect();
        let divisors = divisors(&graph.levels, &up_ports);
        Planner { engine, distances, attached, load, up_ports, divisors }
    }

    /// The port number (from 1) of `switch` towards `dst`, among those that lead closer; 0 if
    /// there are none.
    fn number(&mut self, switch: usize, dst: HcaId, closer: &[Edge]) -> u16 {
        if closer.is_empty() {
            return 0;
        }
        let number = match self.engine {
            Engine::Dmodk => self.by_modulo(switch, dst, closer),
            _ => {
                let load = &mut self.load[switch];
                let numbers = closer.iter().map(|edge| edge.number);
                let least = numbers.min_by_key(|number| (load[usize::from(*number)], *number));
                let number = least.expect("a port leads closer");
                load[usize::from(number)] += 1;
                number
            }
        };
        number + 1
    }

    fn by_modulo(&self, at: usize, dst: HcaId, closer: &[Edge]) -> u16 {
        let levels = &self.distances.graph.levels;
        let order = self.attached.order_of(dst);
        if !self.distances.goes_down(at) {
            let up = &self.up_ports[at];
            let start = (order / self.divisors[levels[at] as usize]) as usize % up.len();
            if closer.len() == up.len() {
                return up[start];
            }
            // From the destination's own port on: a dead cable moves only the routes it carried.
            let mut turned = up[start..].iter().chain(&up[..start]);
            let leads = |number: u16| closer.binary_search_by_key(&number, |e| e.number).is_ok();
            return *turned.find(|number| leads(**number)).expect("a port leads closer");
        }
        let child = closer[0].to as usize;
        let n_up = self.up_ports[child].len().max(1);
        let spines = (n_up / closer.len()).max(1);
        let turn = (order / self.divisors[levels[child] as usize]) as usize % n_up;
        closer[turn / spines % closer.len()].number
    }
}

/// The up ports of a switch, in port order, whether their cables are up or not.
fn up_ports(fabric: &Fabric, switch: usize, distances: &Distances<'_>) -> Vec<u16> {
    let vertex = fabric.switch_vertex(SwitchId(switch as u32));
    let above = |port: PortId| {
        let peer = fabric.ports[port.index()].peer?;
        let there = fabric.switch(fabric.ports[peer.index()].vertex)?;
        Some(distances.above(there.index(), switch))
    };
    let ports = fabric.ports_of(vertex).enumerate();
    ports.filter(|(_, port)| above(*port) == Some(true)).map(|(n, _)| n as u16).collect()
}

/// By level: the product of the up-port counts of the levels below.
fn divisors(levels: &[u32], up_ports: &[Vec<u16>]) -> Vec<u32> {
    let highest = levels.iter().copied().max().unwrap_or(0) as usize;
    let mut widths = vec![1u32; highest + 1];
    for (level, ups) in levels.iter().zip(up_ports) {
        if *level > 0 {
            let width = &mut widths[*level as usize];
            *width = (*width).max(ups.len() as u32);
        }
    }
    let mut divisors = vec![1u32; highest + 1];
    for level in 2..=highest {
        divisors[level] = divisors[level - 1].saturating_mul(widths[level - 1]);
    }
    divisors
}
