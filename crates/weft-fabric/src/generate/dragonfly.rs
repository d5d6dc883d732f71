//! Generated dragonflies, and dragonflies of leaves and spines (dragonfly+).
//!
//! SOURCE: Kim, Dally, Scott & Abts, "Technology-Driven, Highly-Scalable Dragonfly Topology"
//! (2008); Shpiner et al., "Dragonfly+: Low Cost Topology for Scaling Datacenters" (2017).

use super::Admission;
use super::draft::{CableSpec, Draft};
use super::keys::{limit_links, one, port, require_counts, spec, switch_name};
use crate::document::{FabricDocument, SwitchDocument};
use crate::error::FabricError;
use crate::limits::MAX_GROUP;
use crate::units::{BitsPerSecond, Picoseconds};

spec! {
    /// `{"generate": "dragonfly", ...}` of docs/reference/scenario.md.
    pub struct DragonflySpec {
        /// Compute nodes, as many as all routers take without it; the last routers have fewer.
        pub nodes: Option<u32>,
        /// Groups, every two of them joined by equally many cables.
        pub groups: u32,
        /// Switches with nodes in a group.
        pub routers_per_group: u32,
        /// Spines of a group (dragonfly+): all cables of a router lead to them, the cables to other
        /// groups from them. Without it routers are joined pairwise.
        #[serde(default)]
        pub spines_per_group: u32,
        /// Nodes on each router.
        pub nodes_per_router: u32,
        /// HCAs a node, all on the node's router.
        #[serde(default = "one")]
        pub hcas_per_node: u32,
        /// Ports to other groups of each router (dragonfly+: of each spine).
        pub global_ports: u32,
        /// Rate of HCA cables.
        pub host_bits_per_s: BitsPerSecond,
        /// Rate of cables inside groups.
        pub local_bits_per_s: BitsPerSecond,
        /// Rate of cables between groups.
        pub global_bits_per_s: BitsPerSecond,
        /// Delay of HCA cables.
        pub host_delay_ps: Picoseconds,
        /// Delay of cables inside groups.
        pub local_delay_ps: Picoseconds,
        /// Delay of cables between groups.
        pub global_delay_ps: Picoseconds,
    }
}

/// The document of a generated dragonfly.
pub fn dragonfly(spec: &DragonflySpec, admit: Admission) -> Result<FabricDocument, FabricError> {
    require_counts!(spec, routers_per_group, nodes_per_router, hcas_per_node, global_ports);
    let gateways = gateways(spec);
    let most = (u64::from(gateways) * u64::from(spec.global_ports) + 1).min(MAX_GROUP.into());
    if !(2..=most).contains(&u64::from(spec.groups)) {
        let what = format!("{} groups", spec.groups);
        let expected = format!("from 2 to {most}: a cable between every two groups");
        return Err(FabricError::document("fabric.groups", what, expected));
    }
    let routers = u64::from(spec.routers_per_group);
    let peers = if spec.spines_per_group > 0 { u64::from(spec.spines_per_group) } else { routers };
    let hosts = u64::from(spec.nodes_per_router) * u64::from(spec.hcas_per_node);
    let of_a_group =
        routers.saturating_mul(peers + hosts) + u64::from(gateways) * u64::from(spec.global_ports);
    limit_links(of_a_group.saturating_mul(u64::from(spec.groups)))?;
    let most = spec.groups * spec.routers_per_group * spec.nodes_per_router;
    if spec.nodes.is_some_and(|nodes| nodes == 0 || nodes > most) {
        let what = format!("{} nodes", spec.nodes.unwrap_or(0));
        return Err(FabricError::document("fabric.nodes", what, format!("from 1 to {most}")));
    }
    let n_nodes = spec.nodes.unwrap_or(most);
    let mut built = Dragonfly { spec, n_nodes, draft: spec.draft("dragonfly", n_nodes, admit) };
    built.add_switches()?;
    built.attach_nodes();
    built.join_groups_inside();
    built.join_groups();
    Ok(built.draft.document)
}

/// Switches of a group that have cables to other groups.
fn gateways(spec: &DragonflySpec) -> u32 {
    if spec.spines_per_group > 0 { spec.spines_per_group } else { spec.routers_per_group }
}

/// A document being built.
struct Dragonfly<'a> {
    spec: &'a DragonflySpec,
    n_nodes: u32,
    draft: Draft,
}

impl Dragonfly<'_> {
    fn hosts_per_router(&self) -> u32 {
        self.spec.nodes_per_router * self.spec.hcas_per_node
    }

    fn router(&self, group: u32, number: u32) -> (u32, u32) {
        let routers = self.spec.routers_per_group;
        (group * routers + number, self.spec.groups * routers)
    }

    fn router_port(&self, group: u32, number: u32, at: u32) -> String {
        let (index, count) = self.router(group, number);
        port("router", index, count, at)
    }

    fn spine_port(&self, group: u32, number: u32, at: u32) -> String {
        let spines = self.spec.spines_per_group;
        port("spine", group * spines + number, self.spec.groups * spines, at)
    }

    fn add_switches(&mut self) -> Result<(), FabricError> {
        let (routers, spines) = (self.spec.routers_per_group, self.spec.spines_per_group);
        let (global, hosts) = (self.spec.global_ports, self.hosts_per_router());
        let plus = spines > 0;
        let of_a_router = hosts + if plus { spines } else { routers - 1 + global };
        let kinds = [("router", routers, of_a_router, 1), ("spine", spines, routers + global, 2)];
        for (kind, count, ports, level) in kinds {
            for index in 0..count * self.spec.groups {
                let name = switch_name(kind, index, count * self.spec.groups);
                let group = Some(index / count);
                self.draft.switch(SwitchDocument { name, ports, level, group })?;
            }
        }
        Ok(())
    }

    fn attach_nodes(&mut self) {
        let spec = self.spec;
        let cable = CableSpec { rate: spec.host_bits_per_s, delay: spec.host_delay_ps };
        for index in 0..self.n_nodes {
            let router = index / spec.nodes_per_router;
            let (group, number) =
                (router / spec.routers_per_group, router % spec.routers_per_group);
            let first = index % spec.nodes_per_router * spec.hcas_per_node;
            let hcas: Vec<(String, String)> = (0..spec.hcas_per_node)
                .map(|rail| {
                    (format!("hca{rail}"), self.router_port(group, number, first + rail + 1))
                })
                .collect();
            self.draft.node(hcas.into_iter(), cable);
        }
    }

    /// Every router to every other of its group, or to every spine of it.
    fn join_groups_inside(&mut self) {
        let (spec, hosts) = (self.spec, self.hosts_per_router());
        let cable = CableSpec { rate: spec.local_bits_per_s, delay: spec.local_delay_ps };
        for group in 0..spec.groups {
            for router in 0..spec.routers_per_group {
                for spine in 0..spec.spines_per_group {
                    let a = self.router_port(group, router, hosts + spine + 1);
                    let b = self.spine_port(group, spine, router + 1);
                    self.draft.cable(a, b, cable);
                }
                let others = router + 1..spec.routers_per_group;
                for other in others.filter(|_| spec.spines_per_group == 0) {
                    // Ports to the others in their order, oneself left out.
                    let a = self.router_port(group, router, hosts + other);
                    let b = self.router_port(group, other, hosts + router + 1);
                    self.draft.cable(a, b, cable);
                }
            }
        }
    }

    /// The n-th port to other groups of a group.
    fn global_port(&self, group: u32, n: u32) -> String {
        let (switch, number) = (n / self.spec.global_ports, n % self.spec.global_ports);
        if self.spec.spines_per_group > 0 {
            return self.spine_port(group, switch, self.spec.routers_per_group + number + 1);
        }
        let local = self.hosts_per_router() + self.spec.routers_per_group - 1;
        self.router_port(group, switch, local + number + 1)
    }

    /// As many cables between every two groups as ports allow: round the other groups, the next
    /// one first, so that the cables of two groups end at different switches.
    fn join_groups(&mut self) {
        let (groups, spec) = (self.spec.groups, self.spec);
        let cable = CableSpec { rate: spec.global_bits_per_s, delay: spec.global_delay_ps };
        let cables = gateways(spec) * spec.global_ports / (groups - 1);
        for round in 0..cables {
            for group in 0..groups {
                for ahead in 1..groups {
                    let other = (group + ahead) % groups;
                    if other < group {
                        continue;
                    }
                    let back = groups - ahead;
                    let a = self.global_port(group, round * (groups - 1) + ahead - 1);
                    let b = self.global_port(other, round * (groups - 1) + back - 1);
                    self.draft.cable(a, b, cable);
                }
            }
        }
    }
}
