//! How a phase grows with its size: in what steps, in messages of what sizes, in how many equal
//! moves. What a phase of a large size takes follows from that of smaller ones only along these.

use crate::collective::{Algorithm, Collective, Operation};
use crate::pair::PairTraffic;
use crate::phase::{Pattern, Phase};

/// How the messages of a phase follow from its size s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Messages {
    /// s / n each.
    Blocks(u64),
    /// From s / n to s.
    Parts(u64),
    /// From s to s n.
    Combined(u64),
    /// So many trees or chains, each with its part of s in segments of at most so many bytes.
    Segments { n_parts: u64, segment_bytes: u64 },
}

/// How a phase grows with its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growth {
    messages: Messages,
    /// Bytes of the size that make each large message longer by the same, or a segment more.
    pub unit_bytes: u64,
    /// Bytes that one unit adds to what a rank sends in one direction at a time.
    pub grain_bytes: u64,
    /// Moves of every rank that are alike, round one ring; none where they differ.
    pub equal_moves: Option<u64>,
}

impl Growth {
    /// Whether a unit more is a move more, not a longer one.
    pub fn adds_moves(&self) -> bool {
        matches!(self.messages, Messages::Segments { .. })
    }

    /// Units in a size.
    pub fn n_units(&self, size_bytes: u64) -> u64 {
        match self.messages {
            Messages::Segments { .. } => size_bytes.div_ceil(self.unit_bytes).max(1),
            _ => size_bytes / self.unit_bytes,
        }
    }

    /// A size of the same kind with `units` of its units: its large messages are whole packets
    /// shorter, or its segments fewer and as long.
    pub fn cut(&self, size_bytes: u64, units: u64) -> u64 {
        let n_units = self.n_units(size_bytes);
        match self.messages {
            Messages::Segments { .. } => {
                let bytes = u128::from(size_bytes) * u128::from(units);
                bytes.div_ceil(u128::from(n_units)) as u64
            }
            _ => size_bytes - (n_units - units) * self.unit_bytes,
        }
    }

    /// The least and the most bytes of a message that is not empty, where the size is `size_bytes`.
    pub fn message_bytes(&self, size_bytes: u64) -> (u64, u64) {
        match self.messages {
            Messages::Blocks(n) => (size_bytes / n, size_bytes.div_ceil(n)),
            Messages::Parts(n) => (size_bytes / n, size_bytes),
            Messages::Combined(n) => (size_bytes, size_bytes.saturating_mul(n)),
            Messages::Segments { n_parts, segment_bytes } => {
                let part_bytes = n_parts.saturating_mul(segment_bytes);
                let n = n_parts * size_bytes.div_ceil(part_bytes).max(1);
                (size_bytes / n, size_bytes.div_ceil(n))
            }
        }
    }
}

impl Phase {
    /// How the phase grows with its size, in packets of `mtu_bytes`.
    ///
    /// # Errors
    /// Why it does not grow evenly.
    pub fn growth(&self, mtu_bytes: u32) -> Result<Growth, &'static str> {
        let mtu_bytes = u64::from(mtu_bytes);
        let blocks = |n: u64| (Messages::Blocks(n), n * mtu_bytes, mtu_bytes, None);
        let (messages, unit_bytes, grain_bytes, equal_moves) = match &self.pattern {
            Pattern::Collective(collective) => of_collective(collective, mtu_bytes)?,
            Pattern::Ring { .. } | Pattern::Pairs { .. } => blocks(1),
            Pattern::Flows(_) => return Err("its messages have rows of their own"),
            Pattern::Compute => return Err("it sends nothing"),
            Pattern::Schedule(_) => return Err("it follows a schedule"),
        };
        Ok(Growth { messages, unit_bytes, grain_bytes, equal_moves })
    }

    /// The size that its step has; 0 where it has none.
    pub fn size_bytes(&self) -> u64 {
        match &self.pattern {
            Pattern::Collective(collective) => collective.size_bytes,
            Pattern::Ring { size_bytes, .. } => *size_bytes,
            Pattern::Pairs { traffic, .. } => match traffic {
                PairTraffic::PingPong { size_bytes }
                | PairTraffic::Window { size_bytes, .. }
                | PairTraffic::BothWays { size_bytes, .. } => *size_bytes,
            },
            Pattern::Flows(_) | Pattern::Compute | Pattern::Schedule(_) => 0,
        }
    }

    /// The same phase with another size; as it is where it has none.
    pub fn with_size(mut self, bytes: u64) -> Phase {
        match &mut self.pattern {
            Pattern::Collective(collective) => collective.size_bytes = bytes,
            Pattern::Ring { size_bytes, .. } => *size_bytes = bytes,
            Pattern::Pairs { traffic, .. } => match traffic {
                PairTraffic::PingPong { size_bytes }
                | PairTraffic::Window { size_bytes, .. }
                | PairTraffic::BothWays { size_bytes, .. } => *size_bytes = bytes,
            },
            Pattern::Flows(_) | Pattern::Compute | Pattern::Schedule(_) => {}
        }
        self
    }
}

type Parts = (Messages, u64, u64, Option<u64>);

fn of_collective(collective: &Collective, mtu_bytes: u64) -> Result<Parts, &'static str> {
    let n = u64::from(collective.n);
    let whole = matches!(
        collective.operation,
        Operation::Allreduce | Operation::ReduceScatter | Operation::Broadcast | Operation::Reduce
    );
    let segment_bytes = collective.segment_bytes;
    let segments = |n_parts: u64| {
        let messages = Messages::Segments { n_parts, segment_bytes };
        (messages, n_parts.saturating_mul(segment_bytes), segment_bytes, None)
    };
    use Algorithm as A;
    Ok(match collective.algorithm {
        _ if collective.operation == Operation::Barrier => return Err("it carries nothing"),
        _ if collective.skew.amount != 0.0 => return Err("its blocks have sizes of their own"),
        A::Nvls | A::Collnet | A::NvlsTree => {
            // Slices of all GPUs of a node grow alike, by segments between nodes.
            let n_slices = u64::from(collective.tasks_per_node);
            let grain = if collective.algorithm == A::NvlsTree { segment_bytes } else { mtu_bytes };
            (Messages::Blocks(1), n_slices.saturating_mul(grain), grain, None)
        }
        _ if collective.algorithm.is_offloaded() => return Err("switches carry it out"),
        _ if n < 2 => return Err("one rank sends nothing"),
        A::Ring | A::NeighborExchange if collective.is_ring() => {
            let passes = if collective.operation == Operation::Allreduce { 2 } else { 1 };
            let n_blocks = if whole { n } else { 1 };
            let moves = Some(passes * (n - 1));
            (Messages::Blocks(n_blocks), n_blocks * mtu_bytes, mtu_bytes, moves)
        }
        A::TwoLevel if collective.n_segmented_parts() > 0 => {
            return Err("leaders pass on segments, and nodes the whole");
        }
        A::DoubleBinaryTree => segments(2),
        A::Chain => segments(1),
        A::Pairwise | A::Linear => {
            let n_blocks = if whole { n } else { 1 };
            (Messages::Blocks(n_blocks), n_blocks * mtu_bytes, mtu_bytes, None)
        }
        _ if whole => {
            let n_blocks = u64::from(collective.n_blocks());
            (Messages::Parts(n_blocks), n_blocks * mtu_bytes, mtu_bytes, None)
        }
        _ => (Messages::Combined(n), mtu_bytes, mtu_bytes, None),
    })
}

#[cfg(test)]
mod tests {
    use crate::collective::{Algorithm, Collective, Operation, algorithms_of};
    use crate::phase::{Pattern, Phase, Rows};

    const MTU: u64 = 4096;

    fn phase(operation: Operation, algorithm: Algorithm, n: u32, size_bytes: u64) -> Phase {
        let mut collective = Collective::new(operation, algorithm, n, size_bytes);
        collective.segment_bytes = 4 * MTU;
        let pattern = Pattern::Collective(collective);
        let rows = Rows::Whole;
        Phase {
            step: 0,
            round: 0,
            iterations: 1,
            warmup: 0,
            rows,
            n_ranks: n,
            pattern,
            renumbering: None,
            compute: None,
        }
    }

    const OPERATIONS: [Operation; 9] = [
        Operation::Allreduce,
        Operation::Alltoall,
        Operation::Alltoallv,
        Operation::Allgather,
        Operation::ReduceScatter,
        Operation::Broadcast,
        Operation::Reduce,
        Operation::Gather,
        Operation::Scatter,
    ];

    fn on_hosts(operation: Operation) -> impl Iterator<Item = Algorithm> {
        let known = algorithms_of(operation).iter().copied();
        known.filter(|algorithm| !algorithm.is_offloaded())
    }

    fn sent(phase: &Phase) -> impl Iterator<Item = (u32, u64, u64)> + '_ {
        let of_rank =
            move |rank| (0..).map_while(move |index| Some((index, phase.exchange(rank, index)?)));
        (0..phase.n_ranks()).flat_map(move |rank| {
            let sends = of_rank(rank).filter_map(|(index, moved)| Some((index, moved.send?)));
            sends.map(move |(index, send)| (rank, index, send.size_bytes))
        })
    }

    /// Every message of every algorithm lies within what its phase's growth says.
    #[test]
    fn messages_are_as_large_as_their_growth_allows() {
        for operation in OPERATIONS {
            for algorithm in on_hosts(operation) {
                for n in [2, 5, 8] {
                    let phase = phase(operation, algorithm, n, 1_000_003);
                    let growth = phase.growth(MTU as u32).expect("it grows");
                    let (least, most) = growth.message_bytes(phase.size_bytes());
                    for (_, _, bytes) in sent(&phase).filter(|(_, _, bytes)| *bytes > 0) {
                        let what = format!("{operation:?} {algorithm:?} {n}: {bytes}");
                        assert!((least..=most).contains(&bytes), "{what}: {least} to {most}");
                    }
                }
            }
        }
    }

    /// Units fewer make every message that is not empty as many packets shorter, or leave out
    /// segments and keep the others as long.
    #[test]
    fn a_unit_is_whole_packets_or_a_segment() {
        for operation in OPERATIONS {
            for algorithm in on_hosts(operation) {
                for n in [2, 5, 8] {
                    let large = phase(operation, algorithm, n, 1_000_003);
                    let growth = large.growth(MTU as u32).expect("it grows");
                    let n_units = growth.n_units(1_000_003);
                    let small = large.clone().with_size(growth.cut(1_000_003, n_units - 2));
                    let what = format!("{operation:?} {algorithm:?} {n}");
                    if growth.adds_moves() {
                        let carried = |phase: &Phase| -> Vec<u64> {
                            sent(phase).map(|(_, _, bytes)| bytes).filter(|b| *b > 0).collect()
                        };
                        let (few, many) = (carried(&small), carried(&large));
                        let per_unit = many.len() as u64 / n_units;
                        assert_eq!(few.len() as u64, (n_units - 2) * per_unit, "{what}");
                        let all = few.iter().chain(&many);
                        let (least, most) = (all.clone().min(), all.max());
                        assert!(most.unwrap() - least.unwrap() <= 1, "{what} {least:?} {most:?}");
                        continue;
                    }
                    assert_eq!(sent(&large).count(), sent(&small).count(), "{what}");
                    for (before, after) in sent(&small).zip(sent(&large)) {
                        let grown = after.2 - before.2;
                        assert!(grown.is_multiple_of(MTU), "{what}: {before:?} {after:?}");
                    }
                }
            }
        }
    }

    /// Equal moves are all there are, to the same neighbour, of sizes a byte apart at most.
    #[test]
    fn moves_that_should_be_equal_are() {
        let rings = [
            (Operation::Allreduce, Algorithm::Ring),
            (Operation::Allgather, Algorithm::Ring),
            (Operation::Allgather, Algorithm::NeighborExchange),
            (Operation::ReduceScatter, Algorithm::Ring),
        ];
        for (operation, algorithm) in rings {
            let phase = phase(operation, algorithm, 5, 1_000_003);
            let moves = phase.growth(MTU as u32).expect("it grows").equal_moves.expect("a ring");
            for rank in 0..5 {
                assert!(phase.exchange(rank, moves).is_none() && moves > 0);
                let first = phase.exchange(rank, 0).expect("a move");
                for index in 0..moves {
                    let moved = phase.exchange(rank, index).expect("a move");
                    for (one, other) in [(moved.send, first.send), (moved.recv, first.recv)] {
                        let (one, other) = (one.expect("both"), other.expect("both"));
                        assert_eq!(one.peer, other.peer);
                        assert!(one.size_bytes.abs_diff(other.size_bytes) <= 1);
                    }
                    assert_eq!(moved.wait, first.wait);
                }
            }
        }
    }
}
