//! `shared_buffer`: what each output of a switch holds of an input buffer.

use crate::limits::NIL;

/// By virtual lane of the port that fills the buffer. All empty until somebody counts.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Where the outputs' shares begin; NIL where nobody counts them.
    first: Vec<u32>,
    /// Blocks that each output holds.
    pub(crate) held: Vec<u32>,
    /// Its packets wait for their outputs to leave them a share.
    short: Vec<bool>,
}

impl Shares {
    /// Count what each of `n_outputs` holds of the buffer that a lane fills.
    pub(crate) fn count(&mut self, lane: usize, n_outputs: usize) {
        if self.first.len() <= lane {
            self.first.resize(lane + 1, NIL);
        }
        self.first[lane] = self.held.len() as u32;
        self.held.resize(self.held.len() + n_outputs, 0);
    }

    /// Where what outputs hold of a lane's buffer is counted, if it is.
    pub(crate) fn of(&self, lane: usize) -> Option<usize> {
        let first = self.first.get(lane).copied().unwrap_or(NIL);
        (first != NIL).then_some(first as usize)
    }

    pub(crate) fn is_short(&self, lane: usize) -> bool {
        self.short.get(lane).copied().unwrap_or(false)
    }

    pub(crate) fn set_short(&mut self, lane: usize, short: bool) {
        if short && self.short.len() <= lane {
            self.short.resize(lane + 1, false);
        }
        if let Some(known) = self.short.get_mut(lane) {
            *known = short;
        }
    }
}
