//! Costs of hosts, as written.

use crate::settings::settings;
use serde::Deserialize;

/// How the two ends of a message agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Sent at once; the send completes when the processor has handed it over.
    #[default]
    Eager,
    /// Request to send, clear to send, data; the send completes with its acknowledgement.
    Rendezvous,
}

/// LogGP costs of messages up to a size.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RegimeDocument {
    /// Largest message of this regime; the last regime may leave it out.
    pub max_bytes: Option<u64>,
    /// How the two ends agree.
    pub protocol: Protocol,
    /// Processor time of a send.
    pub send_overhead_ns: f64,
    /// Processor time of a receive.
    pub recv_overhead_ns: f64,
    /// Processor time of a send for each byte.
    pub send_ns_per_byte: f64,
    /// Processor time of a receive for each byte.
    pub recv_ns_per_byte: f64,
    /// Time of a message that occupies neither processor nor link.
    pub latency_ns: f64,
    /// The same for each byte.
    pub latency_ns_per_byte: f64,
    /// Least time between two messages of one sender.
    pub gap_ns: f64,
    /// The same for each byte of the first.
    pub gap_ns_per_byte: f64,
}

/// The channel between two ranks of one node.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntraNodeDocument {
    /// Time of flight.
    pub latency_ns: f64,
    /// Rate at which one rank copies.
    pub bits_per_s: u64,
    /// Processor times of these messages, by rising `max_bytes`; without them, those of the host's
    /// regimes.
    #[serde(default)]
    pub regimes: Vec<RegimeDocument>,
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

/// Costs of hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostDocument {
    /// Regimes by rising `max_bytes`.
    pub regimes: Vec<RegimeDocument>,
    /// Least time between two messages that an HCA begins.
    #[serde(default)]
    pub message_gap_ns: f64,
    /// Between ranks of one node.
    pub intra_node: Option<IntraNodeDocument>,
    /// Every rank starts an iteration up to this late (uniform).
    #[serde(default)]
    pub start_jitter_ns: f64,
    /// Interruptions.
    #[serde(default)]
    pub noise: NoiseDocument,
    /// The part that finds the receive of a message, and the cost.
    #[serde(default)]
    pub matching: MatchingDocument,
}

/// Where receives and messages are matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Matching {
    /// On the processor, within its receive overhead, plus `ns_per_entry` for each entry it looks
    /// at in vain.
    #[default]
    Software,
    /// On the HCA: up to `hardware_entries` posted receives cost the processor nothing, and a
    /// rendezvous goes ahead without it.
    Hardware,
}

settings! {
    /// Tag matching.
    #[derive(Copy)]
    pub struct MatchingDocument {
        /// The part that does it.
        pub by: Matching = Matching::Software,
        /// Processor time for each entry of a queue that is looked at before the right one.
        pub ns_per_entry: f64 = 0.0,
        /// Receives the HCA can hold; beyond it the processor matches.
        pub hardware_entries: u32 = 1024,
    }
}
