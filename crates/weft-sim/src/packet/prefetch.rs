//! Fetching ahead: what events to come will need, so that they do not wait for it one after the
//! other. Where a network is larger than the caches, that waiting is what a hop takes.
//!
//! Nothing here changes anything. What an event needs lies behind what it names, so each stage
//! goes one step further, for an event that is nearer.

use crate::limits::NIL;
use crate::packet::network::Network;
use crate::state::buffer::buffers::Buffers;
use crate::state::calendar::{Event, Kind};
use crate::state::links::Links;
use crate::state::port::{ENDPOINT, INSIDE};
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use prefetch_index::prefetch_index;
use weft_fabric::HcaId;

/// How many events ahead each stage looks.
const STAGES: [usize; 5] = [16, 12, 8, 5, 2];

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Fetch what the events at each stage's place will need.
    #[inline(always)]
    pub(crate) fn look_ahead(&self) {
        let Network { clock, links, buffers, routing, endpoints, .. } = self;
        for (stage, places) in STAGES.iter().enumerate() {
            let Some(event) = clock.calendar.ahead(*places) else { continue };
            if event.kind() == Kind::Arrive {
                look_at_arrival(links, buffers, routing, endpoints, stage, event);
            } else if event.kind() != Kind::Cold {
                look_at_egress(links, buffers, endpoints, stage, event.port());
            }
        }
    }
}

/// A packet will come in: its record, the buffer's feeder or its message, the tables, then its
/// output or the loads that decide it, and its queue.
#[inline(always)]
fn look_at_arrival<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
    routing: &RoutesInForce,
    endpoints: &Endpoints,
    stage: usize,
    event: Event,
) {
    let (q, id) = (event.port(), event.packet());
    if stage == 0 {
        prefetch_index(&links.inputs, q as usize);
        return buffers.packets.fetch(id);
    }
    let (input, packet) = (&links.inputs[q as usize], &buffers.packets[id]);
    if input.has(ENDPOINT) {
        if stage == 1 {
            buffers.lanes.fetch(buffers.lane_index(input.feeder, packet.lane()));
            endpoints.messages.fetch(packet.message);
        }
        return;
    }
    if input.has(INSIDE) || stage > 3 || buffers.rules().trees && packet.is_of_tree() {
        return;
    }
    let switch = links.switch_of(input);
    let (first, dst) = (q - u32::from(input.local), HcaId(packet.dst));
    let group = match &routing.candidates {
        Some(candidates) if stage == 1 => return candidates.fetch(switch, dst),
        Some(candidates) => candidates.group(switch, dst),
        None if stage == 1 => return routing.routes.fetch(switch, dst),
        None => &[],
    };
    if group.len() > 1 {
        if stage == 2 {
            let middle = first + u32::from(group[group.len() / 2]);
            buffers.lanes.fetch_load(buffers.lane_index(middle, packet.lane()));
        }
        return;
    }
    let number = match group.first() {
        Some(number) => u32::from(*number),
        None => routing.routes.number(switch, dst).wrapping_sub(1),
    };
    let o = first.wrapping_add(number).min(links.ports.len() as u32 - 1);
    let index = buffers.lane_index(o, packet.lane());
    if stage == 2 {
        prefetch_index(&links.ports, o as usize);
        buffers.lanes.fetch(index);
    } else if stage == 3 && buffers.lanes[index].queues != NIL {
        let place = buffers.lanes[index].queues as usize + usize::from(input.local);
        prefetch_index(&buffers.tails, place);
    }
}

/// A port will send, or have credit: its records, then the packet whose turn it is, and the
/// feeder of the buffer that it leaves.
#[inline(always)]
fn look_at_egress<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
    endpoints: &Endpoints,
    stage: usize,
    o: u32,
) {
    let index = buffers.lane_index(o, 0);
    if stage == 0 {
        prefetch_index(&links.ports, o as usize);
        return buffers.lanes.fetch(index);
    }
    let (port, lane) = (&links.ports[o as usize], &buffers.lanes[index]);
    if port.has(ENDPOINT) {
        return match stage {
            1 => endpoints.senders.fetch(lane.queues),
            2 => endpoints.senders.fetch_message(lane.queues, &endpoints.messages),
            _ => {}
        };
    }
    if lane.ring == NIL {
        return;
    }
    if stage == 1 {
        return buffers.packets.fetch(lane.ring);
    }
    let first = buffers.packets[lane.ring].ring();
    if stage == 2 {
        return buffers.packets.fetch(first);
    }
    let first = &buffers.packets[first];
    let q = o - u32::from(port.local) + first.input();
    if stage == 3 {
        return prefetch_index(&links.inputs, q as usize);
    }
    let feeder = links.inputs[q as usize].feeder;
    buffers.lanes.fetch(buffers.lane_index(feeder, first.input_lane()));
}
