//! What lies between input buffers and egress ports: the speed at which a buffer is read, and the
//! share of it that one output may hold.

use crate::limits::NIL;
use crate::limits::THOUSANDTHS;
use crate::packet::network::Network;
use crate::state::calendar::Cold;
use crate::state::port::{INSIDE, TO_ENDPOINT};
use weft_fabric::units::PS_PER_S;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// The time in which a buffer of port `q` is read by a packet, where that takes any.
    fn read_duration_ps(&self, q: u32, wire_bytes: u16) -> u64 {
        let rate = self.links.kinds[self.links.ports[q as usize].link as usize].rate.0;
        let bits = u128::from(wire_bytes) * 8 * u128::from(PS_PER_S) * u128::from(THOUSANDTHS);
        bits.div_ceil(u128::from(rate) * u128::from(self.buffers.speedup)) as u64
    }

    /// Bring the first packet of lane `vl`'s round robin to the front that is not held up inside
    /// the switch or by its share of the next buffer; false where all are.
    pub(crate) fn choose(&mut self, o: u32, vl: u8) -> bool {
        let index = self.lane_index(o, vl);
        let last = self.buffers.lanes[index].ring;
        let first = self.buffers.packets[last].ring();
        let (mut before, mut short) = (last, false);
        loop {
            let id = self.buffers.packets[before].ring();
            let q = o - u32::from(self.links.ports[o as usize].local)
                + self.buffers.packets[id].input();
            if !self.leaves_share(o, vl, id) {
                short = true;
            } else if self.may_read(q, o) {
                self.buffers.lanes.shares.set_short(index, false);
                self.bring_to_front(index, before, id, first);
                return true;
            }
            before = id;
            if id == last {
                break;
            }
        }
        // Nothing here that credit alone could wake.
        self.buffers.lanes.forget_grant(index);
        self.buffers.lanes.shares.set_short(index, short);
        if short {
            self.await_credit(o, vl);
        }
        false
    }

    fn bring_to_front(&mut self, index: usize, before: u32, id: u32, first: u32) {
        if id == first {
            return;
        }
        let after = self.buffers.packets[id].ring();
        self.buffers.packets[before].set_ring(after);
        if self.buffers.lanes[index].ring == id {
            self.buffers.lanes[index].ring = before;
        }
        let last = self.buffers.lanes[index].ring;
        self.buffers.packets[id].set_ring(first);
        self.buffers.packets[last].set_ring(id);
    }

    /// Whether egress `o` may read the buffers of port `q` now; else it will be told.
    fn may_read(&mut self, q: u32, o: u32) -> bool {
        let Some(reader) = self.buffers.readers.get_mut(q as usize) else {
            return true;
        };
        let its_turn = reader.outputs.is_empty() || self.buffers.reading == (q, o);
        if reader.until_ps <= self.clock.now_ps && its_turn {
            return true;
        }
        if !reader.outputs.contains(&o) {
            reader.outputs.push_back(o);
        }
        if !reader.due && self.buffers.reading.0 != q {
            reader.due = true;
            let time_ps = reader.until_ps;
            self.clock.schedule_cold(time_ps, Cold::Read(q));
        }
        false
    }

    /// A packet is read from a buffer of port `q` from now on.
    pub(crate) fn read_begun(&mut self, q: u32, wire_bytes: u16) {
        let until_ps = self.clock.now_ps + self.read_duration_ps(q, wire_bytes);
        self.buffers.readers[q as usize].until_ps = until_ps;
    }

    /// When the buffer of port `q` may be read again.
    pub(crate) fn read_until_ps(&self, q: u32) -> Option<u64> {
        self.buffers.readers.get(q as usize).map(|reader| reader.until_ps)
    }

    /// The buffers of port `q` may be read again: by those that wait for it, in turn.
    pub(crate) fn read_over(&mut self, q: u32) {
        self.buffers.readers[q as usize].due = false;
        while self.buffers.readers[q as usize].until_ps <= self.clock.now_ps {
            let Some(o) = self.buffers.readers[q as usize].outputs.pop_front() else { break };
            self.buffers.reading = (q, o);
            self.serve(o);
        }
        self.buffers.reading = (NIL, NIL);
        let reader = &mut self.buffers.readers[q as usize];
        if !reader.outputs.is_empty() {
            reader.due = true;
            let time_ps = reader.until_ps;
            self.clock.schedule_cold(time_ps, Cold::Read(q));
        }
    }

    // ---- shares of a buffer -----------------------------------------------------------------

    /// Count what each output holds of the buffer that lane `vl` of port `o` fills.
    pub(crate) fn count_shares(&mut self, o: u32, vl: u8) {
        let port = &self.links.ports[o as usize];
        if port.peer == NIL || port.has(TO_ENDPOINT) {
            return;
        }
        let peer = &self.links.ports[port.peer as usize];
        if peer.has(INSIDE) {
            return;
        }
        let n_outputs = usize::from(peer.n_ports);
        let index = self.lane_index(o, vl);
        self.buffers.lanes.shares.count(index, n_outputs);
    }

    /// Where it is counted what the output of a packet for `dst` holds of the buffer after `o`.
    pub(crate) fn share_of(&self, o: u32, vl: u8, dst: u32) -> Option<usize> {
        self.buffers.lanes.shares.of(self.lane_index(o, vl)).map(|shares| {
            let output = self.static_route(self.links.ports[o as usize].peer, dst);
            shares + usize::from(self.links.ports[output as usize].local)
        })
    }

    fn leaves_share(&mut self, o: u32, vl: u8, id: u32) -> bool {
        let packet = self.buffers.packets[id];
        self.has_share(o, vl, packet.dst, packet.blocks())
    }

    /// Whether the output of a packet for `dst`, at the switch after `o`, may hold its blocks.
    pub(crate) fn has_share(&mut self, o: u32, vl: u8, dst: u32, blocks: u32) -> bool {
        let Some(share) = self.share_of(o, vl, dst) else {
            return true;
        };
        let index = self.lane_index(o, vl);
        self.buffers.lanes.settle(index, self.clock.now_ps);
        self.buffers.lanes.shares.held[share] + blocks <= self.buffers.share_blocks
    }

    /// The packet's output holds so many more blocks of the buffer after `o`.
    pub(crate) fn hold_share(&mut self, o: u32, vl: u8, id: u32, blocks: u32) {
        let first = self.buffers.lanes.shares.of(self.lane_index(o, vl));
        if let (Some(share), Some(first)) =
            (self.share_of(o, vl, self.buffers.packets[id].dst), first)
        {
            self.buffers.lanes.shares.held[share] += blocks;
            if self.buffers.counted.len() <= id as usize {
                self.buffers.counted.resize(id as usize + 1, 0);
            }
            self.buffers.counted[id as usize] = (share - first) as u16;
        }
    }

    /// The output at which a packet counts that is in a switch, whatever the tables say by now.
    #[inline]
    pub(crate) fn counted(&self, id: u32) -> u16 {
        self.buffers.counted.get(id as usize).copied().unwrap_or(0)
    }
}
