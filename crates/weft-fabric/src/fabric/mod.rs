//! The valid fabric: vertices, ports and cables as flat vectors.

pub mod fault;
mod node_graphs;

use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::ids::{HcaId, NodeId, PortId, SwitchId, VertexId};
use crate::limits::{
    MAX_GROUP, MAX_LEAF_ENTRIES, MAX_LEVEL, MAX_PORTS, MAX_SWITCH_PORTS, MAX_TABLE_ENTRIES,
    check_link,
};
use crate::node::graph::NodeGraph;
use crate::units::{BitsPerSecond, Picoseconds};
use std::collections::HashMap;

/// A compute node and its HCAs (contiguous, in rail order).
#[derive(Clone, Debug)]
pub struct Node {
    /// The node's name.
    pub name: String,
    /// Its first HCA.
    pub first_hca: HcaId,
    /// How many it has, at least one.
    pub n_hcas: u32,
}

/// An HCA, a switch, or a vertex inside a node.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// The vertex's name.
    pub name: String,
    /// 0 for an HCA and inside a node, 1 for a switch that HCAs attach to, rising towards the
    /// roots.
    pub level: u32,
    /// The group of a dragonfly that a switch is in.
    pub group: Option<u32>,
    /// Its first port.
    pub first_port: PortId,
    /// How many ports it has.
    pub n_ports: u32,
}

/// One end of a cable (or an empty socket): it owns its egress.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    /// The vertex it belongs to.
    pub vertex: VertexId,
    /// The other end of its cable.
    pub peer: Option<PortId>,
    /// Egress rate; 0 without a cable.
    pub rate: BitsPerSecond,
    /// Time of flight to the other end.
    pub delay: Picoseconds,
    /// Whether the cable carries anything.
    pub up: bool,
    /// Buffer behind this port for each virtual lane, where it is not that of the switches.
    pub buffer_bytes: Option<u64>,
}

/// The network as a graph. INVARIANT: peers are mutual, a cabled port's rate is not zero, and
/// every HCA has one port to the network, its first; inner ports follow where nodes have a graph.
#[derive(Clone, Debug)]
pub struct Fabric {
    /// A name for people.
    pub name: String,
    /// Compute nodes in document order.
    pub nodes: Vec<Node>,
    /// HCAs in document order, then switches, then what is inside the nodes, node by node.
    pub vertices: Vec<Vertex>,
    /// All ports, those of a vertex together.
    pub ports: Vec<Port>,
    /// The inside of every node, where there is more than HCAs.
    pub inside: Option<NodeGraph>,
    n_hcas: u32,
    n_switches: u32,
    by_name: HashMap<String, VertexId>,
    nodes_by_name: HashMap<String, NodeId>,
}

impl Fabric {
    /// The fabric of a document, or the first thing wrong with it.
    pub fn new(document: &FabricDocument) -> Result<Fabric, FabricError> {
        Fabric::with_nodes(document, None)
    }

    /// The fabric of a document whose nodes all have the given inside, or the first thing wrong
    /// with it.
    pub fn with_nodes(
        document: &FabricDocument,
        inside: Option<NodeGraph>,
    ) -> Result<Fabric, FabricError> {
        limit_size(document, inside.as_ref())?;
        node_graphs::require_alike(document, inside.as_ref())?;
        let mut fabric = Fabric {
            name: document.name.clone(),
            nodes: Vec::new(),
            vertices: Vec::new(),
            ports: Vec::new(),
            inside,
            n_hcas: 0,
            n_switches: document.switches.len() as u32,
            by_name: HashMap::new(),
            nodes_by_name: HashMap::new(),
        };
        for (index, node) in document.nodes.iter().enumerate() {
            fabric.add_node(index, &node.name, &node.hcas)?;
        }
        for (index, switch) in document.switches.iter().enumerate() {
            let place = format!("fabric.switches[{index}]");
            if switch.ports == 0 {
                let what = format!("switch '{}' has no ports", switch.name);
                return Err(FabricError::document(place, what, "at least one port"));
            }
            if switch.ports > MAX_SWITCH_PORTS {
                let what = format!("switch '{}' has {} ports", switch.name, switch.ports);
                let expected = format!("at most {MAX_SWITCH_PORTS}");
                return Err(FabricError::document(place, what, expected));
            }
            if switch.level > MAX_LEVEL {
                let what = format!("switch '{}' is on level {}", switch.name, switch.level);
                return Err(FabricError::document(place, what, format!("at most {MAX_LEVEL}")));
            }
            fabric.add_vertex(&place, &switch.name, switch.level, switch.ports)?;
            if switch.group.is_some_and(|group| group > MAX_GROUP) {
                let what = format!("switch '{}' is in group {:?}", switch.name, switch.group);
                return Err(FabricError::document(place, what, format!("at most {MAX_GROUP}")));
            }
            fabric.vertices.last_mut().expect("just added").group = switch.group;
        }
        for (index, link) in document.links.iter().enumerate() {
            let place = format!("fabric.links[{index}]");
            fabric.cable(&place, [&link.a, &link.b], link.bits_per_s, link.delay_ps)?;
        }
        fabric.require_cabled_hcas()?;
        fabric.limit_leaves()?;
        fabric.fill_levels();
        fabric.add_insides()?;
        Ok(fabric)
    }

    /// How many HCAs there are.
    pub fn n_hcas(&self) -> u32 {
        self.n_hcas
    }

    /// How many switches there are.
    pub fn n_switches(&self) -> u32 {
        self.n_switches
    }

    /// Whether a vertex is an HCA.
    pub fn hca(&self, vertex: VertexId) -> Option<HcaId> {
        (vertex.0 < self.n_hcas).then_some(HcaId(vertex.0))
    }

    /// The switch a vertex is.
    pub fn switch(&self, vertex: VertexId) -> Option<SwitchId> {
        vertex.0.checked_sub(self.n_hcas).filter(|n| *n < self.n_switches).map(SwitchId)
    }

    /// The vertex a switch is.
    pub fn switch_vertex(&self, switch: SwitchId) -> VertexId {
        VertexId(self.n_hcas + switch.0)
    }

    /// The port of an HCA to the network.
    pub fn hca_port(&self, hca: HcaId) -> PortId {
        self.vertices[hca.index()].first_port
    }

    /// The ports of a vertex.
    pub fn ports_of(&self, vertex: VertexId) -> impl Iterator<Item = PortId> + use<> {
        let vertex = &self.vertices[vertex.index()];
        let first = vertex.first_port.0;
        (first..first + vertex.n_ports).map(PortId)
    }

    /// The vertex at the other end of a port's cable, where the cable is up.
    pub fn neighbour(&self, port: PortId) -> Option<VertexId> {
        let port = &self.ports[port.index()];
        let peer = port.peer.filter(|_| port.up)?;
        Some(self.ports[peer.index()].vertex)
    }

    /// Whether a port's cable leads from one group of a dragonfly to another.
    pub fn is_global(&self, port: PortId) -> bool {
        let group = |port: PortId| self.vertices[self.ports[port.index()].vertex.index()].group;
        let there = self.ports[port.index()].peer.and_then(group);
        matches!((group(port), there), (Some(here), Some(there)) if here != there)
    }

    /// The node of a name.
    pub fn node_named(&self, name: &str) -> Option<NodeId> {
        self.nodes_by_name.get(name).copied()
    }

    /// The HCA of a name, or the first HCA of the node of that name.
    pub fn hca_named(&self, name: &str) -> Option<HcaId> {
        let hca = self.by_name.get(name).and_then(|vertex| self.hca(*vertex));
        hca.or_else(|| self.node_named(name).map(|node| self.nodes[node.index()].first_hca))
    }

    /// The HCA or switch of a name.
    pub(crate) fn vertex_named(&self, name: &str) -> Option<VertexId> {
        self.by_name.get(name).copied()
    }

    /// 'leaf-01[17]': how documents write a port.
    pub fn port_name(&self, port: PortId) -> String {
        let vertex = &self.vertices[self.ports[port.index()].vertex.index()];
        format!("{}[{}]", vertex.name, port.0 - vertex.first_port.0 + 1)
    }

    /// The port of a written name.
    pub fn port_named(&self, place: &str, name: &str) -> Result<PortId, FabricError> {
        let expected = "vertex[number], numbers from 1";
        let parts = name.strip_suffix(']').and_then(|tail| tail.rsplit_once('['));
        let (vertex, number) = parts
            .and_then(|(vertex, text)| {
                // One name a port: '+1' and '01' parse as well.
                let number = text.parse::<u32>().ok().filter(|n| n.to_string() == text)?;
                Some((vertex, number))
            })
            .ok_or_else(|| {
                FabricError::document(place, format!("'{name}' is not a port"), expected)
            })?;
        let id = self.by_name.get(vertex).ok_or_else(|| {
            let what = format!("there is no HCA or switch '{vertex}'");
            FabricError::document(place, what, "a vertex of this fabric")
        })?;
        let vertex = &self.vertices[id.index()];
        if number == 0 || number > vertex.n_ports {
            let what = format!("'{}' has no port {number}", vertex.name);
            let expected = format!("a port from 1 to {}", vertex.n_ports);
            return Err(FabricError::document(place, what, expected));
        }
        Ok(PortId(vertex.first_port.0 + number - 1))
    }

    fn add_node(&mut self, index: usize, name: &str, hcas: &[String]) -> Result<(), FabricError> {
        let place = format!("fabric.nodes[{index}]");
        if hcas.is_empty() {
            let what = format!("node '{name}' has no HCA");
            return Err(FabricError::document(place, what, "at least one HCA"));
        }
        if self.nodes_by_name.insert(name.to_owned(), NodeId(index as u32)).is_some() {
            let what = format!("a second node '{name}'");
            return Err(FabricError::document(place, what, "every name once"));
        }
        let first_hca = HcaId(self.n_hcas);
        self.nodes.push(Node { name: name.to_owned(), first_hca, n_hcas: hcas.len() as u32 });
        self.n_hcas += hcas.len() as u32;
        for (rail, hca) in hcas.iter().enumerate() {
            let n_inner = self.inside.as_ref().map_or(0, |graph| graph.vertices[rail].ports.len());
            self.add_vertex(&place, hca, 0, 1 + n_inner as u32)?;
        }
        Ok(())
    }

    pub(crate) fn add_vertex(
        &mut self,
        place: &str,
        name: &str,
        level: u32,
        n_ports: u32,
    ) -> Result<(), FabricError> {
        let id = VertexId(self.vertices.len() as u32);
        if self.by_name.insert(name.to_owned(), id).is_some() {
            let what = format!("a second vertex '{name}'");
            return Err(FabricError::document(place, what, "every name once"));
        }
        let first_port = PortId(self.ports.len() as u32);
        let name = name.to_owned();
        self.vertices.push(Vertex { name, level, group: None, first_port, n_ports });
        let empty = Port {
            vertex: id,
            peer: None,
            rate: BitsPerSecond(0),
            delay: Picoseconds(0),
            up: false,
            buffer_bytes: None,
        };
        self.ports.extend((0..n_ports).map(|_| empty));
        Ok(())
    }

    fn cable(
        &mut self,
        place: &str,
        ends: [&String; 2],
        rate: BitsPerSecond,
        delay: Picoseconds,
    ) -> Result<(), FabricError> {
        check_link(place, rate, delay)?;
        let a = self.port_named(&format!("{place}.a"), ends[0])?;
        let b = self.port_named(&format!("{place}.b"), ends[1])?;
        if a == b {
            let what = format!("'{}' is cabled to itself", ends[0]);
            return Err(FabricError::document(place, what, "two different ports"));
        }
        for (port, peer) in [(a, b), (b, a)] {
            if self.ports[port.index()].peer.is_some() {
                let what = format!("port '{}' is used twice", self.port_name(port));
                return Err(FabricError::document(place, what, "one cable a port"));
            }
            let port = &mut self.ports[port.index()];
            (port.peer, port.rate, port.delay, port.up) = (Some(peer), rate, delay, true);
        }
        Ok(())
    }

    fn require_cabled_hcas(&self) -> Result<(), FabricError> {
        for hca in (0..self.n_hcas).map(HcaId) {
            if self.ports[self.hca_port(hca).index()].peer.is_none() {
                let name = &self.vertices[hca.index()].name;
                let what = format!("HCA '{name}' has no cable");
                return Err(FabricError::document("fabric.links", what, "a link to every HCA"));
            }
        }
        Ok(())
    }

    /// Refuse more routes than memory holds.
    fn limit_leaves(&self) -> Result<(), FabricError> {
        let mut is_leaf = vec![false; self.vertices.len()];
        for hca in (0..self.n_hcas).map(HcaId) {
            if let Some(peer) = self.ports[self.hca_port(hca).index()].peer {
                is_leaf[self.ports[peer.index()].vertex.index()] = true;
            }
        }
        let n_leaves = is_leaf.iter().filter(|is_leaf| **is_leaf).count() as u64;
        if n_leaves * u64::from(self.n_switches) > MAX_LEAF_ENTRIES {
            let what = format!("routes of {} switches to {n_leaves} leaves", self.n_switches);
            let expected = format!("at most {MAX_LEAF_ENTRIES}");
            return Err(FabricError::document("fabric", what, expected));
        }
        Ok(())
    }

    /// Work out levels the document leaves at 0: one more than the hops to the nearest HCA.
    fn fill_levels(&mut self) {
        let mut frontier: Vec<VertexId> = (0..self.n_hcas).map(VertexId).collect();
        let mut depth = vec![u32::MAX; self.vertices.len()];
        let mut level = 0;
        while !frontier.is_empty() {
            let mut next = Vec::new();
            for vertex in frontier {
                if depth[vertex.index()] == u32::MAX {
                    depth[vertex.index()] = level;
                    next.extend(self.ports_of(vertex).filter_map(|port| self.neighbour(port)));
                }
            }
            frontier = next;
            level += 1;
        }
        for (vertex, depth) in self.vertices.iter_mut().zip(depth) {
            if vertex.level == 0 && depth != u32::MAX {
                vertex.level = depth;
            }
        }
    }
}

/// Refuse what no memory holds, before any of it is made.
fn limit_size(document: &FabricDocument, inside: Option<&NodeGraph>) -> Result<(), FabricError> {
    let n_hcas: u64 = document.nodes.iter().map(|node| node.hcas.len() as u64).sum();
    let n_switches = document.switches.len() as u64;
    let in_switches: u64 = document.switches.iter().map(|switch| u64::from(switch.ports)).sum();
    let too_large = |what: String, most: u64| {
        Err(FabricError::document("fabric", what, format!("at most {most}")))
    };
    let in_nodes = document.nodes.len() as u64 * inside.map_or(0, NodeGraph::n_ports);
    let n_ports = n_hcas + in_switches + in_nodes;
    if n_ports > MAX_PORTS {
        return too_large(format!("{n_ports} ports"), MAX_PORTS);
    }
    if n_hcas * n_switches > MAX_TABLE_ENTRIES {
        let what = format!("{} entries in forwarding tables", n_hcas * n_switches);
        return too_large(what, MAX_TABLE_ENTRIES);
    }
    Ok(())
}
