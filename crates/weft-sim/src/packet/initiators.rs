//! A message waits until its initiator is connected to its target.

use crate::limits::MAX_INITIATORS;
use crate::packet::network::Network;
use crate::state::transport::initiator::INITIATOR_BIT;
use crate::state::transport::initiator::{InitiatorTurn, rank_of};

impl<const PLAIN: bool> Network<'_, PLAIN> {
    /// Give a message to one of its rank's initiators.
    #[cold]
    pub(crate) fn give_to_initiator(&mut self, id: u32) {
        let message = &mut self.endpoints.messages[id];
        message.queue = self.endpoints.initiators.give(message.src, message.dst, message.lane);
    }

    /// Whether the next message of an initiator need not wait for others; when it may leave is then
    /// in it.
    #[cold]
    pub(crate) fn is_connected(&mut self, id: u32) -> bool {
        let message = &mut self.endpoints.messages[id];
        match self.endpoints.initiators.turn(id, message, self.clock.now_ps) {
            InitiatorTurn::Now => true,
            InitiatorTurn::At(time_ps) => {
                message.ready_ps = message.ready_ps.max(time_ps);
                true
            }
            InitiatorTurn::Later => false,
        }
    }

    /// An acknowledgement of a whole message has come back to its initiator.
    #[cold]
    pub(crate) fn initiator_answered(&mut self, word: u32, lane: u8) {
        let (src, number) = (rank_of(word), (word >> INITIATOR_BIT) & MAX_INITIATORS);
        let Some(id) = self.endpoints.initiators.answered(src, lane, number) else { return };
        if self.may_enter(id) {
            self.ready(id);
        }
    }
}
