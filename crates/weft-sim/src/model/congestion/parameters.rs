//! Congestion control of a document, checked.

use super::annex_a10::{self, AnnexA10};
use super::dcqcn::{self, Dcqcn};
use super::defaults::Usual;
use super::endpoint::Endpoint;
use super::law::{Congestion, Law};
use super::marking::Marking;
use super::rtt::Rtt;
use crate::document::{CongestionDocument, NonMinimal, Queueing, Slowed};
use crate::error::SimError;
use crate::model::lanes::{Lanes, N_LEVELS};
use crate::model::scenario::ValidScenario;

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
