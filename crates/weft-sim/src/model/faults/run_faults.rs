//! Faults planted: those that are not part of the fabric any more, but of tables or of the run.

use crate::error::SimError;
use crate::model::faults::span::Span;
use crate::model::host::Noise;
use weft_fabric::{BitsPerSecond, Fabric, HcaId, PortId, Routes, SwitchId};

/// The faults of a scenario, without those that changed its fabric from the start.
#[derive(Clone, Debug)]
pub(crate) struct Planted {
    /// By node: how many times slower than it should be.
    pub(crate) slowness: Vec<f64>,
    /// By node: interruptions of its own instead of every host's.
    pub(crate) noise: Vec<Option<Noise>>,
    /// Entries of tables that are wrong.
    pub(super) wrong_routes: Vec<WrongRoute>,
    /// Faults of cables during the run, in the order of the document.
    pub(crate) troubles: Vec<Trouble>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct WrongRoute {
    pub(super) switch: SwitchId,
    pub(super) dst: HcaId,
    /// Number of the port, from 1.
    pub(super) number: u32,
}

/// A fault of a cable, in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LinkFault {
    /// The remaining part of its rate.
    Rate(f64),
    /// Nothing passes.
    Down,
    /// Packets with an error that is corrected, at the cost of time on the link.
    Corrected {
        /// How many of 2^32 packets.
        chance: u64,
        /// How much longer the link is busy.
        cost_ps: u64,
    },
    /// How many of 2^32 packets vanish.
    Lost(u64),
}

/// A fault of a cable during the run.
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
    /// No fault, on a fabric of so many nodes.
    pub(super) fn none(n_nodes: usize) -> Planted {
        Planted {
            slowness: vec![1.0; n_nodes],
            noise: vec![None; n_nodes],
            wrong_routes: Vec::new(),
            troubles: Vec::new(),
        }
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

    /// A cable that is dead from the start stays so: no other fault changes it.
    pub(super) fn require_live(&self, fabric: &Fabric) -> Result<(), SimError> {
        let dead = |trouble: &&Trouble| !fabric.ports[trouble.ends[0].index()].up;
        self.troubles.iter().find(dead).map_or(Ok(()), |trouble| {
            let what = format!("'{}' is down from the start", fabric.port_name(trouble.ends[0]));
            let expected = "a cable that is up, or times for every fault of it";
            let place = format!("faults[{}].link", trouble.fault);
            Err(SimError::document(place, what, expected))
        })
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
