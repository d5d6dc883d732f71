//! Congestion control: how switches mark packets, who notifies a sender, how it spaces packets.
//!
//! Annex A10 and DCQCN: switches mark packets ([`Marking`]), and the HCA that receives one notifies
//! its sender. RTT: the sender probes. Endpoint: the port facing the receiver notifies. The sender
//! spaces the packets of that queue pair by its [`Law`]; `packet/congestion_hooks.rs` asks it.
//!
//! `document/congestion.rs` has the list of laws; each of them has a module here and an arm in
//! every `match` below.

pub(crate) mod annex_a10;
pub(crate) mod dcqcn;
pub(crate) mod defaults;
pub(crate) mod endpoint;
pub(crate) mod marking;
pub(crate) mod rtt;

use crate::document::congestion::{CongestionDocument, Slowed};
use crate::document::{NonMinimal, Queueing};
use crate::error::SimError;
use crate::model::lanes::{Lanes, N_LEVELS};
use crate::model::scenario::ValidScenario;
use annex_a10::{AnnexA10, Level};
use dcqcn::{Dcqcn, Rate};
use defaults::{Sent, Usual};
use endpoint::{Endpoint, Share};
use marking::Marking;
use rtt::{Idle, Rtt, Window};

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

/// A law, and its state for one queue pair.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LawState<'a> {
    AnnexA10(&'a AnnexA10, Level),
    Dcqcn(&'a Dcqcn, Rate),
    Rtt(&'a Rtt, Window),
    Endpoint(&'a Endpoint, Share),
}

impl Law {
    /// The state of a queue pair before its first notification; `idle` is the round trip of its
    /// path in an idle network.
    pub(crate) fn begin(&self, idle: Idle) -> LawState<'_> {
        match self {
            Law::AnnexA10(law) => LawState::AnnexA10(law, law.begin()),
            Law::Dcqcn(law) => LawState::Dcqcn(law, law.begin()),
            Law::Rtt(law) => LawState::Rtt(law, law.begin(idle)),
            Law::Endpoint(law) => LawState::Endpoint(law, law.begin()),
        }
    }

    /// Whether it needs the round trip of an idle network.
    pub(crate) fn wants_idle(&self) -> bool {
        matches!(self, Law::Rtt(_))
    }
}

impl LawState<'_> {
    /// A notification has come to the sender, whose link has that rate; `argument` is its content.
    pub(crate) fn notified(&mut self, now_ps: u64, link_bits_per_s: u64, argument: u32) {
        match self {
            LawState::AnnexA10(law, level) => law.notified(level, now_ps),
            LawState::Dcqcn(law, rate) => law.notified(rate, now_ps, link_bits_per_s),
            LawState::Rtt(law, window) => law.answered(window, now_ps, link_bits_per_s),
            LawState::Endpoint(law, share) => law.notified(share, now_ps, argument),
        }
    }

    /// How long beyond its own time the queue pair of a packet waits before its next one.
    pub(crate) fn delay_ps(&mut self, sent: Sent) -> u64 {
        match self {
            LawState::AnnexA10(law, level) => law.delay_ps(level, sent.now_ps, sent.duration_ps),
            LawState::Dcqcn(law, rate) => sent.delay_ps(law.rate(rate, sent)),
            LawState::Rtt(law, window) => sent.delay_ps(law.rate(window, sent)),
            LawState::Endpoint(law, share) => sent.delay_ps(law.rate(share, sent.now_ps)),
        }
    }
}

impl Congestion {
    /// The congestion control of a document, checked against the other parts of its scenario.
    pub(crate) fn new(
        document: &CongestionDocument,
        scenario: &ValidScenario,
    ) -> Result<Congestion, SimError> {
        let ValidScenario { fabric, switch, lanes, steering, .. } = scenario;
        if switch.model == Queueing::Infinite {
            let what = "buffers that never fill hold no packet up";
            let expected = "no congestion control with switch.model 'infinite'";
            return Err(SimError::document("congestion_control", what, expected));
        }
        let place = &format!("congestion_control.{}", document.name());
        let usual = Usual::of(fabric);
        let interval_ps = |written_ns: Option<f64>, usual_ns: u64| {
            usual.ps((place, "cnp_interval_ns"), written_ns, usual_ns)
        };
        let cnp_lane = |level| lane_of(format!("{place}.cnp_service_level"), level, lanes);
        Ok(match document {
            CongestionDocument::AnnexA10(knobs) => Congestion {
                marking: AnnexA10::marking(place, knobs, switch.buffer_bytes)?,
                law: Law::AnnexA10(AnnexA10::new(place, knobs, usual)?),
                by_lane: knobs.slows == Slowed::Lane,
                cnp_interval_ps: interval_ps(knobs.cnp_interval_ns, annex_a10::CNP_INTERVAL_NS)?,
                cnp_lane: cnp_lane(knobs.cnp_service_level)?,
            },
            CongestionDocument::Dcqcn(knobs) => Congestion {
                marking: Dcqcn::marking(place, knobs, switch.buffer_bytes)?,
                law: Law::Dcqcn(Dcqcn::new(place, knobs, usual)?),
                by_lane: false,
                cnp_interval_ps: interval_ps(knobs.cnp_interval_ns, dcqcn::CNP_INTERVAL_NS)?,
                cnp_lane: cnp_lane(knobs.cnp_service_level)?,
            },
            CongestionDocument::Rtt(knobs) => {
                if steering.non_minimal != NonMinimal::None {
                    let what = "a packet on a detour is late, and nothing waits";
                    let expected = "routing.adaptive.non_minimal 'none', or another law";
                    return Err(SimError::document(place, what, expected));
                }
                let law = Law::Rtt(Rtt::new(place, knobs, usual)?);
                let key = format!("{place}.answer_service_level");
                Congestion::without_marks(law, lane_of(key, knobs.answer_service_level, lanes)?)
            }
            CongestionDocument::Endpoint(knobs) => {
                if fabric.inside.is_some() {
                    let what = "behind an HCA are other links";
                    let expected = "nodes without an inside, or another law";
                    return Err(SimError::document(place, what, expected));
                }
                let law = Law::Endpoint(Endpoint::new(place, knobs, usual)?);
                Congestion::without_marks(law, cnp_lane(knobs.cnp_service_level)?)
            }
        })
    }

    /// A law whose switches mark no packet.
    fn without_marks(law: Law, cnp_lane: Option<u8>) -> Congestion {
        let (marking, by_lane, cnp_interval_ps) = (Marking::NONE, false, 0);
        Congestion { marking, law, by_lane, cnp_interval_ps, cnp_lane }
    }
}

fn lane_of(place: String, level: Option<u8>, lanes: &Lanes) -> Result<Option<u8>, SimError> {
    let Some(level) = level else { return Ok(None) };
    if usize::from(level) >= N_LEVELS {
        return Err(SimError::document(place, format!("service level {level}"), "0 to 15"));
    }
    Ok(Some(lanes.of_level(level)))
}
