//! What a caller can get wrong about work.

use thiserror::Error;

/// An error a user can act on; the first line alone says what and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// The document says something that cannot be.
    #[error("{place}: {what}\n  expected: {expected}")]
    Document {
        /// Where in the document.
        place: String,
        /// What is wrong there.
        what: String,
        /// What would be right.
        expected: String,
    },
}

impl TrafficError {
    /// A document error.
    pub fn document(
        place: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> TrafficError {
        TrafficError::Document { place: place.into(), what: what.into(), expected: expected.into() }
    }
}
