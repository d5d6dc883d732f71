//! Ports send: whose turn it is, whether it has credit, and when its tail has left.

use crate::limits::NEVER;
use crate::limits::NIL;
use crate::limits::blocks_of;
use crate::model::framing::PacketKind;
use crate::packet::network::Network;
use crate::state::arbiter::Served;
use crate::state::calendar::{Cold, Kind};
use crate::state::packet::{BORN, COPY, EMPTY, FIRST, Packet, ROUTED};
use crate::state::port::{BLOCKED, ENDPOINT, TO_ENDPOINT, WATCHED};
use crate::state::transport::message::Role;
use crate::state::transport::sender::{Next, Turn};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Let port `o` send, if its link is free and the packet whose turn it is has credit.
    #[inline(always)]
    pub(crate) fn serve(&mut self, o: u32) {
        let port = &self.links.ports[o as usize];
        let busy_until_ps = port.busy_until_ps;
        if port.work == 0 {
        } else if busy_until_ps > self.clock.now_ps {
            self.kick(o, busy_until_ps);
        } else {
            self.serve_now(o);
        }
    }

    /// Let port `o` send, whose link is free, if the packet whose turn it is has credit.
    fn serve_now(&mut self, o: u32) {
        let served =
            if !self.rules().laned { self.serve_lane(o, 0) } else { self.serve_by_tables(o) };
        match served {
            Served::Sent(_) => {
                let port = &self.links.ports[o as usize];
                if port.work != 0 || !self.rules().elide {
                    self.kick(o, self.links.ports[o as usize].busy_until_ps);
                }
            }
            Served::Starved => self.block(o),
            Served::Nothing => {}
        }
    }

    /// From now on the port waits for credit, if it did not already.
    fn block(&mut self, o: u32) {
        let port = &mut self.links.ports[o as usize];
        if !port.has(BLOCKED) {
            port.set(BLOCKED, true);
            self.links.waiting[o as usize].since_ps = self.clock.now_ps;
        }
    }

    #[inline(always)]
    pub(crate) fn kick(&mut self, o: u32, time_ps: u64) {
        let port = &mut self.links.ports[o as usize];
        if time_ps < port.kick_ps {
            port.kick_ps = time_ps;
            self.clock.schedule(time_ps, Kind::Kick, o, 0);
        }
    }

    pub(crate) fn kicked(&mut self, o: u32) {
        if self.links.ports[o as usize].kick_ps == self.clock.now_ps {
            self.links.ports[o as usize].kick_ps = NEVER;
            self.serve(o);
        }
    }

    /// Let a lane send a packet.
    #[inline(always)]
    pub(crate) fn serve_lane(&mut self, o: u32, vl: u8) -> Served {
        let index = self.lane_index(o, vl);
        if self.buffers.lanes.starved(index, self.clock.now_ps) {
            return Served::Starved;
        }
        if self.links.ports[o as usize].has(ENDPOINT) {
            self.serve_endpoint(o, vl)
        } else {
            self.serve_queues(o, vl)
        }
    }

    #[inline(always)]
    fn serve_queues(&mut self, o: u32, vl: u8) -> Served {
        let index = self.lane_index(o, vl);
        if self.buffers.lanes[index].ring == NIL {
            return Served::Nothing;
        }
        if self.rules().choosy && !self.choose(o, vl) {
            let short = self.buffers.lanes.shares.is_short(index);
            return if short { Served::Starved } else { Served::Nothing };
        }
        let id = self.buffers.packets[self.buffers.lanes[index].ring].ring();
        let packet = self.buffers.packets[id];
        let blocks = packet.blocks();
        let waited = self.rules().throttled && self.buffers.lanes[index].need > 0;
        if !self.buffers.lanes.grant(index, self.clock.now_ps, blocks) {
            self.await_credit(o, vl);
            return Served::Starved;
        }
        if self.rules().throttled {
            self.mark(o, vl, id, waited);
        }
        self.turn_ring(o, vl, id, packet);
        let output = if self.rules().choosy { self.counted(id) } else { 0 };
        let left_ps = self.transmit(o, vl, id, blocks);
        if self.rules().trees && packet.has(BORN | COPY) {
            self.left_by_copy(id, left_ps);
            return Served::Sent(packet.wire_bytes);
        }
        let q = o - u32::from(self.links.ports[o as usize].local) + packet.input();
        self.refund(q, packet.input_lane(), blocks, output, left_ps);
        if self.rules().choosy && !self.buffers.readers.is_empty() {
            self.read_begun(q, packet.wire_bytes);
        }
        if self.rules().fifo {
            self.read_on(q, packet.input_lane(), self.read_until_ps(q).unwrap_or(left_ps));
        }
        Served::Sent(packet.wire_bytes)
    }

    /// Take the packet whose turn it is out of its queue; its input has its next turn last.
    #[inline(always)]
    pub(crate) fn turn_ring(&mut self, o: u32, vl: u8, id: u32, packet: Packet) {
        let index = self.lane_index(o, vl);
        let (last, next, second) = (self.buffers.lanes[index].ring, packet.next, packet.ring());
        if next == NIL {
            self.buffers.tails[(self.buffers.lanes[index].queues + packet.input()) as usize] = NIL;
            if last == id {
                self.buffers.lanes[index].ring = NIL;
                self.links.ports[o as usize].set_work(vl, false);
            } else {
                self.buffers.packets[last].set_ring(second);
            }
            return;
        }
        self.buffers.lanes[index].ring = next;
        if last == id {
            self.buffers.packets[next].set_ring(next);
        } else {
            self.buffers.packets[next].set_ring(second);
            self.buffers.packets[last].set_ring(next);
        }
    }

    #[inline(never)]
    fn serve_endpoint(&mut self, o: u32, vl: u8) -> Served {
        let index = self.lane_index(o, vl);
        let sender = self.buffers.lanes[index].queues;
        match self.endpoints.senders.next(sender, self.clock.now_ps, &self.endpoints.messages) {
            Next::Idle => Served::Nothing,
            Next::NotBefore(time_ps) => {
                self.kick(o, time_ps);
                Served::Nothing
            }
            Next::Control(id) => {
                let packet = self.buffers.packets[id];
                let blocks = packet.blocks();
                if self.rules().choosy && !self.endpoint_has_share(o, vl, packet.dst, blocks) {
                    return Served::Starved;
                }
                if !self.buffers.lanes.grant(index, self.clock.now_ps, blocks) {
                    self.await_credit(o, vl);
                    return Served::Starved;
                }
                if self.rules().throttled {
                    self.note_probe(id);
                }
                self.buffers.lanes.load(index, blocks);
                self.endpoints.senders.control_served(sender, &self.buffers.packets);
                self.links.ports[o as usize].set_work(vl, !self.endpoints.senders.is_idle(sender));
                self.transmit(o, vl, id, blocks);
                Served::Sent(packet.wire_bytes)
            }
            Next::After(before) => self.send_data(o, vl, before),
        }
    }

    /// Whether the packet whose turn it is at an endpoint leaves its output's share; it keeps its
    /// turn meanwhile.
    fn endpoint_has_share(&mut self, o: u32, vl: u8, dst: u32, blocks: u32) -> bool {
        let has_share = self.has_share(o, vl, dst, blocks);
        let index = self.lane_index(o, vl);
        self.buffers.lanes.shares.set_short(index, !has_share);
        if !has_share {
            self.buffers.lanes.forget_grant(index);
            self.await_credit(o, vl);
        }
        has_share
    }

    /// Send a packet of the message after `before` in the ring of an endpoint's lane.
    fn send_data(&mut self, o: u32, vl: u8, before: u32) -> Served {
        let index = self.lane_index(o, vl);
        let sender = self.buffers.lanes[index].queues;
        let id = self.endpoints.messages[before].ring;
        let message = &self.endpoints.messages[id];
        if self.rules().trees && message.role.is_of_tree() {
            return self.send_segment(o, vl, before);
        }
        let (left_bytes, first) = (message.size_bytes - message.sent_bytes, !message.begun);
        let payload_bytes = left_bytes.min(u64::from(self.scenario.mtu_bytes)) as u32;
        let bytes = self.scenario.framing.wire_bytes(payload_bytes, first);
        let blocks = blocks_of(bytes);
        if self.rules().choosy && !self.endpoint_has_share(o, vl, message.dst_hca, blocks) {
            return Served::Starved;
        }
        if !self.buffers.lanes.grant(index, self.clock.now_ps, blocks) {
            self.await_credit(o, vl);
            return Served::Starved;
        }
        self.buffers.lanes.load(index, blocks);
        let message = &mut self.endpoints.messages[id];
        let pace = message.pace;
        message.begun = true;
        message.sent_bytes += u64::from(payload_bytes);
        let mut packet = Packet::new(PacketKind::Data, id, message.dst_hca, vl, bytes);
        packet.set(FIRST, first);
        packet.set(EMPTY, payload_bytes == 0);
        let finished = u64::from(payload_bytes) == left_bytes;
        let unanswered = finished && !self.scenario.transport.acknowledge;
        let told = (unanswered && message.role == Role::Agreed).then_some(message.src);
        if first {
            let begin_ps = self.clock.now_ps + self.endpoints.message_gap_ps;
            self.endpoints.senders.begun(sender, vl, self.buffers.n_lanes, begin_ps);
        }
        let pause_ps = if self.rules().throttled { self.space(o, id, bytes) } else { None };
        let turn = match pause_ps {
            _ if finished => Turn::Ends,
            Some(_) if !self.endpoints.senders.by_lane => Turn::Pauses,
            _ => Turn::Comes,
        };
        if let Some(next) =
            self.endpoints.senders.served(sender, before, turn, &mut self.endpoints.messages)
            && self.may_enter(next)
        {
            self.endpoints.senders.enter(sender, next, &mut self.endpoints.messages);
        }
        match pause_ps {
            Some(next_ps) if self.endpoints.senders.by_lane => {
                self.endpoints.senders.pause(sender, next_ps)
            }
            Some(next_ps) if !finished => self.clock.schedule_cold(next_ps, Cold::Ready(id)),
            _ => {}
        }
        self.links.ports[o as usize].set_work(vl, !self.endpoints.senders.is_idle(sender));
        let packet_id = self.buffers.packets.add(packet);
        let left_ps = self.transmit(o, vl, packet_id, blocks);
        if self.rules().numbered {
            self.number(packet_id, id, left_ps);
        }
        if self.rules().throttled {
            self.probe(o, pace, packet.dst);
        }
        if let Some(rank) = told {
            self.clock.schedule_cold(left_ps, Cold::Sent(rank));
        }
        Served::Sent(packet.wire_bytes)
    }

    /// Send a packet from `o`, against its credit; the time its tail has left.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, o: u32, vl: u8, id: u32, blocks: u32) -> u64 {
        let index = self.lane_index(o, vl);
        if !self.rules().endless {
            self.buffers.lanes.spend(index, blocks);
        }
        if self.rules().choosy {
            self.hold_share(o, vl, id, blocks);
        }
        let watched = self.rules().watched;
        let port = &mut self.links.ports[o as usize];
        if port.has(BLOCKED) {
            port.set(BLOCKED, false);
            let waiting = &mut self.links.waiting[o as usize];
            waiting.total_ps += self.clock.now_ps - waiting.since_ps;
        }
        if watched && port.has(WATCHED) {
            return self.transmit_watched(o, id);
        }
        self.put_on_link(o, id, self.clock.now_ps)
    }

    /// Put a packet on the link of `o` at `begin_ps`; the time its tail has left.
    #[inline(always)]
    pub(crate) fn put_on_link(&mut self, o: u32, id: u32, begin_ps: u64) -> u64 {
        let port = &mut self.links.ports[o as usize];
        let packet = &mut self.buffers.packets[id];
        let link = &self.links.kinds[port.link as usize];
        let left_ps = port.transmit(link, begin_ps, packet.wire_bytes);
        let (peer, delay_ps) = (port.peer, link.delay_ps);
        self.links.hops += 1;
        packet.next = NIL;
        packet.set(ROUTED, false);
        packet.tail_ps = left_ps + delay_ps;
        let mut seen_ps = packet.tail_ps;
        if !port.has(TO_ENDPOINT) {
            packet.tail_ps += link.route_ps;
            let from_ps = if self.rules().cut_through { begin_ps } else { left_ps };
            seen_ps = from_ps + delay_ps + link.route_ps;
        }
        self.clock.schedule(seen_ps, Kind::Arrive, peer, id);
        left_ps
    }

    // ---- credits --------------------------------------------------------------------------

    /// A packet's tail leaves the input buffer of `q` at `left_ps`: the port that feeds the buffer
    /// knows one wire delay later. `output`: [`Network::counted`].
    #[inline(always)]
    pub(crate) fn refund(&mut self, q: u32, vl: u8, blocks: u32, output: u16, left_ps: u64) {
        let input = &self.links.inputs[q as usize];
        let o = input.feeder;
        let index = self.lane_index(o, vl);
        if self.rules().endless {
            return self.buffers.lanes.unload(index, blocks);
        }
        let time_ps = left_ps + self.links.kinds[input.link as usize].delay_ps;
        self.buffers.lanes.refund(index, self.clock.now_ps, time_ps, blocks, output);
        if !self.rules().elide {
            self.clock.schedule(time_ps, Kind::Credit, o, u32::from(vl));
        } else if self.buffers.lanes[index].need > 0
            || self.rules().choosy && self.buffers.lanes.shares.is_short(index)
        {
            self.wake_when_enough(o, vl, Some(time_ps));
        }
    }

    /// Wake a lane when enough credits are in, if they are on their way already.
    pub(crate) fn await_credit(&mut self, o: u32, vl: u8) {
        if self.rules().elide {
            self.wake_when_enough(o, vl, None);
        }
    }

    /// Let an event wake a starved lane, if none is due that will. One that is due comes too late
    /// where a `refund_ps` that has just been added brings enough before it.
    fn wake_when_enough(&mut self, o: u32, vl: u8, refund_ps: Option<u64>) {
        let index = self.lane_index(o, vl);
        if let Some(time_ps) = self.buffers.lanes.enough_at(index)
            && (!self.buffers.lanes[index].wake_due
                || refund_ps.is_some_and(|time| time <= time_ps))
        {
            self.buffers.lanes[index].wake_due = true;
            self.clock.schedule(time_ps, Kind::Credit, o, u32::from(vl));
        }
    }

    pub(crate) fn credited(&mut self, o: u32, vl: u8) {
        let index = self.lane_index(o, vl);
        self.buffers.lanes[index].wake_due = false;
        // Un-elided, every credit is taken in when it is there: so the oracle sees it where a load
        // is compared without settling it first.
        self.buffers.lanes.settle(index, self.clock.now_ps);
        // Only a starved lane may be served by a credit: any other has its kick.
        if self.buffers.lanes[index].need == 0 && !self.buffers.lanes.shares.is_short(index) {
            return;
        }
        if self.buffers.lanes.starved(index, self.clock.now_ps) {
            // A packet that was queued ahead took what this event was to bring, or it is one of an
            // earlier grant.
            self.await_credit(o, vl);
        } else {
            self.serve(o);
        }
    }
}
