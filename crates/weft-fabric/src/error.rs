//! Errors about a fabric: what is wrong, where, and what was expected.

use thiserror::Error;

/// How many letters of either end of a long text are shown: lists of keys fit.
const MAX_SHOWN: usize = 400;
const ROUTES: &str = "a route between every two HCAs in use";
const NO_LOOPS: &str = "forwarding tables without loops\n  hint: the loop is ";
const NO_CYCLE: &str = "routes whose channel dependencies have no cycle\n  hint: the routing \
                        engine 'updn' has none";

/// An error a user can act on; the first line alone names the fault and its place.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FabricError {
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
    /// No route leads from one HCA to another.
    #[error("{at}: '{dst}' is unreachable from '{src}'\n  expected: {ROUTES}")]
    Unreachable {
        /// The HCA that sends.
        src: String,
        /// The HCA that should receive.
        dst: String,
        /// The vertex where the route ends.
        at: String,
    },
    /// The tables send packets in a circle.
    #[error(
        "{at}: the route to '{dst}' comes back to the same switch\n  expected: {NO_LOOPS}{cycle}"
    )]
    RouteLoop {
        /// A switch on the loop.
        at: String,
        /// The destination HCA.
        dst: String,
        /// The switches of the loop in order.
        cycle: String,
    },
    /// The tables let packets wait for each other in a circle.
    #[error("routing: credit loop over {cycle}\n  expected: {NO_CYCLE}")]
    CreditLoop {
        /// The egress ports of the loop in order.
        cycle: String,
    },
}

impl FabricError {
    /// A document error.
    pub fn document(
        place: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> FabricError {
        let (place, what) = (clipped(&place.into()), clipped(&what.into()));
        FabricError::Document { place, what, expected: expected.into() }
    }
}

/// The text, or the beginning and the end of a very long one. Control characters are written as
/// escapes: a terminal would obey them.
pub fn clipped(text: &str) -> String {
    let n_letters = text.chars().count();
    if n_letters <= 2 * MAX_SHOWN {
        return shown(text.chars());
    }
    let beginning = shown(text.chars().take(MAX_SHOWN));
    let end = shown(text.chars().skip(n_letters - MAX_SHOWN));
    format!("{beginning} ... {end}")
}

fn shown(letters: impl Iterator<Item = char>) -> String {
    let mut shown = String::new();
    for letter in letters {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if letter.is_control() => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}
