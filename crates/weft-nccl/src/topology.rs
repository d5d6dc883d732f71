//! A node as the search sees it: checked, with all paths at hand.

use crate::document::{LinkDocument, LinkKind, NodeDocument, VertexDocument};
use crate::error::NcclError;
use crate::version::Rules;

/// GB/s that NCCL counts where nothing is in between. SOURCE: NVIDIA/nccl, src/graph/topo.h.
const LOCAL_GB_S: f32 = 5000.;
const AMPERE: u32 = 80;
/// Of GPUs or adapters: a bit and a byte each are kept.
const MOST_DEVICES: usize = 64;

/// A GPU, an adapter or the NVSwitch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Gpu(usize),
    Net(usize),
    Switch,
}

/// A path. `takes_more_pci`: its traffic between GPUs needs 6/5 of the rate on PCI Express.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) path_type: u8,
    pub(crate) gb_s: f32,
    pub(crate) links: Vec<usize>,
    pub(crate) takes_more_pci: bool,
}

/// What traffic over a link takes of the link back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    Nothing,
    /// An eighth, unless a GPU sends.
    Eighth,
    Whole,
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub(crate) is_pci: bool,
    pub(crate) gb_s: f32,
    pub(crate) back: Back,
    pub(crate) reverse: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Gpu {
    pub(crate) rank: u32,
    pub(crate) sm: u32,
    /// Its first PCI Express link, up and down.
    pub(crate) pci: Option<[usize; 2]>,
    pub(crate) own_nets: Vec<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Net {
    pub(crate) number: u32,
    pub(crate) port: u32,
    pub(crate) gb_s: f32,
    pub(crate) local_gpu: Option<usize>,
}

/// Places of path types among those of the version, the nearest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathTypes {
    pub(crate) nvlink: u8,
    pub(crate) bridge: u8,
    pub(crate) other_gpu: u8,
    pub(crate) host: u8,
    pub(crate) sockets: u8,
    pub(crate) apart: u8,
}

/// The node.
#[derive(Clone, Debug)]
pub(crate) struct Topology {
    pub(crate) rules: Rules,
    pub(crate) path_types: Vec<String>,
    pub(crate) types: PathTypes,
    pub(crate) is_amd: bool,
    pub(crate) has_switch: bool,
    pub(crate) gpus: Vec<Gpu>,
    pub(crate) nets: Vec<Net>,
    pub(crate) links: Vec<Link>,
    /// Most GB/s of one channel, and of all of a GPU.
    pub(crate) max_gb_s: f32,
    pub(crate) total_gb_s: f32,
    paths: Vec<Option<Path>>,
}

impl Topology {
    pub(crate) fn new(node: &NodeDocument) -> Result<Self, NcclError> {
        check(node)?;
        let rules = Rules::new(node.version);
        let links = links_of(node);
        let gpus = node.gpus.iter().map(|one| Gpu {
            rank: one.rank,
            sm: one.sm,
            pci: pci_of(node, one.vertex),
            own_nets: one.own_nets.clone(),
        });
        let nets = node.nets.iter().map(|one| Net {
            number: one.number,
            port: one.port,
            gb_s: one.gb_s as f32,
            local_gpu: one.local_gpu,
        });
        let mut topology = Self {
            rules,
            path_types: node.path_types.clone(),
            types: types_of(&node.path_types)?,
            is_amd: node.is_amd,
            has_switch: node.nvswitch.is_some(),
            gpus: gpus.collect(),
            nets: nets.collect(),
            links,
            max_gb_s: 0.,
            total_gb_s: 0.,
            paths: Vec::new(),
        };
        topology.paths = topology.paths_of(node)?;
        (topology.max_gb_s, topology.total_gb_s) = topology.most_gb_s(node);
        Ok(topology)
    }

    /// A path between two ends, of which one at least is a GPU.
    pub(crate) fn path(&self, from: End, to: End) -> &Path {
        self.paths[self.place(from, to)].as_ref().expect("all paths were checked")
    }

    pub(crate) fn ends_of_gpus(&self) -> impl Iterator<Item = End> + '_ {
        (0..self.gpus.len()).map(End::Gpu)
    }

    /// The GPUs to which an adapter has most bandwidth, of these the nearest.
    pub(crate) fn nearest_gpus(&self, net: usize) -> Vec<usize> {
        let (mut best, mut found) = ((0., self.types.apart), Vec::new());
        for gpu in 0..self.gpus.len() {
            let path = self.path(End::Net(net), End::Gpu(gpu));
            if path.gb_s > best.0 || (path.gb_s == best.0 && path.path_type < best.1) {
                best = (path.gb_s, path.path_type);
                found.clear();
            }
            if (path.gb_s, path.path_type) == best {
                found.push(gpu);
            }
        }
        found
    }

    fn n_ends(&self) -> usize {
        self.gpus.len() + self.nets.len() + 1
    }

    fn place(&self, from: End, to: End) -> usize {
        let index = |end| match end {
            End::Gpu(i) => i,
            End::Net(i) => self.gpus.len() + i,
            End::Switch => self.gpus.len() + self.nets.len(),
        };
        index(from) * self.n_ends() + index(to)
    }

    fn paths_of(&self, node: &NodeDocument) -> Result<Vec<Option<Path>>, NcclError> {
        let mut ends = vec![None; node.vertices.len()];
        for (i, gpu) in node.gpus.iter().enumerate() {
            ends[gpu.vertex] = Some(End::Gpu(i));
        }
        for (i, net) in node.nets.iter().enumerate() {
            ends[net.vertex] = Some(End::Net(i));
        }
        if let Some(vertex) = node.nvswitch {
            ends[vertex] = Some(End::Switch);
        }
        let mut paths = vec![None; self.n_ends() * self.n_ends()];
        for one in &node.paths {
            let (Some(from), Some(to)) = (ends[one.from], ends[one.to]) else { continue };
            let meets_intel =
                |&link: &usize| node.vertices[node.links[link].to] == VertexDocument::Intel;
            let is_of_gpu = matches!(from, End::Gpu(_)) && one.path_type == self.types.host;
            paths[self.place(from, to)] = Some(Path {
                path_type: one.path_type,
                gb_s: one.gb_s as f32,
                links: one.links.clone(),
                takes_more_pci: is_of_gpu && one.links.iter().any(meets_intel),
            });
        }
        self.check_paths(&paths)?;
        Ok(paths)
    }

    fn check_paths(&self, paths: &[Option<Path>]) -> Result<(), NcclError> {
        let others = (0..self.nets.len()).map(End::Net);
        let others = others.chain(self.has_switch.then_some(End::Switch));
        for other in self.ends_of_gpus().chain(others) {
            for gpu in self.ends_of_gpus() {
                for (from, to) in [(gpu, other), (other, gpu)] {
                    if paths[self.place(from, to)].is_none() {
                        let what = format!("no path from {from:?} to {to:?}");
                        return Err(NcclError::new("node.paths", what, "a path each way"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Most GB/s of one channel, and of all channels of a GPU.
    fn most_gb_s(&self, node: &NodeDocument) -> (f32, f32) {
        if self.nets.is_empty() && self.gpus.len() == 1 {
            return (LOCAL_GB_S, LOCAL_GB_S);
        }
        let nets = (0..self.nets.len()).map(End::Net);
        let ends: Vec<End> =
            if self.nets.is_empty() { self.ends_of_gpus().collect() } else { nets.collect() };
        let paths = self.ends_of_gpus().flat_map(|gpu| ends.iter().map(move |&end| (gpu, end)));
        let paths = paths.map(|(gpu, end)| self.path(gpu, end));
        let of_channel =
            paths.filter(|path| !path.links.is_empty()).fold(0., |most, path| path.gb_s.max(most));
        let of_all = node.gpus.iter().fold(0., |most: f32, gpu| {
            let (mut nvlink, mut pci) = (0.0_f32, 0.0_f32);
            for link in node.links.iter().filter(|link| link.from == gpu.vertex) {
                match link.kind {
                    LinkKind::Nvlink => nvlink += link.gb_s as f32,
                    LinkKind::Pci => pci = link.gb_s as f32,
                    LinkKind::Other => {}
                }
            }
            most.max(pci).max(nvlink)
        });
        (of_channel, of_all)
    }
}

fn types_of(names: &[String]) -> Result<PathTypes, NcclError> {
    let place = |name: &str| {
        let found = names.iter().position(|one| one == name).and_then(|i| u8::try_from(i).ok());
        found.ok_or_else(|| NcclError::new("node.path_types", format!("no {name}"), "NCCL's words"))
    };
    Ok(PathTypes {
        nvlink: place("NVL")?,
        bridge: place("PIX")?,
        other_gpu: place("PXN")?,
        host: place("PHB")?,
        sockets: place("SYS")?,
        apart: place("DIS")?,
    })
}

fn links_of(node: &NodeDocument) -> Vec<Link> {
    let reverse_of = |one: &LinkDocument| {
        node.links
            .iter()
            .position(|link| link.from == one.to && link.to == one.from && link.kind == one.kind)
    };
    let link_of = |one: &LinkDocument| {
        let old_gpu = node.gpus.iter().any(|gpu| gpu.vertex == one.to && gpu.sm < AMPERE);
        let is_power = node.vertices[one.to] == VertexDocument::Power;
        let back = match (old_gpu, is_power && one.kind == LinkKind::Nvlink) {
            (true, _) => Back::Eighth,
            (_, true) => Back::Whole,
            _ => Back::Nothing,
        };
        let is_pci = one.kind == LinkKind::Pci;
        Link { is_pci, gb_s: one.gb_s as f32, back, reverse: reverse_of(one) }
    };
    node.links.iter().map(link_of).collect()
}

fn pci_of(node: &NodeDocument, gpu: usize) -> Option<[usize; 2]> {
    let mut links = node.links.iter();
    let up = links.position(|one| one.from == gpu && one.kind == LinkKind::Pci)?;
    let above = node.links[up].to;
    let down = node.links.iter().position(|one| one.from == above && one.to == gpu)?;
    Some([up, down])
}

fn check(node: &NodeDocument) -> Result<(), NcclError> {
    let n = node.vertices.len();
    let refuse =
        |place: String, what: String| Err(NcclError::new(place, what, "an index of a list"));
    if node.gpus.is_empty() || node.gpus.len() > MOST_DEVICES || node.nets.len() > MOST_DEVICES {
        let what = format!("{} GPUs and {} adapters", node.gpus.len(), node.nets.len());
        return Err(NcclError::new("node", what, "1 to 64 GPUs, and up to 64 adapters"));
    }
    for (i, link) in node.links.iter().enumerate() {
        if link.from >= n || link.to >= n {
            return refuse(format!("node.links[{i}]"), format!("{} to {}", link.from, link.to));
        }
    }
    for (i, path) in node.paths.iter().enumerate() {
        let is_known = usize::from(path.path_type) < node.path_types.len();
        let has_links = path.links.iter().all(|&link| link < node.links.len());
        if path.from >= n || path.to >= n || !is_known || !has_links {
            return refuse(format!("node.paths[{i}]"), format!("{} to {}", path.from, path.to));
        }
    }
    for (i, gpu) in node.gpus.iter().enumerate() {
        if gpu.vertex >= n || gpu.own_nets.iter().any(|&net| net >= node.nets.len()) {
            return refuse(format!("node.gpus[{i}]"), format!("{gpu:?}"));
        }
    }
    for (i, net) in node.nets.iter().enumerate() {
        if net.vertex >= n || net.local_gpu.is_some_and(|gpu| gpu >= node.gpus.len()) {
            return refuse(format!("node.nets[{i}]"), format!("{net:?}"));
        }
    }
    match node.nvswitch {
        Some(vertex) if vertex >= n => refuse("node.nvswitch".into(), vertex.to_string()),
        _ => Ok(()),
    }
}
