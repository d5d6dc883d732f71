//! When the first messages of a run began and were done.

use crate::limits::NIL;
use serde::Serialize;

/// One row a message, in the order in which their sends were posted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowColumns {
    /// Number of the tenant.
    pub tenant: Vec<u32>,
    /// The sender's number among its tenant's ranks.
    pub src: Vec<u32>,
    /// The receiver's.
    pub dst: Vec<u32>,
    /// Its size.
    pub size_bytes: Vec<u64>,
    /// When the send was posted.
    pub start_ps: Vec<u64>,
    /// When the receiver's processor was done with it; 0 where it was not.
    pub end_ps: Vec<u64>,
    /// Whether it was.
    pub done: Vec<bool>,
    /// How many messages came later and have no row.
    pub left_out: u64,
}

/// A message that is posted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Posted {
    pub(crate) tenant: u32,
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) size_bytes: u64,
}

impl FlowColumns {
    /// Write a message down, if it is one of the first `most`; the number of its row, or NIL.
    pub(crate) fn begin(&mut self, most: u32, posted: Posted, now_ps: u64) -> u32 {
        let row = self.tenant.len() as u32;
        if row >= most {
            self.left_out += 1;
            return NIL;
        }
        self.tenant.push(posted.tenant);
        self.src.push(posted.src);
        self.dst.push(posted.dst);
        self.size_bytes.push(posted.size_bytes);
        self.start_ps.push(now_ps);
        self.end_ps.push(0);
        self.done.push(false);
        row
    }

    /// The receiver will be done with the message of a row at `end_ps`.
    pub(crate) fn end(&mut self, row: u32, end_ps: u64) {
        self.end_ps[row as usize] = end_ps;
        self.done[row as usize] = true;
    }
}
