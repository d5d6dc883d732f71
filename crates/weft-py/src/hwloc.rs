//! Files of `lstopo` across the border: text in, a host's PCI tree out.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::collections::BTreeMap;
use weft_fabric::read::{self, PciTree};

#[derive(IntoPyObject)]
struct HwlocDevice {
    bus: String,
    ids: String,
    above: Option<String>,
    numa_nodes: Vec<u32>,
}

#[derive(IntoPyObject)]
pub(crate) struct HwlocHost {
    devices: Vec<HwlocDevice>,
    cpus: BTreeMap<u32, Vec<u32>>,
    facts: BTreeMap<String, String>,
}

/// The PCI tree in a text of `lstopo --of xml`. An error is the line and what is wrong there.
#[pyfunction]
pub(crate) fn read_hwloc(py: Python<'_>, text: &str) -> PyResult<HwlocHost> {
    let tree =
        py.detach(|| read::pci_tree(text)).map_err(PyValueError::new_err::<(u32, String)>)?;
    let PciTree { devices, cpus, facts } = tree;
    let devices = devices.into_iter().map(|device| HwlocDevice {
        bus: device.bus,
        ids: device.ids,
        above: device.above,
        numa_nodes: device.numa_nodes,
    });
    Ok(HwlocHost { devices: devices.collect(), cpus, facts })
}
