//! A step of a scenario's work, as written.

use crate::collective::Algorithm;
use crate::error::TrafficError;
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

/// Largest message or buffer: 1 TiB.
pub const MAX_SIZE_BYTES: u64 = 1 << 40;
/// Most iterations of a step, warm-up included.
const MAX_ITERATIONS: u64 = 10_000_000;
/// Most messages of a window.
const MAX_WINDOW: u32 = 1 << 20;
/// Most rows of a step.
const MAX_ROWS: u64 = 100_000_000;
/// Latest start of a message: eleven days.
const MAX_START_PS: u64 = 1_000_000_000_000_000_000;

fn one() -> u32 {
    1
}

impl StepDocument {
    /// Check that the keys of the step belong to its benchmark.
    pub(crate) fn check_keys(&self, place: &str, n_ranks: u32) -> Result<(), TrafficError> {
        let name = self.benchmark;
        let is = |names: &[BenchmarkName]| names.contains(&name);
        use BenchmarkName as B;
        let rules = [
            ("ranks", self.ranks.is_some(), is(&[B::Latency, B::Bandwidth, B::Bidirectional])),
            (
                "window",
                self.window.is_some(),
                is(&[B::Bandwidth, B::Bidirectional, B::MessageRate, B::Pairs]),
            ),
            ("algorithm", self.algorithm.is_some(), is(&[B::Barrier, B::Allreduce, B::Alltoall])),
            ("rounds", self.rounds.is_some(), is(&[B::Pairs])),
            ("kind", self.kind.is_some(), is(&[B::Pairs])),
            ("messages", self.messages.is_some(), is(&[B::Messages])),
        ];
        for (key, present, allowed) in rules {
            let needed = allowed && matches!(key, "rounds" | "kind" | "messages");
            if present && !allowed {
                let what = format!("'{key}' has no meaning for {}", name.as_str());
                return Err(TrafficError::document(format!("{place}.{key}"), what, "no such key"));
            }
            if needed && !present {
                let what = format!("'{key}' is missing");
                let expected = format!("'{key}' in a step '{}'", name.as_str());
                return Err(TrafficError::document(place, what, expected));
            }
        }
        self.check_limits(place)?;
        if is(&[B::MessageRate]) && n_ranks < 2 {
            let what = "one rank has nobody to talk to";
            return Err(TrafficError::document(place, what, "two ranks or more"));
        }
        if self.window == Some(0) || self.iterations == 0 {
            let key = if self.iterations == 0 { "iterations" } else { "window" };
            return Err(TrafficError::document(format!("{place}.{key}"), "it is 0", "1 or more"));
        }
        if is(&[B::Messages]) && (self.iterations != 1 || self.warmup != 0) {
            let what = "messages are sent once";
            return Err(TrafficError::document(place, what, "iterations 1 and warmup 0"));
        }
        Ok(())
    }

    fn check_limits(&self, place: &str) -> Result<(), TrafficError> {
        let messages = self.messages.as_deref().unwrap_or_default();
        let sizes = messages.iter().map(|message| message.size_bytes).chain([self.size_bytes]);
        let too_late = messages.iter().any(|message| message.start_ps > MAX_START_PS);
        if let Some(size_bytes) = sizes.max().filter(|size| *size > MAX_SIZE_BYTES) {
            let what = format!("a message of {size_bytes} bytes");
            return Err(TrafficError::document(place, what, "at most 1 TiB"));
        }
        let iterations = u64::from(self.iterations) + u64::from(self.warmup);
        if iterations > MAX_ITERATIONS {
            let what = format!("{iterations} iterations, warm-up included");
            let expected = format!("at most {MAX_ITERATIONS}");
            return Err(TrafficError::document(place, what, expected));
        }
        if let Some(window) = self.window.filter(|window| *window > MAX_WINDOW) {
            let what = format!("{window} messages");
            let expected = format!("at most {MAX_WINDOW}");
            return Err(TrafficError::document(format!("{place}.window"), what, expected));
        }
        let n_pairs: usize = self.rounds.iter().flatten().map(Vec::len).sum();
        let n_rows = u64::from(self.iterations) * (n_pairs as u64).max(1);
        if n_rows > MAX_ROWS {
            let what = format!("{n_rows} rows");
            return Err(TrafficError::document(place, what, format!("at most {MAX_ROWS}")));
        }
        if too_late {
            let what = "a message that starts after eleven days";
            return Err(TrafficError::document(place, what, "start_ps up to 1e18"));
        }
        Ok(())
    }
}
