//! Records in addition to rows and counters.

use crate::document::ProbesDocument;
use crate::error::SimError;
use crate::limits::ps;

/// Most messages that are written down.
const MAX_FLOWS: u32 = 1 << 24;

/// Records in addition to rows and counters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probes {
    pub(crate) top_ports: u32,
    /// Width of a bin of load, where load is asked for.
    pub(crate) bin_ps: Option<u64>,
    pub(crate) load_ports: u32,
    pub(crate) flows: u32,
}

impl Probes {
    pub(crate) fn new(document: &ProbesDocument) -> Result<Probes, SimError> {
        let bin_ps = document.load_bin_ns.map(|ns| ps("probes.load_bin_ns", ns)).transpose()?;
        if bin_ps == Some(0) {
            let expected = "nanoseconds above 0, with at most 3 decimals";
            return Err(SimError::document("probes.load_bin_ns", "the bin is empty", expected));
        }
        if document.flows > MAX_FLOWS {
            let what = format!("{} messages", document.flows);
            return Err(SimError::document("probes.flows", what, format!("at most {MAX_FLOWS}")));
        }
        let ProbesDocument { top_ports, load_ports, flows, .. } = *document;
        Ok(Probes { top_ports, bin_ps, load_ports, flows })
    }
}
