//! Partition keys of ports, shares of lanes, service levels of paths: what tools of a real OpenSM's
//! subnet print.

use crate::common::samples::{read, subnet, text};
use weft_fabric::subnet::Subnet;

const FOLDER: &str = "opensm_tenants";

fn all() -> Subnet {
    let named = |name| format!("{FOLDER}/{name}");
    let names = ["opensm-subnet.lst", "vlarb.txt", "keys.txt", "paths.txt"].map(named);
    subnet(&names.each_ref().map(String::as_str))
}

#[test]
fn every_port_has_its_shares_and_every_host_its_keys() {
    let subnet = all();
    assert_eq!((subnet.unread.len(), subnet.misfits.len()), (0, 0));
    // 16 hosts, four leaves of six ports, two spines of four.
    assert_eq!(subnet.arbitration.len(), 16 + 4 * 6 + 2 * 4);
    assert!(
        subnet
            .arbitration
            .values()
            .all(|tables| { tables.low == [(0, 64), (1, 64), (2, 64)] && tables.high.is_empty() })
    );
    assert_eq!(subnet.partition_keys.len(), 16);
    let node = |name: &str| {
        let at = subnet.nodes.iter().position(|node| node.description == name);
        at.expect("a host of the net") as u32
    };
    let keys = |name| subnet.partition_keys[&(node(name), 1)].clone();
    // Limited in the default partition, full in its own; a service is full in the default one.
    assert_eq!(keys("c101-003 HCA-1"), [(0, 0x7fff), (1, 0x8001)].into());
    assert_eq!(keys("c101-004 HCA-1"), [(0, 0x7fff), (1, 0x8002)].into());
    assert_eq!(keys("c101-002 HCA-1"), [(0, 0xffff)].into());
    let levels = subnet.path_levels.iter().map(|path| (path.key, path.level));
    assert_eq!(levels.collect::<Vec<_>>(), [(0x8001, 1), (0x8002, 2), (0x8003, 0)]);
}

#[test]
fn tables_of_more_rows_go_on_and_high_priority_is_apart() {
    let port = "# VLArbitration tables: Lid 3 port 1 LowCap 8 HighCap 8\n";
    let rows = |cells: &str| format!("VL    : |{cells}\nWEIGHT: |{cells}\n");
    let low = format!("# Low priority VL Arbitration Table:\n{}", rows("0x1 |0x0 |"));
    let more = rows("0x2 |0x3 |");
    let high = format!("# High priority VL Arbitration Table:\n{}", rows("0xe |"));
    let found = read(format!("{port}{low}{more}{high}"));
    assert_eq!(found.unread.len(), 0);
    let tables = &found.arbitration[0].arbitration;
    assert_eq!(
        (&tables.low[..], &tables.high[..]),
        (&[(1, 1), (2, 2), (3, 3)][..], &[(14, 14)][..])
    );
}

#[test]
fn what_cannot_be_is_reported_with_its_line_and_the_rest_is_read() {
    let shares = text(&format!("{FOLDER}/vlarb.txt"));
    let keys = text(&format!("{FOLDER}/keys.txt"));
    let n = read(&shares).arbitration.len();
    for (whole, old, new, line) in [
        (&shares, "Lid 1 port 1", "Lid 70000 port 1", 1),
        (&shares, "WEIGHT: |0x40|", "WEIGHT: |", 4),
        (&shares, "VL    : |0x0 |0x1 |", "VL    : |0x100 |0x1 |", 3),
    ] {
        let found = read(whole.replacen(old, new, 1));
        assert_eq!(found.unread[0].place.line, line, "{new}");
        assert!(found.arbitration.len() >= n - 1, "{new}");
    }
    for (old, new) in [("LID....", "LUD...."), ("0x0000", "0x10000"), ("Block....", "Bluck....")] {
        let found = read(keys.replacen(old, new, 1));
        assert!(!found.unread.is_empty(), "{new}");
        assert_eq!(found.partition_keys.len(), 31, "{new}");
    }
    let path = text(&format!("{FOLDER}/paths.txt"));
    let found =
        read(path.replacen("sl......................0x1", "sl......................0x10", 1));
    assert_eq!((found.path_levels.len(), found.unread.len()), (2, 1));
}
