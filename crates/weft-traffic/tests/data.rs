//! Who ends up with what: every algorithm is run on real data at every rank count up to 70.

use crate::executor;
use weft_traffic::collective::range_bytes;
use weft_traffic::{
    Algorithm, Blocks, Collective, Exchange, Neighbours, Operation, Skew, SkewOf, algorithms_of,
    neighbours,
};

const COUNTS: std::ops::RangeInclusive<u32> = 1..=70;

/// Sizes that divide, that do not, and that leave some blocks or segments empty.
const SIZES: [u64; 3] = [0, 7, 5040];

/// By every algorithm, with every size; node by node with one size, on nodes of every size and by
/// every algorithm between leaders.
fn cases(operation: Operation) -> impl Iterator<Item = Collective> {
    let algorithms = algorithms_of(operation).iter();
    let plain = algorithms.flat_map(move |algorithm| {
        COUNTS.flat_map(move |n| {
            SIZES.map(move |size_bytes| Collective {
                segment_bytes: 700,
                ..Collective::new(operation, *algorithm, n, size_bytes)
            })
        })
    });
    plain.chain(COUNTS.flat_map(move |n| by_two_levels(operation, n)))
}

fn by_two_levels(operation: Operation, n: u32) -> impl Iterator<Item = Collective> {
    let known = algorithms_of(operation);
    let tasks = (2..=n)
        .filter(move |tasks| known.contains(&Algorithm::TwoLevel) && n.is_multiple_of(*tasks));
    let of_ranks = |one: &Algorithm| *one != Algorithm::TwoLevel && !one.is_offloaded();
    tasks.flat_map(move |tasks_per_node| {
        let between = known.iter().copied().filter(of_ranks);
        between.map(move |between| Collective {
            segment_bytes: 700,
            tasks_per_node,
            between: Some(between),
            ..Collective::new(operation, Algorithm::TwoLevel, n, 5040)
        })
    })
}

fn name(collective: &Collective) -> String {
    let Collective { operation, algorithm, n, size_bytes, tasks_per_node, between, .. } =
        collective;
    let nodes = format!("{tasks_per_node} a node, {between:?} between");
    format!("{operation:?} by {algorithm:?}, {n} ranks, {size_bytes} bytes, {nodes}")
}

/// Sets of ranks as bits.
fn everybody(n: u32) -> u128 {
    (1 << n) - 1
}

/// Places of a buffer of `n_blocks` that a transfer carries.
fn places(blocks: Blocks, n_blocks: u32) -> Vec<usize> {
    let (first, count) = match blocks {
        Blocks::All => (0, n_blocks),
        Blocks::Range { first, count } => (first, count),
        other => panic!("a buffer is carried in blocks, not {other:?}"),
    };
    (first..first + count).map(|block| (block % n_blocks) as usize).collect()
}

/// The move, its messages as long as the blocks they carry.
fn sized(
    moved: Exchange,
    n_blocks: u32,
    what: &str,
    block_bytes: impl Fn(u32) -> u64,
) -> Option<Exchange> {
    for transfer in [moved.send, moved.recv].into_iter().flatten() {
        let carried = places(transfer.blocks, n_blocks);
        let bytes: u64 = carried.iter().map(|place| block_bytes(*place as u32)).sum();
        assert_eq!(transfer.size_bytes, bytes, "{what}: {transfer:?}");
    }
    Some(moved)
}

/// By rank and block, the ranks whose contribution is in it. None may be added twice; a complete
/// sum replaces what was there.
fn sums(collective: &Collective) -> Vec<Vec<u128>> {
    let (n, n_blocks, what) = (collective.n, collective.n_blocks(), name(collective));
    let mut states: Vec<Vec<u128>> =
        (0..n).map(|rank| vec![1 << rank; n_blocks as usize]).collect();
    executor::run(
        &what,
        &mut states,
        |rank, index| {
            sized(collective.exchange(rank, index)?, n_blocks, &what, |block| {
                range_bytes(collective.size_bytes, n_blocks, block, 1)
            })
        },
        |sums, _, blocks| -> Vec<u128> {
            places(blocks, n_blocks).iter().map(|place| sums[*place]).collect()
        },
        |sums, _, blocks, carried| {
            for (place, came) in places(blocks, n_blocks).into_iter().zip(carried) {
                if came == everybody(n) {
                    sums[place] = came;
                } else {
                    assert_eq!(sums[place] & came, 0, "{what}: a contribution is added twice");
                    sums[place] |= came;
                }
            }
        },
    );
    states
}

#[test]
fn every_allreduce_gives_every_rank_the_sum_of_all() {
    for collective in cases(Operation::Allreduce) {
        for (rank, sums) in sums(&collective).iter().enumerate() {
            let whole = sums.iter().all(|sum| *sum == everybody(collective.n));
            assert!(whole, "{}, rank {rank}: {sums:x?}", name(&collective));
        }
    }
}

#[test]
fn every_reduce_gives_the_root_the_sum_of_all() {
    for collective in cases(Operation::Reduce) {
        let root = &sums(&collective)[0];
        let whole = root.iter().all(|sum| *sum == everybody(collective.n));
        assert!(whole, "{}: {root:x?}", name(&collective));
    }
}

/// Of nodes of several tasks: the sum of all, once, to all (or the root), through switches.
#[test]
fn switches_give_every_rank_the_sum_of_all_whatever_the_nodes() {
    for (operation, n) in [Operation::Allreduce, Operation::Reduce]
        .into_iter()
        .flat_map(|o| COUNTS.map(move |n| (o, n)))
    {
        for tasks_per_node in (1..=n).filter(|tasks| n.is_multiple_of(*tasks)) {
            let plain = Collective::new(operation, Algorithm::Sharp, n, 5040);
            let collective = Collective { tasks_per_node, ..plain };
            let sums = sums(&collective);
            let with_result = if operation == Operation::Reduce { 1 } else { n };
            for sum in &sums[..with_result as usize] {
                assert_eq!(*sum, [everybody(n)], "{} of {tasks_per_node}", name(&collective));
            }
        }
    }
}

/// Two binary trees over all: all but one have a parent that knows it, all lead to that one,
/// and who has children in one has none in the other (but for the first, of an odd number).
#[test]
fn neighbours_make_two_trees_and_no_one_works_in_both() {
    for n in 1..70 {
        for second in [false, true] {
            let all: Vec<Neighbours> = (0..n).map(|rank| neighbours(n, rank, second)).collect();
            let above = |rank: &u32| all[*rank as usize].parent;
            let roots = (0..n).filter(|rank| above(rank).is_none()).count();
            assert_eq!(roots, 1, "{n} ranks");
            for rank in 0..n {
                let path = std::iter::successors(Some(rank), above).take(n as usize);
                assert!(path.last().is_some_and(|root| above(&root).is_none()), "{rank} of {n}");
                let children: Vec<u32> =
                    all[rank as usize].children.into_iter().flatten().collect();
                let those = (0..n).filter(|other| above(other) == Some(rank));
                let mut sorted = children.clone();
                sorted.sort_unstable();
                assert!(those.eq(sorted), "{rank} of {n}");
                let there = neighbours(n, rank, !second).children;
                let idle = children.is_empty() || there == [None; 2];
                assert!(idle || rank == 0 && n % 2 == 1, "{rank} of {n}");
            }
        }
    }
}

#[test]
fn every_reduce_scatter_gives_every_rank_its_block_of_the_sum() {
    for collective in cases(Operation::ReduceScatter) {
        for (rank, sums) in sums(&collective).iter().enumerate() {
            assert_eq!(sums[rank], everybody(collective.n), "{}, rank {rank}", name(&collective));
        }
    }
}

/// By rank, which blocks it holds, where it begins with those that `initial` says.
fn held(
    collective: &Collective,
    n_blocks: u32,
    block_bytes: impl Fn(u32) -> u64,
    initial: impl Fn(u32) -> u128,
) -> Vec<u128> {
    let what = name(collective);
    let set = |blocks| places(blocks, n_blocks).iter().fold(0u128, |set, place| set | 1 << place);
    let mut states: Vec<u128> = (0..collective.n).map(initial).collect();
    executor::run(
        &what,
        &mut states,
        |rank, index| sized(collective.exchange(rank, index)?, n_blocks, &what, &block_bytes),
        |held, rank, blocks| {
            assert_eq!(set(blocks) & !held, 0, "{what}: rank {rank} sends what it has not");
            set(blocks)
        },
        |held, _, _, came| *held |= came,
    );
    states
}

#[test]
fn every_broadcast_gives_every_rank_the_roots_buffer() {
    for collective in cases(Operation::Broadcast) {
        let n_blocks = collective.n_blocks();
        let bytes = |block| range_bytes(collective.size_bytes, n_blocks, block, 1);
        let whole = (1u128 << n_blocks) - 1;
        let states = held(&collective, n_blocks, bytes, |rank| if rank == 0 { whole } else { 0 });
        assert!(states.iter().all(|held| *held == whole), "{}: {states:x?}", name(&collective));
    }
}

#[test]
fn every_allgather_gives_every_rank_everybodys_block() {
    for collective in cases(Operation::Allgather) {
        let states = held(&collective, collective.n, |_| collective.size_bytes, |rank| 1 << rank);
        let whole = states.iter().all(|held| *held == everybody(collective.n));
        assert!(whole, "{}: {states:x?}", name(&collective));
    }
}

#[test]
fn every_gather_gives_the_root_everybodys_block_and_every_scatter_each_its_own() {
    for collective in cases(Operation::Gather) {
        let states = held(&collective, collective.n, |_| collective.size_bytes, |rank| 1 << rank);
        assert_eq!(states[0], everybody(collective.n), "{}", name(&collective));
    }
    for collective in cases(Operation::Scatter) {
        let all = everybody(collective.n);
        let initial = |rank| if rank == 0 { all } else { 0 };
        let states = held(&collective, collective.n, |_| collective.size_bytes, initial);
        for (rank, held) in states.iter().enumerate() {
            assert!(held >> rank & 1 == 1, "{}, rank {rank}", name(&collective));
        }
    }
}

/// Alltoall: by rank and destination, whose blocks a rank holds. In the end it must hold, once
/// each, all ranks' blocks for itself; what it has passed on it keeps.
fn alltoall(collective: &Collective) {
    let (n, what) = (collective.n, name(collective));
    type Held = Vec<Vec<u32>>;
    let mut states: Vec<Held> = (0..n).map(|from| vec![vec![from]; n as usize]).collect();
    let destinations = |blocks: Blocks, rank: u32| match blocks {
        Blocks::Destinations { first, step } => {
            (first..n).step_by(step as usize).filter(move |to| *to != rank)
        }
        other => panic!("blocks go by destination, not {other:?}"),
    };
    executor::run(
        &what,
        &mut states,
        |rank, index| collective.exchange(rank, index),
        |held: &Held, rank, blocks| -> Vec<(u32, Vec<u32>)> {
            destinations(blocks, rank).map(|to| (to, held[to as usize].clone())).collect()
        },
        |held, _, _, came| came.into_iter().for_each(|(to, from)| held[to as usize].extend(from)),
    );
    for (rank, held) in states.iter_mut().enumerate() {
        held[rank].sort_unstable();
        assert_eq!(held[rank], (0..n).collect::<Vec<u32>>(), "{what}, rank {rank}");
    }
}

#[test]
fn direct_alltoalls_give_every_rank_its_block_of_every_other() {
    for algorithm in [Algorithm::Pairwise, Algorithm::Linear] {
        for n in COUNTS {
            let plain = Collective::new(Operation::Alltoall, algorithm, n, 7);
            alltoall(&plain);
            for window in [1, 3] {
                alltoall(&Collective { window: Some(window), ..plain });
            }
            alltoall(&Collective { barrier_every_step: true, ..plain });
            let skew = Skew { amount: 0.5, of: SkewOf::Pair };
            let operation = Operation::Alltoallv;
            alltoall(&Collective { operation, skew, size_bytes: 1000, ..plain });
        }
    }
}

#[test]
fn the_hierarchical_alltoall_gives_every_rank_its_block_whatever_the_nodes() {
    for n in COUNTS {
        for tasks_per_node in (1..=n).filter(|tasks| n.is_multiple_of(*tasks)) {
            let plain = Collective::new(Operation::Alltoall, Algorithm::Hierarchical, n, 7);
            let collective = Collective { tasks_per_node, ..plain };
            alltoall(&collective);
            let sent: u64 = sent_bytes(&collective, 0);
            let (tasks, nodes) = (u64::from(tasks_per_node), u64::from(n / tasks_per_node));
            assert_eq!(sent, 7 * ((tasks - 1) * nodes + (nodes - 1) * tasks));
        }
    }
}

fn sent_bytes(collective: &Collective, rank: u32) -> u64 {
    let moves = (0..).map_while(|index| collective.exchange(rank, index));
    moves.filter_map(|moved| moved.send).map(|send| send.size_bytes).sum()
}

#[test]
fn bruck_gives_every_rank_its_block_of_every_other() {
    for n in COUNTS {
        // Place i of rank r begins with the block for rank r + i.
        type Held = Vec<(u32, u32)>;
        let mut states: Vec<Held> =
            (0..n).map(|rank| (0..n).map(|place| (rank, (rank + place) % n)).collect()).collect();
        let places = |blocks: Blocks| match blocks {
            Blocks::Bit(bit) => (0..n as usize).filter(move |place| place >> bit & 1 == 1),
            other => panic!("Bruck sends by bit, not {other:?}"),
        };
        let collective = Collective::new(Operation::Alltoall, Algorithm::Bruck, n, 3);
        executor::run(
            "Bruck",
            &mut states,
            |rank, index| {
                let moved = collective.exchange(rank, index)?;
                let send = moved.send.expect("everybody sends");
                assert_eq!(send.size_bytes, 3 * places(send.blocks).count() as u64);
                Some(moved)
            },
            |held, _, blocks| places(blocks).map(|place| held[place]).collect::<Held>(),
            |held, _, blocks, carried| {
                for (place, block) in places(blocks).zip(carried) {
                    held[place] = block;
                }
            },
        );
        for (rank, held) in states.iter().enumerate() {
            let mut got = held.clone();
            got.sort_unstable();
            let wanted: Held = (0..n).map(|from| (from, rank as u32)).collect();
            assert_eq!(got, wanted, "{n} ranks, rank {rank}");
        }
    }
}

#[test]
fn a_barrier_lets_no_one_go_before_everybody_has_come() {
    let of_nodes = [2, 3, 7].map(|tasks_per_node| Collective {
        tasks_per_node,
        ..Collective::new(Operation::Barrier, Algorithm::Sharp, 42, 0)
    });
    for collective in cases(Operation::Barrier).chain(of_nodes) {
        let mut heard: Vec<u128> = (0..collective.n).map(|rank| 1 << rank).collect();
        executor::run(
            &name(&collective),
            &mut heard,
            |rank, index| collective.exchange(rank, index),
            |known, _, _| *known,
            |known, _, _, came| *known |= came,
        );
        let all = everybody(collective.n);
        assert!(heard.iter().all(|known| *known == all), "{}", name(&collective));
    }
}
