//! Collectives: the exchange of every rank at each move.
//!
//! An algorithm is a function of (ranks, rank, number of the move): nothing is stored. Roots are
//! rank 0; [`crate::renumbering`] puts another rank there. Where switches take part (SHARP), a move
//! ends at a switch: `in_network`.
//!
//! SOURCE: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
//! MPICH" (IJHPCA 2005); Bruck et al., "Efficient Algorithms for All-to-All Communications in
//! Multiport Message-Passing Systems" (1997); each module names its own source.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod double_tree;
mod fold;
mod in_network;
mod limits;
mod reduce_scatter;
mod root;
mod tree;
mod two_level;

pub use alltoall::{Skew, SkewOf};
pub use double_tree::{Neighbours, neighbours};
pub(crate) use limits::{MAX_SIZE_BYTES, check_collective};

use crate::exchange::{Blocks, Exchange, Transfer};
use serde::{Deserialize, Serialize};

/// The result of a collective, by its name in documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// No rank continues before all ranks have arrived.
    Barrier,
    /// Every rank gets the sum of all buffers.
    Allreduce,
    /// Every rank has a block for every other.
    Alltoall,
    /// The same with blocks of different sizes.
    Alltoallv,
    /// Every rank gets every rank's block.
    Allgather,
    /// Rank i gets the i-th block of the sum of all buffers.
    ReduceScatter,
    /// Every rank gets the root's buffer.
    Broadcast,
    /// The root gets the sum of all buffers.
    Reduce,
    /// The root gets every rank's block.
    Gather,
    /// Every rank gets its block of the root's.
    Scatter,
}

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Barrier: partners at distance 1, 2, 4 ...
    Dissemination,
    /// Barrier: up a binomial tree and down again.
    Tree,
    /// The whole buffer (or all blocks so far) with partners at distance 1, 2, 4 ...
    RecursiveDoubling,
    /// Reduce-scatter: half of the buffer, a quarter, an eighth ...
    RecursiveHalving,
    /// Blocks round a ring.
    Ring,
    /// Reduce-scatter by halving, then allgather by doubling (allreduce) or gather (reduce).
    Rabenseifner,
    /// Allreduce: two binary trees that each carry half of the buffer, in segments.
    DoubleBinaryTree,
    /// Allreduce: reduce to rank 0, then broadcast, both by binomial trees.
    ReduceBroadcast,
    /// One partner at a time.
    Pairwise,
    /// Everything posted at once, or `window` partners at a time.
    Linear,
    /// log p moves of combined blocks.
    Bruck,
    /// Alltoall: inside nodes for all nodes, then between nodes.
    Hierarchical,
    /// Node by node: to a leader, between the leaders, and from them to their nodes.
    TwoLevel,
    /// Allgather: two blocks at a time with the two neighbours in turn.
    NeighborExchange,
    /// Down or up a binomial tree.
    Binomial,
    /// Broadcast: scatter by a binomial tree, allgather round a ring.
    ScatterAllgather,
    /// Broadcast: rank to rank, in segments.
    Chain,
    /// Tasks of a node reduce to their leader, the switches reduce what leaders have.
    Sharp,
    /// Broadcast: datagrams that switches copy, to the leaders of nodes.
    Multicast,
    /// Allreduce: NvSwitches reduce each GPU's slice and copy it to all, in one node.
    Nvls,
    /// Allreduce: NvSwitches in the nodes, and each GPU's slice by switches between them.
    Collnet,
    /// Allreduce: NvSwitches in the nodes, and each GPU's slice over two binary trees of GPUs
    /// between them.
    NvlsTree,
}

impl Algorithm {
    /// Whether switches take part.
    pub fn is_offloaded(self) -> bool {
        use Algorithm::*;
        matches!(self, Sharp | Multicast | Nvls | Collnet | NvlsTree)
    }

    /// Whether one rank of a node takes part for all of them.
    pub(crate) fn has_leaders(self) -> bool {
        self == Algorithm::TwoLevel || self.is_offloaded()
    }

    /// Whether it distinguishes the ranks of a node from others.
    pub(crate) fn knows_nodes(self) -> bool {
        self == Algorithm::Hierarchical || self.has_leaders()
    }
}

/// Algorithms of an operation, the default first.
pub fn algorithms_of(operation: Operation) -> &'static [Algorithm] {
    use Algorithm::*;
    match operation {
        Operation::Barrier => &[Dissemination, RecursiveDoubling, Tree, TwoLevel, Sharp],
        Operation::Allreduce => &[
            RecursiveDoubling,
            Ring,
            Rabenseifner,
            DoubleBinaryTree,
            ReduceBroadcast,
            TwoLevel,
            Sharp,
            Nvls,
            Collnet,
            NvlsTree,
        ],
        Operation::Alltoall => &[Pairwise, Linear, Bruck, Hierarchical],
        Operation::Alltoallv => &[Pairwise, Linear],
        Operation::Allgather => &[Ring, RecursiveDoubling, Bruck, NeighborExchange, TwoLevel],
        Operation::ReduceScatter => &[RecursiveHalving, Ring, Pairwise],
        Operation::Broadcast => &[Binomial, ScatterAllgather, Chain, TwoLevel, Sharp, Multicast],
        Operation::Reduce => &[Binomial, Rabenseifner, TwoLevel, Sharp],
        Operation::Gather | Operation::Scatter => &[Binomial, Linear],
    }
}

/// Largest segment of a pipelined algorithm where a step does not set it: 64 KiB, a class of size
/// MPI libraries use; a tuning, not a fact.
pub const DEFAULT_SEGMENT_BYTES: u64 = 65_536;

/// One collective: all but the rank and the number of the move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Collective {
    /// Its result.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// Number of ranks.
    pub n: u32,
    /// As the OSU benchmarks count it: the whole buffer of allreduce, reduce_scatter, broadcast
    /// and reduce; the block of one rank (or pair) otherwise.
    pub size_bytes: u64,
    /// Partners at a time, of alltoall's and alltoallv's pairwise and linear.
    pub window: Option<u32>,
    /// Each partner's move ends with an ideal barrier (the same algorithms).
    pub barrier_every_step: bool,
    /// Largest segment of the pipelined algorithms.
    pub segment_bytes: u64,
    /// Ranks of one node, for algorithms that distinguish them; divides `n`.
    pub tasks_per_node: u32,
    /// The algorithm of an offloaded collective where the switches cannot run it.
    pub fallback: Option<Algorithm>,
    /// The algorithm of the leaders of nodes, in one that goes node by node.
    pub between: Option<Algorithm>,
    /// How blocks of an alltoallv differ.
    pub skew: Skew,
}

impl Collective {
    /// A collective with default options.
    pub fn new(operation: Operation, algorithm: Algorithm, n: u32, size_bytes: u64) -> Collective {
        Collective {
            operation,
            algorithm,
            n,
            size_bytes,
            window: None,
            barrier_every_step: false,
            segment_bytes: DEFAULT_SEGMENT_BYTES,
            tasks_per_node: 1,
            fallback: None,
            between: None,
            skew: Skew::default(),
        }
    }

    /// The `index`-th move of `rank`; none when it has finished. All ranks have the same number of
    /// moves, but for the linear gather and scatter; some of them are empty.
    pub fn exchange(&self, rank: u32, index: u64) -> Option<Exchange> {
        let index = u32::try_from(index).ok().filter(|_| self.n > 1)?;
        if self.algorithm.is_offloaded() {
            return self.in_network(rank, index);
        }
        if self.algorithm == Algorithm::TwoLevel {
            return self.two_level(rank, index);
        }
        match self.operation {
            Operation::Barrier => self.barrier(rank, index),
            Operation::Allreduce => self.allreduce(rank, index),
            Operation::Alltoall | Operation::Alltoallv => self.alltoall(rank, index),
            Operation::Allgather => self.allgather(rank, index),
            Operation::ReduceScatter => self.reduce_scatter(rank, index),
            Operation::Broadcast => self.broadcast(rank, index),
            Operation::Reduce => self.reduce(rank, index),
            Operation::Gather | Operation::Scatter => self.collect(rank, index),
        }
    }

    /// How many moves a rank makes.
    pub(crate) fn n_moves(&self, rank: u32) -> u32 {
        let n_moves = count_of(|index| self.exchange(rank, index).is_some());
        u32::try_from(n_moves).expect("moves are numbered in 32 bits")
    }

    /// Into how many blocks the algorithm cuts the buffer that `size_bytes` counts.
    pub fn n_blocks(&self) -> u32 {
        match self.algorithm {
            Algorithm::Rabenseifner => 1 << self.n.ilog2(),
            Algorithm::DoubleBinaryTree => 2 * self.n_segments(2),
            Algorithm::Chain => self.n_segments(1),
            Algorithm::TwoLevel => self.of_leaders().n_blocks(),
            Algorithm::Ring
            | Algorithm::RecursiveHalving
            | Algorithm::Pairwise
            | Algorithm::ScatterAllgather => self.n,
            _ => 1,
        }
    }

    /// Whether every move passes a block to the right neighbour and takes one from the left.
    pub(crate) fn is_ring(&self) -> bool {
        match self.algorithm {
            Algorithm::Ring => true,
            Algorithm::NeighborExchange => !self.n.is_multiple_of(2),
            _ => false,
        }
    }

    /// Into how many parts an algorithm cuts the buffer, each passed on in segments; 0 in others.
    pub(crate) fn n_segmented_parts(&self) -> u64 {
        match self.algorithm {
            Algorithm::DoubleBinaryTree => 2,
            Algorithm::Chain => 1,
            Algorithm::TwoLevel => self.of_leaders().n_segmented_parts(),
            _ => 0,
        }
    }

    /// Segments of each of `n_parts` equal parts of the buffer; one where it is empty.
    fn n_segments(&self, n_parts: u64) -> u32 {
        let n_segments = self.size_bytes.div_ceil(n_parts * self.segment_bytes).max(1);
        u32::try_from(n_segments).expect("a step limits the segments")
    }

    fn wrong_algorithm(&self) -> ! {
        unreachable!("{:?} is no algorithm of {:?}", self.algorithm, self.operation)
    }
}

/// The blocks `first .. first + count` of a buffer, with their bytes.
#[derive(Clone, Copy)]
struct Part {
    size_bytes: u64,
    blocks: Blocks,
}

impl Part {
    const NOTHING: Part = Part { size_bytes: 0, blocks: Blocks::None };

    fn whole(size_bytes: u64) -> Part {
        Part { size_bytes, blocks: Blocks::All }
    }

    /// Of a buffer of `size_bytes` cut into `n` blocks.
    fn of(size_bytes: u64, n: u32, first: u32, count: u32) -> Part {
        let size_bytes = range_bytes(size_bytes, n, first, count);
        Part { size_bytes, blocks: Blocks::Range { first, count } }
    }

    /// `count` blocks of `block_bytes` each.
    fn blocks(block_bytes: u64, first: u32, count: u32) -> Part {
        let size_bytes = block_bytes * u64::from(count);
        Part { size_bytes, blocks: Blocks::Range { first, count } }
    }

    fn with(self, peer: u32) -> Transfer {
        Transfer { peer, size_bytes: self.size_bytes, blocks: self.blocks }
    }
}

/// The first number that does not hold, where all below it do.
pub(crate) fn count_of(holds: impl Fn(u64) -> bool) -> u64 {
    let mut above = 1;
    while holds(above - 1) {
        above *= 2;
    }
    let (mut low, mut high) = (above / 2, above - 1);
    while low < high {
        let mid = low + (high - low) / 2;
        if holds(mid) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    low
}

/// Smallest k with 2^k >= n.
fn log2_ceil(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// Bytes of `count` blocks from `first` on, where `size_bytes` is cut into `n` blocks whose sizes
/// differ by at most one.
pub fn range_bytes(size_bytes: u64, n: u32, first: u32, count: u32) -> u64 {
    let (n, first, count) = (u64::from(n), u64::from(first), u64::from(count));
    let longer = size_bytes % n;
    let extra = (first + count).min(longer) - first.min(longer);
    size_bytes / n * count + extra
}
