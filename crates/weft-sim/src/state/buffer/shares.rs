//! `shared_buffer`: what each output of a switch holds of an input buffer.

use crate::limits::NIL;

/// By virtual lane of the port that fills the buffer. All empty until shares are counted.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    /// Where the outputs' shares begin; NIL where they are not counted.
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

#[cfg(test)]
mod tests {
    use super::Shares;

    #[test]
    fn only_lanes_that_are_counted_have_shares_and_none_overlap() {
        let mut shares = Shares::default();
        shares.count(5, 3);
        shares.count(2, 4);
        assert_eq!([shares.of(0), shares.of(4), shares.of(9)], [None; 3]);
        let (five, two) = (shares.of(5).expect("counted"), shares.of(2).expect("counted"));
        assert!(five + 3 <= two || two + 4 <= five);
        assert_eq!(shares.held.len(), 7);
    }

    #[test]
    fn a_lane_is_short_until_it_is_not() {
        let mut shares = Shares::default();
        shares.set_short(3, false);
        assert!(!shares.is_short(3));
        shares.set_short(3, true);
        assert!(shares.is_short(3) && !shares.is_short(2) && !shares.is_short(4));
        shares.set_short(3, false);
        assert!(!shares.is_short(3));
    }
}
