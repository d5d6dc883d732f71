//! Generated fat-trees of two and three levels.

use crate::document::{
    FABRIC_SCHEMA, FabricDocument, LinkDocument, NodeDocument, RoutingDocument, SwitchDocument,
};
use crate::error::FabricError;
use crate::units::{BitsPerSecond, Picoseconds};
use serde::Deserialize;

/// Most nodes, HCAs a node, spines or cables that a generator is asked for.
const MAX_COUNT: u32 = 1_000_000;
/// Most cables of a generated fabric.
const MAX_LINKS: u64 = 16_000_000;

/// `{"generate": "fat_tree", ...}` of docs/reference/scenario.md.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FatTreeSpec {
    /// `weft.fabric/1`, optional here.
    #[serde(default = "schema")]
    pub schema: String,
    /// `fat_tree`.
    pub generate: String,
    /// A name for people; `fat-tree-<nodes>` without one.
    #[serde(default)]
    pub name: Option<String>,
    /// 2 or 3.
    pub levels: u32,
    /// Compute nodes.
    pub nodes: u32,
    /// HCAs a node, all on the node's leaf switch.
    #[serde(default = "one")]
    pub hcas_per_node: u32,
    /// Nodes below one leaf; with three levels, as many as fill half its ports without it.
    #[serde(default)]
    pub nodes_per_leaf: Option<u32>,
    /// Spine switches (two levels).
    #[serde(default)]
    pub spines: Option<u32>,
    /// Parallel cables from each leaf to each spine (two levels).
    #[serde(default = "one")]
    pub cables_per_spine: u32,
    /// Ports of every switch (three levels).
    #[serde(default)]
    pub radix: Option<u32>,
    /// Rate of HCA cables.
    pub host_bits_per_s: BitsPerSecond,
    /// Rate of cables between switches.
    pub switch_bits_per_s: BitsPerSecond,
    /// Delay of HCA cables.
    pub host_delay_ps: Picoseconds,
    /// Delay of cables between switches.
    pub switch_delay_ps: Picoseconds,
    /// The engine that should fill the tables.
    #[serde(default)]
    pub routing: Option<RoutingDocument>,
}

fn schema() -> String {
    FABRIC_SCHEMA.to_owned()
}

fn one() -> u32 {
    1
}

/// The document of a generated fat-tree.
pub fn fat_tree(spec: &FatTreeSpec) -> Result<FabricDocument, FabricError> {
    if spec.generate != "fat_tree" {
        let what = format!("unknown generator '{}'", spec.generate);
        return Err(FabricError::document("fabric.generate", what, "fat_tree or dragonfly"));
    }
    at_least_one("nodes", spec.nodes)?;
    at_least_one("hcas_per_node", spec.hcas_per_node)?;
    at_least_one("cables_per_spine", spec.cables_per_spine)?;
    match spec.levels {
        2 => two_levels(spec),
        3 => three_levels(spec),
        n => Err(FabricError::document("fabric.levels", format!("{n} levels"), "2 or 3")),
    }
}

pub(crate) fn at_least_one(key: &str, value: u32) -> Result<u32, FabricError> {
    let place = format!("fabric.{key}");
    match value {
        0 => Err(FabricError::document(place, "it is 0", "1 or more")),
        1..=MAX_COUNT => Ok(value),
        _ => Err(FabricError::document(place, format!("it is {value}"), "1000000 at most")),
    }
}

fn required(key: &str, levels: u32, value: Option<u32>) -> Result<u32, FabricError> {
    let value = value.ok_or_else(|| {
        let expected = format!("'{key}' in a fat-tree of {levels} levels");
        FabricError::document("fabric", format!("'{key}' is missing"), expected)
    })?;
    at_least_one(key, value)
}

fn refused(key: &str, levels: u32, present: bool) -> Result<(), FabricError> {
    if present {
        let what = format!("'{key}' has no meaning in a fat-tree of {levels} levels");
        return Err(FabricError::document(format!("fabric.{key}"), what, "no such key"));
    }
    Ok(())
}

fn two_levels(spec: &FatTreeSpec) -> Result<FabricDocument, FabricError> {
    refused("radix", 2, spec.radix.is_some())?;
    let nodes_per_leaf = required("nodes_per_leaf", 2, spec.nodes_per_leaf)?;
    let spines = required("spines", 2, spec.spines)?;
    let leaves = spec.nodes.div_ceil(nodes_per_leaf);
    let ports_of_a_leaf = u64::from(nodes_per_leaf) * u64::from(spec.hcas_per_node)
        + u64::from(spines) * u64::from(spec.cables_per_spine);
    limit_links(ports_of_a_leaf.saturating_mul(u64::from(leaves)))?;
    let down = nodes_per_leaf * spec.hcas_per_node;
    let up = spines * spec.cables_per_spine;
    let mut tree = Tree::new(spec);
    tree.switches("leaf", leaves, down + up, 1);
    tree.switches("spine", spines, leaves * spec.cables_per_spine, 2);
    tree.attach_nodes(nodes_per_leaf, leaves);
    for leaf in 0..leaves {
        for cable in 0..up {
            // Round the spines: d-mod-k meets every spine before a second cable of one.
            let (spine, parallel) = (cable % spines, cable / spines);
            let above = leaf * spec.cables_per_spine + parallel + 1;
            tree.cable(
                port("leaf", leaf, leaves, down + cable + 1),
                port("spine", spine, spines, above),
            );
        }
    }
    Ok(tree.document)
}

/// Nodes below a leaf of a three-level tree, and the ports that are left to go up.
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

fn three_levels(spec: &FatTreeSpec) -> Result<FabricDocument, FabricError> {
    refused("spines", 3, spec.spines.is_some())?;
    let radix = required("radix", 3, spec.radix)?;
    let half = radix / 2;
    let (nodes_per_leaf, up) = shape_of_leaf(spec, radix)?;
    limit_links(u64::from(radix).saturating_pow(3))?;
    let limit = u64::from(radix) * u64::from(half) * u64::from(nodes_per_leaf);
    if u64::from(spec.nodes) > limit {
        let what = format!("{} nodes do not fit a tree of radix {radix}", spec.nodes);
        return Err(FabricError::document("fabric.nodes", what, format!("at most {limit}")));
    }
    let pods = spec.nodes.div_ceil(nodes_per_leaf).div_ceil(half);
    let (leaves, spines, cores) = (pods * half, pods * up, up * half);
    let mut tree = Tree::new(spec);
    tree.switches("leaf", leaves, radix, 1);
    tree.switches("spine", spines, radix, 2);
    tree.switches("core", cores, radix, 3);
    tree.attach_nodes(nodes_per_leaf, leaves);
    for pod in 0..pods {
        for i in 0..half {
            for j in 0..up {
                let (leaf, spine) = (pod * half + i, pod * up + j);
                tree.cable(
                    port("leaf", leaf, leaves, radix - up + j + 1),
                    port("spine", spine, spines, i + 1),
                );
            }
        }
        for i in 0..up {
            for j in 0..half {
                let (spine, core) = (pod * up + i, i * half + j);
                tree.cable(
                    port("spine", spine, spines, half + j + 1),
                    port("core", core, cores, pod + 1),
                );
            }
        }
    }
    Ok(tree.document)
}

pub(crate) fn limit_links(n_links: u64) -> Result<(), FabricError> {
    if n_links > MAX_LINKS {
        let what = format!("about {n_links} cables");
        return Err(FabricError::document("fabric", what, format!("at most {MAX_LINKS}")));
    }
    Ok(())
}

/// 'leaf-07': padded so that names sort.
pub(crate) fn switch_name(kind: &str, index: u32, count: u32) -> String {
    let width = count.to_string().len().max(2);
    format!("{kind}-{:0width$}", index + 1)
}

pub(crate) fn port(kind: &str, index: u32, count: u32, number: u32) -> String {
    format!("{}[{number}]", switch_name(kind, index, count))
}

/// A document being built.
struct Tree<'a> {
    spec: &'a FatTreeSpec,
    document: FabricDocument,
}

impl<'a> Tree<'a> {
    fn new(spec: &'a FatTreeSpec) -> Tree<'a> {
        let name = spec.name.clone().unwrap_or_else(|| format!("fat-tree-{}", spec.nodes));
        let document = FabricDocument {
            schema: spec.schema.clone(),
            name,
            nodes: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            lfts: None,
            routing: spec.routing,
        };
        Tree { spec, document }
    }

    fn switches(&mut self, kind: &str, count: u32, ports: u32, level: u32) {
        for index in 0..count {
            let name = switch_name(kind, index, count);
            self.document.switches.push(SwitchDocument { name, ports, level, group: None });
        }
    }

    fn attach_nodes(&mut self, nodes_per_leaf: u32, leaves: u32) {
        let width = self.spec.nodes.to_string().len().max(3);
        for index in 0..self.spec.nodes {
            let name = format!("n{:0width$}", index + 1);
            let hcas: Vec<String> =
                (0..self.spec.hcas_per_node).map(|rail| format!("{name}/hca{rail}")).collect();
            let (leaf, place) = (index / nodes_per_leaf, index % nodes_per_leaf);
            for (rail, hca) in hcas.iter().enumerate() {
                let number = place * self.spec.hcas_per_node + rail as u32 + 1;
                self.document.links.push(LinkDocument {
                    a: format!("{hca}[1]"),
                    b: port("leaf", leaf, leaves, number),
                    bits_per_s: self.spec.host_bits_per_s,
                    delay_ps: self.spec.host_delay_ps,
                });
            }
            self.document.nodes.push(NodeDocument { name, hcas });
        }
    }

    fn cable(&mut self, a: String, b: String) {
        self.document.links.push(LinkDocument {
            a,
            b,
            bits_per_s: self.spec.switch_bits_per_s,
            delay_ps: self.spec.switch_delay_ps,
        });
    }
}
