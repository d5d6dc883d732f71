//! Messages that are agreed on: a request, a go-ahead, the data.

use crate::calendar::CLOCK_END_PS;
use crate::host::slowed;
use crate::hosts::Hosts;
use crate::message::{Message, Role};

impl<const PLAIN: bool> Hosts<'_, PLAIN> {
    /// Over to the HCA, a gap after the sender's message before; the latency follows.
    pub(crate) fn release(&mut self, id: u32) {
        let Message { src, regime, size_bytes, .. } = self.network.messages[id];
        self.network.messages[id].ready_ps = self.ready_ps(src, regime, size_bytes);
        self.inject(id);
    }

    /// When a message may leave that is over to the HCA now.
    pub(crate) fn ready_ps(&mut self, number: u32, regime: u8, size_bytes: u64) -> u64 {
        let scenario = self.network.scenario;
        let node = scenario.ranks[number as usize].node.index();
        let costs = scenario.hosts.regime(regime);
        let gap_ps = slowed(costs.gap_ps(size_bytes), scenario.faults.slowness[node]);
        let rank = &mut self.ranks[number as usize];
        let leave_ps = rank.gap_until_ps.max(self.network.now_ps);
        rank.gap_until_ps = (leave_ps + gap_ps).min(2 * CLOCK_END_PS);
        leave_ps + costs.latency_ps(size_bytes).min(CLOCK_END_PS)
    }

    /// A control message of the rendezvous; it carries no payload.
    pub(crate) fn control(&mut self, from: u32, to: u32, role: Role) -> u32 {
        let message = self.control_message(from, to, role);
        self.network.messages.add(message)
    }

    pub(crate) fn control_message(&self, from: u32, to: u32, role: Role) -> Message {
        let there = self.network.scenario.ranks[to as usize].hca;
        let mut message = Message::new(from, to, there.0, 0, role);
        self.address(&mut message);
        message
    }

    /// The next step towards an agreed message.
    pub(crate) fn agree(&mut self, id: u32) {
        let message = self.network.messages.remove(id);
        match message.role {
            Role::Request(data) => {
                if self.network.rules().fluid && self.answer_ahead(data, &message) {
                    return;
                }
                let answer = self.control(message.dst, message.src, Role::GoAhead(data));
                self.network.follow_answer(answer, &message);
                self.hand_over(answer);
            }
            Role::GoAhead(data) => {
                self.network.follow_answer(data, &message);
                if self.network.rules().fluid {
                    // After all that its rank answers at this instant, foreseen or not.
                    return self.agreed_at(data, self.network.now_ps);
                }
                self.release(data);
            }
            _ => unreachable!("user data is not part of an agreement"),
        }
    }
}
