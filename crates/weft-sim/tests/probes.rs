//! Probes and counters: what they show, to the byte, and that they are bounded.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;
const MTU: u64 = 4096;

fn probed(case: &Value, probes: Value) -> Outcome {
    let outcome = run(&with(case.clone(), "probes", probes));
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    outcome
}

/// Two nodes on one switch, no headers, one message.
fn one_message(size_bytes: u64, start_ps: u64) -> Value {
    let row = json!({"src": 0, "dst": 1, "size_bytes": size_bytes, "start_ps": start_ps});
    let work = json!([{"benchmark": "messages", "messages": [row]}]);
    let case = scenario(tree(2, 2, 1, RATE, DELAY), work);
    let case = with(case, "packets", json!({"headers": "none", "mtu_bytes": MTU}));
    with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 20}))
}

fn bins<'a>(outcome: &'a Outcome, port: &str) -> &'a [u64] {
    let load = &outcome.load;
    let at = load.port_name.iter().position(|name| name == port).expect("a reported port");
    let n_bins = load.n_bins as usize;
    &load.xmit_bytes[at * n_bins..(at + 1) * n_bins]
}

#[test]
fn a_bin_holds_the_bytes_that_pass_in_it() {
    let (n, start_ps, bin_ps) = (1000, 3_333_000, 1_000_000);
    let case = one_message(n * MTU, start_ps);
    let outcome = probed(&case, json!({"load_bin_ns": bin_ps / 1000, "load_ports": 100}));
    assert_eq!(outcome.load.bin_ps, bin_ps);
    for (port, begin_ps) in [("n001/hca0[1]", start_ps), ("leaf-01[2]", start_ps + DELAY + ROUTE)] {
        // Packets follow each other without a gap at 10 ps a bit.
        let end_ps = begin_ps + ser(n * MTU, RATE);
        let by = |time_ps: u64| (time_ps.clamp(begin_ps, end_ps) - begin_ps) / 80;
        for (bin, bytes) in bins(&outcome, port).iter().enumerate() {
            let from_ps = bin as u64 * bin_ps;
            assert_eq!(*bytes, by(from_ps + bin_ps) - by(from_ps), "{port} bin {bin}");
        }
        assert_eq!(bins(&outcome, port).iter().sum::<u64>(), n * MTU);
    }
}

#[test]
fn bins_that_run_out_become_twice_as_wide_and_hold_the_same_bytes() {
    let case = one_message(1000 * MTU, 0);
    let fine = probed(&case, json!({"load_bin_ns": 20, "load_ports": 100}));
    // 328 us are more than 4096 bins of 20 ns; 4096 of 160 are enough.
    assert_eq!(fine.load.bin_ps, 160_000);
    assert!(fine.load.n_bins <= 4096);
    let coarse = probed(&case, json!({"load_bin_ns": 160, "load_ports": 100}));
    assert_eq!(fine.load, coarse.load);
}

#[test]
fn a_flap_is_a_hole_in_the_load() {
    // Node 1 sends without end while its cable is down for 2 of every 10 us.
    let case = one_message(200 * MTU, 0);
    let flap = json!([{"link": "n001/hca0[1]", "down": true, "from_ns": 8000, "until_ns": 10_000,
                       "every_ns": 10_000}]);
    let probes = json!({"load_bin_ns": 1000, "load_ports": 100});
    let case = with(case, "transport", json!({"timeout_exponent": 4}));
    let outcome = run(&with(with(case, "faults", flap), "probes", probes));
    let (full, packet) = (RATE / 8 / 1_000_000, MTU);
    let bins = bins(&outcome, "n001/hca0[1]");
    for (bin, bytes) in bins.iter().enumerate().take(40) {
        match bin % 10 {
            // The packet that is on the wire when it goes down has been sent all the same.
            8 => assert!(*bytes <= packet, "bin {bin}: {bytes}"),
            9 => assert_eq!(*bytes, 0, "bin {bin}"),
            _ => assert!(*bytes <= full, "bin {bin}: {bytes}"),
        }
    }
    for bin in (0..8).chain(10..18) {
        assert!(bins[bin] >= full - packet, "bin {bin}: {}", bins[bin]);
    }
    let downs = outcome.ports.port_name.iter().position(|name| name == "n001/hca0[1]").unwrap();
    assert!(outcome.ports.link_downed_counter[downs] >= 4);
}

#[test]
fn the_busiest_ports_have_rows_and_the_rest_are_counted() {
    let case = scenario(tree(8, 4, 2, RATE, DELAY), messages([(0, 1, 500_000), (2, 3, 1000)]));
    let all = probed(&case, json!({}));
    let n_cabled = 2 * (8 + 2 * 2);
    assert_eq!((all.ports.port_name.len(), all.ports_left_out), (n_cabled, 0));
    let few = probed(&case, json!({"top_ports": 2, "load_bin_ns": 100, "load_ports": 1}));
    assert_eq!(few.ports.port_name, ["n001/hca0[1]", "leaf-01[2]"]);
    assert_eq!(few.ports_left_out, n_cabled as u64 - 2);
    assert_eq!((few.load.port_name.len(), few.load.left_out), (1, n_cabled as u64 - 1));
    let none = probed(&case, json!({"top_ports": 0}));
    assert_eq!((none.ports.port_name.len(), none.ports_left_out), (0, n_cabled as u64));
    assert_eq!((none.load.bin_ps, none.load.port_name.len()), (0, 0));
}

#[test]
fn counters_are_in_the_units_of_infiniband() {
    let size = 100_000;
    let case = scenario(tree(2, 2, 1, RATE, DELAY), messages([(0, 1, size)]));
    let outcome = run(&case);
    let ports = &outcome.ports;
    let at = |name: &str| ports.port_name.iter().position(|port| port == name).unwrap();
    let (src, leaf) = (at("n001/hca0[1]"), at("leaf-01[1]"));
    let packets = size.div_ceil(4096);
    // Words of four bytes, the VCRC of each packet left out.
    let words = (framed(size, 4096) - 2 * packets).div_ceil(4);
    assert_eq!(ports.xmit_packets[src], packets);
    assert_eq!((ports.port_xmit_data[src], ports.port_rcv_data[leaf]), (words, words));
    assert_eq!((ports.port_xmit_pkts[src], ports.port_rcv_pkts[leaf]), (packets, packets));
    let dst = at("n002/hca0[1]");
    assert_eq!((ports.port_rcv_data[dst], ports.port_rcv_pkts[dst]), (words, packets));
    // Without headers nothing is left out.
    let bare = run(&with(case, "packets", json!({"headers": "none"})));
    assert_eq!(bare.ports.port_xmit_data[src], size / 4);
}

#[test]
fn ticks_of_waiting_are_words_of_the_link() {
    // Two senders share a receiver behind buffers of one packet: one of them waits for credit.
    let case = scenario(tree(4, 4, 1, RATE, DELAY), messages([(0, 2, 400_000), (1, 2, 400_000)]));
    let case = with(case, "switch", json!({"buffer_bytes": 4224, "delay_ps": ROUTE}));
    let ports = run(&case).ports;
    let tick_ps = ser(4, RATE);
    assert!(ports.port_xmit_wait.iter().sum::<u64>() > 0);
    for (ticks, wait_ps) in ports.port_xmit_wait.iter().zip(&ports.xmit_wait_ps) {
        assert_eq!(*ticks, wait_ps / tick_ps);
    }
}

#[test]
fn the_first_messages_are_written_down_with_their_ends() {
    let case = scenario(
        tree(8, 4, 2, RATE, DELAY),
        messages([(0, 5, 30_000), (1, 4, 20_000), (2, 0, 10_000)]),
    );
    let outcome = probed(&case, json!({"flows": 2}));
    let (flows, rows) = (&outcome.flows, &outcome.rows);
    assert_eq!((&flows.src[..], &flows.dst[..]), (&[0, 1][..], &[5, 4][..]));
    assert_eq!(flows.size_bytes, [30_000, 20_000]);
    assert_eq!((&flows.tenant[..], flows.left_out), (&[0, 0][..], 1));
    for row in 0..2 {
        let duration_ps = flows.end_ps[row] - flows.start_ps[row];
        assert_eq!((duration_ps, flows.done[row]), (rows.duration_ps[row], true));
    }
    let none = probed(&case, json!({}));
    assert_eq!((none.flows.src.len(), none.flows.left_out), (0, 0));
    assert_eq!(none.trace_hash, outcome.trace_hash);
    // A run that ends early says who was not done.
    let case = with(with(case, "probes", json!({"flows": 9})), "limits", json!({"max_events": 30}));
    let stopped = run(&case);
    assert_eq!(stopped.flows.done, [false; 3]);
}

#[test]
fn probes_that_cannot_be_are_refused_with_their_place() {
    let case = one_message(8, 0);
    for (probes, what) in [
        (json!({"load_bin_ns": 0}), "probes.load_bin_ns: the bin is empty"),
        (json!({"load_bin_ns": -3}), "probes.load_bin_ns: -3 is no such time"),
        (json!({"load_bin_ns": 0.0001}), "probes.load_bin_ns: 0.0001 is no such time"),
        (json!({"flows": 16_777_217}), "probes.flows: 16777217 messages"),
    ] {
        let refused = refusal(&with(case.clone(), "probes", probes));
        assert!(refused.starts_with(what), "{refused}");
        assert!(refused.contains("\n  expected: "), "{refused}");
    }
}
