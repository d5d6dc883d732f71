//! Files that tools of one host write about its devices.

pub(super) mod cxi_stat;
pub(super) mod hwloc;
pub(super) mod ibstat;
pub(super) mod mlxlink;
pub(super) mod rdma_link;
mod xml;

use crate::read::lines::Lines;
use crate::subnet::records::Gathered;

/// Report a text that is no JSON, at the line of the error.
fn unread_json(
    error: &serde_json::Error,
    lines: &Lines<'_>,
    gathered: &mut Gathered,
    expected: &str,
) {
    let line = u32::try_from(error.line()).unwrap_or(u32::MAX).min(lines.number);
    gathered.unread(lines.at(line), &format!("no JSON: {error}"), expected);
}
