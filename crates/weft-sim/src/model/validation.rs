//! A scenario that cannot be wrong, made of a document.

use crate::congestion::defaults::Usual;
use crate::congestion::law::{Congestion, Surroundings};
use crate::congestion::{CongestionDocument, Law};
use crate::document::{
    LanesDocument, NonMinimal, Queueing, Routing, SCENARIO_SCHEMA, ScenarioDocument, SwitchModel,
};
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, MAX_MTU_BYTES, MAX_NUMBER, MIN_BITS_PER_S, blocks_of, ps};
use crate::model::faults::link_death::LinkDeath;
use crate::model::faults::recovery_tables;
use crate::model::faults::run_faults::Planted;
use crate::model::fidelity::{Chosen, Ruling};
use crate::model::framing::Framing;
use crate::model::host::HostModel;
use crate::model::in_network::plan;
use crate::model::lanes::Lanes;
use crate::model::placement::place::{self, RankPlace};
use crate::model::probes::Probes;
use crate::model::scenario::ValidScenario;
use crate::model::steady_state::SteadyRule;
use crate::model::steering::{self, Steering, Used};
use crate::model::transport::{Perils, Transport};
use crate::model::{dct, node_graph};
use std::sync::Arc;
use weft_fabric::document::{Engine, FabricDocument};
use weft_fabric::limits::MAX_DELAY_PS;
use weft_fabric::{Fabric, FabricError, PathLanes, PortId, generate};

impl ValidScenario {
    /// The scenario of a JSON text.
    pub fn parse(text: &str) -> Result<ValidScenario, SimError> {
        ValidScenario::new(ScenarioDocument::parse(text)?)
    }

    /// The scenario of a document: faults planted, tables filled and checked.
    pub fn new(scenario: ScenarioDocument) -> Result<ValidScenario, SimError> {
        check_head(&scenario)?;
        let mut ruling = Ruling::new(&scenario)?;
        let written = generate::read(scenario.fabric)?;
        let (framing, mtu_bytes) = (Framing::new(&scenario.packets), scenario.packets.mtu_bytes);
        let inside = node_graph::read(scenario.node, &written, framing, mtu_bytes)?;
        let mut fabric = Fabric::with_nodes(&written, inside)?;
        let faults = Planted::plant(&mut fabric, &scenario.faults)?;
        ruling.heed_faults(&faults)?;
        require_fabric(&fabric, &faults)?;
        let engine = scenario.routing.engine.or(written.routing.map(|routing| routing.engine));
        require_tables(&scenario.routing, engine, &scenario.switch, &faults)?;
        let link_death = LinkDeath::new(&scenario.routing.link_death)?;
        let link_death = link_death.plan(&fabric, &faults, engine_in_force(&written, engine));
        let (mut routes, candidates) = steering::tables(&fabric, &written, &scenario.routing)?;
        faults.spoil(&mut routes);
        let jobs = place::Jobs {
            placement: scenario.placement,
            work: scenario.work,
            tenants: scenario.tenants,
            partitions: scenario.partitions,
        };
        let (tenants, ranks) = place::place(&fabric, jobs)?;
        require_no_inner_loop(&fabric, &ranks, &scenario.routing)?;
        let (losses, overtaking) = (faults.lose_packets(), scenario.routing.adaptive.is_some());
        let perils = Perils { losses, overtaking, diverted: link_death.instead.is_some() };
        let (lanes, paths) = lanes_of(&scenario.lanes, &fabric, &written, engine)?;
        let levels: Vec<u8> = tenants.iter().map(|tenant| tenant.service_level).collect();
        let hcas = node_graph::hcas_in_use(&fabric, &ranks);
        let used = Used { hcas: &hcas, levels: &levels, lanes: &lanes, paths: paths.as_ref() };
        let routing = steering::settled(&scenario.routing, &written);
        let tables = (&routes, candidates, link_death.instead.as_deref());
        let steering = Steering::new(&fabric, &routing, tables, used)?;
        steering::complete(&fabric, &mut routes);
        let parts = recovery_tables::Parts { fabric: &fabric, faults: &faults, routes: &routes };
        recovery_tables::check(parts, &link_death, &routing, &steering, used)?;
        let mut valid = ValidScenario {
            congestion: None,
            in_network: None,
            fabric,
            routes: Arc::new(routes),
            steering,
            hosts: HostModel::new(&scenario.host, tenants.iter().any(|one| one.one_sided))?,
            faults,
            link_death,
            probes: Probes::new(&scenario.probes)?,
            ranks,
            tenants,
            mtu_bytes,
            headers: scenario.packets.headers,
            framing,
            lanes,
            transport: Transport::new(&scenario.transport, mtu_bytes, perils)?,
            switch: scenario.switch,
            chosen: Chosen::default(),
            seed: scenario.seed,
            steady: SteadyRule::new(scenario.steady_state.as_ref())?,
            elide: scenario.elide,
            max_events: scenario.limits.max_events,
            max_messages: scenario.limits.max_messages,
            stall_ps: stall_ps(scenario.limits.stall_ns)?,
        };
        let control = scenario.congestion_control.as_ref();
        valid.congestion = control.map(|law| congestion(law, &valid)).transpose()?;
        valid.settle(ruling);
        valid.in_network = plan::plan(scenario.in_network.as_ref(), &valid)?;
        dct::check(&valid)?;
        valid.check_paths()?;
        Ok(valid)
    }
}

/// Congestion control, checked against the other parts of its scenario.
fn congestion(
    CongestionDocument { law, service_levels }: &CongestionDocument,
    valid: &ValidScenario,
) -> Result<Congestion<Law>, SimError> {
    let ValidScenario { fabric, switch, lanes, steering, .. } = valid;
    if switch.model == Queueing::Infinite {
        let what = "buffers that never fill hold no packet up";
        let expected = "no congestion control with switch.model 'infinite'";
        return Err(SimError::document("congestion_control", what, expected));
    }
    let levels: Vec<u8> = valid.tenants.iter().map(|tenant| tenant.service_level).collect();
    let controlled = lanes.chosen(
        service_levels.as_deref(),
        &levels,
        steering.lane_stride,
        ("congestion_control.service_levels", "controlled"),
    )?;
    let read = law.read(&Surroundings {
        place: &format!("congestion_control.{}", law.name()),
        usual: Usual::of(fabric),
        buffer_bytes: switch.buffer_bytes,
        inside: fabric.inside.is_some(),
        detours: steering.non_minimal != NonMinimal::None,
        of_level: &lanes.of_level,
    })?;
    Ok(Congestion { lanes: controlled, ..read })
}

/// The lanes, and those of the paths of a document's own tables; an engine's paths have none.
fn lanes_of(
    lanes: &LanesDocument,
    fabric: &Fabric,
    written: &FabricDocument,
    engine: Option<Engine>,
) -> Result<(Lanes, Option<PathLanes>), SimError> {
    let own_tables = Some(written).filter(|_| engine.is_none());
    let paths = own_tables.map(|written| PathLanes::from_document(fabric, written));
    let paths = paths.transpose()?.flatten();
    Ok((Lanes::new(lanes, paths.as_ref())?, paths))
}

/// The engine that computes tables anew when a cable dies; none where tables were written.
fn engine_in_force(written: &FabricDocument, engine: Option<Engine>) -> Option<Engine> {
    engine.or(written.lfts.is_none().then_some(Engine::Minhop))
}

/// The watchdog's time: what is shorter would see a stall in every pause.
fn stall_ps(stall_ns: f64) -> Result<u64, SimError> {
    let place = "limits.stall_ns";
    if stall_ns < 1000.0 {
        let what = format!("{stall_ns} is no such time");
        return Err(SimError::document(place, what, "nanoseconds from 1000 to 1e12"));
    }
    ps(place, stall_ns)
}

/// Packets inside nodes cannot wait in a circle, unless that is allowed.
fn require_no_inner_loop(
    fabric: &Fabric,
    ranks: &[RankPlace],
    routing: &Routing,
) -> Result<(), SimError> {
    match node_graph::check(fabric, ranks) {
        Err(FabricError::CreditLoop { .. }) if routing.allow_credit_loops => Ok(()),
        result => Ok(result?),
    }
}

fn require_fabric(fabric: &Fabric, faults: &Planted) -> Result<(), SimError> {
    require_rates(fabric, faults)?;
    node_graph::require_whole(fabric, faults)?;
    require_numbers(fabric)
}

fn require_numbers(fabric: &Fabric) -> Result<(), SimError> {
    if fabric.ports.len() >= MAX_NUMBER as usize {
        let what = format!("{} ports", fabric.ports.len());
        let expected = format!("fewer than {MAX_NUMBER}: an event holds no larger number");
        return Err(SimError::document("fabric", what, expected));
    }
    Ok(())
}

fn require_rates(fabric: &Fabric, faults: &Planted) -> Result<(), SimError> {
    let cabled = (0..fabric.ports.len()).filter(|port| fabric.ports[*port].peer.is_some());
    let slowest = |port: usize| faults.slowest(PortId(port as u32), fabric.ports[port].rate);
    let mut rates = cabled.map(|port| (port, slowest(port)));
    match rates.find(|(_, rate)| rate.0 < MIN_BITS_PER_S) {
        None => Ok(()),
        Some((port, rate)) => {
            let place = fabric.port_name(PortId(port as u32));
            let what = format!("{} bits a second", rate.0);
            Err(SimError::document(place, what, "at least 1 Mb/s after all faults"))
        }
    }
}

/// Shares are counted by the output that tables say, and wrong entries are wrong in tables, so
/// tables must decide.
fn require_tables(
    routing: &Routing,
    engine: Option<Engine>,
    switch: &SwitchModel,
    faults: &Planted,
) -> Result<(), SimError> {
    let chooses = routing.adaptive.is_some() || engine == Some(Engine::Ecmp);
    if chooses && switch.model == Queueing::SharedBuffer {
        let what = "'shared_buffer' counts by the output that tables say";
        let expected = "another model where switches choose among ports";
        return Err(SimError::document("switch.model", what, expected));
    }
    let levels = routing.adaptive.as_ref().and_then(|adaptive| adaptive.service_levels.as_ref());
    if chooses && levels.is_none() && faults.wrong_routes() > 0 {
        let what = "an entry of a table that no packet follows";
        let expected = "routing by tables, at least of some service levels";
        return Err(SimError::document("faults", what, expected));
    }
    Ok(())
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
    if !(1..=MAX_MTU_BYTES).contains(&mtu) {
        let what = format!("an MTU of {mtu} bytes");
        return Err(SimError::document("packets.mtu_bytes", what, "from 1 to 65024 bytes"));
    }
    let framing = Framing::new(&scenario.packets);
    let largest = blocks_of(framing.wire_bytes(mtu, true));
    scenario.switch.check(largest)?;
    let buffer = scenario.switch.buffer_bytes;
    let too_small = buffer / BLOCK_BYTES < u64::from(largest);
    if too_small && scenario.switch.model != Queueing::Infinite {
        let what = format!("{buffer} bytes hold no whole packet");
        let expected = format!("at least {} bytes", u64::from(largest) * BLOCK_BYTES);
        return Err(SimError::document("switch.buffer_bytes", what, expected));
    }
    Ok(())
}
