//! Trees of switches that reduce and copy: in-network collectives.
//!
//! A tree spans the leaders of a tenant's nodes. A packet that goes up is consumed by the
//! aggregation node of the next switch, which counts it; when all children have come, one goes on.
//! The root's result goes down, a copy to each child.
//!
//! SOURCE: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)" (COMHPC 2016).

use super::collective_method::CollectiveMethod;
use super::parameters::Model;
use crate::error::SimError;
use crate::limits::{EVENTS_A_LOOK, NIL};
use std::ops::Range;
use weft_traffic::{Between, Offload, OffloadKind};

/// Of what packets of a tree carry: the number of their operation among those under way.
pub(crate) const NUMBER: u32 = 0xffff;

/// The part of a switch in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It reduces what goes up, and copies what comes down.
    Reduces,
    /// It hands on.
    Relays,
    /// It reduces for one member, who has the piece copied to all.
    Slices,
}

/// A switch of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Junction {
    pub(crate) work: Work,
    /// The vertex of the switch.
    pub(crate) vertex: u32,
    /// The port towards the root and the junction it leads to; NIL at the root.
    pub(crate) up: u32,
    pub(crate) parent: u32,
    pub(crate) first_branch: u32,
    pub(crate) n_branches: u32,
}

/// A link of a tree, seen from the switch above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    pub(crate) port: u32,
    /// The junction below it, or the member where the port leads to an endpoint.
    pub(crate) to: u32,
}

/// The part of a member in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its node, or itself.
    Own,
    /// The slices of a node; between nodes, the member of a rail that goes on with its own, or its
    /// kin, where there are any.
    Slices { rail: u32, kin: u32 },
    /// The rail of a GPU, by its member among those of its node.
    Rail { node: u32 },
}

/// A rank that takes part in trees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) rank: u32,
    pub(crate) part: Part,
    /// Its links to switches: the trees that its pieces take in turn.
    pub(crate) first_plane: u32,
    pub(crate) n_planes: u32,
    /// Members of its tree.
    pub(crate) n_members: u32,
}

/// GPUs of other nodes that a GPU exchanges segments with, in one of two trees; NIL for none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kin {
    pub(crate) parent: u32,
    pub(crate) children: [u32; 2],
}

impl Kin {
    pub(crate) fn below(self) -> impl Iterator<Item = u32> {
        self.children.into_iter().filter(|child| *child != NIL)
    }
}

/// A link of a member to a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    /// The member's port, and the switch it leads to.
    pub(crate) port: u32,
    pub(crate) junction: u32,
}

/// All trees of a scenario, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    pub(crate) junctions: Vec<Junction>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) members: Vec<Member>,
    pub(crate) planes: Vec<Plane>,
    /// Of the two trees between nodes.
    pub(crate) kin: Vec<[Kin; 2]>,
}

impl Forest {
    /// The link by which a member's piece of that number goes: all its tree's pieces of one turn
    /// take the same plane.
    pub(crate) fn plane_of(&self, member: u32, number: u32) -> Plane {
        let Member { first_plane, n_planes, n_members, .. } = self.members[member as usize];
        self.planes[(first_plane + number / n_members % n_planes) as usize]
    }

    /// The links from a switch of a tree downwards.
    pub(crate) fn branches_of(&self, junction: u32) -> &[Branch] {
        let Junction { first_branch, n_branches, .. } = self.junctions[junction as usize];
        &self.branches[first_branch as usize..(first_branch + n_branches) as usize]
    }
}

/// Most packets of trees that may be in switches at a time: a part of those that events can name.
const MAX_TREE_PACKETS: u64 = 1 << 22;

/// The collectives of switches of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct InNetwork {
    pub(crate) model: Model,
    pub(crate) forest: Forest,
    /// By rank: the member it is, or NIL.
    pub(crate) member_of: Vec<u32>,
    /// By tenant: the junctions of its tree, or why it has none; an empty tree where it asks for
    /// none.
    pub(crate) trees: Vec<Result<Range<u32>, String>>,
}

impl InNetwork {
    /// Most packets of trees at a time.
    fn n_packets(&self) -> u64 {
        self.forest.branches.len() as u64 * u64::from(self.model.window())
    }

    /// Most packets that switches make between two looks at how many there are.
    pub(crate) fn n_packets_a_look(&self) -> u64 {
        let branches = self.forest.junctions.iter().map(|junction| u64::from(junction.n_branches));
        (branches.max().unwrap_or(0) * EVENTS_A_LOOK).min(2 * MAX_TREE_PACKETS)
    }

    /// Events can name what is under way.
    pub(crate) fn require_room(&self) -> Result<(), SimError> {
        let n_packets = self.n_packets();
        if n_packets > MAX_TREE_PACKETS {
            let what = format!("{n_packets} packets of trees at a time");
            let expected = format!("at most {MAX_TREE_PACKETS}: fewer operations, or members");
            return Err(SimError::document("in_network.outstanding", what, expected));
        }
        Ok(())
    }

    /// How switches carry out a step of a tenant, or why they do not.
    pub(crate) fn method_of(
        &self,
        tenant: u32,
        offload: &Offload,
    ) -> Result<CollectiveMethod, String> {
        let by_gpus =
            matches!(offload.kind, OffloadKind::Slices(Between::Nothing | Between::Trees { .. }));
        match &self.trees[tenant as usize] {
            Err(reason) if !by_gpus => Err(reason.clone()),
            _ => self.model.method_of(offload),
        }
    }
}
