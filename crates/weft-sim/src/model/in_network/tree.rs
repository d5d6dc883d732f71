//! A tree of shortest paths over live cables.

use crate::limits::NIL;
use crate::model::in_network::forest::{Branch, Forest, Junction, Member, Part, Plane, Work};
use std::collections::{BTreeMap, VecDeque};
use weft_fabric::{Fabric, PortId, SwitchId, VertexId};

/// A member: a rank and the port of its HCA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaf {
    pub(crate) rank: u32,
    pub(crate) port: PortId,
}

/// The load of the trees made so far on switches and ports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Loads {
    /// Trees by switch, and those that have their root there.
    pub(crate) trees: BTreeMap<u32, u32>,
    roots: BTreeMap<u32, u32>,
    ports: BTreeMap<u32, u32>,
}

fn load(loads: &BTreeMap<u32, u32>, number: u32) -> u32 {
    loads.get(&number).copied().unwrap_or(0)
}

/// A tree that is not yet part of the forest: switches with their ports up, the root first.
#[derive(Debug)]
pub(crate) struct Tree {
    /// By switch in the order found: the port towards the root.
    pub(crate) switches: Vec<(SwitchId, Option<PortId>)>,
    /// By leaf, its switch.
    attached: Vec<SwitchId>,
}

/// Cables between switches that are up.
fn cables(fabric: &Fabric, at: SwitchId) -> impl Iterator<Item = (PortId, SwitchId)> + '_ {
    let ports = fabric.ports_of(fabric.switch_vertex(at));
    ports.filter_map(|port| Some((port, fabric.switch(fabric.neighbour(port)?)?)))
}

/// Hops from a switch to every other; `u32::MAX` where none leads.
fn distances(fabric: &Fabric, from: SwitchId) -> Vec<u32> {
    let mut hops = vec![u32::MAX; fabric.n_switches() as usize];
    let mut queue = VecDeque::from([from]);
    hops[from.index()] = 0;
    while let Some(at) = queue.pop_front() {
        for (_, next) in cables(fabric, at) {
            if hops[next.index()] == u32::MAX {
                hops[next.index()] = hops[at.index()] + 1;
                queue.push_back(next);
            }
        }
    }
    hops
}

/// The root that is nearest to the farthest of these switches, of equals the one that is the root
/// of the fewest trees, of these the lowest number; with its distances.
fn root_of(fabric: &Fabric, among: &[SwitchId], loads: &Loads) -> Option<(SwitchId, Vec<u32>)> {
    let farthest = |hops: &[u32]| among.iter().map(|switch| hops[switch.index()]).max();
    let from_first = distances(fabric, *among.first()?);
    let across = farthest(&from_first).filter(|hops| *hops != u32::MAX)?;
    let least = across.div_ceil(2);
    let mut candidates: Vec<SwitchId> = (0..fabric.n_switches()).map(SwitchId).collect();
    candidates.sort_by_key(|switch| (load(&loads.roots, switch.0), switch.0));
    let mut best: Option<(u32, SwitchId, Vec<u32>)> = None;
    for root in candidates {
        let found = best.as_ref().map_or(u32::MAX, |best| best.0);
        // No root is nearer to the farthest switch than to the first.
        if from_first[root.index()] >= found {
            continue;
        }
        let hops = distances(fabric, root);
        let depth = farthest(&hops)?;
        if depth < found {
            best = Some((depth, root, hops));
        }
        if depth == least {
            break;
        }
    }
    best.map(|(_, root, hops)| (root, hops))
}

/// The tree of some leaves, or why there is none.
pub(crate) fn span(fabric: &Fabric, leaves: &[Leaf], loads: &Loads) -> Result<Tree, String> {
    let at_switch = |leaf: &Leaf| fabric.switch(fabric.neighbour(leaf.port)?);
    let mut attached = Vec::new();
    for leaf in leaves {
        let switch = at_switch(leaf);
        let name = || fabric.port_name(leaf.port);
        attached.push(switch.ok_or_else(|| format!("{} leads to no switch", name()))?);
    }
    let mut among = attached.clone();
    among.sort_unstable();
    among.dedup();
    let (root, hops) = root_of(fabric, &among, loads)
        .ok_or_else(|| "no switch reaches every node of the group".to_owned())?;
    let mut place: BTreeMap<u32, usize> = BTreeMap::from([(root.0, 0)]);
    let mut switches = vec![(root, None)];
    for leaf in among {
        let mut at = leaf;
        while !place.contains_key(&at.0) {
            let nearer =
                cables(fabric, at).filter(|(_, n)| hops[n.index()] + 1 == hops[at.index()]);
            let cost = |(port, next): &(PortId, SwitchId)| {
                (!place.contains_key(&next.0), load(&loads.ports, port.0), port.0)
            };
            let (port, next) = nearer.min_by_key(cost).expect("a switch that the root reaches");
            place.insert(at.0, switches.len());
            switches.push((at, Some(port)));
            at = next;
        }
    }
    Ok(Tree { switches, attached })
}

impl Tree {
    /// Count the tree.
    pub(crate) fn add_to(&self, loads: &mut Loads) {
        for (number, (switch, up)) in self.switches.iter().enumerate() {
            *loads.trees.entry(switch.0).or_default() += 1;
            if number == 0 {
                *loads.roots.entry(switch.0).or_default() += 1;
            }
            if let Some(port) = up {
                *loads.ports.entry(port.0).or_default() += 1;
            }
        }
    }

    /// Plant the tree.
    pub(crate) fn plant(&self, fabric: &Fabric, leaves: &[Leaf], forest: &mut Forest) {
        let base = forest.junctions.len() as u32;
        let numbered = self.switches.iter().zip(base..);
        let number: BTreeMap<u32, u32> = numbered.map(|((switch, _), n)| (switch.0, n)).collect();
        let peer = |port: PortId| fabric.ports[port.index()].peer.expect("a cabled port");
        let switch_at = |port: PortId| {
            let vertex: VertexId = fabric.ports[peer(port).index()].vertex;
            fabric.switch(vertex).expect("a cable between switches")
        };
        let mut below: Vec<Vec<Branch>> = vec![Vec::new(); self.switches.len()];
        for (switch, up) in &self.switches {
            let Some(up) = up else { continue };
            let parent = number[&switch_at(*up).0];
            let branch = Branch { port: peer(*up).0, to: number[&switch.0] };
            below[(parent - base) as usize].push(branch);
        }
        for (leaf, switch) in leaves.iter().zip(&self.attached) {
            let (junction, member) = (number[&switch.0], forest.members.len() as u32);
            let first_plane = forest.planes.len() as u32;
            forest.planes.push(Plane { port: leaf.port.0, junction });
            let (rank, n_members) = (leaf.rank, leaves.len() as u32);
            let part = Part::Own;
            forest.members.push(Member { rank, part, first_plane, n_planes: 1, n_members });
            let branch = Branch { port: peer(leaf.port).0, to: member };
            below[(junction - base) as usize].push(branch);
        }
        for ((switch, up), mut branches) in self.switches.iter().zip(below) {
            branches.sort_unstable_by_key(|branch| branch.port);
            forest.junctions.push(Junction {
                work: Work::Reduces,
                vertex: fabric.switch_vertex(*switch).0,
                up: up.map_or(NIL, |port| port.0),
                parent: up.map_or(NIL, |port| number[&switch_at(port).0]),
                first_branch: forest.branches.len() as u32,
                n_branches: branches.len() as u32,
            });
            forest.branches.extend(branches);
        }
    }
}
