//! Trees of NvSwitches inside nodes, and of rails between them.

use crate::document::InnerKind;
use crate::limits::NIL;
use crate::model::in_network::forest::{Branch, Forest, Junction, Kin, Member, Part, Plane, Work};
use crate::model::in_network::tree::{Leaf, Tree};
use crate::model::placement::place::RankPlace;
use crate::model::scenario::ValidScenario;
use weft_fabric::{Fabric, InnerId, NodeGraph, PortId};
use weft_traffic::neighbours;

/// The ranks of a node that take part in the sums of its NvSwitches.
#[derive(Clone, Debug)]
pub(crate) struct Team {
    pub(crate) ranks: Vec<u32>,
}

/// The NvSwitches that all these tasks' GPUs have a link to, or why that is no team.
pub(crate) fn nv_switches(graph: &NodeGraph, n_tasks: u32) -> Result<Vec<InnerId>, String> {
    let seats: Vec<InnerId> = (0..n_tasks).map(|task| graph.vertex_of_task(task)).collect();
    if let Some((task, _)) = seats.iter().enumerate().find(|(n, seat)| seats[..*n].contains(seat)) {
        let name = &graph.vertices[seats[task].index()].name;
        return Err(format!("two tasks of a node are on '{name}'"));
    }
    let kind = |id: InnerId| graph.vertices[id.index()].kind;
    let all = (0..graph.vertices.len() as u32).map(InnerId);
    let switches = all.filter(|id| kind(*id) == Some(InnerKind::NvSwitch));
    let joined = |switch: &InnerId| {
        let ports = &graph.vertices[switch.index()].ports;
        seats.iter().all(|seat| ports.iter().any(|port| port.peer == *seat))
    };
    let found: Vec<InnerId> = switches.filter(joined).collect();
    if found.is_empty() {
        return Err("no NvSwitch has a link to the GPUs of all tasks".to_owned());
    }
    Ok(found)
}

/// The first port of a vertex inside a node that leads to another.
fn port_to(fabric: &Fabric, place: RankPlace, at: InnerId, to: InnerId) -> PortId {
    let graph = fabric.inside.as_ref().expect("nodes with an inside");
    let vertex = &graph.vertices[at.index()];
    let number = vertex.ports.iter().position(|port| port.peer == to).expect("a link");
    let first = fabric.vertices[fabric.inner_vertex(place.node, at).index()].first_port.0;
    PortId(first + vertex.first_local() + number as u32)
}

impl Forest {
    /// Plant a tree of one NvSwitch after the other for a team; its first member.
    pub(crate) fn plant_team(
        &mut self,
        asked: &ValidScenario,
        team: &Team,
        switches: &[InnerId],
    ) -> u32 {
        let fabric = &asked.fabric;
        let graph = fabric.inside.as_ref().expect("nodes with an inside");
        let (first_junction, first_member) =
            (self.junctions.len() as u32, self.members.len() as u32);
        let place = |rank: &u32| asked.ranks[*rank as usize];
        for switch in switches {
            let first_branch = self.branches.len() as u32;
            for (rank, member) in team.ranks.iter().zip(first_member..) {
                let seat = graph.vertex_of_task(place(rank).task);
                let port = port_to(fabric, place(rank), *switch, seat).0;
                self.branches.push(Branch { port, to: member });
            }
            self.junctions.push(Junction {
                work: Work::Slices,
                vertex: fabric.inner_vertex(place(&team.ranks[0]).node, *switch).0,
                up: NIL,
                parent: NIL,
                first_branch,
                n_branches: team.ranks.len() as u32,
            });
        }
        for rank in &team.ranks {
            let seat = graph.vertex_of_task(place(rank).task);
            let first_plane = self.planes.len() as u32;
            self.planes.extend(switches.iter().zip(first_junction..).map(|(switch, junction)| {
                Plane { port: port_to(fabric, place(rank), seat, *switch).0, junction }
            }));
            self.members.push(Member {
                rank: *rank,
                part: Part::Slices { rail: NIL, kin: NIL },
                first_plane,
                n_planes: switches.len() as u32,
                n_members: team.ranks.len() as u32,
            });
        }
        first_member
    }

    /// Join the GPUs of all teams that have the same number by two binary trees.
    pub(crate) fn join(&mut self, teams: &[(Team, u32)]) {
        let n_nodes = teams.len() as u32;
        for (node, (team, first)) in (0..).zip(teams) {
            for task in 0..team.ranks.len() as u32 {
                let member =
                    |node: Option<u32>| node.map_or(NIL, |node| teams[node as usize].1 + task);
                let number = self.kin.len() as u32;
                self.kin.push([false, true].map(|second| {
                    let near = neighbours(n_nodes, node, second);
                    Kin { parent: member(near.parent), children: near.children.map(member) }
                }));
                if let Part::Slices { kin, .. } = &mut self.members[(first + task) as usize].part {
                    *kin = number;
                }
            }
        }
    }

    /// Let a member of a node go on with its slice by a member of a rail.
    pub(crate) fn go_on(&mut self, node: u32, by: u32) {
        if let Part::Slices { rail, .. } = &mut self.members[node as usize].part {
            *rail = by;
        }
    }

    /// Plant the tree of a rail, and the path from each of its GPUs to its HCA; its first member.
    pub(crate) fn plant_rail(
        &mut self,
        asked: &ValidScenario,
        tree: &Tree,
        leaves: &[Leaf],
    ) -> u32 {
        let first_member = self.members.len() as u32;
        tree.plant(&asked.fabric, leaves, self);
        for (leaf, member) in leaves.iter().zip(first_member..) {
            self.relay(asked, *leaf, member);
        }
        first_member
    }

    /// Put what lies between a GPU and the network into the tree of its rail.
    fn relay(&mut self, asked: &ValidScenario, leaf: Leaf, member: u32) {
        let (fabric, place) = (&asked.fabric, asked.ranks[leaf.rank as usize]);
        let graph = fabric.inside.as_ref().expect("nodes with an inside");
        let peer = |port: PortId| fabric.ports[port.index()].peer.expect("a cabled port");
        let at_member = self.members[member as usize].first_plane as usize;
        let outside = self.planes[at_member].junction;
        let hca = InnerId(place.hca.0 - fabric.nodes[place.node.index()].first_hca.0);
        let mut at = graph.vertex_of_task(place.task);
        // From the GPU on: the port by which its packets leave each vertex.
        let mut out = Vec::new();
        while at != hca {
            let first = fabric.vertices[fabric.inner_vertex(place.node, at).index()].first_port.0;
            let port = PortId(first + graph.next_local(at, hca));
            out.push(port);
            at = fabric.place_in_node(fabric.ports[peer(port).index()].vertex).expect("inside").1;
        }
        out.push(leaf.port);
        let base = self.junctions.len() as u32;
        let n_relays = out.len() as u32 - 1;
        for relay in 0..n_relays {
            let (from, up) = (out[relay as usize], out[relay as usize + 1]);
            let to = if relay == 0 { member } else { base + relay - 1 };
            let first_branch = self.branches.len() as u32;
            self.branches.push(Branch { port: peer(from).0, to });
            let parent = if relay + 1 == n_relays { outside } else { base + relay + 1 };
            self.junctions.push(Junction {
                work: Work::Relays,
                vertex: fabric.ports[up.index()].vertex.0,
                up: up.0,
                parent,
                first_branch,
                n_branches: 1,
            });
        }
        let junction = self.junctions[outside as usize];
        let below = junction.first_branch..junction.first_branch + junction.n_branches;
        let port = peer(leaf.port).0;
        for branch in &mut self.branches[below.start as usize..below.end as usize] {
            if branch.port == port {
                branch.to = base + n_relays - 1;
            }
        }
        self.planes[at_member] = Plane { port: out[0].0, junction: base };
    }
}
