//! A scenario that cannot be wrong.

use crate::document::{
    FaultDocument, Headers, PlacementDocument, Queueing, SCENARIO_SCHEMA, ScenarioDocument,
    SwitchModel,
};
use crate::error::SimError;
use crate::host::HostModel;
use crate::packet;
use weft_fabric::fabric::MAX_DELAY_PS;
use weft_fabric::{Fabric, FabricError, HcaId, NodeId, PortId, Routes};
use weft_fabric::{check, document, engines, fault};
use weft_traffic::StepDocument;

/// Most ranks of a scenario.
pub const MAX_RANKS: usize = 1 << 22;
/// Slowest cable that is simulated, 1 Mb/s: what is slower would outlast the clock.
pub const MIN_BITS_PER_S: u64 = 1_000_000;

/// Where a rank runs.
#[derive(Clone, Copy, Debug)]
pub struct RankPlace {
    /// Its node.
    pub node: NodeId,
    /// The HCA it sends and receives over.
    pub hca: HcaId,
}

/// Everything a simulation needs, checked.
#[derive(Clone, Debug)]
pub struct ValidScenario {
    pub(crate) fabric: Fabric,
    pub(crate) routes: Routes,
    pub(crate) hosts: HostModel,
    /// By node: how many times slower than it should be.
    pub(crate) slowness: Vec<f64>,
    pub(crate) ranks: Vec<RankPlace>,
    pub(crate) work: Vec<StepDocument>,
    pub(crate) mtu_bytes: u32,
    pub(crate) headers: Headers,
    pub(crate) switch: SwitchModel,
    pub(crate) seed: u64,
    pub(crate) elide: bool,
    pub(crate) max_events: u64,
}

impl ValidScenario {
    /// The scenario of a JSON text.
    pub fn parse(text: &str) -> Result<ValidScenario, SimError> {
        let document: ScenarioDocument = serde_json::from_str(text)
            .map_err(|error| SimError::Fabric(FabricError::from_json("scenario", &error)))?;
        ValidScenario::new(document)
    }

    /// The scenario of a document: faults planted, tables filled and checked.
    pub fn new(scenario: ScenarioDocument) -> Result<ValidScenario, SimError> {
        check_head(&scenario)?;
        let written = document::read(scenario.fabric)?;
        let mut fabric = Fabric::new(&written)?;
        let mut slowness = vec![1.0; fabric.nodes.len()];
        for (index, fault) in scenario.faults.iter().enumerate() {
            plant(&mut fabric, &mut slowness, &format!("faults[{index}]"), fault)?;
        }
        require_rates(&fabric)?;
        let engine = scenario.routing.engine.or(written.routing.map(|routing| routing.engine));
        let routes = engines::routes_of(&fabric, &written, engine)?;
        let ranks = place_ranks(&fabric, &scenario.placement)?;
        let used = hcas_in_use(&ranks);
        match check::check_routes(&fabric, &routes, &used) {
            Err(FabricError::CreditLoop { .. }) if scenario.routing.allow_credit_loops => {}
            result => result?,
        }
        for (index, step) in scenario.work.iter().enumerate() {
            step.check(&format!("work[{index}]"), ranks.len() as u32)?;
        }
        Ok(ValidScenario {
            fabric,
            routes,
            hosts: HostModel::new(&scenario.host)?,
            slowness,
            ranks,
            work: scenario.work,
            mtu_bytes: scenario.packets.mtu_bytes,
            headers: scenario.packets.headers,
            switch: scenario.switch,
            seed: scenario.seed,
            elide: scenario.elide,
            max_events: scenario.limits.max_events,
        })
    }

    /// The fabric, with its faults.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The forwarding tables in force.
    pub fn routes(&self) -> &Routes {
        &self.routes
    }
}

fn require_rates(fabric: &Fabric) -> Result<(), SimError> {
    let mut cabled = (0..fabric.ports.len()).filter(|port| fabric.ports[*port].peer.is_some());
    match cabled.find(|port| fabric.ports[*port].rate.0 < MIN_BITS_PER_S) {
        None => Ok(()),
        Some(port) => {
            let place = fabric.port_name(PortId(port as u32));
            let what = format!("{} bits a second", fabric.ports[port].rate.0);
            Err(SimError::document(place, what, "at least 1 Mb/s after all faults"))
        }
    }
}

fn check_head(scenario: &ScenarioDocument) -> Result<(), SimError> {
    if scenario.schema != SCENARIO_SCHEMA {
        let what = format!("'{}' is not a schema this version reads", scenario.schema);
        return Err(SimError::document("scenario.schema", what, SCENARIO_SCHEMA));
    }
    if scenario.switch.delay_ps > MAX_DELAY_PS {
        let what = format!("a delay of {} ps", scenario.switch.delay_ps);
        return Err(SimError::document("switch.delay_ps", what, "at most a second"));
    }
    let mtu = scenario.packets.mtu_bytes;
    if !(1..=1 << 20).contains(&mtu) {
        let what = format!("an MTU of {mtu} bytes");
        return Err(SimError::document("packets.mtu_bytes", what, "from 1 byte to 1 MiB"));
    }
    let largest = packet::blocks_of(packet::wire_bytes(scenario.packets.headers, mtu, true));
    let buffer = scenario.switch.buffer_bytes;
    let too_small = buffer / packet::BLOCK_BYTES < u64::from(largest);
    if too_small && scenario.switch.model != Queueing::Infinite {
        let what = format!("{buffer} bytes hold no whole packet");
        let expected = format!("at least {} bytes", u64::from(largest) * packet::BLOCK_BYTES);
        return Err(SimError::document("switch.buffer_bytes", what, expected));
    }
    Ok(())
}

fn plant(
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

fn node_named(fabric: &Fabric, place: &str, name: &str) -> Result<NodeId, SimError> {
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
        let there = &fabric.nodes[node.index()];
        if ranks.len() + placement.tasks_per_node as usize > MAX_RANKS {
            let what = format!("more than {MAX_RANKS} ranks");
            return Err(SimError::document("placement", what, "fewer nodes or tasks a node"));
        }
        ranks.extend(
            (0..placement.tasks_per_node).map(|task| RankPlace {
                node,
                hca: HcaId(there.first_hca.0 + task % there.n_hcas),
            }),
        );
    }
    if ranks.is_empty() {
        let what = "there is no rank";
        return Err(SimError::document("placement.nodes", what, "at least one node"));
    }
    Ok(ranks)
}

fn hcas_in_use(ranks: &[RankPlace]) -> Vec<HcaId> {
    let mut hcas: Vec<HcaId> = ranks.iter().map(|rank| rank.hca).collect();
    hcas.sort_unstable();
    hcas.dedup();
    hcas
}
