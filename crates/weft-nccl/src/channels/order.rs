//! In which order GPUs and adapters are tried: NCCL ends early, so that this decides.

use super::Search;
use crate::graph::Pattern;
use crate::topology::{End, Topology};
use crate::version::MOST_CHANNELS;
use std::cmp::Reverse;

/// Adapters in the order in which they are tried, for each GPU and, last, for all: those that a GPU
/// takes first, then the others from near to far.
pub(super) fn nets_to_try(topology: &Topology, farthest: u8) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..topology.gpus.len()).collect();
    let groups = all.chunks(1).chain([&all[..]]);
    groups.map(|gpus| nets_of(topology, farthest, gpus)).collect()
}

fn nets_of(topology: &Topology, farthest: u8, gpus: &[usize]) -> Vec<usize> {
    let own = gpus.iter().flat_map(|&gpu| topology.gpus[gpu].own_nets.iter().copied());
    let n_nets = topology.nets.len().min(MOST_CHANNELS);
    let near = (0..=farthest).flat_map(|path_type| {
        let pairs = gpus.iter().flat_map(|&gpu| (0..n_nets).map(move |net| (gpu, net)));
        let path = |gpu, net| topology.path(End::Gpu(gpu), End::Net(net));
        pairs.filter(move |&(gpu, net)| path(gpu, net).path_type == path_type).map(|(_, net)| net)
    });
    let mut found = Vec::new();
    for net in own.chain(near) {
        if !found.contains(&net) {
            found.push(net);
        }
    }
    found
}

impl Search<'_> {
    pub(super) fn index_of(&self, rank: u32) -> usize {
        let place = self.topology.gpus.iter().position(|gpu| gpu.rank == rank);
        place.expect("channels hold ranks of the node")
    }

    /// The GPU at a step of the channel before.
    pub(super) fn gpu_before(&self, step: usize) -> usize {
        let n_gpus = self.n_gpus();
        self.index_of(self.graph.ranks[(self.graph.n_channels - 1) * n_gpus + step])
    }

    /// GPUs that may follow, the best first. `meets_net`: whether the next one goes to an adapter,
    /// None where no GPU does any more.
    pub(super) fn next_gpus(&self, gpu: usize, meets_net: Option<bool>) -> Vec<usize> {
        let (n_gpus, channel) = (self.n_gpus(), self.graph.n_channels);
        let net = meets_net.map(|_| self.net_numbered(self.graph.nets[channel][0]));
        let free = (1..n_gpus).map(|i| (gpu + i) % n_gpus);
        let free = free.filter(|&other| self.used[other] & (1 << channel) == 0);
        let scored = free.filter_map(|other| {
            let path = self.topology.path(End::Gpu(gpu), End::Gpu(other));
            let inside = (Reverse(path.gb_s as i32), path.links.len());
            let between = net.map(|net| {
                let path = self.topology.path(End::Net(net), End::Gpu(other));
                let pci = self.capacity.pci_gb_s(&self.topology.gpus[other]);
                (Reverse(path.gb_s as i32), Reverse(pci), path.links.len())
            });
            (!path.links.is_empty()).then_some((between, inside, other))
        });
        let mut scored: Vec<_> = scored.collect();
        scored.sort_by_key(|&(between, inside, _)| (between, inside));
        let is_alike = scored.windows(2).all(|pair| pair[0].1 == pair[1].1);
        if meets_net == Some(false) && is_alike {
            scored.reverse();
        }
        let next: Vec<usize> = scored.into_iter().map(|(_, _, other)| other).collect();
        if self.topology.has_switch { self.neighbours_of(gpu, &next) } else { next }
    }

    /// Behind a switch: the neighbours among these, by number.
    fn neighbours_of(&self, gpu: usize, next: &[usize]) -> Vec<usize> {
        let n_gpus = self.n_gpus();
        let (before, after) = ((gpu + n_gpus - 1) % n_gpus, (gpu + 1) % n_gpus);
        let wanted = match self.graph.pattern {
            Pattern::Ring => vec![before, after],
            Pattern::BalancedTree => vec![after, before],
            _ => vec![after],
        };
        let mut found: Vec<usize> = wanted.into_iter().filter(|one| next.contains(one)).collect();
        found.dedup();
        found
    }

    fn net_numbered(&self, number: u32) -> usize {
        let place = self.topology.nets.iter().position(|net| net.number == number);
        place.expect("channels hold adapters of the node")
    }

    /// GPUs at which a channel from an adapter may start.
    pub(super) fn first_gpus(&self, net: usize) -> Vec<usize> {
        if self.topology.rules.starts_at_nearest {
            return self.nearest_in_turn(net);
        }
        let own = self.topology.nets[net].local_gpu;
        let near = self.topology.nearest_gpus(net);
        let others = near.into_iter().filter(|&gpu| Some(gpu) != own);
        own.into_iter().chain(others).collect()
    }

    /// Those of most bandwidth, of these with fewest links, another one first for each channel.
    fn nearest_in_turn(&self, net: usize) -> Vec<usize> {
        let n_gpus = self.n_gpus();
        let path = |gpu| self.topology.path(End::Net(net), End::Gpu(gpu));
        let (mut most, mut fewest) = (0., usize::MAX);
        for gpu in 0..n_gpus {
            let (gb_s, n_links) = (path(gpu).gb_s, path(gpu).links.len());
            if gb_s > most {
                (most, fewest) = (gb_s, n_links);
            } else if gb_s == most && n_links > 0 {
                fewest = fewest.min(n_links);
            }
        }
        if most < self.graph.gb_s_between.trunc() {
            return Vec::new();
        }
        let turn = (0..n_gpus).map(|i| (self.graph.n_channels + i) % n_gpus);
        turn.filter(|&gpu| (path(gpu).gb_s, path(gpu).links.len()) == (most, fewest)).collect()
    }
}
