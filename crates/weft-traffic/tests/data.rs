//! Who ends up with what: every algorithm is run on real data at every rank count up to 33.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use weft_traffic::{Algorithm, Blocks, Exchange};

const LARGEST: u32 = 33;

/// Runs the exchanges of all ranks until all have finished, in rank order and with eager sends.
/// `gather` says what a send carries, `store` takes what a receive brings.
fn run<S, P: Clone>(
    algorithm: Algorithm,
    states: &mut [S],
    gather: impl Fn(&S, u32, Blocks) -> P,
    store: impl Fn(&mut S, u32, Blocks, P),
) {
    let n = states.len() as u32;
    let mut wires: BTreeMap<(u32, u32), VecDeque<P>> = BTreeMap::new();
    let mut next = vec![0u64; states.len()];
    let mut sent: Vec<bool> = vec![false; states.len()];
    loop {
        let mut moved = false;
        for rank in 0..n {
            let at = rank as usize;
            let Some(exchange) = algorithm.exchange(n, rank, 1000, next[at]) else {
                continue;
            };
            let Exchange { send, recv, .. } = exchange;
            if let Some(send) = send.filter(|_| !sent[at]) {
                let carried = gather(&states[at], rank, send.blocks);
                wires.entry((rank, send.peer)).or_default().push_back(carried);
                moved = true;
            }
            sent[at] = true;
            if let Some(recv) = recv {
                let wire = wires.entry((recv.peer, rank)).or_default();
                let Some(carried) = wire.pop_front() else {
                    continue;
                };
                store(&mut states[at], rank, recv.blocks, carried);
            }
            (next[at], sent[at], moved) = (next[at] + 1, false, true);
        }
        if !moved {
            break;
        }
    }
    for (rank, next) in next.iter().enumerate() {
        let rest = algorithm.exchange(n, rank as u32, 1000, *next);
        assert!(rest.is_none(), "{algorithm:?} with {n} ranks: rank {rank} is stuck");
    }
    assert!(wires.values().all(VecDeque::is_empty), "{algorithm:?}: a message nobody receives");
}

/// Allreduce: by block, the ranks whose contribution is in it. A contribution may not be added
/// twice.
type Sums = Vec<BTreeSet<u32>>;

fn add(sum: &mut BTreeSet<u32>, carried: &BTreeSet<u32>) {
    assert!(sum.is_disjoint(carried), "a contribution is added twice");
    sum.extend(carried);
}

fn allreduce(algorithm: Algorithm, n: u32, n_blocks: u32) {
    let everybody: BTreeSet<u32> = (0..n).collect();
    let mut states: Vec<Sums> =
        (0..n).map(|rank| vec![BTreeSet::from([rank]); n_blocks as usize]).collect();
    let range = |blocks: Blocks| match blocks {
        Blocks::All => 0..n_blocks as usize,
        Blocks::Range { first, count } => first as usize..(first + count) as usize,
        other => panic!("an allreduce carries blocks, not {other:?}"),
    };
    run(
        algorithm,
        &mut states,
        |sums, _, blocks| sums[range(blocks)].to_vec(),
        |sums, _, blocks, carried: Sums| {
            for (sum, carried) in sums[range(blocks)].iter_mut().zip(&carried) {
                // A complete sum replaces what was there; parts are added.
                if *carried == everybody {
                    sum.clone_from(carried);
                } else {
                    add(sum, carried);
                }
            }
        },
    );
    for (rank, sums) in states.iter().enumerate() {
        for (block, sum) in sums.iter().enumerate() {
            assert_eq!(sum, &everybody, "{algorithm:?}: {n} ranks, rank {rank}, block {block}");
        }
    }
}

#[test]
fn every_allreduce_gives_every_rank_the_sum_of_all() {
    for n in 1..=LARGEST {
        allreduce(Algorithm::RecursiveDoubling, n, 1);
        allreduce(Algorithm::Ring, n, n);
        allreduce(Algorithm::Rabenseifner, n, 1 << n.ilog2());
    }
}

/// Alltoall: a block is (from, to).
type Block = (u32, u32);

#[test]
fn direct_alltoalls_give_every_rank_its_block_of_every_other() {
    for algorithm in [Algorithm::Pairwise, Algorithm::Linear] {
        for n in 1..=LARGEST {
            let mut states: Vec<BTreeSet<Block>> =
                (0..n).map(|rank| BTreeSet::from([(rank, rank)])).collect();
            run(
                algorithm,
                &mut states,
                |_, rank, blocks| match blocks {
                    Blocks::Range { first, count: 1 } => (rank, first),
                    other => panic!("one block at a time, not {other:?}"),
                },
                |held, rank, _, block: Block| {
                    assert_eq!(block.1, rank, "{algorithm:?}: a block for somebody else");
                    assert!(held.insert(block), "{algorithm:?}: a block comes twice");
                },
            );
            for (rank, held) in states.iter().enumerate() {
                let wanted: BTreeSet<Block> = (0..n).map(|from| (from, rank as u32)).collect();
                assert_eq!(held, &wanted, "{algorithm:?} with {n} ranks");
            }
        }
    }
}

#[test]
fn bruck_gives_every_rank_its_block_of_every_other() {
    for n in 1..=LARGEST {
        // Place i of rank r begins with the block for rank r + i.
        let mut states: Vec<Vec<Block>> =
            (0..n).map(|rank| (0..n).map(|place| (rank, (rank + place) % n)).collect()).collect();
        let places = |blocks: Blocks| match blocks {
            Blocks::Bit(bit) => (0..n as usize).filter(move |place| place >> bit & 1 == 1),
            other => panic!("Bruck sends by bit, not {other:?}"),
        };
        run(
            Algorithm::Bruck,
            &mut states,
            |held, _, blocks| places(blocks).map(|place| held[place]).collect::<Vec<Block>>(),
            |held, _, blocks, carried| {
                for (place, block) in places(blocks).zip(carried) {
                    held[place] = block;
                }
            },
        );
        for (rank, held) in states.iter().enumerate() {
            let got: BTreeSet<Block> = held.iter().copied().collect();
            let wanted: BTreeSet<Block> = (0..n).map(|from| (from, rank as u32)).collect();
            assert_eq!(got, wanted, "{n} ranks, rank {rank}");
        }
    }
}

#[test]
fn a_barrier_lets_nobody_go_before_everybody_has_come() {
    for n in 1..=LARGEST {
        let everybody: BTreeSet<u32> = (0..n).collect();
        let mut heard: Vec<BTreeSet<u32>> = (0..n).map(|rank| BTreeSet::from([rank])).collect();
        run(
            Algorithm::Dissemination,
            &mut heard,
            |known, _, _| known.clone(),
            |known, _, _, carried| known.extend(carried),
        );
        assert!(heard.iter().all(|known| *known == everybody), "{n} ranks");
    }
}
