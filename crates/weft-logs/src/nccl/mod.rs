//! Lines of NCCL and RCCL and of their plug-ins.

pub(crate) mod channel;
pub(crate) mod communicator;
pub(crate) mod network;
pub(crate) mod plugin;
pub(crate) mod variables;
pub(crate) mod warning;
