//! The valid graph of a node's inside: HCAs, GPUs, memory and switches, and the paths between them.

use super::document::{InnerKind, InnerLinkDocument, NodeGraphDocument, Rail};
use super::paths::Paths;
use crate::error::FabricError;
use crate::ids::id;
use crate::limits::check_link;
use crate::units::{BitsPerSecond, Picoseconds};
use std::collections::HashMap;

/// Most vertices inside a node, HCAs included.
pub const MAX_INNER_VERTICES: usize = 256;
/// Most links inside a node.
pub const MAX_INNER_LINKS: usize = 4096;

/// Smallest piece that is copied: what one processor copies at a time, a page.
pub const MIN_CHUNK_BYTES: u64 = 4096;

id!(
    /// A vertex of a node's inside: the HCAs by rail, then the others in document order.
    InnerId
);

/// One end of an inner link, seen from its vertex.
#[derive(Clone, Copy, Debug)]
pub struct InnerPort {
    /// The vertex at the other end.
    pub peer: InnerId,
    /// The number of this link's port among those of `peer`.
    pub peer_local: u32,
    /// Rate of each direction.
    pub rate: BitsPerSecond,
    /// Time of flight.
    pub delay: Picoseconds,
    /// Buffer at this end for each virtual lane; without it, as much as keeps the link busy.
    pub buffer_bytes: Option<u64>,
}

/// A vertex inside a node.
#[derive(Clone, Debug)]
pub struct InnerVertex {
    /// Its name within the node.
    pub name: String,
    /// Its kind; none for an HCA.
    pub kind: Option<InnerKind>,
    /// Its inner ports; those of an HCA are numbered after the network's.
    pub ports: Vec<InnerPort>,
}

impl InnerVertex {
    /// The local number of the first inner port: an HCA's port 0 is the network's.
    pub fn first_local(&self) -> u32 {
        u32::from(self.kind.is_none())
    }

    /// Whether messages begin and end here.
    pub fn is_end(&self) -> bool {
        self.kind.is_some_and(InnerKind::is_end)
    }
}

/// The inside of every node. INVARIANT: links are mutual; every vertex that ranks sit on reaches
/// every other and every HCA.
#[derive(Clone, Debug)]
pub struct NodeGraph {
    /// HCAs by rail, then the vertices of the document.
    pub vertices: Vec<InnerVertex>,
    /// The vertex of each task, round again after the last.
    pub ranks_on: Vec<InnerId>,
    /// By vertex: the memory it is copied through on the path to another node; none where the HCA
    /// reads it.
    pub bounce: Vec<Option<InnerId>>,
    /// Size of the pieces that are copied.
    pub bounce_chunk_bytes: u64,
    /// Most pieces of a message in flight.
    pub bounce_chunks: u32,
    n_hcas: u32,
    rail: Rail,
    paths: Paths,
}

impl NodeGraph {
    /// The graph of a document for nodes of `n_hcas` HCAs, or the first thing wrong with it.
    pub fn new(document: &NodeGraphDocument, n_hcas: u32) -> Result<NodeGraph, FabricError> {
        let (mut vertices, names) = read_vertices(document, n_hcas)?;
        if document.links.len() > MAX_INNER_LINKS {
            let what = format!("{} links", document.links.len());
            let expected = format!("at most {MAX_INNER_LINKS}");
            return Err(FabricError::document("node.links", what, expected));
        }
        for (index, link) in document.links.iter().enumerate() {
            connect(&mut vertices, &names, &format!("node.links[{index}]"), link)?;
        }
        let ranks_on = read_ranks_on(document, &vertices, &names)?;
        let paths = Paths::new(&vertices);
        let mut graph = NodeGraph {
            bounce: vec![None; vertices.len()],
            vertices,
            ranks_on,
            bounce_chunk_bytes: document.bounce_chunk_bytes,
            bounce_chunks: document.bounce_chunks,
            n_hcas,
            rail: document.rail,
            paths,
        };
        graph.require_paths()?;
        graph.read_bounce(document, &names)?;
        Ok(graph)
    }

    /// How many HCAs a node has.
    pub fn n_hcas(&self) -> u32 {
        self.n_hcas
    }

    /// Vertices other than the HCAs.
    pub fn n_inner(&self) -> u32 {
        self.vertices.len() as u32 - self.n_hcas
    }

    /// Inner ports of a node, those of its HCAs included.
    pub fn n_ports(&self) -> u64 {
        self.vertices.iter().map(|vertex| vertex.ports.len() as u64).sum()
    }

    /// The vertex of a node's task.
    pub fn vertex_of_task(&self, task: u32) -> InnerId {
        self.ranks_on[task as usize % self.ranks_on.len()]
    }

    /// The HCA that a node's task sends over.
    pub fn rail_of_task(&self, task: u32) -> InnerId {
        if self.rail == Rail::RoundRobin {
            return InnerId(task % self.n_hcas);
        }
        let at = self.vertex_of_task(task);
        let cost = |hca: &InnerId| self.paths.cost(at, *hca);
        let hcas = || (0..self.n_hcas).map(InnerId);
        let best = hcas().map(|hca| cost(&hca)).min().expect("a node has an HCA");
        let nearest: Vec<InnerId> = hcas().filter(|hca| cost(hca) == best).collect();
        nearest[task as usize % nearest.len()]
    }

    /// The local number of the port of `at` towards `dst`, on the path of the highest rate and then
    /// of the fewest links; equals are shared out by destination.
    pub fn next_local(&self, at: InnerId, dst: InnerId) -> u32 {
        let ports = self.paths.next(at, dst);
        let first = self.vertices[at.index()].first_local();
        first + u32::from(ports[dst.index() % ports.len()])
    }

    /// The local numbers of all ports of `at` that are equally good towards `dst`.
    pub fn equal_locals(&self, at: InnerId, dst: InnerId) -> impl Iterator<Item = u32> + '_ {
        let first = self.vertices[at.index()].first_local();
        self.paths.next(at, dst).iter().map(move |port| first + u32::from(*port))
    }

    /// Everything messages may have to cross can be crossed.
    fn require_paths(&self) -> Result<(), FabricError> {
        let all = || (0..self.vertices.len() as u32).map(InnerId);
        let wanted = |id: &InnerId| self.vertices[id.index()].kind.is_none_or(InnerKind::is_end);
        if let Some(lonely) = all().find(|id| self.vertices[id.index()].ports.is_empty()) {
            let what = format!("'{}' has no link", self.vertices[lonely.index()].name);
            return Err(FabricError::document("node.links", what, "a link to every vertex"));
        }
        for at in all().filter(|at| self.vertices[at.index()].is_end()) {
            let name = &self.vertices[at.index()].name;
            for to in all().filter(wanted).filter(|to| *to != at) {
                if self.paths.next(at, to).is_empty() {
                    let to = &self.vertices[to.index()].name;
                    let what = format!("no path leads from '{name}' to '{to}'");
                    let expected = "paths between all GPUs, memories and HCAs, none of them \
                                    through another of these";
                    return Err(FabricError::document("node.links", what, expected));
                }
            }
        }
        Ok(())
    }

    /// Choose the memory that each GPU is copied through.
    fn read_bounce(
        &mut self,
        document: &NodeGraphDocument,
        names: &HashMap<String, InnerId>,
    ) -> Result<(), FabricError> {
        let is_memory = |id: InnerId| self.vertices[id.index()].kind == Some(InnerKind::Memory);
        let named = match &document.bounce {
            Some(name) => {
                Some(names.get(name).copied().filter(|id| is_memory(*id)).ok_or_else(|| {
                    let what = format!("there is no memory '{name}'");
                    FabricError::document("node.bounce", what, "a vertex of kind memory")
                })?)
            }
            None => None,
        };
        for (key, value, least) in [
            ("bounce_chunk_bytes", document.bounce_chunk_bytes, MIN_CHUNK_BYTES),
            ("bounce_chunks", u64::from(document.bounce_chunks), 1),
        ] {
            if value < least {
                let (place, what) = (format!("node.{key}"), format!("it is {value}"));
                return Err(FabricError::document(place, what, format!("{least} or more")));
            }
        }
        if document.gpudirect {
            return Ok(());
        }
        for at in (0..self.vertices.len() as u32).map(InnerId) {
            if self.vertices[at.index()].kind != Some(InnerKind::Gpu) {
                continue;
            }
            let memories = (0..self.vertices.len() as u32).map(InnerId).filter(|id| is_memory(*id));
            let nearest = || memories.min_by_key(|memory| self.paths.cost(at, *memory));
            let memory = named.or_else(nearest).ok_or_else(|| {
                let what = "without GPUDirect there is no memory to copy through";
                FabricError::document("node.gpudirect", what, "a vertex of kind memory")
            })?;
            self.bounce[at.index()] = Some(memory);
        }
        Ok(())
    }
}

fn read_vertices(
    document: &NodeGraphDocument,
    n_hcas: u32,
) -> Result<(Vec<InnerVertex>, HashMap<String, InnerId>), FabricError> {
    if document.vertices.len() + n_hcas as usize > MAX_INNER_VERTICES {
        let what = format!("{} vertices", document.vertices.len());
        let expected = format!("at most {MAX_INNER_VERTICES} with the HCAs");
        return Err(FabricError::document("node.vertices", what, expected));
    }
    let mut vertices = Vec::new();
    let mut names = HashMap::new();
    let hcas = (0..n_hcas).map(|rail| (format!("hca{rail}"), None));
    let others = document.vertices.iter().map(|vertex| (vertex.name.clone(), Some(vertex.kind)));
    for (number, (name, kind)) in hcas.chain(others).enumerate() {
        let place = || format!("node.vertices[{}]", number - n_hcas as usize);
        if name.is_empty() || name.contains(['/', '[', ']']) {
            let what = format!("'{name}' is not a valid name");
            return Err(FabricError::document(place(), what, "a name without '/', '[' and ']'"));
        }
        if names.insert(name.clone(), InnerId(number as u32)).is_some() {
            let what = format!("a second vertex '{name}'");
            let expected = "every name once; hca0, hca1 ... are the HCAs";
            return Err(FabricError::document(place(), what, expected));
        }
        vertices.push(InnerVertex { name, kind, ports: Vec::new() });
    }
    Ok((vertices, names))
}

fn connect(
    vertices: &mut [InnerVertex],
    names: &HashMap<String, InnerId>,
    place: &str,
    link: &InnerLinkDocument,
) -> Result<(), FabricError> {
    let end = |key: &str, name: &String| {
        names.get(name).copied().ok_or_else(|| {
            let what = format!("there is no vertex '{name}' in a node");
            let expected = "a vertex of node.vertices, or one of the node's HCAs by rail: hca0 ...";
            FabricError::document(format!("{place}.{key}"), what, expected)
        })
    };
    let (a, b) = (end("a", &link.a)?, end("b", &link.b)?);
    if a == b {
        let what = format!("'{}' is linked to itself", link.a);
        return Err(FabricError::document(place, what, "two different vertices"));
    }
    check_link(place, link.bits_per_s, link.delay_ps)?;
    let local = |vertices: &[InnerVertex], id: InnerId| {
        let vertex = &vertices[id.index()];
        vertex.first_local() + vertex.ports.len() as u32
    };
    let (at_a, at_b) = (local(vertices, a), local(vertices, b));
    for (id, peer, peer_local) in [(a, b, at_b), (b, a, at_a)] {
        vertices[id.index()].ports.push(InnerPort {
            peer,
            peer_local,
            rate: link.bits_per_s,
            delay: link.delay_ps,
            buffer_bytes: link.buffer_bytes,
        });
    }
    Ok(())
}

fn read_ranks_on(
    document: &NodeGraphDocument,
    vertices: &[InnerVertex],
    names: &HashMap<String, InnerId>,
) -> Result<Vec<InnerId>, FabricError> {
    if document.ranks_on.is_empty() {
        let expected = "a GPU or memory for each task";
        return Err(FabricError::document("node.ranks_on", "it is empty", expected));
    }
    let read = |(index, name): (usize, &String)| {
        let found = names.get(name).copied().filter(|id| vertices[id.index()].is_end());
        found.ok_or_else(|| {
            let what = format!("there is no GPU or memory '{name}'");
            let expected = "a vertex of node.vertices of kind gpu or memory";
            FabricError::document(format!("node.ranks_on[{index}]"), what, expected)
        })
    };
    document.ranks_on.iter().enumerate().map(read).collect()
}
