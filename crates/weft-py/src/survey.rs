//! Findings about the paths of a subnet, as Python's dictionaries and columns.

use crate::column;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;
use weft_fabric::paths;

/// One end of a cable.
#[derive(IntoPyObject)]
pub(crate) struct End {
    node: u32,
    port: u8,
}

impl From<weft_fabric::subnet::End> for End {
    fn from(end: weft_fabric::subnet::End) -> End {
        End { node: end.node, port: end.port }
    }
}

/// A LID that some end ports do not reach.
#[derive(IntoPyObject)]
pub(crate) struct Unreachable {
    lid: u16,
    dst: End,
    n_sources: u64,
    at: u32,
    port: u8,
    circle: Vec<u32>,
}

/// A switch at which paths turn upwards again.
#[derive(IntoPyObject)]
pub(crate) struct Valley {
    at: u32,
    n_paths: u64,
    example: (End, End),
}

/// All paths between all end ports.
#[derive(IntoPyObject)]
pub(crate) struct Survey {
    n_pairs: u64,
    hops: BTreeMap<u16, u64>,
    n_unreachable: u64,
    unreachable: Vec<Unreachable>,
    n_unreachable_lids: u64,
    valleys: Vec<Valley>,
    n_valley_paths: u64,
    n_without_lid: u64,
}

impl From<paths::Survey> for Survey {
    fn from(found: paths::Survey) -> Survey {
        let unreachable = |it: paths::Unreachable| {
            let paths::Unreachable { lid, dst, n_sources, at, port, circle } = it;
            Unreachable { lid, dst: dst.into(), n_sources, at, port, circle }
        };
        let valley = |it: paths::Valley| {
            let [src, dst] = it.example.map(End::from);
            Valley { at: it.at, n_paths: it.n_paths, example: (src, dst) }
        };
        Survey {
            n_pairs: found.n_pairs,
            hops: found.hops,
            n_unreachable: found.n_unreachable,
            unreachable: found.unreachable.into_iter().map(unreachable).collect(),
            n_unreachable_lids: found.n_unreachable_lids,
            valleys: found.valleys.into_iter().map(valley).collect(),
            n_valley_paths: found.n_valley_paths,
            n_without_lid: found.n_without_lid,
        }
    }
}

/// Loads of ports between switches, as columns.
pub(crate) struct Loads(pub(crate) Vec<paths::LinkLoad>);

impl<'py> IntoPyObject<'py> for Loads {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let loads = self.0.iter();
        let out = PyDict::new(py);
        out.set_item("node", column::array(py, loads.clone().map(|load| load.end.node))?)?;
        out.set_item("port", column::array(py, loads.clone().map(|load| load.end.port))?)?;
        out.set_item("n_paths", column::array(py, loads.clone().map(|load| load.n_paths))?)?;
        out.set_item("n_lids", column::array(py, loads.map(|load| load.n_lids))?)?;
        Ok(out)
    }
}

/// The fullest cables of shifts.
#[derive(IntoPyObject)]
pub(crate) struct Shifts {
    shifts: Vec<u32>,
    worst: Vec<u32>,
    fullest: Option<(u32, End)>,
}

impl From<paths::ShiftLoads> for Shifts {
    fn from(loads: paths::ShiftLoads) -> Shifts {
        let fullest = loads.fullest.map(|(shift, end)| (shift, end.into()));
        Shifts { shifts: loads.shifts, worst: loads.worst, fullest }
    }
}

/// The effective bisection bandwidth.
#[derive(IntoPyObject)]
pub(crate) struct Bisection {
    mean: f64,
    standard_error: f64,
    least: f64,
    most: f64,
    shares: Vec<f64>,
}

impl From<paths::Bisection> for Bisection {
    fn from(found: paths::Bisection) -> Bisection {
        let paths::Bisection { mean, standard_error, least, most, shares } = found;
        Bisection { mean, standard_error, least, most, shares }
    }
}

/// A circle of channels.
#[derive(IntoPyObject)]
pub(crate) struct CreditLoop {
    channels: Vec<(End, u8)>,
    n_channels: usize,
}

impl From<paths::CreditLoop> for CreditLoop {
    fn from(found: paths::CreditLoop) -> CreditLoop {
        let channels = found.channels.into_iter().map(|(end, lane)| (end.into(), lane));
        CreditLoop { channels: channels.collect(), n_channels: found.n_channels }
    }
}
