//! A graph in the making, and which of two is better.

use crate::document::{GraphDocument, PatternName, RequestDocument};
use crate::topology::Topology;
use crate::version::MOST_CHANNELS;

/// The shape that is tried: a balanced tree may give way to a plain one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pattern {
    Ring,
    BalancedTree,
    Tree,
    Nvls,
}

impl Pattern {
    pub(crate) fn is_tree(self) -> bool {
        matches!(self, Self::BalancedTree | Self::Tree)
    }
}

/// Channels, and the limits under which they are looked for.
#[derive(Clone, Debug)]
pub(crate) struct Graph {
    pub(crate) pattern: Pattern,
    pub(crate) min_channels: usize,
    pub(crate) max_channels: usize,
    pub(crate) n_channels: usize,
    pub(crate) gb_s_inside: f32,
    pub(crate) gb_s_between: f32,
    pub(crate) type_inside: u8,
    pub(crate) type_between: u8,
    pub(crate) same_channels: bool,
    pub(crate) cross_nic: u8,
    pub(crate) n_hops: i32,
    /// Ranks by channel and step; adapters' numbers at both ends by channel.
    pub(crate) ranks: Vec<u32>,
    pub(crate) nets: Vec<[u32; 2]>,
}

impl Graph {
    pub(crate) fn new(topology: &Topology, request: &RequestDocument) -> Self {
        let pattern = match request.pattern {
            PatternName::Ring => Pattern::Ring,
            PatternName::BalancedTree => Pattern::BalancedTree,
            PatternName::Nvls => Pattern::Nvls,
        };
        Self {
            pattern,
            min_channels: request.min_channels as usize,
            max_channels: (request.max_channels as usize).min(MOST_CHANNELS),
            n_channels: 0,
            gb_s_inside: 0.,
            gb_s_between: 0.,
            type_inside: 0,
            type_between: 0,
            same_channels: false,
            cross_nic: 0,
            n_hops: 0,
            ranks: vec![0; MOST_CHANNELS * topology.gpus.len()],
            nets: vec![[0; 2]; MOST_CHANNELS],
        }
    }

    /// GB/s of all channels inside the node.
    pub(crate) fn total_inside(&self) -> f32 {
        self.n_channels as f32 * self.gb_s_inside
    }

    /// GB/s of all channels between nodes.
    pub(crate) fn total_between(&self) -> f32 {
        self.n_channels as f32 * self.gb_s_between
    }

    /// Whether NCCL takes this graph in place of another: more bandwidth, then fewer links.
    pub(crate) fn is_better_than(&self, other: &Self, n_gpus: usize) -> bool {
        if self.n_channels < self.min_channels {
            return false;
        }
        if self.pattern == Pattern::Nvls {
            let has_more = self.n_channels > other.n_channels && self.n_channels <= n_gpus;
            return has_more || self.total_between() > other.total_between();
        }
        let (own, its) = (self.total_inside(), other.total_inside());
        let is_alike = self.pattern == other.pattern && self.cross_nic == other.cross_nic;
        own > its || (own == its && is_alike && self.n_hops < other.n_hops)
    }

    /// Make each channel two where the rate of one is high.
    pub(crate) fn double_channels(&mut self, sm: u32, n_gpus: usize) {
        let is_many = sm > 80 && self.gb_s_inside < 50. && self.n_channels > 4;
        let is_slow = self.gb_s_inside < 25.;
        if self.n_channels == 0 || self.pattern == Pattern::Nvls || is_slow || is_many {
            return;
        }
        let n = (self.n_channels * 2).min(self.max_channels);
        for channel in self.n_channels..n {
            let from = channel - self.n_channels;
            self.nets[channel] = self.nets[from];
            let of_channel = from * n_gpus..(from + 1) * n_gpus;
            self.ranks.copy_within(of_channel, channel * n_gpus);
        }
        let times = n.div_ceil(self.n_channels) as f32;
        self.gb_s_inside /= times;
        self.gb_s_between /= times;
        self.n_channels = n;
    }

    pub(crate) fn document(&self, topology: &Topology) -> GraphDocument {
        let ranks = self.ranks.chunks(topology.gpus.len()).take(self.n_channels);
        let word = |path_type: u8| topology.path_types[usize::from(path_type)].clone();
        GraphDocument {
            gb_s_inside: self.gb_s_inside,
            gb_s_between: self.gb_s_between,
            path_inside: word(self.type_inside),
            path_between: word(self.type_between),
            same_channels: self.same_channels,
            cross_nic: self.cross_nic,
            gpus: ranks.map(<[u32]>::to_vec).collect(),
            nets: self.nets[..self.n_channels].to_vec(),
        }
    }
}
