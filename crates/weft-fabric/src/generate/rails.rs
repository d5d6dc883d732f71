//! Generated fabrics of GPU nodes by rails: the HCAs of one number meet on a leaf of their own.
//!
//! SOURCE: NVIDIA, "DGX SuperPOD: reference architecture": HCA i of every node of a scalable unit
//! on leaf i of it.

use super::Admission;
use super::draft::{CableSpec, Draft, switch};
use super::keys::{
    limit_links, one, port, refuse_keys, require_counts, require_key, spec, switch_name,
};
use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};

spec! {
    /// `{"generate": "rails", ...}` of docs/reference/scenario.md.
    pub struct RailsSpec {
        /// 2: every leaf to every spine. 3: rails have spines of their own, cores join them.
        pub levels: u32,
        /// Compute nodes.
        pub nodes: u32,
        /// HCAs a node, as many as rails.
        pub hcas_per_node: u32,
        /// Their names, as the platform names them; `hca0`, `hca1` ... without.
        pub hca_names: Option<Vec<String>>,
        /// Nodes of a unit: as many HCAs are below a leaf.
        pub nodes_per_unit: u32,
        /// Spine switches (two levels).
        pub spines: Option<u32>,
        /// Units whose leaves of a rail share spines (three levels).
        pub units_per_pod: Option<u32>,
        /// Spines of a rail in a pod (three levels).
        pub spines_per_rail: Option<u32>,
        /// Parallel cables from each leaf to each of its spines.
        #[serde(default = "one")]
        pub cables_per_spine: u32,
        /// Cores above each spine, shared by the spines of one place in all rails and pods (three
        /// levels).
        pub cores_per_spine: Option<u32>,
        /// Rate of HCA cables.
        pub host_bits_per_s: BitsPerSecond,
        /// Rate of cables between switches.
        pub switch_bits_per_s: BitsPerSecond,
        /// Delay of HCA cables.
        pub host_delay_ps: Picoseconds,
        /// Delay of cables between switches.
        pub switch_delay_ps: Picoseconds,
    }
}

/// How rails are joined: by spines that all leaves share, or by cores above spines of their own.
struct Shape {
    n_units: u32,
    units_per_pod: u32,
    n_pods: u32,
    /// Spines that a leaf is joined to.
    spines: u32,
    /// 0 with two levels.
    cores_per_spine: u32,
}

/// The document of a generated fabric of rails.
pub fn rails(spec: &RailsSpec, admit: Admission) -> Result<FabricDocument, FabricError> {
    require_counts!(spec, nodes, hcas_per_node, nodes_per_unit, cables_per_spine);
    let n_names = spec.hca_names.as_ref().map_or(spec.hcas_per_node as usize, Vec::len);
    if n_names != spec.hcas_per_node as usize {
        let expected = format!("{}, as hcas_per_node says", spec.hcas_per_node);
        return Err(FabricError::document(
            "fabric.hca_names",
            format!("{n_names} names"),
            expected,
        ));
    }
    let shape = shape(spec)?;
    let of_a_leaf =
        u64::from(spec.nodes_per_unit) + u64::from(shape.spines) * u64::from(spec.cables_per_spine);
    let n_leaves = u64::from(shape.n_units) * u64::from(spec.hcas_per_node);
    let n_spines = u64::from(shape.n_pods) * u64::from(spec.hcas_per_node);
    let n_spines = n_spines.saturating_mul(shape.spines.into());
    let to_cores = n_spines.saturating_mul(shape.cores_per_spine.into());
    limit_links(of_a_leaf.saturating_mul(n_leaves).saturating_add(to_cores))?;
    build(spec, &shape, admit)
}

fn shape(spec: &RailsSpec) -> Result<Shape, FabricError> {
    let n_units = spec.nodes.div_ceil(spec.nodes_per_unit);
    match spec.levels {
        2 => {
            let of = "rails of 2 levels";
            refuse_keys!(spec, of, units_per_pod, spines_per_rail, cores_per_spine);
            let spines = require_key!(spec, of, spines);
            Ok(Shape { n_units, units_per_pod: n_units, n_pods: 1, spines, cores_per_spine: 0 })
        }
        3 => {
            let of = "rails of 3 levels";
            refuse_keys!(spec, of, spines);
            let units_per_pod = require_key!(spec, of, units_per_pod);
            let spines = require_key!(spec, of, spines_per_rail);
            let cores_per_spine = require_key!(spec, of, cores_per_spine);
            let n_pods = n_units.div_ceil(units_per_pod);
            Ok(Shape { n_units, units_per_pod, n_pods, spines, cores_per_spine })
        }
        n => Err(FabricError::document("fabric.levels", format!("{n} levels"), "2 or 3")),
    }
}

fn build(spec: &RailsSpec, shape: &Shape, admit: Admission) -> Result<FabricDocument, FabricError> {
    let mut built = spec.draft("rails", spec.nodes, admit);
    let (n_rails, down) = (spec.hcas_per_node, spec.nodes_per_unit);
    let up = shape.spines * spec.cables_per_spine;
    for unit in 0..shape.n_units {
        for rail in 0..n_rails {
            let name = switch_name(&leaf_kind(rail), unit, shape.n_units);
            built.switch(switch(name, down + up, 1))?;
        }
    }
    let spines = Spines::of(spec, shape);
    spines.add(&mut built)?;
    let cable = CableSpec { rate: spec.host_bits_per_s, delay: spec.host_delay_ps };
    for node in 0..spec.nodes {
        let (unit, place) = (node / down, node % down);
        let hca = |rail: u32| {
            let name = match &spec.hca_names {
                Some(names) => names[rail as usize].clone(),
                None => format!("hca{rail}"),
            };
            (name, port(&leaf_kind(rail), unit, shape.n_units, place + 1))
        };
        built.node((0..n_rails).map(hca), cable);
    }
    let cable = CableSpec { rate: spec.switch_bits_per_s, delay: spec.switch_delay_ps };
    let units = 0..shape.n_units;
    for (unit, rail) in units.flat_map(|unit| (0..n_rails).map(move |rail| (unit, rail))) {
        for cable_number in 0..up {
            // Round the spines, as in a fat-tree.
            let (place, parallel) = (cable_number % shape.spines, cable_number / shape.spines);
            let number = down + cable_number + 1;
            let here = port(&leaf_kind(rail), unit, shape.n_units, number);
            built.cable(here, spines.port_of_leaf(unit, rail, place, parallel), cable);
        }
    }
    spines.join_cores(&mut built, cable);
    Ok(built.document)
}

fn leaf_kind(rail: u32) -> String {
    format!("rail{rail}-leaf")
}

/// The switches above the leaves.
struct Spines<'a> {
    shape: &'a Shape,
    n_rails: u32,
    parallel: u32,
    /// Ports of a spine to leaves.
    down: u32,
}

impl Spines<'_> {
    fn of<'a>(spec: &RailsSpec, shape: &'a Shape) -> Spines<'a> {
        let of_rails = if shape.cores_per_spine == 0 { spec.hcas_per_node } else { 1 };
        let units = shape.units_per_pod.min(shape.n_units);
        let down = units * of_rails * spec.cables_per_spine;
        Spines { shape, n_rails: spec.hcas_per_node, parallel: spec.cables_per_spine, down }
    }

    fn has_cores(&self) -> bool {
        self.shape.cores_per_spine > 0
    }

    fn name(&self, pod: u32, rail: u32, place: u32) -> String {
        let shape = self.shape;
        if !self.has_cores() {
            return switch_name("spine", place, shape.spines);
        }
        let index = pod * shape.spines + place;
        switch_name(&format!("rail{rail}-spine"), index, shape.n_pods * shape.spines)
    }

    fn add(&self, built: &mut Draft) -> Result<(), FabricError> {
        let shape = self.shape;
        let groups = if self.has_cores() { shape.n_pods * self.n_rails } else { 1 };
        for (group, place) in (0..groups).flat_map(|g| (0..shape.spines).map(move |p| (g, p))) {
            let name = self.name(group / self.n_rails, group % self.n_rails, place);
            built.switch(switch(name, self.down + shape.cores_per_spine, 2))?;
        }
        let n_cores = shape.spines * shape.cores_per_spine;
        for core in 0..n_cores {
            let name = switch_name("core", core, n_cores);
            built.switch(switch(name, shape.n_pods * self.n_rails, 3))?;
        }
        Ok(())
    }

    /// The port of a spine for a cable of a leaf.
    fn port_of_leaf(&self, unit: u32, rail: u32, place: u32, parallel: u32) -> String {
        let in_pod = unit % self.shape.units_per_pod;
        let leaf = if self.has_cores() { in_pod } else { unit * self.n_rails + rail };
        let name = self.name(unit / self.shape.units_per_pod, rail, place);
        format!("{name}[{}]", leaf * self.parallel + parallel + 1)
    }

    fn join_cores(&self, built: &mut Draft, cable: CableSpec) {
        let (shape, n_rails) = (self.shape, self.n_rails);
        let n_cores = shape.spines * shape.cores_per_spine;
        let groups = 0..shape.n_pods * n_rails;
        for (group, place) in groups.flat_map(|g| (0..shape.spines).map(move |p| (g, p))) {
            for above in 0..shape.cores_per_spine {
                let spine = self.name(group / n_rails, group % n_rails, place);
                let here = format!("{spine}[{}]", self.down + above + 1);
                let core = place * shape.cores_per_spine + above;
                built.cable(here, port("core", core, n_cores, group + 1), cable);
            }
        }
    }
}
