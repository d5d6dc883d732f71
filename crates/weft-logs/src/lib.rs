//! What libraries said: logs of NCCL, RCCL and their network plug-ins, of MPI and what is under
//! it, as facts.
//!
//! A log is read once, line by line, in bounded memory: [`read()`] knows the lines that say what
//! was used, and adds each to [`Facts`], where equal ones are one fact with all who said it. It
//! judges nothing.
#![forbid(unsafe_code)]

mod channel;
mod communicator;
mod echo;
mod facts;
mod libfabric;
mod line;
mod mpi;
mod mvapich;
mod network;
mod plugin;
mod read;
mod sharp;
mod speaker;
mod ucx;
mod warning;

pub use facts::{Facts, Kind};
pub use read::read;
