//! A virtual lane of a port's egress: its credits, and the queues that wait for it.

use crate::packet::NIL;
use crate::port::NEVER;
use std::hint::black_box;

/// Credits on their way back: usable from `time_ps` on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refund {
    time_ps: u64,
    next: u32,
    blocks: u16,
    /// `shared_buffer`: the output, at the other end, that held them.
    output: u16,
}

/// Refunds on their way, chained by lane in order of time; their numbers used again.
#[derive(Debug)]
pub(crate) struct RefundPool {
    refunds: Vec<Refund>,
    free: u32,
    /// `shared_buffer`: blocks of a lane's buffer that each output holds, from `Lane::shares` on.
    pub(crate) held: Vec<u32>,
}

impl Default for RefundPool {
    fn default() -> RefundPool {
        RefundPool { refunds: Vec::new(), free: NIL, held: Vec::new() }
    }
}

impl RefundPool {
    #[inline(always)]
    fn add(&mut self, refund: Refund) -> u32 {
        let id = self.free;
        if id == NIL {
            self.refunds.push(refund);
            return self.refunds.len() as u32 - 1;
        }
        self.free = self.refunds[id as usize].next;
        self.refunds[id as usize] = refund;
        id
    }

    /// Give a refund's number back; the refund.
    #[inline(always)]
    fn take(&mut self, id: u32) -> Refund {
        let refund = self.refunds[id as usize];
        self.refunds[id as usize].next = self.free;
        self.free = id;
        refund
    }
}

/// One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Lane {
    /// When the first refund is due; never if there is none.
    due_ps: u64,
    /// The credit event that will wake it.
    pub(crate) wake_ps: u64,
    /// Blocks free in the buffer at the other end, as far as this end knows.
    credits: i32,
    /// Blocks that the packet whose turn it is lacks credit for; 0 if it lacks none.
    pub(crate) need: u32,
    /// Blocks of the packets that wait for this egress.
    pub(crate) queued: u32,
    first_refund: u32,
    last_refund: u32,
    /// The first packet of the input that is served last: its `ring` is that of the one served
    /// first. The ring is the round robin.
    pub(crate) ring: u32,
    /// Where its queues begin (endpoints: its sender), NIL before the first is needed.
    pub(crate) queues: u32,
    /// `shared_buffer`: where what outputs hold of the buffer begins; NIL where nobody counts it.
    pub(crate) shares: u32,
    /// Its packets wait for their outputs to leave them a share of the buffer.
    pub(crate) short: bool,
}

impl Lane {
    pub(crate) fn new(full: i32) -> Lane {
        Lane {
            due_ps: NEVER,
            wake_ps: NEVER,
            credits: full,
            need: 0,
            queued: 0,
            first_refund: NIL,
            last_refund: NIL,
            ring: NIL,
            queues: NIL,
            shares: NIL,
            short: false,
        }
    }

    /// Credits as far as they were settled.
    pub(crate) fn credits(&self) -> i32 {
        self.credits
    }

    /// Take in the credits that are back by now.
    #[inline(always)]
    pub(crate) fn settle(&mut self, refunds: &mut RefundPool, now_ps: u64) {
        while self.due_ps <= now_ps && self.first_refund != NIL {
            let refund = refunds.take(self.first_refund);
            self.take_in(refunds, refund);
        }
    }

    /// The first refund is back, and out of the chain.
    #[inline(always)]
    fn take_in(&mut self, refunds: &mut RefundPool, refund: Refund) {
        self.credits += i32::from(refund.blocks);
        if self.shares != NIL {
            refunds.held[self.shares as usize + usize::from(refund.output)] -=
                u32::from(refund.blocks);
        }
        self.first_refund = refund.next;
        self.due_ps = match refund.next {
            NIL => NEVER,
            next => refunds.refunds[next as usize].time_ps,
        };
    }

    /// Whether there is credit for `blocks`. Where there is not, the grant sticks: the packet whose
    /// turn it is keeps it, so that small packets do not pass a large one for ever.
    #[inline(always)]
    pub(crate) fn grant(&mut self, refunds: &mut RefundPool, now_ps: u64, blocks: u32) -> bool {
        let enough = self.has_credit(refunds, now_ps, blocks);
        self.need = if enough { 0 } else { blocks };
        enough
    }

    /// Whether there is credit for `blocks`; nothing is granted.
    #[inline(always)]
    pub(crate) fn has_credit(
        &mut self,
        refunds: &mut RefundPool,
        now_ps: u64,
        blocks: u32,
    ) -> bool {
        if self.credits < blocks as i32 {
            self.settle(refunds, now_ps);
        }
        self.credits >= blocks as i32
    }

    /// Spend credit that was granted.
    #[inline(always)]
    pub(crate) fn spend(&mut self, blocks: u32) {
        self.credits -= blocks as i32;
        assert!(self.credits >= 0, "lossless: no packet moves without credit");
    }

    /// Still short of credit for the packet whose turn it is?
    #[inline(always)]
    pub(crate) fn starved(&mut self, refunds: &mut RefundPool, now_ps: u64) -> bool {
        if self.need == 0 {
            return false;
        }
        self.settle(refunds, now_ps);
        self.credits < self.need as i32
    }

    /// Credits come back at `time_ps`. Mixed rates may let a later packet finish first, so the
    /// chain is kept sorted.
    #[inline(always)]
    pub(crate) fn refund(
        &mut self,
        refunds: &mut RefundPool,
        now_ps: u64,
        time_ps: u64,
        blocks: u32,
        output: u16,
    ) {
        let refund = Refund { time_ps, next: NIL, blocks: blocks as u16, output };
        // What is due is taken in here, so the chain is no longer than a round trip; and the number
        // of the first that is due serves again, so at a steady rate nothing is allotted.
        let id = if self.due_ps <= now_ps && self.first_refund != NIL {
            let id = self.first_refund;
            let due = std::mem::replace(&mut refunds.refunds[id as usize], refund);
            self.take_in(refunds, due);
            self.settle(refunds, now_ps);
            id
        } else {
            refunds.add(refund)
        };
        if self.first_refund == NIL {
            (self.first_refund, self.last_refund, self.due_ps) = (id, id, time_ps);
        } else if refunds.refunds[self.last_refund as usize].time_ps <= time_ps {
            refunds.refunds[self.last_refund as usize].next = id;
            self.last_refund = id;
        } else {
            self.insert(refunds, id);
        }
    }

    /// Put a refund before the first one that is later; the last one is.
    fn insert(&mut self, refunds: &mut RefundPool, id: u32) {
        let time_ps = refunds.refunds[id as usize].time_ps;
        let (mut before, mut at) = (NIL, self.first_refund);
        while refunds.refunds[at as usize].time_ps <= time_ps {
            (before, at) = (at, refunds.refunds[at as usize].next);
        }
        refunds.refunds[id as usize].next = at;
        if before == NIL {
            (self.first_refund, self.due_ps) = (id, time_ps);
        } else {
            refunds.refunds[before as usize].next = id;
        }
    }

    /// Load the refunds that the next one will be chained to and numbered from.
    #[inline(always)]
    pub(crate) fn look_at_refunds(&self, refunds: &RefundPool) {
        if self.first_refund != NIL {
            black_box(refunds.refunds[self.first_refund as usize].next);
            black_box(refunds.refunds[self.last_refund as usize].next);
        }
    }

    /// Credits are back at once: how a buffer without limit behaves.
    pub(crate) fn give_back(&mut self, blocks: u32) {
        self.credits += blocks as i32;
    }

    /// When the last of the credits on their way will be there.
    pub(crate) fn last_refund_ps(&self, refunds: &RefundPool) -> Option<u64> {
        let last = || refunds.refunds[self.last_refund as usize].time_ps;
        (self.first_refund != NIL).then(last)
    }

    /// When enough of the credits on their way will be there; none if they are not on their way.
    pub(crate) fn enough_at(&self, refunds: &RefundPool) -> Option<u64> {
        if self.short {
            // Whether the next refund is of the right output is seen when it is there.
            return (self.first_refund != NIL).then_some(self.due_ps);
        }
        let (mut credits, mut at) = (self.credits, self.first_refund);
        while at != NIL {
            let refund = refunds.refunds[at as usize];
            credits += i32::from(refund.blocks);
            if credits >= self.need as i32 {
                return Some(refund.time_ps);
            }
            at = refund.next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Lane, RefundPool};

    #[test]
    fn a_lane_is_one_cache_line() {
        assert_eq!(std::mem::size_of::<Lane>(), 64);
    }

    #[test]
    fn credits_come_back_in_order_of_time_whatever_order_they_were_sent_in() {
        let mut refunds = RefundPool::default();
        let mut lane = Lane::new(100);
        lane.spend(60);
        for (time_ps, blocks) in [(50, 1), (20, 2), (90, 4), (60, 8), (10, 16)] {
            lane.refund(&mut refunds, 0, time_ps, blocks, 0);
        }
        let mut seen = Vec::new();
        for now_ps in [9, 10, 20, 50, 60, 90] {
            lane.settle(&mut refunds, now_ps);
            seen.push(lane.credits());
        }
        assert_eq!(seen, [40, 56, 58, 59, 67, 71]);
    }
}
