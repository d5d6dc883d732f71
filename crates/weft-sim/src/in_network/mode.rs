//! The mode of a run in which switches carry out collectives.

use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::in_network::members::Members;
use crate::in_network::switches::{Junctions, Switches};
use crate::model::scenario::ValidScenario;
use crate::state::calendar::Cold;
use crate::state::columns::offloads::OffloadColumns;
use crate::state::packet::Packet;
use crate::state::port::Input;
use crate::state::transport::message::Segment;
use weft_traffic::{Offload, Phase};

impl Mode<false> for Switches {
    const OFFLOADS: bool = true;

    fn new(scenario: &ValidScenario) -> Switches {
        let plan = scenario.in_network.as_ref();
        let junctions = Junctions::new(plan, scenario.fabric.vertices.len());
        Switches { members: Members::new(plan), junctions }
    }

    fn arrive(hosts: &mut Hosts<'_, Switches, false>, q: u32, input: Input, id: u32) {
        hosts.arrive_at_junction(q, input, id);
    }

    fn result_arrived(hosts: &mut Hosts<'_, Switches, false>, packet: Packet) {
        hosts.result_arrived(packet);
    }

    fn sum_arrived(hosts: &mut Hosts<'_, Switches, false>, id: u32, segment: Segment) {
        hosts.sum_arrived(id, segment);
    }

    fn begin_part(hosts: &mut Hosts<'_, Switches, false>, number: u32, offload: Offload) {
        hosts.begin_part(number, offload);
    }

    fn goes_on_with_part(hosts: &mut Hosts<'_, Switches, false>, number: u32) -> bool {
        hosts.goes_on_with_part(number)
    }

    fn with_switches(hosts: &mut Hosts<'_, Switches, false>, tenant: u32, phase: Phase) -> Phase {
        hosts.with_switches(tenant, phase)
    }

    fn step_is_over(&mut self, tenant: u32) {
        self.members.step_is_over(tenant);
    }

    fn progress_of(hosts: &Hosts<'_, Switches, false>, rank: u32) -> u64 {
        hosts.progress_of(rank)
    }

    fn take_offloads(&mut self) -> OffloadColumns {
        std::mem::take(&mut self.members.offloads)
    }

    fn handle(hosts: &mut Hosts<'_, Switches, false>, cold: Cold) {
        let Cold::Reduced(junction) = cold else {
            unreachable!("{cold:?} is an event of another mode")
        };
        hosts.reduced(junction);
    }
}
