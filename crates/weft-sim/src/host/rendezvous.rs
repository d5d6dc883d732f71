//! Messages that are agreed on: a request, a go-ahead, the data.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::limits::CLOCK_END_PS;
use crate::model::host::slowed;
use crate::state::transport::message::{Message, Role};

impl<M: Mode<PLAIN>, const PLAIN: bool> Hosts<'_, M, PLAIN> {
    /// Over to the HCA, a gap after the sender's message before; the latency follows.
    pub(crate) fn release(&mut self, id: u32) {
        let Message { src, regime, size_bytes, .. } = self.network.endpoints.messages[id];
        self.network.endpoints.messages[id].ready_ps = self.ready_ps(src, regime, size_bytes);
        self.inject(id);
    }

    /// When a message may leave that is over to the HCA now.
    pub(crate) fn ready_ps(&mut self, number: u32, regime: u8, size_bytes: u64) -> u64 {
        let scenario = self.network.scenario;
        let node = scenario.ranks[number as usize].node.index();
        let costs = scenario.hosts.regime(regime);
        let gap_ps = slowed(costs.gap.ps(size_bytes), scenario.faults.slowness[node]);
        let rank = &mut self.ranks[number as usize];
        let leave_ps = rank.gap_until_ps.max(self.network.clock.now_ps);
        rank.gap_until_ps = (leave_ps + gap_ps).min(2 * CLOCK_END_PS);
        leave_ps + costs.latency.ps(size_bytes).min(CLOCK_END_PS)
    }

    /// A control message of the rendezvous; it carries no payload.
    pub(crate) fn control(&mut self, from: u32, to: u32, role: Role) -> u32 {
        let message = self.control_message(from, to, role);
        self.network.endpoints.messages.add(message)
    }

    pub(crate) fn control_message(&self, from: u32, to: u32, role: Role) -> Message {
        let there = self.network.scenario.ranks[to as usize].hca;
        let mut message = Message::new(from, to, there.0, 0, role);
        self.address(&mut message);
        message
    }

    /// The next step towards an agreed message.
    pub(crate) fn agree(&mut self, id: u32) {
        let message = self.network.endpoints.messages.remove(id);
        match message.role {
            Role::Request(data) => {
                if M::answer_ahead(self, data, &message) {
                    return;
                }
                let answer = self.control(message.dst, message.src, Role::GoAhead(data));
                M::follow_answer(self, answer, &message);
                self.hand_over(answer);
            }
            Role::GoAhead(data) => {
                M::follow_answer(self, data, &message);
                M::agreed(self, data);
            }
            _ => unreachable!("user data is not part of an agreement"),
        }
    }
}
