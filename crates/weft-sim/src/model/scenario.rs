//! A scenario that cannot be wrong.

use crate::congestion::Law;
use crate::congestion::law::Congestion;
use crate::document::{Headers, SwitchModel};
use crate::error::SimError;
use crate::model::faults::link_death::LinkDeath;
use crate::model::faults::run_faults::Planted;
use crate::model::fidelity::Chosen;
use crate::model::framing::Framing;
use crate::model::host::HostModel;
use crate::model::in_network::forest::InNetwork;
use crate::model::lanes::Lanes;
use crate::model::placement::place::{RankPlace, Tenant};
use crate::model::probes::Probes;
use crate::model::steady_state::SteadyRule;
use crate::model::steering::Steering;
use crate::model::transport::Transport;
use std::sync::Arc;
use weft_fabric::{Fabric, Routes};

/// Everything a simulation needs, checked.
#[derive(Clone, Debug)]
pub struct ValidScenario {
    pub(crate) fabric: Fabric,
    pub(crate) routes: Arc<Routes>,
    pub(crate) steering: Steering,
    pub(crate) hosts: HostModel,
    /// Slow and noisy nodes, and what cables suffer during the run.
    pub(crate) faults: Planted,
    pub(crate) link_death: LinkDeath,
    pub(crate) probes: Probes,
    pub(crate) ranks: Vec<RankPlace>,
    pub(crate) tenants: Vec<Tenant>,
    /// The collectives that switches carry out, where they are asked to.
    pub(crate) in_network: Option<InNetwork>,
    pub(crate) mtu_bytes: u32,
    pub(crate) headers: Headers,
    pub(crate) framing: Framing,
    pub(crate) lanes: Lanes,
    pub(crate) transport: Transport,
    pub(crate) congestion: Option<Congestion<Law>>,
    pub(crate) switch: SwitchModel,
    /// Its fidelity, once `auto` has chosen.
    pub(crate) chosen: Chosen,
    pub(crate) seed: u64,
    /// The work to skip; none without it.
    pub(crate) steady: Option<SteadyRule>,
    pub(crate) elide: bool,
    pub(crate) max_events: u64,
    pub(crate) max_messages: u32,
    /// The watchdog's time.
    pub(crate) stall_ps: u64,
}

impl ValidScenario {
    /// Packets that switches may make between two looks at how many there are.
    pub(crate) fn tree_packets(&self) -> u64 {
        self.in_network.as_ref().map_or(0, InNetwork::n_packets_a_look)
    }

    /// Whether a message takes the channel inside a node, and none of its links.
    pub(crate) fn is_local(&self, here: RankPlace, there: RankPlace) -> bool {
        let over_links = self.fabric.inside.is_some() && here.vertex != there.vertex;
        here.node == there.node && !over_links
    }

    /// The number of the regime of a message between two ranks.
    pub(crate) fn regime_between(&self, here: RankPlace, there: RankPlace, size_bytes: u64) -> u8 {
        if self.is_local(here, there) {
            self.hosts.inner_regime_of(size_bytes)
        } else if self.tenants[here.tenant as usize].one_sided {
            self.hosts.one_sided_regime_of(size_bytes)
        } else {
            self.hosts.regime_of(size_bytes)
        }
    }
}

impl ValidScenario {
    /// Refuse whatever sends packets by other lanes than those of the tables' paths.
    pub(crate) fn check_paths(&self) -> Result<(), SimError> {
        if self.steering.paths.is_none() {
            return Ok(());
        }
        let has_level = self.tenants.iter().any(|tenant| tenant.service_level > 0);
        let wrong = [
            (self.fabric.inside.is_some(), "node", "the inside of nodes"),
            (self.in_network.is_some(), "in_network", "trees of switches"),
            (self.transport.dct.is_some(), "transport.dct", "dynamically connected transport"),
            (has_level, "tenants", "a tenant's own service level"),
        ];
        match wrong.iter().find(|(is_asked, ..)| *is_asked) {
            None => Ok(()),
            Some((_, place, what)) => {
                let what = format!("{what}, and the fabric has service levels of paths");
                let expected =
                    "none of it, or 'routing.engine', whose paths have no lanes of their own";
                Err(SimError::document(*place, what, expected))
            }
        }
    }
}
