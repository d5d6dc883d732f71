//! How packets are routed, as written.

use serde::Deserialize;
use weft_fabric::document::Engine;

/// How packets are routed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The engine; without one the fabric's own tables, else minhop.
    #[serde(default)]
    pub engine: Option<Engine>,
    /// Simulate tables that can deadlock instead of refusing them.
    #[serde(default)]
    pub allow_credit_loops: bool,
    /// Adaptive routing; without it the tables alone decide.
    #[serde(default)]
    pub adaptive: Option<AdaptiveDocument>,
    /// What happens when a cable dies during a run.
    #[serde(default)]
    pub link_death: LinkDeathDocument,
}

/// What chooses its port anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Granularity {
    /// Every packet.
    #[default]
    Packet,
    /// The packets of a queue pair between two pauses of `flowlet_gap_ns`.
    Flowlet,
}

/// Whether detours over a third group are taken (dragonfly, dragonfly+).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NonMinimal {
    /// Shortest paths only.
    #[default]
    None,
    /// UGAL-local: where the shortest path's queue x its hops exceeds the detour's by `bias_bytes`.
    Ugal,
    /// Always (Valiant).
    Valiant,
}

/// Adaptive routing among the ports of a group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptiveDocument {
    /// What chooses its port anew.
    pub granularity: Granularity,
    /// A pause that ends a flowlet.
    pub flowlet_gap_ns: f64,
    /// Service levels that are routed adaptively; all of them without it.
    pub service_levels: Option<Vec<u8>>,
    /// Loads (queued and not yet credited bytes) are compared in steps of this.
    pub grade_bytes: u64,
    /// How many steps are distinguished; all of them without it.
    pub grades: Option<u32>,
    /// Detours.
    pub non_minimal: NonMinimal,
    /// UGAL's preference for the shortest path.
    pub bias_bytes: u64,
}

impl Default for AdaptiveDocument {
    fn default() -> AdaptiveDocument {
        AdaptiveDocument {
            granularity: Granularity::Packet,
            flowlet_gap_ns: 500.0,
            service_levels: None,
            grade_bytes: 8192,
            grades: None,
            non_minimal: NonMinimal::None,
            bias_bytes: 0,
        }
    }
}

/// Who reacts to a cable that dies during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// The subnet manager, with new tables after `delay_ns`; packets for the dead port are lost.
    #[default]
    SubnetManager,
    /// The switch itself, at once, over another port of the group (SHIELD); where it has none, the
    /// subnet manager.
    Switch,
}

/// What happens when a cable dies during a run.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LinkDeathDocument {
    /// Who reacts.
    pub reaction: Reaction,
    /// How long the subnet manager takes.
    pub delay_ns: f64,
}

impl Default for LinkDeathDocument {
    fn default() -> LinkDeathDocument {
        LinkDeathDocument { reaction: Reaction::SubnetManager, delay_ns: 1e9 }
    }
}
