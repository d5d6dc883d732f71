//! Where ranks run, and whose they are.

use super::partition;
use crate::document::{PartitionDocument, PlacementDocument, TenantDocument, TenantRole};
use crate::error::SimError;
use crate::limits::{MAX_RANKS, ps};
use weft_fabric::{Fabric, HcaId, NodeGraph, NodeId, VertexId};
use weft_traffic::StepDocument;

/// Where a rank runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankPlace {
    /// Its node.
    pub node: NodeId,
    /// The HCA it sends and receives over.
    pub hca: HcaId,
    /// Its number among the tasks of its node.
    pub task: u32,
    /// The endpoint it sits on: a GPU or memory where nodes have an inside, else its HCA.
    pub vertex: VertexId,
    /// The tenant it belongs to.
    pub tenant: u32,
}

/// A job: its ranks are `first_rank .. first_rank + n_ranks` of the scenario.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    /// Its name in the outcome.
    pub name: String,
    /// Its part in the experiment.
    pub role: TenantRole,
    /// When its first step begins.
    pub start_ps: u64,
    /// Begin again until every tenant without this is done.
    pub repeat: bool,
    /// Its messages between nodes cost no processor.
    pub one_sided: bool,
    /// The service level of its messages.
    pub service_level: u8,
    /// Number of its first rank in the scenario.
    pub first_rank: u32,
    /// How many ranks it has.
    pub n_ranks: u32,
    /// Its work.
    pub work: Vec<StepDocument>,
}

impl Tenant {
    /// Ranks of each of its nodes.
    pub(crate) fn tasks_per_node(&self, ranks: &[RankPlace]) -> u32 {
        let own = &ranks[self.first_rank as usize..][..self.n_ranks as usize];
        own.iter().take_while(|rank| rank.node == own[0].node).count() as u32
    }
}

/// The jobs of a scenario: one, or several.
pub(crate) struct Jobs {
    pub(crate) placement: Option<PlacementDocument>,
    pub(crate) work: Option<Vec<StepDocument>>,
    pub(crate) tenants: Option<Vec<TenantDocument>>,
    pub(crate) partitions: Vec<PartitionDocument>,
}

/// Most tenants of a scenario.
const MAX_TENANTS: usize = 65_535;

/// Tenants and the places of all their ranks, checked.
pub(crate) fn place(
    fabric: &Fabric,
    jobs: Jobs,
) -> Result<(Vec<Tenant>, Vec<RankPlace>), SimError> {
    let partitions = partition::read(fabric, &jobs.partitions)?;
    let alone = jobs.tenants.is_none();
    let written = match (jobs.tenants, jobs.placement, jobs.work) {
        (Some(tenants), None, None) => tenants,
        (Some(_), placement, _) => {
            let key = if placement.is_some() { "placement" } else { "work" };
            let what = format!("'{key}' together with 'tenants'");
            return Err(SimError::document("scenario", what, "each tenant's own"));
        }
        (None, placement, Some(work)) => {
            vec![TenantDocument::alone(placement.unwrap_or_default(), work)]
        }
        (None, _, None) => {
            let what = "'work' is missing";
            return Err(SimError::document("scenario", what, "'work' or 'tenants'"));
        }
    };
    if written.len() > MAX_TENANTS || written.iter().all(|tenant| tenant.repeat) {
        let what = format!("{} tenants, of which none ends", written.len());
        let expected = format!("one tenant or more without repeat, {MAX_TENANTS} at most");
        return Err(SimError::document("tenants", what, expected));
    }
    let (mut tenants, mut ranks): (Vec<Tenant>, _) = (Vec::new(), Vec::new());
    for (index, document) in written.into_iter().enumerate() {
        // A scenario of one job has its keys at the top.
        let place = if alone { String::new() } else { format!("tenants[{index}].") };
        if tenants.iter().any(|tenant| tenant.name == document.name) {
            let what = format!("there are two tenants '{}'", document.name);
            return Err(SimError::document(format!("{place}name"), what, "names that differ"));
        }
        let first_rank = ranks.len();
        place_ranks(fabric, &place, &document.placement, index as u32, &mut ranks)?;
        let key = document.partition_key;
        let own = &ranks[first_rank..];
        let partition = partition::require(fabric, &partitions, &place, key, own)?;
        let level = document.service_level.unwrap_or(partition.service_level);
        partition::require_level(&format!("{place}service_level"), level)?;
        let n_ranks = own.len();
        tenants.push(read_tenant(&place, document, level, first_rank, n_ranks)?);
    }
    Ok((tenants, ranks))
}

fn read_tenant(
    place: &str,
    mut document: TenantDocument,
    service_level: u8,
    first_rank: usize,
    n_ranks: usize,
) -> Result<Tenant, SimError> {
    for (index, step) in document.work.iter_mut().enumerate() {
        let place = format!("{place}work[{index}]");
        step.prepare(&place, document.placement.tasks_per_node)?;
        step.check(&place, n_ranks as u32)?;
    }
    Ok(Tenant {
        name: document.name,
        role: document.role,
        start_ps: ps(&format!("{place}start_ns"), document.start_ns)?,
        repeat: document.repeat,
        one_sided: document.one_sided,
        service_level,
        first_rank: first_rank as u32,
        n_ranks: n_ranks as u32,
        work: document.work,
    })
}

pub(crate) fn node_named(fabric: &Fabric, place: &str, name: &str) -> Result<NodeId, SimError> {
    fabric.node_named(name).ok_or_else(|| {
        let what = format!("there is no node '{name}'");
        SimError::document(place, what, "a node of the fabric")
    })
}

/// Append the places of a tenant's ranks.
fn place_ranks(
    fabric: &Fabric,
    place: &str,
    placement: &PlacementDocument,
    tenant: u32,
    ranks: &mut Vec<RankPlace>,
) -> Result<(), SimError> {
    let place = format!("{place}placement");
    if placement.tasks_per_node == 0 {
        let place = format!("{place}.tasks_per_node");
        return Err(SimError::document(place, "it is 0", "1 or more"));
    }
    let (n_tasks, first_task) = (placement.tasks_per_node, placement.first_task);
    if first_task >= n_tasks {
        let (place, what) = (format!("{place}.first_task"), format!("it is {first_task}"));
        let expected = format!("less than {n_tasks}, the tasks of a node");
        return Err(SimError::document(place, what, expected));
    }
    let nodes = place_nodes(fabric, &place, placement)?;
    if nodes.is_empty() {
        let what = "there is no rank";
        return Err(SimError::document(format!("{place}.nodes"), what, "at least one node"));
    }
    for node in nodes {
        if ranks.len() + n_tasks as usize > MAX_RANKS {
            let what = format!("more than {MAX_RANKS} ranks");
            return Err(SimError::document(place, what, "fewer nodes or tasks a node"));
        }
        let tasks = (first_task..n_tasks).chain(0..first_task);
        ranks.extend(tasks.map(|task| seat(fabric, node, task, tenant)));
    }
    Ok(())
}

fn place_nodes(
    fabric: &Fabric,
    place: &str,
    placement: &PlacementDocument,
) -> Result<Vec<NodeId>, SimError> {
    let Some(names) = &placement.nodes else {
        return Ok((0..fabric.nodes.len() as u32).map(NodeId).collect());
    };
    let mut taken = vec![false; fabric.nodes.len()];
    let mut nodes = Vec::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        let place = format!("{place}.nodes[{index}]");
        let node = node_named(fabric, &place, name)?;
        if std::mem::replace(&mut taken[node.index()], true) {
            let what = format!("node '{name}' appears twice");
            return Err(SimError::document(place, what, "every node at most once"));
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// Where a task of a tenant's on a node runs.
fn seat(fabric: &Fabric, node: NodeId, task: u32, tenant: u32) -> RankPlace {
    let there = &fabric.nodes[node.index()];
    let rail = |graph: &NodeGraph| graph.rail_of_task(task).0;
    let hca = HcaId(there.first_hca.0 + fabric.inside.as_ref().map_or(task % there.n_hcas, rail));
    let end = |graph: &NodeGraph| fabric.inner_vertex(node, graph.vertex_of_task(task));
    let vertex = fabric.inside.as_ref().map_or(hca.vertex(), end);
    RankPlace { node, hca, task, vertex, tenant }
}
