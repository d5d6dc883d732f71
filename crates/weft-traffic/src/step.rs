//! A step of a scenario's work, as written.

use crate::collective::{Algorithm, Operation, SkewOf};
use crate::schedule::ScheduleFormat;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The benchmark of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchmarkName {
    /// Ping-pong of one pair.
    Latency,
    /// Windows of messages in one direction, acknowledged.
    Bandwidth,
    /// Windows of messages in both directions.
    Bidirectional,
    /// Windows of messages from rank i to i + p/2, all pairs at once.
    MessageRate,
    /// A collective of all ranks.
    Collective(Operation),
    /// Every rank exchanges with both neighbours in rank order.
    NaturalRing,
    /// The same in a random order.
    RandomRing,
    /// Every rank sends to one other and receives from one.
    Permutation,
    /// Ranks send to those of the other half, the halves drawn at random.
    Bisect,
    /// Many ranks send to one; others send to each other.
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
    /// The schedule of a GOAL text or an MSCCL algorithm.
    Schedule,
}

/// Every benchmark and its name, as documents write it.
const BENCHMARKS: [(&str, BenchmarkName); 25] = {
    use BenchmarkName::*;
    [
        ("latency", Latency),
        ("bandwidth", Bandwidth),
        ("bidirectional", Bidirectional),
        ("message_rate", MessageRate),
        ("barrier", Collective(Operation::Barrier)),
        ("allreduce", Collective(Operation::Allreduce)),
        ("alltoall", Collective(Operation::Alltoall)),
        ("alltoallv", Collective(Operation::Alltoallv)),
        ("allgather", Collective(Operation::Allgather)),
        ("reduce_scatter", Collective(Operation::ReduceScatter)),
        ("broadcast", Collective(Operation::Broadcast)),
        ("reduce", Collective(Operation::Reduce)),
        ("gather", Collective(Operation::Gather)),
        ("scatter", Collective(Operation::Scatter)),
        ("natural_ring", NaturalRing),
        ("random_ring", RandomRing),
        ("permutation", Permutation),
        ("bisect", Bisect),
        ("incast", Incast),
        ("fan_in", FanIn),
        ("fan_out", FanOut),
        ("pairs", Pairs),
        ("messages", Messages),
        ("compute", Compute),
        ("schedule", Schedule),
    ]
};

static NAMES: LazyLock<[&str; 25]> = LazyLock::new(|| BENCHMARKS.map(|(name, _)| name));

impl BenchmarkName {
    /// The name as documents write it.
    pub fn as_str(self) -> &'static str {
        let named = BENCHMARKS.iter().find(|(_, benchmark)| *benchmark == self);
        named.expect("every benchmark is in the table").0
    }

    /// The collective it is, if it is one.
    pub fn operation(self) -> Option<Operation> {
        match self {
            BenchmarkName::Collective(operation) => Some(operation),
            _ => None,
        }
    }
}

impl Serialize for BenchmarkName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for BenchmarkName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        let named = BENCHMARKS.iter().find(|(known, _)| *known == name);
        named
            .map(|(_, benchmark)| *benchmark)
            .ok_or_else(|| D::Error::unknown_variant(&name, &*NAMES))
    }
}

/// The traffic of the pairs of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PairsKind {
    /// Ping-pong.
    Latency,
    /// Windows from the first to the second.
    BandwidthAb,
    /// Windows from the second to the first.
    BandwidthBa,
    /// Windows in both directions at once.
    Bidirectional,
}

/// A permutation of p ranks: the destination of each.
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
    /// The benchmark.
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
    /// permutation, bisect, incast or fan, or to each neighbour of a ring, 1 without it; partners
    /// at a time of a pairwise (1 without it) or linear (all) alltoall.
    pub window: Option<u32>,
    /// The two ranks of a point-to-point step, 0 and 1 without it.
    pub ranks: Option<[u32; 2]>,
    /// How a collective is carried out.
    pub algorithm: Option<Algorithm>,
    /// The rank at the root of a collective, fan or incast, 0 without it.
    pub root: Option<u32>,
    /// Seed of a random order of the ranks of a collective or random ring.
    pub shuffle: Option<u64>,
    /// An ideal barrier after each partner of a pairwise or linear alltoall.
    #[serde(default)]
    pub barrier_every_step: bool,
    /// A dissemination barrier at the end of each iteration of a ring, timed with it.
    #[serde(default)]
    pub closing_barrier: bool,
    /// Largest segment of a pipelined algorithm.
    pub segment_bytes: Option<u64>,
    /// Ranks of a node, for algorithms that distinguish them; without it, the placement's.
    pub tasks_per_node: Option<u32>,
    /// The algorithm of a collective of the switches where they cannot run it; without it, the
    /// default algorithm.
    pub fallback: Option<Algorithm>,
    /// The algorithm of the leaders of nodes in a collective by two levels; without it, the default
    /// algorithm.
    pub between: Option<Algorithm>,
    /// How unequal the blocks of an alltoallv are, from 0 to 1.
    pub skew: Option<f64>,
    /// The rule for the size of a block of an alltoallv.
    pub skew_of: Option<SkewOf>,
    /// Processor time of each rank before each iteration.
    pub compute_ns: Option<f64>,
    /// By how much that time grows, at most, for some ranks: a share of it.
    pub imbalance: Option<f64>,
    /// The destination of each rank.
    pub permutation: Option<PermutationKind>,
    /// Seed of the halves of a bisect, 1 without it.
    pub seed: Option<u64>,
    /// The ranks of a bisect send in both directions.
    #[serde(default)]
    pub both_ways: bool,
    /// How many ranks, the last ones, send in an incast or fan-in (receive in a fan-out); all but
    /// the root without it.
    pub fan: Option<u32>,
    /// Size of the messages among the others of an incast; without it they send none.
    pub bystander_bytes: Option<u64>,
    /// When they begin.
    pub bystander_start_ns: Option<f64>,
    /// How a schedule is written, `goal` without it.
    pub format: Option<ScheduleFormat>,
    /// The schedule.
    pub text: Option<String>,
    /// The file it is in, instead of `text`.
    pub path: Option<String>,
    /// Rounds of pairs.
    pub rounds: Option<Vec<Vec<[u32; 2]>>>,
    /// The traffic of the pairs.
    pub kind: Option<PairsKind>,
    /// The explicit messages.
    pub messages: Option<Vec<Message>>,
}

fn one() -> u32 {
    1
}
