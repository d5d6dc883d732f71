//! A virtual lane of a port's egress: its credits, and the queues that wait for it.

use crate::limits::NIL;

/// So many refunds have their place in the lane itself: more than the packets of 4 KiB that a wire
/// of 200 m holds at 200 Gb/s.
pub(crate) const PLACES: usize = 7;
/// Refunds in a lane are later than its first one by less than this.
pub(crate) const SPAN_PS: u64 = 1 << 32;

/// One cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(crate) struct Lane {
    /// When the first refunds are due, sorted, from place `begin` on and round: the low half of the
    /// time. The whole of the first one's is with the lane's account.
    times: [u32; PLACES],
    /// Their blocks.
    blocks: [u16; PLACES],
    begin: u8,
    pub(crate) n_refunds: u8,
    /// An event is due when there is enough credit for the packet whose turn it is.
    pub(crate) wake_due: bool,
    /// Blocks that the packet whose turn it is lacks credit for; 0 if it lacks none.
    pub(crate) need: u16,
    /// Blocks free in the buffer at the other end, as far as this end knows.
    pub(crate) credits: i32,
    /// The first packet of the input that is served last: its `ring` is that of the one served
    /// first. The ring is the round robin.
    pub(crate) ring: u32,
    /// Where its queues begin (endpoints: its sender), NIL before the first is needed.
    pub(crate) queues: u32,
}

impl Lane {
    pub(crate) fn new(full: i32) -> Lane {
        Lane { credits: full, ring: NIL, queues: NIL, ..Lane::default() }
    }

    /// The place of the refund that is so many after the first.
    #[inline(always)]
    fn place(&self, number: usize) -> usize {
        let place = usize::from(self.begin) + number;
        if place < PLACES { place } else { place - PLACES }
    }

    /// How much later than the first a time is.
    #[inline(always)]
    fn after(&self, time: u32) -> u32 {
        time.wrapping_sub(self.times[usize::from(self.begin)])
    }

    /// Give a refund its place, after all that are not later: the first one is not.
    #[inline(always)]
    pub(crate) fn insert(&mut self, time: u32, blocks: u16) {
        let (after, mut number) = (self.after(time), usize::from(self.n_refunds));
        loop {
            let (before, place) = (self.place(number - 1), self.place(number));
            if self.after(self.times[before]) <= after {
                (self.times[place], self.blocks[place]) = (time, blocks);
                break;
            }
            (self.times[place], self.blocks[place]) = (self.times[before], self.blocks[before]);
            number -= 1;
        }
        self.n_refunds += 1;
    }

    /// Put a refund behind the others, of which there are `number`.
    pub(crate) fn put(&mut self, number: usize, time_ps: u64, blocks: u16) {
        let place = self.place(number);
        (self.times[place], self.blocks[place]) = (time_ps as u32, blocks);
        self.n_refunds = number as u8 + 1;
    }

    /// Take the first of several refunds out: how much later the next one is, and its blocks.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> (u32, u16) {
        let (place, next) = (self.place(0), self.place(1));
        self.begin = next as u8;
        self.n_refunds -= 1;
        (self.times[next].wrapping_sub(self.times[place]), self.blocks[place])
    }

    /// Take the only refund out: its blocks.
    pub(crate) fn pop_last(&mut self) -> u16 {
        self.n_refunds = 0;
        self.blocks[self.place(0)]
    }

    /// How much later than the first the refunds that have their place here are, and their blocks.
    pub(crate) fn refunds(&self) -> impl Iterator<Item = (u64, u16)> + '_ {
        let places = (0..usize::from(self.n_refunds)).map(|number| self.place(number));
        places.map(|place| (u64::from(self.after(self.times[place])), self.blocks[place]))
    }
}

/// The credits that a lane owes and is owed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    /// When the first refund is due; never if there is none.
    pub(crate) due_ps: u64,
    /// Blocks of the packets that wait for the egress, and of those whose credit is not back.
    pub(crate) load: u32,
    /// The last of the refunds that have no place in the lane, in a circle; NIL if all have.
    pub(crate) beyond: u32,
}

#[cfg(test)]
mod tests {
    use super::{Account, Lane, PLACES};

    /// The low half of the time overflows between the first and the second refund.
    #[test]
    fn refunds_of_a_lane_are_in_order_of_time_round_its_places_and_over_an_overflow() {
        let first_ps = u64::from(u32::MAX) - 5;
        for offset in 0..PLACES {
            let mut lane = Lane::new(0);
            lane.begin = offset as u8;
            lane.put(0, first_ps, 1);
            for (later_ps, blocks) in [(40, 5), (10, 2), (30, 4), (10, 3)] {
                lane.insert((first_ps + later_ps) as u32, blocks);
            }
            let expected = vec![(0, 1), (10, 2), (10, 3), (30, 4), (40, 5)];
            assert_eq!(lane.refunds().collect::<Vec<(u64, u16)>>(), expected);
            assert_eq!([lane.pop(), lane.pop(), lane.pop()], [(10, 1), (0, 2), (20, 3)]);
            assert_eq!((lane.pop(), lane.pop_last(), lane.n_refunds), ((10, 4), 5, 0));
        }
    }

    #[test]
    fn a_lane_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Lane>(), 64);
    }

    #[test]
    fn four_accounts_are_a_cache_line() {
        assert_eq!(std::mem::size_of::<Account>(), 16);
    }
}
