//! Endpoints inject: messages enter their queue pairs' ring, and leave it packet by packet.

use crate::limits::MAX_INITIATORS;
use crate::model::framing::PacketKind;
use crate::packet::congestion_hooks::{note_probe, number_pace, probe, space};
use crate::packet::crossbar::{has_share, hold_share};
use crate::packet::network::Network;
use crate::packet::numbering::number;
use crate::packet::transmission::transmit;
use crate::state::arbiter::Served;
use crate::state::buffer::buffers::Buffers;
use crate::state::calendar::Cold;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::packet::{BECN, EMPTY, FIRST, Packet};
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use crate::state::transport::initiator::{INITIATOR_BIT, rank_of};
use crate::state::transport::message::{Control, Role};
use crate::state::transport::sender::{Next, Senders, Turn};
use crate::state::transport::spacing::Spacing;
use weft_fabric::{HcaId, PortId};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Hand a message to its endpoint: `port` and `lane` say which.
    pub(crate) fn send(&mut self, id: u32) {
        let rules = self.rules();
        let Network { scenario, clock, links, routing, endpoints, congestion, .. } = self;
        if rules.dct {
            endpoints.give_to_initiator(id);
        }
        if rules.throttled {
            number_pace(scenario, links, routing, endpoints, congestion, id);
        }
        if endpoints.senders.queue(id, &mut endpoints.messages).is_none()
            && endpoints.admits(congestion, clock, id)
        {
            self.ready(id);
        }
    }

    /// The first message of a queue pair may leave.
    pub(crate) fn ready(&mut self, id: u32) {
        let (port, vl) = (self.endpoints.messages[id].port, self.endpoints.messages[id].lane);
        let sender = self.buffers.lanes[self.buffers.lane_index(port, vl)].queues;
        self.endpoints.senders.enter(sender, id, &mut self.endpoints.messages);
        self.links.ports[port as usize].set_work(vl, true);
        self.serve(port);
    }

    /// An acknowledgement of a whole message has come back to its initiator.
    #[cold]
    pub(crate) fn initiator_answered(&mut self, word: u32, lane: u8) {
        let (src, number) = (rank_of(word), (word >> INITIATOR_BIT) & MAX_INITIATORS);
        let Network { clock, endpoints, congestion, .. } = self;
        let Some(id) = endpoints.initiators.answered(src, lane, number) else { return };
        if endpoints.admits(congestion, clock, id) {
            self.ready(id);
        }
    }

    /// Queue a packet without payload at an endpoint; it goes before the data of its lane.
    pub(crate) fn send_control(&mut self, port: u32, control: Control) {
        let Control { dst, lane, kind, message, argument, becn } = control;
        let vl = self.control_lane(port, dst).unwrap_or(lane);
        let bytes = self.scenario.framing.control_bytes(kind);
        let mut packet = Packet::new(kind, message, dst, vl, bytes);
        packet.set(BECN, becn);
        let Network { links, buffers, endpoints, .. } = self;
        queue_ahead(links, buffers, &mut endpoints.senders, port, packet, argument);
        self.serve(port);
    }

    /// The lane of a packet without payload from an endpoint, where paths have lanes of their own.
    fn control_lane(&self, port: u32, dst: u32) -> Option<u8> {
        let paths = self.scenario.steering.paths.as_ref().filter(|_| !PLAIN)?;
        let src = HcaId(self.fabric().ports[port as usize].vertex.0);
        Some(paths.first_lane(src, HcaId(dst), PortId(port)))
    }

    #[inline(never)]
    pub(crate) fn serve_endpoint(&mut self, o: u32, vl: u8) -> Served {
        let index = self.buffers.lane_index(o, vl);
        let sender = self.buffers.lanes[index].queues;
        match self.endpoints.senders.next(sender, self.clock.now_ps, &self.endpoints.messages) {
            Next::Idle => Served::Nothing,
            Next::NotBefore(time_ps) => {
                self.links.kick(&mut self.clock, o, time_ps);
                Served::Nothing
            }
            Next::Control(id) => self.send_next_control(o, vl, id),
            Next::After(before) if self.rules().trees && self.is_of_tree(before) => {
                self.send_segment(o, vl, before)
            }
            Next::After(before) => self.send_data(o, vl, before),
        }
    }

    /// Send the packet without payload that is the first of an endpoint's lane.
    fn send_next_control(&mut self, o: u32, vl: u8, id: u32) -> Served {
        let rules = self.rules();
        let Network { clock, links, buffers, routing, endpoints, congestion, .. } = self;
        let sender = buffers.lanes[buffers.lane_index(o, vl)].queues;
        let packet = buffers.packets[id];
        if !may_leave(links, buffers, clock, routing, o, &packet) {
            return Served::Starved;
        }
        if rules.throttled {
            note_probe(congestion, &packet, clock.now_ps);
        }
        endpoints.senders.control_served(sender, &buffers.packets);
        inject(links, buffers, clock, routing, &endpoints.senders, o, id);
        Served::Sent(packet.wire_bytes)
    }

    /// Send a packet of the message after `before` in the ring of an endpoint's lane.
    fn send_data(&mut self, o: u32, vl: u8, before: u32) -> Served {
        let rules = self.rules();
        let Network { scenario, clock, links, buffers, routing, endpoints, congestion, .. } = self;
        let sender = buffers.lanes[buffers.lane_index(o, vl)].queues;
        let id = endpoints.messages[before].ring;
        let message = &endpoints.messages[id];
        let (left_bytes, first) = (message.size_bytes - message.sent_bytes, !message.begun);
        let payload_bytes = left_bytes.min(u64::from(scenario.mtu_bytes)) as u32;
        let bytes = scenario.framing.wire_bytes(payload_bytes, first);
        let mut packet = Packet::new(PacketKind::Data, id, message.dst_hca, vl, bytes);
        packet.set(FIRST, first);
        packet.set(EMPTY, payload_bytes == 0);
        if !may_leave(links, buffers, clock, routing, o, &packet) {
            return Served::Starved;
        }
        let message = &mut endpoints.messages[id];
        let pace = message.pace;
        message.begun = true;
        message.sent_bytes += u64::from(payload_bytes);
        let finished = u64::from(payload_bytes) == left_bytes;
        let unanswered = finished && !scenario.transport.acknowledge;
        let agreed_by = (unanswered && message.role == Role::Agreed).then_some(message.src);
        if first {
            let begin_ps = clock.now_ps + endpoints.message_gap_ps;
            endpoints.senders.begun(sender, vl, buffers.n_lanes, begin_ps);
        }
        let pause_ps = if rules.throttled {
            space(links, congestion, clock.now_ps, o, pace, bytes)
        } else {
            None
        };
        let turn = match pause_ps {
            _ if finished => Turn::Ends,
            Some(_) if !endpoints.senders.by_lane => Turn::Pauses,
            _ => Turn::Comes,
        };
        go_round(endpoints, congestion, clock, sender, before, turn);
        match pause_ps {
            Some(next_ps) if endpoints.senders.by_lane => endpoints.senders.pause(sender, next_ps),
            Some(next_ps) if !finished => clock.schedule_cold(next_ps, Cold::Ready(id)),
            _ => {}
        }
        let packet_id = buffers.packets.add(packet);
        let left_ps = inject(links, buffers, clock, routing, &endpoints.senders, o, packet_id);
        if rules.numbered {
            number(&scenario.transport, &mut buffers.packets, endpoints, clock, packet_id, left_ps);
        }
        if rules.throttled
            && let Some(packet) =
                probe(&scenario.framing, congestion, clock.now_ps, pace, packet.dst)
        {
            queue_ahead(links, buffers, &mut endpoints.senders, o, packet, 0);
        }
        if let Some(rank) = agreed_by {
            clock.schedule_cold(left_ps, Cold::Sent(rank));
        }
        Served::Sent(packet.wire_bytes)
    }
}

/// A packet of the message after `before` in a sender's ring leaves: where that was its last, the
/// next message of its queue pair enters, if it may.
#[inline(always)]
pub(crate) fn go_round(
    endpoints: &mut Endpoints,
    congestion: &Spacing<'_>,
    clock: &mut Clock,
    sender: u32,
    before: u32,
    turn: Turn,
) {
    if let Some(next) = endpoints.senders.served(sender, before, turn, &mut endpoints.messages)
        && endpoints.admits(congestion, clock, next)
    {
        endpoints.senders.enter(sender, next, &mut endpoints.messages);
    }
}

/// Queue a packet at an endpoint; it goes before the data of its lane.
pub(crate) fn queue_ahead<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    senders: &mut Senders,
    port: u32,
    packet: Packet,
    argument: u32,
) {
    let vl = packet.lane();
    let id = buffers.packets.add(packet);
    if buffers.rules().numbered || packet.has(BECN) {
        buffers.packets.set_argument(id, argument);
    }
    let lane = buffers.lane_index(port, vl);
    senders.queue_control(buffers.lanes[lane].queues, id, &mut buffers.packets);
    // A lane that lacks credit for data may have enough for this.
    buffers.lanes.forget_grant(lane);
    links.ports[port as usize].set_work(vl, true);
}

/// Send a packet of an endpoint that has credit for it; the time its tail has left.
#[inline(always)]
pub(crate) fn inject<const PLAIN: bool>(
    links: &mut Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    routing: &RoutesInForce,
    senders: &Senders,
    o: u32,
    id: u32,
) -> u64 {
    let packet = buffers.packets[id];
    let (vl, blocks) = (packet.lane(), packet.blocks());
    let index = buffers.lane_index(o, vl);
    links.ports[o as usize].set_work(vl, !senders.is_idle(buffers.lanes[index].queues));
    buffers.lanes.load(index, blocks);
    if buffers.rules().choosy {
        hold_share(links, buffers, routing, o, id);
    }
    transmit(links, buffers, clock, o, vl, id, blocks)
}

/// Whether the packet whose turn it is at an endpoint has credit and leaves its output's share;
/// else its lane is woken when that may have changed, and the packet keeps its turn meanwhile.
#[inline(always)]
fn may_leave<const PLAIN: bool>(
    links: &Links,
    buffers: &mut Buffers<PLAIN>,
    clock: &mut Clock,
    routing: &RoutesInForce,
    o: u32,
    packet: &Packet,
) -> bool {
    let vl = packet.lane();
    if buffers.rules().choosy {
        let short = !has_share(links, buffers, routing, clock.now_ps, o, packet);
        let index = buffers.lane_index(o, vl);
        buffers.lanes.shares.set_short(index, short);
        if short {
            buffers.lanes.forget_grant(index);
            buffers.await_credit(clock, o, vl);
            return false;
        }
    }
    buffers.granted(clock, o, vl, packet.blocks())
}
