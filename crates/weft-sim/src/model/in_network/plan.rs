//! The tenants' collectives that switches carry out, and their trees: decided before the run.

use crate::document::{Fidelity, InNetworkDocument, Queueing};
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, NIL, blocks_of};
use crate::model::in_network::forest::{Forest, InNetwork, Part};
use crate::model::in_network::nv_switches::{Team, nv_switches};
use crate::model::in_network::parameters::Model;
use crate::model::in_network::tree::{Leaf, Loads, Tree, span};
use crate::model::placement::place::Tenant;
use crate::model::scenario::ValidScenario;
use weft_fabric::Fabric;
use weft_traffic::{Algorithm, StepDocument};

/// Most datagrams of a broadcast: each is a message of its sender.
const MAX_DATAGRAMS: u64 = 1 << 20;

/// The demands of a tenant's steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Wanted {
    /// A tree of the leaders of its nodes.
    leaders: bool,
    /// Trees of the NvSwitches of its nodes.
    teams: bool,
    /// Trees of switches between GPUs of a number.
    rails: bool,
    /// Trees of those GPUs themselves.
    kin: bool,
}

impl Wanted {
    fn add(&mut self, algorithm: Algorithm) {
        self.rails |= algorithm == Algorithm::Collnet;
        self.kin |= algorithm == Algorithm::NvlsTree;
        self.teams |= self.rails || self.kin || algorithm == Algorithm::Nvls;
        self.leaders |= !self.teams;
    }
}

/// The trees of all tenants that ask for any; none where no tenant asks. Refuses impossible ones.
pub(crate) fn plan(
    document: Option<&InNetworkDocument>,
    asked: &ValidScenario,
) -> Result<Option<InNetwork>, SimError> {
    let (framing, mtu_bytes) = (asked.framing, asked.mtu_bytes);
    let model = document.map(|d| Model::new(d, framing, mtu_bytes)).transpose()?;
    let mut wanted = vec![Wanted::default(); asked.tenants.len()];
    for (number, tenant) in asked.tenants.iter().enumerate() {
        for (index, step) in tenant.work.iter().enumerate() {
            let offloaded = step.algorithm.filter(|algorithm| algorithm.is_offloaded());
            let Some(algorithm) = offloaded else { continue };
            let place = || place_of(asked, number, index);
            require_means(place, step, model.as_ref(), mtu_bytes)?;
            require_nodes(place, algorithm, asked, tenant)?;
            wanted[number].add(algorithm);
        }
    }
    if wanted.iter().all(|wanted| *wanted == Wanted::default()) {
        return Ok(None);
    }
    let model = model.unwrap_or_else(|| Model::copying(framing, mtu_bytes));
    require_support(asked, &model)?;
    let mut made = InNetwork {
        model,
        forest: Forest::default(),
        member_of: vec![NIL; asked.ranks.len()],
        trees: Vec::new(),
    };
    let mut loads = Loads::default();
    for (tenant, wanted) in asked.tenants.iter().zip(wanted) {
        let first = made.forest.junctions.len() as u32;
        let before = loads.clone();
        let grown = made.grow_all(asked, tenant, wanted, &mut loads);
        if grown.is_err() {
            loads = before;
        }
        made.trees.push(grown.map(|()| first..made.forest.junctions.len() as u32));
    }
    made.require_room()?;
    Ok(Some(made))
}

/// Where a step is written.
fn place_of(asked: &ValidScenario, tenant: usize, step: usize) -> String {
    let alone = asked.tenants.len() == 1 && asked.tenants[0].name.is_empty();
    let before = if alone { String::new() } else { format!("tenants[{tenant}].") };
    format!("{before}work[{step}]")
}

/// Refuse an offloaded step whose needs the switches do not meet.
fn require_means(
    place: impl Fn() -> String,
    step: &StepDocument,
    model: Option<&Model>,
    mtu_bytes: u32,
) -> Result<(), SimError> {
    let (inside, across) = match step.algorithm {
        Some(Algorithm::Nvls | Algorithm::NvlsTree) => (true, false),
        Some(Algorithm::Collnet) => (true, true),
        _ => (false, false),
    };
    if step.algorithm != Some(Algorithm::Multicast) {
        let missing = |what: &str, key: &str| {
            let expected = format!("'{key}', or an algorithm of ranks");
            Err(SimError::document(place() + ".algorithm", what, expected))
        };
        return match model {
            None => missing("switches are to reduce, and nothing says what they can", "in_network"),
            Some(model) if inside && model.nvls.is_none() => missing(
                "NvSwitches are to reduce, and nothing says what they can",
                "in_network.nvls",
            ),
            Some(model) if across && model.sat.is_none() => {
                missing("switches are to stream, and nothing says what they can", "in_network.sat")
            }
            Some(_) => Ok(()),
        };
    }
    let n_datagrams = step.size_bytes.div_ceil(mtu_bytes.into());
    if n_datagrams > MAX_DATAGRAMS {
        let what = format!("{n_datagrams} datagrams");
        let expected = format!("at most {MAX_DATAGRAMS} of {mtu_bytes} bytes");
        return Err(SimError::document(place() + ".size_bytes", what, expected));
    }
    Ok(())
}

/// The nodes that an offloaded step needs.
fn require_nodes(
    place: impl Fn() -> String,
    algorithm: Algorithm,
    asked: &ValidScenario,
    tenant: &Tenant,
) -> Result<(), SimError> {
    let refuse = |what: String, expected: &str| {
        Err(SimError::document(place() + ".algorithm", what, expected))
    };
    let n_nodes = tenant.n_ranks / tenant.tasks_per_node(&asked.ranks);
    let across = matches!(algorithm, Algorithm::Collnet | Algorithm::NvlsTree);
    let slices = across || algorithm == Algorithm::Nvls;
    match &asked.fabric.inside {
        None if slices => {
            let what = "nothing says what is inside nodes".to_owned();
            refuse(what, "'node' with NvSwitches, or an algorithm of ranks")
        }
        Some(_) if !slices => {
            let what = "its trees end at HCAs, and ranks sit on what is inside nodes".to_owned();
            refuse(what, "'collnet', 'nvls_tree' or 'nvls', no 'node', or an algorithm of ranks")
        }
        Some(_) if algorithm == Algorithm::Nvls && n_nodes > 1 => {
            let what = format!("{n_nodes} nodes, and NvSwitches reduce within one");
            refuse(what, "one node, or 'collnet' or 'nvls_tree'")
        }
        Some(_) if across && n_nodes < 2 => {
            refuse("one node, and nothing leads to another".to_owned(), "two nodes, or 'nvls'")
        }
        Some(graph)
            if algorithm == Algorithm::Collnet && graph.bounce.iter().any(Option::is_some) =>
        {
            let what = "HCAs do not read GPUs, and sums go from one to the other".to_owned();
            refuse(what, "'gpudirect' true, or 'nvls_tree'")
        }
        Some(graph) => match nv_switches(graph, tenant.n_ranks / n_nodes) {
            Err(what) => refuse(what, "a GPU for each task, all on the same NvSwitches"),
            Ok(_) => Ok(()),
        },
        None => Ok(()),
    }
}

/// Refuse settings that trees of switches do not support.
fn require_support(asked: &ValidScenario, model: &Model) -> Result<(), SimError> {
    let refuse =
        |place: &str, what: &str, expected: &str| Err(SimError::document(place, what, expected));
    if asked.chosen.fidelity != Fidelity::Packet {
        let what = "switches reduce packets, and there are none";
        return refuse("fidelity", what, "fidelity 'packet' where switches take part");
    }
    if !matches!(asked.switch.model, Queueing::Voq | Queueing::Infinite) {
        let what = "switches that take part are simulated with a queue for each output";
        return refuse("switch.model", what, "'voq' or 'infinite' where switches take part");
    }
    if asked.switch.speedup.is_some() {
        let what = "the speed at which copies are read is not simulated";
        return refuse("switch.speedup", what, "no speed-up where switches take part");
    }
    if asked.faults.lose_packets() {
        let what = "packets of trees may be lost, and no host repeats them in this simulation";
        return refuse("faults", what, "cables that lose nothing where switches take part");
    }
    let longest = blocks_of(model.datagram_bytes(asked.mtu_bytes.into()));
    let buffer = asked.switch.buffer_bytes;
    if asked.switch.model == Queueing::Voq && buffer / BLOCK_BYTES < longest.into() {
        let expected = format!("at least {} bytes", u64::from(longest) * BLOCK_BYTES);
        let what = format!("{buffer} bytes hold no whole datagram");
        return Err(SimError::document("switch.buffer_bytes", what, expected));
    }
    Ok(())
}

impl InNetwork {
    /// Plant what a tenant's steps ask for, or say why some of it cannot be.
    fn grow_all(
        &mut self,
        asked: &ValidScenario,
        tenant: &Tenant,
        wanted: Wanted,
        loads: &mut Loads,
    ) -> Result<(), String> {
        if wanted.leaders {
            return self.grow(asked, tenant, loads);
        }
        if !wanted.teams {
            return Ok(());
        }
        let teams = self.grow_teams(asked, tenant);
        if wanted.kin {
            self.forest.join(&teams);
        }
        if wanted.rails { self.grow_rails(asked, &teams, loads) } else { Ok(()) }
    }

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
        self.require_quota(&asked.fabric, &tree, loads)?;
        tree.add_to(loads);
        for (leaf, member) in leaves.iter().zip(self.forest.members.len() as u32..) {
            self.member_of[leaf.rank as usize] = member;
        }
        tree.plant(&asked.fabric, &leaves, &mut self.forest);
        Ok(())
    }

    /// Plant the trees of the NvSwitches of a tenant's nodes: the teams, by their first members.
    fn grow_teams(&mut self, asked: &ValidScenario, tenant: &Tenant) -> Vec<(Team, u32)> {
        let graph = asked.fabric.inside.as_ref().expect("nodes were looked at");
        let tasks = tenant.tasks_per_node(&asked.ranks);
        let switches = nv_switches(graph, tasks).expect("nodes were looked at");
        let mut teams = Vec::new();
        for first in (0..tenant.n_ranks).step_by(tasks as usize) {
            let first = tenant.first_rank + first;
            let team = Team { ranks: (first..first + tasks).collect() };
            let member = self.forest.plant_team(asked, &team, &switches);
            for (rank, member) in team.ranks.iter().zip(member..) {
                self.member_of[*rank as usize] = member;
            }
            teams.push((team, member));
        }
        teams
    }

    /// Plant for each task a tree over the GPUs of all nodes that have its number.
    fn grow_rails(
        &mut self,
        asked: &ValidScenario,
        teams: &[(Team, u32)],
        loads: &mut Loads,
    ) -> Result<(), String> {
        for task in 0..teams[0].0.ranks.len() {
            let leaf = |(team, _): &(Team, u32)| {
                let rank = team.ranks[task];
                Leaf { rank, port: asked.fabric.hca_port(asked.ranks[rank as usize].hca) }
            };
            let leaves: Vec<Leaf> = teams.iter().map(leaf).collect();
            let tree = span(&asked.fabric, &leaves, loads)?;
            self.require_quota(&asked.fabric, &tree, loads)?;
            tree.add_to(loads);
            let first = self.forest.plant_rail(asked, &tree, &leaves);
            for ((_, member), rail) in teams.iter().zip(first..) {
                let node = member + task as u32;
                self.forest.go_on(node, rail);
                self.forest.members[rail as usize].part = Part::Rail { node };
            }
        }
        Ok(())
    }

    /// Every switch of a tree has room for one more.
    fn require_quota(&self, fabric: &Fabric, tree: &Tree, loads: &Loads) -> Result<(), String> {
        let (quota, each) = (self.model.quota, u64::from(self.model.n_operations()));
        for (switch, _) in &tree.switches {
            let n_trees = loads.trees.get(&switch.0).copied().unwrap_or(0);
            let name = || &fabric.vertices[fabric.switch_vertex(*switch).index()].name;
            if let Some(most) = quota.trees_per_switch.filter(|most| n_trees >= *most) {
                return Err(format!("switch '{}' has {n_trees} of at most {most} trees", name()));
            }
            let n_operations = (u64::from(n_trees) + 1) * each;
            if quota.operations_per_switch.is_some_and(|most| n_operations > most.into()) {
                let most = quota.operations_per_switch.unwrap_or(0);
                let what = format!("{n_operations} operations of {} trees", n_trees + 1);
                return Err(format!("switch '{}' has room for {most}, not for {what}", name()));
            }
        }
        Ok(())
    }
}
