//! Insides of nodes as parts of the fabric.

use super::{Fabric, Port};
use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::ids::{HcaId, NodeId, PortId, VertexId};
use crate::node::graph::{InnerId, NodeGraph};

/// One graph fits all nodes only if they have as many HCAs.
pub(crate) fn require_alike(
    document: &FabricDocument,
    inside: Option<&NodeGraph>,
) -> Result<(), FabricError> {
    let Some(graph) = inside else { return Ok(()) };
    let n_hcas = graph.n_hcas() as usize;
    match document.nodes.iter().position(|node| node.hcas.len() != n_hcas) {
        None => Ok(()),
        Some(index) => {
            let node = &document.nodes[index];
            let what = format!("node '{}' has {} HCAs", node.name, node.hcas.len());
            let expected = format!("{n_hcas} as in the graph of every node");
            Err(FabricError::document(format!("fabric.nodes[{index}]"), what, expected))
        }
    }
}

impl Fabric {
    /// The vertex that is `inner` in a node; the fabric must have insides.
    pub fn inner_vertex(&self, node: NodeId, inner: InnerId) -> VertexId {
        let graph = self.inside.as_ref().expect("a fabric whose nodes have a graph");
        match inner.0.checked_sub(graph.n_hcas()) {
            None => HcaId(self.nodes[node.index()].first_hca.0 + inner.0).vertex(),
            Some(number) => {
                let first = self.n_hcas() + self.n_switches() + node.0 * graph.n_inner();
                VertexId(first + number)
            }
        }
    }

    /// The node a vertex is part of and which one of its graph it is; none for switches and where
    /// nodes have no graph.
    pub fn place_in_node(&self, vertex: VertexId) -> Option<(NodeId, InnerId)> {
        let graph = self.inside.as_ref()?;
        if vertex.0 < self.n_hcas() {
            let (node, rail) = (vertex.0 / graph.n_hcas(), vertex.0 % graph.n_hcas());
            return Some((NodeId(node), InnerId(rail)));
        }
        let number = vertex.0.checked_sub(self.n_hcas() + self.n_switches())?;
        let (node, inner) = (number / graph.n_inner(), number % graph.n_inner());
        Some((NodeId(node), InnerId(graph.n_hcas() + inner)))
    }

    /// Whether messages begin and end at a vertex: at GPUs and memory where nodes have a graph,
    /// else at HCAs.
    pub fn is_end(&self, vertex: VertexId) -> bool {
        match (&self.inside, self.place_in_node(vertex)) {
            (Some(graph), Some((_, inner))) => graph.vertices[inner.index()].is_end(),
            _ => self.hca(vertex).is_some(),
        }
    }

    /// The other end of a link inside a node, as its graph has it; none for ports of the network.
    pub fn inner_peer(&self, port: PortId) -> Option<PortId> {
        let vertex = self.ports[port.index()].vertex;
        let (node, inner) = self.place_in_node(vertex)?;
        let inner = &self.inside.as_ref()?.vertices[inner.index()];
        let local = port.0 - self.vertices[vertex.index()].first_port.0;
        let link = &inner.ports[local.checked_sub(inner.first_local())? as usize];
        Some(self.port_at(node, link.peer, link.peer_local))
    }

    /// Add the vertices and links inside the nodes.
    pub(crate) fn add_insides(&mut self) -> Result<(), FabricError> {
        let Some(graph) = self.inside.take() else { return Ok(()) };
        for node in 0..self.nodes.len() {
            let place = format!("fabric.nodes[{node}]");
            for vertex in &graph.vertices[graph.n_hcas() as usize..] {
                let name = format!("{}/{}", self.nodes[node].name, vertex.name);
                self.add_vertex(&place, &name, 0, vertex.ports.len() as u32)?;
            }
        }
        self.inside = Some(graph.clone());
        for node in (0..self.nodes.len() as u32).map(NodeId) {
            for (number, vertex) in graph.vertices.iter().enumerate() {
                for (at, port) in vertex.ports.iter().enumerate() {
                    let local = vertex.first_local() + at as u32;
                    let id = self.port_at(node, InnerId(number as u32), local);
                    let peer = self.port_at(node, port.peer, port.peer_local);
                    self.ports[id.index()] = Port {
                        peer: Some(peer),
                        rate: port.rate,
                        delay: port.delay,
                        up: true,
                        buffer_bytes: port.buffer_bytes,
                        ..self.ports[id.index()]
                    };
                }
            }
        }
        Ok(())
    }

    fn port_at(&self, node: NodeId, inner: InnerId, local: u32) -> PortId {
        let vertex = self.inner_vertex(node, inner);
        PortId(self.vertices[vertex.index()].first_port.0 + local)
    }
}
