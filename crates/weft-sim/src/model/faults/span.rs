//! When a fault holds: from, until, and again.

use crate::document::FaultDocument;
use crate::error::SimError;
use crate::limits::ps;

/// When a fault holds. INVARIANT: `until_ps` is after `from_ps`, and `every_ps` longer than the
/// time between.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) from_ps: u64,
    pub(crate) until_ps: Option<u64>,
    pub(crate) every_ps: Option<u64>,
}

impl Span {
    /// The times of a fault of the document; none where it holds from the start and for ever.
    pub(super) fn read(place: &str, fault: &FaultDocument) -> Result<Option<Span>, SimError> {
        if fault.from_ns.is_none() && fault.until_ns.is_none() && fault.every_ns.is_none() {
            return Ok(None);
        }
        let time =
            |key: &str, ns: Option<f64>| ns.map(|ns| ps(&format!("{place}.{key}"), ns)).transpose();
        let span = Span {
            from_ps: time("from_ns", fault.from_ns)?.unwrap_or(0),
            until_ps: time("until_ns", fault.until_ns)?,
            every_ps: time("every_ns", fault.every_ns)?,
        };
        let refuse = |key: &str, what: &str, expected: &str| {
            Err(SimError::document(format!("{place}.{key}"), what, expected))
        };
        match (span.until_ps, span.every_ps) {
            (Some(until_ps), _) if until_ps <= span.from_ps => {
                refuse("until_ns", "it is over before it begins", "a time after from_ns")
            }
            (None, Some(_)) => {
                refuse("every_ns", "it never ends, so it cannot come again", "until_ns as well")
            }
            (Some(until_ps), Some(every_ps)) if every_ps <= until_ps - span.from_ps => {
                refuse("every_ns", "it comes again before it is over", "more than it lasts")
            }
            _ => Ok(Some(span)),
        }
    }

    /// Whether it holds at a time.
    pub(crate) fn holds(self, time_ps: u64) -> bool {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return false;
        };
        let phase_ps = self.every_ps.map_or(since_ps, |every_ps| since_ps % every_ps);
        self.until_ps.is_none_or(|until_ps| phase_ps < until_ps - self.from_ps)
    }

    /// When it next begins or ends after a time; none if it stays as it is.
    pub(crate) fn next_edge(self, time_ps: u64) -> Option<u64> {
        let Some(since_ps) = time_ps.checked_sub(self.from_ps) else {
            return Some(self.from_ps);
        };
        let length_ps = self.until_ps? - self.from_ps;
        let round_ps = self.every_ps.map_or(0, |every_ps| since_ps - since_ps % every_ps);
        if since_ps - round_ps < length_ps {
            return Some(self.from_ps + round_ps + length_ps);
        }
        Some(self.from_ps + round_ps + self.every_ps?)
    }
}
