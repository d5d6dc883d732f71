//! The part that reacts when a cable goes down during the run, and the tables that follow.

use crate::document::{LinkDeathDocument, Reaction};
use crate::error::SimError;
use crate::limits::ps;
use crate::model::faults::run_faults::{LinkFault, Planted};
use crate::model::steering::Steering;
use std::sync::Arc;
use weft_fabric::document::Engine;
use weft_fabric::{Candidates, Fabric, PortId, Tables, engines};

/// The part that reacts to a cable that dies during the run, and after how long.
#[derive(Clone, Debug)]
pub(crate) struct LinkDeath {
    pub(crate) reaction: Reaction,
    pub(crate) delay_ps: u64,
    /// How long a notification takes beyond its cable and the switch at its end; none where
    /// switches send none.
    pub(crate) notice_ps: Option<u64>,
    /// The engine by which the subnet manager computes tables.
    pub(crate) engine: Option<Engine>,
    /// Where the switch reacts itself: the ports it may take instead.
    pub(crate) instead: Option<Arc<Candidates>>,
}

impl LinkDeath {
    pub(crate) fn new(document: &LinkDeathDocument) -> Result<LinkDeath, SimError> {
        let delay_ps = ps("routing.link_death.delay_ns", document.delay_ns)?;
        let notice_ps = Some(ps("routing.link_death.notice_ns", document.notice_ns)?);
        let reaction = document.reaction;
        Ok(LinkDeath { reaction, delay_ps, notice_ps, engine: None, instead: None })
    }

    /// The same with what it takes to react, where anything dies at all.
    pub(crate) fn plan(
        self,
        fabric: &Fabric,
        faults: &Planted,
        engine: Option<Engine>,
    ) -> LinkDeath {
        let dies = faults.troubles.iter().any(|trouble| trouble.kind == LinkFault::Down);
        let engine = engine.filter(|_| dies);
        let by_itself = engine.filter(|_| self.reaction == Reaction::Switch);
        let instead = by_itself.map(|engine| Arc::new(engines::tables(fabric, engine).candidates));
        // SOURCE: NVIDIA, InfiniBand Cluster Bring-up Procedure, SHIELD: notifications (FLFN) are
        // for fat-trees and quasi fat-trees.
        let notice_ps = self.notice_ps.filter(|_| instead.is_some() && is_tree(fabric));
        LinkDeath { engine, instead, notice_ps, ..self }
    }

    /// The fabric without the cables at these ports, and the tables that the subnet manager
    /// computes for it, the wrong entries among them; none where nothing computes any.
    pub(crate) fn tables_without(
        &self,
        down: &[u32],
        fabric: &Fabric,
        faults: &Planted,
        steering: &Steering,
    ) -> Option<(Fabric, Tables)> {
        let engine = self.engine?;
        let mut fabric = fabric.clone();
        down.iter().for_each(|port| fabric.ports[*port as usize].up = false);
        let mut tables = engines::tables(&fabric, engine);
        faults.spoil(&mut tables.routes);
        steering.add_detours(&fabric, &mut tables.candidates);
        Some((fabric, tables))
    }
}

/// Whether every cable between switches leads from one level to another.
fn is_tree(fabric: &Fabric) -> bool {
    let level = |port: PortId| {
        let vertex = fabric.ports[port.index()].vertex;
        fabric.switch(vertex).map(|_| fabric.vertices[vertex.index()].level)
    };
    let cabled = (0..fabric.ports.len() as u32).map(PortId);
    let mut ends = cabled.filter_map(|port| Some((port, fabric.ports[port.index()].peer?)));
    ends.all(|(port, peer)| level(port).is_none() || level(port) != level(peer))
}
