//! MPI libraries: components of Open MPI, transports of MPICH and Intel MPI, HCOLL.
//!
//! SOURCE: what Open MPI 4.1.4 and 5.0.11 (`pml_base_verbose`, and those of mtl, btl and coll),
//! MPICH 4.0.2 and 5.0.2 (`MPIR_CVAR_DEBUG_SUMMARY`) and Intel MPI 2021.16 (`I_MPI_DEBUG`) print;
//! HCOLL: logs that users posted.

use super::libfabric;
use crate::facts::{Facts, Kind, Place, Said};
use crate::line::between;

/// Whether a line was about a choice of an MPI library.
pub(crate) fn read(line: &str, place: Place, facts: &mut Facts) -> bool {
    if let Some((_, text)) = line.split_once("MPI startup(): ") {
        return intel(text, line, place, facts);
    }
    if let Some((_, rest)) = line.split_once("[LOG_CAT_") {
        let text = rest.split_once("] ").map_or(rest, |(_, text)| text);
        let said = Said { speaker: None, place, from: "" };
        facts.note(said, Kind::Warning, &["HCOLL", "", text.trim()]);
        return true;
    }
    if let Some((_, rest)) = line.split_once("==== ") {
        let Some(netmod) = rest.split(" netmod Capability").next().filter(|it| it.len() < 8) else {
            return false;
        };
        note(None, place, &["netmod", &netmod.to_lowercase(), "selected"], facts);
        return true;
    }
    let Some((head, text)) = line.rsplit_once(']') else {
        return false;
    };
    let Some(words) = component(text.trim()) else {
        return false;
    };
    let who = head.rsplit_once('[').and_then(|(_, who)| who.split_once(':'));
    let speaker = who.and_then(|(host, pid)| facts.speakers.process(host, pid));
    if speaker.is_some() {
        note(speaker, place, &words, facts);
    }
    speaker.is_some()
}

fn intel(text: &str, line: &str, place: Place, facts: &mut Facts) -> bool {
    if let Some((_, version)) = text.split_once("MPI Library, Version ") {
        let version = version.split("  ").next().unwrap_or(version);
        let said = Said { speaker: None, place, from: "" };
        facts.note(said, Kind::Version, &["Intel MPI", version]);
        return true;
    }
    libfabric::read(line, place, facts)
}

/// Open MPI's layers below the pml cm: they say that they are selected in the pml's words.
///
/// SOURCE: open-mpi/ompi, directories of ompi/mca/mtl.
const MTLS: [&str; 5] = ["ofi", "psm2", "psm", "portals4", "mxm"];

/// Of `[host:08479] select: component ucx selected`: framework, component, what became of it.
fn component(text: &str) -> Option<[&str; 3]> {
    const BTL: &str = "select: init of component ";
    let above = |name| if MTLS.contains(&name) { "mtl" } else { "pml" };
    if let Some(name) = between(text, "select: component ", " selected") {
        return Some([above(name), name, "selected"]);
    }
    if let Some(name) = text.strip_prefix("select: init returned failure for component ") {
        return Some([above(name), name, "failed"]);
    }
    if let Some(name) = between(text, "PML ", " cannot be selected") {
        return Some(["pml", name, "refused"]);
    }
    if let Some(name) = between(text, BTL, " returned success") {
        return Some(["btl", name, "usable"]);
    }
    if let Some(name) = between(text, BTL, " returned failure") {
        return Some(["btl", name, "failed"]);
    }
    if let Some(which) = between(text, "components_open: component ", " open function failed") {
        let (framework, name) = which.split_once(" / ")?;
        return Some([framework, name, "failed"]);
    }
    let chosen = text.strip_prefix("coll:base:comm_select: selecting")?;
    let name = chosen.trim_start().split(',').next()?;
    chosen.ends_with(", Enabled").then_some(["coll", name, "usable"])
}

fn note(speaker: Option<u32>, place: Place, words: &[&str], facts: &mut Facts) {
    facts.note(Said { speaker, place, from: "" }, Kind::Component, words);
}
