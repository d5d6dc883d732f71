//! MPI libraries: components of Open MPI, transports of MPICH and Intel MPI, HCOLL.
//!
//! SOURCE: what Open MPI 4.1.4 and 5.0.11 (`pml_base_verbose`, and those of mtl, btl and coll),
//! MPICH 4.0.2 and 5.0.2 (`MPIR_CVAR_DEBUG_SUMMARY`) and Intel MPI 2021.16 (`I_MPI_DEBUG`) print;
//! HCOLL: logs that users posted.

use super::libfabric;
use crate::facts::{Kind, Statement, Understood};
use crate::line::between;

/// A line about a choice of an MPI library.
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some((_, text)) = line.split_once("MPI startup(): ") {
        return intel(text, line, statement);
    }
    if let Some((_, text)) = line.split_once("[LOG_CAT_") {
        let text = text.split_once("] ").map_or(text, |(_, text)| text);
        return statement.note(Kind::Warning, &["HCOLL", "", text.trim()]);
    }
    if let Some((_, text)) = line.split_once("==== ") {
        let netmod = text.split(" netmod Capability").next().filter(|it| it.len() < 8)?;
        return statement.note(Kind::Component, &["netmod", &netmod.to_lowercase(), "selected"]);
    }
    let (head, text) = line.rsplit_once(']')?;
    let words = component(text.trim())?;
    let (host, pid) = head.rsplit_once('[')?.1.split_once(':')?;
    statement.speaker = Some(statement.facts.speakers.process(host, pid)?);
    statement.note(Kind::Component, &words)
}

fn intel(text: &str, line: &str, statement: &mut Statement<'_>) -> Understood {
    let Some((_, version)) = text.split_once("MPI Library, Version ") else {
        return libfabric::read(line, statement);
    };
    let version = version.split("  ").next().unwrap_or(version);
    statement.note(Kind::Version, &["Intel MPI", version])
}

/// Open MPI's layers below the pml cm: they report their choice in the pml's words.
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
