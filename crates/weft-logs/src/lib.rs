//! Facts from the logs of NCCL, RCCL and their plug-ins, MPI, UCX, libfabric and SHARP.
//!
//! [`read()`] reads a log once, line by line, in bounded memory. Each line about what a library
//! used adds a fact to [`Facts`]; equal facts are one, with every speaker. This crate judges no
//! fact.
//!
//! Rooms, each built on those before it: `line`, `speaker`, `facts`, `nccl`, `library`, `reader`.
#![forbid(unsafe_code)]

mod facts;
mod library;
mod line;
mod nccl;
mod reader;
mod speaker;

pub use facts::{Facts, Kind};
pub use reader::read;
