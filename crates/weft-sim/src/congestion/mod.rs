//! Congestion control that cannot be wrong: who marks, who tells whom, and who slows down.
//!
//! Under two of the laws a switch marks packets ([`Marking`]) and the HCA they come to notifies
//! their sender; under one the sender probes, under one the port before a host tells. The sender
//! spaces the packets of that queue pair by its [`Law`]. What this does to packets is in
//! `throttle.rs`.

mod annex_a10;
mod dcqcn;
mod endpoint;
mod mark;
mod pace;
mod rtt;
mod usual;

pub(crate) use endpoint::{Came, Door, Endpoint, Seen};
pub(crate) use mark::{Leaving, Marker, Marking, Told};
pub(crate) use pace::{Pace, Paces};
pub(crate) use rtt::{Idle, Rtt};

use crate::document::{CongestionDocument, NonMinimal, Queueing, Slowed};
use crate::error::SimError;
use crate::lanes::{Lanes, N_LEVELS};
use crate::scenario::ValidScenario;
use annex_a10::AnnexA10;
use dcqcn::Dcqcn;
use usual::Usual;

/// Largest rate of a knob: 8 Tb/s, as of a cable.
const MAX_BITS_PER_S: u64 = 8_000_000_000_000;

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

/// A packet that a queue pair sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) now_ps: u64,
    /// How long the queue pair might have sent it before.
    pub(crate) idle_ps: u64,
    pub(crate) bytes: u32,
    /// How long it occupies its link.
    pub(crate) duration_ps: u64,
    pub(crate) link_bits_per_s: u64,
}

/// The congestion control of a document, if there is any, for the rest of a scenario.
pub(crate) fn read(
    document: Option<&CongestionDocument>,
    scenario: &ValidScenario,
) -> Result<Option<Congestion>, SimError> {
    document.map(|document| Congestion::new(document, scenario)).transpose()
}

impl Congestion {
    fn new(
        document: &CongestionDocument,
        scenario: &ValidScenario,
    ) -> Result<Congestion, SimError> {
        let ValidScenario { fabric, switch, lanes, steering, .. } = scenario;
        if switch.model == Queueing::Infinite {
            let what = "buffers that never fill hold nobody up";
            let expected = "no congestion control with switch.model 'infinite'";
            return Err(SimError::document("congestion_control", what, expected));
        }
        let place = place_of(document);
        let usual = Usual::of(fabric);
        let interval_ps = |written_ns: Option<f64>, usual_ns: u64| {
            usual.ps((place, "cnp_interval_ns"), written_ns, usual_ns)
        };
        let (marking, law, level, cnp_interval_ps) = match document {
            CongestionDocument::AnnexA10(knobs) => (
                Marking::of_annex_a10(place, knobs, switch.buffer_bytes)?,
                Law::AnnexA10(AnnexA10::new(place, knobs, usual)?),
                knobs.cnp_service_level,
                interval_ps(knobs.cnp_interval_ns, annex_a10::CNP_INTERVAL_NS)?,
            ),
            CongestionDocument::Dcqcn(knobs) => (
                Marking::of_dcqcn(place, knobs, switch.buffer_bytes)?,
                Law::Dcqcn(Dcqcn::new(place, knobs, usual)?),
                knobs.cnp_service_level,
                interval_ps(knobs.cnp_interval_ns, dcqcn::CNP_INTERVAL_NS)?,
            ),
            CongestionDocument::Rtt(knobs) => {
                if steering.non_minimal != NonMinimal::None {
                    let what = "a packet on a detour is late, and nothing waits";
                    let expected = "routing.adaptive.non_minimal 'none', or another law";
                    return Err(SimError::document(place, what, expected));
                }
                let law = Law::Rtt(Rtt::new(place, knobs, usual)?);
                (Marking::NONE, law, knobs.answer_service_level, 0)
            }
            CongestionDocument::Endpoint(knobs) => {
                if fabric.inside.is_some() {
                    let what = "behind an HCA are other links";
                    let expected = "nodes without an inside, or another law";
                    return Err(SimError::document(place, what, expected));
                }
                let law = Law::Endpoint(Endpoint::new(place, knobs, usual)?);
                (Marking::NONE, law, knobs.cnp_service_level, 0)
            }
        };
        let by_lane =
            matches!(document, CongestionDocument::AnnexA10(knobs) if knobs.slows == Slowed::Lane);
        Ok(Congestion {
            marking,
            law,
            by_lane,
            cnp_interval_ps,
            cnp_lane: lane_of(place, level, lanes)?,
        })
    }
}

fn place_of(document: &CongestionDocument) -> &'static str {
    match document {
        CongestionDocument::AnnexA10(_) => "congestion_control.annex_a10",
        CongestionDocument::Dcqcn(_) => "congestion_control.dcqcn",
        CongestionDocument::Rtt(_) => "congestion_control.rtt",
        CongestionDocument::Endpoint(_) => "congestion_control.endpoint",
    }
}

fn lane_of(place: &str, level: Option<u8>, lanes: &Lanes) -> Result<Option<u8>, SimError> {
    match level {
        Some(level) if usize::from(level) >= N_LEVELS => {
            let key = if place.ends_with("rtt") { "answer" } else { "cnp" };
            let place = format!("{place}.{key}_service_level");
            Err(SimError::document(place, format!("service level {level}"), "0 to 15"))
        }
        Some(level) => Ok(Some(lanes.of_level(level))),
        None => Ok(None),
    }
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

/// Whole numbers from `least` to `most`, or an error that says so.
fn within(place: &str, key: &str, value: u64, least: u64, most: u64) -> Result<(), SimError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let place = format!("{place}.{key}");
    Err(SimError::document(place, format!("it is {value}"), format!("{least} to {most}")))
}

/// A share above 0 and up to 1, or an error that says so.
fn within_share(place: &str, key: &str, value: f64) -> Result<(), SimError> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    let place = format!("{place}.{key}");
    Err(SimError::document(place, format!("it is {value}"), "above 0, up to 1"))
}

/// A rate that a knob may have.
fn rate_of(place: &str, key: &str, bits_per_s: u64) -> Result<u64, SimError> {
    within(place, key, bits_per_s, crate::scenario::MIN_BITS_PER_S, MAX_BITS_PER_S)?;
    Ok(bits_per_s)
}
