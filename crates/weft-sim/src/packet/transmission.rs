//! Packets on links: when their tail has left, and when the other end sees them.

use crate::limits::NIL;
use crate::state::buffer::buffers::Buffers;
use crate::state::calendar::Kind;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::ROUTED;
use crate::state::port::{TO_ENDPOINT, WATCHED};

/// Send a packet from `o`, against its credit; the time its tail has left.
#[inline(always)]
pub(crate) fn transmit<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    o: u32,
    vl: u8,
    id: u32,
    blocks: u32,
) -> u64 {
    let (rules, index) = (buffers.rules(), buffers.lane_index(o, vl));
    if !rules.endless {
        buffers.lanes.spend(index, blocks);
    }
    links.unblock(o, clock.now_ps);
    if rules.watched && links.ports[o as usize].has(WATCHED) {
        return transmit_watched(links, buffers, clock, o, id);
    }
    let begin_ps = clock.now_ps;
    put_on_link(links, buffers, clock, o, id, begin_ps)
}

/// Put a packet on a link that is in trouble or watched; the time its tail has left.
#[cold]
fn transmit_watched<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    o: u32,
    id: u32,
) -> u64 {
    let mut begin_ps = clock.now_ps;
    if let Some(ailing) = links.troubles.of(o) {
        // The first try is for nothing, then the packet goes as if it began now.
        begin_ps += ailing.correct();
        ailing.put_on_wire(id);
    }
    let left_ps = put_on_link(links, buffers, clock, o, id, begin_ps);
    if let Some(load) = &mut links.load {
        load.add(o, begin_ps..left_ps, buffers.packets[id].wire_bytes);
    }
    left_ps
}

/// Put a packet on the link of `o` at `begin_ps`; the time its tail has left.
#[inline(always)]
fn put_on_link<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    o: u32,
    id: u32,
    begin_ps: u64,
) -> u64 {
    let cut_through = buffers.rules().cut_through;
    let (port, packet) = (&mut links.ports[o as usize], &mut buffers.packets[id]);
    let link = &links.kinds[port.link as usize];
    let left_ps = port.transmit(link, begin_ps, packet.wire_bytes);
    let (peer, delay_ps) = (port.peer, link.delay_ps);
    links.hops += 1;
    packet.next = NIL;
    packet.set(ROUTED, false);
    packet.tail_ps = left_ps + delay_ps;
    let mut seen_ps = packet.tail_ps;
    if !port.has(TO_ENDPOINT) {
        packet.tail_ps += link.route_ps;
        let from_ps = if cut_through { begin_ps } else { left_ps };
        seen_ps = from_ps + delay_ps + link.route_ps;
    }
    clock.schedule(seen_ps, Kind::Arrive, peer, id);
    left_ps
}
