//! Packets come into input buffers, are routed, and join the queue of their output.

use crate::limits::NIL;
use crate::packet::network::Network;
use crate::state::calendar::Kind;
use crate::state::packet::ROUTED;
use crate::state::port::{DOWN, FRAIL, Input};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// A packet is seen at the switch that port `q` belongs to: route it, and queue it. Where the
    /// egress is faster than the ingress it would run dry, so there the packet is stored first.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, q: u32, input: Input, id: u32) {
        let packet = self.buffers.packets[id];
        if !packet.has(ROUTED) {
            self.trace([self.clock.now_ps, u64::from(q), u64::from(packet.wire_bytes)]);
            if self.rules().fifo {
                self.buffers.packets[id].set(ROUTED, true);
                if !self.is_next(q, id) {
                    return;
                }
            }
        }
        let (mut o, mut vl) = self.route(q, &input, id, &packet);
        let watched = self.rules().watched;
        if watched && self.links.ports[o as usize].has(DOWN) {
            let Some(round) = self.way_round(o, id) else {
                return self.discard(q, id, o, packet.tail_ps.max(self.clock.now_ps));
            };
            (o, vl) = round;
        }
        let (ingress, egress) = (input.link, self.links.ports[o as usize].link);
        let faster =
            || self.links.kinds[egress as usize].rate > self.links.kinds[ingress as usize].rate;
        let runs_dry = if watched && input.has(FRAIL) {
            self.runs_dry(o, id)
        } else {
            ingress != egress && packet.tail_ps > self.clock.now_ps && faster()
        };
        if runs_dry {
            self.buffers.packets[id].set(ROUTED, true);
            return self.clock.schedule(packet.tail_ps, Kind::Arrive, q, id);
        }
        if !self.pass(q, o, vl, id) {
            self.enqueue(o, vl, input.local, id);
            self.serve(o);
        }
    }

    /// Send a packet at once where nothing else wants to leave by `o`: what queueing and serving it
    /// would do as well. Whether it could.
    #[inline(always)]
    fn pass(&mut self, q: u32, o: u32, vl: u8, id: u32) -> bool {
        let (rules, port) = (self.rules(), &self.links.ports[o as usize]);
        let turns = rules.fifo || rules.choosy || rules.laned;
        if turns || port.work != 0 || port.busy_until_ps > self.clock.now_ps {
            return false;
        }
        let packet = self.buffers.packets[id];
        let (index, blocks) = (self.lane_index(o, vl), packet.blocks());
        if !self.buffers.lanes.has_credit(index, self.clock.now_ps, blocks) {
            return false;
        }
        self.buffers.packets[id].set_lane(vl);
        self.buffers.lanes.load(index, blocks);
        let left_ps = self.transmit(o, vl, id, blocks);
        self.refund(q, packet.lane(), blocks, 0, left_ps);
        if !self.rules().elide {
            self.kick(o, left_ps);
        }
        true
    }

    /// Queue a packet in the one queue of its input; whether it may leave now.
    fn is_next(&mut self, q: u32, id: u32) -> bool {
        let index = self.lane_index(q, self.buffers.packets[id].lane());
        let fifo = &mut self.buffers.fifos[index];
        fifo.packets.push_back(id);
        if fifo.packets.len() > 1 {
            return false;
        }
        let read_until_ps = fifo.read_until_ps;
        if read_until_ps > self.clock.now_ps {
            self.clock.schedule(read_until_ps, Kind::Arrive, q, id);
        }
        read_until_ps <= self.clock.now_ps
    }

    /// The tail of the first packet of an input's one queue leaves at `left_ps`: the next one may
    /// go then.
    pub(crate) fn read_on(&mut self, q: u32, vl: u8, left_ps: u64) {
        let index = self.lane_index(q, vl);
        let fifo = &mut self.buffers.fifos[index];
        fifo.packets.pop_front();
        fifo.read_until_ps = left_ps;
        if let Some(next) = fifo.packets.front().copied() {
            self.clock.schedule(left_ps, Kind::Arrive, q, next);
        }
    }

    /// Queue a packet of an input at its output.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, o: u32, vl: u8, input: u16, id: u32) {
        let index = self.lane_index(o, vl);
        let port = &mut self.links.ports[o as usize];
        port.set_work(vl, true);
        let lane = &mut self.buffers.lanes[index];
        if lane.queues == NIL {
            lane.queues = self.buffers.tails.len() as u32;
            self.buffers.tails.resize(self.buffers.tails.len() + usize::from(port.n_ports), NIL);
        }
        let tail = &mut self.buffers.tails[(lane.queues + u32::from(input)) as usize];
        let before = std::mem::replace(tail, id);
        let packet = &mut self.buffers.packets[id];
        packet.wait_at(input, vl);
        self.buffers.lanes.load(index, packet.blocks());
        if before != NIL {
            self.buffers.packets[before].next = id;
            return;
        }
        let last = std::mem::replace(&mut self.buffers.lanes[index].ring, id);
        if last == NIL {
            self.buffers.packets[id].set_ring(id);
        } else {
            let first = self.buffers.packets[last].ring();
            self.buffers.packets[id].set_ring(first);
            self.buffers.packets[last].set_ring(id);
        }
    }
}
