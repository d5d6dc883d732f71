//! Survey of all paths between all end ports: lengths, paths that do not arrive, valleys.

use super::forwarding_tree::{ForwardingTree, UNREACHED};
use super::net::Net;
use crate::subnet::End;
use serde::Serialize;
use std::collections::BTreeMap;

/// Most examples that are kept of a kind; all are counted.
const MAX_EXAMPLES: usize = 50;

/// A LID that some end ports do not reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unreachable {
    /// The LID.
    pub lid: u16,
    /// The port it is of.
    pub dst: End,
    /// How many end ports do not reach it.
    pub n_sources: u64,
    /// A switch whose table ends the path, or is on the circle.
    pub at: u32,
    /// Egress port there, 0 without an entry.
    pub port: u8,
    /// The nodes of the circle, where it is one.
    pub circle: Vec<u32>,
}

/// Routes that go down and then up again through a switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Valley {
    /// The node of the switch in the valley.
    pub at: u32,
    /// How many paths between end ports go through it.
    pub n_paths: u64,
    /// One of them: the source and destination ports.
    pub example: [End; 2],
}

/// All paths between all end ports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Survey {
    /// Pairs of different end ports, each direction for itself.
    pub n_pairs: u64,
    /// By cables crossed: how many pairs.
    pub hops: BTreeMap<u16, u64>,
    /// Pairs without a path.
    pub n_unreachable: u64,
    /// LIDs that are not reached, the first ones.
    pub unreachable: Vec<Unreachable>,
    /// How many LIDs are not reached from somewhere.
    pub n_unreachable_lids: u64,
    /// Valleys, those with most paths first.
    pub valleys: Vec<Valley>,
    /// Paths through valleys.
    pub n_valley_paths: u64,
    /// End ports without a LID: nothing is routed to them.
    pub n_without_lid: u64,
}

/// Survey the paths of a net.
pub fn survey(net: &Net<'_>) -> Survey {
    let mut survey = Survey::default();
    let n = net.endports.len() as u64;
    survey.n_pairs = n * n.saturating_sub(1);
    survey.n_without_lid = net.subnet.endports().count() as u64 - n;
    let mut tree = ForwardingTree::new(net);
    let mut below = Below::new(net);
    let mut valleys: BTreeMap<u32, Valley> = BTreeMap::new();
    for dst in 0..net.endports.len() as u32 {
        tree.aim(net, dst);
        count_hops(net, &tree, &below, &mut survey);
        below.fill(net, &tree);
        find_valleys(net, &tree, &below, &mut valleys);
    }
    survey.n_valley_paths = valleys.values().map(|valley| valley.n_paths).sum();
    survey.valleys = valleys.into_values().collect();
    survey.valleys.sort_by_key(|valley| (std::cmp::Reverse(valley.n_paths), valley.at));
    survey.valleys.truncate(MAX_EXAMPLES);
    survey
}

/// How many paths come to a switch from each level above it; one destination at a time.
struct Below {
    /// By switch: end ports on it that send.
    here: Vec<u64>,
    /// By switch: paths that come to it from a switch of a higher level, with one source of them.
    from_above: Vec<(u64, u32)>,
    /// By switch: all paths through it, with one source of them.
    all: Vec<(u64, u32)>,
    /// By switch: its first end port.
    first: Vec<u32>,
}

impl Below {
    fn new(net: &Net<'_>) -> Below {
        let n = net.n_switches();
        let mut here = vec![0; n];
        let mut first = vec![u32::MAX; n];
        for (number, endport) in net.endports.iter().enumerate() {
            let Some(leaf) = endport.leaf else { continue };
            here[leaf as usize] += 1;
            first[leaf as usize] = first[leaf as usize].min(number as u32);
        }
        Below { here, from_above: vec![(0, 0); n], all: vec![(0, 0); n], first }
    }

    fn fill(&mut self, net: &Net<'_>, tree: &ForwardingTree) {
        self.from_above.fill((0, 0));
        for (switch, slot) in self.all.iter_mut().enumerate() {
            *slot = (self.here[switch], self.first[switch]);
        }
        let own = net.endports[tree.dst as usize].leaf;
        if let Some(own) = own {
            self.all[own as usize].0 -= 1;
        }
        for switch in tree.order.iter().rev() {
            let Some(next) = tree.next(*switch) else { continue };
            let (n_paths, source) = self.all[*switch as usize];
            if n_paths == 0 {
                continue;
            }
            let there = &mut self.all[next as usize];
            *there = (there.0 + n_paths, if there.0 == 0 { source } else { there.1 });
            if net.levels[*switch as usize] > net.levels[next as usize] {
                let above = &mut self.from_above[next as usize];
                *above = (above.0 + n_paths, source);
            }
        }
    }
}

fn count_hops(net: &Net<'_>, tree: &ForwardingTree, below: &Below, survey: &mut Survey) {
    let dst = &net.endports[tree.dst as usize];
    let mut missing = Unreachable {
        lid: dst.lid,
        dst: dst.end,
        n_sources: 0,
        at: 0,
        port: 0,
        circle: Vec::new(),
    };
    for (switch, n_here) in below.here.iter().enumerate().filter(|(_, n)| **n > 0) {
        let n_sources = n_here - u64::from(dst.leaf == Some(switch as u32));
        match tree.hops[switch] {
            _ if n_sources == 0 => {}
            UNREACHED => {
                if missing.n_sources == 0 {
                    let end = path_end(net, tree, switch as u32);
                    (missing.at, missing.port) =
                        (net.switches[end as usize], tree.port[end as usize]);
                }
                missing.n_sources += n_sources;
            }
            hops => *survey.hops.entry(hops + 1).or_default() += n_sources,
        }
    }
    // Two adapters on one cable need no table.
    let by_switches = below.here.iter().sum::<u64>() - u64::from(dst.leaf.is_some());
    let others = net.endports.len() as u64 - 1 - by_switches;
    if dst.leaf.is_none() && others > 0 {
        *survey.hops.entry(1).or_default() += 1;
    }
    let joined = u64::from(dst.leaf.is_none()).min(others);
    missing.n_sources += others - joined;
    if missing.n_sources > 0 {
        let name = |switch: &u32| net.switches[*switch as usize];
        missing.circle = tree.circle.iter().flatten().map(name).collect();
        survey.n_unreachable += missing.n_sources;
        survey.n_unreachable_lids += 1;
        if survey.unreachable.len() < MAX_EXAMPLES {
            survey.unreachable.push(missing);
        }
    }
}

/// The switch where a path ends that does not arrive: a dead end, or one of a circle.
fn path_end(net: &Net<'_>, tree: &ForwardingTree, from: u32) -> u32 {
    let mut at = from;
    for _ in 0..net.n_switches() {
        match tree.next(at) {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

fn find_valleys(
    net: &Net<'_>,
    tree: &ForwardingTree,
    below: &Below,
    valleys: &mut BTreeMap<u32, Valley>,
) {
    let dst = net.endports[tree.dst as usize].end;
    for (switch, (n_paths, source)) in below.from_above.iter().enumerate() {
        let Some(next) = tree.next(switch as u32).filter(|_| *n_paths > 0) else { continue };
        if net.levels[next as usize] > net.levels[switch] {
            let at = net.switches[switch];
            let example = [net.endports[*source as usize].end, dst];
            let valley = valleys.entry(at).or_insert(Valley { at, n_paths: 0, example });
            valley.n_paths += n_paths;
        }
    }
}
