//! The scenario document (schema `weft.scenario/1`), as written.

mod fault;
mod host;
mod in_network;
mod packets;
mod place;
mod routing;
mod run;
mod switch;
mod transport;

pub use fault::{CorrectedDocument, FaultDocument};
pub use host::{
    HostDocument, IntraNodeDocument, Matching, MatchingDocument, NoiseDocument, Protocol,
    RegimeDocument,
};
pub use in_network::{
    InNetworkDocument, NvlsDocument, QuotaDocument, ResultBy, SatDocument, SatLock,
};
pub use packets::{Headers, LaneWeight, LanesDocument, Packets};
pub use place::{
    DEFAULT_PARTITION, PartitionDocument, PlacementDocument, TenantDocument, TenantRole,
};
pub use routing::{
    AdaptiveDocument, Granularity, LinkDeathDocument, NonMinimal, Reaction, Routing,
};
pub use run::{Limits, ProbesDocument, SteadyStateDocument};
pub use switch::{Forwarding, Queueing, SwitchModel};
pub use transport::{DctDocument, TransportDocument, TransportKind};

pub use crate::congestion::CongestionDocument;
pub use weft_fabric::node::document::{
    InnerKind, InnerLinkDocument, InnerVertexDocument, NodeGraphDocument, Rail,
};

use crate::error::SimError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weft_fabric::json;
use weft_traffic::StepDocument;

/// The schema this crate reads.
pub const SCENARIO_SCHEMA: &str = "weft.scenario/1";

/// A whole scenario: one job (`placement` and `work`) or several (`tenants`).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioDocument {
    /// `weft.scenario/1`.
    pub schema: String,
    /// The source of all randomness.
    #[serde(default = "seed_one")]
    pub seed: u64,
    /// How closely packets are followed.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// A fabric document, whole or generated.
    #[serde(deserialize_with = "json::unique")]
    pub fabric: Value,
    /// How packets are routed.
    #[serde(default)]
    pub routing: Routing,
    /// How messages are cut.
    #[serde(default)]
    pub packets: Packets,
    /// Virtual lanes.
    #[serde(default)]
    pub lanes: LanesDocument,
    /// How switches work.
    #[serde(default)]
    pub switch: SwitchModel,
    /// The reliable transport.
    #[serde(default)]
    pub transport: TransportDocument,
    /// The law by which senders slow down; none without it.
    pub congestion_control: Option<CongestionDocument>,
    /// Costs of hosts.
    pub host: HostDocument,
    /// The inside of a node; without it, an HCA is all there is of one.
    pub node: Option<NodeGraphDocument>,
    /// Where ranks run.
    pub placement: Option<PlacementDocument>,
    /// The work, one step after the other.
    pub work: Option<Vec<StepDocument>>,
    /// Jobs that share the fabric, instead of `placement` and `work`.
    pub tenants: Option<Vec<TenantDocument>>,
    /// Abilities of switches that take part in collectives.
    pub in_network: Option<InNetworkDocument>,
    /// Partitions; without any, every node is a member of the default one.
    #[serde(default)]
    pub partitions: Vec<PartitionDocument>,
    /// The faults.
    #[serde(default)]
    pub faults: Vec<FaultDocument>,
    /// Records in addition to rows and counters.
    #[serde(default)]
    pub probes: ProbesDocument,
    /// Skip what repeats itself; without it, all is simulated.
    pub steady_state: Option<SteadyStateDocument>,
    /// Leave out events that change nothing; `false` is the oracle of the engine's own tests.
    #[serde(default = "yes")]
    pub elide: bool,
    /// When to give up.
    #[serde(default)]
    pub limits: Limits,
}

impl ScenarioDocument {
    /// The document of a JSON text; nothing is checked but its shape.
    pub fn parse(text: &str) -> Result<ScenarioDocument, SimError> {
        Ok(json::from_text("scenario", "", text)?)
    }
}

fn seed_one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// How closely packets are followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fidelity {
    /// Every packet on every link.
    #[default]
    Packet,
    /// Messages as fluids that share links max-min fairly.
    Flow,
    /// Packets where there are few enough of them, or the scenario needs them; else flows.
    Auto,
}
