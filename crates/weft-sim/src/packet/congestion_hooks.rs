//! What congestion control does to packets: switches mark them, receivers notify senders, senders
//! space them.

use crate::model::congestion::defaults::Sent;
use crate::model::congestion::endpoint::{Came, Seen};
use crate::model::congestion::law::{Congestion, Law, State};
use crate::model::congestion::marking::Leaving;
use crate::model::congestion::rtt::Idle;
use crate::model::framing::PacketKind;
use crate::packet::network::Network;
use crate::state::packet::{FECN, Packet};
use crate::state::port::{ENDPOINT, INSIDE, TO_ENDPOINT};
use crate::state::transport::pace::Pace;
use crate::state::transport::sender::key_of;

/// Ports of a way that is walked to see how long it takes, at most.
const MOST_HOPS: usize = 64;

impl<'a, const PLAIN: bool> Network<'a, PLAIN> {
    pub(crate) fn congestion(&self) -> &'a Congestion {
        let congestion = self.scenario.congestion.as_ref();
        congestion.expect("only a scenario with congestion control gets here")
    }

    // ---- switches -------------------------------------------------------------------------

    /// Mark a packet that is about to leave a switch by lane `vl` of port `o`, if it has to be.
    /// `starved`: the lane has waited for credit since its last packet.
    pub(crate) fn mark(&mut self, o: u32, vl: u8, id: u32, starved: bool) {
        let (port, packet) = (&self.links.ports[o as usize], &self.buffers.packets[id]);
        if packet.kind() != PacketKind::Data || port.has(INSIDE) {
            return;
        }
        let index = self.lane_index(o, vl);
        let leaving = Leaving {
            behind_blocks: self.buffers.lanes.backlog_of(index, self.buffers.full)
                - packet.blocks(),
            blocks: packet.blocks(),
            starved,
            to_host: port.has(TO_ENDPOINT),
            draws: (self.scenario.seed ^ u64::from(o) << 40, port.xmit_packets),
        };
        let marking = &self.congestion().marking;
        if self.congestion.marker.marks(marking, index, leaving) {
            self.buffers.packets[id].set(FECN, true);
            self.congestion.told[o as usize].marked += 1;
        }
    }

    // ---- senders --------------------------------------------------------------------------

    /// Number the queue pair of a message that is handed over: what slows it down goes by that.
    pub(crate) fn number_pace(&mut self, id: u32) {
        let congestion = self.congestion();
        let message = &self.endpoints.messages[id];
        let key = if congestion.by_lane {
            self.lane_index(message.port, message.lane) as u64
        } else {
            key_of(message)
        };
        if let Some(number) = self.congestion.paces.number(key) {
            self.endpoints.messages[id].pace = number;
            return;
        }
        // Packets of trees are neither marked nor answered, and go no way that tables say.
        let wants_idle = congestion.law.wants_idle() && !message.role.is_of_tree();
        let idle = if wants_idle { self.idle(id) } else { Idle::default() };
        let message = &self.endpoints.messages[id];
        let pace = Pace {
            next_ps: 0,
            free_ps: u64::MAX,
            told_ps: None,
            state: congestion.law.begin(idle),
            src: message.src,
            dst: message.dst,
            lane: message.lane,
            ends: [self.links.ports[message.port as usize].vertex, message.dst_vertex],
            seen: Seen::default(),
        };
        self.endpoints.messages[id].pace = self.congestion.paces.add(key, pace);
    }

    /// What a probe of a message's queue pair takes there and back in an idle network that is
    /// routed by its tables; no bound where the way leads through the insides of nodes.
    fn idle(&self, id: u32) -> Idle {
        if self.fabric().inside.is_some() {
            return Idle { base_ps: u64::MAX, packets_ps: 0 };
        }
        let message = &self.endpoints.messages[id];
        let from_hca = self.links.ports[message.port as usize].vertex;
        let to_port = self.fabric().hca_port(weft_fabric::HcaId(message.dst_hca)).0;
        let there = self.idle_way(message.port, message.dst_hca);
        let back = self.idle_way(to_port, from_hca);
        Idle {
            base_ps: there.base_ps + back.base_ps,
            packets_ps: there.packets_ps + back.packets_ps,
        }
    }

    /// What a probe takes from a port to the HCA `dst`, cut-through, and a whole packet on each
    /// link of its way.
    fn idle_way(&self, from: u32, dst: u32) -> Idle {
        let mut o = from;
        let framing = &self.scenario.framing;
        let bits = u64::from(framing.control_bytes(PacketKind::Probe)) * 8;
        let packet_bits = u64::from(framing.wire_bytes(self.scenario.mtu_bytes, true)) * 8;
        let first = &self.links.kinds[self.links.ports[o as usize].link as usize];
        let mut way = Idle { base_ps: first.rate.duration_of_bits(bits).0, packets_ps: 0 };
        for _ in 0..MOST_HOPS {
            let port = &self.links.ports[o as usize];
            let link = &self.links.kinds[port.link as usize];
            way.base_ps += link.delay_ps;
            way.packets_ps += link.rate.duration_of_bits(packet_bits).0;
            if self.links.ports[port.peer as usize].has(ENDPOINT) {
                return way;
            }
            way.base_ps += link.route_ps;
            o = self.static_route(port.peer, dst);
        }
        Idle { base_ps: u64::MAX / 4, packets_ps: 0 }
    }

    /// When the queue pair of a message may send again that sends a packet of so many bytes now by
    /// port `o`; none where it need not wait longer than its link.
    pub(crate) fn space(&mut self, o: u32, id: u32, bytes: u32) -> Option<u64> {
        let congestion = self.congestion();
        let rate = self.links.kinds[self.links.ports[o as usize].link as usize].rate;
        let sent = Sent {
            now_ps: self.clock.now_ps,
            idle_ps: 0,
            bytes,
            duration_ps: rate.duration_of_bits(u64::from(bytes) * 8).0,
            link_bits_per_s: rate.0,
        };
        let pace = &mut self.congestion.paces[self.endpoints.messages[id].pace];
        let sent = Sent { idle_ps: self.clock.now_ps.saturating_sub(pace.free_ps), ..sent };
        let delay_ps = congestion.law.delay_ps(&mut pace.state, sent);
        pace.free_ps = self.clock.now_ps + sent.duration_ps + delay_ps;
        if delay_ps == 0 {
            return None;
        }
        pace.next_ps = pace.free_ps;
        Some(pace.next_ps)
    }

    /// Queue a probe of the queue pair whose data has just left, if its law wants one now.
    pub(crate) fn probe(&mut self, port: u32, pace: u32, dst: u32) {
        let now_ps = self.clock.now_ps;
        let here = &mut self.congestion.paces[pace];
        if let State::Rtt(window) = &mut here.state
            && window.wants_probe(now_ps, self.scenario.mtu_bytes)
        {
            window.begin_probe(now_ps);
            let bytes = self.scenario.framing.control_bytes(PacketKind::Probe);
            let packet = Packet::new(PacketKind::Probe, pace, dst, here.lane, bytes);
            self.queue_ahead(port, packet, 0);
        }
    }

    /// A packet without payload leaves an endpoint: a probe's time begins.
    pub(crate) fn note_probe(&mut self, id: u32) {
        let packet = &self.buffers.packets[id];
        if packet.kind() == PacketKind::Probe
            && let State::Rtt(window) = &mut self.congestion.paces[packet.message].state
        {
            window.sent_ps = self.clock.now_ps;
        }
    }

    /// A notification for a queue pair has come to its sender's port.
    pub(crate) fn notified(&mut self, port: u32, pace: u32, argument: u32) {
        self.congestion.told[port as usize].rcv_becn += 1;
        self.heed(port, pace, argument);
    }

    /// A queue pair is told about its way; `argument` is what its law makes of it.
    pub(crate) fn heed(&mut self, port: u32, pace: u32, argument: u32) {
        let rate = self.links.kinds[self.links.ports[port as usize].link as usize].rate;
        let law = &self.congestion().law;
        law.told(&mut self.congestion.paces[pace].state, self.clock.now_ps, rate.0, argument);
    }

    // ---- receivers ------------------------------------------------------------------------

    /// What the sender of a packet with payload is to be told that has come to a host's port, if
    /// anything.
    pub(crate) fn news_for(&mut self, port: u32, pace: u32, packet: &Packet) -> Option<u32> {
        let congestion = self.congestion();
        if let Law::Endpoint(law) = &congestion.law {
            let input = &self.links.inputs[port as usize];
            let (feeder, link) = (input.feeder, &self.links.kinds[input.link as usize]);
            let bits = u64::from(self.scenario.mtu_bytes) * 8;
            let own_bits = u64::from(packet.wire_bytes) * 8;
            let came = Came {
                pace,
                now_ps: self.clock.now_ps,
                backlog_blocks: self
                    .buffers
                    .lanes
                    .backlog_of(self.lane_index(feeder, packet.lane()), self.buffers.full),
                duration_ps: link.rate.duration_of_bits(own_bits).0,
                packet_ps: link.rate.duration_of_bits(bits).0,
            };
            let door = &mut self.congestion.told[port as usize].door;
            return law.tells(door, &mut self.congestion.paces[pace].seen, came);
        }
        if !packet.has(FECN) {
            return None;
        }
        self.congestion.told[port as usize].rcv_fecn += 1;
        let (now_ps, interval_ps) = (self.clock.now_ps, congestion.cnp_interval_ps);
        let pace = &mut self.congestion.paces[pace];
        let due = pace.told_ps.is_none_or(|told_ps| told_ps + interval_ps <= now_ps);
        if due {
            pace.told_ps = Some(now_ps);
        }
        due.then_some(0)
    }
}
