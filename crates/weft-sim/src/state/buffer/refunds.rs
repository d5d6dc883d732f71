//! Credits come back: a lane that lacks some is woken when enough are there.

use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::occupancy::Held;
use crate::state::calendar::Kind;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::{BORN, COPY};

impl<const PLAIN: bool> Buffers<PLAIN> {
    /// A packet's tail leaves an input buffer at `left_ps`: the port that feeds the buffer knows
    /// one wire delay later.
    #[inline(always)]
    pub(crate) fn refund(&mut self, links: &Links, clock: &mut Clock, held: Held, left_ps: u64) {
        let Held { port, lane: vl, blocks, output } = held;
        let (rules, input) = (self.rules(), &links.inputs[port as usize]);
        let o = input.feeder;
        let index = self.lane_index(o, vl);
        if rules.endless {
            return self.lanes.unload(index, blocks);
        }
        let time_ps = left_ps + links.kinds[input.link as usize].delay_ps;
        self.lanes.refund(index, clock.now_ps, time_ps, blocks, output);
        if !rules.elide {
            clock.schedule(time_ps, Kind::Credit, o, u32::from(vl));
        } else if self.lanes[index].need > 0 || rules.choosy && self.lanes.shares.is_short(index) {
            self.wake_when_enough(clock, o, vl, Some(time_ps));
        }
    }

    /// Whether a lane has credit for the packet whose turn it is; else it is woken when it has.
    #[inline(always)]
    pub(crate) fn granted(&mut self, clock: &mut Clock, o: u32, vl: u8, blocks: u32) -> bool {
        let index = self.lane_index(o, vl);
        let granted = self.lanes.grant(index, clock.now_ps, blocks);
        if !granted {
            self.await_credit(clock, o, vl);
        }
        granted
    }

    /// Wake a lane when enough credits are in, if they are in flight already.
    pub(crate) fn await_credit(&mut self, clock: &mut Clock, o: u32, vl: u8) {
        if self.rules().elide {
            self.wake_when_enough(clock, o, vl, None);
        }
    }

    /// Let an event wake a starved lane, if none is due that will. One that is due comes too late
    /// where a `refund_ps` that has just been added brings enough before it.
    fn wake_when_enough(&mut self, clock: &mut Clock, o: u32, vl: u8, refund_ps: Option<u64>) {
        let index = self.lane_index(o, vl);
        if let Some(time_ps) = self.lanes.enough_at(index)
            && (!self.lanes[index].wake_due || refund_ps.is_some_and(|time| time <= time_ps))
        {
            self.lanes[index].wake_due = true;
            clock.schedule(time_ps, Kind::Credit, o, u32::from(vl));
        }
    }

    /// Credits have come back to lane `vl` of port `o`; whether the port may send now.
    pub(crate) fn credited(&mut self, clock: &mut Clock, o: u32, vl: u8) -> bool {
        let index = self.lane_index(o, vl);
        self.lanes[index].wake_due = false;
        // Un-elided, every credit is taken in when it is there: so the oracle sees it where a load
        // is compared without settling it first.
        self.lanes.settle(index, clock.now_ps);
        // Only a starved lane may be served by a credit: any other has its kick.
        if self.lanes[index].need == 0 && !self.lanes.shares.is_short(index) {
            return false;
        }
        if !self.lanes.starved(index, clock.now_ps) {
            return true;
        }
        // A packet that was queued ahead took what this event was to bring, or it is one of an
        // earlier grant.
        self.await_credit(clock, o, vl);
        false
    }

    /// A packet of a tree has been sent: what it holds of the buffer it came to is free, if it came
    /// to any.
    #[cold]
    pub(crate) fn left_by_copy(&mut self, links: &Links, clock: &mut Clock, id: u32, left_ps: u64) {
        let packet = &mut self.packets[id];
        let is_copy = packet.has(COPY);
        packet.set(COPY | BORN, false);
        if is_copy {
            let copied = self.copies.leave(packet.message, left_ps);
            packet.message = copied.message;
            if copied.n_left == 0 {
                self.refund(links, clock, copied.held, copied.left_ps);
            }
        }
    }
}
