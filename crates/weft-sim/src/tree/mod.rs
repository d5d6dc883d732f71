//! Trees of switches that reduce and copy: in-network collectives.
//!
//! A tree spans the leaders of a tenant's nodes. A packet that goes up is consumed by the
//! aggregation node of the next switch, which counts it; when all children have come, one goes on.
//! What the root has goes down, a copy to each child.
//!
//! SOURCE: Graham et al., "Scalable Hierarchical Aggregation Protocol (SHArP)" (COMHPC 2016).

mod claims;
mod columns;
mod copies;
mod junction;
mod member;
mod model;
mod plan;
mod span;

pub use columns::{CarriedOut, OffloadColumns};
pub(crate) use junction::Junctions;
pub(crate) use member::Members;
pub(crate) use model::Model;
pub(crate) use plan::{InNetwork, plan};

/// A switch of a tree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Junction {
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

/// A rank that takes part for its node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) rank: u32,
    /// The switch it is attached to.
    pub(crate) junction: u32,
}

/// All trees of a scenario, one after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forest {
    pub(crate) junctions: Vec<Junction>,
    pub(crate) branches: Vec<Branch>,
    pub(crate) members: Vec<Member>,
}

impl Forest {
    /// The links from a switch of a tree downwards.
    pub(crate) fn branches_of(&self, junction: u32) -> &[Branch] {
        let Junction { first_branch, n_branches, .. } = self.junctions[junction as usize];
        &self.branches[first_branch as usize..(first_branch + n_branches) as usize]
    }
}
