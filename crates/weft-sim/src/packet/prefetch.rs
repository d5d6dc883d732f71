//! Fetching ahead: what events to come will need, so that they do not wait for it one after the
//! other. Where a network is larger than the caches, that waiting is what a hop takes.
//!
//! Nothing here changes anything. What an event needs lies behind what it names, so each stage
//! follows the way one step further, for an event that is nearer.

use crate::limits::NIL;
use crate::packet::network::Network;
use crate::state::calendar::{Event, Kind};
use crate::state::port::{ENDPOINT, INSIDE};
use prefetch_index::prefetch_index;
use weft_fabric::{HcaId, SwitchId};

/// How many events ahead each stage looks.
const STAGES: [usize; 5] = [16, 12, 8, 5, 2];

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Fetch what the events at each stage's place will need.
    #[inline(always)]
    pub(crate) fn look_ahead(&self) {
        for (stage, places) in STAGES.iter().enumerate() {
            let Some(event) = self.clock.calendar.ahead(*places) else { continue };
            if event.kind() == Kind::Arrive {
                self.look_at_arrival(stage, event);
            } else if event.kind() != Kind::Cold {
                self.look_at_egress(stage, event.port());
            }
        }
    }

    /// A packet will come in: its record, the buffer's feeder or its message, the tables, then its
    /// output or the loads that decide it, and its queue.
    #[inline(always)]
    fn look_at_arrival(&self, stage: usize, event: Event) {
        let (q, id) = (event.port(), event.packet());
        if stage == 0 {
            prefetch_index(&self.links.inputs, q as usize);
            return self.buffers.packets.fetch(id);
        }
        let (input, packet) = (&self.links.inputs[q as usize], &self.buffers.packets[id]);
        if input.has(ENDPOINT) {
            if stage == 1 {
                self.buffers.lanes.fetch(self.lane_index(input.feeder, packet.lane()));
                self.endpoints.messages.fetch(packet.message);
            }
            return;
        }
        if input.has(INSIDE) || stage > 3 || self.rules().trees && packet.is_of_tree() {
            return;
        }
        let switch = SwitchId(input.vertex - self.fabric().n_hcas());
        let (first, dst) = (q - u32::from(input.local), HcaId(packet.dst));
        let group = match &self.routing.candidates {
            Some(candidates) if stage == 1 => return candidates.fetch(switch, dst),
            Some(candidates) => candidates.group(switch, dst),
            None if stage == 1 => return self.routing.routes.fetch(switch, dst),
            None => &[],
        };
        if group.len() > 1 {
            if stage == 2 {
                let middle = first + u32::from(group[group.len() / 2]);
                self.buffers.lanes.fetch_load(self.lane_index(middle, packet.lane()));
            }
            return;
        }
        let number = match group.first() {
            Some(number) => u32::from(*number),
            None => self.routing.routes.number(switch, dst).wrapping_sub(1),
        };
        let o = first.wrapping_add(number).min(self.links.ports.len() as u32 - 1);
        let index = self.lane_index(o, packet.lane());
        if stage == 2 {
            prefetch_index(&self.links.ports, o as usize);
            self.buffers.lanes.fetch(index);
        } else if stage == 3 && self.buffers.lanes[index].queues != NIL {
            let place = self.buffers.lanes[index].queues as usize + usize::from(input.local);
            prefetch_index(&self.buffers.tails, place);
        }
    }

    /// A port will send, or have credit: its records, then the packet whose turn it is, and the
    /// feeder of the buffer that it leaves.
    #[inline(always)]
    fn look_at_egress(&self, stage: usize, o: u32) {
        let index = self.lane_index(o, 0);
        if stage == 0 {
            prefetch_index(&self.links.ports, o as usize);
            return self.buffers.lanes.fetch(index);
        }
        let (port, lane) = (&self.links.ports[o as usize], &self.buffers.lanes[index]);
        if port.has(ENDPOINT) {
            return match stage {
                1 => self.endpoints.senders.fetch(lane.queues),
                2 => self.endpoints.senders.fetch_message(lane.queues, &self.endpoints.messages),
                _ => {}
            };
        }
        if lane.ring == NIL {
            return;
        }
        if stage == 1 {
            return self.buffers.packets.fetch(lane.ring);
        }
        let first = self.buffers.packets[lane.ring].ring();
        if stage == 2 {
            return self.buffers.packets.fetch(first);
        }
        let first = &self.buffers.packets[first];
        let q = o - u32::from(port.local) + first.input();
        if stage == 3 {
            return prefetch_index(&self.links.inputs, q as usize);
        }
        let feeder = self.links.inputs[q as usize].feeder;
        self.buffers.lanes.fetch(self.lane_index(feeder, first.input_lane()));
    }
}
