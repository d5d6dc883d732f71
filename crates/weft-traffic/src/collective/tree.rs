//! The binomial tree with rank 0 at its root.

use super::{Part, log2_ceil};
use crate::exchange::Exchange;

enum Partner {
    Parent(u32),
    Child(u32),
    None,
}

/// The partners of a rank over the edges of length `distance`.
fn partner(n: u32, rank: u32, distance: u32) -> Partner {
    match rank % (2 * distance) {
        0 if rank + distance < n => Partner::Child(rank + distance),
        own if own == distance => Partner::Parent(rank - distance),
        _ => Partner::None,
    }
}

/// Ranks of the subtree that hangs on its parent by an edge of length `distance`.
fn subtree(n: u32, child: u32, distance: u32) -> u32 {
    distance.min(n - child)
}

/// Move `index` (of log2 n, rounded up) from the leaves to the root. `part` says what belongs to a
/// subtree, given its first rank and its number of ranks.
pub(super) fn up(n: u32, rank: u32, index: u32, part: impl Fn(u32, u32) -> Part) -> Exchange {
    let distance = 1 << index;
    match partner(n, rank, distance) {
        Partner::Child(child) => {
            Exchange::recv(part(child, subtree(n, child, distance)).with(child))
        }
        Partner::Parent(parent) => {
            Exchange::send(part(rank, subtree(n, rank, distance)).with(parent))
        }
        Partner::None => Exchange::default(),
    }
}

/// Move `index` (of log2 n, rounded up) from the root to the leaves.
pub(super) fn down(n: u32, rank: u32, index: u32, part: impl Fn(u32, u32) -> Part) -> Exchange {
    let raised = up(n, rank, log2_ceil(n) - 1 - index, part);
    Exchange { send: raised.recv, recv: raised.send, ..raised }
}
