//! Errors about work: what is wrong, where, and what was expected.

use thiserror::Error;

/// Of a longer text, so many letters at its beginning and its end are shown.
const MAX_SHOWN: usize = 200;

/// An error a user can act on; the first line alone names the fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TrafficError {
    /// The document holds something that cannot be.
    #[error("{place}: {what}\n  expected: {expected}")]
    Document {
        /// Where in the document.
        place: String,
        /// The fault there.
        what: String,
        /// The expected form.
        expected: String,
    },
}

impl TrafficError {
    /// A document error. Of a very long text (a line of a schedule) the ends are shown.
    pub fn document(
        place: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> TrafficError {
        let what = clipped(what.into());
        TrafficError::Document { place: place.into(), what, expected: expected.into() }
    }
}

fn clipped(text: String) -> String {
    let n_letters = text.chars().count();
    if n_letters <= 2 * MAX_SHOWN {
        return text;
    }
    let beginning: String = text.chars().take(MAX_SHOWN).collect();
    let end: String = text.chars().skip(n_letters - MAX_SHOWN).collect();
    format!("{beginning} ... {end}")
}

/// Refuse the value of a key.
pub(crate) fn refuse(
    place: &str,
    key: &str,
    what: impl Into<String>,
    expected: impl Into<String>,
) -> Result<(), TrafficError> {
    Err(TrafficError::document(format!("{place}.{key}"), what, expected))
}
