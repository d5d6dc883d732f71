//! What must hold before anything is simulated: routes end, and cannot wait in a circle.

use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, VertexId};
use crate::routes::{Routes, unreachable};
use std::collections::BTreeSet;

/// Check the routes among `hcas`: each ends at its destination, and the dependencies between the
/// channels they use (Dally & Seitz 1987) have no cycle.
pub fn check_routes(fabric: &Fabric, routes: &Routes, hcas: &[HcaId]) -> Result<(), FabricError> {
    let mut follows: Vec<BTreeSet<PortId>> = vec![BTreeSet::new(); fabric.ports.len()];
    let mut walk = Walk::new(fabric, routes);
    let sources = sources(fabric, hcas)?;
    for dst in hcas {
        walk.fresh();
        for src in sources.iter().filter(|src| *src != dst) {
            walk.follow(*src, *dst, &mut follows)?;
        }
    }
    match find_cycle(&follows) {
        None => Ok(()),
        Some(cycle) => {
            let mut names: Vec<String> = cycle.iter().map(|p| fabric.port_name(*p)).collect();
            names.push(names[0].clone());
            Err(FabricError::CreditLoop { cycle: names.join(" -> ") })
        }
    }
}

/// Whom to walk from: two HCAs of each switch stand for all (two, for one may be the destination),
/// since what differs between them, their own cables, nothing waits for.
fn sources(fabric: &Fabric, hcas: &[HcaId]) -> Result<Vec<HcaId>, FabricError> {
    let mut chosen = vec![0u8; fabric.vertices.len()];
    let mut sources = Vec::new();
    for src in hcas {
        let Some(next) = fabric.neighbour(fabric.hca_port(*src)) else {
            match hcas.iter().find(|dst| *dst != src) {
                Some(dst) => return Err(unreachable(fabric, *src, *dst, src.vertex())),
                None => continue,
            }
        };
        if chosen[next.index()] < 2 {
            chosen[next.index()] += 1;
            sources.push(*src);
        }
    }
    Ok(sources)
}

/// Walks towards one destination at a time; a switch is walked from once a destination.
struct Walk<'a> {
    fabric: &'a Fabric,
    routes: &'a Routes,
    stamp: u32,
    seen: Vec<u32>,
    /// The walk that saw it, so that a circle is told from a junction.
    seen_by: Vec<u32>,
}

impl<'a> Walk<'a> {
    fn new(fabric: &'a Fabric, routes: &'a Routes) -> Walk<'a> {
        let n = fabric.vertices.len();
        Walk { fabric, routes, stamp: 0, seen: vec![0; n], seen_by: vec![0; n] }
    }

    fn fresh(&mut self) {
        self.stamp += 1;
    }

    fn follow(
        &mut self,
        src: HcaId,
        dst: HcaId,
        follows: &mut [BTreeSet<PortId>],
    ) -> Result<(), FabricError> {
        let mut at = src.vertex();
        let mut came_by: Option<PortId> = None;
        while at != dst.vertex() {
            let port = self.routes.next_port(self.fabric, at, dst);
            let through_hca = came_by.is_some() && self.fabric.hca(at).is_some();
            let next = port.and_then(|p| Some((p, self.fabric.neighbour(p)?)));
            let Some((port, vertex)) = next.filter(|_| !through_hca) else {
                return Err(unreachable(self.fabric, src, dst, at));
            };
            if let Some(previous) = came_by {
                follows[previous.index()].insert(port);
            }
            if self.seen[at.index()] == self.stamp {
                return self.junction(src, at, dst);
            }
            self.seen[at.index()] = self.stamp;
            self.seen_by[at.index()] = src.0;
            came_by = Some(port);
            at = vertex;
        }
        Ok(())
    }

    fn junction(&self, src: HcaId, at: VertexId, dst: HcaId) -> Result<(), FabricError> {
        if self.seen_by[at.index()] == src.0 {
            return Err(self.routes.loop_error(self.fabric, at, dst));
        }
        Ok(())
    }
}

/// A cycle of a graph given by successors, or none. Iterative: paths may be long.
fn find_cycle(follows: &[BTreeSet<PortId>]) -> Option<Vec<PortId>> {
    let successors: Vec<Vec<PortId>> =
        follows.iter().map(|set| set.iter().copied().collect()).collect();
    let mut done = vec![false; follows.len()];
    let mut depth_of = vec![usize::MAX; follows.len()];
    for root in 0..follows.len() {
        let mut path: Vec<(PortId, usize)> = Vec::new();
        if !done[root] {
            path.push((PortId(root as u32), 0));
            depth_of[root] = 0;
        }
        while let Some((port, next)) = path.last().copied() {
            let Some(successor) = successors[port.index()].get(next).copied() else {
                done[port.index()] = true;
                depth_of[port.index()] = usize::MAX;
                path.pop();
                continue;
            };
            path.last_mut().expect("the path is not empty").1 += 1;
            if depth_of[successor.index()] != usize::MAX {
                let cycle = path[depth_of[successor.index()]..].iter().map(|(p, _)| *p).collect();
                return Some(cycle);
            }
            if !done[successor.index()] {
                depth_of[successor.index()] = path.len();
                path.push((successor, 0));
            }
        }
    }
    None
}
