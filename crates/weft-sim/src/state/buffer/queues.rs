//! The queues of an egress: one an input, their first packets in a ring, the round robin.

use crate::limits::NIL;
use crate::state::buffer::buffers::Buffers;
use crate::state::links::Links;
use crate::state::packet::Packet;

impl<const PLAIN: bool> Buffers<PLAIN> {
    /// Queue a packet of an input at its output.
    #[inline(always)]
    pub(crate) fn enqueue(&mut self, links: &mut Links, o: u32, vl: u8, input: u16, id: u32) {
        let index = self.lane_index(o, vl);
        let port = &mut links.ports[o as usize];
        port.set_work(vl, true);
        let lane = &mut self.lanes[index];
        if lane.queues == NIL {
            lane.queues = self.tails.len() as u32;
            self.tails.resize(self.tails.len() + usize::from(port.n_ports), NIL);
        }
        let tail = &mut self.tails[(lane.queues + u32::from(input)) as usize];
        let before = std::mem::replace(tail, id);
        let packet = &mut self.packets[id];
        packet.wait_at(input, vl);
        self.lanes.load(index, packet.blocks());
        if before != NIL {
            self.packets[before].next = id;
            return;
        }
        let last = std::mem::replace(&mut self.lanes[index].ring, id);
        if last == NIL {
            self.packets[id].set_ring(id);
        } else {
            let first = self.packets[last].ring();
            self.packets[id].set_ring(first);
            self.packets[last].set_ring(id);
        }
    }

    /// The packet whose turn it is at a lane where some wait.
    #[inline(always)]
    pub(crate) fn first_of(&self, index: usize) -> u32 {
        self.packets[self.lanes[index].ring].ring()
    }

    /// Take the packet whose turn it is out of its queue; its input has its next turn last.
    #[inline(always)]
    pub(crate) fn turn_ring(&mut self, links: &mut Links, o: u32, vl: u8, id: u32, packet: Packet) {
        let index = self.lane_index(o, vl);
        let (last, next, second) = (self.lanes[index].ring, packet.next, packet.ring());
        if next == NIL {
            self.tails[(self.lanes[index].queues + packet.input()) as usize] = NIL;
            if last == id {
                self.lanes[index].ring = NIL;
                links.ports[o as usize].set_work(vl, false);
            } else {
                self.packets[last].set_ring(second);
            }
            return;
        }
        self.lanes[index].ring = next;
        if last == id {
            self.packets[next].set_ring(next);
        } else {
            self.packets[next].set_ring(second);
            self.packets[last].set_ring(next);
        }
    }

    /// Give the turn, which `first` has, to the packet `id` that follows `before` in the ring.
    pub(crate) fn bring_to_front(&mut self, index: usize, before: u32, id: u32, first: u32) {
        if id == first {
            return;
        }
        let after = self.packets[id].ring();
        self.packets[before].set_ring(after);
        if self.lanes[index].ring == id {
            self.lanes[index].ring = before;
        }
        let last = self.lanes[index].ring;
        self.packets[id].set_ring(first);
        self.packets[last].set_ring(id);
    }
}
