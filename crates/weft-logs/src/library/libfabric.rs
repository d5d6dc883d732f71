//! libfabric (`FI_LOG_LEVEL=info`): the provider and the fabric that were opened.
//!
//! A registered or found provider is no fact: libfabric lists all of them.
//! SOURCE: what libfabric 1.17 and 2.1 print; ofiwg/libfabric, fabric.c.

use crate::facts::{Facts, Kind, Place, Said};
use crate::line::between;

/// `libfabric:8801:1795405261::core:core:fi_fabric_():1808<info> Opened fabric: cxi`, or MPICH's
/// and Intel MPI's own words; whether anything was understood.
pub(crate) fn read(line: &str, place: Place, facts: &mut Facts) -> bool {
    if let Some((_, provider)) = line.split_once("libfabric provider: ") {
        let provider = provider.split([' ', ',']).next().unwrap_or(provider);
        facts.note(Said { speaker: None, place, from: "" }, Kind::Provider, &[provider, ""]);
        return true;
    }
    let Some((_, rest)) = line.split_once("libfabric:") else {
        return false;
    };
    let pid = rest.split(':').next().unwrap_or_default();
    let Some((_, text)) = rest.split_once('>') else {
        return false;
    };
    let text = text.trim();
    let speaker = facts.speakers.process("", pid);
    let said = Said { speaker, place, from: "" };
    if let Some(fabric) = text.strip_prefix("Opened fabric: ") {
        facts.note(said, Kind::Fabric, &[fabric]);
        return true;
    }
    if let Some(provider) = between(text, "Using ", " provider ") {
        facts.note(said, Kind::Provider, &[provider, ""]);
        return true;
    }
    false
}
