//! Faults that hold from the start, planted into the fabric before routes are computed.

use super::place::node_named;
use crate::document::FaultDocument;
use crate::error::SimError;
use weft_fabric::fault;
use weft_fabric::{Fabric, HcaId};

pub(super) fn plant(
    fabric: &mut Fabric,
    slowness: &mut [f64],
    place: &str,
    fault: &FaultDocument,
) -> Result<(), SimError> {
    match fault {
        FaultDocument {
            link: Some(link),
            rate_factor: Some(factor),
            down: None,
            node: None,
            slow_factor: None,
            ..
        } => {
            let port = fabric.port_named(&format!("{place}.link"), link)?;
            Ok(fault::scale_rate(fabric, &format!("{place}.rate_factor"), port, *factor)?)
        }
        FaultDocument {
            link: Some(link),
            rate_factor: None,
            down: Some(true),
            node: None,
            slow_factor: None,
            ..
        } => {
            let port = fabric.port_named(&format!("{place}.link"), link)?;
            Ok(fault::take_down(fabric, place, port)?)
        }
        FaultDocument {
            link: None,
            rate_factor: None,
            down: None,
            node: Some(node),
            slow_factor: Some(factor),
            ..
        } => slow_node(fabric, slowness, place, node, *factor),
        _ => {
            let expected = "link with rate_factor, link with down true, or node with slow_factor";
            Err(SimError::document(place, "no such fault", expected))
        }
    }
}

/// A slow node: its processors take longer and its HCAs' cables carry less, both ways.
fn slow_node(
    fabric: &mut Fabric,
    slowness: &mut [f64],
    place: &str,
    name: &str,
    factor: f64,
) -> Result<(), SimError> {
    if !(1.0..=1000.0).contains(&factor) {
        let what = format!("the factor is {factor}");
        return Err(SimError::document(format!("{place}.slow_factor"), what, "from 1 to 1000"));
    }
    let node = node_named(fabric, &format!("{place}.node"), name)?;
    slowness[node.index()] *= factor;
    let first = fabric.nodes[node.index()].first_hca.0;
    for hca in first..first + fabric.nodes[node.index()].n_hcas {
        let port = fabric.hca_port(HcaId(hca));
        fault::scale_rate(fabric, place, port, 1.0 / factor)?;
    }
    Ok(())
}
