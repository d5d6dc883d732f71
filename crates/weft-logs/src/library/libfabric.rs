//! libfabric (`FI_LOG_LEVEL=info`): the provider and the fabric that were opened.
//!
//! A registered or found provider is no fact: libfabric lists all of them.
//! SOURCE: what libfabric 1.17 and 2.1 print; ofiwg/libfabric, fabric.c.

use crate::facts::{Kind, Statement, Understood};
use crate::line::between;

/// `libfabric:8801:1795405261::core:core:fi_fabric_():1808<info> Opened fabric: cxi`, or MPICH's
/// and Intel MPI's own words.
pub(crate) fn read(line: &str, statement: &mut Statement<'_>) -> Understood {
    if let Some((_, provider)) = line.split_once("libfabric provider: ") {
        let provider = provider.split([' ', ',']).next().unwrap_or(provider);
        return statement.note(Kind::Provider, &[provider, ""]);
    }
    let (_, line) = line.split_once("libfabric:")?;
    let pid = line.split(':').next().unwrap_or_default();
    let text = line.split_once('>')?.1.trim();
    statement.speaker = statement.facts.speakers.process("", pid);
    if text.starts_with("fi_getinfo: provider ") && text.contains(" output empty list") {
        return statement.note(Kind::Warning, &["libfabric", "", text]);
    }
    match text.strip_prefix("Opened fabric: ") {
        Some(fabric) => statement.note(Kind::Fabric, &[fabric]),
        None => statement.note(Kind::Provider, &[between(text, "Using ", " provider ")?, ""]),
    }
}
