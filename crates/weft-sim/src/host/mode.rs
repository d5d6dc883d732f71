//! The mode of a run beyond packets of hosts: messages as flows, or collectives of switches.
//!
//! A mode is a type: a run that lacks one of these holds nothing of it, in data or in code.

use crate::host::hosts::Hosts;
use crate::model::scenario::ValidScenario;
use crate::state::calendar::Cold;
use crate::state::columns::offloads::OffloadColumns;
use crate::state::packet::Packet;
use crate::state::port::Input;
use crate::state::transport::message::{Message, Segment};
use weft_traffic::{Exchange, Offload, Phase};

/// How hosts exchange messages, and who carries out their collectives.
pub(crate) trait Mode<const PLAIN: bool>: Sized {
    /// Messages are flows.
    const FLOWS: bool = false;
    /// Switches carry out collectives.
    const OFFLOADS: bool = false;

    /// The mode at the start of a run.
    fn new(scenario: &ValidScenario) -> Self;

    // ---- messages -------------------------------------------------------------------------

    /// Hand a message to its endpoint: `port` and `lane` say which.
    fn send(hosts: &mut Hosts<'_, Self, PLAIN>, id: u32) {
        hosts.network.send(id);
    }

    /// The first message of a queue pair may leave.
    fn ready(hosts: &mut Hosts<'_, Self, PLAIN>, id: u32) {
        hosts.network.ready(id);
    }

    /// A rank sends one message more.
    fn count_turn(_hosts: &mut Hosts<'_, Self, PLAIN>, _message: &mut Message) {}

    /// A message leaves after the answer to the one that it follows.
    fn follow_answer(_hosts: &mut Hosts<'_, Self, PLAIN>, _id: u32, _message: &Message) {}

    /// The go-ahead of a message has come.
    fn agreed(hosts: &mut Hosts<'_, Self, PLAIN>, id: u32) {
        hosts.release(id);
    }

    /// Ask for the go-ahead of a message without an event; whether that was possible.
    fn ask_ahead(_hosts: &mut Hosts<'_, Self, PLAIN>, _id: u32) -> bool {
        false
    }

    /// Answer a request at once; whether that was possible.
    fn answer_ahead(_hosts: &mut Hosts<'_, Self, PLAIN>, _data: u32, _request: &Message) -> bool {
        false
    }

    /// Deal with a message that came before its receive was posted; whether that was possible.
    fn meet_ahead(
        _hosts: &mut Hosts<'_, Self, PLAIN>,
        _number: u32,
        _message: u32,
        _exchange: &Exchange,
    ) -> bool {
        false
    }

    /// Let a rank that waits for all have a message without its processor; whether it does.
    fn takes_at_once(_hosts: &mut Hosts<'_, Self, PLAIN>, _id: u32, _message: &Message) -> bool {
        false
    }

    // ---- collectives of switches ----------------------------------------------------------

    /// A packet of a tree is seen at a switch.
    fn arrive(_hosts: &mut Hosts<'_, Self, PLAIN>, _q: u32, _input: Input, _id: u32) {
        unreachable!("only switches that carry out collectives have trees")
    }

    /// A packet of a tree has come to an endpoint.
    fn result_arrived(_hosts: &mut Hosts<'_, Self, PLAIN>, _packet: Packet) {
        unreachable!("only switches that carry out collectives have trees")
    }

    /// A segment of a node's sum has come from the GPU of another node.
    fn sum_arrived(_hosts: &mut Hosts<'_, Self, PLAIN>, _id: u32, _segment: Segment) {
        unreachable!("only GPUs of collectives exchange segments")
    }

    /// A rank takes part in a collective of switches.
    fn begin_part(_hosts: &mut Hosts<'_, Self, PLAIN>, _number: u32, _offload: Offload) {
        unreachable!("only switches carry out what is offloaded")
    }

    /// Let a rank's processor post a piece or take a result; whether there was one.
    fn goes_on_with_part(_hosts: &mut Hosts<'_, Self, PLAIN>, _number: u32) -> bool {
        false
    }

    /// A phase of a tenant as it will be carried out: by ranks alone where switches do not.
    fn with_switches(_hosts: &mut Hosts<'_, Self, PLAIN>, _tenant: u32, phase: Phase) -> Phase {
        phase
    }

    /// A tenant's step is over.
    fn step_is_over(&mut self, _tenant: u32) {}

    /// A number that changes whenever a rank takes a result from switches.
    fn progress_of(_hosts: &Hosts<'_, Self, PLAIN>, _rank: u32) -> u64 {
        0
    }

    /// The parts that carried out the offloaded steps; taken out once, at the end of a run.
    fn take_offloads(&mut self) -> OffloadColumns {
        OffloadColumns::default()
    }

    // ---- the run --------------------------------------------------------------------------

    /// Handle an event that only this mode schedules.
    fn handle(_hosts: &mut Hosts<'_, Self, PLAIN>, cold: Cold) {
        unreachable!("{cold:?} is an event of another mode")
    }

    /// How often a flow was looked at on a link to solve rates.
    fn n_looks(&self) -> u64 {
        0
    }

    /// The messages that move without packets.
    fn moving(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::empty()
    }

    /// Let ports have all that was counted elsewhere.
    fn settle_counts(_hosts: &mut Hosts<'_, Self, PLAIN>) {}
}

/// Hosts only exchange packets.
pub(crate) struct PacketMode;

impl<const PLAIN: bool> Mode<PLAIN> for PacketMode {
    fn new(_scenario: &ValidScenario) -> PacketMode {
        PacketMode
    }
}
