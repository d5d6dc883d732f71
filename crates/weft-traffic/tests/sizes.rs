//! How much is sent, and in how many moves.

use weft_traffic::{Algorithm, Collective, Operation};

fn sent_bytes(collective: &Collective, rank: u32) -> u64 {
    let moves = (0..).map_while(|index| collective.exchange(rank, index));
    moves.filter_map(|exchange| exchange.send).map(|send| send.size_bytes).sum()
}

fn collective(operation: Operation, algorithm: Algorithm, n: u32, size_bytes: u64) -> Collective {
    Collective::new(operation, algorithm, n, size_bytes)
}

#[test]
fn a_bandwidth_optimal_collective_sends_the_bus_factor_times_its_buffer() {
    use {Algorithm as A, Operation as O};
    for n in [2u32, 4, 8, 16] {
        let size_bytes = 1u64 << 20;
        let whole = size_bytes * u64::from(n);
        // SOURCE: the performance notes of nccl-tests: bus bandwidth is algorithm bandwidth times
        // (p - 1) / p of the whole buffer, twice that of an allreduce. Our size is the whole buffer
        // of an allreduce or reduce-scatter, and a block of the others.
        for (operation, algorithm, times, buffer) in [
            (O::Allreduce, A::Ring, 2, size_bytes),
            (O::Allreduce, A::Rabenseifner, 2, size_bytes),
            (O::ReduceScatter, A::RecursiveHalving, 1, size_bytes),
            (O::ReduceScatter, A::Ring, 1, size_bytes),
            (O::ReduceScatter, A::Pairwise, 1, size_bytes),
            (O::Allgather, A::Ring, 1, whole),
            (O::Allgather, A::RecursiveDoubling, 1, whole),
            (O::Allgather, A::Bruck, 1, whole),
            (O::Allgather, A::NeighborExchange, 1, whole),
            (O::Alltoall, A::Pairwise, 1, whole),
            (O::Alltoall, A::Linear, 1, whole),
        ] {
            let sent = sent_bytes(&collective(operation, algorithm, n, size_bytes), 1);
            let of_all = times * u64::from(n - 1) * buffer;
            assert_eq!(sent * u64::from(n), of_all, "{operation:?} by {algorithm:?}, {n} ranks");
        }
    }
}

#[test]
fn all_ranks_together_send_what_the_algorithm_must() {
    use {Algorithm as A, Operation as O};
    let size_bytes = 9_000_000;
    for n in [2u32, 3, 7, 16, 33] {
        let total = |operation, algorithm| {
            let collective = collective(operation, algorithm, n, size_bytes);
            (0..n).map(|rank| sent_bytes(&collective, rank)).sum::<u64>()
        };
        let (others, n) = (u64::from(n - 1), u64::from(n));
        // A tree has n - 1 edges; a buffer crosses each up and down.
        assert_eq!(total(O::Allreduce, A::ReduceBroadcast), 2 * others * size_bytes);
        assert_eq!(total(O::Allreduce, A::DoubleBinaryTree), 2 * others * size_bytes);
        assert_eq!(total(O::Broadcast, A::Binomial), others * size_bytes);
        assert_eq!(total(O::Broadcast, A::Chain), others * size_bytes);
        assert_eq!(total(O::Reduce, A::Binomial), others * size_bytes);
        assert_eq!(total(O::Gather, A::Linear), others * size_bytes);
        assert_eq!(total(O::Scatter, A::Linear), others * size_bytes);
        assert_eq!(total(O::Allgather, A::Ring), n * others * size_bytes);
        assert_eq!(total(O::Allgather, A::Bruck), n * others * size_bytes);
        assert_eq!(total(O::Alltoall, A::Pairwise), n * others * size_bytes);
        assert_eq!(total(O::Barrier, A::Dissemination), 0);
    }
}

#[test]
fn no_rank_of_the_double_binary_tree_sends_more_than_twice_its_buffer() {
    // 77 whole segments in each tree.
    let size_bytes = 2 * 77 * 65_536;
    for n in 2..=70 {
        let tree = collective(Operation::Allreduce, Algorithm::DoubleBinaryTree, n, size_bytes);
        let most = (0..n).map(|rank| sent_bytes(&tree, rank)).max().expect("two ranks or more");
        assert!(most <= 2 * size_bytes, "{n} ranks: {most}");
        let moves = (0..).map_while(|index| tree.exchange(0, index)).count() as u64;
        // Half the buffer in segments, and twice the height of a tree, less one; six moves each.
        let height = u64::from(n.next_power_of_two().ilog2());
        assert_eq!(moves, 6 * (77 + 2 * height - 1), "{n} ranks");
    }
}

#[test]
fn logarithmic_algorithms_take_the_doublings_of_the_ranks() {
    use {Algorithm as A, Operation as O};
    for n in [2u32, 7, 16, 70] {
        let up = n.next_power_of_two().ilog2() as usize;
        for (operation, algorithm, moves) in [
            (O::Alltoall, A::Bruck, up),
            (O::Allgather, A::Bruck, up),
            (O::Barrier, A::Dissemination, up),
            (O::Barrier, A::Tree, 2 * up),
            (O::Broadcast, A::Binomial, up),
            (O::Reduce, A::Binomial, up),
            (O::Gather, A::Binomial, up),
            (O::Broadcast, A::ScatterAllgather, up + n as usize - 1),
        ] {
            let collective = collective(operation, algorithm, n, 10);
            let taken = (0..).map_while(|index| collective.exchange(0, index)).count();
            assert_eq!(taken, moves, "{operation:?} by {algorithm:?}, {n} ranks");
        }
    }
}
