//! Load of every cable: paths a direction.

use super::forwarding_tree::ForwardingTree;
use super::net::{Far, Net, SOCKETS};
use crate::subnet::End;
use serde::Serialize;

/// The load of one port of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LinkLoad {
    /// The port.
    pub end: End,
    /// Paths (pairs of source and destination) over it.
    pub n_paths: u64,
    /// Different destinations among them.
    pub n_lids: u32,
}

/// Paths over every port between switches when every end port sends to every other.
pub fn all_to_all(net: &Net<'_>) -> Vec<LinkLoad> {
    let n = net.n_switches();
    let mut here = vec![0u64; n];
    for leaf in net.endports.iter().filter_map(|endport| endport.leaf) {
        here[leaf as usize] += 1;
    }
    let mut loads = vec![(0u64, 0u32); n * SOCKETS];
    let mut through = vec![0u64; n];
    let mut tree = ForwardingTree::new(net);
    for dst in 0..net.endports.len() as u32 {
        tree.aim(net, dst);
        through.copy_from_slice(&here);
        if let Some(own) = net.endports[dst as usize].leaf {
            through[own as usize] -= 1;
        }
        for switch in tree.order.iter().rev() {
            let n_paths = through[*switch as usize];
            let (Some(next), true) = (tree.next(*switch), n_paths > 0) else { continue };
            through[next as usize] += n_paths;
            let port = tree.port[*switch as usize];
            let load = &mut loads[*switch as usize * SOCKETS + usize::from(port)];
            *load = (load.0 + n_paths, load.1 + 1);
        }
    }
    between_switches(net, |index| loads[index])
}

/// Paths over every port between switches for pairs of end ports (by their numbers in the net).
/// Pairs without a path are left out.
pub fn of_pairs(net: &Net<'_>, pairs: &[(u32, u32)]) -> Vec<LinkLoad> {
    let mut counts = Counts::new(net);
    for (src, dst) in pairs {
        counts.add(net, *src, *dst);
    }
    between_switches(net, |index| (u64::from(counts.paths[index]), 0))
}

fn between_switches(net: &Net<'_>, load: impl Fn(usize) -> (u64, u32)) -> Vec<LinkLoad> {
    let mut loads = Vec::new();
    for switch in 0..net.n_switches() as u32 {
        for port in 1..=u8::MAX {
            if let Far::Switch(_) = net.far(switch, port) {
                let (n_paths, n_lids) = load(switch as usize * SOCKETS + usize::from(port));
                loads.push(LinkLoad { end: net.end(switch, port), n_paths, n_lids });
            }
        }
    }
    loads
}

/// Paths by port, added one pair at a time and taken away together.
pub(super) struct Counts {
    /// By switch and port.
    pub(super) paths: Vec<u32>,
    /// The ports that were counted.
    pub(super) touched: Vec<u32>,
}

impl Counts {
    pub(super) fn new(net: &Net<'_>) -> Counts {
        Counts { paths: vec![0; net.n_switches() * SOCKETS], touched: Vec::new() }
    }

    /// Count the path of a pair; false where it does not arrive (what it crossed is counted).
    pub(super) fn add(&mut self, net: &Net<'_>, src: u32, dst: u32) -> bool {
        walk(net, src, dst, |index| {
            let count = &mut self.paths[index];
            if *count == 0 {
                self.touched.push(index as u32);
            }
            *count += 1;
        })
    }

    pub(super) fn clear(&mut self) {
        for index in self.touched.drain(..) {
            self.paths[index as usize] = 0;
        }
    }
}

/// Follow the tables from an end port to another; `cross` gets the index of every port between
/// switches on the path. Whether it arrives.
pub(super) fn walk(net: &Net<'_>, src: u32, dst: u32, mut cross: impl FnMut(usize)) -> bool {
    let lid = net.endports[dst as usize].lid;
    let Some(mut at) = net.endports[src as usize].leaf else {
        return net.subnet.peer(net.endports[src as usize].end)
            == Some(net.endports[dst as usize].end);
    };
    for _ in 0..=net.n_switches() {
        let Some(port) = net.forward(at, lid) else { return false };
        match net.far(at, port) {
            Far::Nothing => return false,
            Far::Endport(there) => return there == dst,
            Far::Switch(next) => {
                cross(at as usize * SOCKETS + usize::from(port));
                at = next;
            }
        }
    }
    false
}

/// How full the fullest cable is when end port i sends to end port i + k, for many k.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShiftLoads {
    /// The shifts that were looked at: all, or evenly spread ones.
    pub shifts: Vec<u32>,
    /// For each, the most paths over one port between switches.
    pub worst: Vec<u32>,
    /// The shift whose fullest cable is the fullest of all, and that cable.
    pub fullest: Option<(u32, End)>,
}

/// The loads of up to `most` shifts.
pub fn shifts(net: &Net<'_>, most: u32) -> ShiftLoads {
    let n = net.endports.len() as u32;
    let n_shifts = n.saturating_sub(1);
    let n_looked = n_shifts.min(most);
    // Evenly spread: 1 + i (n - 1) / looked.
    let spread = |i: u32| (1 + u64::from(i) * u64::from(n_shifts) / u64::from(n_looked)) as u32;
    let shifts: Vec<u32> = (0..n_looked).map(spread).collect();
    let mut counts = Counts::new(net);
    let mut loads = ShiftLoads { shifts: shifts.clone(), worst: Vec::new(), fullest: None };
    for shift in shifts {
        for src in 0..n {
            counts.add(net, src, (src + shift) % n);
        }
        let fullest = counts.touched.iter().max_by_key(|at| (counts.paths[**at as usize], **at));
        let worst = fullest.map_or(0, |at| counts.paths[*at as usize]);
        if let Some(at) = fullest.filter(|_| loads.worst.iter().all(|before| *before < worst)) {
            let (switch, port) = (*at as usize / SOCKETS, *at as usize % SOCKETS);
            loads.fullest = Some((shift, net.end(switch as u32, port as u8)));
        }
        loads.worst.push(worst);
        counts.clear();
    }
    loads
}
