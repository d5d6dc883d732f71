//! How an input buffer is read: by one packet at a time, in one queue or by outputs in turn.

use std::collections::VecDeque;

/// The read port of an input buffer, of all its lanes: one packet at a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reader {
    pub(crate) until_ps: u64,
    /// Egress ports that found it busy: first come, first served.
    pub(crate) outputs: VecDeque<u32>,
    /// The event that tells them is scheduled.
    pub(crate) due: bool,
}

/// One queue for all outputs: read by one packet at a time, until its tail has left.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputFifo {
    pub(crate) packets: VecDeque<u32>,
    pub(crate) read_until_ps: u64,
}
