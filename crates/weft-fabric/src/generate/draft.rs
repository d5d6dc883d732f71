//! A document being built: nodes, switches and cables, one after the other.

use super::Admission;
use crate::document::{FabricDocument, LinkDocument, NodeDocument, SwitchDocument};
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};

/// The rate of each direction of a cable, and its time of flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct CableSpec {
    pub(super) rate: BitsPerSecond,
    pub(super) delay: Picoseconds,
}

/// A switch outside groups.
pub(super) fn switch(name: String, ports: u32, level: u32) -> SwitchDocument {
    SwitchDocument { name, ports, level, group: None }
}

pub(super) struct Draft {
    pub(super) document: FabricDocument,
    /// Letters of a node's number.
    width: usize,
    /// HCAs of all its nodes.
    n_hcas: u64,
    admit: Admission,
}

impl Draft {
    /// A document for so many nodes.
    pub(super) fn new(
        document: FabricDocument,
        n_nodes: u32,
        hcas_per_node: u32,
        admit: Admission,
    ) -> Draft {
        let n_hcas = u64::from(n_nodes) * u64::from(hcas_per_node);
        Draft { document, width: n_nodes.to_string().len().max(3), n_hcas, admit }
    }

    /// The next switch. INVARIANT: all switches come before the first node and cable.
    pub(super) fn switch(&mut self, switch: SwitchDocument) -> Result<(), FabricError> {
        let switches = &mut self.document.switches;
        (self.admit)(self.n_hcas + switches.len() as u64 + 1, &switch)?;
        switches.push(switch);
        Ok(())
    }

    /// The next node; each of its HCAs has a name, and is cabled to the port named with it.
    pub(super) fn node(&mut self, hcas: impl Iterator<Item = (String, String)>, cable: CableSpec) {
        let name = format!("n{:0width$}", self.document.nodes.len() + 1, width = self.width);
        let mut names = Vec::new();
        for (hca, port) in hcas {
            let hca = format!("{name}/{hca}");
            self.cable(format!("{hca}[1]"), port, cable);
            names.push(hca);
        }
        self.document.nodes.push(NodeDocument { name, hcas: names });
    }

    pub(super) fn cable(&mut self, a: String, b: String, cable: CableSpec) {
        let CableSpec { rate, delay } = cable;
        self.document.links.push(LinkDocument { a, b, bits_per_s: rate, delay_ps: delay });
    }
}
