//! Packets come into input buffers, are routed, and join the queue of their output.

use crate::packet::link_down::{discard, other_path};
use crate::packet::link_errors::runs_dry;
use crate::packet::network::Network;
use crate::packet::transmission::transmit;
use crate::state::buffer::buffers::Buffers;
use crate::state::buffer::occupancy::Held;
use crate::state::calendar::Kind;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::ROUTED;
use crate::state::port::{DOWN, FRAIL, Input};
use weft_fabric::HcaId;

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// A packet is seen at the switch that port `q` belongs to: route it, and queue it. Where the
    /// egress is faster than the ingress it would run dry, so there the packet is stored first.
    #[inline(always)]
    pub(crate) fn arrive(&mut self, q: u32, input: Input, id: u32) {
        let rules = self.rules();
        let packet = self.buffers.packets[id];
        if !packet.has(ROUTED) {
            self.clock.trace(u64::from(q), u64::from(packet.wire_bytes));
            if rules.fifo {
                self.buffers.packets[id].set(ROUTED, true);
                if !self.buffers.is_next(&mut self.clock, q, id) {
                    return;
                }
            }
        }
        let (mut o, mut vl) = self.route(q, &input, id, &packet);
        let Network { scenario, clock, links, buffers, routing, .. } = self;
        if rules.watched && routing.is_closed(links, o, HcaId(packet.dst)) {
            let steering = &scenario.steering;
            let other = other_path(links, buffers, routing, steering, clock.now_ps, o, id);
            if other.is_none() && links.ports[o as usize].has(DOWN) {
                let in_ps = packet.tail_ps.max(clock.now_ps);
                return discard(links, buffers, clock, q, id, o, in_ps);
            }
            (o, vl) = other.unwrap_or((o, vl));
        }
        let (ingress, egress) = (input.link, links.ports[o as usize].link);
        let faster = || links.kinds[egress as usize].rate > links.kinds[ingress as usize].rate;
        let runs_dry = if rules.watched && input.has(FRAIL) {
            runs_dry(links, &packet, clock.now_ps, o)
        } else {
            ingress != egress && packet.tail_ps > clock.now_ps && faster()
        };
        if runs_dry {
            buffers.packets[id].set(ROUTED, true);
            return clock.schedule(packet.tail_ps, Kind::Arrive, q, id);
        }
        if !pass(links, buffers, clock, q, o, vl, id) {
            buffers.enqueue(links, o, vl, input.local, id);
            self.serve(o);
        }
    }
}

/// Send a packet at once where no other wants to leave by `o`: what queueing and serving it would
/// do as well. Whether it could.
#[inline(always)]
fn pass<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    q: u32,
    o: u32,
    vl: u8,
    id: u32,
) -> bool {
    let (rules, port) = (buffers.rules(), &links.ports[o as usize]);
    let turns = rules.fifo || rules.choosy || rules.laned;
    if turns || port.work != 0 || port.busy_until_ps > clock.now_ps {
        return false;
    }
    let packet = buffers.packets[id];
    let (index, blocks) = (buffers.lane_index(o, vl), packet.blocks());
    if !buffers.lanes.has_credit(index, clock.now_ps, blocks) {
        return false;
    }
    buffers.packets[id].set_lane(vl);
    buffers.lanes.load(index, blocks);
    let left_ps = transmit(links, buffers, clock, o, vl, id, blocks);
    buffers.refund(links, clock, Held::by(&packet, q, 0), left_ps);
    if !rules.elide {
        links.kick(clock, o, left_ps);
    }
    true
}
