//! Agreements of two processors, foreseen.
//!
//! A rendezvous asks, is answered and begins; each step is an event and a look of a processor.
//! Where processors cost nothing and both ranks wait until all they have begun is done, nothing can
//! come between: the data begins when the request and the go-ahead have crossed, which is known
//! when the later of send and receive is posted. INVARIANT: nothing here happens that `"elide":
//! false` does not do as well, at the same times.

use crate::document::Matching;
use crate::flow::flows::Flows;
use crate::host::hosts::Hosts;
use crate::host::rank::{Arrival, waits_for_all};
use crate::model::scenario::ValidScenario;
use crate::state::calendar::Cold;
use crate::state::transport::message::{Message, Role};
use crate::state::transport::sender::key_of_pair;
use weft_traffic::Exchange;

/// Whether processors cost nothing, so that they answer the moment they are asked.
pub(crate) fn is_foreseen(scenario: &ValidScenario) -> bool {
    let (hosts, noise) = (&scenario.hosts, &scenario.faults.noise);
    hosts.cost_nothing()
        && noise.iter().all(Option::is_none)
        && hosts.message_gap_ps == 0
        && hosts.matching.by == Matching::Software
        && hosts.matching.ps_per_entry == 0
        && scenario.fabric.inside.is_none()
}

impl Hosts<'_, Flows, false> {
    /// A rank sends one message more.
    pub(crate) fn count_turn(&mut self, message: &mut Message) {
        let rank = &mut self.ranks[message.src as usize];
        (rank.turn, rank.last_peer) = (rank.turn.wrapping_add(1), message.dst);
        message.set_turn(rank.turn);
    }

    /// Ask for the go-ahead of a message without an event, if what comes of it is known; whether it
    /// was.
    pub(crate) fn ask_ahead(&mut self, id: u32) -> bool {
        let Message { src, dst, lane, key, .. } = self.network.endpoints.messages[id];
        if !self.mode.foreseen || !self.ranks[src as usize].sends_only_this() {
            return false;
        }
        let there = &self.ranks[dst as usize];
        let posted = there.queues.awaits(key);
        let is_free = waits_for_all(there.waiting)
            && there.n_sends() <= u32::from(there.last_peer != src)
            && !self.network.endpoints.senders.has(key_of_pair(dst, src, lane));
        if posted && !is_free {
            return false;
        }
        let mut request = self.request(id);
        (request.start_ps, request.ready_ps) =
            self.cross_ahead(&request, self.network.clock.now_ps);
        let model = &self.network.scenario.hosts.matching;
        if posted {
            self.ranks[dst as usize].queues.arrive(model, key, id);
            self.agree_ahead(id, request.ready_ps);
        } else {
            let request = self.network.endpoints.messages.add(request);
            self.ranks[dst as usize].queues.arrive(model, key, request);
        }
        true
    }

    fn request(&self, id: u32) -> Message {
        let message = &self.network.endpoints.messages[id];
        let request = self.control_message(message.src, message.dst, Role::Request(id));
        Message { key: message.key, ..request }
    }

    /// Let a message without payload cross from `leave_ps` on: when it has come, and when the
    /// answer to it has left, if there is one.
    fn cross_ahead(&mut self, message: &Message, leave_ps: u64) -> (u64, u64) {
        let path = self.path(self.trip_of(message));
        let (single, port) = (self.mode.paths[path].request, self.mode.paths[path].arrival);
        self.count(path, single.bytes, 1);
        let come_ps = leave_ps + single.latency_ps;
        if !self.network.scenario.transport.acknowledge {
            return (come_ps, come_ps);
        }
        let path = self.answer_path(port, message);
        let answer = self.mode.paths[path].answer;
        self.count(path, answer.bytes, 1);
        (come_ps, come_ps + answer.behind_ps)
    }

    /// The go-ahead for a message leaves at `leave_ps`: its data may begin when that has come.
    fn agree_ahead(&mut self, id: u32, leave_ps: u64) {
        let Message { src, dst, .. } = self.network.endpoints.messages[id];
        let answer = self.control_message(dst, src, Role::GoAhead(id));
        let (come_ps, clear_ps) = self.cross_ahead(&answer, leave_ps);
        self.network.endpoints.messages[id].set_clear_ps(clear_ps);
        self.agreed_at(id, come_ps);
    }

    /// A message may leave its rank at `time_ps`.
    pub(crate) fn agreed_at(&mut self, id: u32, time_ps: u64) {
        let src = self.network.endpoints.messages[id].src;
        self.ranks[src as usize].agreed.push((time_ps, id));
        self.network.clock.schedule_cold(time_ps, Cold::Agreed(src));
    }

    /// Let a rank's messages go that were agreed on for now, in the order in which it sent them.
    pub(crate) fn release_agreed(&mut self, number: u32) {
        let now_ps = self.network.clock.now_ps;
        while let Some(place) = self.first_agreed(number, now_ps) {
            let (_, id) = self.ranks[number as usize].agreed.swap_remove(place);
            self.release(id);
        }
    }

    fn first_agreed(&self, number: u32, now_ps: u64) -> Option<usize> {
        let agreed = &self.ranks[number as usize].agreed;
        let due = (0..agreed.len()).filter(|place| agreed[*place].0 == now_ps);
        due.min_by_key(|place| self.network.endpoints.messages[agreed[*place].1].turn())
    }

    /// A receive is posted whose request was foreseen: answer it, if it is known how; whether it
    /// was dealt with.
    pub(crate) fn meet_ahead(&mut self, number: u32, id: u32, exchange: &Exchange) -> bool {
        let network = &mut self.network;
        let request = network.endpoints.messages[id];
        let Role::Request(data) = request.role else { return false };
        if !self.mode.foreseen || request.start_ps <= network.clock.now_ps {
            return false;
        }
        let rank = &self.ranks[number as usize];
        let is_free = waits_for_all(exchange.wait)
            && rank.n_sends() == 0
            && exchange.send.is_none_or(|send| send.peer != request.src)
            && !network.endpoints.senders.has(key_of_pair(number, request.src, request.lane));
        if is_free {
            network.endpoints.messages.remove(id);
            self.agree_ahead(data, request.ready_ps);
            return true;
        }
        // It has not come yet, and who knows what the rank does when it comes.
        network.clock.schedule_cold(request.start_ps, Cold::Local(id));
        self.ranks[request.src as usize].in_flight += 1;
        let model = &self.network.scenario.hosts.matching;
        self.ranks[number as usize].queues.post(model, request.key);
        true
    }

    /// Answer a request at once, if it was foreseen and nothing is before the answer; whether it
    /// was answered.
    pub(crate) fn answer_ahead(&mut self, data: u32, request: &Message) -> bool {
        let network = &self.network;
        let key = key_of_pair(request.dst, request.src, request.lane);
        if request.start_ps == 0 || !self.mode.foreseen || network.endpoints.senders.has(key) {
            return false;
        }
        let leave_ps = network.clock.now_ps.max(request.ready_ps);
        self.agree_ahead(data, leave_ps);
        true
    }

    /// Let a rank that waits for all have a message without a look of its processor; whether it
    /// does.
    pub(crate) fn takes_at_once(&mut self, id: u32, message: &Message) -> bool {
        let rank = &self.ranks[message.dst as usize];
        let waits = waits_for_all(rank.waiting) && rank.inbox.is_empty();
        if !self.mode.foreseen || !waits || message.role.is_agreement() {
            return false;
        }
        self.take(message.dst, Arrival { message: id, n_looked: 0 });
        let rank = &self.ranks[message.dst as usize];
        if rank.outstanding == 0 {
            let done_ps = rank.done_ps.max(self.network.clock.now_ps);
            self.wake(message.dst, done_ps);
        }
        true
    }

    /// A rank's send is complete at `time_ps`.
    pub(crate) fn sent_at(&mut self, number: u32, time_ps: u64) {
        let rank = &mut self.ranks[number as usize];
        if !self.mode.elide || !waits_for_all(rank.waiting) {
            return self.network.clock.schedule_cold(time_ps, Cold::Sent(number));
        }
        rank.outstanding -= 1;
        rank.done_ps = rank.done_ps.max(time_ps);
        if rank.outstanding == 0 {
            let done_ps = rank.done_ps;
            self.wake(number, done_ps);
        }
    }
}
