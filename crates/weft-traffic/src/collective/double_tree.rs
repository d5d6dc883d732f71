//! The allreduce over two binary trees.
//!
//! Each tree reduces and broadcasts half of the buffer, in segments that follow one another; a rank
//! that has children in one tree is a leaf in the other, so that all send and receive about twice
//! the buffer. Trees are built as NCCL builds them: a rank's level is the number of zero bits below
//! its lowest one bit, and the second tree is the first one mirrored or, where the number of ranks
//! is odd, shifted by one.
//!
//! All ranks move in step: segment k of an edge is exchanged at time k + offset of the edge, which
//! grows on the way up to the root and down again. Both ends of an edge know its offset, hence
//! messages are received in the order they are sent, and a segment is passed on one time after it
//! came.
//!
//! SOURCE: Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction and
//! scan" (Parallel Computing 2009); Jeaugey, "Massively Scale Your Deep Learning Training with NCCL
//! 2.4" (2019).

use super::{Collective, Part, log2_ceil};
use crate::exchange::{Exchange, Transfer, Wait};

/// Messages of a rank in one time and tree: three of each direction at most.
const SLOTS_A_TREE: u32 = 3;

/// A binary tree over 0..n; the second is the mirror of the first, or it shifted by one.
#[derive(Clone, Copy)]
struct Tree {
    n: u32,
    second: bool,
}

/// The partners of a rank in one of two binary trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// The one above it; none for the root.
    pub parent: Option<u32>,
    /// Those below it.
    pub children: [Option<u32>; 2],
}

/// The neighbours of a rank of `0..n` in one of two binary trees: who has children in one has none
/// in the other, but for the first of an odd number.
pub fn neighbours(n: u32, rank: u32, second: bool) -> Neighbours {
    let tree = Tree { n, second };
    let node = tree.node_of(rank);
    let rank_of = |node: Option<u32>| node.map(|node| tree.rank_of(node));
    if n < 2 {
        return Neighbours { parent: None, children: [None; 2] };
    }
    Neighbours { parent: rank_of(tree.parent(node)), children: tree.children(node).map(rank_of) }
}

impl Tree {
    fn height(self) -> u32 {
        log2_ceil(self.n)
    }

    fn level(self, node: u32) -> u32 {
        if node == 0 { self.height() } else { node.trailing_zeros() }
    }

    fn parent(self, node: u32) -> Option<u32> {
        if node == 0 {
            return None;
        }
        let bit = 1 << node.trailing_zeros();
        let parent = (node ^ bit) | (bit << 1);
        Some(if parent < self.n { parent } else { node ^ bit })
    }

    fn children(self, node: u32) -> [Option<u32>; 2] {
        if node == 0 {
            return [Some(1 << (self.height() - 1)), None];
        }
        let half = (1 << node.trailing_zeros()) >> 1;
        let inside = |distance: &u32| *distance > 0 && node + distance < self.n;
        let far = std::iter::successors(Some(half), |distance| Some(distance >> 1));
        let right = far.take_while(|distance| *distance > 0).find(inside);
        [(half > 0).then(|| node - half), right.map(|distance| node + distance)]
    }

    /// When the edge above a node carries its first segment up, and when down.
    fn offsets(self, node: u32) -> [u32; 2] {
        let level = self.level(node);
        [level, 2 * self.height() - level - 1]
    }

    /// A rank's place, and back.
    fn node_of(self, rank: u32) -> u32 {
        match (self.second, self.n.is_multiple_of(2)) {
            (false, _) => rank,
            (true, true) => self.n - 1 - rank,
            (true, false) => (rank + self.n - 1) % self.n,
        }
    }

    fn rank_of(self, node: u32) -> u32 {
        match (self.second, self.n.is_multiple_of(2)) {
            (false, _) => node,
            (true, true) => self.n - 1 - node,
            (true, false) => (node + 1) % self.n,
        }
    }
}

impl Collective {
    pub(super) fn double_tree(&self, rank: u32, index: u32) -> Option<Exchange> {
        let n_segments = self.n_segments(2);
        let (time, slot) = (index / (2 * SLOTS_A_TREE), index % (2 * SLOTS_A_TREE));
        let second = slot >= SLOTS_A_TREE;
        let tree = Tree { n: self.n, second };
        if time >= n_segments + 2 * tree.height() - 1 {
            return None;
        }
        let node = tree.node_of(rank);
        let children = tree.children(node);
        let edge = |edge: Option<u32>, up: usize, far: Option<u32>| {
            let (edge, far) = (edge?, far?);
            let segment = time.checked_sub(tree.offsets(edge)[up]).filter(|k| *k < n_segments)?;
            Some(self.segment(second, segment, n_segments).with(tree.rank_of(far)))
        };
        let (parent, own) = (tree.parent(node), Some(node));
        const UP: usize = 0;
        const DOWN: usize = 1;
        let (recv, send): (Option<Transfer>, Option<Transfer>) = match slot % SLOTS_A_TREE {
            0 => (edge(children[0], UP, children[0]), edge(own, UP, parent)),
            1 => (edge(children[1], UP, children[1]), edge(children[0], DOWN, children[0])),
            _ => (edge(own, DOWN, parent), edge(children[1], DOWN, children[1])),
        };
        let last = slot + 1 == 2 * SLOTS_A_TREE;
        let wait = if last { Wait::All } else { Wait::No };
        Some(Exchange { recv, send, wait, ..Exchange::default() })
    }

    fn segment(&self, second: bool, segment: u32, n_segments: u32) -> Part {
        let first = if second { n_segments + segment } else { segment };
        Part::of(self.size_bytes, 2 * n_segments, first, 1)
    }
}
