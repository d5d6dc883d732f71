//! Loading ahead: what events to come will need, so that they do not wait for it one after the
//! other. Where a network is larger than the caches, that waiting is what a hop takes.
//!
//! Nothing here changes anything. What an event needs lies behind what it names, so each stage
//! follows the way one step further, for an event that is nearer.

use crate::calendar::{Event, Kind};
use crate::network::Network;
use crate::packet::{NIL, PacketKind};
use crate::port::{ENDPOINT, INSIDE};
use std::hint::black_box;

/// How many events ahead each stage looks.
const STAGES: [usize; 4] = [16, 11, 7, 3];

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Load what the events at each stage's place will need.
    pub(crate) fn look_ahead(&self) {
        for (stage, places) in STAGES.iter().enumerate() {
            let Some(event) = self.calendar.ahead(*places) else { continue };
            if event.kind() == Kind::Arrive {
                self.look_at_arrival(stage, event);
            } else if event.kind() != Kind::Cold {
                self.look_at_egress(stage, event.port());
            }
        }
    }

    /// A packet will come in: its record, the buffer's feeder, then its output and its queue.
    #[inline(always)]
    fn look_at_arrival(&self, stage: usize, event: Event) {
        let (q, id) = (event.port(), event.packet());
        if stage == 0 {
            black_box(self.inputs[q as usize].feeder);
            black_box(self.packets[id].dst);
            return;
        }
        let (input, packet) = (&self.inputs[q as usize], &self.packets[id]);
        let feeder = &self.lanes[self.lane_index(input.feeder, packet.lane())];
        if stage == 1 {
            black_box(feeder.need);
        }
        if input.has(ENDPOINT | INSIDE) || packet.kind() != PacketKind::Data {
            return;
        }
        let o = self.static_route(q, packet.dst);
        let lane = &self.lanes[self.lane_index(o, packet.lane())];
        match stage {
            1 => {
                black_box(self.ports[o as usize].work);
                black_box(lane.need);
            }
            _ if lane.queues != NIL => {
                black_box(self.tails[lane.queues as usize + usize::from(input.local)]);
            }
            _ => {}
        }
    }

    /// A port will send, or have credit: its records, then the packet whose turn it is, and the
    /// feeder of the buffer that it leaves.
    #[inline(always)]
    fn look_at_egress(&self, stage: usize, o: u32) {
        let (port, lane) = (&self.ports[o as usize], &self.lanes[self.lane_index(o, 0)]);
        if stage == 0 {
            black_box(port.work);
            black_box(lane.need);
            return;
        }
        if port.has(ENDPOINT) || lane.ring == NIL {
            return;
        }
        let last = &self.packets[lane.ring];
        if stage == 1 {
            black_box(last.next);
            return;
        }
        let first = &self.packets[last.ring()];
        if stage == 2 {
            black_box(first.next);
            return;
        }
        let q = o - u32::from(port.local) + first.input();
        let feeder = self.inputs[q as usize].feeder;
        black_box(self.lanes[self.lane_index(feeder, first.input_lane())].need);
    }
}
