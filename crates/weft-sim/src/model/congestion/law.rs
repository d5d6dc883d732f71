//! Congestion control that cannot be wrong: who marks, who tells whom, and who slows down.
//!
//! Under two of the laws a switch marks packets ([`Marking`]) and the HCA they come to notifies
//! their sender; under one the sender probes, under one the port before a host tells. The sender
//! spaces the packets of that queue pair by its [`Law`]. What this does to packets is in
//! `throttle.rs`.

use super::annex_a10::{self, AnnexA10};
use super::dcqcn::{self, Dcqcn};
use super::defaults::Sent;
use super::endpoint::{self, Endpoint};
use super::marking::Marking;
use super::rtt::{self, Idle, Rtt};

/// Congestion control as a scenario has it.
#[derive(Clone, Debug)]
pub(crate) struct Congestion {
    pub(crate) marking: Marking,
    pub(crate) law: Law,
    /// Whether a notification slows down all of a lane of its HCA.
    pub(crate) by_lane: bool,
    /// Least time between two notifications of a queue pair.
    pub(crate) cnp_interval_ps: u64,
    /// The lane of notifications and answers; the queue pair's own where there is none.
    pub(crate) cnp_lane: Option<u8>,
}

/// How a sender spaces its packets.
#[derive(Clone, Debug)]
pub(crate) enum Law {
    AnnexA10(AnnexA10),
    Dcqcn(Dcqcn),
    Rtt(Rtt),
    Endpoint(Endpoint),
}

/// What a law remembers of a queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) enum State {
    AnnexA10(annex_a10::Level),
    Dcqcn(dcqcn::Rate),
    Rtt(rtt::Window),
    Endpoint(endpoint::Share),
}

impl Law {
    /// The state of a queue pair that nobody has told anything; `idle` is what its way takes in an
    /// idle network.
    pub(crate) fn begin(&self, idle: Idle) -> State {
        match self {
            Law::AnnexA10(law) => State::AnnexA10(law.begin()),
            Law::Dcqcn(law) => State::Dcqcn(law.begin()),
            Law::Rtt(law) => State::Rtt(law.begin(idle)),
            Law::Endpoint(law) => State::Endpoint(law.begin()),
        }
    }

    /// Whether it counts on the time that an idle network takes.
    pub(crate) fn wants_idle(&self) -> bool {
        matches!(self, Law::Rtt(_))
    }

    /// A notification has come to a sender on such a link; `argument` is what it says.
    pub(crate) fn told(&self, state: &mut State, now_ps: u64, link_bits_per_s: u64, argument: u32) {
        match (self, state) {
            (Law::AnnexA10(law), State::AnnexA10(level)) => law.told(level, now_ps),
            (Law::Dcqcn(law), State::Dcqcn(rate)) => law.told(rate, now_ps, link_bits_per_s),
            (Law::Rtt(law), State::Rtt(window)) => law.told(window, now_ps, link_bits_per_s),
            (Law::Endpoint(law), State::Endpoint(share)) => law.told(share, now_ps, argument),
            _ => unreachable!("a state is its law's"),
        }
    }

    /// How long beyond its own time the queue pair of a packet waits before its next one.
    pub(crate) fn delay_ps(&self, state: &mut State, sent: Sent) -> u64 {
        let rate = match (self, state) {
            (Law::AnnexA10(law), State::AnnexA10(level)) => {
                return law.delay_ps(level, sent.now_ps, sent.duration_ps);
            }
            (Law::Dcqcn(law), State::Dcqcn(rate)) => law.rate(rate, sent),
            (Law::Rtt(law), State::Rtt(window)) => law.rate(window, sent),
            (Law::Endpoint(law), State::Endpoint(share)) => law.rate(share, sent.now_ps),
            _ => unreachable!("a state is its law's"),
        };
        if rate >= 1.0 {
            return 0;
        }
        (sent.duration_ps as f64 * (1.0 / rate - 1.0)).round() as u64
    }
}
