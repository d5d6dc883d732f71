//! Ports send: whose turn it is, whether it has credit, and when its tail has left.

use crate::limits::{NEVER, NIL};
use crate::packet::congestion_hooks::mark;
use crate::packet::crossbar::{choose, hold_share, read_begun};
use crate::packet::network::Network;
use crate::packet::transmission::transmit;
use crate::state::arbiter::Served;
use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::occupancy::Held;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::{BORN, COPY};
use crate::state::port::ENDPOINT;
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::spacing::Spacing;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Let port `o` send, if its link is free and the packet whose turn it is has credit.
    #[inline(always)]
    pub(crate) fn serve(&mut self, o: u32) {
        let port = &self.links.ports[o as usize];
        let busy_until_ps = port.busy_until_ps;
        if port.work == 0 {
        } else if busy_until_ps > self.clock.now_ps {
            self.links.kick(&mut self.clock, o, busy_until_ps);
        } else {
            self.serve_now(o);
        }
    }

    /// Let port `o` send, whose link is free, if the packet whose turn it is has credit.
    fn serve_now(&mut self, o: u32) {
        let rules = self.rules();
        let served = if !rules.laned { self.serve_lane(o, 0) } else { self.serve_by_tables(o) };
        match served {
            Served::Sent(_) => {
                let port = &self.links.ports[o as usize];
                if port.work != 0 || !rules.elide {
                    let busy_until_ps = port.busy_until_ps;
                    self.links.kick(&mut self.clock, o, busy_until_ps);
                }
            }
            Served::Starved => self.links.block(o, self.clock.now_ps),
            Served::Nothing => {}
        }
    }

    pub(crate) fn kicked(&mut self, o: u32) {
        if self.links.ports[o as usize].kick_ps == self.clock.now_ps {
            self.links.ports[o as usize].kick_ps = NEVER;
            self.serve(o);
        }
    }

    pub(crate) fn credited(&mut self, o: u32, vl: u8) {
        if self.buffers.credited(&mut self.clock, o, vl) {
            self.serve(o);
        }
    }

    /// Let a lane send a packet.
    #[inline(always)]
    pub(crate) fn serve_lane(&mut self, o: u32, vl: u8) -> Served {
        let index = self.buffers.lane_index(o, vl);
        if self.buffers.lanes.starved(index, self.clock.now_ps) {
            return Served::Starved;
        }
        if self.links.ports[o as usize].has(ENDPOINT) {
            return self.serve_endpoint(o, vl);
        }
        let Network { clock, links, buffers, routing, congestion, .. } = self;
        serve_queues(links, buffers, clock, routing, congestion, o, vl)
    }
}

/// Let a lane forward the packet whose turn it is.
#[inline(always)]
fn serve_queues<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    routing: &RoutesInForce,
    congestion: &mut Spacing<'_>,
    o: u32,
    vl: u8,
) -> Served {
    let (rules, index) = (buffers.rules(), buffers.lane_index(o, vl));
    if buffers.lanes[index].ring == NIL {
        return Served::Nothing;
    }
    if rules.choosy && !choose(links, buffers, clock, routing, o, vl) {
        let short = buffers.lanes.shares.is_short(index);
        return if short { Served::Starved } else { Served::Nothing };
    }
    let id = buffers.first_of(index);
    let packet = buffers.packets[id];
    let blocks = packet.blocks();
    let waited = rules.throttled && buffers.lanes[index].need > 0;
    if !buffers.granted(clock, o, vl, blocks) {
        return Served::Starved;
    }
    if rules.throttled {
        mark(links, buffers, congestion, o, id, waited);
    }
    buffers.turn_ring(links, o, vl, id, packet);
    let mut output = 0;
    if rules.choosy {
        output = buffers.counted(id);
        hold_share(links, buffers, routing, o, id);
    }
    let left_ps = transmit(links, buffers, clock, o, vl, id, blocks);
    if rules.trees && packet.has(BORN | COPY) {
        buffers.left_by_copy(links, clock, id, left_ps);
        return Served::Sent(packet.wire_bytes);
    }
    let (q, lane) =
        (o - u32::from(links.ports[o as usize].local) + packet.input(), packet.input_lane());
    buffers.refund(links, clock, Held { port: q, lane, blocks, output }, left_ps);
    let mut read_ps = None;
    if rules.choosy {
        read_ps = read_begun(links, buffers, clock.now_ps, q, packet.wire_bytes);
    }
    if rules.fifo {
        buffers.read_on(clock, q, lane, read_ps.unwrap_or(left_ps));
    }
    Served::Sent(packet.wire_bytes)
}
