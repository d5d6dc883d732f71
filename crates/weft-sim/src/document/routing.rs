//! How packets are routed, as written.

use crate::settings::settings;
use serde::Deserialize;
use weft_fabric::document::Engine;

/// How packets are routed.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Routing {
    /// The engine; without one the fabric's own tables, else minhop.
    pub engine: Option<Engine>,
    /// Simulate tables that can deadlock instead of refusing them.
    pub allow_credit_loops: bool,
    /// Adaptive routing; without it the tables alone decide.
    pub adaptive: Option<AdaptiveDocument>,
    /// The reaction to a cable that dies during a run.
    pub link_death: LinkDeathDocument,
}

/// The unit that chooses its port anew.
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

settings! {
    /// Adaptive routing among the ports of a group.
    pub struct AdaptiveDocument {
        /// The unit that chooses its port anew.
        pub granularity: Granularity = Granularity::Packet,
        /// A pause that ends a flowlet.
        pub flowlet_gap_ns: f64 = 500.0,
        /// Service levels that are routed adaptively; all of them without it.
        pub service_levels: Option<Vec<u8>> = None,
        /// Loads (queued and not yet credited bytes) are compared in steps of this.
        pub grade_bytes: u64 = 8192,
        /// How many steps are distinguished; all of them without it.
        pub grades: Option<u32> = None,
        /// Detours.
        pub non_minimal: NonMinimal = NonMinimal::None,
        /// UGAL's preference for the shortest path.
        pub bias_bytes: u64 = 0,
    }
}

/// The part that reacts to a cable that dies during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reaction {
    /// The subnet manager, with new tables after `delay_ns`; packets for the dead port are lost.
    #[default]
    SubnetManager,
    /// The switch itself, at once, over another port of the group (SHIELD). Where it has none, it
    /// notifies the switches that send it packets; where these have none, the subnet manager.
    Switch,
}

settings! {
    /// The reaction to a cable that dies during a run.
    #[derive(Copy)]
    pub struct LinkDeathDocument {
        /// The part that reacts.
        pub reaction: Reaction = Reaction::SubnetManager,
        /// How long the subnet manager takes.
        pub delay_ns: f64 = 1e9,
        /// Time that a notification of a switch takes beyond its cable and the switch at its end.
        // Assumed: NVIDIA publishes none.
        pub notice_ns: f64 = 200.0,
    }
}
