//! The switches of a fabric and the cables between them that are up, packed for searching.

use crate::fabric::Fabric;
use crate::ids::SwitchId;

/// A path from one switch to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The switch it leads to.
    pub(crate) to: u32,
    /// Number (from 0) of the port it leaves by.
    pub(crate) number: u16,
    /// Whether it leads to another group of a dragonfly.
    pub(crate) global: bool,
}

/// Switches by number, with their edges in port order.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    starts: Vec<u32>,
    edges: Vec<Edge>,
    /// By switch, its level.
    pub(crate) levels: Vec<u32>,
}

impl Graph {
    pub(crate) fn of(fabric: &Fabric) -> Graph {
        let n = fabric.n_switches();
        let mut graph = Graph { starts: vec![0], edges: Vec::new(), levels: Vec::new() };
        for at in (0..n).map(|switch| fabric.switch_vertex(SwitchId(switch))) {
            for (number, port) in fabric.ports_of(at).enumerate() {
                let next = fabric.neighbour(port);
                if let Some(to) = next.and_then(|vertex| fabric.switch(vertex)) {
                    let global = fabric.is_global(port);
                    graph.edges.push(Edge { to: to.0, number: number as u16, global });
                }
            }
            graph.starts.push(graph.edges.len() as u32);
            graph.levels.push(fabric.vertices[at.index()].level);
        }
        graph
    }

    pub(crate) fn n_switches(&self) -> usize {
        self.levels.len()
    }

    /// The edges of a switch, in port order.
    pub(crate) fn edges(&self, switch: usize) -> &[Edge] {
        &self.edges[self.starts[switch] as usize..self.starts[switch + 1] as usize]
    }
}
