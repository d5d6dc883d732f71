//! The scenario document (schema `weft.scenario/1`), as written.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use weft_fabric::document::Engine;
use weft_traffic::StepDocument;

/// The schema this crate reads.
pub const SCENARIO_SCHEMA: &str = "weft.scenario/1";

/// A whole scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioDocument {
    /// `weft.scenario/1`.
    pub schema: String,
    /// What all randomness comes from.
    #[serde(default = "seed_one")]
    pub seed: u64,
    /// How closely packets are followed.
    #[serde(default)]
    pub fidelity: Fidelity,
    /// A fabric document, whole or generated.
    pub fabric: Value,
    /// How tables are filled.
    #[serde(default)]
    pub routing: Routing,
    /// How messages are cut.
    #[serde(default)]
    pub packets: Packets,
    /// How switches work.
    #[serde(default)]
    pub switch: SwitchModel,
    /// What hosts cost.
    pub host: HostDocument,
    /// Where ranks run.
    #[serde(default)]
    pub placement: PlacementDocument,
    /// What is done, one step after the other.
    pub work: Vec<StepDocument>,
    /// What is broken.
    #[serde(default)]
    pub faults: Vec<FaultDocument>,
    /// Leave out events that change nothing; `false` is the oracle of the engine's own tests.
    #[serde(default = "yes")]
    pub elide: bool,
    /// When to give up.
    #[serde(default)]
    pub limits: Limits,
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
}

/// How tables are filled.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The engine; without one the fabric's own tables, else minhop.
    #[serde(default)]
    pub engine: Option<Engine>,
    /// Simulate tables that can deadlock instead of refusing them.
    #[serde(default)]
    pub allow_credit_loops: bool,
}

/// Headers around each packet's payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Headers {
    /// LRH, BTH, RETH on the first packet of a message, ICRC, VCRC.
    #[default]
    Infiniband,
    /// None at all.
    None,
}

/// How messages are cut into packets.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Packets {
    /// Largest payload.
    pub mtu_bytes: u32,
    /// What is added to it.
    pub headers: Headers,
}

impl Default for Packets {
    fn default() -> Packets {
        Packets { mtu_bytes: 4096, headers: Headers::Infiniband }
    }
}

/// How an input buffer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queueing {
    /// A queue for each output: a packet waits only for its own output or for buffer space.
    #[default]
    Voq,
    /// One queue: a packet also waits for those before it.
    InputFifo,
    /// `voq` with buffers that never fill: no back-pressure at all.
    Infinite,
}

/// When a switch begins to forward a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Forwarding {
    /// As soon as its head is routed; from its tail on where the egress is the faster link.
    #[default]
    CutThrough,
    /// When its tail is in.
    StoreAndForward,
}

/// How switches work.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchModel {
    /// How an input buffer is read.
    pub model: Queueing,
    /// When forwarding begins.
    pub forwarding: Forwarding,
    /// Time to route a packet.
    pub delay_ps: u64,
    /// Input buffer of each port, in whole blocks of 64 bytes.
    pub buffer_bytes: u64,
}

impl Default for SwitchModel {
    fn default() -> SwitchModel {
        SwitchModel {
            model: Queueing::Voq,
            forwarding: Forwarding::CutThrough,
            delay_ps: 200_000,
            buffer_bytes: 131_072,
        }
    }
}

/// How the two ends of a message agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Sent at once; the send completes when the processor has handed it over.
    #[default]
    Eager,
    /// Request to send, clear to send, data; the send completes when the last packet has left.
    Rendezvous,
}

/// LogGP costs of messages up to a size.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegimeDocument {
    /// Largest message of this regime; the last regime may leave it out.
    #[serde(default)]
    pub max_bytes: Option<u64>,
    /// How the two ends agree.
    #[serde(default)]
    pub protocol: Protocol,
    /// Processor time of a send.
    #[serde(default)]
    pub send_overhead_ns: f64,
    /// Processor time of a receive.
    #[serde(default)]
    pub recv_overhead_ns: f64,
    /// Processor time of a send for each byte.
    #[serde(default)]
    pub send_ns_per_byte: f64,
    /// Processor time of a receive for each byte.
    #[serde(default)]
    pub recv_ns_per_byte: f64,
    /// Time on a message's way that occupies nobody.
    #[serde(default)]
    pub latency_ns: f64,
    /// The same for each byte.
    #[serde(default)]
    pub latency_ns_per_byte: f64,
    /// Least time between two messages of one sender.
    #[serde(default)]
    pub gap_ns: f64,
    /// The same for each byte of the first.
    #[serde(default)]
    pub gap_ns_per_byte: f64,
}

/// The channel between two ranks of one node.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntraNodeDocument {
    /// Time of flight.
    pub latency_ns: f64,
    /// Rate at which one rank copies.
    pub bits_per_s: u64,
}

/// Interruptions of the processors.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoiseDocument {
    /// Chance that a piece of processor time is interrupted.
    pub probability: f64,
    /// Mean length of an interruption (exponential).
    pub mean_ns: f64,
}

/// What hosts cost.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDocument {
    /// Regimes by rising `max_bytes`.
    pub regimes: Vec<RegimeDocument>,
    /// Least time between two messages that an HCA begins.
    #[serde(default)]
    pub message_gap_ns: f64,
    /// Between ranks of one node.
    #[serde(default)]
    pub intra_node: Option<IntraNodeDocument>,
    /// Every rank starts an iteration up to this late (uniform).
    #[serde(default)]
    pub start_jitter_ns: f64,
    /// Interruptions.
    #[serde(default)]
    pub noise: NoiseDocument,
}

/// Where ranks run: rank r on node r / tasks_per_node, over HCA (r mod tasks_per_node) of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PlacementDocument {
    /// Names of nodes in rank order; all of the fabric without it.
    pub nodes: Option<Vec<String>>,
    /// Ranks on each.
    pub tasks_per_node: u32,
}

impl Default for PlacementDocument {
    fn default() -> PlacementDocument {
        PlacementDocument { nodes: None, tasks_per_node: 1 }
    }
}

/// One thing that is broken: a link that is slow or down, or a node that is slow.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultDocument {
    /// Either end of a cable.
    pub link: Option<String>,
    /// What is left of its rate, both ways.
    pub rate_factor: Option<f64>,
    /// Whether it carries nothing.
    pub down: Option<bool>,
    /// A node.
    pub node: Option<String>,
    /// How many times slower its processors and HCAs are.
    pub slow_factor: Option<f64>,
}

/// When to give up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Events to handle at most; then the outcome is `stopped`.
    pub max_events: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_events: 1_000_000_000_000 }
    }
}
