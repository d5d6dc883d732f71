//! One search: channel after channel, GPU after GPU, each link with the rate that is tried.
//!
//! Every step costs one unit of a budget; where none is left the search ends with what it has.

mod order;

use crate::capacity::Capacity;
use crate::graph::{Graph, Pattern};
use crate::topology::{End, Topology};

/// The budget after a search that found all channels that it may have.
pub(crate) const PERFECT: i64 = -1;
/// Steps of the first order that is tried, which the budget does not count.
const STEPS_OF_FIRST_ORDER: i64 = 1 << 10;

/// Which GPU comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextGpu {
    Best,
    InOrder,
    AsBefore,
}

/// At which step of a channel it goes to an adapter, or back to its first GPU.
#[derive(Clone, Copy, Debug)]
struct Route {
    to_net: Option<usize>,
    to_first: Option<usize>,
    next: NextGpu,
}

/// The search with what it has taken so far. `best` outlives it.
pub(crate) struct Search<'a> {
    topology: &'a Topology,
    capacity: &'a mut Capacity,
    /// By GPU, a bit a channel.
    used: Vec<u64>,
    /// Adapters in the order in which they are tried, by GPU; last, those of all GPUs.
    nets_to_try: Vec<Vec<usize>>,
    graph: Graph,
    best: &'a mut Graph,
}

impl<'a> Search<'a> {
    /// Look for channels under a graph's limits and keep the best; the budget that is left.
    pub(crate) fn run(
        topology: &'a Topology,
        capacity: &'a mut Capacity,
        limits: &Graph,
        best: &'a mut Graph,
        budget: i64,
    ) -> i64 {
        let mut search = Self {
            topology,
            capacity,
            used: vec![0; topology.gpus.len()],
            nets_to_try: order::nets_to_try(topology, limits.type_between),
            graph: Graph { n_channels: 0, ..limits.clone() },
            best,
        };
        let mut left = budget;
        search.channel(&mut left);
        left
    }

    fn n_gpus(&self) -> usize {
        self.topology.gpus.len()
    }

    /// Take the rate from one end to another, `share` times; whether it is there.
    fn take(&mut self, from: End, to: End, share: f32) -> bool {
        let path = self.topology.path(from, to);
        let is_inside = !matches!((from, to), (End::Net(_), _) | (_, End::Net(_)));
        let (gb_s, farthest) = if is_inside {
            (self.graph.gb_s_inside, self.graph.type_inside)
        } else {
            (self.graph.gb_s_between, self.graph.type_between)
        };
        if path.path_type >= self.topology.types.apart {
            return false;
        }
        if share == 1. {
            let back = self.topology.path(to, from);
            let is_far_back = self.graph.pattern.is_tree() && back.path_type > farthest;
            if path.path_type > farthest || is_far_back {
                return false;
            }
        }
        let is_there = self.capacity.take(self.topology, path, from, gb_s * share);
        if is_there {
            let hops = self.graph.n_hops as f32 + share * path.links.len() as f32;
            self.graph.n_hops = hops as i32;
        }
        is_there
    }

    /// The next channel.
    fn channel(&mut self, left: &mut i64) {
        let last = self.n_gpus() - 1;
        let (to_net, to_first) = match (self.topology.nets.is_empty(), self.graph.pattern) {
            (false, Pattern::Ring) => (Some(last), None),
            (false, _) => (Some(0), None),
            (true, Pattern::Ring) => (None, Some(last)),
            (true, _) => (None, None),
        };
        let route = Route { to_net, to_first, next: NextGpu::Best };
        if to_net.is_some() {
            self.start_at_nets(route, left);
        } else if self.graph.pattern == Pattern::Nvls {
            self.enter(None, self.graph.n_channels, 0, route, left);
        } else {
            self.start_at_gpus(route, left);
        }
    }

    fn start_at_gpus(&mut self, route: Route, left: &mut i64) {
        if self.graph.n_channels == 0 {
            self.enter(None, 0, 0, Route { next: NextGpu::InOrder, ..route }, left);
        } else {
            let first = self.gpu_before(0);
            self.enter(None, first, 0, Route { next: NextGpu::AsBefore, ..route }, left);
        }
        if !self.graph.same_channels || self.graph.n_channels == 0 {
            for gpu in 0..self.n_gpus() {
                self.enter(None, gpu, 0, route, left);
            }
        }
    }

    /// Start a channel from each adapter in turn.
    fn start_at_nets(&mut self, route: Route, left: &mut i64) {
        let channel = self.graph.n_channels;
        // Whole GB/s: NCCL keeps this rate in an integer.
        let gb_s = self.graph.gb_s_between.trunc();
        let n_nets = self.nets_to_try[self.n_gpus()].len();
        for i in 0..n_nets {
            let index = self.nets_to_try[self.n_gpus()][(channel + i) % n_nets];
            let net = &self.topology.nets[index];
            let is_paired = self.graph.pattern == Pattern::Ring
                && self.graph.cross_nic == 2
                && channel % 2 == 1;
            if self.capacity.nets[index] < gb_s
                || (is_paired && net.number != self.graph.nets[channel - 1][1])
            {
                continue;
            }
            self.graph.nets[channel][0] = net.number;
            self.capacity.take_of_port(self.topology, net.port, gb_s);
            let is_found = if self.graph.pattern == Pattern::Nvls {
                channel < n_nets && self.head_at(index, route, left)
            } else {
                self.channel_from(index, route, left);
                false
            };
            self.capacity.take_of_port(self.topology, net.port, -gb_s);
            if is_found {
                break;
            }
        }
    }

    /// Try the GPU at an adapter where no channel has it yet; whether it was tried.
    fn head_at(&mut self, net: usize, route: Route, left: &mut i64) -> bool {
        let n_gpus = self.n_gpus();
        let Some(gpu) = self.topology.nets[net].local_gpu else { return false };
        let rank = self.topology.gpus[gpu].rank;
        if (0..self.graph.n_channels).any(|channel| self.graph.ranks[channel * n_gpus] == rank) {
            return false;
        }
        self.enter(Some(net), gpu, 0, route, left);
        true
    }

    fn channel_from(&mut self, net: usize, route: Route, left: &mut i64) {
        let replays_first = self.topology.rules.replays_first;
        let is_first = self.graph.n_channels == 0;
        if !is_first && (self.graph.same_channels || replays_first) {
            let first = self.gpu_before(0);
            self.enter(Some(net), first, 0, Route { next: NextGpu::AsBefore, ..route }, left);
        }
        if !is_first && self.graph.same_channels {
            return;
        }
        if is_first && !self.topology.has_switch {
            let mut steps = STEPS_OF_FIRST_ORDER;
            self.enter(Some(net), 0, 0, Route { next: NextGpu::InOrder, ..route }, &mut steps);
            if steps == PERFECT {
                *left = PERFECT;
            }
        }
        for gpu in self.first_gpus(net) {
            self.enter(Some(net), gpu, 0, route, left);
        }
    }

    /// Go on to a GPU as the channel's step, from an adapter or from nowhere.
    fn enter(&mut self, net: Option<usize>, gpu: usize, step: usize, route: Route, left: &mut i64) {
        self.hop(net.map(End::Net), gpu, step, route, left);
    }

    fn hop(&mut self, from: Option<End>, gpu: usize, step: usize, route: Route, left: &mut i64) {
        if from.is_some_and(|from| !self.take(from, End::Gpu(gpu), 1.)) {
            return;
        }
        let channel_bit = 1_u64 << self.graph.n_channels;
        self.used[gpu] ^= channel_bit;
        self.at_gpu(gpu, step, route, left);
        self.used[gpu] ^= channel_bit;
        if let Some(from) = from {
            self.take(from, End::Gpu(gpu), -1.);
        }
    }

    /// Whether the budget allows one more step.
    fn spend(left: &mut i64) -> bool {
        if *left <= 0 {
            return false;
        }
        *left -= 1;
        true
    }

    /// All GPUs are in the channel: compare, and look for the next one.
    fn complete(&mut self, left: &mut i64) {
        if !Self::spend(left) {
            return;
        }
        self.graph.n_channels += 1;
        if self.graph.is_better_than(self.best, self.n_gpus()) {
            self.best.clone_from(&self.graph);
            if self.graph.n_channels == self.graph.max_channels {
                *left = PERFECT;
            }
        }
        if self.graph.n_channels < self.graph.max_channels {
            self.channel(left);
        }
        self.graph.n_channels -= 1;
    }

    fn at_gpu(&mut self, gpu: usize, step: usize, route: Route, left: &mut i64) {
        if !Self::spend(left) {
            return;
        }
        let (n_gpus, channel) = (self.n_gpus(), self.graph.n_channels);
        self.graph.ranks[channel * n_gpus + step] = self.topology.gpus[gpu].rank;
        if route.to_net == Some(step) {
            self.leave_by_nets(gpu, step, route, left);
        } else if self.graph.pattern == Pattern::Nvls {
            self.through_switch(gpu, left);
        } else if step + 1 < n_gpus {
            let next = match route.next {
                NextGpu::InOrder => vec![step + 1],
                NextGpu::AsBefore => vec![self.gpu_before(step + 1)],
                NextGpu::Best => self.next_gpus(gpu, route.to_net.map(|at| at == step + 1)),
            };
            for other in next {
                self.hop(Some(End::Gpu(gpu)), other, step + 1, route, left);
            }
        } else if route.to_first == Some(step) {
            let first = self.index_of(self.graph.ranks[channel * n_gpus]);
            if self.take(End::Gpu(gpu), End::Gpu(first), 1.) {
                self.complete(left);
                self.take(End::Gpu(gpu), End::Gpu(first), -1.);
            }
        } else {
            self.complete(left);
        }
    }

    /// From a GPU to each adapter by which the channel may leave.
    fn leave_by_nets(&mut self, gpu: usize, step: usize, route: Route, left: &mut i64) {
        let channel = self.graph.n_channels;
        let is_balanced = self.graph.pattern == Pattern::BalancedTree;
        let gb_s = self.graph.gb_s_between;
        let shared = if is_balanced { gb_s / 2. } else { gb_s };
        for i in 0..self.nets_to_try[gpu].len() {
            let net = self.nets_to_try[gpu][i];
            let is_second = is_balanced && step > 0;
            let number = self.topology.nets[net].number;
            if !self.may_leave_by(net) || (is_second && number != self.graph.nets[channel][1]) {
                continue;
            }
            let to_net = (is_balanced && step == 0).then_some(1);
            let ends = (End::Gpu(gpu), End::Net(net));
            self.graph.gb_s_between = shared;
            let is_there = self.take(ends.0, ends.1, 1.);
            self.graph.gb_s_between = gb_s;
            if is_there {
                self.graph.nets[channel][1] = number;
                self.at_gpu(gpu, step, Route { to_net, ..route }, left);
                self.graph.gb_s_between = shared;
                self.take(ends.0, ends.1, -1.);
                self.graph.gb_s_between = gb_s;
            }
        }
    }

    fn may_leave_by(&self, net: usize) -> bool {
        let channel = self.graph.n_channels;
        let entered = self.graph.nets[channel][0];
        let leaves = &self.topology.nets[net];
        if self.graph.pattern == Pattern::Tree && leaves.number != entered {
            return false;
        }
        if self.graph.pattern == Pattern::Ring && self.graph.cross_nic == 2 {
            return channel.is_multiple_of(2) || leaves.number == self.graph.nets[channel - 1][0];
        }
        let port = self.topology.nets.iter().find(|one| one.number == entered).map(|one| one.port);
        self.graph.cross_nic != 0 || port == Some(leaves.port)
    }

    /// NVLink SHARP: to and from the switch, twice for the GPU at the adapter.
    fn through_switch(&mut self, head: usize, left: &mut i64) {
        let to = |gpu| (End::Switch, End::Gpu(gpu), if gpu == head { 2. } else { 1. });
        let from = |gpu| (End::Gpu(gpu), End::Switch, if gpu == head { 2. } else { 1. });
        let n = self.n_gpus();
        self.with_all((0..n).map(to).chain((0..n).map(from)).collect(), left);
    }

    /// Complete the channel where all of these can be taken.
    fn with_all(&mut self, flows: Vec<(End, End, f32)>, left: &mut i64) {
        let mut taken = Vec::new();
        for flow @ (from, to, share) in &flows {
            if !self.take(*from, *to, *share) {
                break;
            }
            taken.push(*flow);
        }
        if taken.len() == flows.len() {
            self.complete(left);
        }
        for (from, to, share) in taken.into_iter().rev() {
            self.take(from, to, -share);
        }
    }
}
