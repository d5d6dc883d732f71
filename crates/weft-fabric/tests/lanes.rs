//! Virtual lanes by service level, as OpenSM dumps them.

use crate::common::damage;
use crate::common::samples::{self, subnet};
use weft_fabric::subnet::{Kind, Subnet};

const DUMP: &str = "opensm_dfsssp/opensm-sl2vl.dump";

fn read(text: &str) -> Subnet {
    Subnet::of(samples::read(text))
}

#[test]
fn every_path_through_every_port_has_its_lanes() {
    let subnet = subnet(&[DUMP]);
    assert_eq!((subnet.unread.len(), subnet.misfits.len()), (0, 0));
    // 16 adapters, and 6 switches of 8 egress ports with 9 ingress ports each, port 0 among them.
    assert_eq!(subnet.sl2vl.len(), 16 + 6 * 8 * 9);
    let lanes = [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7];
    assert!(subnet.sl2vl.values().all(|had| *had == lanes));
    let leaf0 = subnet.node_of_guid(0x506b_4b03_0000_0110).expect("leaf 0");
    assert!(
        subnet.sl2vl.contains_key(&(leaf0, 0, 1)) && !subnet.sl2vl.contains_key(&(leaf0, 1, 0))
    );
    let node = &subnet.nodes[leaf0 as usize];
    assert_eq!(
        (node.kind, node.lid, node.description.as_str()),
        (Kind::Switch, 3, "MF0;leaf000:MQM8700/U1")
    );
}

#[test]
fn lanes_and_tables_are_of_the_same_nodes() {
    let subnet = subnet(&["opensm/opensm-lfts.dump", DUMP]);
    assert_eq!((subnet.nodes.len(), subnet.misfits.len(), subnet.sl2vl.len()), (22, 0, 448));
}

#[test]
fn rows_and_headers_that_cannot_be_are_reported_with_their_lines() {
    let begin = "#in out : 0  1  2\nSwitch 0xa, base LID 3, \"s\"\n";
    let lanes = "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15";
    let good = format!("1 2 : {lanes}\n");
    for (line, n_unread, n_rows) in [
        (format!("1 2 : {lanes} 0\n"), 1, 1),
        (format!("1 2 3 : {lanes}\n"), 1, 1),
        (format!("256 2 : {lanes}\n"), 1, 1),
        ("1 2 : 0 1 2\n".to_owned(), 1, 1),
        (format!("1 2 : 16{}\n", &lanes[1..]), 1, 1),
        ("what is this\n".to_owned(), 2, 0),
        ("Switch 0xb, base LID 70000, \"s\"\n".to_owned(), 2, 0),
    ] {
        let subnet = read(&format!("{begin}{line}{good}"));
        assert_eq!((subnet.unread.len(), subnet.sl2vl.len()), (n_unread, n_rows), "{line}");
        assert_eq!(subnet.unread[0].place.line, 3, "{line}");
    }
}

#[test]
fn damage_and_truncated_dumps_give_what_is_whole() {
    let text = samples::text(DUMP);
    let clean = read(&text);
    for damage in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
        let subnet = read(&damage);
        assert_eq!((subnet.sl2vl, subnet.unread.len()), (clean.sl2vl.clone(), 0));
    }
    for beginning in damage::beginnings(&text) {
        let n_rows = beginning.lines().filter(|line| line.ends_with("6  7 ")).count();
        let n_read = read(beginning).sl2vl.len();
        assert!(n_read >= n_rows.saturating_sub(1) && n_read <= n_rows + 1, "{beginning}");
    }
}
