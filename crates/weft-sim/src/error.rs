//! Mistakes of a caller in a scenario.

use thiserror::Error;
use weft_fabric::FabricError;
use weft_fabric::error::clipped;
use weft_traffic::TrafficError;

/// An error a user can act on; the first line alone says what and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SimError {
    /// The fabric or its routes.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The work.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The scenario says something that cannot be.
    #[error("{place}: {what}\n  expected: {expected}")]
    Document {
        /// Where in the document.
        place: String,
        /// The problem there.
        what: String,
        /// The expected value.
        expected: String,
    },
}

impl SimError {
    /// A document error.
    pub fn document(
        place: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> SimError {
        let (place, what) = (clipped(&place.into()), clipped(&what.into()));
        SimError::Document { place, what, expected: expected.into() }
    }
}
