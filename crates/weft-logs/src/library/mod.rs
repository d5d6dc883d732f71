//! Lines of the libraries around NCCL: MPI, UCX, libfabric, SHARP.

pub(crate) mod libfabric;
pub(crate) mod message;
pub(crate) mod mpi;
pub(crate) mod mvapich;
pub(crate) mod sharp;
pub(crate) mod ucx;
