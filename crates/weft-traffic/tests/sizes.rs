//! How much is sent, and what a step may say.

use weft_traffic::{ACK_BYTES, Algorithm, DEFAULT_WINDOW, StepDocument, busbw_factor};

fn sent_bytes(algorithm: Algorithm, n: u32, rank: u32, size_bytes: u64) -> u64 {
    let moves = (0..).map_while(|index| algorithm.exchange(n, rank, size_bytes, index));
    moves.filter_map(|exchange| exchange.send).map(|send| send.size_bytes).sum()
}

fn received_bytes(algorithm: Algorithm, n: u32, rank: u32, size_bytes: u64) -> u64 {
    let moves = (0..).map_while(|index| algorithm.exchange(n, rank, size_bytes, index));
    moves.filter_map(|exchange| exchange.recv).map(|recv| recv.size_bytes).sum()
}

#[test]
fn what_all_send_all_receive() {
    use Algorithm::*;
    for algorithm in [Dissemination, RecursiveDoubling, Ring, Rabenseifner, Pairwise, Linear, Bruck]
    {
        for n in 1..=33 {
            // 1001 bytes divide by hardly any count: blocks differ in size.
            let sent: u64 = (0..n).map(|rank| sent_bytes(algorithm, n, rank, 1001)).sum();
            let received: u64 = (0..n).map(|rank| received_bytes(algorithm, n, rank, 1001)).sum();
            assert_eq!(sent, received, "{algorithm:?} with {n} ranks");
        }
    }
}

#[test]
fn a_bandwidth_optimal_allreduce_sends_the_bus_factor_times_its_buffer() {
    for n in [2u32, 4, 8, 16] {
        let size_bytes = 1 << 20;
        let expected = busbw_factor("allreduce", n) * f64::from(size_bytes);
        for algorithm in [Algorithm::Ring, Algorithm::Rabenseifner] {
            let sent = sent_bytes(algorithm, n, 1, u64::from(size_bytes as u32));
            assert_eq!(sent as f64, expected, "{algorithm:?} with {n} ranks");
        }
    }
}

#[test]
fn an_alltoall_sends_a_block_to_every_other_and_bruck_in_fewer_moves() {
    for n in [2u32, 7, 16] {
        for algorithm in [Algorithm::Pairwise, Algorithm::Linear] {
            assert_eq!(sent_bytes(algorithm, n, 0, 10), u64::from(10 * (n - 1)));
        }
        let moves = (0..).map_while(|i| Algorithm::Bruck.exchange(n, 0, 10, i)).count();
        assert_eq!(moves as u32, n.next_power_of_two().ilog2());
    }
    let factor = busbw_factor("alltoall", 4);
    assert!((factor - 0.75).abs() < 1e-12);
}

fn step(text: &str) -> StepDocument {
    serde_json::from_str(text).expect("a step")
}

fn refusal(text: &str, n_ranks: u32) -> String {
    step(text).check("work[0]", n_ranks).expect_err("a step that cannot be").to_string()
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
fn what_a_step_may_not_say_is_refused_with_its_place() {
    let cases = [
        (r#"{"benchmark": "latency", "window": 4}"#, "work[0].window: 'window' has no meaning"),
        (r#"{"benchmark": "latency", "ranks": [0, 9]}"#, "work[0].ranks: there is no rank 9"),
        (r#"{"benchmark": "latency", "ranks": [1, 1]}"#, "work[0].ranks: rank 1 is in two pairs"),
        (r#"{"benchmark": "barrier", "iterations": 0}"#, "work[0].iterations: it is 0"),
        (r#"{"benchmark": "bandwidth", "window": 0}"#, "work[0].window: it is 0"),
        (
            r#"{"benchmark": "barrier", "iterations": 4000000000, "warmup": 4000000000}"#,
            "work[0]: 8000000000 iterations, warm-up included",
        ),
        (
            r#"{"benchmark": "bandwidth", "window": 4294967295}"#,
            "work[0].window: 4294967295 messages",
        ),
        (
            r#"{"benchmark": "pairs", "kind": "latency", "iterations": 9000000,
                "rounds": [[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]],
                           [[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]]}"#,
            "work[0]: 108000000 rows",
        ),
        (r#"{"benchmark": "pairs", "kind": "latency"}"#, "work[0]: 'rounds' is missing"),
        (r#"{"benchmark": "pairs", "rounds": []}"#, "work[0]: 'kind' is missing"),
        (
            r#"{"benchmark": "pairs", "kind": "latency", "rounds": [[[0, 1]], [[1, 2], [2, 3]]]}"#,
            "work[0].rounds[1]: rank 2 is in two pairs",
        ),
        (
            r#"{"benchmark": "alltoall", "algorithm": "ring"}"#,
            "work[0].algorithm: Ring is no algorithm of alltoall",
        ),
        (r#"{"benchmark": "messages"}"#, "work[0]: 'messages' is missing"),
        (
            r#"{"benchmark": "messages", "messages": [{"src": 2, "dst": 2, "size_bytes": 1}]}"#,
            "work[0].messages[0]: rank 2 sends to itself",
        ),
        (
            r#"{"benchmark": "messages", "messages": [{"src": 0, "dst": 4, "size_bytes": 1}]}"#,
            "work[0].messages[0]: there is no rank 4",
        ),
        (
            r#"{"benchmark": "messages", "iterations": 2, "messages": []}"#,
            "work[0]: messages are sent once",
        ),
    ];
    for (text, what) in cases {
        let refused = refusal(text, 4);
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
    let alone = refusal(r#"{"benchmark": "message_rate"}"#, 1);
    assert!(alone.starts_with("work[0]: one rank has nobody to talk to"), "{alone}");
    assert!(refusal(r#"{"benchmark": "barrier"}"#, 0).starts_with("work[0]: there is no rank"));
}
