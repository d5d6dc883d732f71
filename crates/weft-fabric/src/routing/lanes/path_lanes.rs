//! Virtual lanes of the paths of forwarding tables: the service level of each path, and the lane
//! that each pair of ports gives a level (SL2VL).

use crate::document::{FabricDocument, PathLanesDocument};
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::{HcaId, PortId, SwitchId, VertexId};

/// Most data lanes of a port; lane 15 is the subnet manager's, and data on it is dropped.
pub const MAX_DATA_LANES: u8 = 15;
/// The lane on which data is dropped.
pub const DROPPED: u8 = 15;
/// How many service levels there are.
pub const N_SERVICE_LEVELS: usize = 16;

/// The lanes of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathLanes {
    /// How many data lanes a port has.
    pub count: u8,
    n_hcas: usize,
    /// By switch and destination: the service level of packets that enter there.
    levels: Vec<u8>,
    /// By HCA, the switch that it is cabled to.
    entries: Vec<Option<SwitchId>>,
    lists: Vec<[u8; N_SERVICE_LEVELS]>,
    /// By ingress port, where its numbers of lists begin; then by egress port.
    starts: Vec<u32>,
    numbers: Vec<u16>,
    is_constant: bool,
}

impl PathLanes {
    /// The lanes that a document has for its tables, if any.
    pub fn from_document(
        fabric: &Fabric,
        document: &FabricDocument,
    ) -> Result<Option<PathLanes>, FabricError> {
        let Some(written) = &document.lanes else {
            return Ok(None);
        };
        if document.lfts.is_none() {
            let what = "lanes of paths without the tables of these paths";
            return Err(FabricError::document("fabric.lanes", what, "fabric.lfts as well"));
        }
        check_lists(written)?;
        let (starts, numbers) = numbers_of(fabric, written)?;
        let levels = levels_of(fabric, written)?;
        let in_use = distinct(&levels);
        let lists: Vec<[u8; N_SERVICE_LEVELS]> =
            distinct(&numbers).into_iter().map(|n| written.sl2vl[usize::from(n)]).collect();
        let is_constant = in_use.iter().all(|level| {
            let mut lanes = lists.iter().map(|list| list[usize::from(*level)]);
            let first = lanes.next();
            lanes.all(|lane| Some(lane) == first)
        });
        Ok(Some(PathLanes {
            count: written.count,
            n_hcas: fabric.n_hcas() as usize,
            levels,
            entries: (0..fabric.n_hcas()).map(|hca| entry_of(fabric, HcaId(hca))).collect(),
            lists: written.sl2vl.clone(),
            starts,
            numbers,
            is_constant,
        }))
    }

    /// Whether no packet changes its lane on its path.
    #[inline]
    pub fn is_constant(&self) -> bool {
        self.is_constant
    }

    /// The service level of packets to `dst` that enter at a switch.
    #[inline]
    pub fn level(&self, entry: SwitchId, dst: HcaId) -> u8 {
        self.levels[entry.index() * self.n_hcas + dst.index()]
    }

    /// The lane on which a packet leaves the HCA `src`.
    pub fn first_lane(&self, src: HcaId, dst: HcaId, port: PortId) -> u8 {
        let level = self.entries[src.index()].map_or(0, |entry| self.level(entry, dst));
        self.lane(port.0, 0, level)
    }

    /// The lane of a level for packets that come in by port `ingress` and leave by the port
    /// `number` (from 0) of the same vertex.
    #[inline]
    pub fn lane(&self, ingress: u32, number: u32, level: u8) -> u8 {
        let list = self.numbers[(self.starts[ingress as usize] + number) as usize];
        self.lists[usize::from(list)][usize::from(level)]
    }

    /// Have packets to `dst` that enter at a switch take another level.
    pub(crate) fn set_level(&mut self, entry: SwitchId, dst: HcaId, level: u8) {
        self.levels[entry.index() * self.n_hcas + dst.index()] = level;
    }

    /// The lists that are in force somewhere.
    pub(crate) fn lists_in_force(&self) -> Vec<[u8; N_SERVICE_LEVELS]> {
        distinct(&self.numbers).into_iter().map(|number| self.lists[usize::from(number)]).collect()
    }
}

/// The values of a list, each once.
fn distinct<T: Copy + Ord>(values: &[T]) -> Vec<T> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.dedup();
    values
}

/// The switch an HCA is cabled to, whether the cable is up or not.
fn entry_of(fabric: &Fabric, hca: HcaId) -> Option<SwitchId> {
    let peer = fabric.ports[fabric.hca_port(hca).index()].peer?;
    fabric.switch(fabric.ports[peer.index()].vertex)
}

fn check_lists(written: &PathLanesDocument) -> Result<(), FabricError> {
    let refuse = |key: String, what: String, expected: String| {
        Err(FabricError::document(format!("fabric.lanes.{key}"), what, expected))
    };
    if !(1..=MAX_DATA_LANES).contains(&written.count) {
        return refuse("count".into(), format!("{} lanes", written.count), "from 1 to 15".into());
    }
    if written.sl2vl.is_empty() {
        let expected = "a list of 16 lanes, by service level";
        return refuse("sl2vl".into(), "there is no list".into(), expected.into());
    }
    for (number, list) in written.sl2vl.iter().enumerate() {
        let is_wrong = |lane: &&u8| **lane >= written.count && **lane != DROPPED;
        if let Some(lane) = list.iter().find(is_wrong) {
            let expected = format!("lanes from 0 to {}, or 15 to drop", written.count - 1);
            return refuse(format!("sl2vl[{number}]"), format!("lane {lane}"), expected);
        }
    }
    Ok(())
}

fn levels_of(fabric: &Fabric, written: &PathLanesDocument) -> Result<Vec<u8>, FabricError> {
    let n_hcas = fabric.n_hcas() as usize;
    let mut levels = vec![0; fabric.n_switches() as usize * n_hcas];
    for (name, row) in &written.levels {
        let place = format!("fabric.lanes.levels[\"{name}\"]");
        let vertex = fabric.vertex_named(name).and_then(|vertex| fabric.switch(vertex));
        let Some(switch) = vertex else {
            let what = format!("there is no switch '{name}'");
            return Err(FabricError::document(place, what, "a switch of this fabric"));
        };
        if row.len() != n_hcas {
            let what = format!("{} entries", row.len());
            let expected = format!("one for each of the {n_hcas} HCAs");
            return Err(FabricError::document(place, what, expected));
        }
        if let Some(level) = row.iter().find(|level| usize::from(**level) >= N_SERVICE_LEVELS) {
            let what = format!("service level {level}");
            return Err(FabricError::document(place, what, "levels from 0 to 15"));
        }
        levels[switch.index() * n_hcas..][..n_hcas].copy_from_slice(row);
    }
    Ok(levels)
}

/// By ingress port where its numbers of lists begin, and the numbers by egress port.
fn numbers_of(
    fabric: &Fabric,
    written: &PathLanesDocument,
) -> Result<(Vec<u32>, Vec<u16>), FabricError> {
    if let Some(name) = written.ports.keys().find(|name| fabric.vertex_named(name).is_none()) {
        let what = format!("there is no switch or HCA '{name}'");
        return Err(FabricError::document("fabric.lanes.ports", what, "names of this fabric"));
    }
    let (mut starts, mut numbers) = (Vec::with_capacity(fabric.ports.len()), Vec::new());
    for (id, vertex) in (0..).map(VertexId).zip(&fabric.vertices) {
        // Of an HCA the port to the network alone has lanes.
        let n_ports = if fabric.hca(id).is_some() { 1 } else { vertex.n_ports as usize };
        let rows = written.ports.get(&vertex.name);
        let place = || format!("fabric.lanes.ports[\"{}\"]", vertex.name);
        if rows.is_some_and(|rows| {
            rows.len() != n_ports || rows.iter().any(|row| row.len() != n_ports)
        }) {
            let expected = format!("{n_ports} rows of {n_ports} numbers");
            return Err(FabricError::document(place(), "rows of another size", expected));
        }
        for ingress in 0..vertex.n_ports as usize {
            starts.push(numbers.len() as u32);
            match rows.and_then(|rows| rows.get(ingress)) {
                None => numbers.resize(numbers.len() + n_ports, 0),
                Some(row) => numbers.extend_from_slice(row),
            }
        }
    }
    match numbers.iter().find(|number| usize::from(**number) >= written.sl2vl.len()) {
        None => Ok((starts, numbers)),
        Some(number) => {
            let what = format!("list {number}");
            let expected = format!("numbers below {}", written.sl2vl.len());
            Err(FabricError::document("fabric.lanes.ports", what, expected))
        }
    }
}
