//! The stage between input buffers and egress ports: the speed at which a buffer is read, and the
//! share of it that one output may hold.

use crate::limits::{NIL, THOUSANDTHS};
use crate::packet::network::Network;
use crate::packet::routing::adaptive::static_route;
use crate::state::buffer::buffers::Buffers;
use crate::state::calendar::Cold;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::Packet;
use crate::state::routes_in_force::RoutesInForce;
use weft_fabric::units::PS_PER_S;

/// Bring the first packet of lane `vl`'s round robin to the front that is not held up inside the
/// switch or by its share of the next buffer; false where all are.
pub(crate) fn choose<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    routing: &RoutesInForce,
    o: u32,
    vl: u8,
) -> bool {
    let index = buffers.lane_index(o, vl);
    let last = buffers.lanes[index].ring;
    let first = buffers.packets[last].ring();
    let (mut before, mut short) = (last, false);
    loop {
        let id = buffers.packets[before].ring();
        let packet = buffers.packets[id];
        let q = o - u32::from(links.ports[o as usize].local) + packet.input();
        if !has_share(links, buffers, routing, clock.now_ps, o, &packet) {
            short = true;
        } else if buffers.may_read(clock, q, o) {
            buffers.lanes.shares.set_short(index, false);
            buffers.bring_to_front(index, before, id, first);
            return true;
        }
        before = id;
        if id == last {
            break;
        }
    }
    // Nothing here that credit alone could wake.
    buffers.lanes.forget_grant(index);
    buffers.lanes.shares.set_short(index, short);
    if short {
        buffers.await_credit(clock, o, vl);
    }
    false
}

/// A packet is read from a buffer of port `q` from now on; when the next one may be, where reading
/// takes time.
pub(crate) fn read_begun<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    now_ps: u64,
    q: u32,
    wire_bytes: u16,
) -> Option<u64> {
    let reader = buffers.readers.get_mut(q as usize)?;
    let rate = links.link_of(q).rate.0;
    let bits = u128::from(wire_bytes) * 8 * u128::from(PS_PER_S) * u128::from(THOUSANDTHS);
    let duration_ps = bits.div_ceil(u128::from(rate) * u128::from(buffers.speedup)) as u64;
    reader.until_ps = now_ps + duration_ps;
    Some(reader.until_ps)
}

impl<const PLAIN: bool> Network<'_, PLAIN> {
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
            self.clock.schedule_cold(reader.until_ps, Cold::Read(q));
        }
    }
}

// ---- shares of a buffer -----------------------------------------------------------------------

/// Where it is counted what the output of a packet holds of the buffer after `o`: the first place
/// of the buffer's outputs, and the output.
fn share_of<const PLAIN: bool>(
    links: &Links,
    buffers: &Buffers<PLAIN>,
    routing: &RoutesInForce,
    o: u32,
    packet: &Packet,
) -> Option<(usize, u16)> {
    let first = buffers.lanes.shares.of(buffers.lane_index(o, packet.lane()))?;
    let output = static_route(links, routing, links.ports[o as usize].peer, packet.dst);
    Some((first, links.ports[output as usize].local))
}

/// Whether the output of a packet, at the switch after `o`, may hold its blocks.
pub(crate) fn has_share<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    routing: &RoutesInForce,
    now_ps: u64,
    o: u32,
    packet: &Packet,
) -> bool {
    let Some((first, output)) = share_of(links, buffers, routing, o, packet) else {
        return true;
    };
    let index = buffers.lane_index(o, packet.lane());
    buffers.lanes.settle(index, now_ps);
    let held_blocks = buffers.lanes.shares.held[first + usize::from(output)];
    held_blocks + packet.blocks() <= buffers.share_blocks
}

/// A packet is sent from `o`: its output holds so many more blocks of the buffer there.
pub(crate) fn hold_share<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    routing: &RoutesInForce,
    o: u32,
    id: u32,
) {
    let packet = buffers.packets[id];
    if let Some((first, output)) = share_of(links, buffers, routing, o, &packet) {
        buffers.lanes.shares.held[first + usize::from(output)] += packet.blocks();
        if buffers.counted.len() <= id as usize {
            buffers.counted.resize(id as usize + 1, 0);
        }
        buffers.counted[id as usize] = output;
    }
}
