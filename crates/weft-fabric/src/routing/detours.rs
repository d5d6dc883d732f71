//! Paths to whole groups of a dragonfly, for packets that go over a third group.
//!
//! SOURCE: non-minimal paths over an intermediate group after Kim, Dally, Scott & Abts,
//! "Technology-Driven, Highly-Scalable Dragonfly Topology" (2008).

use super::attachments::Attachments;
use super::candidates::Detours;
use super::distances::Distances;
use super::leaf_table::LeafTableBuilder;
use super::switch_graph::Graph;
use super::up_order;
use crate::document::Engine;
use crate::error::FabricError;
use crate::fabric::Fabric;
use crate::ids::SwitchId;

/// By switch, its group; an error where a switch has none, a number is left out (a detour might be
/// drawn that leads nowhere), or there are fewer than three.
pub(crate) fn groups_of(fabric: &Fabric) -> Result<Vec<u32>, FabricError> {
    let place = "routing.adaptive.non_minimal";
    let expected = "a fabric whose switches are all in groups, three or more of them, as a \
                    dragonfly's are";
    let group = |switch: u32| fabric.vertices[fabric.switch_vertex(SwitchId(switch)).index()].group;
    let groups: Option<Vec<u32>> = (0..fabric.n_switches()).map(group).collect();
    let groups = groups.ok_or_else(|| {
        FabricError::document(place, "a switch of the fabric is in no group", expected)
    })?;
    let n_groups = groups.iter().max().map_or(0, |highest| highest + 1);
    if n_groups < 3 {
        let what = format!("{n_groups} groups leave none for a detour");
        return Err(FabricError::document(place, what, expected));
    }
    let mut has_switches = vec![false; n_groups as usize];
    groups.iter().for_each(|group| has_switches[*group as usize] = true);
    if let Some(empty) = has_switches.iter().position(|has| !has) {
        let what = format!("no switch is in group {empty}, and one is in {}", n_groups - 1);
        let expected = "groups numbered from 0, none left out";
        return Err(FabricError::document(place, what, expected));
    }
    Ok(groups)
}

/// The detours of a fabric, on the paths the dragonfly engine allows.
pub(crate) fn detours(fabric: &Fabric, attached: &Attachments) -> Result<Detours, FabricError> {
    let groups = groups_of(fabric)?;
    let graph = Graph::of(fabric);
    let (n, n_leaves) = (graph.n_switches(), attached.n_leaves());
    let n_groups = groups.iter().max().map_or(0, |highest| highest + 1) as usize;
    let mut distances = Distances::new(&graph, Engine::Dragonfly, up_order::by_level(&graph));
    let mut table = LeafTableBuilder::new(n, n_groups);
    let mut hops_to_group = vec![u8::MAX; n * n_groups];
    for group in 0..n_groups {
        let there: Vec<usize> = (0..n).filter(|switch| groups[*switch] as usize == group).collect();
        distances.aim_at(&there);
        for switch in 0..n {
            let ports: Vec<u16> = distances.closer(switch).map(|edge| edge.number).collect();
            table.set(switch, group, &ports);
            hops_to_group[switch * n_groups + group] = short(distances.hops(switch));
        }
    }
    let mut hops_to_leaf = vec![u8::MAX; n * n_leaves];
    let mut hops_from_group = vec![0; n_groups * n_leaves];
    for leaf in 0..n_leaves {
        let Some(target) = attached.switch_of(leaf) else { continue };
        distances.aim_at(&[target.index()]);
        for switch in 0..n {
            let hops = short(distances.hops(switch));
            hops_to_leaf[switch * n_leaves + leaf] = hops;
            let most = &mut hops_from_group[groups[switch] as usize * n_leaves + leaf];
            *most = hops.max(*most);
        }
    }
    let table = table.finish();
    Ok(Detours { n_groups: n_groups as u32, table, hops_to_group, hops_to_leaf, hops_from_group })
}

/// Hops in a byte; as far as that goes where there is no path.
fn short(hops: Option<u32>) -> u8 {
    hops.map_or(u8::MAX, |hops| hops.min(u32::from(u8::MAX)) as u8)
}
