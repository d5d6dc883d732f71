//! A step of a scenario's work, as written.

use crate::collective::{Algorithm, Operation, SkewOf};
use crate::schedule::ScheduleFormat;
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
    /// Alltoall with blocks of different sizes.
    Alltoallv,
    /// Allgather of all ranks.
    Allgather,
    /// Reduce-scatter of all ranks.
    ReduceScatter,
    /// Broadcast from the root.
    Broadcast,
    /// Reduce to the root.
    Reduce,
    /// Gather to the root.
    Gather,
    /// Scatter from the root.
    Scatter,
    /// Everybody exchanges with both neighbours in rank order.
    NaturalRing,
    /// The same in a random order.
    RandomRing,
    /// Everybody sends to one other and receives from one.
    Permutation,
    /// Ranks send to those of the other half, the halves drawn at random.
    Bisect,
    /// Many send to one, beside others who send to each other.
    Incast,
    /// Many send to one.
    FanIn,
    /// One sends to many.
    FanOut,
    /// Rounds of pairs; the pairs of a round run at the same time.
    Pairs,
    /// Messages one by one.
    Messages,
    /// Processor time alone.
    Compute,
    /// What a GOAL text or an MSCCL algorithm says.
    Schedule,
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
            BenchmarkName::Alltoallv => "alltoallv",
            BenchmarkName::Allgather => "allgather",
            BenchmarkName::ReduceScatter => "reduce_scatter",
            BenchmarkName::Broadcast => "broadcast",
            BenchmarkName::Reduce => "reduce",
            BenchmarkName::Gather => "gather",
            BenchmarkName::Scatter => "scatter",
            BenchmarkName::NaturalRing => "natural_ring",
            BenchmarkName::RandomRing => "random_ring",
            BenchmarkName::Permutation => "permutation",
            BenchmarkName::Bisect => "bisect",
            BenchmarkName::Incast => "incast",
            BenchmarkName::FanIn => "fan_in",
            BenchmarkName::FanOut => "fan_out",
            BenchmarkName::Pairs => "pairs",
            BenchmarkName::Messages => "messages",
            BenchmarkName::Compute => "compute",
            BenchmarkName::Schedule => "schedule",
        }
    }

    /// The collective it is, if it is one.
    pub fn operation(self) -> Option<Operation> {
        match self {
            BenchmarkName::Barrier => Some(Operation::Barrier),
            BenchmarkName::Allreduce => Some(Operation::Allreduce),
            BenchmarkName::Alltoall => Some(Operation::Alltoall),
            BenchmarkName::Alltoallv => Some(Operation::Alltoallv),
            BenchmarkName::Allgather => Some(Operation::Allgather),
            BenchmarkName::ReduceScatter => Some(Operation::ReduceScatter),
            BenchmarkName::Broadcast => Some(Operation::Broadcast),
            BenchmarkName::Reduce => Some(Operation::Reduce),
            BenchmarkName::Gather => Some(Operation::Gather),
            BenchmarkName::Scatter => Some(Operation::Scatter),
            _ => None,
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

/// Who sends to whom in a permutation of p ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PermutationKind {
    /// Rank i sends to (i + shift) mod p.
    Shift(u32),
    /// Rank i sends to (factor x i + offset) mod p; the factor shares no divisor with p.
    Affine([u32; 2]),
    /// A shuffle of this seed.
    Random(u64),
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

/// A step as written in a scenario's `work`. A key without meaning for the benchmark is refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepDocument {
    /// What is measured.
    pub benchmark: BenchmarkName,
    /// Message size, as [`crate::Collective::size_bytes`] for collectives.
    #[serde(default)]
    pub size_bytes: u64,
    /// Timed iterations, one row each.
    #[serde(default = "one")]
    pub iterations: u32,
    /// Iterations before them, not reported.
    #[serde(default)]
    pub warmup: u32,
    /// Messages in flight of the bandwidth benchmarks, 64 without it; messages of each flow of a
    /// permutation, bisect, incast or fan, 1 without it; partners at a time of a pairwise (1
    /// without it) or linear (all) alltoall.
    #[serde(default)]
    pub window: Option<u32>,
    /// The two ranks of a point-to-point step, 0 and 1 without it.
    #[serde(default)]
    pub ranks: Option<[u32; 2]>,
    /// How a collective is carried out.
    #[serde(default)]
    pub algorithm: Option<Algorithm>,
    /// The rank at the root of a collective, fan or incast, 0 without it.
    #[serde(default)]
    pub root: Option<u32>,
    /// Seed of a random order of the ranks of a collective or random ring.
    #[serde(default)]
    pub shuffle: Option<u64>,
    /// An ideal barrier after each partner of a pairwise or linear alltoall.
    #[serde(default)]
    pub barrier_every_step: bool,
    /// Largest segment of a pipelined algorithm.
    #[serde(default)]
    pub segment_bytes: Option<u64>,
    /// Ranks of a node, for the hierarchical alltoall; without it, the placement's.
    #[serde(default)]
    pub tasks_per_node: Option<u32>,
    /// How unequal the blocks of an alltoallv are, from 0 to 1.
    #[serde(default)]
    pub skew: Option<f64>,
    /// What decides the size of a block of an alltoallv.
    #[serde(default)]
    pub skew_of: Option<SkewOf>,
    /// Processor time of each rank before each iteration.
    #[serde(default)]
    pub compute_ns: Option<f64>,
    /// By how much that time grows, at most, for some ranks: a share of it.
    #[serde(default)]
    pub imbalance: Option<f64>,
    /// Who sends to whom.
    #[serde(default)]
    pub permutation: Option<PermutationKind>,
    /// Seed of the halves of a bisect, 1 without it.
    #[serde(default)]
    pub seed: Option<u64>,
    /// The ranks of a bisect send in both directions.
    #[serde(default)]
    pub both_ways: bool,
    /// How many ranks, the last ones, send in an incast or fan-in (receive in a fan-out); all but
    /// the root without it.
    #[serde(default)]
    pub fan: Option<u32>,
    /// What the others of an incast send to each other; without it they do nothing.
    #[serde(default)]
    pub bystander_bytes: Option<u64>,
    /// When they begin.
    #[serde(default)]
    pub bystander_start_ns: Option<f64>,
    /// How a schedule is written, `goal` without it.
    #[serde(default)]
    pub format: Option<ScheduleFormat>,
    /// The schedule.
    #[serde(default)]
    pub text: Option<String>,
    /// The file it is in, instead of `text`.
    #[serde(default)]
    pub path: Option<String>,
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
