//! Forwarding tables, and the path of a pair by them.

use super::attachments::Attachments;
use super::leaf_table::{LeafTable, LeafTableBuilder};
use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId, VertexId};
use std::collections::{BTreeMap, HashSet};

/// A linear forwarding table for every switch: the egress port for each destination HCA.
#[derive(Clone, Debug)]
pub struct Routes {
    n_hcas: u32,
    n_switches: u32,
    attached: Attachments,
    /// By switch and leaf: for each HCA of the leaf a port number from 1, 0 where there is no
    /// route; empty where none of them has one.
    pub(crate) table: LeafTable,
}

impl PartialEq for Routes {
    fn eq(&self, other: &Routes) -> bool {
        let same_size = (self.n_hcas, self.n_switches) == (other.n_hcas, other.n_switches);
        let switches = || (0..self.n_switches).map(SwitchId);
        let hcas = || (0..self.n_hcas).map(HcaId);
        same_size
            && switches().all(|s| hcas().all(|hca| self.number(s, hca) == other.number(s, hca)))
    }
}

impl Eq for Routes {}

impl Routes {
    pub(crate) fn new(fabric: &Fabric, attached: Attachments, table: LeafTable) -> Routes {
        Routes { n_hcas: fabric.n_hcas(), n_switches: fabric.n_switches(), attached, table }
    }

    /// The tables written in a document, if it has any.
    pub fn from_document(
        fabric: &Fabric,
        document: &FabricDocument,
    ) -> Result<Option<Routes>, FabricError> {
        let Some(lfts) = &document.lfts else {
            return Ok(None);
        };
        let attached = Attachments::of(fabric);
        let mut table = LeafTableBuilder::new(fabric.n_switches() as usize, attached.n_leaves());
        let names: Vec<&str> = document.switches.iter().map(|s| s.name.as_str()).collect();
        let known: HashSet<&str> = names.iter().copied().collect();
        if let Some(stranger) = lfts.keys().find(|key| !known.contains(key.as_str())) {
            let what = format!("there is no switch '{stranger}'");
            return Err(FabricError::document("fabric.lfts", what, "switches of this fabric"));
        }
        for (index, name) in names.iter().enumerate() {
            let place = format!("fabric.lfts[\"{name}\"]");
            let numbers = lfts.get(*name).ok_or_else(|| {
                FabricError::document(&place, "the table is missing", "a table for every switch")
            })?;
            check_row(fabric, SwitchId(index as u32), numbers, &place)?;
            for leaf in 0..attached.n_leaves() {
                let hcas = attached.hcas_of(leaf).iter();
                let block: Vec<u16> = hcas.map(|hca| numbers[hca.index()] as u16).collect();
                table.set(index, leaf, &block);
            }
        }
        Ok(Some(Routes::new(fabric, attached, table.finish())))
    }
    /// The port number (from 1) at `switch` towards `dst`, 0 for none.
    #[inline(always)]
    pub fn number(&self, switch: SwitchId, dst: HcaId) -> u32 {
        let block = self.table.get(switch.index(), self.attached.leaf_of(dst));
        block.get(self.attached.place_of(dst)).copied().map_or(0, u32::from)
    }

    /// Have what [`Routes::number`] looks up first in the cache soon.
    #[inline(always)]
    pub fn fetch(&self, switch: SwitchId, dst: HcaId) {
        self.table.fetch(switch.index(), self.attached.leaf_of(dst));
    }

    /// Route `dst` at `switch` through port `number`.
    pub fn set(&mut self, switch: SwitchId, dst: HcaId, number: u32) {
        let number = u16::try_from(number).expect("a switch of at most 65535 ports");
        let leaf = self.attached.leaf_of(dst);
        let mut block = self.table.get(switch.index(), leaf).to_vec();
        block.resize(self.attached.hcas_of(leaf).len(), 0);
        block[self.attached.place_of(dst)] = number;
        self.table.set_new(switch.index(), leaf, &block);
    }

    /// Whether an entry is missing somewhere.
    pub fn have_gaps(&self) -> bool {
        self.places().any(|(switch, leaf)| self.is_gap(switch, leaf))
    }

    /// Take over the entries of other tables of the fabric where these have none.
    pub fn complete_from(&mut self, other: &Routes) {
        assert_eq!(self.attached, other.attached, "tables of one fabric");
        let gaps: Vec<(usize, usize)> =
            self.places().filter(|(switch, leaf)| self.is_gap(*switch, *leaf)).collect();
        for (switch, leaf) in gaps {
            let (here, there) = (self.table.get(switch, leaf), other.table.get(switch, leaf));
            let entry = |list: &[u16], place: usize| list.get(place).copied().unwrap_or(0);
            let whole =
                (0..self.attached.hcas_of(leaf).len()).map(|place| match entry(here, place) {
                    0 => entry(there, place),
                    number => number,
                });
            let whole: Vec<u16> = whole.collect();
            if whole != here && whole.iter().any(|number| *number > 0) {
                self.table.set_new(switch, leaf, &whole);
            }
        }
    }

    /// Every switch with every leaf.
    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let n_leaves = self.attached.n_leaves();
        (0..self.n_switches as usize).flat_map(move |s| (0..n_leaves).map(move |leaf| (s, leaf)))
    }

    fn is_gap(&self, switch: usize, leaf: usize) -> bool {
        let block = self.table.get(switch, leaf);
        block.is_empty() || block.contains(&0)
    }

    /// The egress port of a vertex towards `dst`; none at `dst`, without a route or over a dead
    /// cable.
    pub fn next_port(&self, fabric: &Fabric, at: VertexId, dst: HcaId) -> Option<PortId> {
        next_port(fabric, at, dst, |switch| self.entry(switch, dst))
    }

    /// The egress ports crossed from `src` to `dst`, the sending HCA's own first.
    pub fn trace(
        &self,
        fabric: &Fabric,
        src: HcaId,
        dst: HcaId,
    ) -> Result<Vec<PortId>, FabricError> {
        trace_by(fabric, src, dst, |switch| self.entry(switch, dst))
    }

    /// The error of a route that goes in a circle through `at`.
    pub(crate) fn loop_error(&self, fabric: &Fabric, at: VertexId, dst: HcaId) -> FabricError {
        loop_error(fabric, at, dst, |switch| self.entry(switch, dst))
    }

    fn entry(&self, switch: SwitchId, dst: HcaId) -> Option<u32> {
        Some(self.number(switch, dst)).filter(|number| *number > 0)
    }

    /// The tables as a document writes them.
    pub fn to_lfts(&self, fabric: &Fabric) -> BTreeMap<String, Vec<u32>> {
        (0..fabric.n_switches())
            .map(SwitchId)
            .map(|switch| {
                let name = fabric.vertices[fabric.switch_vertex(switch).index()].name.clone();
                let row = (0..self.n_hcas).map(|hca| self.number(switch, HcaId(hca))).collect();
                (name, row)
            })
            .collect()
    }
}

/// The egress ports crossed from `src` to `dst`, the sending HCA's own first; `number` is the port
/// (from 1) of a switch towards `dst`.
pub(crate) fn trace_by(
    fabric: &Fabric,
    src: HcaId,
    dst: HcaId,
    mut number: impl FnMut(SwitchId) -> Option<u32>,
) -> Result<Vec<PortId>, FabricError> {
    let mut crossed = Vec::new();
    let mut at = src.vertex();
    while at != dst.vertex() {
        let next = next_port(fabric, at, dst, &mut number);
        let next = next.and_then(|port| Some((port, fabric.neighbour(port)?)));
        let passes_hca = at != src.vertex() && fabric.hca(at).is_some();
        let Some((port, vertex)) = next.filter(|_| !passes_hca) else {
            return Err(unreachable(fabric, src, dst, at));
        };
        crossed.push(port);
        if crossed.len() > fabric.vertices.len() {
            return Err(loop_error(fabric, at, dst, number));
        }
        at = vertex;
    }
    Ok(crossed)
}

fn next_port(
    fabric: &Fabric,
    at: VertexId,
    dst: HcaId,
    mut number: impl FnMut(SwitchId) -> Option<u32>,
) -> Option<PortId> {
    if at == dst.vertex() {
        return None;
    }
    let port = match fabric.switch(at) {
        None => fabric.hca_port(HcaId(at.0)),
        Some(switch) => {
            let number = number(switch)?.checked_sub(1)?;
            PortId(fabric.vertices[at.index()].first_port.0 + number)
        }
    };
    fabric.ports[port.index()].up.then_some(port)
}

fn loop_error(
    fabric: &Fabric,
    at: VertexId,
    dst: HcaId,
    mut number: impl FnMut(SwitchId) -> Option<u32>,
) -> FabricError {
    let name = |vertex: VertexId| fabric.vertices[vertex.index()].name.clone();
    let mut cycle = vec![name(at)];
    let mut vertex = at;
    loop {
        let next = next_port(fabric, vertex, dst, &mut number);
        vertex = next.and_then(|port| fabric.neighbour(port)).expect("a loop goes on for ever");
        cycle.push(name(vertex));
        if vertex == at || cycle.len() > fabric.vertices.len() {
            break;
        }
    }
    FabricError::RouteLoop { at: name(at), dst: name(dst.vertex()), cycle: cycle.join(" -> ") }
}

/// Refuse a row that is no table of `switch`.
fn check_row(
    fabric: &Fabric,
    switch: SwitchId,
    numbers: &[u32],
    place: &str,
) -> Result<(), FabricError> {
    if numbers.len() != fabric.n_hcas() as usize {
        let what = format!("{} entries", numbers.len());
        let expected = format!("one for each of the {} HCAs", fabric.n_hcas());
        return Err(FabricError::document(place, what, expected));
    }
    let n_ports = fabric.vertices[fabric.switch_vertex(switch).index()].n_ports;
    match numbers.iter().enumerate().find(|(_, number)| **number > n_ports) {
        None => Ok(()),
        Some((hca, number)) => {
            let what = format!("port {number} for HCA number {hca}");
            let expected = format!("a port from 1 to {n_ports}, or 0 for no route");
            Err(FabricError::document(place, what, expected))
        }
    }
}

/// The error of a route that ends at `at`.
pub(crate) fn unreachable(fabric: &Fabric, src: HcaId, dst: HcaId, at: VertexId) -> FabricError {
    let name = |vertex: VertexId| fabric.vertices[vertex.index()].name.clone();
    FabricError::Unreachable { src: name(src.vertex()), dst: name(dst.vertex()), at: name(at) }
}
