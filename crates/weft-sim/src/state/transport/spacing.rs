//! What congestion control remembers of queue pairs, switches and hosts' ports.

use crate::model::congestion::marking::{Marker, Told};
use crate::state::transport::pace::Paces;

/// The state of congestion control.
#[derive(Debug)]
pub(crate) struct Spacing {
    /// Queue pairs that are spaced.
    pub(crate) paces: Paces,
    /// What switches have marked.
    pub(crate) marker: Marker,
    /// By port.
    pub(crate) told: Vec<Told>,
}

impl Spacing {
    /// For so many ports; none where there is no congestion control.
    pub(crate) fn new(n_ports: usize, n_lanes: usize) -> Spacing {
        Spacing {
            paces: Paces::default(),
            marker: Marker::of_lanes(n_ports * n_lanes),
            told: vec![Told::default(); n_ports],
        }
    }
}
