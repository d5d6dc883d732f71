//! Traffic: benchmarks and collectives as stateless per-rank generators.
//!
//! Rooms, each built on those before it: `random`, `error`, `exchange`; `collective`, `pair`,
//! `renumbering`, `schedule`; `step`; `flows`, `keys`; `phase`; `growth`, `plan`.
//!
//! A [`step::StepDocument`] becomes [`phase::Phase`]s; a phase says, for a rank and a running
//! number, the next [`exchange::Exchange`]. No schedule is ever stored: memory is O(1) a rank.
#![forbid(unsafe_code)]

pub mod collective;
pub mod error;
pub mod exchange;
mod flows;
mod growth;
mod keys;
mod pair;
pub mod phase;
mod plan;
mod random;
mod renumbering;
mod schedule;
pub mod step;

pub use collective::{
    Algorithm, Collective, Neighbours, Operation, Skew, SkewOf, algorithms_of, neighbours,
};
pub use error::TrafficError;
pub use exchange::{Between, Blocks, Exchange, Offload, OffloadKind, Transfer, Wait};
pub use growth::Growth;
pub use pair::{ACK_BYTES, DEFAULT_WINDOW};
pub use phase::{Phase, Rows};
pub use random::mixed;
pub use schedule::ScheduleFormat;
pub use step::StepDocument;
