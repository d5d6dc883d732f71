//! Reliable connections: what acknowledgements cost and complete, what is repeated when packets
//! are lost, and when a connection breaks.

use crate::common::*;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use serde_json::{Value, json};
use weft_sim::Status;

const RATE: u64 = 100 * GBPS;
const DELAY: u64 = 500_000;
const ROUTE: u64 = 200_000;
const MTU: u64 = 4096;
/// LRH + BTH + AETH + ICRC + VCRC.
const ACK: u64 = HEADER + 4;

/// Two hosts at one switch, acknowledgements on.
fn pair(work: Value, transport: Value) -> Value {
    let case = scenario(tree(2, 2, 1, RATE, DELAY), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 65536}));
    with(case, "transport", transport)
}

/// Zero-load time of so many bytes in packets of a message, from the first bit to the last.
fn network(wire_bytes: u64) -> u64 {
    2 * DELAY + ROUTE + ser(wire_bytes, RATE)
}

fn xmit_bytes(case: &Value, port: &str) -> (u64, u64) {
    let outcome = run(case);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    let names = outcome.ports.port_name.iter();
    let at = names.zip(0..).find(|(name, _)| name.as_str() == port).expect("a port").1;
    (outcome.ports.xmit_bytes[at], outcome.ports.xmit_packets[at])
}

#[test]
fn a_message_is_acknowledged_at_its_end_and_every_so_many_packets() {
    for (n_packets, ack_every, n_acks) in [(1, 4, 1), (4, 4, 1), (5, 4, 2), (16, 4, 4), (17, 1, 17)]
    {
        let list = messages([(0, 1, n_packets * MTU - 7)]);
        let case = pair(list, json!({"ack_every": ack_every}));
        let sent = xmit_bytes(&case, "n002/hca0[1]");
        assert_eq!(sent, (n_acks * ACK, n_acks), "{n_packets} packets, every {ack_every}");
    }
}

#[test]
fn every_256th_packet_is_acknowledged_where_no_one_says_otherwise() {
    let case = pair(messages([(0, 1, 1024 * MTU)]), json!({}));
    assert_eq!(xmit_bytes(&case, "n002/hca0[1]").1, 4);
    let case = pair(messages([(0, 1, 1024 * MTU)]), json!({"acknowledge": false}));
    assert_eq!(xmit_bytes(&case, "n002/hca0[1]").1, 0);
}

#[test]
fn a_ping_pong_waits_behind_its_own_acknowledgement() {
    let work = json!([{"benchmark": "latency", "size_bytes": 8, "iterations": 3}]);
    // Free hosts answer at once, but the acknowledgement of what they answer goes first.
    let one_way = network(framed(8, MTU));
    let ack = ser(ACK, RATE);
    // A second iteration's first message also waits for the acknowledgement of the last answer.
    let expected = [2 * one_way + ack, 2 * (one_way + ack), 2 * (one_way + ack)];
    assert_eq!(durations(&pair(work.clone(), json!({}))), expected);
    // Hosts that take longer than an acknowledgement do not notice.
    let host = json!({"regimes": [{"send_overhead_ns": 300}]});
    let slow = with(pair(work, json!({})), "host", host);
    assert_eq!(durations(&slow), [2 * (one_way + 300_000); 3]);
}

#[test]
fn an_agreed_send_is_complete_when_its_acknowledgement_is_back() {
    let size = 100_000;
    let work = json!([{"benchmark": "bandwidth", "size_bytes": size, "window": 1}]);
    let host = json!({"regimes": [{"max_bytes": 100}, {"protocol": "rendezvous"}]});
    let (request, data) = (network(framed(0, MTU)), network(framed(size, MTU)));
    let ack = ser(ACK, RATE);
    for acknowledge in [true, false] {
        let case = pair(work.clone(), json!({"acknowledge": acknowledge}));
        let took = durations(&with(case, "host", host.clone()))[0];
        // Request, go-ahead (each behind the acknowledgement of the one before), data, and the
        // receiver's answer of 4 bytes behind the acknowledgement of the data.
        let bare = 2 * request + data + network(framed(4, MTU));
        assert_eq!(took, bare + if acknowledge { 3 * ack } else { 0 }, "{acknowledge}");
    }
    // A sender that waits only for its send: the acknowledgement is what it waits for.
    let list = messages([(0, 1, size), (0, 1, 8)]);
    let host = json!({"regimes": [{"max_bytes": 100}, {"protocol": "rendezvous"}]});
    let outcome = run(&with(pair(list, json!({})), "host", host));
    assert_eq!(outcome.end_ps, 2 * request + 2 * ack + data + network(ACK));
}

// ---- losses -------------------------------------------------------------------------------

/// Time between two full packets of a message on the wire.
fn step() -> u64 {
    ser(MTU + HEADER, RATE)
}

/// Everything that `port` begins to send in these nanoseconds is lost.
fn lost(port: &str, from_ps: u64, until_ps: u64) -> Value {
    json!({"link": port, "lost": 1, "from_ns": from_ps as f64 / 1000.0,
           "until_ns": until_ps as f64 / 1000.0})
}

/// When packet `k` of a message begins: the first is longer by its header.
fn begins(k: u64) -> u64 {
    if k == 0 { 0 } else { ser(k * (MTU + HEADER) + RETH, RATE) }
}

/// A message of `n` packets whose `k`-th is lost on the sender's cable.
fn one_lost(n: u64, k: u64, transport: Value) -> Value {
    let from_ps = begins(k).div_ceil(1000) * 1000 - 1000;
    let from_ps = if k == 0 { 0 } else { from_ps };
    let case = pair(messages([(0, 1, n * MTU)]), transport);
    with(case, "faults", json!([lost("n001/hca0[1]", from_ps, from_ps + 2000)]))
}

#[test]
fn a_lost_packet_costs_a_round_trip_of_repeats() {
    let (n, k) = (200, 20);
    let case = one_lost(n, k, json!({}));
    // The next packet notifies the receiver; its answer makes the sender go back to the lost one,
    // after the packet that is on the wire then.
    let seen = begins(k + 2) + 2 * DELAY + ROUTE;
    let notified_ps = seen + network(ACK);
    let sent = (0..n).find(|at| begins(*at) >= notified_ps).expect("before the end");
    let n_sent = n + sent - k;
    let (bytes, packets) = xmit_bytes(&case, "n001/hca0[1]");
    assert_eq!(packets, n_sent);
    assert_eq!(bytes, n * MTU + RETH + n_sent * HEADER + (sent - k) * MTU);
    let expected = begins(sent) + (n - k) * step() + 2 * DELAY + ROUTE;
    let took = durations(&case)[0];
    assert!(took.abs_diff(expected) <= 1000, "{took} {expected}");
}

#[test]
fn a_lost_tail_waits_for_the_timeout() {
    let (n, k) = (20, 19);
    for exponent in [3, 10] {
        let case = one_lost(n, k, json!({"timeout_exponent": exponent}));
        let timeout = 4_096_000 << exponent;
        // From the tail of the last packet on, which alone asks to be acknowledged: all is sent
        // again, since nothing was.
        let expected = begins(n) + timeout + begins(n) + 2 * DELAY + ROUTE;
        assert_eq!(durations(&case)[0], expected);
        assert_eq!(xmit_bytes(&case, "n001/hca0[1]").1, n + n);
    }
}

#[test]
fn what_was_acknowledged_before_the_timeout_is_not_repeated() {
    let (n, k, every) = (20, 19, 8);
    let case = one_lost(n, k, json!({"timeout_exponent": 10, "ack_every": every}));
    // The 16th packet's acknowledgement came back, and the clock began anew with it.
    let answered = begins(2 * every) + 2 * DELAY + ROUTE + network(ACK);
    let repeats = n - 2 * every;
    let expected = answered + (4_096_000 << 10) + repeats * step() + 2 * DELAY + ROUTE;
    let took = durations(&case)[0];
    assert!(took.abs_diff(expected) <= repeats, "{took} {expected}");
    assert_eq!(xmit_bytes(&case, "n001/hca0[1]").1, n + repeats);
}

#[test]
fn a_lost_acknowledgement_makes_the_sender_repeat_what_has_come() {
    // Another message long after gives the timeout something to be over before.
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 1, "size_bytes": 3 * MTU},
        {"src": 0, "dst": 1, "size_bytes": 8, "start_ps": 5_000_000_000u64}]}]);
    let came = network(3 * (MTU + HEADER) + RETH);
    let port = "n002/hca0[1]";
    let whole = came / 1000 * 1000;
    let case = pair(work, json!({"timeout_exponent": 8}));
    let case = with(case, "faults", json!([lost(port, whole - 1000, whole + 2000)]));
    // The receiver has it all at once; three packets and one acknowledgement go twice.
    assert_eq!(durations(&case), [came, network(framed(8, MTU))]);
    assert_eq!(xmit_bytes(&case, "n001/hca0[1]").1, 2 * 3 + 1);
    assert_eq!(xmit_bytes(&case, port).1, 2 + 1);
}

#[test]
fn a_connection_breaks_after_so_many_repeats_in_vain() {
    for retries in [0, 2, 7] {
        let transport = json!({"timeout_exponent": 4, "retries": retries});
        let case = pair(messages([(0, 1, 100)]), transport);
        let case = with(case, "faults", json!([{"link": "n001/hca0[1]", "lost": 1}]));
        let outcome = run(&case);
        assert_eq!(outcome.status, Status::Failed);
        let expected = format!(
            "failed: the connection from rank 0 on n001 to rank 1 on n002 is broken: packets were \
             repeated {retries} times in a row and not acknowledged"
        );
        assert_eq!(outcome.message, expected);
        let left = ser(framed(100, MTU), RATE);
        // Every repeat waits anew from its beginning.
        assert_eq!(outcome.end_ps, left + (retries + 1) * (4_096_000 << 4));
        assert_eq!(outcome.ports.xmit_packets.iter().sum::<u64>(), retries + 1);
    }
}

#[test]
fn an_answer_in_between_gives_all_retries_back() {
    // One retry, and two messages that each lose their only packet once.
    let (later_ps, exponent) = (5_000_000_000u64, 4);
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 1, "size_bytes": 100},
        {"src": 0, "dst": 1, "size_bytes": 100, "start_ps": later_ps}]}]);
    let case = pair(work, json!({"timeout_exponent": exponent, "retries": 1}));
    let port = "n001/hca0[1]";
    let faults = json!([lost(port, 0, 1000), lost(port, later_ps - 1000, later_ps + 1000)]);
    let bytes = framed(100, MTU);
    let expected = ser(bytes, RATE) + (4_096_000 << exponent) + network(bytes);
    assert_eq!(durations(&with(case, "faults", faults)), [expected; 2]);
}

#[test]
fn where_packets_can_be_lost_and_none_is_all_is_as_without() {
    let work = json!([{"benchmark": "alltoall", "size_bytes": 30_000, "algorithm": "linear"},
                      {"benchmark": "allreduce", "size_bytes": 9_000, "iterations": 3}]);
    let case = scenario(tree(12, 4, 2, RATE, 20_000), work);
    let case = with(case, "transport", json!({"ack_every": 3}));
    let host = json!({"regimes": [{"max_bytes": 8000}, {"protocol": "rendezvous"}]});
    let case = with(case, "host", host);
    let later = json!([{"link": "n001/hca0[1]", "lost": 1, "from_ns": 1e12}]);
    let numbered = with(case.clone(), "faults", later);
    let (plain, numbered) = (run(&case), run(&numbered));
    assert_eq!(plain.rows, numbered.rows);
    assert_eq!(plain.trace_hash, numbered.trace_hash);
}

#[test]
fn what_cannot_be_is_refused_where_it_stands() {
    let cases = [
        (json!({"ack_every": 0}), "transport.ack_every: it is 0\n  expected: 1 to 32768"),
        (
            json!({"timeout_exponent": 0}),
            "transport.timeout_exponent: it is 0\n  expected: 1 to 31",
        ),
        (json!({"timeout_exponent": 32}), "transport.timeout_exponent: it is 32\n"),
        (json!({"retries": 8}), "transport.retries: it is 8\n  expected: 0 to 7"),
        (json!({"out_of_order_ns": -1}), "transport.out_of_order_ns: -1 is no such time\n"),
    ];
    for (transport, expected) in cases {
        let refused = refusal(&pair(messages([(0, 1, 8)]), transport));
        assert!(refused.starts_with(expected), "{refused}");
    }
    let case = pair(messages([(0, 1, 8)]), json!({"acknowledge": false}));
    let case = with(case, "faults", json!([{"link": "n001/hca0[1]", "lost": 0.5}]));
    let expected = "transport.acknowledge: packets may be lost, and no host repeats them\n  \
                    expected: true where faults lose packets";
    assert_eq!(refusal(&case), expected);
}

/// Everything that lanes, switches and acknowledgements can do to one another.
fn crowded_case() -> impl Strategy<Value = Value> {
    let models = prop::sample::select(vec!["voq", "input_fifo", "shared_buffer"]);
    let small = (1u64..9, 1u64..4, 4160u64..20_000, any::<u64>());
    (models, small, prop::option::of(prop::sample::select(vec![1.0, 1.5, 2.0]))).prop_map(
        |(model, (ack_every, spines, buffer_bytes, seed), speedup)| {
            let work = json!([
                {"benchmark": "alltoall", "size_bytes": 9_000, "algorithm": "linear"},
                {"benchmark": "allreduce", "size_bytes": 5_000, "iterations": 2}]);
            let case = scenario(tree(9, 3, spines, RATE, 10_000), work);
            let share = (model == "shared_buffer").then_some(0.7);
            let switch = json!({"model": model, "delay_ps": 100_000, "speedup": speedup,
                                "output_share": share, "buffer_bytes": 2 * buffer_bytes});
            let case = with(case, "switch", switch);
            let case = with(case, "transport", json!({"ack_every": ack_every}));
            let regimes = json!([{"max_bytes": 2000}, {"protocol": "rendezvous"}]);
            let host = json!({"regimes": regimes, "start_jitter_ns": 3000, "message_gap_ns": 70});
            let case = with(case, "placement", json!({"tasks_per_node": 2}));
            with(with(case, "host", host), "seed", json!(seed))
        },
    )
}

fn lossy_case() -> impl Strategy<Value = Value> {
    let flows = prop::collection::vec((0u64..8, 0u64..7, 0u64..40_000), 1..12);
    let small = (1u64..9, 1u64..4, 0u64..2, any::<u64>());
    (flows, small, 0.0f64..0.2, prop::sample::select(vec!["voq", "input_fifo"])).prop_map(
        |(flows, (ack_every, spines, agreed, seed), probability, model)| {
            let flows = flows.into_iter().map(|(s, d, size)| (s, d + u64::from(d >= s), size));
            let case = scenario(tree(8, 3, spines, RATE, 10_000), messages(flows));
            let switch = json!({"model": model, "delay_ps": 100_000, "buffer_bytes": 9000});
            let case = with(case, "switch", switch);
            let transport = json!({"ack_every": ack_every, "timeout_exponent": 6, "retries": 7});
            let case = with(case, "transport", transport);
            let names = ["n001/hca0[1]", "n002/hca0[1]", "leaf-01[4]"];
            let faults = names.map(|link| json!({"link": link, "lost": probability}));
            let protocol = ["eager", "rendezvous"][agreed as usize];
            let regimes = json!([{"max_bytes": 2000}, {"protocol": protocol}]);
            let case = with(case, "host", json!({"regimes": regimes}));
            with(with(case, "faults", json!(faults)), "seed", json!(seed))
        },
    )
}

fn few_cases() -> ProptestConfig {
    let rng_seed = RngSeed::Fixed(7);
    ProptestConfig { cases: 60, failure_persistence: None, rng_seed, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(few_cases())]

    #[test]
    fn with_acknowledgements_about_the_oracle_agrees(case in crowded_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }

    /// That every byte comes once, and credits and packets are whole, is asserted in every run.
    #[test]
    fn whatever_is_lost_comes_in_the_end_and_the_oracle_agrees(case in lossy_case()) {
        let elided = run(&case);
        prop_assert!(
            matches!(elided.status, Status::Complete | Status::Failed), "{}", &elided.message
        );
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
        if elided.status == Status::Complete {
            let rate = case["fabric"]["host_bits_per_s"].as_u64().unwrap();
            let rows = case["work"][0]["messages"].as_array().unwrap();
            for (row, duration) in rows.iter().zip(&elided.rows.duration_ps) {
                prop_assert!(*duration > ser(row["size_bytes"].as_u64().unwrap(), rate));
            }
        }
    }
}
