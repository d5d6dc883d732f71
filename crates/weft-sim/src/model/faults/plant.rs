//! Faults planted: what holds from the start goes into the fabric before routes are computed, or
//! into the tables after; the rest is kept for the run.

use crate::document::FaultDocument;
use crate::error::SimError;
use crate::model::faults::fault::{Fault, LinkFault, Span};
use crate::model::host::Noise;
use crate::model::placement::place::node_named;
use weft_fabric::fault as cable;
use weft_fabric::{BitsPerSecond, Fabric, HcaId, PortId, Routes, SwitchId};

/// What faults come to beside the changes in the fabric.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    /// By node: how many times slower than it should be.
    pub(crate) slowness: Vec<f64>,
    /// By node: interruptions of its own instead of every host's.
    pub(crate) noise: Vec<Option<Noise>>,
    /// Entries of tables that are wrong.
    wrong_routes: Vec<WrongRoute>,
    /// What cables suffer during the run, in the order of the document.
    pub(crate) troubles: Vec<Trouble>,
}

#[derive(Clone, Copy, Debug)]
struct WrongRoute {
    switch: SwitchId,
    dst: HcaId,
    /// Number of the port, from 1.
    number: u32,
}

/// What a cable suffers during the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trouble {
    /// Both ends of the cable.
    pub(crate) ends: [PortId; 2],
    pub(crate) kind: LinkFault,
    pub(crate) span: Span,
    /// Number of the fault in the document.
    pub(crate) fault: usize,
}

impl Planted {
    /// Plant the faults of a document. Swapped cables come first: other faults name the sockets
    /// of the fabric as it is then.
    pub(crate) fn plant(
        fabric: &mut Fabric,
        documents: &[FaultDocument],
    ) -> Result<Planted, SimError> {
        let mut planted = Planted {
            slowness: vec![1.0; fabric.nodes.len()],
            noise: vec![None; fabric.nodes.len()],
            wrong_routes: Vec::new(),
            troubles: Vec::new(),
        };
        let mut faults = Vec::new();
        for (index, document) in documents.iter().enumerate() {
            let place = format!("faults[{index}]");
            let fault = crate::model::faults::fault::read(&place, document)?;
            match fault {
                Fault::Swapped { ends } => swap(fabric, &place, ends)?,
                fault => faults.push((index, fault)),
            }
        }
        for (index, fault) in faults {
            planted.plant_one(fabric, index, fault)?;
        }
        planted.require_live(fabric)?;
        Ok(planted)
    }

    fn plant_one(
        &mut self,
        fabric: &mut Fabric,
        index: usize,
        fault: Fault<'_>,
    ) -> Result<(), SimError> {
        let place = &format!("faults[{index}]");
        match fault {
            Fault::Link { link, kind, span } => {
                let port = fabric.port_named(&format!("{place}.link"), link)?;
                return self.trouble(fabric, index, port, kind, span);
            }
            Fault::SlowNode { node, factor } => {
                let node = node_named(fabric, &format!("{place}.node"), node)?;
                self.slowness[node.index()] *= factor;
                let first = fabric.nodes[node.index()].first_hca.0;
                for hca in first..first + fabric.nodes[node.index()].n_hcas {
                    let port = fabric.hca_port(HcaId(hca));
                    cable::scale_rate(fabric, place, port, 1.0 / factor)?;
                }
            }
            Fault::NoisyNode { node, noise } => {
                let node = node_named(fabric, &format!("{place}.node"), node)?;
                self.noise[node.index()] = Some(noise);
            }
            Fault::WrongRoute { switch, dst, port } => {
                self.wrong_route(fabric, place, [switch, dst], port)?;
            }
            Fault::Swapped { .. } => unreachable!("swapped before all others"),
        }
        Ok(())
    }

    /// How many entries of tables are wrong.
    pub(crate) fn wrong_routes(&self) -> usize {
        self.wrong_routes.len()
    }

    /// Whether packets may vanish during the run.
    pub(crate) fn lose_packets(&self) -> bool {
        let loses =
            |trouble: &Trouble| matches!(trouble.kind, LinkFault::Down | LinkFault::Lost(_));
        self.troubles.iter().any(loses)
    }

    /// Rates and dead cables from the start belong to the fabric; the rest happens in the run.
    fn trouble(
        &mut self,
        fabric: &mut Fabric,
        index: usize,
        port: PortId,
        kind: LinkFault,
        span: Option<Span>,
    ) -> Result<(), SimError> {
        let place = &format!("faults[{index}]");
        let ends = cable::ends(fabric, &format!("{place}.link"), port)?;
        match (kind, span) {
            (LinkFault::Rate(factor), None) => {
                cable::scale_rate(fabric, &format!("{place}.rate_factor"), port, factor)?;
            }
            (LinkFault::Down, None) => cable::take_down(fabric, place, port)?,
            _ => {
                let always = Span { from_ps: 0, until_ps: None, every_ps: None };
                let span = span.unwrap_or(always);
                self.troubles.push(Trouble { ends, kind, span, fault: index });
            }
        }
        Ok(())
    }

    /// What is dead from the start stays so: nothing else happens to it.
    fn require_live(&self, fabric: &Fabric) -> Result<(), SimError> {
        let dead = |trouble: &&Trouble| !fabric.ports[trouble.ends[0].index()].up;
        self.troubles.iter().find(dead).map_or(Ok(()), |trouble| {
            let what = format!("'{}' is down from the start", fabric.port_name(trouble.ends[0]));
            let expected = "a cable that is up, or times for every fault of it";
            let place = format!("faults[{}].link", trouble.fault);
            Err(SimError::document(place, what, expected))
        })
    }

    fn wrong_route(
        &mut self,
        fabric: &Fabric,
        place: &str,
        [switch, dst]: [&str; 2],
        number: u32,
    ) -> Result<(), SimError> {
        let port = format!("{place}.switch");
        let port = fabric.port_named(&port, &format!("{switch}[{number}]"))?;
        cable::ends(fabric, &format!("{place}.port"), port)?;
        let Some(switch) = fabric.switch(fabric.ports[port.index()].vertex) else {
            let what = format!("'{switch}' is no switch");
            return Err(SimError::document(format!("{place}.switch"), what, "a switch"));
        };
        let hcas = match (fabric.node_named(dst), fabric.hca_named(dst)) {
            (Some(node), _) => {
                let node = &fabric.nodes[node.index()];
                (node.first_hca.0, node.n_hcas)
            }
            (None, Some(hca)) => (hca.0, 1),
            (None, None) => {
                let what = format!("there is no node or HCA '{dst}'");
                let expected = "a node or HCA of the fabric";
                return Err(SimError::document(format!("{place}.dst"), what, expected));
            }
        };
        let dsts = (hcas.0..hcas.0 + hcas.1).map(HcaId);
        let there = fabric.ports[port.index()].peer.map(|peer| fabric.ports[peer.index()].vertex);
        let there = there.and_then(|vertex| fabric.hca(vertex));
        if let Some(hca) = there.filter(|hca| dsts.clone().any(|dst| dst != *hca)) {
            // Whoever is sent there drops what is not its own.
            let what = format!("it leads to '{}'", fabric.vertices[hca.vertex().index()].name);
            let expected = "a port to a switch, or to that destination itself";
            return Err(SimError::document(format!("{place}.port"), what, expected));
        }
        self.wrong_routes.extend(dsts.map(|dst| WrongRoute { switch, dst, number }));
        Ok(())
    }

    /// The slowest that a port comes to, if all its troubles meet.
    pub(crate) fn slowest(&self, port: PortId, rate: BitsPerSecond) -> BitsPerSecond {
        let here = self.troubles.iter().filter(|trouble| trouble.ends.contains(&port));
        here.fold(rate, |rate, trouble| match trouble.kind {
            LinkFault::Rate(factor) => rate.scaled(factor),
            _ => rate,
        })
    }

    /// Spoil the tables.
    pub(crate) fn spoil(&self, routes: &mut Routes) {
        for wrong in &self.wrong_routes {
            routes.set(wrong.switch, wrong.dst, wrong.number);
        }
    }
}

/// Plug the two cables into each other's sockets.
fn swap(fabric: &mut Fabric, place: &str, ends: &[String; 2]) -> Result<(), SimError> {
    let place = format!("{place}.swapped");
    let [a, b] = [&ends[0], &ends[1]].map(|end| fabric.port_named(&place, end));
    Ok(cable::swap(fabric, &place, [a?, b?])?)
}
