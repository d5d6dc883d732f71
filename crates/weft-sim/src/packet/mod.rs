//! Packets on links and in switches.

pub(crate) mod arbiter;
pub(crate) mod congestion_hooks;
pub(crate) mod crossbar;
pub(crate) mod egress;
pub(crate) mod ingress;
pub(crate) mod injection;
pub(crate) mod link_down;
pub(crate) mod link_errors;
pub(crate) mod link_notices;
pub(crate) mod network;
pub(crate) mod numbering;
pub(crate) mod prefetch;
pub(crate) mod routing;
pub(crate) mod transmission;
pub(crate) mod tree_packets;
