//! What ranks do in the steps that are no collectives, and in those with options.

use crate::executor;
use weft_traffic::{
    ACK_BYTES, DEFAULT_WINDOW, Exchange, Phase, Rows, StepDocument, Transfer, Wait,
};

fn step(text: &str) -> StepDocument {
    serde_json::from_str(text).expect("a step")
}

fn phase(text: &str, n_ranks: u32) -> Phase {
    let step: StepDocument = serde_json::from_str(text).expect("a step");
    step.check("work[0]", n_ranks).expect("a step that can be");
    step.phase("work[0]", 0, 0, n_ranks).expect("checked")
}

fn moves(phase: &Phase, rank: u32) -> impl Iterator<Item = Exchange> {
    (0..).map_while(move |index| phase.exchange(rank, index))
}

fn sends(phase: &Phase, rank: u32) -> impl Iterator<Item = Transfer> {
    moves(phase, rank).filter_map(|moved| moved.send)
}

/// Runs a phase without data: every message finds its partner and no rank is stuck.
fn completes(phase: &Phase) {
    let mut states = vec![(); phase.n_ranks() as usize];
    let next = |rank, index| phase.exchange(rank, index);
    executor::run("a phase", &mut states, next, |_, _, _| (), |_, _, _, _| ());
}

#[test]
fn a_bandwidth_window_is_acknowledged_and_a_ping_pong_alternates() {
    let phase = step(r#"{"benchmark": "bandwidth", "size_bytes": 100}"#)
        .phase("work[0]", 0, 0, 2)
        .expect("two ranks");
    let sizes = |rank: u32| -> Vec<u64> {
        let moves = (0..).map_while(|index| phase.exchange(rank, index));
        moves.filter_map(|exchange| exchange.send).map(|send| send.size_bytes).collect()
    };
    assert_eq!(sizes(0), vec![100; DEFAULT_WINDOW as usize]);
    assert_eq!(sizes(1), vec![ACK_BYTES]);
    let phase = step(r#"{"benchmark": "latency", "size_bytes": 8, "ranks": [3, 1]}"#)
        .phase("work[0]", 0, 0, 4)
        .expect("four ranks");
    assert!(phase.exchange(3, 0).is_some_and(|exchange| exchange.send.is_some()));
    assert!(phase.exchange(1, 0).is_some_and(|exchange| exchange.recv.is_some()));
    assert!(phase.exchange(0, 0).is_none(), "a rank that takes no part does nothing");
    assert_eq!((phase.timed_row(3), phase.timed_row(1)), (Some(0), None));
}

#[test]
fn a_pair_measured_backwards_keeps_its_number_and_is_timed_by_its_sender() {
    let text = r#"{"benchmark": "pairs", "kind": "bandwidth_ba", "rounds": [[[0, 3], [1, 2]]]}"#;
    let phase = step(text).phase("work[0]", 0, 0, 4).expect("four ranks");
    assert_eq!(phase.n_rows(), 2);
    assert_eq!((phase.timed_row(3), phase.timed_row(2)), (Some(0), Some(1)));
    assert_eq!((phase.timed_row(0), phase.timed_row(1)), (None, None));
}

#[test]
fn a_pair_that_sends_in_both_directions_is_timed_by_both_ranks_and_has_no_acknowledgement() {
    let text = r#"{"benchmark": "pairs", "kind": "bidirectional", "window": 3, "size_bytes": 9,
                   "rounds": [[[3, 0]]]}"#;
    let phase = phase(text, 4);
    assert_eq!((phase.timed_row(3), phase.timed_row(0), phase.n_rows()), (Some(0), Some(0), 1));
    for (rank, peer) in [(0, 3), (3, 0)] {
        let sent: Vec<(u32, u64)> =
            sends(&phase, rank).map(|send| (send.peer, send.size_bytes)).collect();
        assert_eq!(sent, [(peer, 9); 3]);
    }
    assert_eq!(sends(&phase, 1).count(), 0);
    completes(&phase);
}

#[test]
fn every_step_is_carried_out_by_any_number_of_ranks() {
    for text in [
        r#"{"benchmark": "message_rate", "size_bytes": 8}"#,
        r#"{"benchmark": "natural_ring", "size_bytes": 8}"#,
        r#"{"benchmark": "random_ring", "size_bytes": 8, "shuffle": 3, "compute_ns": 1}"#,
        r#"{"benchmark": "random_ring", "size_bytes": 8, "shuffle": 3, "closing_barrier": true}"#,
        r#"{"benchmark": "permutation", "permutation": {"shift": 5}, "size_bytes": 8}"#,
        r#"{"benchmark": "permutation", "permutation": {"random": 5}, "window": 3}"#,
        r#"{"benchmark": "bisect", "size_bytes": 8, "both_ways": true, "seed": 9}"#,
        r#"{"benchmark": "incast", "size_bytes": 8, "fan": 1, "bystander_bytes": 9, "window": 2}"#,
        r#"{"benchmark": "fan_in", "size_bytes": 8, "root": 1}"#,
        r#"{"benchmark": "fan_out", "size_bytes": 8, "root": 1, "fan": 1}"#,
        r#"{"benchmark": "alltoall", "shuffle": 7, "size_bytes": 8}"#,
        r#"{"benchmark": "alltoallv", "skew": 1, "skew_of": "destination", "size_bytes": 8}"#,
        r#"{"benchmark": "broadcast", "root": 1, "shuffle": 7, "size_bytes": 8}"#,
        r#"{"benchmark": "compute", "compute_ns": 5}"#,
    ] {
        for n in 2..=20 {
            completes(&phase(text, n));
        }
    }
}

#[test]
fn a_ring_has_both_neighbours_and_a_random_one_other_neighbours() {
    let natural = phase(r#"{"benchmark": "natural_ring", "size_bytes": 10}"#, 8);
    let peers: Vec<u32> = sends(&natural, 0).map(|send| send.peer).collect();
    assert_eq!(peers, [1, 7]);
    let random = |seed: u32| -> Vec<u32> {
        let text = format!(r#"{{"benchmark": "random_ring", "shuffle": {seed}}}"#);
        let phase = phase(&text, 64);
        (0..64).map(|rank| sends(&phase, rank).next().expect("to the right").peer).collect()
    };
    assert_eq!(random(1), random(1));
    assert_ne!(random(1), random(2));
    // Rightwards from rank 0 one comes by every rank.
    let (right, mut at, mut seen) = (random(1), 0, 0);
    while {
        at = right[at as usize];
        seen += 1;
        at != 0
    } {}
    assert_eq!(seen, 64);
}

#[test]
fn a_ring_that_closes_with_a_barrier_ends_in_the_barrier_of_the_ranks_in_their_own_order() {
    let ring = r#"{"benchmark": "random_ring", "size_bytes": 9, "window": 2, "shuffle": 3"#;
    for n in [2, 5, 8] {
        let (open, closed) = (format!("{ring}}}"), format!("{ring}, \"closing_barrier\": true}}"));
        let (open, closed) = (phase(&open, n), phase(&closed, n));
        let barrier = phase(r#"{"benchmark": "barrier"}"#, n);
        for rank in 0..n {
            let expected: Vec<Exchange> = moves(&open, rank).chain(moves(&barrier, rank)).collect();
            assert_eq!(moves(&closed, rank).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn a_window_of_a_ring_is_so_many_messages_to_and_from_each_side_waited_for_at_the_end() {
    let phase = phase(r#"{"benchmark": "natural_ring", "size_bytes": 10, "window": 3}"#, 8);
    let peers: Vec<u32> = sends(&phase, 2).map(|send| send.peer).collect();
    assert_eq!(peers, [3, 1, 3, 1, 3, 1]);
    let moves: Vec<Exchange> = moves(&phase, 2).collect();
    let from: Vec<u32> =
        moves.iter().filter_map(|moved| moved.recv).map(|recv| recv.peer).collect();
    assert_eq!(from, [1, 3, 1, 3, 1, 3]);
    let waits: Vec<bool> = moves.iter().map(|moved| moved.wait == Wait::All).collect();
    assert_eq!(waits, [false, false, false, false, false, true]);
}

#[test]
fn permutations_give_everybody_one_sender_and_fixed_points_no_row() {
    for (text, rows) in [
        (r#"{"benchmark": "permutation", "permutation": {"shift": 64}}"#, 128),
        (r#"{"benchmark": "permutation", "permutation": {"affine": [37, 11]}}"#, 128),
        // x = 3x mod 128 at 0 and 64.
        (r#"{"benchmark": "permutation", "permutation": {"affine": [3, 0]}}"#, 126),
        (r#"{"benchmark": "permutation", "permutation": {"shift": 128}}"#, 0),
    ] {
        let phase = phase(text, 128);
        assert_eq!((phase.n_rows(), phase.rows), (rows, Rows::Message), "{text}");
        let mut images: Vec<u32> =
            (0..128).flat_map(|rank| sends(&phase, rank)).map(|send| send.peer).collect();
        images.sort_unstable();
        images.dedup();
        assert_eq!(images.len() as u32, rows, "{text}");
    }
    let affine = phase(r#"{"benchmark": "permutation", "permutation": {"affine": [37, 11]}}"#, 128);
    assert_eq!(sends(&affine, 5).next().map(|send| send.peer), Some((37 * 5 + 11) % 128));
}

#[test]
fn a_random_permutation_is_the_shuffle_that_others_can_repeat() {
    // Fisher and Yates from the end, with Knuth's MMIX generator, 33 low bits dropped.
    let (n, mut state) = (20u32, 3u64);
    let mut image: Vec<u32> = (0..n).collect();
    for last in (1..n).rev() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        image.swap(last as usize, ((state >> 33) % u64::from(last + 1)) as usize);
    }
    let text = r#"{"benchmark": "permutation", "permutation": {"random": 3}}"#;
    let phase = phase(text, n);
    for (rank, to) in image.into_iter().enumerate().filter(|(rank, to)| *rank as u32 != *to) {
        assert_eq!(sends(&phase, rank as u32).next().map(|send| send.peer), Some(to));
    }
}

#[test]
fn an_incast_leaves_the_others_to_themselves() {
    let text = r#"{"benchmark": "incast", "size_bytes": 1000, "fan": 64,
                   "bystander_bytes": 500, "bystander_start_ns": 2}"#;
    let incast = phase(text, 128);
    assert_eq!(incast.n_rows(), 64 + 63);
    for rank in 64..128 {
        let to: Vec<Transfer> = sends(&incast, rank).collect();
        assert_eq!((to.len(), to[0].peer, to[0].size_bytes), (1, 0, 1000));
    }
    for rank in 1..64 {
        let to: Vec<Exchange> = moves(&incast, rank).filter(|moved| moved.send.is_some()).collect();
        let send = to[0].send.expect("filtered");
        assert_eq!((to.len(), send.peer, send.size_bytes), (1, 1 + (rank - 1 + 32) % 63, 500));
        assert_eq!(to[0].not_before_ps, 2000);
    }
    let fan_out = phase(r#"{"benchmark": "fan_out", "fan": 3, "root": 7, "window": 2}"#, 8);
    let peers: Vec<u32> = sends(&fan_out, 7).map(|send| send.peer).collect();
    assert_eq!(peers, [4, 5, 6, 4, 5, 6]);
    let rows: Vec<u32> =
        (0..6).filter_map(|index| fan_out.message_row(7, index)).map(|r| r.0).collect();
    assert_eq!(rows, [0, 2, 4, 1, 3, 5]);
}

#[test]
fn a_window_says_how_many_partners_are_in_flight_and_a_barrier_that_all_wait() {
    let waits = |options: &str| -> Vec<Wait> {
        let text = format!(r#"{{"benchmark": "alltoall", {options} "size_bytes": 1}}"#);
        let phase = phase(&text, 6);
        moves(&phase, 2).map(|moved| moved.wait).collect()
    };
    use Wait::{All, No, Together};
    assert_eq!(waits(""), [All; 5]);
    assert_eq!(waits(r#""algorithm": "linear","#), [No, No, No, No, All]);
    assert_eq!(waits(r#""algorithm": "linear", "window": 1,"#), [All; 5]);
    let three = waits(r#""algorithm": "linear", "window": 3,"#);
    let two = Wait::AtMost { receives: 2, sends: 2 };
    assert_eq!(three, [two, two, two, two, All]);
    assert_eq!(waits(r#""barrier_every_step": true,"#), [Together; 5]);
}

#[test]
fn computing_comes_before_the_first_move_and_differs_as_much_as_is_given() {
    let text = r#"{"benchmark": "allreduce", "compute_ns": 100, "imbalance": 0.5}"#;
    let busy = phase(text, 64);
    let taken: Vec<u64> = (0..64).map(|r| busy.exchange(r, 0).expect("moves").compute_ps).collect();
    assert!(taken.iter().all(|ps| (100_000..=150_000).contains(ps)), "{taken:?}");
    let (least, most) = (taken.iter().min(), taken.iter().max());
    assert!(least < Some(&105_000) && most > Some(&145_000), "{taken:?}");
    assert!(moves(&busy, 0).skip(1).all(|moved| moved.compute_ps == 0));
    let even = phase(r#"{"benchmark": "compute", "compute_ns": 7.5}"#, 3);
    let all: Vec<Exchange> = moves(&even, 1).collect();
    assert_eq!((all.len(), all[0].compute_ps, even.timed_row(1)), (1, 7500, Some(0)));
}

#[test]
fn blocks_of_an_alltoallv_differ_as_much_as_is_said_and_are_fair_on_the_whole() {
    let text = r#"{"benchmark": "alltoallv", "size_bytes": 1000, "skew": 0.8}"#;
    let phase = phase(text, 64);
    let sizes: Vec<u64> =
        (0..64).flat_map(|rank| sends(&phase, rank)).map(|send| send.size_bytes).collect();
    assert!(sizes.iter().all(|size| (200..=1800).contains(size)));
    let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
    // 4032 draws of a uniform size: a standard error of 462 / sqrt(4032) = 7.3.
    assert!((mean - 1000.0).abs() < 30.0, "{mean}");
}

#[test]
fn a_root_and_a_shuffle_put_the_same_moves_on_other_ranks() {
    let at = |options: &str, rank| -> Vec<u32> {
        let text = format!(r#"{{"benchmark": "broadcast", {options} "size_bytes": 1}}"#);
        let phase = phase(&text, 8);
        sends(&phase, rank).map(|send| send.peer).collect()
    };
    assert_eq!(at("", 0), [4, 2, 1]);
    assert_eq!(at(r#""root": 5,"#, 5), [1, 7, 6]);
    let shuffled = at(r#""root": 5, "shuffle": 4,"#, 5);
    assert_eq!(shuffled.len(), 3, "the root sends, wherever the others are: {shuffled:?}");
}

#[test]
fn messages_are_sent_in_order_of_time_whatever_their_order_in_the_document() {
    let phase = phase(
        r#"{"benchmark": "messages", "messages": [
            {"src": 0, "dst": 1, "size_bytes": 3, "start_ps": 300},
            {"src": 0, "dst": 1, "size_bytes": 1, "start_ps": 100},
            {"src": 0, "dst": 1, "size_bytes": 2, "start_ps": 200}]}"#,
        2,
    );
    let sent: Vec<(u64, u64)> = moves(&phase, 0)
        .filter_map(|moved| Some((moved.not_before_ps, moved.send?.size_bytes)))
        .collect();
    assert_eq!(sent, [(100, 1), (200, 2), (300, 3)]);
    // The receiver expects them so, and a row is its message's in the document.
    let received = moves(&phase, 1).filter_map(|moved| Some(moved.recv?.size_bytes));
    assert_eq!(received.collect::<Vec<u64>>(), [1, 2, 3]);
    let rows: Vec<_> = (0..3).map(|index| phase.message_row(0, index)).collect();
    assert_eq!(rows, [Some((1, 100)), Some((2, 200)), Some((0, 300))]);
}
