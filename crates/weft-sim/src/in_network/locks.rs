//! Resources that trees have for themselves while they stream.

use crate::document::SatLock;
use crate::limits::NIL;
use crate::model::in_network::forest::{Branch, InNetwork, Work};
use std::collections::BTreeMap;

/// By switch or port: the tenant whose tree streams there.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    held: BTreeMap<u32, u32>,
}

impl Claims {
    /// Take all that the tree of a tenant needs to stream; where another has a part of it, nothing
    /// is taken: that part's number, and who has it.
    pub(crate) fn take(
        &mut self,
        plan: &InNetwork,
        lock: SatLock,
        tenant: u32,
    ) -> Result<(), (u32, u32)> {
        let Ok(tree) = &plan.trees[tenant as usize] else { return Ok(()) };
        let parts: Vec<u32> =
            tree.clone().flat_map(|junction| parts(plan, lock, junction)).collect();
        for part in &parts {
            if let Some(other) = self.held.get(part).filter(|other| **other != tenant) {
                return Err((*part, *other));
            }
        }
        self.held.extend(parts.into_iter().map(|part| (part, tenant)));
        Ok(())
    }

    /// A tenant streams no more.
    pub(crate) fn give_back(&mut self, tenant: u32) {
        self.held.retain(|_, holder| *holder != tenant);
    }
}

/// The locked part of a junction: its switch, or its ports.
fn parts(plan: &InNetwork, lock: SatLock, number: u32) -> Vec<u32> {
    let junction = plan.forest.junctions[number as usize];
    if junction.work != Work::Reduces {
        return Vec::new();
    }
    if lock == SatLock::Switch {
        return vec![junction.vertex];
    }
    let down = plan.forest.branches_of(number).iter().map(|branch: &Branch| branch.port);
    down.chain(Some(junction.up).filter(|port| *port != NIL)).collect()
}
