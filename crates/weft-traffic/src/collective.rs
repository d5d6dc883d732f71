//! Collectives: who exchanges what with whom at each move.
//!
//! SOURCE: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
//! MPICH" (2005); Bruck et al. (1997); Hensgen, Finkel, Manber (1988) for dissemination.

use crate::exchange::{Blocks, Exchange, Transfer};
use serde::{Deserialize, Serialize};

/// How a collective is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Algorithm {
    /// Barrier: partners at distance 1, 2, 4 ...
    Dissemination,
    /// Allreduce: the whole buffer with partners at distance 1, 2, 4 ...
    RecursiveDoubling,
    /// Allreduce: reduce-scatter and allgather round a ring.
    Ring,
    /// Allreduce: reduce-scatter by halving, allgather by doubling.
    Rabenseifner,
    /// Alltoall: one partner at a time.
    Pairwise,
    /// Alltoall: everything posted at once.
    Linear,
    /// Alltoall: log p moves of combined blocks.
    Bruck,
}

/// Algorithms of the benchmark `barrier`, `allreduce` or `alltoall`, the default first.
pub fn algorithms_of(benchmark: &str) -> &'static [Algorithm] {
    match benchmark {
        "barrier" => &[Algorithm::Dissemination],
        "allreduce" => &[Algorithm::RecursiveDoubling, Algorithm::Ring, Algorithm::Rabenseifner],
        "alltoall" => &[Algorithm::Pairwise, Algorithm::Linear, Algorithm::Bruck],
        _ => &[],
    }
}

/// Bus bandwidth over algorithm bandwidth: 2(p-1)/p for allreduce, (p-1)/p for alltoall, else 1.
///
/// SOURCE: the performance notes of nccl-tests.
pub fn busbw_factor(benchmark: &str, n_ranks: u32) -> f64 {
    let share = f64::from(n_ranks.saturating_sub(1)) / f64::from(n_ranks.max(1));
    match benchmark {
        "allreduce" => 2.0 * share,
        "alltoall" => share,
        _ => 1.0,
    }
}

impl Algorithm {
    /// The `index`-th move of `rank` among `n` ranks; none when it has finished. `size_bytes` is
    /// the whole buffer (allreduce) or what each pair exchanges (alltoall).
    pub fn exchange(self, n: u32, rank: u32, size_bytes: u64, index: u64) -> Option<Exchange> {
        let index = u32::try_from(index).ok()?;
        match self {
            Algorithm::Dissemination => dissemination(n, rank, index),
            Algorithm::RecursiveDoubling => recursive_doubling(n, rank, size_bytes, index),
            Algorithm::Ring => ring(n, rank, size_bytes, index),
            Algorithm::Rabenseifner => rabenseifner(n, rank, size_bytes, index),
            Algorithm::Pairwise => pairwise(n, rank, size_bytes, index),
            Algorithm::Linear => linear(n, rank, size_bytes, index),
            Algorithm::Bruck => bruck(n, rank, size_bytes, index),
        }
    }
}

/// Smallest k with 2^k >= n.
fn log2_ceil(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

fn dissemination(n: u32, rank: u32, index: u32) -> Option<Exchange> {
    if index >= log2_ceil(n) {
        return None;
    }
    let distance = 1 << index;
    let message = |peer| Transfer { peer, size_bytes: 0, blocks: Blocks::None };
    Some(Exchange::both(message((rank + distance) % n), message((rank + n - distance) % n)))
}

/// The largest power of two not above n, and what is left: the first 2 x rest ranks fold in pairs
/// before and unfold after, as MPICH does.
struct Fold {
    core: u32,
    rest: u32,
}

impl Fold {
    fn new(n: u32) -> Fold {
        let core = 1 << n.ilog2();
        Fold { core, rest: n - core }
    }

    fn log(&self) -> u32 {
        self.core.trailing_zeros()
    }

    /// The rank's number in the core, or none where it sits out.
    fn inner(&self, rank: u32) -> Option<u32> {
        match rank {
            _ if rank >= 2 * self.rest => Some(rank - self.rest),
            _ if rank % 2 == 1 => Some(rank / 2),
            _ => None,
        }
    }

    fn outer(&self, inner: u32) -> u32 {
        if inner < self.rest { 2 * inner + 1 } else { inner + self.rest }
    }

    /// The move before (`unfold` false) or after (`unfold` true) the core's.
    fn edge(&self, rank: u32, size_bytes: u64, unfold: bool) -> Exchange {
        if rank >= 2 * self.rest {
            return Exchange::default();
        }
        let whole = |peer| Transfer { peer, size_bytes, blocks: Blocks::All };
        let even = rank.is_multiple_of(2);
        let peer = if even { rank + 1 } else { rank - 1 };
        if even != unfold { Exchange::send(whole(peer)) } else { Exchange::recv(whole(peer)) }
    }
}

fn recursive_doubling(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    let fold = Fold::new(n);
    let last = fold.log() + 1;
    if index > last || n == 1 {
        return None;
    }
    if index == 0 || index == last {
        return Some(fold.edge(rank, size_bytes, index == last));
    }
    let Some(inner) = fold.inner(rank) else {
        return Some(Exchange::default());
    };
    let peer = fold.outer(inner ^ (1 << (index - 1)));
    let whole = Transfer { peer, size_bytes, blocks: Blocks::All };
    Some(Exchange::both(whole, whole))
}

/// Bytes of `count` blocks from `first` on, where `size_bytes` is cut into `n` blocks whose sizes
/// differ by at most one.
pub fn range_bytes(size_bytes: u64, n: u32, first: u32, count: u32) -> u64 {
    let (n, first, count) = (u64::from(n), u64::from(first), u64::from(count));
    let longer = size_bytes % n;
    let extra = (first + count).min(longer) - first.min(longer);
    size_bytes / n * count + extra
}

fn ring(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    if index >= 2 * (n - 1) {
        return None;
    }
    // Reduce-scatter leaves rank r with block r + 1; allgather hands blocks on from there.
    let step = index % (n - 1);
    let offset = u32::from(index >= n - 1);
    let block = |peer: u32, back: u32| {
        let first = (rank + offset + 2 * n - back) % n;
        let size_bytes = range_bytes(size_bytes, n, first, 1);
        Transfer { peer, size_bytes, blocks: Blocks::Range { first, count: 1 } }
    };
    let right = block((rank + 1) % n, step);
    let left = block((rank + n - 1) % n, step + 1);
    Some(Exchange::both(right, left))
}

fn rabenseifner(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    let fold = Fold::new(n);
    let (log, core) = (fold.log(), fold.core);
    let last = 2 * log + 1;
    if index > last || n == 1 {
        return None;
    }
    if index == 0 || index == last {
        return Some(fold.edge(rank, size_bytes, index == last));
    }
    let Some(inner) = fold.inner(rank) else {
        return Some(Exchange::default());
    };
    let halving = index <= log;
    // Halving at distances core/2 ... 1, doubling at 1 ... core/2.
    let half = if halving { core >> index } else { 1 << (index - log - 1) };
    let range = |of: u32| {
        let first = of & !(half - 1);
        let size_bytes = range_bytes(size_bytes, core, first, half);
        let peer = fold.outer(inner ^ half);
        Transfer { peer, size_bytes, blocks: Blocks::Range { first, count: half } }
    };
    let (mine, theirs) = (range(inner), range(inner ^ half));
    Some(if halving { Exchange::both(theirs, mine) } else { Exchange::both(mine, theirs) })
}

fn pairwise(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    let step = index + 1;
    if step >= n {
        return None;
    }
    let (to, from) = if n.is_power_of_two() {
        (rank ^ step, rank ^ step)
    } else {
        ((rank + step) % n, (rank + n - step) % n)
    };
    Some(Exchange::both(block_for(to, to, size_bytes), block_for(from, rank, size_bytes)))
}

fn linear(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    let step = index + 1;
    if step >= n {
        return None;
    }
    let (to, from) = ((rank + step) % n, (rank + n - step) % n);
    let posted = Exchange::both(block_for(to, to, size_bytes), block_for(from, rank, size_bytes));
    Some(if step + 1 == n { posted } else { posted.without_wait() })
}

fn block_for(peer: u32, destination: u32, size_bytes: u64) -> Transfer {
    Transfer { peer, size_bytes, blocks: Blocks::Range { first: destination, count: 1 } }
}

fn bruck(n: u32, rank: u32, size_bytes: u64, index: u32) -> Option<Exchange> {
    if index >= log2_ceil(n) {
        return None;
    }
    let distance = 1u32 << index;
    let n_blocks = (0..n).filter(|place| place & distance != 0).count() as u64;
    let message =
        |peer| Transfer { peer, size_bytes: n_blocks * size_bytes, blocks: Blocks::Bit(index) };
    Some(Exchange::both(message((rank + distance) % n), message((rank + n - distance) % n)))
}
