//! The parts that choose the paths of packets, and their choices: `routing` of a scenario, checked.

use crate::document::{AdaptiveDocument, Granularity, NonMinimal, Routing};
use crate::error::SimError;
use crate::limits::{BLOCK_BYTES, ps};
use crate::model::lanes::Lanes;
use std::num::NonZeroU8;
use std::sync::Arc;
use weft_fabric::check::Findings;
use weft_fabric::document::{Engine, FabricDocument};
use weft_fabric::{
    Candidates, Fabric, FabricError, HcaId, PathLanes, PortId, Routes, SwitchId, Tables, check,
    engines, lane_paths,
};

/// Widest grade: more than any buffer of a switch.
const MAX_GRADE_BYTES: u64 = 1 << 30;
/// Largest preference for the shortest path.
const MAX_BIAS_BYTES: u64 = 1 << 40;

/// The rule by which switches choose a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The tables.
    Tables,
    /// A hash of the queue pair, among candidates.
    Hash,
    /// The least load, among candidates.
    Least,
}

/// The part that decides where packets go, and its rule.
#[derive(Clone, Debug)]
pub(crate) struct Steering {
    pub(crate) choice: Choice,
    pub(crate) candidates: Option<Arc<Candidates>>,
    /// By virtual lane, a bit: its packets choose.
    pub(crate) choosing: u16,
    /// How much a hop between groups raises the lane; 0: nothing does.
    pub(crate) lane_stride: u8,
    highest_lane: u8,
    /// By port: whether it leads to another group.
    global: Vec<bool>,
    pub(crate) flowlet_gap_ps: Option<u64>,
    /// Loads are compared in steps of 2^this blocks, and this many of them.
    pub(crate) grade_shift: u32,
    pub(crate) highest_grade: u32,
    pub(crate) non_minimal: NonMinimal,
    pub(crate) bias_blocks: u64,
    /// By switch, its group, where detours are taken.
    pub(crate) groups: Vec<u16>,
    /// Lanes of the tables' paths, where they have their own.
    pub(crate) paths: Option<Arc<PathLanes>>,
}

/// The part of its fabric that a scenario uses.
#[derive(Clone, Copy)]
pub(crate) struct Used<'a> {
    pub(crate) hcas: &'a [HcaId],
    /// Service levels of its tenants.
    pub(crate) levels: &'a [u8],
    pub(crate) lanes: &'a Lanes,
    /// Lanes of the tables' paths, where they have their own.
    pub(crate) paths: Option<&'a PathLanes>,
}

/// Tables and candidates as the scenario's engine, or the fabric's document, has them.
pub(crate) fn tables(
    fabric: &Fabric,
    written: &FabricDocument,
    routing: &Routing,
) -> Result<(Routes, Option<Candidates>), SimError> {
    let engine = engine_of(written, routing);
    let chosen = engine == Some(Engine::Ecmp) || routing.adaptive.is_some();
    require_groups(fabric, engine)?;
    let (routes, mut candidates) = match engine {
        Some(engine) => {
            let Tables { routes, candidates } = engines::tables(fabric, engine);
            (routes, candidates)
        }
        None => {
            let Tables { routes, candidates } = engines::tables(fabric, Engine::Minhop);
            (Routes::from_document(fabric, written)?.unwrap_or(routes), candidates)
        }
    };
    if wants_detours(routing) {
        engines::add_detours(fabric, &mut candidates)?;
    }
    Ok((routes, chosen.then_some(candidates)))
}

/// Fill the gaps of checked tables with the shortest paths. No table leads a packet there, but one
/// whose switch chose a port, or that is in flight when tables change, may come by.
pub(crate) fn complete(fabric: &Fabric, routes: &mut Routes) {
    if routes.have_gaps() {
        routes.complete_from(&engines::compute(fabric, Engine::Minhop));
    }
}

/// The plan of a check of these tables; candidates are for the caller to add.
pub(crate) fn plan_of<'a>(routing: &Routing, routes: &'a Routes) -> check::Plan<'a> {
    let raised = routing.engine == Some(Engine::Dragonfly);
    check::Plan { routes, candidates: None, detours: wants_detours(routing), raised }
}

/// The routing of a scenario, with the engine that its fabric names where it names none.
pub(crate) fn settled(routing: &Routing, written: &FabricDocument) -> Routing {
    Routing { engine: engine_of(written, routing), ..routing.clone() }
}

fn engine_of(written: &FabricDocument, routing: &Routing) -> Option<Engine> {
    routing.engine.or(written.routing.map(|routing| routing.engine))
}

fn wants_detours(routing: &Routing) -> bool {
    let adaptive = routing.adaptive.as_ref();
    adaptive.is_some_and(|adaptive| adaptive.non_minimal != NonMinimal::None)
}

/// The dragonfly engine is another name for minhop where there are no groups.
fn require_groups(fabric: &Fabric, engine: Option<Engine>) -> Result<(), SimError> {
    let ports = || (0..fabric.ports.len() as u32).map(PortId);
    if engine == Some(Engine::Dragonfly) && !ports().any(|port| fabric.is_global(port)) {
        let what = "no cable leads from one group of switches to another";
        let expected = "the engine 'dragonfly' with a fabric of several groups";
        return Err(SimError::document("routing.engine", what, expected));
    }
    Ok(())
}

impl Steering {
    /// The steering of a scenario, once the routes between the HCAs in use are checked.
    pub(crate) fn new(
        fabric: &Fabric,
        routing: &Routing,
        tables: (&Routes, Option<Candidates>, Option<&Candidates>),
        used: Used<'_>,
    ) -> Result<Steering, SimError> {
        let ((routes, candidates, instead), Used { hcas, levels, lanes, paths }) = (tables, used);
        let engine = routing.engine;
        let raised = engine == Some(Engine::Dragonfly);
        let adaptive = routing.adaptive.clone().unwrap_or_default();
        let detours = wants_detours(routing);
        if detours && !raised {
            let what = "detours over a third group without the engine 'dragonfly'";
            let expected = "routing.engine 'dragonfly', which raises the lane between groups";
            return Err(SimError::document("routing.adaptive.non_minimal", what, expected));
        }
        let plan =
            check::Plan { candidates: candidates.as_ref().or(instead), ..plan_of(routing, routes) };
        let Findings { n_lanes, mut credit_loop } = check::examine(fabric, plan, hcas)?;
        if let Some(paths) = paths {
            require_static(routing)?;
            credit_loop = circle_of(lane_paths::check_lanes(fabric, routes, paths, hcas))?;
        }
        if let Some(error) = credit_loop.filter(|_| !routing.allow_credit_loops) {
            return Err(error.into());
        }
        let lane_stride = if raised { stride(lanes, levels, n_lanes)? } else { 0 };
        let choice = match (routing.adaptive.is_some(), engine) {
            (true, _) => Choice::Least,
            (false, Some(Engine::Ecmp)) => Choice::Hash,
            (false, _) => Choice::Tables,
        };
        let grade_blocks = grade_blocks(&adaptive)?;
        let ports = (0..fabric.ports.len() as u32).map(PortId);
        Ok(Steering {
            choice,
            candidates: candidates.map(Arc::new),
            choosing: lanes.chosen(
                adaptive.service_levels.as_deref(),
                levels,
                lane_stride,
                ("routing.adaptive.service_levels", "routed adaptively"),
            )?,
            lane_stride,
            highest_lane: lanes.count - 1,
            global: if raised { ports.map(|p| fabric.is_global(p)).collect() } else { Vec::new() },
            flowlet_gap_ps: flowlet_gap(&adaptive)?,
            grade_shift: grade_blocks.trailing_zeros(),
            highest_grade: highest_grade(&adaptive)?,
            non_minimal: adaptive.non_minimal,
            bias_blocks: bias_blocks(&adaptive)?,
            groups: if detours { groups(fabric) } else { Vec::new() },
            paths: paths.cloned().map(Arc::new),
        })
    }

    /// Detours for candidates of a fabric with dead cables, where any are taken.
    pub(crate) fn add_detours(&self, fabric: &Fabric, fresh: &mut Candidates) {
        if self.non_minimal != NonMinimal::None {
            engines::add_detours(fabric, fresh).expect("groups outlive cables");
        }
    }

    /// How many lanes a packet of these service levels takes one after the other, at the least of
    /// them: raises beyond end on the last.
    pub(crate) fn n_lanes(&self, levels: &[u8], lanes: &Lanes) -> usize {
        let Some(stride) = NonZeroU8::new(self.lane_stride) else { return 1 };
        let above = levels.iter().map(|level| self.highest_lane - lanes.of_level(*level));
        1 + above.min().map_or(0, |above| usize::from(above.div_ceil(stride.get())))
    }

    /// The lane on which a packet of `lane` leaves by port `o`.
    #[inline]
    pub(crate) fn lane_after(&self, o: u32, lane: u8) -> u8 {
        if self.lane_stride == 0 || !self.global[o as usize] {
            return lane;
        }
        // Round dead cables there may be more hops between groups than lanes: the last one takes
        // them, and a deadlock is an outcome.
        (lane + self.lane_stride).min(self.highest_lane)
    }

    /// The lane on which a packet set out that comes on `lane`. INVARIANT: its path raised it by
    /// whole strides; the last lane cuts a raise only after a cable went down during the run.
    pub(crate) fn lane_before(&self, lane: u8) -> u8 {
        if self.lane_stride == 0 { lane } else { lane % self.lane_stride }
    }
}

/// Lanes of paths are those of the tables: who chooses another port has none.
fn require_static(routing: &Routing) -> Result<(), SimError> {
    if routing.adaptive.is_none() {
        return Ok(());
    }
    let what = "switches choose ports, and the fabric's lanes are those of its tables' paths";
    let expected = "no routing.adaptive with 'lanes' of a fabric, or a routing.engine";
    Err(SimError::document("routing.adaptive", what, expected))
}

/// The credit loop of a check, apart from other errors.
fn circle_of(checked: Result<(), FabricError>) -> Result<Option<FabricError>, FabricError> {
    match checked {
        Ok(()) => Ok(None),
        Err(error @ FabricError::CreditLoop { .. }) => Ok(Some(error)),
        Err(error) => Err(error),
    }
}

/// How far apart the lanes are that a packet takes one after the other: lanes of service levels
/// are below the first raise.
fn stride(lanes: &Lanes, levels: &[u8], n_lanes: usize) -> Result<u8, SimError> {
    let stride = usize::from(lanes.count) / n_lanes;
    if stride == 0 {
        let what = format!(
            "{} lanes, and routes raise a packet's lane up to {} times",
            lanes.count,
            n_lanes - 1
        );
        return Err(SimError::document("lanes.count", what, format!("at least {n_lanes}")));
    }
    for level in levels {
        let lane = lanes.of_level(*level);
        if usize::from(lane) >= stride {
            let what = format!("service level {level} takes lane {lane}");
            let expected = format!("a lane below {stride}: those above are for raised packets");
            return Err(SimError::document("lanes.sl2vl", what, expected));
        }
    }
    Ok(stride as u8)
}

fn grade_blocks(adaptive: &AdaptiveDocument) -> Result<u64, SimError> {
    let bytes = adaptive.grade_bytes;
    if !bytes.is_power_of_two() || !(BLOCK_BYTES..=MAX_GRADE_BYTES).contains(&bytes) {
        let expected = "a power of two from 64 to 1073741824";
        let place = "routing.adaptive.grade_bytes";
        return Err(SimError::document(place, format!("{bytes} bytes"), expected));
    }
    Ok(bytes / BLOCK_BYTES)
}

fn highest_grade(adaptive: &AdaptiveDocument) -> Result<u32, SimError> {
    match adaptive.grades {
        None => Ok(u32::MAX - 1),
        Some(0 | 1 | u32::MAX) => {
            let what = format!("{:?} grades", adaptive.grades.unwrap_or(0));
            let expected = "2 or more, or none of this key for all";
            Err(SimError::document("routing.adaptive.grades", what, expected))
        }
        Some(grades) => Ok(grades - 1),
    }
}

fn bias_blocks(adaptive: &AdaptiveDocument) -> Result<u64, SimError> {
    if adaptive.bias_bytes > MAX_BIAS_BYTES {
        let what = format!("{} bytes", adaptive.bias_bytes);
        return Err(SimError::document("routing.adaptive.bias_bytes", what, "at most 2^40"));
    }
    if adaptive.bias_bytes > 0 && adaptive.non_minimal != NonMinimal::Ugal {
        let what = "no detour is weighed";
        let expected = "routing.adaptive.non_minimal 'ugal'";
        return Err(SimError::document("routing.adaptive.bias_bytes", what, expected));
    }
    Ok(adaptive.bias_bytes.div_ceil(BLOCK_BYTES))
}

fn flowlet_gap(adaptive: &AdaptiveDocument) -> Result<Option<u64>, SimError> {
    let place = "routing.adaptive.flowlet_gap_ns";
    let gap_ps = ps(place, adaptive.flowlet_gap_ns)?;
    let usual = AdaptiveDocument::default().flowlet_gap_ns;
    if adaptive.granularity == Granularity::Packet && adaptive.flowlet_gap_ns != usual {
        let expected = "routing.adaptive.granularity 'flowlet'";
        return Err(SimError::document(place, "packets choose one by one", expected));
    }
    Ok((adaptive.granularity == Granularity::Flowlet).then_some(gap_ps))
}

fn groups(fabric: &Fabric) -> Vec<u16> {
    let vertices = (0..fabric.n_switches()).map(|n| fabric.switch_vertex(SwitchId(n)));
    let group = |vertex: weft_fabric::VertexId| fabric.vertices[vertex.index()].group;
    vertices.map(|vertex| group(vertex).expect("detours were made from groups") as u16).collect()
}
