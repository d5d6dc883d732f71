//! NCCL's search for channels: rings, trees and NVLink SHARP on one node of a job.
//!
//! [`search()`] takes a node's links and paths as one document and gives a graph for each pattern
//! that is asked for. Other nodes are taken to be equal: a node with adapters is one of several.
//!
//! SOURCE: NVIDIA/nccl, src/graph/search.cc; `tests/oracle/test_nccl_search.py` holds the results
//! to those of real libraries.
//!
//! Rooms, each built on those before it: `error`, `document`, `version`, `topology`, `graph`,
//! `capacity`, `channels`, `passes`.
#![forbid(unsafe_code)]

mod capacity;
mod channels;
mod document;
mod error;
mod graph;
mod passes;
mod topology;
mod version;

pub use document::{GraphDocument, JobDocument, PatternName, RequestDocument};
pub use error::NcclError;
pub use passes::search;
