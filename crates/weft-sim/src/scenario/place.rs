//! Where ranks run, and whose they are.

use super::MAX_RANKS;
use crate::document::{DEFAULT_PARTITION, PlacementDocument, TenantDocument, TenantRole};
use crate::error::SimError;
use weft_fabric::{Fabric, HcaId, NodeGraph, NodeId, VertexId};
use weft_traffic::StepDocument;

/// Where a rank runs.
#[derive(Clone, Copy, Debug)]
pub struct RankPlace {
    /// Its node.
    pub node: NodeId,
    /// The HCA it sends and receives over.
    pub hca: HcaId,
    /// Its number among the tasks of its node.
    pub task: u32,
    /// The endpoint it sits on: a GPU or memory where nodes have an inside, else its HCA.
    pub vertex: VertexId,
}

/// A job: its ranks are `first_rank .. first_rank + n_ranks` of the scenario.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name in the outcome.
    pub name: String,
    /// What it is in the experiment.
    pub role: TenantRole,
    /// When its first step begins.
    pub start_ps: u64,
    /// Begin again until every tenant without this is done.
    pub repeat: bool,
    /// The service level of its messages.
    pub service_level: u8,
    /// The partition of its messages.
    pub partition_key: u16,
    /// Number of its first rank in the scenario.
    pub first_rank: u32,
    /// How many ranks it has.
    pub n_ranks: u32,
    /// What it does.
    pub work: Vec<StepDocument>,
}

/// What a scenario says of its jobs: one, or several.
pub(super) struct Jobs {
    placement: Option<PlacementDocument>,
    work: Option<Vec<StepDocument>>,
    tenants: Option<Vec<TenantDocument>>,
}

impl Jobs {
    pub(super) fn of(
        placement: Option<PlacementDocument>,
        work: Option<Vec<StepDocument>>,
        tenants: Option<Vec<TenantDocument>>,
    ) -> Jobs {
        Jobs { placement, work, tenants }
    }
}

/// Tenants and the places of all their ranks, checked.
pub(super) fn place(
    fabric: &Fabric,
    jobs: Jobs,
) -> Result<(Vec<Tenant>, Vec<RankPlace>), SimError> {
    if jobs.tenants.is_some() {
        return Err(SimError::document("tenants", "not simulated yet", "placement and work"));
    }
    let placement = jobs.placement.unwrap_or_default();
    let ranks = place_ranks(fabric, &placement)?;
    let Some(mut work) = jobs.work else {
        return Err(SimError::document("scenario", "'work' is missing", "'work' or 'tenants'"));
    };
    for (index, step) in work.iter_mut().enumerate() {
        let place = format!("work[{index}]");
        step.prepare(&place, placement.tasks_per_node)?;
        step.check(&place, ranks.len() as u32)?;
    }
    let tenant = Tenant {
        name: String::new(),
        role: TenantRole::Victim,
        start_ps: 0,
        repeat: false,
        service_level: 0,
        partition_key: DEFAULT_PARTITION,
        first_rank: 0,
        n_ranks: ranks.len() as u32,
        work,
    };
    Ok((vec![tenant], ranks))
}

pub(super) fn node_named(fabric: &Fabric, place: &str, name: &str) -> Result<NodeId, SimError> {
    fabric.node_named(name).ok_or_else(|| {
        let what = format!("there is no node '{name}'");
        SimError::document(place, what, "a node of the fabric")
    })
}

fn place_ranks(fabric: &Fabric, placement: &PlacementDocument) -> Result<Vec<RankPlace>, SimError> {
    if placement.tasks_per_node == 0 {
        let place = "placement.tasks_per_node";
        return Err(SimError::document(place, "it is 0", "1 or more"));
    }
    let all = || fabric.nodes.iter().map(|node| node.name.clone()).collect();
    let names: Vec<String> = placement.nodes.clone().unwrap_or_else(all);
    let mut taken = vec![false; fabric.nodes.len()];
    let mut ranks = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let place = format!("placement.nodes[{index}]");
        let node = node_named(fabric, &place, name)?;
        if std::mem::replace(&mut taken[node.index()], true) {
            let what = format!("node '{name}' appears twice");
            return Err(SimError::document(place, what, "every node at most once"));
        }
        if ranks.len() + placement.tasks_per_node as usize > MAX_RANKS {
            let what = format!("more than {MAX_RANKS} ranks");
            return Err(SimError::document("placement", what, "fewer nodes or tasks a node"));
        }
        ranks.extend((0..placement.tasks_per_node).map(|task| seat(fabric, node, task)));
    }
    if ranks.is_empty() {
        let what = "there is no rank";
        return Err(SimError::document("placement.nodes", what, "at least one node"));
    }
    Ok(ranks)
}

/// Where a task of a node runs.
fn seat(fabric: &Fabric, node: NodeId, task: u32) -> RankPlace {
    let there = &fabric.nodes[node.index()];
    let rail = |graph: &NodeGraph| graph.rail_of_task(task).0;
    let hca = HcaId(there.first_hca.0 + fabric.inside.as_ref().map_or(task % there.n_hcas, rail));
    let end = |graph: &NodeGraph| fabric.inner_vertex(node, graph.vertex_of_task(task));
    RankPlace { node, hca, task, vertex: fabric.inside.as_ref().map_or(hca.vertex(), end) }
}
