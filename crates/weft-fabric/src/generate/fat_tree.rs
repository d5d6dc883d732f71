//! Generated fat-trees of two and three levels: any taper, leaves of several kinds, mixed rates.

use super::Admission;
use super::draft::{CableSpec, switch};
use super::keys::{
    GENERATORS, at_least_one, limit_links, one, port, refuse_keys, refused, require_counts,
    require_key, required, spec, switch_name,
};
use crate::document::FabricDocument;
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};
use serde::Deserialize;

spec! {
    /// `{"generate": "fat_tree", ...}` of docs/reference/scenario.md.
    pub struct FatTreeSpec {
        /// 2 or 3.
        pub levels: u32,
        /// Compute nodes; may be left out where `leaves` gives them.
        pub nodes: Option<u32>,
        /// HCAs a node, all on the node's leaf switch.
        #[serde(default = "one")]
        pub hcas_per_node: u32,
        /// Nodes below one leaf; with a radix, as many as fill half its ports without it.
        pub nodes_per_leaf: Option<u32>,
        /// Leaves of several kinds, in their order, instead of `nodes_per_leaf`.
        pub leaves: Option<Vec<LeafSpec>>,
        /// Spine switches (two levels).
        pub spines: Option<u32>,
        /// Parallel cables from each leaf to each spine, of its pod with three levels.
        pub cables_per_spine: Option<u32>,
        /// Ports of every switch (three levels); it stands for the four keys below.
        pub radix: Option<u32>,
        /// Leaves of a pod (three levels without a radix).
        pub leaves_per_pod: Option<u32>,
        /// Spines of a pod, each joined to every leaf of it (three levels without a radix).
        pub spines_per_pod: Option<u32>,
        /// Cores above each spine; spines of one place in their pods share them (three levels
        /// without a radix).
        pub cores_per_spine: Option<u32>,
        /// Parallel cables from each spine to each of its cores (three levels without a radix).
        pub cables_per_core: Option<u32>,
        /// Rate of HCA cables.
        pub host_bits_per_s: BitsPerSecond,
        /// Rate of cables between switches.
        pub switch_bits_per_s: BitsPerSecond,
        /// Rate of cables to cores, where it is another.
        pub core_bits_per_s: Option<BitsPerSecond>,
        /// Delay of HCA cables.
        pub host_delay_ps: Picoseconds,
        /// Delay of cables between switches.
        pub switch_delay_ps: Picoseconds,
        /// Delay of cables to cores, where it is another.
        pub core_delay_ps: Option<Picoseconds>,
    }
}

/// Some leaves that are alike; what is left out is the tree's.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeafSpec {
    /// How many of them.
    #[serde(default = "one")]
    pub count: u32,
    /// Nodes below each.
    pub nodes: u32,
    /// Parallel cables to each spine.
    pub cables_per_spine: Option<u32>,
    /// Rate of HCA cables.
    pub host_bits_per_s: Option<BitsPerSecond>,
    /// Rate of cables to spines.
    pub switch_bits_per_s: Option<BitsPerSecond>,
}

/// A leaf as it is built.
#[derive(Clone, Copy)]
struct Leaf {
    /// Nodes below it; ports for HCAs, of which the last leaf may not use all.
    nodes: u32,
    down: u32,
    ports: u32,
    cables_per_spine: u32,
    host_rate: BitsPerSecond,
    switch_rate: BitsPerSecond,
}

/// Everything about a tree but its cables.
struct Shape {
    leaves: Vec<Leaf>,
    leaves_per_pod: u32,
    spines_per_pod: u32,
    spine_ports: u32,
    cores_per_spine: u32,
    cables_per_core: u32,
    core_ports: u32,
}

/// The document of a generated fat-tree.
pub fn fat_tree(spec: &FatTreeSpec, admit: Admission) -> Result<FabricDocument, FabricError> {
    if spec.generate != "fat_tree" {
        let what = format!("unknown generator '{}'", spec.generate);
        return Err(FabricError::document("fabric.generate", what, GENERATORS));
    }
    if let Some(nodes) = spec.nodes {
        at_least_one("nodes", nodes)?;
    }
    require_counts!(spec, hcas_per_node);
    let shape = match spec.levels {
        2 => two_levels(spec)?,
        3 => three_levels(spec)?,
        n => return Err(FabricError::document("fabric.levels", format!("{n} levels"), "2 or 3")),
    };
    build(spec, &shape, admit)
}

fn two_levels(spec: &FatTreeSpec) -> Result<Shape, FabricError> {
    let of = "a fat-tree of 2 levels";
    refuse_keys!(spec, of, radix, leaves_per_pod, spines_per_pod, cores_per_spine, cables_per_core);
    refuse_keys!(spec, of, core_bits_per_s, core_delay_ps);
    if spec.leaves.is_none() {
        require_key!(spec, of, nodes_per_leaf);
    }
    let spines = require_key!(spec, of, spines);
    let leaves = leaves(spec, spines)?;
    Ok(Shape {
        leaves_per_pod: leaves.len() as u32,
        spines_per_pod: spines,
        spine_ports: leaves.iter().map(|leaf| leaf.cables_per_spine).sum(),
        cores_per_spine: 0,
        cables_per_core: 1,
        core_ports: 0,
        leaves,
    })
}

/// The leaves of a tree without a radix, each with cables to so many spines.
fn leaves(spec: &FatTreeSpec, spines: u32) -> Result<Vec<Leaf>, FabricError> {
    let cables = at_least_one("cables_per_spine", spec.cables_per_spine.unwrap_or(1))?;
    let usual = |nodes: u32, count: u32| LeafSpec {
        count,
        nodes,
        cables_per_spine: None,
        host_bits_per_s: None,
        switch_bits_per_s: None,
    };
    let (kinds, wanted) = match (&spec.leaves, spec.nodes_per_leaf) {
        (Some(kinds), None) => (kinds.clone(), spec.nodes),
        (Some(_), Some(_)) => {
            let expected = "one of 'leaves' and 'nodes_per_leaf'";
            return Err(FabricError::document("fabric.leaves", "both are given", expected));
        }
        (None, per_leaf) => {
            let per_leaf = required("nodes_per_leaf", "a fat-tree", per_leaf)?;
            let nodes = require_key!(spec, "a fat-tree", nodes);
            (vec![usual(per_leaf, nodes.div_ceil(per_leaf))], None)
        }
    };
    let (mut n_links, mut n_nodes) = (0u64, 0u64);
    for kind in &kinds {
        at_least_one("leaves.count", kind.count)?;
        at_least_one("leaves.cables_per_spine", kind.cables_per_spine.unwrap_or(cables))?;
        let down = u64::from(kind.nodes) * u64::from(spec.hcas_per_node);
        let up = u64::from(spines) * u64::from(kind.cables_per_spine.unwrap_or(cables));
        n_links = n_links.saturating_add((down + up).saturating_mul(u64::from(kind.count)));
        n_nodes = n_nodes.saturating_add(u64::from(kind.nodes) * u64::from(kind.count));
    }
    limit_links(n_links)?;
    if wanted.is_some_and(|wanted| u64::from(wanted) != n_nodes) || n_nodes == 0 {
        let what = format!("the leaves have {n_nodes} nodes");
        let expected =
            wanted.map_or("a node".to_owned(), |n| format!("{n} nodes, as 'nodes' says"));
        return Err(FabricError::document("fabric.leaves", what, expected));
    }
    let mut left = spec.nodes.unwrap_or(u32::MAX);
    let mut leaves = Vec::new();
    for kind in &kinds {
        let cables_per_spine = kind.cables_per_spine.unwrap_or(cables);
        let down = kind.nodes * spec.hcas_per_node;
        for _ in 0..kind.count {
            let nodes = kind.nodes.min(left);
            left -= nodes;
            leaves.push(Leaf {
                nodes,
                down,
                ports: down + spines * cables_per_spine,
                cables_per_spine,
                host_rate: kind.host_bits_per_s.unwrap_or(spec.host_bits_per_s),
                switch_rate: kind.switch_bits_per_s.unwrap_or(spec.switch_bits_per_s),
            });
        }
    }
    Ok(leaves)
}

fn three_levels(spec: &FatTreeSpec) -> Result<Shape, FabricError> {
    refuse_keys!(spec, "a fat-tree of 3 levels", spines);
    if spec.radix.is_some() || spec.leaves_per_pod.is_none() {
        return of_radix(spec);
    }
    let of = "a fat-tree of 3 levels without a radix";
    let leaves_per_pod = require_key!(spec, of, leaves_per_pod);
    let spines_per_pod = require_key!(spec, of, spines_per_pod);
    let cores_per_spine = require_key!(spec, of, cores_per_spine);
    let cables_per_core = at_least_one("cables_per_core", spec.cables_per_core.unwrap_or(1))?;
    let leaves = leaves(spec, spines_per_pod)?;
    let n_pods = (leaves.len() as u32).div_ceil(leaves_per_pod);
    let up = u64::from(cores_per_spine) * u64::from(cables_per_core);
    let n_spines = u64::from(n_pods) * u64::from(spines_per_pod);
    limit_links(up.saturating_mul(n_spines))?;
    let pods = leaves.chunks(leaves_per_pod as usize);
    let down = pods.map(|pod| pod.iter().map(|leaf| leaf.cables_per_spine).sum::<u32>()).max();
    Ok(Shape {
        leaves,
        leaves_per_pod,
        spines_per_pod,
        spine_ports: down.unwrap_or(0) + up as u32,
        cores_per_spine,
        cables_per_core,
        core_ports: n_pods * cables_per_core,
    })
}

/// Nodes below a leaf of a tree of a radix, and the ports that are left to go up.
fn shape_of_leaf(spec: &FatTreeSpec, radix: u32) -> Result<(u32, u32), FabricError> {
    let half = radix / 2;
    let Some(nodes_per_leaf) = spec.nodes_per_leaf else {
        if !radix.is_multiple_of(2) || !half.is_multiple_of(spec.hcas_per_node) {
            let expected = "an even radix whose half is a multiple of hcas_per_node";
            return Err(FabricError::document("fabric.radix", format!("radix {radix}"), expected));
        }
        return Ok((half / spec.hcas_per_node, half));
    };
    at_least_one("nodes_per_leaf", nodes_per_leaf)?;
    let down = u64::from(nodes_per_leaf) * u64::from(spec.hcas_per_node);
    if !radix.is_multiple_of(2) || down >= u64::from(radix) {
        let what = format!("{down} of {radix} ports of a leaf go to HCAs");
        let expected = "an even radix, and a port of a leaf that goes up";
        return Err(FabricError::document("fabric.nodes_per_leaf", what, expected));
    }
    Ok((nodes_per_leaf, radix - down as u32))
}

/// All switches alike, and pods that are complete but for nodes.
fn of_radix(spec: &FatTreeSpec) -> Result<Shape, FabricError> {
    let of = "a fat-tree of a radix";
    let radix = require_key!(spec, "a fat-tree of 3 levels", radix);
    refuse_keys!(
        spec,
        of,
        leaves,
        leaves_per_pod,
        spines_per_pod,
        cores_per_spine,
        cables_per_core
    );
    let of_no_meaning = spec.cables_per_spine.is_some_and(|cables| cables != 1);
    refused("cables_per_spine", of, of_no_meaning)?;
    let nodes = require_key!(spec, of, nodes);
    let half = radix / 2;
    let (nodes_per_leaf, up) = shape_of_leaf(spec, radix)?;
    let limit =
        u64::from(radix).saturating_mul(u64::from(half)).saturating_mul(u64::from(nodes_per_leaf));
    if u64::from(nodes) > limit {
        let what = format!("{nodes} nodes do not fit a tree of radix {radix}");
        return Err(FabricError::document("fabric.nodes", what, format!("at most {limit}")));
    }
    let n_pods = nodes.div_ceil(nodes_per_leaf).div_ceil(half);
    let up_of_a_pod = 2 * u64::from(half).saturating_mul(u64::from(up));
    limit_links(u64::from(n_pods).saturating_mul(up_of_a_pod).saturating_add(u64::from(nodes)))?;
    let leaf = |index: u32| Leaf {
        nodes: nodes.saturating_sub(index * nodes_per_leaf).min(nodes_per_leaf),
        down: radix - up,
        ports: radix,
        cables_per_spine: 1,
        host_rate: spec.host_bits_per_s,
        switch_rate: spec.switch_bits_per_s,
    };
    Ok(Shape {
        leaves: (0..n_pods * half).map(leaf).collect(),
        leaves_per_pod: half,
        spines_per_pod: up,
        spine_ports: radix,
        cores_per_spine: half,
        cables_per_core: 1,
        core_ports: radix,
    })
}

fn build(
    spec: &FatTreeSpec,
    shape: &Shape,
    admit: Admission,
) -> Result<FabricDocument, FabricError> {
    let n_nodes = shape.leaves.iter().map(|leaf| leaf.nodes).sum();
    let mut built = spec.draft("fat-tree", n_nodes, admit);
    let n_leaves = shape.leaves.len() as u32;
    let n_pods = n_leaves.div_ceil(shape.leaves_per_pod);
    let n_spines = n_pods * shape.spines_per_pod;
    let n_cores = shape.spines_per_pod * shape.cores_per_spine;
    for (index, leaf) in (0..).zip(&shape.leaves) {
        built.switch(switch(switch_name("leaf", index, n_leaves), leaf.ports, 1))?;
    }
    for index in 0..n_spines {
        built.switch(switch(switch_name("spine", index, n_spines), shape.spine_ports, 2))?;
    }
    for index in 0..n_cores {
        built.switch(switch(switch_name("core", index, n_cores), shape.core_ports, 3))?;
    }
    for (index, leaf) in (0..).zip(&shape.leaves) {
        let cable = CableSpec { rate: leaf.host_rate, delay: spec.host_delay_ps };
        for place in 0..leaf.nodes {
            let first = place * spec.hcas_per_node + 1;
            let hca = |rail| (format!("hca{rail}"), port("leaf", index, n_leaves, first + rail));
            built.node((0..spec.hcas_per_node).map(hca), cable);
        }
    }
    for (pod, leaves) in (0..).zip(shape.leaves.chunks(shape.leaves_per_pod as usize)) {
        let mut below = 0;
        for (index, leaf) in (pod * shape.leaves_per_pod..).zip(leaves) {
            let cable = CableSpec { rate: leaf.switch_rate, delay: spec.switch_delay_ps };
            for up in 0..shape.spines_per_pod * leaf.cables_per_spine {
                // Round the spines: d-mod-k meets every spine before a second cable of one.
                let (spine, parallel) = (up % shape.spines_per_pod, up / shape.spines_per_pod);
                let spine = pod * shape.spines_per_pod + spine;
                let here = port("leaf", index, n_leaves, leaf.down + up + 1);
                let there = port("spine", spine, n_spines, below + parallel + 1);
                built.cable(here, there, cable);
            }
            below += leaf.cables_per_spine;
        }
        let core_cable = CableSpec {
            rate: spec.core_bits_per_s.unwrap_or(spec.switch_bits_per_s),
            delay: spec.core_delay_ps.unwrap_or(spec.switch_delay_ps),
        };
        let ups = shape.cores_per_spine * shape.cables_per_core;
        for (place, up) in (0..shape.spines_per_pod).flat_map(|s| (0..ups).map(move |up| (s, up))) {
            let (core, parallel) = (up % shape.cores_per_spine, up / shape.cores_per_spine);
            let core = place * shape.cores_per_spine + core;
            let spine = pod * shape.spines_per_pod + place;
            let here = port("spine", spine, n_spines, shape.spine_ports - ups + up + 1);
            let there = port("core", core, n_cores, pod * shape.cables_per_core + parallel + 1);
            built.cable(here, there, core_cable);
        }
    }
    Ok(built.document)
}
