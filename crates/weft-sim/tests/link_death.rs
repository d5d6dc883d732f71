//! A cable dies during the run: who reacts, when, and what is lost until then.

use crate::common::*;
use serde_json::{Value, json};
use weft_sim::{Outcome, Status};

const DELAY: u64 = 50_000;
const ROUTE: u64 = 150_000;
const RATE: u64 = 100 * GBPS;
const MTU: u64 = 4096;

/// Two leaves under two spines, one packet from node 1 to node 6 at each of these times: up by port
/// 5 mod 2 = 1, the second, leaf-01[6].
fn one_packet_at(times_ps: &[u64], link_death: Value) -> Value {
    let row = |start_ps: &u64| json!({"src": 0, "dst": 5, "size_bytes": MTU, "start_ps": start_ps});
    let rows: Vec<Value> = times_ps.iter().map(row).collect();
    let work = json!([{"benchmark": "messages", "messages": rows}]);
    let case = scenario(tree(8, 4, 2, RATE, DELAY), work);
    let case = with(case, "packets", json!({"headers": "none", "mtu_bytes": MTU}));
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 1 << 20}));
    with(case, "routing", json!({"engine": "dmodk", "link_death": link_death}))
}

fn dies(case: &Value, until_ns: Option<u64>) -> Outcome {
    let mut fault = json!({"link": "spine-02[1]", "down": true, "from_ns": 10_000});
    if let Some(until_ns) = until_ns {
        fault["until_ns"] = json!(until_ns);
    }
    let case = with(case.clone(), "faults", json!([fault]));
    // What is lost is repeated, the tail of a message 66 us later.
    let case = with(case, "transport", json!({"timeout_exponent": 4}));
    let elided = run(&case);
    let oracle = run(&with(case, "elide", json!(false)));
    assert_eq!((&elided.rows, &elided.ports), (&oracle.rows, &oracle.ports));
    assert_eq!(elided.trace_hash, oracle.trace_hash);
    assert_eq!(elided.end_ps, oracle.end_ps);
    elided
}

/// What a packet takes when nothing is in its way: four links, three switches.
fn alone_ps() -> u64 {
    ser(MTU, RATE) + 4 * DELAY + 3 * ROUTE
}

#[test]
fn a_switch_that_reacts_itself_loses_only_what_is_on_the_wire() {
    let switch = json!({"reaction": "switch"});
    let case = one_packet_at(&[0, 20_000_000, 40_000_000], switch);
    let outcome = dies(&case, None);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert_eq!(outcome.rows.duration_ps, [alone_ps(); 3], "the other spine is as near");
    let sent = |port: &str| value_at(&outcome, &outcome.ports.xmit_packets, port);
    assert_eq!((sent("leaf-01[6]"), sent("leaf-01[5]")), (1, 2));
    assert_eq!(value_at(&outcome, &outcome.ports.link_downed_counter, "leaf-01[6]"), 1);
}

#[test]
fn the_subnet_manager_leads_round_a_dead_cable_a_delay_later() {
    let manager = json!({"reaction": "subnet_manager", "delay_ns": 5000});
    // Before it dies, and after the new tables: nothing is lost between.
    let outcome = dies(&one_packet_at(&[0, 16_000_000], manager.clone()), None);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert_eq!(outcome.rows.duration_ps, [alone_ps(); 2]);
    assert_eq!(value_at(&outcome, &outcome.ports.xmit_packets, "leaf-01[5]"), 1);
    // In between, what comes for the dead port is discarded.
    let outcome = dies(&one_packet_at(&[0, 12_000_000], manager), None);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert!(value_at(&outcome, &outcome.ports.port_xmit_discards, "leaf-01[6]") >= 1);
}

#[test]
fn a_cable_that_comes_back_is_used_again_when_the_tables_say_so() {
    let manager = json!({"reaction": "subnet_manager", "delay_ns": 5000});
    let times = [0, 16_000_000, 32_000_000, 36_000_000];
    let outcome = dies(&one_packet_at(&times, manager), Some(30_000));
    assert_eq!(outcome.rows.duration_ps, [alone_ps(); 4]);
    // The third comes when the cable is back and the tables are not.
    let sent = |port: &str| value_at(&outcome, &outcome.ports.xmit_packets, port);
    assert_eq!((sent("leaf-01[5]"), sent("leaf-01[6]")), (2, 2));
}

#[test]
fn what_waits_for_a_port_that_dies_goes_another_path_or_is_discarded() {
    // Three senders of a leaf for one up port: queues stand when it dies at 10 us.
    let flows = [(0, 5, 200_000), (1, 5, 200_000), (2, 7, 200_000)];
    let case = |link_death: Value| {
        let case = scenario(tree(8, 4, 2, RATE, DELAY), messages(flows));
        with(case, "routing", json!({"engine": "dmodk", "link_death": link_death}))
    };
    let by_switch = dies(&case(json!({"reaction": "switch"})), None);
    assert_eq!(value_at(&by_switch, &by_switch.ports.port_xmit_discards, "leaf-01[6]"), 0);
    assert!(value_at(&by_switch, &by_switch.ports.xmit_packets, "leaf-01[5]") > 0);
    let by_nobody = dies(&case(json!({"reaction": "subnet_manager"})), None);
    let discards = value_at(&by_nobody, &by_nobody.ports.port_xmit_discards, "leaf-01[6]");
    assert!(discards > 1, "{discards}");
    // Either way, what an HCA sent is delivered, lost on a wire, or discarded.
    for outcome in [by_switch, by_nobody] {
        let total = |column: &[u64]| column.iter().sum::<u64>();
        let ports = &outcome.ports;
        let lost = total(&ports.port_rcv_errors) + total(&ports.port_xmit_discards);
        let at_hcas = |column: &[u64]| -> u64 {
            let named = ports.port_name.iter().zip(column);
            named.filter(|(name, _)| name.contains("hca")).map(|(_, packets)| packets).sum()
        };
        assert_eq!(at_hcas(&ports.port_xmit_pkts), at_hcas(&ports.port_rcv_pkts) + lost);
    }
}

#[test]
fn a_delay_that_cannot_be_is_refused_with_its_place() {
    let case = one_packet_at(&[0], json!({"delay_ns": -1}));
    let refused = refusal(&case);
    assert!(refused.starts_with("routing.link_death.delay_ns: -1 is no such time"), "{refused}");
}
