//! Input buffers: credits of a lane, those in flight, and what outputs hold.

pub(crate) mod buffers;
pub(crate) mod credit_returns;
pub(crate) mod credits;
pub(crate) mod input_queue;
pub(crate) mod lane;
pub(crate) mod occupancy;
pub(crate) mod queues;
pub(crate) mod refunds;
pub(crate) mod shares;
