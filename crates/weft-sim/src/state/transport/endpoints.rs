//! The messages that endpoints have to send, and the memory of their connections.

use crate::limits::NIL;
use crate::model::scenario::ValidScenario;
use crate::state::calendar::Cold;
use crate::state::clock::Clock;
use crate::state::columns::flows::FlowColumns;
use crate::state::pool::Pool;
use crate::state::transport::connection::Connections;
use crate::state::transport::initiator::{InitiatorTurn, Initiators};
use crate::state::transport::message::Message;
use crate::state::transport::sender::Senders;
use crate::state::transport::spacing::Spacing;

/// The send and receive sides of all endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) messages: Pool<Message>,
    pub(crate) senders: Senders,
    /// Where packets are numbered.
    pub(crate) connections: Connections,
    /// Where transport is dynamically connected.
    pub(crate) initiators: Initiators,
    /// Least time between two messages of an endpoint.
    pub(crate) message_gap_ps: u64,
    /// The first messages, where a probe asks for them.
    pub(crate) flows: FlowColumns,
}

impl Endpoints {
    /// Endpoints of a scenario without any message.
    pub(crate) fn new(scenario: &ValidScenario) -> Endpoints {
        let inside = scenario.fabric.inside.is_some();
        Endpoints {
            messages: Pool::default(),
            senders: Senders::new(scenario.congestion.as_ref().is_some_and(|c| c.by_lane)),
            connections: Connections::default(),
            initiators: Initiators::of_scenario(scenario),
            // Inside a node the gap is the HCA's, not the GPU's: transfers keep it.
            message_gap_ps: if inside { 0 } else { scenario.hosts.message_gap_ps },
            flows: FlowColumns::default(),
        }
    }

    /// Give a message to one of its rank's initiators.
    #[cold]
    pub(crate) fn give_to_initiator(&mut self, id: u32) {
        let message = &mut self.messages[id];
        message.queue = self.initiators.give(message.src, message.dst, message.lane);
    }

    /// Whether a message need not wait for others of its initiator; it is then ready no earlier
    /// than the initiator is connected.
    fn is_connected(&mut self, id: u32, now_ps: u64) -> bool {
        if self.initiators.are_none() {
            return true;
        }
        let message = &mut self.messages[id];
        match self.initiators.turn(id, message, now_ps) {
            InitiatorTurn::Now => true,
            InitiatorTurn::At(time_ps) => {
                message.ready_ps = message.ready_ps.max(time_ps);
                true
            }
            InitiatorTurn::Later => false,
        }
    }

    /// Whether the first message of a queue pair may leave; else an event or an acknowledgement
    /// lets it try again.
    pub(crate) fn admits(&mut self, congestion: &Spacing<'_>, clock: &mut Clock, id: u32) -> bool {
        if !self.is_connected(id, clock.now_ps) {
            return false;
        }
        let message = &self.messages[id];
        let mut ready_ps = message.ready_ps;
        if message.pace != NIL && !self.senders.by_lane {
            ready_ps = ready_ps.max(congestion.paces[message.pace].next_ps);
        }
        if ready_ps > clock.now_ps {
            clock.schedule_cold(ready_ps, Cold::Ready(id));
        }
        ready_ps <= clock.now_ps
    }
}
