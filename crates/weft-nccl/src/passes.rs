//! Search after search: the first pass lowers its demands until it finds channels, the second
//! raises their rate.

use crate::capacity::Capacity;
use crate::channels::{PERFECT, Search};
use crate::document::{GraphDocument, JobDocument, PatternName, RequestDocument};
use crate::error::NcclError;
use crate::graph::{Graph, Pattern};
use crate::topology::{End, Topology};

/// Budgets in steps. SOURCE: NVIDIA/nccl, src/graph/search.cc: NCCL_SEARCH_TIMEOUT and others.
const BUDGET: i64 = 1 << 14;
const BUDGET_OF_SAME_CHANNELS: i64 = 1 << 8;
const BUDGET_OF_ALL: i64 = 1 << 19;
/// How much slower channels are tried once some were found.
const LEAST_OF_RATE: f64 = 0.49;
const HOPPER: u32 = 90;
const MOST_NVLS_HEADS: usize = 32;

/// The graphs that NCCL finds on a node.
pub fn search(job: &JobDocument) -> Result<Vec<GraphDocument>, NcclError> {
    let topology = Topology::new(&job.node)?;
    let mut capacity = Capacity::new(&topology);
    let graphs = job.requests.iter().map(|request| graph_of(&topology, &mut capacity, request));
    graphs.collect()
}

fn graph_of(
    topology: &Topology,
    capacity: &mut Capacity,
    request: &RequestDocument,
) -> Result<GraphDocument, NcclError> {
    if request.min_channels > request.max_channels {
        let what = format!("{} to {} channels", request.min_channels, request.max_channels);
        return Err(NcclError::new("requests", what, "min_channels up to max_channels"));
    }
    Ok(Passes::new(topology, request).graph(capacity).document(topology))
}

/// The path types that are tried: the nearest and the farthest there are.
#[derive(Clone, Copy, Debug)]
struct Types {
    inside: (u8, u8),
    between: (u8, u8),
}

struct Passes<'a> {
    topology: &'a Topology,
    types: Types,
    /// Lowest compute capability.
    sm: u32,
    cross_nic: u8,
    rates: &'static [f32],
    rate: usize,
    budget_of_all: i64,
    best: Graph,
    limits: Graph,
}

impl<'a> Passes<'a> {
    fn new(topology: &'a Topology, request: &RequestDocument) -> Self {
        let has_nets = !topology.nets.is_empty();
        let sm = topology.gpus.iter().map(|gpu| gpu.sm).min().unwrap_or(0);
        let may_cross = topology.nets.len() > 1 && request.pattern != PatternName::Nvls;
        let best = Graph::new(topology, request);
        Self {
            topology,
            types: types_of(topology),
            sm,
            cross_nic: if may_cross { request.cross_nic } else { 0 },
            rates: topology.rules.rates(sm, has_nets),
            rate: 0,
            budget_of_all: BUDGET_OF_ALL,
            limits: best.clone(),
            best,
        }
    }

    fn graph(mut self, capacity: &mut Capacity) -> Graph {
        self.begin();
        let is_nvls = self.best.pattern == Pattern::Nvls;
        if is_nvls && (!self.topology.has_switch || self.sm < HOPPER) {
            return self.best;
        }
        self.limit();
        let mut is_first_pass = true;
        loop {
            let budget = if self.limits.same_channels { BUDGET_OF_SAME_CHANNELS } else { BUDGET };
            self.budget_of_all -= budget;
            let mut left =
                Search::run(self.topology, capacity, &self.limits, &mut self.best, budget);
            let is_done = left == PERFECT || self.best.total_between() >= self.topology.total_gb_s;
            if is_first_pass && !is_done && self.demand_less(left) {
                continue;
            }
            if is_first_pass {
                is_first_pass = false;
                left = PERFECT;
                self.begin_second();
            }
            if left == 0 || !self.demand_more() {
                break;
            }
        }
        if self.best.n_channels == 0 && !is_nvls {
            self.fall_back();
        }
        self.best
    }

    fn begin(&mut self) {
        self.best.cross_nic = u8::from(self.cross_nic == 1);
        self.best.type_inside = self.types.inside.0;
        self.best.type_between = self.types.between.0;
        self.best.same_channels = self.best.pattern != Pattern::Nvls;
    }

    fn limit(&mut self) {
        let n_gpus = self.topology.gpus.len();
        let has_nets = !self.topology.nets.is_empty();
        let best = &mut self.best;
        if best.pattern == Pattern::Nvls {
            best.max_channels = MOST_NVLS_HEADS.min(n_gpus);
        }
        if n_gpus == 1 && best.pattern != Pattern::Ring {
            best.pattern = Pattern::Tree;
        }
        if !has_nets && best.pattern == Pattern::Nvls {
            best.min_channels = best.max_channels;
        }
        let is_single = best.max_channels >= 2 && best.min_channels == 1;
        if best.pattern == Pattern::Ring && is_single && has_two_nvlink_domains(self.topology) {
            best.min_channels = 2;
        }
        self.limits = best.clone();
        let mut total = self.topology.total_gb_s;
        if n_gpus > 1 && best.pattern != Pattern::Ring {
            total = (f64::from(total) * (n_gpus as f64 / (n_gpus - 1) as f64)) as f32;
        }
        let (most, n) = (self.topology.max_gb_s, best.min_channels as f32);
        self.try_rate(self.first_rate(|rate| rate > most || rate * n > total));
    }

    /// The first rate that is not too much, the lowest where all are.
    fn first_rate(&self, is_too_much: impl Fn(f32) -> bool) -> usize {
        let found = self.rates.iter().position(|&rate| !is_too_much(rate));
        found.unwrap_or(self.rates.len() - 1)
    }

    fn try_rate(&mut self, rate: usize) {
        self.rate = rate;
        self.limits.gb_s_inside = self.rates[rate];
        self.limits.gb_s_between = self.rates[rate];
    }

    /// Change what is demanded by one step, the mildest first; false where nothing is left to try.
    fn demand_less(&mut self, left: i64) -> bool {
        let has_nets = !self.topology.nets.is_empty();
        let far = self.topology.types.sockets;
        let is_found = self.best.n_channels > 0;
        let keeps_same = self.topology.is_amd && self.limits.type_inside == far;
        if self.limits.same_channels && !keeps_same {
            self.limits.same_channels = false;
            return true;
        }
        self.limits.same_channels = self.best.pattern != Pattern::Nvls;
        self.budget_of_all += left;
        if self.budget_of_all < 0 && is_found {
            return false;
        }
        if self.sm >= HOPPER && self.limits.pattern == Pattern::BalancedTree {
            self.limits.pattern = Pattern::Tree;
            return true;
        }
        self.limits.pattern = self.best.pattern;
        self.nears(has_nets, is_found) || self.crosses_or_slows(is_found)
    }

    /// Allow farther paths.
    fn nears(&mut self, has_nets: bool, is_found: bool) -> bool {
        let (types, limits, best) = (self.types, &mut self.limits, &self.best);
        let apart = self.topology.types.apart;
        let farthest = if has_nets { limits.type_between } else { types.inside.1 };
        if limits.type_inside < farthest && (!is_found || limits.type_inside < best.type_inside) {
            limits.type_inside += 1;
            if limits.type_inside < apart {
                return true;
            }
        }
        limits.type_inside = types.inside.0;
        let may_be_better = !is_found
            || limits.type_between < best.type_between
            || limits.type_between < self.topology.types.other_gpu;
        if has_nets && limits.type_between < types.between.1 && may_be_better {
            limits.type_between += 1;
            if limits.type_between < apart {
                return true;
            }
        }
        limits.type_between = types.between.0;
        false
    }

    /// Allow a channel to leave by another adapter, then lower the rate.
    fn crosses_or_slows(&mut self, is_found: bool) -> bool {
        let crossing = [Pattern::Ring, Pattern::BalancedTree].contains(&self.best.pattern);
        if self.cross_nic == 2 && self.limits.cross_nic == 0 && crossing {
            self.limits.cross_nic = 2;
            return true;
        }
        self.limits.cross_nic = u8::from(self.cross_nic == 1);
        let Some(&next) = self.rates.get(self.rate + 1) else { return false };
        if is_found && f64::from(next / self.best.gb_s_between) <= LEAST_OF_RATE {
            return false;
        }
        self.try_rate(self.rate + 1);
        true
    }

    fn begin_second(&mut self) {
        let n_gpus = self.topology.gpus.len();
        self.best.double_channels(self.sm, n_gpus);
        self.limits = self.best.clone();
        let found = self.best.gb_s_between;
        self.try_rate(self.first_rate(|rate| rate > found));
        self.limits.min_channels = self.best.n_channels;
    }

    /// Raise the rate by one step; false where that cannot help.
    fn demand_more(&mut self) -> bool {
        let Some(rate) = self.rate.checked_sub(1) else { return false };
        let (limits, best) = (&mut self.limits, &self.best);
        if best.pattern == Pattern::Ring {
            self.try_rate(rate);
            return true;
        }
        let is_nvls = best.pattern == Pattern::Nvls;
        if is_nvls
            && limits.gb_s_between == best.gb_s_between
            && limits.gb_s_between < limits.gb_s_inside * 2.
        {
            limits.min_channels = best.n_channels;
            limits.max_channels = best.n_channels;
            limits.gb_s_between = self.rates[rate];
        } else if limits.gb_s_inside == best.gb_s_inside
            && limits.gb_s_inside < limits.gb_s_between * 2.
        {
            limits.gb_s_inside = self.rates[rate];
        } else {
            return false;
        }
        self.rate = rate;
        true
    }

    /// NCCL's last resort: the GPUs in their order, slowly.
    fn fall_back(&mut self) {
        let far = self.topology.types.sockets;
        for (rank, gpu) in self.best.ranks.iter_mut().zip(&self.topology.gpus) {
            *rank = gpu.rank;
        }
        self.best.nets[0] = [0; 2];
        (self.best.gb_s_inside, self.best.gb_s_between) = (0.1, 0.1);
        (self.best.type_inside, self.best.type_between) = (far, far);
        self.best.n_channels = 1;
    }
}

fn types_of(topology: &Topology) -> Types {
    let far = topology.types.sockets;
    let nets = || (0..topology.nets.len()).map(End::Net);
    let span = |ends: Vec<End>| {
        let types = topology.ends_of_gpus().flat_map(|gpu| {
            let others = ends.clone().into_iter().filter(move |&end| end != gpu);
            others.map(move |end| topology.path(gpu, end).path_type)
        });
        types.fold((far, 0), |(near, far), one| (near.min(one), far.max(one)))
    };
    let mut inside =
        if topology.gpus.len() > 1 { span(topology.ends_of_gpus().collect()) } else { (0, far) };
    let mut between = (topology.types.bridge, far);
    if !topology.nets.is_empty() {
        between = span(nets().collect());
        inside.1 = between.1;
    }
    Types { inside, between }
}

/// Whether NVLinks join the GPUs to two groups.
fn has_two_nvlink_domains(topology: &Topology) -> bool {
    let n_gpus = topology.gpus.len();
    let nvlink = topology.types.nvlink;
    let mut domain: Vec<usize> = (0..n_gpus).collect();
    for gpu in 0..n_gpus {
        for other in gpu + 1..n_gpus {
            if topology.path(End::Gpu(gpu), End::Gpu(other)).path_type == nvlink {
                domain[other] = domain[gpu];
            }
        }
    }
    let size = |one: usize| domain.iter().filter(|&&other| other == one).count();
    (0..n_gpus).filter(|&one| size(one) > 1).count() == 2
}
