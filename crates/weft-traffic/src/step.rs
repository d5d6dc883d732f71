//! A step of a scenario's work, as written.

use crate::collective::Algorithm;
use serde::{Deserialize, Serialize};

/// What a step measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BenchmarkName {
    /// Ping-pong of one pair.
    Latency,
    /// Windows of messages one way, acknowledged.
    Bandwidth,
    /// Windows of messages both ways.
    Bidirectional,
    /// Windows of messages from rank i to i + p/2, all pairs at once.
    MessageRate,
    /// Barrier of all ranks.
    Barrier,
    /// Allreduce of all ranks.
    Allreduce,
    /// Alltoall of all ranks.
    Alltoall,
    /// Rounds of pairs; the pairs of a round run at the same time.
    Pairs,
    /// Messages one by one.
    Messages,
}

impl BenchmarkName {
    /// The name as documents write it.
    pub fn as_str(self) -> &'static str {
        match self {
            BenchmarkName::Latency => "latency",
            BenchmarkName::Bandwidth => "bandwidth",
            BenchmarkName::Bidirectional => "bidirectional",
            BenchmarkName::MessageRate => "message_rate",
            BenchmarkName::Barrier => "barrier",
            BenchmarkName::Allreduce => "allreduce",
            BenchmarkName::Alltoall => "alltoall",
            BenchmarkName::Pairs => "pairs",
            BenchmarkName::Messages => "messages",
        }
    }
}

/// What the pairs of a round do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairsKind {
    /// Ping-pong.
    Latency,
    /// Windows from the first to the second.
    BandwidthAb,
    /// Windows from the second to the first.
    BandwidthBa,
}

/// One explicit message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Sending rank.
    pub src: u32,
    /// Receiving rank.
    pub dst: u32,
    /// Size.
    pub size_bytes: u64,
    /// When the sender starts it, counted from the start of the step.
    #[serde(default)]
    pub start_ps: u64,
}

/// A step as written in a scenario's `work`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// What is measured.
    pub benchmark: BenchmarkName,
    /// Message size; whole buffer for allreduce, per pair for alltoall.
    #[serde(default)]
    pub size_bytes: u64,
    /// Timed iterations, one row each.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Iterations before them, not reported.
    #[serde(default)]
    pub warmup: u32,
    /// Messages in flight of the bandwidth benchmarks, 64 without it.
    #[serde(default)]
    pub window: Option<u32>,
    /// The two ranks of a point-to-point step, 0 and 1 without it.
    #[serde(default)]
    pub ranks: Option<[u32; 2]>,
    /// How a collective is carried out.
    #[serde(default)]
    pub algorithm: Option<Algorithm>,
    /// Rounds of pairs.
    #[serde(default)]
    pub rounds: Option<Vec<Vec<[u32; 2]>>>,
    /// What the pairs do.
    #[serde(default)]
    pub kind: Option<PairsKind>,
    /// The explicit messages.
    #[serde(default)]
    pub messages: Option<Vec<Message>>,
}

fn one() -> u32 {
    1
}
