//! Errors about a node's document.

use thiserror::Error;

/// An error a caller can act on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{place}: {what}\n  expected: {expected}")]
pub struct NcclError {
    /// Where in the document.
    pub place: String,
    /// The fault there.
    pub what: String,
    /// The expected form.
    pub expected: &'static str,
}

impl NcclError {
    pub(crate) fn new(
        place: impl Into<String>,
        what: impl Into<String>,
        expected: &'static str,
    ) -> Self {
        Self { place: place.into(), what: what.into(), expected }
    }
}
