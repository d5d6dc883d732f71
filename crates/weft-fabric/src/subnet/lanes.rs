//! Virtual lanes of a subnet's paths, as a fabric document has them.

use super::{End, Sl2vl};
use crate::document::{FabricDocument, PathLanesDocument};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, SwitchId};
use crate::routing::lanes::path_lanes::DROPPED;
use crate::routing::{PathLanes, Routes, check, lane_paths};
use std::collections::BTreeMap;

/// The assumption about service levels, which no file tells.
pub(super) const LEVELS_ASSUMED: &str = "service levels of paths: each path has the first level \
                                         with which no credit loop is left";
/// The sentence where no assignment was found.
pub(super) const NONE_FIT: &str = "lanes are left out: no assignment of service levels to the \
                                   tables' paths was found that leaves no credit loop";

/// The lanes that a document needs.
pub(super) enum LaneNeed {
    /// One lane is enough, or no file tells of more.
    Plain,
    /// These.
    Assigned(PathLanesDocument),
    /// There is a credit loop whatever level each path takes.
    NoneFit,
}

/// The lanes of a document's paths. `vertices`: names of HCAs and switches with the ends they are
/// of; port 0 for a switch.
pub(super) fn lanes_of(
    sl2vl: &Sl2vl,
    vertices: &[(String, End)],
    document: &FabricDocument,
) -> Result<LaneNeed, FabricError> {
    if sl2vl.is_empty() || document.lfts.is_none() {
        return Ok(LaneNeed::Plain);
    }
    let mut document = document.clone();
    let fabric = Fabric::new(&document)?;
    let Some(routes) = Routes::from_document(&fabric, &document)? else {
        return Ok(LaneNeed::Plain);
    };
    let hcas: Vec<HcaId> = (0..fabric.n_hcas()).map(HcaId).collect();
    match check::check_routes(&fabric, &routes, &hcas) {
        Err(FabricError::CreditLoop { .. }) => {}
        // Tables that lead nowhere are for others to refuse.
        _ => return Ok(LaneNeed::Plain),
    }
    document.lanes = Some(written(sl2vl, vertices, &fabric));
    let Some(mut lanes) = PathLanes::from_document(&fabric, &document)? else {
        return Ok(LaneNeed::Plain);
    };
    if !lane_paths::assign_levels(&fabric, &routes, &mut lanes) {
        return Ok(LaneNeed::NoneFit);
    }
    let mut written = document.lanes.expect("just written");
    for switch in (0..fabric.n_switches()).map(SwitchId) {
        let row: Vec<u8> = hcas.iter().map(|dst| lanes.level(switch, *dst)).collect();
        if row.iter().any(|level| *level > 0) {
            let name = fabric.vertices[fabric.switch_vertex(switch).index()].name.clone();
            written.levels.insert(name, row);
        }
    }
    Ok(LaneNeed::Assigned(written))
}

/// The lists of a subnet, each once; all levels 0. What no table tells has lane 0.
fn written(sl2vl: &Sl2vl, vertices: &[(String, End)], fabric: &Fabric) -> PathLanesDocument {
    let mut lists: Vec<[u8; 16]> = Vec::new();
    let mut number_of = |key: (u32, u8, u8)| -> u16 {
        let list = sl2vl.get(&key).copied().unwrap_or([0; 16]);
        let known = lists.iter().position(|it| *it == list).unwrap_or_else(|| {
            lists.push(list);
            lists.len() - 1
        });
        known as u16
    };
    let mut ports: BTreeMap<String, Vec<Vec<u16>>> = BTreeMap::new();
    for (name, end) in vertices {
        let Some(vertex) = fabric.vertex_named(name) else { continue };
        let rows = if fabric.hca(vertex).is_some() {
            vec![vec![number_of((end.node, 0, 0))]]
        } else {
            let numbers = || (1..=fabric.vertices[vertex.index()].n_ports).map(|n| n as u8);
            let mut row =
                |ingress| numbers().map(|egress| number_of((end.node, ingress, egress))).collect();
            numbers().map(&mut row).collect()
        };
        ports.insert(name.clone(), rows);
    }
    if lists.len() == 1 {
        ports.clear();
    }
    let highest = lists.iter().flatten().copied().filter(|lane| *lane != DROPPED).max();
    let count = highest.unwrap_or(0) + 1;
    PathLanesDocument { count, levels: BTreeMap::new(), sl2vl: lists, ports }
}
