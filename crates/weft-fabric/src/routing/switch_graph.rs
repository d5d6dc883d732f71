//! The switches of a fabric and the cables between them that are up, packed for searching.

use crate::fabric::Fabric;
use crate::ids::{PortId, SwitchId};

/// A path from one switch to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The switch it leads to.
    pub(crate) to: u32,
    /// Number (from 0) of the port it leaves by.
    pub(crate) number: u16,
    /// Whether it leads to another group of a dragonfly.
    pub(crate) global: bool,
    /// The same cable seen from there, counted over all switches.
    pub(crate) back: u32,
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
        let mut edge_of = vec![0u32; fabric.ports.len()];
        let mut ports: Vec<PortId> = Vec::new();
        for at in (0..n).map(|switch| fabric.switch_vertex(SwitchId(switch))) {
            for (number, port) in fabric.ports_of(at).enumerate() {
                let next = fabric.neighbour(port);
                if let Some(to) = next.and_then(|vertex| fabric.switch(vertex)) {
                    let global = fabric.is_global(port);
                    edge_of[port.index()] = graph.edges.len() as u32;
                    ports.push(port);
                    graph.edges.push(Edge { to: to.0, number: number as u16, global, back: 0 });
                }
            }
            graph.starts.push(graph.edges.len() as u32);
            graph.levels.push(fabric.vertices[at.index()].level);
        }
        for (edge, port) in graph.edges.iter_mut().zip(ports) {
            let peer = fabric.ports[port.index()].peer.expect("a cable to another switch");
            edge.back = edge_of[peer.index()];
        }
        graph
    }

    pub(crate) fn n_switches(&self) -> usize {
        self.levels.len()
    }

    /// By switch where its edges begin, counted over all switches; and their end.
    pub(crate) fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// The edges of a switch, in port order.
    pub(crate) fn edges(&self, switch: usize) -> &[Edge] {
        &self.edges[self.starts[switch] as usize..self.starts[switch + 1] as usize]
    }
}
