//! Flows begin, change their rate, and are over.

use crate::flow::flows::{Flows, Transit, end_of};
use crate::flow::latency::{PacketCut, rounded_up, time_of};
use crate::flow::paths::Memo;
use crate::host::hosts::Hosts;
use crate::limits::{NEVER, NIL};
use crate::state::calendar::Cold;
use crate::state::transport::message::Role;

impl Hosts<'_, Flows, false> {
    /// The packets of so many bytes.
    fn cut_of(&self, size_bytes: u64) -> PacketCut {
        let mtu_bytes = u64::from(self.network.scenario.mtu_bytes);
        let n_packets = size_bytes.div_ceil(mtu_bytes).max(1);
        let bytes =
            |payload: u64, first| self.network.scenario.framing.wire_bytes(payload as u32, first);
        let last_bytes = size_bytes - (n_packets - 1) * mtu_bytes;
        PacketCut {
            n_packets,
            first: bytes(size_bytes.min(mtu_bytes), true),
            inner: bytes(mtu_bytes, false),
            last: bytes(last_bytes, n_packets == 1),
        }
    }

    /// Bytes on the wire and packets of a message.
    pub(crate) fn wire_of(&self, size_bytes: u64) -> (u64, u64) {
        let cut = self.cut_of(size_bytes);
        (cut.wire_bytes(), cut.n_packets)
    }

    /// A message of that size on a path; the path remembers the last.
    fn memo(&mut self, path: usize, size_bytes: u64) -> Memo {
        if self.mode.paths[path].memo_of(size_bytes).is_none() {
            let cut = self.cut_of(size_bytes);
            let (fluid, wire_bytes) = (&mut self.mode, cut.wire_bytes());
            let path = &mut fluid.paths[path];
            let alone_ps = rounded_up(time_of(wire_bytes, path.alone));
            let latency_ps = path.latency_ps(cut, &mut fluid.scratch);
            let tail_ps = latency_ps.saturating_sub(alone_ps);
            let n_packets = cut.n_packets;
            path.memo = Memo { size_bytes, wire_bytes, n_packets, alone_ps, tail_ps };
        }
        self.mode.paths[path].memo
    }

    pub(crate) fn begin_flow(&mut self, id: u32) {
        let message = self.network.endpoints.messages[id];
        let path = self.path(self.trip_of(&message));
        let Memo { wire_bytes, alone_ps, tail_ps, .. } = self.memo(path, message.size_bytes);
        let acknowledged =
            message.role != Role::Agreed || self.network.scenario.transport.acknowledge;
        let followed = message.next != NIL;
        let fluid = &mut self.mode;
        let exclusive = if fluid.elide && acknowledged && !followed {
            let path = &fluid.paths[path];
            fluid.shares.begin_alone(&path.uses, path.alone)
        } else {
            None
        };
        let (flow, meets) = match exclusive {
            Some(flow) => (flow, false),
            None => self.begin_among_others(path),
        };
        let (fluid, now_ps) = (&mut self.mode, self.network.clock.now_ps);
        let rate = fluid.shares.flows[flow as usize].rate;
        let left_bits = wire_bytes as f64 * 8.0;
        let transit = Transit {
            message: id,
            exclusive: exclusive.is_some(),
            left_bits,
            since_ps: now_ps,
            rate,
            end_ps: match (meets, rate > 0.0) {
                (false, _) => now_ps + alone_ps,
                (true, true) => end_of(now_ps, left_bits, rate),
                (true, false) => NEVER,
            },
            due_ps: NEVER,
            tail_ps: message.clear_ps().saturating_sub(now_ps) + tail_ps,
        };
        match fluid.transits.get_mut(flow as usize) {
            Some(place) => *place = transit,
            None => fluid.transits.push(transit),
        }
        let message = &mut self.network.endpoints.messages[id];
        message.begun = true;
        message.set_transit(flow);
        message.set_come_ps(NEVER);
        if transit.exclusive {
            return self.come_at(id, transit.end_ps + transit.tail_ps);
        }
        self.look_when_over(flow);
        self.solve_soon();
    }

    /// Let a flow begin where whoever was alone on a link is so no longer: its number, and whether
    /// it meets another.
    fn begin_among_others(&mut self, path: usize) -> (u32, bool) {
        for place in 0..self.mode.paths[path].uses.len() {
            let link = self.mode.paths[path].uses[place].link;
            let Some(flow) = self.mode.shares.only_one_on(link) else { continue };
            let since_ps = self.mode.transits[flow as usize].since_ps;
            self.not_alone(flow);
            if since_ps == self.network.clock.now_ps {
                // The order of flows that begin at one instant does not matter.
                self.mode.shares.solve_too(flow);
            }
        }
        self.mode.shares.begin(&self.mode.paths[path].uses)
    }

    /// Something happens when a flow is over, if it is not yet.
    fn not_alone(&mut self, flow: u32) {
        let transit = &mut self.mode.transits[flow as usize];
        if transit.exclusive && transit.end_ps <= self.network.clock.now_ps {
            return self.drain(flow);
        }
        if std::mem::take(&mut transit.exclusive) {
            self.mode.shares.admit_others(flow);
            self.look_when_over(flow);
        }
    }

    /// A message waits behind another of its queue pair.
    pub(crate) fn follow(&mut self, before: u32) {
        let flow = self.network.endpoints.messages[before].transit();
        if flow != NIL {
            self.not_alone(flow);
        }
    }

    /// Let an event look when a flow is over, unless one does by then.
    fn look_when_over(&mut self, flow: u32) {
        let transit = &mut self.mode.transits[flow as usize];
        if transit.end_ps < transit.due_ps {
            transit.due_ps = transit.end_ps;
            let (end_ps, message) = (transit.end_ps, transit.message);
            self.network.clock.schedule_cold(end_ps, Cold::Drained(message));
        }
    }

    /// Solve rates when all that begins and ends at this instant has.
    fn solve_soon(&mut self) {
        if self.mode.shares.is_dirty() && self.mode.solve_ps != self.network.clock.now_ps {
            self.mode.solve_ps = self.network.clock.now_ps;
            self.network.clock.schedule_cold(self.network.clock.now_ps, Cold::Solve);
        }
    }

    /// Rates as they are after all that has begun and ended now.
    pub(crate) fn solve(&mut self) {
        let now_ps = self.network.clock.now_ps;
        self.mode.solve_ps = NEVER;
        let mut changed = std::mem::take(&mut self.mode.changed);
        self.mode.shares.solve(&mut changed);
        for flow in changed.drain(..) {
            let rate = self.mode.shares.flows[flow as usize].rate;
            self.mode.transits[flow as usize].change_rate(now_ps, rate);
            self.look_when_over(flow);
        }
        self.mode.changed = changed;
    }

    /// An event looks whether the flow of a message is over.
    pub(crate) fn drained(&mut self, id: u32) {
        let flow = self.network.endpoints.messages[id].transit();
        let Some(transit) = self.mode.transits.get_mut(flow as usize) else { return };
        if transit.due_ps != self.network.clock.now_ps {
            return;
        }
        transit.due_ps = NEVER;
        if transit.end_ps > self.network.clock.now_ps {
            return self.look_when_over(flow);
        }
        self.drain(flow);
    }

    /// Whether the flow of a message is over, if it ever was one; an exclusive one that comes is.
    pub(crate) fn is_over(&mut self, id: u32) -> bool {
        let flow = self.network.endpoints.messages[id].transit();
        if flow == NIL {
            return true;
        }
        let exclusive = self.mode.transits[flow as usize].exclusive;
        if exclusive {
            self.drain(flow);
        }
        exclusive
    }

    /// A flow is over: its links are free, and the next message of its queue pair may leave.
    pub(crate) fn drain(&mut self, flow: u32) {
        let transit = &mut self.mode.transits[flow as usize];
        let (id, come_ps) = (transit.message, transit.end_ps + transit.tail_ps);
        (transit.end_ps, transit.due_ps) = (NEVER, NEVER);
        if std::mem::take(&mut transit.exclusive) {
            self.mode.shares.end_alone(flow);
        } else {
            self.mode.shares.end(flow);
            self.solve_soon();
        }
        let message = &mut self.network.endpoints.messages[id];
        message.set_transit(NIL);
        if message.come_ps() != come_ps {
            self.come_at(id, come_ps);
        }
        let message = self.network.endpoints.messages[id];
        if message.role == Role::Agreed && !self.network.scenario.transport.acknowledge {
            self.network.clock.schedule_cold(self.network.clock.now_ps, Cold::Sent(message.src));
        }
        if let Some(next) = self.next_to_enter(id) {
            self.ready_flow(next);
        }
    }
}
