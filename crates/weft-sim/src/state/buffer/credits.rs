//! The credits of all lanes: what a lane may send, and what is coming back to it.

use crate::limits::{NEVER, NIL};
use crate::state::buffer::credit_returns::{Refund, RefundPool};
use crate::state::buffer::lane::{Account, Lane, PLACES, SPAN_PS};
use crate::state::buffer::shares::Shares;
use crate::state::pool::indexed;
use prefetch_index::prefetch_index;

/// The lanes of all ports, and the credits in flight to them.
///
/// INVARIANT: a lane's refunds are sorted by time, those in it before those beyond.
#[derive(Debug, Default)]
pub(crate) struct LanePool {
    lanes: Vec<Lane>,
    /// Apart from the lanes: an adaptive switch looks at those of many ports, and four are in a
    /// cache line.
    accounts: Vec<Account>,
    /// Credits without a place in their lane.
    beyond: RefundPool,
    /// Refunds of lanes that count shares name an output, so none has its place in the lane.
    pub(crate) shares: Shares,
}

indexed!(LanePool, lanes by usize => Lane);

impl LanePool {
    /// No lanes, but room for `n`.
    pub(crate) fn with_capacity(n: usize) -> LanePool {
        LanePool {
            lanes: Vec::with_capacity(n),
            accounts: Vec::with_capacity(n),
            ..LanePool::default()
        }
    }

    /// Another lane, into a buffer of `full` blocks.
    pub(crate) fn push(&mut self, full: i32) {
        self.lanes.push(Lane::new(full));
        self.accounts.push(Account { due_ps: NEVER, load: 0, beyond: NIL });
    }

    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Lane> {
        self.lanes.iter()
    }

    /// Have a lane in the cache soon, with what is apart from it.
    #[inline(always)]
    pub(crate) fn fetch(&self, index: usize) {
        prefetch_index(&self.lanes, index);
        self.fetch_load(index);
    }

    /// Have a lane's load in the cache soon, and its neighbours.
    #[inline(always)]
    pub(crate) fn fetch_load(&self, index: usize) {
        prefetch_index(&self.accounts, index);
    }

    // ---- load and credit ------------------------------------------------------------------

    /// A packet of so many blocks waits for the egress, or leaves by it.
    #[inline(always)]
    pub(crate) fn load(&mut self, index: usize, blocks: u32) {
        self.accounts[index].load += blocks;
    }

    /// A packet waits no longer and has not left, or it has left a buffer without limit.
    pub(crate) fn unload(&mut self, index: usize, blocks: u32) {
        self.accounts[index].load -= blocks;
    }

    /// Blocks that wait for the egress, and those it has spent and not got back by now.
    #[inline(always)]
    pub(crate) fn load_of(&mut self, index: usize, now_ps: u64) -> u32 {
        let Account { due_ps, load, .. } = self.accounts[index];
        if due_ps > now_ps { load } else { self.settled_load_of(index, now_ps) }
    }

    #[inline(never)]
    fn settled_load_of(&mut self, index: usize, now_ps: u64) -> u32 {
        self.settle(index, now_ps);
        self.accounts[index].load
    }

    /// Blocks that wait for the egress, into whose buffer `full` fit. Whether credits that are back
    /// are taken in makes no difference.
    #[inline(always)]
    pub(crate) fn backlog_of(&self, index: usize, full: i32) -> u32 {
        (self.accounts[index].load as i32 + self.lanes[index].credits - full) as u32
    }

    /// Whether there is credit for `blocks`. Where there is not, the grant sticks: the packet whose
    /// turn it is keeps it, so that small packets do not pass a large one for ever.
    #[inline(always)]
    pub(crate) fn grant(&mut self, index: usize, now_ps: u64, blocks: u32) -> bool {
        let enough = self.has_credit(index, now_ps, blocks);
        let (lane, need) = (&mut self.lanes[index], if enough { 0 } else { blocks as u16 });
        // What wakes a lane is due when there is enough for the packet it had then.
        lane.wake_due &= lane.need == need;
        lane.need = need;
        enough
    }

    /// Whose turn it was has it no longer: what is due for that packet may be too late for another.
    pub(crate) fn forget_grant(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        (lane.need, lane.wake_due) = (0, false);
    }

    /// Whether there is credit for `blocks`; nothing is granted.
    #[inline(always)]
    pub(crate) fn has_credit(&mut self, index: usize, now_ps: u64, blocks: u32) -> bool {
        if self.lanes[index].credits < blocks as i32 {
            self.settle(index, now_ps);
        }
        self.lanes[index].credits >= blocks as i32
    }

    /// Spend credit that was granted.
    #[inline(always)]
    pub(crate) fn spend(&mut self, index: usize, blocks: u32) {
        let lane = &mut self.lanes[index];
        lane.credits -= blocks as i32;
        assert!(lane.credits >= 0, "lossless: no packet moves without credit");
    }

    /// Still short of credit for the packet whose turn it is?
    #[inline(always)]
    pub(crate) fn starved(&mut self, index: usize, now_ps: u64) -> bool {
        let need = i32::from(self.lanes[index].need);
        if need == 0 {
            return false;
        }
        self.settle(index, now_ps);
        self.lanes[index].credits < need
    }

    /// Whether nothing waits for a lane and all its credits are back, `full` of them.
    pub(crate) fn is_whole(&mut self, index: usize, full: i32) -> bool {
        self.settle(index, NEVER - 1);
        self.lanes[index].credits == full && self.accounts[index].load == 0
    }

    // ---- refunds --------------------------------------------------------------------------

    /// Take in the credits that are back by now.
    #[inline(always)]
    pub(crate) fn settle(&mut self, index: usize, now_ps: u64) {
        while self.accounts[index].due_ps <= now_ps {
            self.take_in(index);
        }
    }

    /// The first refund is back.
    #[inline(always)]
    fn take_in(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        if lane.n_refunds <= 1 {
            return self.take_in_last(index);
        }
        let (later_ps, blocks) = lane.pop();
        lane.credits += i32::from(blocks);
        let account = &mut self.accounts[index];
        account.due_ps += u64::from(later_ps);
        account.load -= u32::from(blocks);
    }

    /// The last refund that has its place in a lane, or the first of those that have none, is back;
    /// others take the places.
    #[inline(never)]
    fn take_in_last(&mut self, index: usize) {
        let lane = &mut self.lanes[index];
        let blocks = if lane.n_refunds == 1 {
            lane.pop_last()
        } else {
            let refund = self.beyond.pop(&mut self.accounts[index].beyond);
            if let Some(shares) = self.shares.of(index) {
                self.shares.held[shares + usize::from(refund.output)] -= u32::from(refund.blocks);
            }
            refund.blocks
        };
        self.lanes[index].credits += i32::from(blocks);
        self.accounts[index].load -= u32::from(blocks);
        let account = &mut self.accounts[index];
        account.due_ps = self.beyond.first_ps(account.beyond).unwrap_or(NEVER);
        if self.shares.of(index).is_none() {
            self.fill_places(index);
        }
    }

    /// Credits come back at `time_ps`; `output` is the one that held them, where that counts.
    #[inline(always)]
    pub(crate) fn refund(
        &mut self,
        index: usize,
        now_ps: u64,
        time_ps: u64,
        blocks: u32,
        output: u16,
    ) {
        // Credits that are due are taken in here: there are never more than in a round trip.
        self.settle(index, now_ps);
        let (lane, Account { due_ps, beyond, .. }) = (&mut self.lanes[index], self.accounts[index]);
        let n = usize::from(lane.n_refunds);
        if n == 0 || n == PLACES || beyond != NIL || time_ps.wrapping_sub(due_ps) >= SPAN_PS {
            return self.place(index, Refund::new(time_ps, blocks as u16, output));
        }
        lane.insert(time_ps as u32, blocks as u16);
    }

    /// Give any refund its place.
    #[inline(never)]
    fn place(&mut self, index: usize, refund: Refund) {
        let Account { due_ps, beyond, .. } = self.accounts[index];
        if self.lanes[index].n_refunds == 0 && beyond == NIL && self.shares.of(index).is_none() {
            self.lanes[index].put(0, refund.time_ps, refund.blocks);
            self.accounts[index].due_ps = refund.time_ps;
            return;
        }
        // Mixed rates may let a later packet finish first: then all go, and come in order.
        if refund.time_ps < due_ps || refund.time_ps < self.last_within_ps(index) {
            self.clear_places(index);
        }
        let account = &mut self.accounts[index];
        self.beyond.insert(&mut account.beyond, refund);
        account.due_ps = match self.lanes[index].n_refunds {
            0 => self.beyond.first_ps(account.beyond).expect("one was just put there"),
            _ => due_ps,
        };
        if self.lanes[index].n_refunds == 0 && self.shares.of(index).is_none() {
            self.fill_places(index);
        }
    }

    /// When the last refund is due that has its place in a lane.
    fn last_within_ps(&self, index: usize) -> u64 {
        let last = self.lanes[index].refunds().last();
        last.map_or(0, |(after_ps, _)| self.accounts[index].due_ps + after_ps)
    }

    /// Let the refunds in a lane join those beyond.
    fn clear_places(&mut self, index: usize) {
        let lane = self.lanes[index];
        for (after_ps, blocks) in lane.refunds() {
            let account = &mut self.accounts[index];
            let refund = Refund::new(account.due_ps + after_ps, blocks, 0);
            self.beyond.insert(&mut account.beyond, refund);
        }
        self.lanes[index].n_refunds = 0;
    }

    /// Let the first refunds beyond have the places of a lane, of which all are free.
    fn fill_places(&mut self, index: usize) {
        debug_assert_eq!(self.lanes[index].n_refunds, 0);
        let Account { due_ps, beyond, .. } = &mut self.accounts[index];
        for number in 0..PLACES {
            let Some(time_ps) = self.beyond.first_ps(*beyond) else { break };
            if time_ps - *due_ps >= SPAN_PS {
                break;
            }
            let blocks = self.beyond.pop(beyond).blocks;
            self.lanes[index].put(number, time_ps, blocks);
        }
    }

    /// A lane's refunds in flight, in order: when, and how many blocks.
    fn refunds(&self, index: usize) -> impl Iterator<Item = (u64, u16)> + '_ {
        let (lane, due_ps) = (&self.lanes[index], self.accounts[index].due_ps);
        let within = lane.refunds().map(move |(after_ps, blocks)| (due_ps + after_ps, blocks));
        let beyond = self.beyond.circle(self.accounts[index].beyond);
        within.chain(beyond.map(|refund| (refund.time_ps, refund.blocks)))
    }

    /// When the last of the credits in flight will be there.
    pub(crate) fn last_refund_ps(&self, index: usize) -> Option<u64> {
        self.refunds(index).last().map(|(time_ps, _)| time_ps)
    }

    /// When enough credits in flight will be there; none if fewer are in flight.
    pub(crate) fn enough_at(&self, index: usize) -> Option<u64> {
        let lane = &self.lanes[index];
        if self.shares.is_short(index) {
            // Whether the next refund is of the right output is seen when it is there.
            return Some(self.accounts[index].due_ps).filter(|time_ps| *time_ps != NEVER);
        }
        let mut credits = lane.credits;
        let enough = |(time_ps, blocks)| {
            credits += i32::from(blocks);
            (credits >= i32::from(lane.need)).then_some(time_ps)
        };
        self.refunds(index).find_map(enough)
    }
}

#[cfg(test)]
mod tests {
    use super::LanePool;
    use crate::state::buffer::lane::{PLACES, SPAN_PS};

    const FULL: i32 = 1 << 20;

    fn one_lane() -> LanePool {
        let mut lanes = LanePool::with_capacity(1);
        lanes.push(FULL);
        lanes
    }

    #[test]
    fn credits_come_back_in_order_of_time_whatever_order_they_were_sent_in() {
        let mut lanes = one_lane();
        lanes.load(0, 60);
        lanes.spend(0, 60);
        for (time_ps, blocks) in [(50, 1), (20, 2), (90, 4), (60, 8), (10, 16)] {
            lanes.refund(0, 0, time_ps, blocks, 0);
        }
        let mut seen = Vec::new();
        for now_ps in [9, 10, 20, 50, 60, 90] {
            seen.push(lanes.load_of(0, now_ps));
        }
        assert_eq!(seen, [60, 44, 42, 41, 33, 29]);
    }

    /// Against a list that is gone through: more refunds than a lane has places for, mixed in
    /// time, and some so late that the places cannot say when.
    #[test]
    fn refunds_beyond_their_lane_come_in_order_too() {
        let (mut seed, mut now_ps) = (1u64, 0);
        let mut draw = |n: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % n
        };
        let (mut lanes, mut known, mut away) = (one_lane(), Vec::<(u64, u32)>::new(), 0);
        let mut most = 0;
        for _ in 0..20_000 {
            let later_ps = if draw(50) == 0 { SPAN_PS + draw(9) } else { draw(100) };
            let (time_ps, blocks) = (now_ps + later_ps, 1 + draw(9) as u32);
            lanes.load(0, blocks);
            lanes.spend(0, blocks);
            away += blocks;
            lanes.refund(0, now_ps, time_ps, blocks, 0);
            known.push((time_ps, blocks));
            known.sort_unstable();
            most = most.max(known.len());
            let soonest = known.iter().find(|(time_ps, _)| *time_ps > now_ps).map(|due| due.0);
            lanes.settle(0, now_ps);
            assert_eq!(Some(lanes.accounts[0].due_ps), soonest.or(Some(u64::MAX)));
            assert_eq!(
                lanes.last_refund_ps(0),
                known.last().map(|due| due.0).filter(|t| *t > now_ps)
            );
            now_ps += if draw(1000) == 0 { SPAN_PS } else { draw(20) };
            away -= known.iter().filter(|due| due.0 <= now_ps).map(|due| due.1).sum::<u32>();
            known.retain(|due| due.0 > now_ps);
            assert_eq!(lanes.load_of(0, now_ps), away);
        }
        assert!(most > 2 * PLACES, "{most} at once");
        assert!(lanes.is_whole(0, FULL));
    }

    #[test]
    fn a_starved_lane_knows_when_enough_credit_will_be_there() {
        let mut lanes = one_lane();
        lanes.load(0, FULL as u32);
        lanes.spend(0, FULL as u32);
        for n in 1..=10 {
            lanes.refund(0, 0, n * 100, 10, 0);
        }
        assert!(!lanes.grant(0, 0, 65));
        assert_eq!(lanes.enough_at(0), Some(700));
        assert!(lanes.starved(0, 699) && !lanes.starved(0, 700));
    }
}
