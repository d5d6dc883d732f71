//! Congestion control: who marks, who notifies whom, and how a sender spaces its packets.

pub(crate) mod annex_a10;
pub(crate) mod dcqcn;
pub(crate) mod defaults;
pub(crate) mod endpoint;
pub(crate) mod law;
pub(crate) mod marking;
pub(crate) mod parameters;
pub(crate) mod rtt;
