//! The mode of a run whose messages are flows.

use crate::flow::flows::Flows;
use crate::host::hosts::Hosts;
use crate::host::mode::Mode;
use crate::model::scenario::ValidScenario;
use crate::packet::network::Network;
use crate::state::calendar::Cold;
use crate::state::transport::message::Message;
use weft_traffic::Exchange;

impl Mode<false> for Flows {
    const FLOWS: bool = true;

    fn new(scenario: &ValidScenario) -> Flows {
        Flows::new(scenario)
    }

    fn send(hosts: &mut Hosts<'_, Flows, false>, id: u32) {
        let Network { clock, endpoints, congestion, .. } = &mut hosts.network;
        match endpoints.senders.queue(id, &mut endpoints.messages) {
            None if endpoints.admits(congestion, clock, id) => hosts.ready_flow(id),
            Some(before) => hosts.follow(before),
            None => {}
        }
    }

    fn ready(hosts: &mut Hosts<'_, Flows, false>, id: u32) {
        hosts.ready_flow(id);
    }

    fn count_turn(hosts: &mut Hosts<'_, Flows, false>, message: &mut Message) {
        hosts.count_turn(message);
    }

    fn follow_answer(hosts: &mut Hosts<'_, Flows, false>, id: u32, message: &Message) {
        hosts.network.endpoints.messages[id].set_clear_ps(message.ready_ps);
    }

    /// After all that its rank answers at this instant, foreseen or not.
    fn agreed(hosts: &mut Hosts<'_, Flows, false>, id: u32) {
        hosts.agreed_at(id, hosts.network.clock.now_ps);
    }

    fn ask_ahead(hosts: &mut Hosts<'_, Flows, false>, id: u32) -> bool {
        hosts.ask_ahead(id)
    }

    fn answer_ahead(hosts: &mut Hosts<'_, Flows, false>, data: u32, request: &Message) -> bool {
        hosts.answer_ahead(data, request)
    }

    fn meet_ahead(
        hosts: &mut Hosts<'_, Flows, false>,
        number: u32,
        message: u32,
        exchange: &Exchange,
    ) -> bool {
        hosts.meet_ahead(number, message, exchange)
    }

    fn takes_at_once(hosts: &mut Hosts<'_, Flows, false>, id: u32, message: &Message) -> bool {
        hosts.takes_at_once(id, message)
    }

    fn handle(hosts: &mut Hosts<'_, Flows, false>, cold: Cold) {
        match cold {
            Cold::Drained(message) => hosts.drained(message),
            Cold::Come(message) => hosts.come(message),
            Cold::Solve => hosts.solve(),
            Cold::Agreed(rank) => hosts.release_agreed(rank),
            _ => unreachable!("{cold:?} is an event of another mode"),
        }
    }

    fn n_looks(&self) -> u64 {
        Flows::n_looks(self)
    }

    fn moving(&self) -> impl Iterator<Item = u32> + '_ {
        self.messages()
    }

    fn settle_counts(hosts: &mut Hosts<'_, Flows, false>) {
        hosts.settle_counts();
    }
}
