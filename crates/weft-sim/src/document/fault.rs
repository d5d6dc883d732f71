//! Faults, as written.

use serde::Deserialize;

/// One thing that is broken: exactly one of `link`, `node`, `switch` and `swapped` is its place,
/// and the keys that belong to that are its kind.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FaultDocument {
    /// Either end of a cable: `rate_factor`, `lanes`, `down`, `corrected` or `lost`.
    pub link: Option<String>,
    /// The remaining part of its rate, in both directions.
    pub rate_factor: Option<f64>,
    /// Lanes that are left, of how many: `[1, 4]`.
    pub lanes: Option<[u32; 2]>,
    /// Whether it carries nothing.
    pub down: Option<bool>,
    /// Errors that FEC or the link's own replay corrects.
    pub corrected: Option<CorrectedDocument>,
    /// Chance that a packet is lost.
    pub lost: Option<f64>,
    /// A node: `slow_factor` or `noise`.
    pub node: Option<String>,
    /// How many times slower its processors and HCAs are.
    pub slow_factor: Option<f64>,
    /// Interruptions of its processors.
    pub noise: Option<super::NoiseDocument>,
    /// A switch whose table is wrong: packets for `dst` (a node or HCA) leave by `port`.
    pub switch: Option<String>,
    /// The destination of the wrong route.
    pub dst: Option<String>,
    /// The port it takes.
    pub port: Option<u32>,
    /// One end each of two cables that are plugged into each other's places.
    pub swapped: Option<[String; 2]>,
    /// When it begins; from the start without it. Faults of a `link` only.
    pub from_ns: Option<f64>,
    /// When it is over; never without it.
    pub until_ns: Option<f64>,
    /// It comes again after this time (a flap).
    pub every_ns: Option<f64>,
}

/// Errors that are corrected on the link.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorrectedDocument {
    /// Chance that a packet has one.
    pub probability: f64,
    /// How long the link is busy with correcting (replaying) it.
    pub cost_ns: f64,
}
