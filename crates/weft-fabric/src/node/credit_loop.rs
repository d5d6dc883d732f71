//! Credit loops inside a node: channels whose packets wait for each other in a circle.

use super::graph::{InnerId, NodeGraph};
use crate::error::FabricError;
use std::collections::BTreeSet;

/// Check the dependencies between the channels inside a node (Dally & Seitz 1987) that up to
/// `n_tasks` tasks of a node make use of. The network outside counts as one channel that every
/// message to another node crosses: what could only wait in a circle through a network that keeps
/// its rails apart is refused as well.
pub fn check_inside(graph: &NodeGraph, n_tasks: u32) -> Result<(), FabricError> {
    let mut channels = NodeChannels::new(graph);
    let n_tasks = n_tasks.min(graph.ranks_on.len() as u32 * graph.n_hcas());
    let ends: BTreeSet<InnerId> = (0..n_tasks).map(|task| graph.vertex_of_task(task)).collect();
    let rails: BTreeSet<InnerId> = (0..n_tasks).map(|task| graph.rail_of_task(task)).collect();
    let leaving: BTreeSet<(InnerId, InnerId)> =
        (0..n_tasks).map(|task| (graph.vertex_of_task(task), graph.rail_of_task(task))).collect();
    for (at, rail) in leaving {
        channels.leave(graph.bounce[at.index()].unwrap_or(at), rail);
    }
    for at in &ends {
        if let Some(memory) = graph.bounce[at.index()] {
            channels.cross(*at, memory);
            channels.cross(memory, *at);
        }
        for to in ends.iter().filter(|to| *to != at) {
            channels.cross(*at, *to);
        }
        for rail in &rails {
            channels.enter(*rail, graph.bounce[at.index()].unwrap_or(*at));
        }
    }
    match channels.find_cycle() {
        None => Ok(()),
        Some(cycle) => {
            let mut names: Vec<String> = cycle.iter().map(|c| channels.name(*c)).collect();
            names.push(names[0].clone());
            Err(FabricError::CreditLoop { cycle: names.join(" -> ") })
        }
    }
}

/// Egress ports of a node's inside, the network outside as the last, and which waits for which.
struct NodeChannels<'a> {
    graph: &'a NodeGraph,
    /// The number of the first channel of every vertex.
    first: Vec<usize>,
    outside: usize,
    follows: Vec<BTreeSet<usize>>,
}

impl<'a> NodeChannels<'a> {
    fn new(graph: &'a NodeGraph) -> NodeChannels<'a> {
        let mut first = Vec::new();
        let mut n = 0;
        for vertex in &graph.vertices {
            first.push(n);
            n += vertex.ports.len();
        }
        NodeChannels { graph, first, outside: n, follows: vec![BTreeSet::new(); n + 1] }
    }

    /// A path from one end to another; all of its equally good first links.
    fn cross(&mut self, from: InnerId, to: InnerId) {
        let locals: Vec<u32> = self.graph.equal_locals(from, to).collect();
        for local in locals {
            self.walk(from, local, to);
        }
    }

    /// A path to an HCA and out.
    fn leave(&mut self, from: InnerId, hca: InnerId) {
        let last = self.walk(from, self.graph.next_local(from, hca), hca);
        self.follows[last].insert(self.outside);
    }

    /// A path in over an HCA.
    fn enter(&mut self, hca: InnerId, to: InnerId) {
        let local = self.graph.next_local(hca, to);
        let first = self.channel(hca, local);
        self.follows[self.outside].insert(first);
        self.walk(hca, local, to);
    }

    fn walk(&mut self, from: InnerId, first_local: u32, to: InnerId) -> usize {
        let (mut at, mut local) = (from, first_local);
        loop {
            let channel = self.channel(at, local);
            let vertex = &self.graph.vertices[at.index()];
            at = vertex.ports[(local - vertex.first_local()) as usize].peer;
            if at == to {
                return channel;
            }
            local = self.graph.next_local(at, to);
            let next = self.channel(at, local);
            self.follows[channel].insert(next);
        }
    }

    fn channel(&self, at: InnerId, local: u32) -> usize {
        let first_local = self.graph.vertices[at.index()].first_local();
        self.first[at.index()] + (local - first_local) as usize
    }

    fn name(&self, channel: usize) -> String {
        if channel == self.outside {
            return "the network".to_owned();
        }
        let at = self.first.partition_point(|first| *first <= channel) - 1;
        let vertex = &self.graph.vertices[at];
        let number = channel - self.first[at] + vertex.first_local() as usize + 1;
        format!("{}[{number}]", vertex.name)
    }

    /// A cycle, or none: channels nothing follows are taken away until only cycles are left.
    fn find_cycle(&self) -> Option<Vec<usize>> {
        let mut alive: Vec<bool> = vec![true; self.follows.len()];
        loop {
            let dead = (0..alive.len())
                .find(|c| alive[*c] && !self.follows[*c].iter().any(|next| alive[*next]));
            match dead {
                Some(channel) => alive[channel] = false,
                None => break,
            }
        }
        let mut path = vec![alive.iter().position(|alive| *alive)?];
        loop {
            let last = path[path.len() - 1];
            let next = self.follows[last].iter().find(|next| alive[**next]);
            let next = *next.expect("what is left has a follower");
            if let Some(at) = path.iter().position(|channel| *channel == next) {
                return Some(path.split_off(at));
            }
            path.push(next);
        }
    }
}
