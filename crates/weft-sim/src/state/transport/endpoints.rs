//! What endpoints have to send, and what their connections remember.

use crate::model::scenario::ValidScenario;
use crate::state::columns::flows::FlowColumns;
use crate::state::transport::connection::Connections;
use crate::state::transport::initiator::Initiators;
use crate::state::transport::message::MessagePool;
use crate::state::transport::sender::Senders;

/// The send and receive sides of all endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) messages: MessagePool,
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
            messages: MessagePool::default(),
            senders: Senders::new(scenario.congestion.as_ref().is_some_and(|c| c.by_lane)),
            connections: Connections::default(),
            initiators: Initiators::of_scenario(scenario),
            // Inside a node the gap is the HCA's, not the GPU's: transfers keep it.
            message_gap_ps: if inside { 0 } else { scenario.hosts.message_gap_ps },
            flows: FlowColumns::default(),
        }
    }
}
