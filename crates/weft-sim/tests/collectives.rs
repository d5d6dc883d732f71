//! Collectives and patterns on the network: closed forms from the scenario's own figures, and the
//! same outcome whether events are left out or not.

use crate::common::{GBPS, HEADER, RETH, durations, physics, run, scenario, tree, with};
use serde_json::{Value, json};
use weft_sim::Status;
use weft_traffic::{Skew, SkewOf};

const RATE: u64 = 100 * GBPS;
const DELAY_PS: u64 = 500_000;
const SWITCH_PS: u64 = 200_000;
/// Bits that make whole picoseconds at 100 Gb/s: 10 ps each.
const PS_PER_BYTE: u64 = 80;

/// `n` hosts on one switch, so that neighbours cost nothing.
fn one_switch(n: u64, work: Value) -> Value {
    scenario(tree(n, n, 1, RATE, DELAY_PS), work)
}

/// A message of whole packets of 4096 bytes between two hosts of a switch, cut-through: all of it
/// on the wire once, two cables, and the switch. The head is through when it is routed; the rest
/// follows at the same rate.
fn message_ps(size_bytes: u64) -> u64 {
    let n_packets = size_bytes.div_ceil(4096).max(1);
    let wire = size_bytes + n_packets * HEADER + RETH;
    wire * PS_PER_BYTE + 2 * DELAY_PS + SWITCH_PS
}

fn step_ps(n: u64, step: Value) -> u64 {
    let times = durations(&one_switch(n, json!([step])));
    assert_eq!(times.len(), 1);
    times[0]
}

#[test]
fn collectives_of_equal_steps_take_their_number_of_messages() {
    // Down a tree an eager sender has several messages under way, which take turns by packets:
    // there, one packet each.
    let (size, packet) = (16 * 4096, 4096);
    for n in [4u64, 8, 16] {
        let log = u64::from(n.ilog2());
        // (benchmark, algorithm, what the size is, messages one after the other, bytes of each)
        for (benchmark, algorithm, size_bytes, count, each) in [
            ("allreduce", "ring", n * size, 2 * (n - 1), size),
            ("allreduce", "recursive_doubling", size, log, size),
            ("allreduce", "reduce_broadcast", packet, 2 * log, packet),
            ("allgather", "ring", size, n - 1, size),
            ("reduce_scatter", "ring", n * size, n - 1, size),
            ("reduce_scatter", "pairwise", n * size, n - 1, size),
            ("alltoall", "pairwise", size, n - 1, size),
            ("broadcast", "binomial", packet, log, packet),
            ("reduce", "binomial", packet, log, packet),
            ("barrier", "dissemination", 0, log, 0),
            ("barrier", "recursive_doubling", 0, log, 0),
            ("barrier", "tree", 0, 2 * log, 0),
        ] {
            let step =
                json!({"benchmark": benchmark, "algorithm": algorithm, "size_bytes": size_bytes});
            let taken = step_ps(n, step);
            assert_eq!(taken, count * message_ps(each), "{benchmark} by {algorithm}, {n} ranks");
        }
    }
}

#[test]
fn halving_and_doubling_take_the_sum_of_their_messages() {
    let size = 64 * 4096;
    for n in [4u64, 16] {
        let halves: u64 = (1..=n.ilog2()).map(|step| message_ps(size >> step)).sum();
        let step = |benchmark: &str, algorithm: &str| {
            step_ps(n, json!({"benchmark": benchmark, "algorithm": algorithm, "size_bytes": size}))
        };
        assert_eq!(step("allreduce", "rabenseifner"), 2 * halves);
        assert_eq!(step("reduce_scatter", "recursive_halving"), halves);
        assert_eq!(step("reduce", "rabenseifner"), 2 * halves);
    }
}

#[test]
fn a_chain_takes_its_segments_and_its_ranks() {
    let (n, segment, segments) = (8u64, 8 * 4096, 20u64);
    let step = json!({"benchmark": "broadcast", "algorithm": "chain", "segment_bytes": segment,
                      "size_bytes": segments * segment});
    // The first segment crosses n - 1 times; the others follow each other on the root's wire.
    let behind = (segments - 1) * (message_ps(segment) - 2 * DELAY_PS - SWITCH_PS);
    assert_eq!(step_ps(n, step), (n - 1) * message_ps(segment) + behind);
}

#[test]
fn a_large_double_binary_tree_needs_about_twice_the_buffer_on_the_wire() {
    let (n, size) = (16u64, 64 << 20);
    let taken = step_ps(
        n,
        json!({"benchmark": "allreduce", "algorithm": "double_binary_tree",
               "segment_bytes": 1 << 20, "size_bytes": size}),
    );
    let wire = 2 * size * PS_PER_BYTE;
    assert!(taken > wire, "no rank is faster than its link: {taken} against {wire}");
    // 32 segments a tree and 2 x 4 - 1 steps to fill them. In a step a rank sends and receives four
    // messages at most, and one waits only while its sender or its receiver is busy with others:
    // for three and three of them.
    let latency = 2 * DELAY_PS + SWITCH_PS;
    let bound = 39 * (7 * (message_ps(1 << 20) - latency) + latency);
    assert!(taken <= bound, "{taken} against {bound}");
}

#[test]
fn an_incast_drains_at_the_rate_of_its_link_and_bystanders_on_one_switch_feel_nothing() {
    let (n, size) = (8u64, 64 * 4096);
    let step = json!([{"benchmark": "incast", "size_bytes": size, "fan": 4,
                       "bystander_bytes": size}]);
    let times = durations(&one_switch(n, step));
    let last = times[..4].iter().max().expect("four senders");
    let wire = 4 * (message_ps(size) - 2 * DELAY_PS - SWITCH_PS);
    assert_eq!(*last, wire + 2 * DELAY_PS + SWITCH_PS);
    assert!(times[4..].iter().all(|time| *time == message_ps(size)), "{times:?}");
}

#[test]
fn a_shift_is_free_of_contention_and_rings_use_both_directions() {
    let size = 32 * 4096;
    let shift = json!([{"benchmark": "permutation", "permutation": {"shift": 3},
                        "size_bytes": size}]);
    let times = durations(&one_switch(8, shift));
    assert_eq!(times, vec![message_ps(size); 8]);
    // Two messages leave and two come: twice the wire, one way.
    let ring = json!({"benchmark": "natural_ring", "size_bytes": size});
    let taken = step_ps(8, ring);
    let wire = message_ps(size) - 2 * DELAY_PS - SWITCH_PS;
    assert_eq!(taken, 2 * wire + 2 * DELAY_PS + SWITCH_PS);
    // A barrier behind it takes its own time: all ranks leave the ring at once.
    let closed = json!({"benchmark": "natural_ring", "size_bytes": size, "closing_barrier": true});
    assert_eq!(step_ps(8, closed), taken + step_ps(8, json!({"benchmark": "barrier"})));
}

#[test]
fn a_schedule_runs_as_the_collective_it_spells_out() {
    let size = 4096;
    let text = format!(
        "num_ranks 2\nrank 0 {{\ns: send {size}b to 1\nr: recv {size}b from 1\nr requires s\n}}\n\
         rank 1 {{\nr: recv {size}b from 0\ns: send {size}b to 0\ns requires r\n}}\n"
    );
    let taken = step_ps(2, json!({"benchmark": "schedule", "text": text}));
    assert_eq!(taken, 2 * message_ps(size));
}

#[test]
fn calls_are_done_in_their_order_and_their_marks_cut_the_time() {
    let size = 4096;
    let text = format!(
        "num_ranks 2\nrank 0 {{\ncalc 1000\nmark\nisend {size}b to 1\ncalc 5000\nwait\nmark\n\
         recv from 1\n}}\nrank 1 {{\ncalc 2000\nmark\nrecv from 0\nmark\nsend {size}b to 0\n}}\n"
    );
    let calls = json!([{"benchmark": "schedule", "format": "calls", "text": text}]);
    let times = durations(&one_switch(2, calls));
    // The last rank passes the first mark after 2 us, the second after the computing of the sender,
    // during which its message came; then there is one message more, sent long before.
    let sum: u64 = times.iter().sum();
    assert_eq!((times[0], times[0] + times[1]), (2_000_000, 6_000_000));
    assert_eq!((times.len(), sum), (3, 6_000_000));
}

#[test]
fn a_receive_of_a_program_waits_for_its_own_message() {
    // The message of rank 1 comes at once, that of rank 2 after 20 us; rank 3 computes as long
    // after rank 0 has heard of it.
    let text = "num_ranks 4\nrank 0 {\na: irecv from 1\nrecv from 2\nsend 8b to 3\nwait a\n}\n\
                rank 1 {\nsend 8b to 0\n}\nrank 2 {\ncalc 20000\nsend 8b to 0\n}\n\
                rank 3 {\nrecv from 0\ncalc 20000\n}\n";
    let taken = step_ps(4, json!({"benchmark": "schedule", "format": "calls", "text": text}));
    assert_eq!(taken, 2 * (20_000_000 + message_ps(8)));
}

#[test]
fn messages_of_a_tag_do_not_hold_up_a_barrier() {
    // The long message is sent first and received last.
    let text = "num_ranks 2\nrank 0 {\nbarrier\nmark\nrecv from 1 tag 7\n}\n\
                rank 1 {\nisend 10000000b to 0 tag 7\nbarrier\nmark\n}\n";
    let calls = json!([{"benchmark": "schedule", "format": "calls", "text": text}]);
    let host = json!({"regimes": [{"max_bytes": 4096}, {"protocol": "rendezvous"}]});
    let times = durations(&with(one_switch(2, calls), "host", host));
    assert!(times[0] < 10_000_000, "the barrier waits for no other message: {times:?}");
    assert!(times[1] > 100_000_000, "{times:?}");
}

/// One step of every kind, on a tree whose links are fewer than its hosts.
fn every_kind() -> Vec<Value> {
    let mut steps = vec![
        json!({"benchmark": "natural_ring"}),
        json!({"benchmark": "random_ring", "shuffle": 5}),
        json!({"benchmark": "permutation", "permutation": {"random": 3}, "window": 2}),
        json!({"benchmark": "bisect", "both_ways": true}),
        json!({"benchmark": "incast", "fan": 5, "bystander_bytes": 9000}),
        json!({"benchmark": "fan_out", "root": 3}),
        json!({"benchmark": "alltoall", "algorithm": "linear", "window": 3, "shuffle": 2}),
        json!({"benchmark": "alltoallv", "algorithm": "linear", "skew": 0.9}),
        json!({"benchmark": "alltoall", "algorithm": "hierarchical"}),
    ];
    for (benchmark, algorithms) in [
        ("barrier", &["recursive_doubling", "tree"][..]),
        ("allreduce", &["double_binary_tree", "reduce_broadcast", "rabenseifner"]),
        ("allgather", &["ring", "recursive_doubling", "bruck", "neighbor_exchange"]),
        ("reduce_scatter", &["recursive_halving", "ring", "pairwise"]),
        ("broadcast", &["binomial", "scatter_allgather", "chain"]),
        ("reduce", &["binomial", "rabenseifner"]),
        ("gather", &["binomial", "linear"]),
        ("scatter", &["binomial", "linear"]),
    ] {
        for algorithm in algorithms {
            steps.push(json!({"benchmark": benchmark, "algorithm": algorithm}));
        }
    }
    for step in &mut steps {
        step["size_bytes"] = json!(10_000);
    }
    steps
}

#[test]
fn every_kind_of_step_has_one_outcome_elided_or_not_eager_or_not() {
    let fabric = || tree(6, 2, 2, RATE, DELAY_PS);
    for protocol in ["eager", "rendezvous"] {
        let host = json!({"regimes": [{"protocol": protocol, "send_overhead_ns": 100,
                                       "recv_overhead_ns": 150}]});
        let base = with(scenario(fabric(), json!(every_kind())), "host", host);
        let base = with(base, "placement", json!({"tasks_per_node": 2}));
        let short = run(&with(base.clone(), "elide", json!(true)));
        assert_eq!(short.status, Status::Complete, "{protocol}: {}", short.message);
        let long = run(&with(base, "elide", json!(false)));
        assert_eq!(physics(&short), physics(&long), "{protocol}");
        assert!(short.rows.duration_ps.iter().all(|time| *time > 0));
    }
}

#[test]
fn a_window_of_partners_keeps_the_wire_busy_where_one_at_a_time_waits_for_each() {
    let (n, size) = (8u64, 4096);
    let times = |window: u64| {
        let step = json!({"benchmark": "alltoall", "algorithm": "linear", "window": window,
                          "size_bytes": size});
        step_ps(n, step)
    };
    let wire = message_ps(size) - 2 * DELAY_PS - SWITCH_PS;
    assert_eq!(times(1), (n - 1) * message_ps(size));
    // All seven under way: they follow one another on the wire.
    assert_eq!(times(n - 1), (n - 1) * wire + 2 * DELAY_PS + SWITCH_PS);
    let two = times(2);
    assert!(two < times(1) && two > times(3), "{two}");
}

#[test]
fn computing_delays_a_collective_by_its_slowest_rank() {
    let barrier = json!({"benchmark": "barrier", "compute_ns": 5000});
    assert_eq!(step_ps(8, barrier), 5_000_000 + 3 * message_ps(0));
    let uneven = json!({"benchmark": "compute", "compute_ns": 1000, "imbalance": 0.5});
    let taken = step_ps(8, uneven);
    assert!((1_000_000..=1_500_000).contains(&taken), "{taken}");
}

#[test]
fn a_barrier_after_each_step_makes_every_step_as_long_as_its_largest_message() {
    let (n, size) = (8u32, 4000);
    let step = json!({"benchmark": "alltoallv", "algorithm": "linear", "skew": 0.9,
                      "barrier_every_step": true, "size_bytes": size});
    let skew = Skew { amount: 0.9, of: SkewOf::Pair };
    let of_step = |step: u32| {
        let sizes = (0..n).map(|rank| skew.size_bytes(size, rank, (rank + step) % n));
        message_ps(sizes.max().expect("eight ranks"))
    };
    assert_eq!(step_ps(u64::from(n), step), (1..n).map(of_step).sum::<u64>());
}
