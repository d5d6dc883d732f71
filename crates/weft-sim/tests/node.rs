//! The inside of nodes, against closed forms derived from its links.

use crate::common::insides::*;
use crate::common::*;
use serde_json::{Value, json};

const NONE: &str = include_str!("fixtures/processors_only.json");

#[test]
fn gpus_of_a_node_talk_over_nvlink() {
    for size in [0, 1, 4096, 10_000_000] {
        let node = graph(200 * GBPS, 2400 * GBPS, 1);
        let case = two_nodes(node, messages([(0, 1, size)]));
        let expected = ser(framed(size, 4096), 2400 * GBPS) + 2 * NV;
        assert_eq!(durations(&case), [expected], "{size} B");
        assert_eq!(run(&case).hops, 2 * size.div_ceil(4096).max(1));
    }
}

#[test]
fn without_nvlink_they_talk_over_pcie() {
    let case = two_nodes(graph(200 * GBPS, 0, 0), messages([(0, 1, 1_000_000)]));
    assert_eq!(durations(&case), [ser(framed(1_000_000, 4096), 200 * GBPS) + 2 * PCIE]);
}

#[test]
fn a_million_packets_over_nvlink_do_not_drift() {
    let (rate, size) = (450 * 8 * GBPS, 256_000_000);
    let case = two_nodes(graph(200 * GBPS, rate, 1), messages([(0, 1, size)]));
    let case = with(case, "packets", json!({"mtu_bytes": 256}));
    assert_eq!(durations(&case), [ser(framed(size, 256), rate) + 2 * NV]);
}

#[test]
fn equally_good_nvswitches_share_a_message() {
    let size = 6 * 40 * 4096;
    let case = two_nodes(graph(200 * GBPS, 400 * GBPS, 6), messages([(0, 1, size)]));
    assert_eq!(durations(&case), [ser(framed(size / 6, 4096), 400 * GBPS) + 2 * NV]);
    // As many links as there are packets: five carry one each, of the sixth nothing is needed.
    let case = two_nodes(graph(200 * GBPS, 400 * GBPS, 6), messages([(0, 1, 5 * 4096)]));
    assert_eq!(durations(&case), [ser(framed(4096, 4096), 400 * GBPS) + 2 * NV]);
    // A packet is not cut.
    let case = two_nodes(graph(200 * GBPS, 400 * GBPS, 6), messages([(0, 1, 4096)]));
    assert_eq!(durations(&case), [ser(framed(4096, 4096), 400 * GBPS) + 2 * NV]);
}

#[test]
fn a_packet_to_another_node_crosses_pcie_twice() {
    for (src, dst) in [(0, 2), (0, 3), (1, 2)] {
        let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), messages([(src, dst, 1000)]));
        let expected = 4 * PCIE + OUTSIDE + ser(framed(1000, 4096), 200 * GBPS);
        assert_eq!(durations(&case), [expected], "cut through from GPU to GPU");
    }
    // PCIe slower than the network: stored in the sender's HCA, cut through in the other.
    let case = two_nodes(graph(160 * GBPS, 2400 * GBPS, 1), messages([(0, 2, 1000)]));
    let packet = ser(framed(1000, 4096), 160 * GBPS);
    assert_eq!(durations(&case), [4 * PCIE + OUTSIDE + 2 * packet]);
    // Faster: stored in the other HCA.
    let case = two_nodes(graph(400 * GBPS, 2400 * GBPS, 1), messages([(0, 2, 1000)]));
    let cut = ser(framed(1000, 4096), 200 * GBPS) + ser(framed(1000, 4096), 400 * GBPS);
    assert_eq!(durations(&case), [4 * PCIE + OUTSIDE + cut]);
}

#[test]
fn the_rate_to_another_node_is_the_lesser_of_pcie_and_hca() {
    let size = 1000 * 4096;
    for (pcie, stores) in [(160, 1), (200, 0), (400, 1)] {
        let case = two_nodes(graph(pcie * GBPS, 2400 * GBPS, 1), messages([(0, 2, size)]));
        let case = with(case, "packets", json!({"headers": "none"}));
        let bound = pcie.min(200) * GBPS;
        let expected = 4 * PCIE + OUTSIDE + ser(size, bound) + stores * ser(4096, pcie * GBPS);
        assert_eq!(durations(&case), [expected], "{pcie} Gb/s");
    }
}

#[test]
fn gpus_that_share_a_link_share_its_rate() {
    let size = 1000 * 4096;
    let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), messages([(0, 2, size), (1, 3, size)]));
    let case = with(case, "packets", json!({"headers": "none"}));
    let (packet, alone) = (ser(4096, 200 * GBPS), ser(size, 200 * GBPS));
    let done = durations(&case);
    let last = 4 * PCIE + OUTSIDE + 2 * alone;
    assert_eq!(*done.iter().max().unwrap(), last, "the link to the HCA carries both");
    assert!(done.iter().all(|ps| last - ps <= packet), "half each: {done:?}");
}

#[test]
fn eight_rails_at_once_are_eight_times_one() {
    let size = 1_000_000;
    let alone = durations(&eight(messages([(0, 8, size)])));
    let all = durations(&eight(messages((0..8).map(|gpu| (gpu, 8 + gpu, size)))));
    assert_eq!(all, vec![alone[0]; 8]);
    // PCIe bounds each: sent at its rate, and the last packet, stored on the way, once more.
    let last = size % 4096 + HEADER;
    let path = 4 * PCIE + OUTSIDE + ser(framed(size, 4096), 192 * GBPS);
    assert!(alone[0] > path + ser(last, 192 * GBPS));
    assert!(alone[0] < path + ser(4096 + HEADER + RETH, 192 * GBPS) + 2);
}

#[test]
fn gpus_of_other_rails_are_reached_through_the_root_complex() {
    // GPU 0 leaves over hca0; the other node's GPU 7 is behind another PCIe switch.
    let done = durations(&eight(messages([(0, 15, 64)])));
    let (slow, fast) = (ser(framed(64, 4096), 192 * GBPS), ser(framed(64, 4096), 400 * GBPS));
    // gpu, pcie | hca: stored | cut through to root0: stored | root3, pcie3, gpu7
    let delays = 2 * PCIE + OUTSIDE + 2 * PCIE + 100_000 + 2 * PCIE;
    assert_eq!(done, [delays + 3 * slow + fast - fast]);
}

fn bounced(chunk: u64, chunks: u64, size: u64) -> Value {
    let node = with(graph(200 * GBPS, 2400 * GBPS, 1), "gpudirect", json!(false));
    let node = with(node, "bounce_chunk_bytes", json!(chunk));
    two_nodes(with(node, "bounce_chunks", json!(chunks)), messages([(0, 2, size)]))
}

/// Copy to memory, send from there, copy from memory: every rate is the same.
fn three_legs(size: u64) -> u64 {
    let copy = 2 * PCIE + MEMORY;
    let send = MEMORY + 2 * PCIE + OUTSIDE + 2 * PCIE + MEMORY;
    2 * copy + send + 3 * ser(framed(size, 4096), 200 * GBPS)
}

#[test]
fn without_gpudirect_a_message_is_copied_and_sent_piece_by_piece() {
    let chunk = 65_536;
    assert_eq!(durations(&bounced(chunk, 8, 1000)), [three_legs(1000)]);
    assert_eq!(durations(&bounced(chunk, 8, chunk)), [three_legs(chunk)], "stored: three times");
    // In a pipeline every piece after the first takes what one leg takes.
    let piece = ser(framed(chunk, 4096), 200 * GBPS);
    assert_eq!(durations(&bounced(chunk, 8, 40 * chunk)), [three_legs(chunk) + 39 * piece]);
    // With one piece at a time nothing overlaps.
    assert_eq!(durations(&bounced(chunk, 1, 5 * chunk)), [5 * three_legs(chunk)]);
    let direct = with(graph(200 * GBPS, 2400 * GBPS, 1), "gpudirect", json!(true));
    let direct = durations(&two_nodes(direct, messages([(0, 2, chunk)])));
    assert_eq!(direct, [4 * PCIE + OUTSIDE + piece]);
}

#[test]
fn inside_a_node_nothing_is_copied_through_memory() {
    let node = with(graph(200 * GBPS, 2400 * GBPS, 1), "gpudirect", json!(false));
    let case = two_nodes(node, messages([(0, 1, 4096)]));
    assert_eq!(durations(&case), [ser(framed(4096, 4096), 2400 * GBPS) + 2 * NV]);
}

#[test]
fn messages_that_are_copied_stay_in_order() {
    let mut case = bounced(4096, 2, 1);
    case["work"] = messages([(0, 2, 1_000_000), (0, 2, 1), (0, 2, 50_000)]);
    let done = durations(&case);
    assert!(done[0] < done[1] && done[1] < done[2], "{done:?}");
}

#[test]
fn answers_come_back_from_endpoint_to_endpoint() {
    // A rank sends again when its message is acknowledged (LRH, BTH, ICRC, VCRC and AETH 4).
    let work = json!([{"benchmark": "messages", "messages": [
        {"src": 0, "dst": 3, "size_bytes": 5000}, {"src": 0, "dst": 3, "size_bytes": 5000}]}]);
    let case = with(
        two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), work),
        "host",
        json!({
        "regimes": [{"protocol": "rendezvous"}]}),
    );
    let path = 4 * PCIE + OUTSIDE;
    let data = path + ser(framed(5000, 4096), 200 * GBPS);
    let control = path + ser(HEADER + RETH, 200 * GBPS);
    let one = durations(&case)[0];
    assert_eq!(one, 2 * control + data);
    let answered = run(&with(case.clone(), "transport", json!({"acknowledge": true})));
    assert_eq!(answered.message, "");
    // Each of six messages is answered; the answer crosses six links as the message did.
    assert_eq!(answered.hops, run(&case).hops + 6 * 6);
}

#[test]
fn what_the_network_loses_is_sent_again_from_the_gpu() {
    let size = 200 * 4096;
    let lost = json!({"link": "n001/hca0[1]", "lost": 0.02});
    let down = json!({"link": "n001/hca0[1]", "down": true, "from_ns": 5000, "until_ns": 9000});
    for (copied, fault) in [(false, &lost), (true, &lost), (false, &down), (true, &down)] {
        let mut case = eight(messages([(0, 8, size), (1, 9, size), (8, 0, size)]));
        case["node"]["gpudirect"] = json!(!copied);
        let clean = run(&case);
        case["transport"] = json!({"timeout_exponent": 4});
        case["faults"] = json!([fault]);
        let lossy = run(&case);
        assert_eq!(lossy.message, "");
        assert!(lossy.rows.duration_ps[0] > clean.rows.duration_ps[0], "it cost time");
        // Copied messages share memory, others have rails of their own.
        assert!(copied || lossy.rows.duration_ps[1] == clean.rows.duration_ps[1]);
        let full = run(&with(case, "elide", json!(false)));
        assert_eq!(physics(&full), physics(&lossy));
    }
}

#[test]
fn processors_agree_through_their_own_memory() {
    let case = with(
        bounced(65_536, 8, 60_000),
        "host",
        json!({
        "regimes": [{"protocol": "rendezvous"}]}),
    );
    let send = 2 * MEMORY + 4 * PCIE + OUTSIDE;
    let control = send + ser(HEADER + RETH, 200 * GBPS);
    assert_eq!(durations(&case), [2 * control + three_legs(60_000)]);
}

#[test]
fn ranks_of_one_gpu_use_the_channel_inside_the_node() {
    let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), messages([(0, 2, 1_000_000)]));
    let case = with(case, "placement", json!({"tasks_per_node": 4}));
    let host = json!({"regimes": [{}], "intra_node": {"latency_ns": 300, "bits_per_s": 80 * GBPS}});
    assert_eq!(durations(&with(case, "host", host)), [ser(1_000_000, 80 * GBPS) + 300_000]);
}

#[test]
fn an_hca_begins_so_many_messages_a_second_whoever_they_are_from() {
    let gap = 100_000;
    let host = json!({"regimes": [{}], "message_gap_ns": 100});
    let flows = |from: [u64; 4], to: [u64; 4]| {
        messages((0..10).flat_map(|_| (0..4).map(|n| (n, n))).map(|(a, b)| (from[a], to[b], 8)))
    };
    let first = ser(framed(8, 4096), 200 * GBPS);
    let expected = |first: u64| (0..40).map(|k| first + k * gap).collect::<Vec<u64>>();
    let sorted = |mut done: Vec<u64>| {
        done.sort_unstable();
        done
    };
    // Four ranks of a node on its only HCA.
    let work = flows([0, 1, 2, 3], [4, 5, 6, 7]);
    let case = scenario(tree(2, 2, 1, 200 * GBPS, CABLE), work);
    let case = with(case, "switch", json!({"delay_ps": ROUTE}));
    let case = with(case, "placement", json!({"tasks_per_node": 4}));
    let done = durations(&with(case, "host", host.clone()));
    assert_eq!(sorted(done), expected(first + OUTSIDE));
    // Two GPUs that share an HCA.
    let work = flows([0, 1, 0, 1], [2, 3, 2, 3]);
    let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), work);
    let done = durations(&with(case, "host", host.clone()));
    assert_eq!(sorted(done), expected(first + OUTSIDE + 4 * PCIE));
    // Over NVLink no HCA begins anything.
    let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), flows([0; 4], [1; 4]));
    let wire = ser(framed(8, 4096) * 40, 2400 * GBPS);
    let done = durations(&with(case, "host", host));
    assert_eq!(*done.iter().max().unwrap(), wire + 2 * NV);
}

#[test]
fn a_slow_inner_link_is_a_fault_like_any() {
    let case = two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), messages([(0, 2, 1000), (1, 3, 1000)]));
    let slow = json!([{"link": "n001/gpu0[1]", "rate_factor": 0.25}]);
    let done = durations(&with(case.clone(), "faults", slow));
    // Stored in the PCIe switch, whose other links are faster.
    let packet = ser(framed(1000, 4096), 200 * GBPS);
    assert_eq!(done[0], 4 * PCIE + OUTSIDE + 5 * packet);
    assert_eq!(done[1], 4 * PCIE + OUTSIDE + packet);
    for (fault, what) in [
        (json!({"link": "n001/gpu0[1]", "down": true}), "down\n"),
        (json!({"link": "n001/gpu0[1]", "down": true, "from_ns": 5}), "down for a time\n"),
        (json!({"link": "n001/gpu0[1]", "lost": 0.5}), "loses packets\n"),
        (json!({"swapped": ["n001/gpu0[1]", "n001/gpu1[1]"]}), "plugged in elsewhere\n"),
    ] {
        let text = refusal(&with(case.clone(), "faults", json!([fault])));
        assert!(text.starts_with("faults: 'n001/"), "{text}");
        assert!(text.contains(&format!("' is inside a node and {what}")), "{text}");
    }
}

#[test]
fn a_short_inner_buffer_bounds_the_rate() {
    // One packet of 64 blocks fits: each waits for the credit of the one before, which is back a
    // delay after the tail has left the switch, a delay and a serialisation after it began.
    let mut node = graph(200 * GBPS, 2400 * GBPS, 1);
    let nvlink = node["links"].as_array().expect("links").len() - 2;
    node["links"][nvlink]["buffer_bytes"] = json!(4096);
    let case = two_nodes(node, messages([(0, 1, 100 * 4096)]));
    let case = with(case, "packets", json!({"headers": "none"}));
    let packet = ser(4096, 2400 * GBPS);
    let round = 2 * NV + packet;
    assert_eq!(durations(&case), [99 * round + 2 * NV + packet]);
}

#[test]
fn nodes_without_a_graph_are_their_hcas() {
    let case: Value = serde_json::from_str(NONE).expect("JSON");
    let done = durations(&with(case, "work", messages([(0, 2, 1000)])));
    assert_eq!(done, [OUTSIDE + ser(framed(1000, 4096), 200 * GBPS)]);
}

#[test]
fn the_first_rank_of_a_node_may_be_any_of_its_tasks() {
    let place = |first: u64| json!({"tasks_per_node": 8, "first_task": first});
    let turned = |first, work| durations(&with(eight(work), "placement", place(first)));
    // From its task 1 to task 0 of the other node, which other ranks are where task 0 comes first.
    let sizes = [64, 1_000_000];
    for size in sizes {
        let crossed = turned(0, messages([(1, 8, size), (7, 9, size)]));
        assert_eq!(turned(1, messages([(0, 15, size), (6, 8, size)])), crossed);
        assert_eq!(turned(7, messages([(2, 9, size), (0, 10, size)])), crossed);
    }
    // Two jobs on the same GPUs, one a place further: their ends between nodes share nothing.
    let ring = || messages([(7, 8, 1_000_000)]);
    let job = |name: &str, first| json!({"name": name, "placement": place(first), "work": ring()});
    let mut both = eight(ring());
    for key in ["placement", "work"] {
        both.as_object_mut().unwrap().remove(key);
    }
    let alone = turned(0, ring());
    let pairs = |second| with(both.clone(), "tenants", json!([job("a", 0), job("b", second)]));
    assert_eq!(durations(&pairs(2)), [alone[0], turned(2, ring())[0]]);
    assert!(durations(&pairs(0))[1] > alone[0] * 3 / 2, "on one adapter they share it");
    let wrong = refusal(&with(eight(ring()), "placement", place(8)));
    assert!(wrong.starts_with("placement.first_task: it is 8"), "{wrong}");
}
