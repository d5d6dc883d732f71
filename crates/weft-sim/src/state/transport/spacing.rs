//! The memory of congestion control about queue pairs, switches and hosts' ports.

use crate::congestion::Law;
use crate::congestion::endpoint::EdgePort;
use crate::congestion::law::Congestion;
use crate::congestion::marking::Marker;
use crate::model::scenario::ValidScenario;
use crate::state::transport::pace::Paces;

/// Packets that a port has marked, and the marks and notifications that have come to it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortCongestion {
    pub(crate) marked: u64,
    pub(crate) rcv_fecn: u64,
    pub(crate) rcv_becn: u64,
    /// Where it faces a host: the queue pairs that contribute to its load.
    pub(crate) edge: EdgePort,
}

/// The state of congestion control.
#[derive(Debug)]
pub(crate) struct Spacing<'a> {
    /// None where there is no congestion control.
    parameters: Option<&'a Congestion<Law>>,
    pub(crate) seed: u64,
    /// Of the payload of a whole packet.
    pub(crate) mtu_bytes: u32,
    /// Queue pairs that are spaced.
    pub(crate) paces: Paces<'a>,
    /// Packets that switches have let pass since their last marks.
    pub(crate) marker: Marker,
    pub(crate) ports: Vec<PortCongestion>,
}

impl<'a> Spacing<'a> {
    /// For all ports of a scenario; for none where there is no congestion control.
    pub(crate) fn new(scenario: &'a ValidScenario) -> Spacing<'a> {
        let parameters = scenario.congestion.as_ref();
        let n_ports = parameters.map_or(0, |_| scenario.fabric.ports.len());
        Spacing {
            parameters,
            seed: scenario.seed,
            mtu_bytes: scenario.mtu_bytes,
            paces: Paces::default(),
            marker: Marker::of_lanes(n_ports * usize::from(scenario.lanes.count)),
            ports: vec![PortCongestion::default(); n_ports],
        }
    }

    /// The law of congestion control, its marking and its notifications.
    pub(crate) fn parameters(&self) -> &'a Congestion<Law> {
        self.parameters.expect("only a scenario with congestion control gets here")
    }
}
