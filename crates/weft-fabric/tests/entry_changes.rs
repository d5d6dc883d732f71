//! Entries of tables against those of another account: by GUID, whatever LIDs the ports have.

use serde_json::json;
use weft_fabric::opensm::{OpensmEngine, Options, route};
use weft_fabric::subnet::{EntryChange, EntryChanges, Lfts, Subnet, entry_changes};
use weft_fabric::{Fabric, generate};

fn tree() -> Subnet {
    let spec = json!({
        "generate": "fat_tree", "levels": 2, "nodes": 8, "nodes_per_leaf": 4, "spines": 2,
        "cables_per_spine": 1, "host_bits_per_s": 100_000_000_000u64,
        "switch_bits_per_s": 100_000_000_000u64, "host_delay_ps": 5000, "switch_delay_ps": 5000,
    });
    let document = generate::parse(&spec.to_string()).unwrap();
    let mut subnet = Subnet::of_fabric(&Fabric::new(&document).unwrap()).unwrap();
    subnet.lfts = route(&subnet, OpensmEngine::Minhop, &Options::default()).unwrap().lfts;
    subnet
}

fn compared(now: (&Subnet, &Lfts), before: (&Subnet, &Lfts)) -> EntryChanges {
    entry_changes(now, before, 2)
}

#[test]
fn an_account_has_no_changes_against_itself() {
    let subnet = tree();
    let found = compared((&subnet, &subnet.lfts), (&subnet, &subnet.lfts));
    let n_switches = subnet.nodes.iter().filter(|node| node.is_switch()).count();
    assert_eq!((found.n_changed, found.first.len()), (0, 0));
    assert_eq!(found.n_compared, 8 * n_switches as u64);
}

#[test]
fn each_changed_entry_is_counted_and_the_first_ones_listed() {
    let subnet = tree();
    let switch = subnet.nodes.iter().position(|node| node.is_switch()).unwrap();
    let mut lfts = subnet.lfts.clone();
    let ends: Vec<_> = subnet.endports().take(3).collect();
    for end in &ends {
        lfts.set(switch, subnet.port(*end).unwrap().lid, 99);
    }
    let found = compared((&subnet, &lfts), (&subnet, &subnet.lfts));
    let was = subnet.lfts.port(switch, subnet.port(ends[0]).unwrap().lid).unwrap();
    assert_eq!((found.n_changed, found.first.len()), (3, 2));
    let switch = switch as u32;
    assert_eq!(found.first[0], EntryChange { switch, to: ends[0], before: was, now: 99 });
}

#[test]
fn other_lids_of_the_same_ports_are_no_change() {
    let subnet = tree();
    let mut moved = subnet.clone();
    let mut lfts = Lfts::new(moved.nodes.len());
    for end in subnet.endports() {
        let lid = subnet.port(end).unwrap().lid;
        let node = &mut moved.nodes[end.node as usize];
        node.ports[usize::from(end.port) - 1].lid = lid + 100;
        for switch in 0..subnet.nodes.len() {
            if let Some(port) = subnet.lfts.port(switch, lid) {
                lfts.set(switch, lid + 100, port);
            }
        }
    }
    let found = compared((&subnet, &subnet.lfts), (&moved, &lfts));
    assert_eq!(found.n_changed, 0);
    assert!(found.n_compared > 0);
}
