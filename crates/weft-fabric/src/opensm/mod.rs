//! Forwarding tables as OpenSM 3.3.23 computes them: its engines minhop, updn and ftree.
//!
//! SOURCE: what the engines do is known from OpenSM's own files (osm_ucast_mgr.c, osm_switch.c,
//! osm_ucast_updn.c, osm_ucast_ftree.c, doc/current-routing.txt); what is equal to its dumps, as
//! measured, stands in docs/internals/opensm_routing.md.

mod balance;
mod dead_cables;
mod error;
mod ftree;
mod ftree_walk;
mod groups;
mod minhop;
mod switches;
mod updn;

pub use dead_cables::{Rerouted, reroute};
pub use error::{RouteError, Rule};

use crate::subnet::{End, Lfts, Subnet};
use std::collections::BTreeMap;
use switches::Switches;

/// A routing engine of OpenSM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpensmEngine {
    /// Fewest hops, the load spread over all ports that have them. OpenSM's default.
    Minhop,
    /// Fewest hops of those paths that never go up again once they went down.
    Updn,
    /// Shift patterns without contention on regular fat-trees.
    Ftree,
}

impl OpensmEngine {
    /// All of them.
    pub const ALL: [OpensmEngine; 3] =
        [OpensmEngine::Minhop, OpensmEngine::Updn, OpensmEngine::Ftree];

    /// OpenSM's name of it.
    pub fn name(self) -> &'static str {
        match self {
            OpensmEngine::Minhop => "minhop",
            OpensmEngine::Updn => "updn",
            OpensmEngine::Ftree => "ftree",
        }
    }

    /// The engine of a name.
    pub fn from_word(word: &str) -> Option<OpensmEngine> {
        OpensmEngine::ALL.into_iter().find(|engine| engine.name() == word)
    }
}

/// Options of OpenSM other than the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Node GUIDs of the root switches (OpenSM's `root_guid_file`); none: updn and ftree find them
    /// themselves. ftree checks the tree's regularity only then.
    pub roots: Vec<u64>,
}

/// Tables and what led to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Routed {
    /// Egress port by switch and LID; no entry where no path leads there.
    pub lfts: Lfts,
    /// Node indices of the switches of rank 0, in the order of their GUIDs; none for minhop.
    pub roots: Vec<u32>,
    /// By node index of a switch its rank: 0 for roots; none for minhop.
    pub ranks: BTreeMap<u32, u32>,
    /// Cabled ports that were passed over because they have no LID.
    pub without_lid: Vec<End>,
}

/// The tables that an engine of OpenSM gives the switches of a subnet.
///
/// Two calls with the same subnet give the same tables. An error where OpenSM would give up (and
/// route with minhop instead, saying so in its log only), or where switches have no LIDs yet.
pub fn route(
    subnet: &Subnet,
    engine: OpensmEngine,
    options: &Options,
) -> Result<Routed, RouteError> {
    route_from(subnet, engine, options, None)
}

/// The same of a manager that filled the tables `before`: minhop and updn keep entries that are
/// still among the best.
fn route_from(
    subnet: &Subnet,
    engine: OpensmEngine,
    options: &Options,
    before: Option<&Lfts>,
) -> Result<Routed, RouteError> {
    let switches = Switches::new(subnet)?;
    let (rows, ranks) = match engine {
        OpensmEngine::Minhop => {
            let mut hops = minhop::MinHops::new(&switches);
            (balance::rows(&switches, before, |to, choices| hops.toward(to, choices)), None)
        }
        OpensmEngine::Updn => {
            let ranks = updn::ranks(&switches, &options.roots)?;
            let mut hops = updn::LegalHops::new(&switches, &ranks);
            (balance::rows(&switches, before, |to, choices| hops.toward(to, choices)), Some(ranks))
        }
        OpensmEngine::Ftree => {
            let tree = ftree::Tree::new(&switches, &options.roots)?;
            let ranks = tree.ranks.clone();
            (ftree_walk::rows(&switches, tree), Some(ranks))
        }
    };
    let mut lfts = Lfts::new(subnet.nodes.len());
    for (node, row) in switches.nodes.iter().zip(rows) {
        lfts.set_row(*node as usize, row);
    }
    let ranked = |ranks: Vec<u32>| switches.nodes.iter().copied().zip(ranks).collect();
    let ranks: BTreeMap<u32, u32> = ranks.map(ranked).unwrap_or_default();
    let roots = ranks.iter().filter(|(_, rank)| **rank == 0).map(|(node, _)| *node).collect();
    Ok(Routed { lfts, roots, ranks, without_lid: switches.without_lid })
}
