//! When to give up and what to watch, as written.

use serde::Deserialize;

/// When to give up.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Events to handle at most; then the outcome is `stopped`.
    pub max_events: u64,
    /// Messages that are posted and not received, at most; then the outcome is `stopped`.
    pub max_messages: u32,
    /// Simulated time without a byte delivered, while packets or unacknowledged messages wait,
    /// after which the watchdog ends the run as `stalled`.
    pub stall_ns: f64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { max_events: 1_000_000_000_000, max_messages: 1 << 24, stall_ns: 60e9 }
    }
}

/// What to record in addition to rows and counters.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ProbesDocument {
    /// Ports whose counters are reported: the busiest so many; all of a smaller fabric.
    pub top_ports: u32,
    /// Load of links over time: the width of a time bin; none without it.
    pub load_bin_ns: Option<f64>,
    /// The busiest so many links have their load over time reported.
    pub load_ports: u32,
    /// The first so many messages have their start and end reported.
    pub flows: u32,
}

impl Default for ProbesDocument {
    fn default() -> ProbesDocument {
        ProbesDocument { top_ports: 1 << 17, load_bin_ns: None, load_ports: 16, flows: 0 }
    }
}
