//! What is sent: benchmarks and collectives as stateless per-rank generators.
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
pub mod phase;
mod plan;
mod random;
mod relabel;
mod schedule;
pub mod step;
mod talk;

pub use collective::{
    Algorithm, Collective, Neighbours, Operation, Skew, SkewOf, algorithms_of, neighbours,
};
pub use error::TrafficError;
pub use exchange::{Between, Blocks, Exchange, Offload, OffloadKind, Transfer, Wait};
pub use growth::Growth;
pub use phase::{Phase, Rows};
pub use random::mixed;
pub use schedule::ScheduleFormat;
pub use step::StepDocument;
pub use talk::{ACK_BYTES, DEFAULT_WINDOW};
