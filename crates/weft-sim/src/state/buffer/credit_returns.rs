//! Refunds in flight that their lane has no place for.

use crate::limits::NIL;

/// Credits in flight: usable from `time_ps` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refund {
    pub(crate) time_ps: u64,
    next: u32,
    pub(crate) blocks: u16,
    /// `shared_buffer`: the output, at the other end, that held them.
    pub(crate) output: u16,
}

impl Refund {
    pub(crate) fn new(time_ps: u64, blocks: u16, output: u16) -> Refund {
        Refund { time_ps, next: NIL, blocks, output }
    }
}

/// Refunds of many lanes; their numbers are used again. A lane has those of a circle in order of
/// time, of which it knows the last: NIL if there is none.
#[derive(Debug)]
pub(crate) struct RefundPool {
    refunds: Vec<Refund>,
    free: u32,
}

impl Default for RefundPool {
    fn default() -> RefundPool {
        RefundPool { refunds: Vec::new(), free: NIL }
    }
}

impl RefundPool {
    fn next(&self, at: u32) -> u32 {
        self.refunds[at as usize].next
    }

    fn time_ps(&self, at: u32) -> u64 {
        self.refunds[at as usize].time_ps
    }

    /// When the first refund of a circle is due.
    pub(crate) fn first_ps(&self, last: u32) -> Option<u64> {
        (last != NIL).then(|| self.time_ps(self.next(last)))
    }

    /// The refunds of a circle, in order.
    pub(crate) fn circle(&self, last: u32) -> impl Iterator<Item = &Refund> + '_ {
        let first = (last != NIL).then(|| self.next(last));
        let next = move |at: &u32| (*at != last).then(|| self.next(*at));
        std::iter::successors(first, next).map(|at| &self.refunds[at as usize])
    }

    /// Take the first refund out of a circle that is not empty.
    pub(crate) fn pop(&mut self, last: &mut u32) -> Refund {
        let first = self.next(*last);
        let refund = self.refunds[first as usize];
        if first == *last {
            *last = NIL;
        } else {
            self.refunds[*last as usize].next = refund.next;
        }
        self.refunds[first as usize].next = self.free;
        self.free = first;
        refund
    }

    /// Put a refund into a circle, after all that are not later.
    pub(crate) fn insert(&mut self, last: &mut u32, refund: Refund) {
        let id = self.add(refund);
        if *last == NIL {
            self.refunds[id as usize].next = id;
            *last = id;
            return;
        }
        let mut before = *last;
        if self.time_ps(before) <= refund.time_ps {
            *last = id;
        } else {
            while self.time_ps(self.next(before)) <= refund.time_ps {
                before = self.next(before);
            }
        }
        self.refunds[id as usize].next = self.next(before);
        self.refunds[before as usize].next = id;
    }

    fn add(&mut self, refund: Refund) -> u32 {
        let id = self.free;
        if id == NIL {
            self.refunds.push(refund);
            return self.refunds.len() as u32 - 1;
        }
        self.free = self.next(id);
        self.refunds[id as usize] = refund;
        id
    }
}

#[cfg(test)]
mod tests {
    use super::{Refund, RefundPool};
    use crate::limits::NIL;

    fn drained(pool: &mut RefundPool, last: &mut u32) -> Vec<(u64, u16)> {
        let mut found = Vec::new();
        while let Some(time_ps) = pool.first_ps(*last) {
            let refund = pool.pop(last);
            assert_eq!(refund.time_ps, time_ps);
            found.push((time_ps, refund.blocks));
        }
        found
    }

    #[test]
    fn lanes_share_a_pool_and_each_has_its_own_refunds_in_order_of_time() {
        let (mut pool, mut a, mut b) = (RefundPool::default(), NIL, NIL);
        for (time_ps, blocks) in [(30, 1), (10, 2), (20, 3), (10, 4), (40, 5)] {
            pool.insert(&mut a, Refund::new(time_ps, blocks, 0));
            pool.insert(&mut b, Refund::new(100 - time_ps, blocks, 0));
        }
        assert_eq!(drained(&mut pool, &mut a), [(10, 2), (10, 4), (20, 3), (30, 1), (40, 5)]);
        assert_eq!(drained(&mut pool, &mut b), [(60, 5), (70, 1), (80, 3), (90, 2), (90, 4)]);
    }

    #[test]
    fn numbers_of_refunds_are_used_again() {
        let (mut pool, mut last) = (RefundPool::default(), NIL);
        for time_ps in 0..100 {
            pool.insert(&mut last, Refund::new(time_ps, 1, 0));
            pool.insert(&mut last, Refund::new(time_ps, 2, 0));
            drained(&mut pool, &mut last);
        }
        assert_eq!(pool.refunds.len(), 2);
    }
}
