//! The packet engine: switches with virtual output queues under credit flow control.
//!
//! A directed link is the egress of a port; it fills the input buffer of the port's peer. A packet
//! joins the queue of its output and holds its input buffer until its tail has left.

use crate::model::rules::Rules;
use crate::model::scenario::ValidScenario;
use crate::state::buffer::buffers::Buffers;
use crate::state::clock::Clock;
use crate::state::links::Links;
use crate::state::port::ENDPOINT;
use crate::state::routes_in_force::RoutesInForce;
use crate::state::transport::endpoints::Endpoints;
use crate::state::transport::spacing::Spacing;
use weft_fabric::Fabric;

/// The fabric at work, by concern; `PLAIN` where its rules are [`Rules::PLAIN`]. Only handlers of
/// events, and what lets ports send, take all of it; other functions take the parts they need.
pub(crate) struct Network<'a, const PLAIN: bool> {
    pub(crate) scenario: &'a ValidScenario,
    pub(crate) clock: Clock,
    pub(crate) links: Links,
    pub(crate) buffers: Buffers<PLAIN>,
    pub(crate) routing: RoutesInForce,
    pub(crate) endpoints: Endpoints,
    pub(crate) congestion: Spacing<'a>,
    /// The network is larger than the caches of a core.
    pub(crate) look_ahead: bool,
}

/// From so many ports on a network is larger than the caches of a core (a MiB or two): each has its
/// record, a lane and the packets that wait. Debug builds always look ahead, so every test does.
const LARGE: usize = if cfg!(debug_assertions) { 1 } else { 1 << 14 };

impl<'a, const PLAIN: bool> Network<'a, PLAIN> {
    pub(crate) fn new(scenario: &'a ValidScenario) -> Network<'a, PLAIN> {
        let links = Links::new(scenario);
        let mut buffers = Buffers::new(scenario, &links);
        let mut endpoints = Endpoints::new(scenario);
        for (port, _) in (0..).zip(&links.ports).filter(|(_, port)| port.has(ENDPOINT)) {
            let first = endpoints.senders.add_endpoint(buffers.n_lanes);
            for vl in 0..buffers.n_lanes as u8 {
                let lane = buffers.lane_index(port, vl);
                buffers.lanes[lane].queues = first + u32::from(vl);
            }
        }
        let mut network = Network {
            scenario,
            clock: Clock::new(),
            look_ahead: links.ports.len() >= LARGE,
            links,
            buffers,
            routing: RoutesInForce::new(scenario),
            endpoints,
            congestion: Spacing::new(scenario),
        };
        network.begin_troubles();
        network
    }

    pub(crate) fn fabric(&self) -> &'a Fabric {
        &self.scenario.fabric
    }

    #[inline(always)]
    pub(crate) fn rules(&self) -> Rules {
        self.buffers.rules()
    }

    /// Let the clock run on until the last link is free and the last credit home, of which there
    /// are events or not.
    pub(crate) fn come_to_rest(&mut self) {
        let rest_ps = self.links.free_ps().max(self.buffers.refunded_ps());
        self.clock.now_ps = self.clock.now_ps.max(rest_ps);
    }
}
