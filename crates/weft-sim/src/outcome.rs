//! What a simulation gives back: columns, and how it ended.

use crate::counters::PortColumns;
use crate::flows::FlowColumns;
use crate::probe::LoadColumns;
use serde::Serialize;

/// How a simulation ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// All work is done.
    #[default]
    Complete,
    /// Packets or ranks wait for each other for ever; `Outcome::message` names them.
    Deadlock,
    /// The limit of events was reached.
    Stopped,
    /// A connection is broken: its packets were repeated in vain.
    Failed,
}

impl Status {
    /// The name as documents write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Complete => "complete",
            Status::Deadlock => "deadlock",
            Status::Stopped => "stopped",
            Status::Failed => "failed",
        }
    }
}

/// One row a timed iteration (or pair, or message) of a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowColumns {
    /// Number of the step in the scenario's work.
    pub step: Vec<u32>,
    /// Number of the pair in its round, or of the message; else 0.
    pub pair: Vec<u32>,
    /// Round of a step of pairs; else 0.
    pub round: Vec<u32>,
    /// Iteration, warm-up not counted.
    pub iteration: Vec<u32>,
    /// When the ideal barrier before the iteration let go (messages: when they were due).
    pub start_ps: Vec<u64>,
    /// Maximum over timing ranks of local stop - local start.
    pub duration_ps: Vec<u64>,
}

/// Everything a simulation gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// Why, where it is not complete.
    pub message: String,
    /// Measured times.
    pub rows: RowColumns,
    /// Port counters.
    pub ports: PortColumns,
    /// How many cabled ports have no row there.
    pub ports_left_out: u64,
    /// The first messages.
    pub flows: FlowColumns,
    /// Load of links over time.
    pub load: LoadColumns,
    /// When all work was done, or when the simulation ended without.
    pub end_ps: u64,
    /// Packets times links crossed.
    pub hops: u64,
    /// Events handled; the one thing that differs between elided and un-elided runs.
    pub events: u64,
    /// Depends on every arrival and every rank's finish: the same run has the same hash.
    pub trace_hash: u64,
}
