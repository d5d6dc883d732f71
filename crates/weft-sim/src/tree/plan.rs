//! Which tenants' collectives switches carry out, by which trees: decided before the run.

use super::span::{Leaf, Loads, span};
use super::{CarriedOut, Forest, Model};
use crate::document::{Fidelity, InNetworkDocument, Queueing};
use crate::error::SimError;
use crate::packet::NIL;
use crate::scenario::{Tenant, ValidScenario};
use weft_traffic::{Algorithm, Offload};

/// Most packets of trees that may be in switches at a time: a part of those that events can name.
const MAX_TREE_PACKETS: u64 = 1 << 22;

/// The collectives of switches of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct InNetwork {
    pub(crate) model: Model,
    pub(crate) forest: Forest,
    /// By rank: the member it is, or NIL.
    pub(crate) member_of: Vec<u32>,
    /// By tenant: why it has no tree; none where it has one, or asks for none.
    refused: Vec<Option<String>>,
}

/// The trees of all tenants that ask for any, or what cannot be asked; none where nobody asks.
pub(crate) fn plan(
    document: Option<&InNetworkDocument>,
    asked: &ValidScenario,
) -> Result<Option<InNetwork>, SimError> {
    let steps = |tenant: &Tenant| tenant.work.iter().position(is_offloaded);
    let wanted: Vec<Option<usize>> = asked.tenants.iter().map(steps).collect();
    let model = document.map(|d| Model::new(d, asked.framing, asked.mtu_bytes)).transpose()?;
    let Some(tenant) = wanted.iter().position(Option::is_some) else {
        return Ok(None);
    };
    let Some(model) = model else {
        let alone = asked.tenants.len() == 1 && asked.tenants[0].name.is_empty();
        let before = if alone { String::new() } else { format!("tenants[{tenant}].") };
        let place = format!("{before}work[{}].algorithm", wanted[tenant].unwrap_or(0));
        let what = "switches are to take part, and nothing says what they can";
        return Err(SimError::document(place, what, "'in_network', or an algorithm of ranks"));
    };
    require_support(asked)?;
    let mut made = InNetwork {
        model,
        forest: Forest::default(),
        member_of: vec![NIL; asked.ranks.len()],
        refused: vec![None; asked.tenants.len()],
    };
    let mut loads = Loads::default();
    for (number, tenant) in asked.tenants.iter().enumerate() {
        if wanted[number].is_some() {
            made.refused[number] = made.grow(asked, tenant, &mut loads).err();
        }
    }
    made.require_room()?;
    Ok(Some(made))
}

fn is_offloaded(step: &weft_traffic::StepDocument) -> bool {
    step.algorithm.is_some_and(Algorithm::is_offloaded)
}

/// What trees go together with.
fn require_support(asked: &ValidScenario) -> Result<(), SimError> {
    let refuse =
        |place: &str, what: &str, expected: &str| Err(SimError::document(place, what, expected));
    if asked.fidelity != Fidelity::Packet {
        let what = "switches reduce packets, and there are none";
        return refuse("fidelity", what, "fidelity 'packet' beside 'in_network'");
    }
    if !matches!(asked.switch.model, Queueing::Voq | Queueing::Infinite) {
        let what = "switches that reduce are simulated with a queue for each output";
        return refuse("switch.model", what, "'voq' or 'infinite' beside 'in_network'");
    }
    if asked.switch.speedup.is_some() {
        let what = "the speed at which copies are read is not simulated";
        return refuse("switch.speedup", what, "no speed-up beside 'in_network'");
    }
    if asked.faults.lose_packets() {
        let what = "packets of trees may be lost, which nobody repeats in this simulation";
        return refuse("faults", what, "cables that lose nothing beside 'in_network'");
    }
    if asked.fabric.inside.is_some() {
        let what = "trees end at HCAs, and ranks sit on what is inside nodes";
        return refuse("node", what, "no 'node' beside 'in_network'");
    }
    Ok(())
}

impl InNetwork {
    /// Plant the tree of a tenant, or say why there is none.
    fn grow(
        &mut self,
        asked: &ValidScenario,
        tenant: &Tenant,
        loads: &mut Loads,
    ) -> Result<(), String> {
        let ranks = tenant.first_rank..tenant.first_rank + tenant.n_ranks;
        let leads = |rank: &u32| asked.ranks[*rank as usize].task == 0;
        let leaf = |rank: u32| {
            let port = asked.fabric.hca_port(asked.ranks[rank as usize].hca);
            Leaf { rank, port }
        };
        let leaves: Vec<Leaf> = ranks.filter(leads).map(leaf).collect();
        if leaves.len() < 2 {
            return Ok(());
        }
        let tree = span(&asked.fabric, &leaves, loads)?;
        tree.add_to(loads);
        for (leaf, member) in leaves.iter().zip(self.forest.members.len() as u32..) {
            self.member_of[leaf.rank as usize] = member;
        }
        tree.plant(&asked.fabric, &leaves, &mut self.forest);
        Ok(())
    }

    /// Most packets of trees at a time.
    pub(crate) fn n_packets(&self) -> u64 {
        self.forest.branches.len() as u64 * u64::from(self.model.outstanding)
    }

    /// Events can name what is under way.
    fn require_room(&self) -> Result<(), SimError> {
        let n_packets = self.n_packets();
        if n_packets > MAX_TREE_PACKETS {
            let what = format!("{n_packets} packets of trees at a time");
            let expected = format!("at most {MAX_TREE_PACKETS}: fewer operations, or members");
            return Err(SimError::document("in_network.outstanding", what, expected));
        }
        Ok(())
    }

    /// How switches carry out a step of a tenant, or why they do not.
    pub(crate) fn mode_of(&self, tenant: u32, offload: &Offload) -> Result<CarriedOut, String> {
        if let Some(reason) = &self.refused[tenant as usize] {
            return Err(reason.clone());
        }
        let (size, most) = (offload.size_bytes, self.model.max_bytes);
        if size > most {
            return Err(format!("{size} bytes are more than in_network.max_bytes ({most})"));
        }
        Ok(CarriedOut::Operations)
    }
}
