//! Input buffers: credits of a lane, those on their way back, and what outputs hold.

pub(crate) mod buffers;
pub(crate) mod credit_returns;
pub(crate) mod credits;
pub(crate) mod input_queue;
pub(crate) mod lane;
pub(crate) mod shares;
