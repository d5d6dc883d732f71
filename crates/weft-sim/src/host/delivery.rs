//! Arrivals at an endpoint: data, which is acknowledged; acknowledgements, which complete sends;
//! and where packets are numbered, what is missing and is repeated.

use crate::host::hosts::{Hosts, Report};
use crate::host::mode::Mode;
use crate::limits::{MAX_NUMBER, NEVER, PACKETS};
use crate::model::framing::PacketKind;
use crate::packet::congestion_hooks::{news_for, notified};
use crate::packet::network::Network;
use crate::state::buffer::occupancy::Held;
use crate::state::calendar::Cold;
use crate::state::packet::{BECN, Packet};
use crate::state::transport::connection::Verdict;
use crate::state::transport::initiator::{COMPLETES, WHOLE, named, rank_of};
use crate::state::transport::message::{Control, Role};

impl<M: Mode<PLAIN>, const PLAIN: bool> Hosts<'_, M, PLAIN> {
    /// A packet has come to an endpoint; the last one of a message completes it.
    pub(crate) fn deliver(&mut self, port: u32, id: u32) {
        let transport = &self.network.scenario.transport;
        let numbered = self.network.rules().numbered;
        let number = if numbered { self.network.buffers.packets.argument(id) } else { 0 };
        let packet = self.network.buffers.packets.remove(id);
        // Endpoints inside nodes have other vertices than the HCAs that packets are routed to.
        let is_there = |vertex| {
            vertex == packet.dst || vertex >= self.network.fabric().n_hcas() || packet.is_of_tree()
        };
        debug_assert!(
            is_there(self.network.links.inputs[port as usize].vertex),
            "a wrong destination"
        );
        let now_ps = self.network.clock.now_ps;
        let Network { clock, links, buffers, .. } = &mut self.network;
        clock.trace(u64::from(port), u64::from(packet.wire_bytes));
        buffers.refund(links, clock, Held::by(&packet, port, 0), now_ps);
        if M::OFFLOADS && packet.is_of_tree() {
            return M::result_arrived(self, packet);
        }
        let throttled = self.network.rules().throttled;
        if throttled && packet.kind().is_about_congestion() {
            let argument = self.network.buffers.packets.argument(id);
            return self.heed(port, packet, argument);
        }
        if numbered {
            return self.deliver_numbered(port, packet, number);
        }
        if packet.kind() != PacketKind::Data {
            if throttled && packet.has(BECN) {
                let pace = self.network.buffers.packets.argument(id);
                let Network { links, congestion, .. } = &mut self.network;
                notified(links, congestion, now_ps, port, pace, 0);
            }
            if self.network.rules().dct && packet.message & WHOLE != 0 {
                let lane = self.network.scenario.steering.lane_before(packet.lane());
                self.network.initiator_answered(packet.message, lane);
            }
            if packet.message & COMPLETES != 0 {
                self.sent(rank_of(packet.message));
            }
            return;
        }
        let payload_bytes = packet.payload_bytes(&self.network.scenario.framing);
        let message = &mut self.network.endpoints.messages[packet.message];
        message.received_bytes += u64::from(payload_bytes);
        let whole = message.received_bytes == message.size_bytes;
        let in_between = message.size_bytes > transport.ack_bytes
            && message.received_bytes.is_multiple_of(transport.ack_bytes);
        let pace = message.pace;
        let mut notice = None;
        if throttled {
            let Network { links, buffers, congestion, .. } = &mut self.network;
            notice = news_for(links, buffers, congestion, now_ps, port, pace, &packet);
        }
        if transport.acknowledge && (whole || in_between) && !self.within_node(port, packet.message)
        {
            let carried = notice.take_if(|argument| *argument == 0);
            self.acknowledge(port, packet.message, whole, carried.map(|_| pace));
        }
        if let Some(argument) = notice {
            self.notify(port, PacketKind::Cnp, pace, argument);
        }
        if whole {
            self.arrived(packet.message);
        }
    }

    /// Acknowledge what has come of a message; the answer also carries the `notice` for a queue
    /// pair.
    fn acknowledge(&mut self, port: u32, id: u32, whole: bool, notice: Option<u32>) {
        let message = &self.network.endpoints.messages[id];
        let completes = whole && message.role == Role::Agreed;
        let initiator = if !self.network.rules().dct {
            0
        } else {
            named(message.queue) | if whole { WHOLE } else { 0 }
        };
        let control = Control {
            dst: self.reply_hca(message.src, message.dst),
            lane: message.lane,
            kind: PacketKind::Ack,
            message: message.src | initiator | if completes { COMPLETES } else { 0 },
            argument: notice.unwrap_or(0),
            becn: notice.is_some(),
        };
        self.network.send_control(port, control);
    }

    // ---- numbered packets -----------------------------------------------------------------

    /// A packet of a connection whose packets are numbered.
    #[cold]
    fn deliver_numbered(&mut self, port: u32, packet: Packet, number: u32) {
        let connection = packet.message;
        match packet.kind() {
            PacketKind::Data => self.receive(port, connection, packet, number),
            PacketKind::Ack => self.acknowledged(connection, number),
            PacketKind::Nak => {
                self.acknowledged(connection, number);
                // An older one than the last acknowledgement is no news.
                if self.network.endpoints.connections[connection].acked == number {
                    self.repeat(connection);
                }
            }
            PacketKind::Cnp | PacketKind::Probe | PacketKind::Echo => unreachable!("heeded before"),
            PacketKind::Up | PacketKind::Down | PacketKind::Flood => {
                unreachable!("they belong to no connection")
            }
        }
    }

    fn receive(&mut self, port: u32, connection: u32, packet: Packet, number: u32) {
        if self.network.rules().throttled {
            // An answer carries a number here, so notifications go by themselves.
            let Network { clock, links, buffers, endpoints, congestion, .. } = &mut self.network;
            let (pace, now_ps) = (endpoints.connections[connection].pace, clock.now_ps);
            if let Some(argument) =
                news_for(links, buffers, congestion, now_ps, port, pace, &packet)
            {
                self.notify(port, PacketKind::Cnp, pace, argument);
            }
        }
        let transport = &self.network.scenario.transport;
        let there = &mut self.network.endpoints.connections[connection];
        match there.judge(number, transport.any_order) {
            Verdict::Again => {
                if there.asks(number, transport.ack_every) {
                    self.answer(port, connection, PacketKind::Ack);
                }
            }
            Verdict::Gap => self.answer(port, connection, PacketKind::Nak),
            Verdict::Ignored => {}
            Verdict::Taken { late } => {
                let flight = there.flight(number).expect("not acknowledged yet");
                let payload_bytes = packet.payload_bytes(&self.network.scenario.framing);
                let message = &mut self.network.endpoints.messages[flight.message];
                message.received_bytes += u64::from(payload_bytes);
                message.n_late += u32::from(late);
                self.step_on(port, connection);
                self.watch_order(port, connection);
            }
        }
    }

    /// Step over all packets that have come: messages are complete in their order, and answered.
    fn step_on(&mut self, port: u32, connection: u32) {
        let transport = &self.network.scenario.transport;
        let mut asked = false;
        // At most one message is complete at a packet, but several where one was late.
        let mut whole = Vec::new();
        while let Some((message, asks)) =
            self.network.endpoints.connections[connection].step(transport.ack_every)
        {
            asked |= asks;
            whole.extend(message);
        }
        if asked && transport.acknowledge {
            self.answer(port, connection, PacketKind::Ack);
        } else if asked {
            // Nothing is lost, so what has come need not be remembered.
            self.forget(connection);
        }
        for id in whole {
            let message = &self.network.endpoints.messages[id];
            assert_eq!(message.received_bytes, message.size_bytes, "every byte comes once");
            self.arrived(id);
        }
    }

    /// Let an event look whether a packet that was overtaken has come.
    fn watch_order(&mut self, port: u32, connection: u32) {
        let Network { scenario, clock, endpoints, .. } = &mut self.network;
        let Some(reorder_ps) = scenario.transport.reorder_ps else { return };
        let there = &mut endpoints.connections[connection];
        if let Some(time_ps) = there.watch_order(port, clock.now_ps, reorder_ps) {
            clock.schedule_cold(time_ps, Cold::Missing(connection));
        }
    }

    /// Report a packet that was overtaken too long ago.
    #[cold]
    pub(crate) fn look_for_missing(&mut self, connection: u32) {
        let Network { scenario, clock, endpoints, .. } = &mut self.network;
        let reorder_ps = scenario.transport.reorder_ps.expect("only then an event looks");
        let there = &mut endpoints.connections[connection];
        let (is_missing, look_ps) = there.look_for_missing(clock.now_ps, reorder_ps);
        let port = there.came_by;
        if let Some(time_ps) = look_ps {
            clock.schedule_cold(time_ps, Cold::Missing(connection));
        }
        if is_missing {
            self.answer(port, connection, PacketKind::Nak);
        }
    }

    fn forget(&mut self, connection: u32) {
        let there = &mut self.network.endpoints.connections[connection];
        let expected = there.expected;
        there.acknowledge(expected, NEVER);
        while there.pop_acknowledged().is_some() {}
    }

    /// Notify the sender of a connection which packet is expected next.
    fn answer(&mut self, port: u32, connection: u32, kind: PacketKind) {
        let there = &self.network.endpoints.connections[connection];
        let control = Control {
            dst: self.reply_hca(there.src, there.dst),
            lane: there.lane,
            kind,
            message: connection,
            argument: there.expected,
            becn: false,
        };
        self.network.send_control(port, control);
    }

    /// The packets of a connection below `number` have come.
    fn acknowledged(&mut self, connection: u32, number: u32) {
        let Network { scenario, clock, endpoints, .. } = &mut self.network;
        let deadline_ps = clock.now_ps + scenario.transport.timeout_ps;
        let there = &mut endpoints.connections[connection];
        if !there.acknowledge(number, deadline_ps) {
            return;
        }
        let src = there.src;
        endpoints.connections.set_timer(clock, connection);
        while let Some(flight) = self.network.endpoints.connections[connection].pop_acknowledged() {
            if flight.agreed {
                self.sent(src);
            }
        }
    }

    /// The timer of a connection: repeat what is not acknowledged, until it has been in vain too
    /// often.
    pub(crate) fn timer(&mut self, connection: u32) {
        let Network { scenario, clock, endpoints, .. } = &mut self.network;
        let retries = scenario.transport.retries;
        let there = &mut endpoints.connections[connection];
        there.timer_ps = NEVER;
        if there.deadline_ps > clock.now_ps {
            return endpoints.connections.set_timer(clock, connection);
        }
        if there.n_repeats == retries {
            there.deadline_ps = NEVER;
            return self.reports.push(Report::Broken(there.src, there.dst));
        }
        there.n_repeats += 1;
        self.repeat(connection);
    }

    fn repeat(&mut self, connection: u32) {
        if !self.network.repeat(connection) {
            let rank = self.network.endpoints.connections[connection].src;
            self.reports.push(Report::Crowded { rank, most: MAX_NUMBER, of: PACKETS });
        }
    }
}
