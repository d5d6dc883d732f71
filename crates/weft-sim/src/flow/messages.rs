//! Messages of queue pairs as flows: when they begin, come, and are answered.

use crate::flow::flows::Flows;
use crate::flow::latency::{rounded_up, time_of};
use crate::flow::paths::Trip;
use crate::host::hosts::Hosts;
use crate::limits::{CLOCK_END_PS, NEVER};
use crate::model::steering::Choice;
use crate::packet::network::Network;
use crate::packet::routing::adaptive::flow_of_answers;
use crate::packet::routing::node_routing::answered_vertex;
use crate::state::calendar::Cold;
use crate::state::transport::message::{Message, Role};
use weft_traffic::mixed as mix;

impl Hosts<'_, Flows, false> {
    /// The first message of a queue pair may leave, and those after it that are no flows.
    #[inline(never)]
    pub(crate) fn ready_flow(&mut self, id: u32) {
        let mut next = Some(id);
        while let Some(id) = next {
            if !self.has_its_turn(id) {
                return;
            }
            if self.network.endpoints.messages[id].size_bytes > 0 {
                return self.begin_flow(id);
            }
            self.send_empty(id);
            next = self.next_to_enter(id);
        }
    }

    /// The message that follows a finished one in its queue pair, if it may leave now.
    pub(crate) fn next_to_enter(&mut self, id: u32) -> Option<u32> {
        let Network { clock, endpoints, congestion, .. } = &mut self.network;
        let next = endpoints.senders.over(id, &endpoints.messages)?;
        endpoints.admits(congestion, clock, next).then_some(next)
    }

    /// Whether a message may begin: messages of an endpoint begin a gap apart. Else its
    /// event is scheduled.
    pub(crate) fn has_its_turn(&mut self, id: u32) -> bool {
        let message = &mut self.network.endpoints.messages[id];
        if self.network.endpoints.message_gap_ps == 0 || message.begun {
            return true;
        }
        message.begun = true;
        let begin_ps = &mut self.mode.begin_ps[message.port as usize];
        let time_ps = self.network.clock.now_ps.max(*begin_ps);
        *begin_ps = (time_ps + self.network.endpoints.message_gap_ps).min(2 * CLOCK_END_PS);
        if time_ps > self.network.clock.now_ps {
            self.network.clock.schedule_cold(time_ps, Cold::Ready(id));
        }
        time_ps == self.network.clock.now_ps
    }

    pub(crate) fn trip_of(&self, message: &Message) -> Trip {
        let hashed = self.network.scenario.steering.choice == Choice::Hash;
        let pair = u64::from(message.src) << 32 | u64::from(message.dst);
        Trip {
            port: message.port,
            dst_hca: message.dst_hca,
            dst_vertex: message.dst_vertex,
            lane: message.lane,
            flow: if hashed { mix(pair) } else { 0 },
        }
    }

    /// A message without payload is one packet.
    pub(crate) fn send_empty(&mut self, id: u32) {
        let message = self.network.endpoints.messages[id];
        let path = self.path(self.trip_of(&message));
        let request = self.mode.paths[path].request;
        self.count(path, request.bytes, 1);
        let come_ps = self.network.clock.now_ps.max(message.clear_ps()) + request.latency_ps;
        self.come_at(id, come_ps);
        if message.role == Role::Agreed && !self.network.scenario.transport.acknowledge {
            let rate = self.network.links.kinds
                [self.network.links.ports[message.port as usize].link as usize]
                .rate;
            let left_ps =
                self.network.clock.now_ps + rounded_up(time_of(request.bytes, rate.0 as f64));
            self.network.clock.schedule_cold(left_ps, Cold::Sent(message.src));
        }
    }

    /// Let a message come at that time.
    pub(crate) fn come_at(&mut self, id: u32, come_ps: u64) {
        self.network.endpoints.messages[id].set_come_ps(come_ps);
        self.network.clock.schedule_cold(come_ps, Cold::Come(id));
    }

    /// Count what crosses the links of a path.
    pub(crate) fn count(&mut self, path: usize, bytes: u64, n_packets: u64) {
        let path = &mut self.mode.paths[path];
        self.network.links.hops += n_packets * path.n_hops();
        path.bytes += bytes;
        path.n_packets += n_packets;
    }

    /// Let ports have what was counted of a path.
    pub(crate) fn settle_count(&mut self, path: usize) {
        let path = &mut self.mode.paths[path];
        let (bytes, n_packets) =
            (std::mem::take(&mut path.bytes), std::mem::take(&mut path.n_packets));
        for each in &path.uses {
            if each.weight == 1.0 {
                let port = &mut self.network.links.ports[each.link as usize];
                port.xmit_bytes += bytes;
                port.xmit_packets += n_packets;
            } else {
                let parts = &mut self.mode.parts[each.link as usize];
                parts[0] += bytes as f64 * each.weight;
                parts[1] += n_packets as f64 * each.weight;
            }
        }
    }

    /// Let ports have all that was counted; what split flows have sent is rounded to whole bytes
    /// and packets, once for all.
    pub(crate) fn settle_counts(&mut self) {
        (0..self.mode.paths.len()).for_each(|path| self.settle_count(path));
        for (port, parts) in self.network.links.ports.iter_mut().zip(&mut self.mode.parts) {
            port.xmit_bytes += parts[0].round() as u64;
            port.xmit_packets += parts[1].round() as u64;
            *parts = [0.0; 2];
        }
    }
}

impl Hosts<'_, Flows, false> {
    /// An event looks whether all of a message has come.
    pub(crate) fn come(&mut self, id: u32) {
        // An event of a flow that has met others since may come too early or too late.
        if self.network.endpoints.messages[id].come_ps() != self.network.clock.now_ps
            || !self.is_over(id)
        {
            return;
        }
        let message = &mut self.network.endpoints.messages[id];
        message.set_come_ps(NEVER);
        message.received_bytes = message.size_bytes;
        let message = *message;
        let path = self.path(self.trip_of(&message));
        let port = self.mode.paths[path].arrival;
        if message.size_bytes > 0 {
            let memo = self.mode.paths[path].memo_of(message.size_bytes);
            let (bytes, n_packets) = memo.unwrap_or_else(|| self.wire_of(message.size_bytes));
            self.count(path, bytes, n_packets);
        }
        let network = &mut self.network;
        if !message.role.is_agreement() {
            network.clock.trace_unordered(port.into(), message.size_bytes);
        }
        if network.scenario.transport.acknowledge && !self.within_node(port, id) {
            self.network.endpoints.messages[id].ready_ps = self.acknowledge_fluid(port, &message);
        }
        self.arrived(id);
    }

    /// The path of answers to what has come to a rank from another, at `port`.
    pub(crate) fn answer_path(&mut self, port: u32, message: &Message) -> usize {
        let dst_hca = self.reply_hca(message.src, message.dst);
        let hashed = self.network.scenario.steering.choice == Choice::Hash;
        let trip = Trip {
            port,
            dst_hca,
            dst_vertex: answered_vertex(self.network.scenario, message.src),
            lane: message.lane,
            flow: if hashed { flow_of_answers(dst_hca) } else { 0 },
        };
        self.path(trip)
    }

    /// Answer all of a message's packets that ask for it; the last answer completes it. When
    /// another packet may follow.
    pub(crate) fn acknowledge_fluid(&mut self, port: u32, message: &Message) -> u64 {
        let path = self.answer_path(port, message);
        let answer = self.mode.paths[path].answer;
        let ack_bytes = self.network.scenario.transport.ack_bytes;
        let n_answers = match message.size_bytes <= ack_bytes {
            true => 1,
            false => message.size_bytes.div_ceil(ack_bytes),
        };
        self.count(path, n_answers * answer.bytes, n_answers);
        let now_ps = self.network.clock.now_ps;
        if message.role == Role::Agreed {
            self.sent_at(message.src, now_ps + answer.latency_ps);
        }
        now_ps + answer.behind_ps
    }
}
