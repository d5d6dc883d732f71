//! Forwarding tables as OpenSM dumps them and as the diagnostics print them: every port of every
//! LID, and whose the LIDs are.

use crate::common::damage;
use crate::common::samples::{self, subnet, text};
use std::collections::{BTreeMap, BTreeSet};
use weft_fabric::subnet::{End, Kind, Misfit, Subnet};

/// All switches and all LIDs of the sample fabric: 6 switches, 16 hosts, LIDs 1 to 22.
const LEAF0: u64 = 0x506b_4b03_0000_0110;

/// What a table of any of the tools says, taken apart only by white space: by switch and
/// LID the port.
fn plainly(text: &str) -> BTreeMap<(u64, u16), u8> {
    let (mut switch, mut found) = (0, BTreeMap::new());
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().filter(|word| *word != ":").collect();
        if line.contains("Switch 0x") || line.contains(" guid 0x") {
            let is_guid = |word: &&&str| word.starts_with("0x") && word.len() == 18;
            switch = hex(words.iter().find(is_guid).expect("a GUID")).expect("in hex");
        } else if line.starts_with("0x") && !line.contains("illegal port") {
            let lid = hex(words[0]).expect("a LID") as u16;
            if let Ok(port) = words[1].parse() {
                found.insert((switch, lid), port);
            }
        }
    }
    found
}

fn as_read(subnet: &Subnet) -> BTreeMap<(u64, u16), u8> {
    let mut found = BTreeMap::new();
    for (index, node) in subnet.nodes.iter().enumerate() {
        let lids = (0..=u16::MAX).filter_map(|lid| Some((lid, subnet.lfts.port(index, lid)?)));
        found.extend(lids.map(|(lid, port)| ((node.guid, lid), port)));
    }
    found
}

fn read(text: &str) -> Subnet {
    Subnet::of(samples::read(text))
}

/// Each sample of tables, and how many entries it has (by `grep -c`).
const SAMPLES: [(&str, usize); 9] = [
    ("opensm/opensm-lfts.dump", 132),
    ("opensm/opensm.fdbs", 132),
    ("diags/dump_lfts.out", 132),
    ("diags/ibroute.out", 22),
    ("opensm_lmc1/opensm-lfts.dump", 228),
    ("opensm_lmc1/opensm.fdbs", 228),
    ("opensm_lmc1/dump_fts-a.out", 228),
    ("opensm_unlinked/opensm-lfts.dump", 126),
    ("opensm_unlinked/opensm.fdbs", 126),
];

#[test]
fn every_port_of_every_lid_is_read() {
    for (name, n_entries) in SAMPLES {
        let (subnet, text) = (subnet(&[name]), text(name));
        assert_eq!(as_read(&subnet), plainly(&text), "{name}");
        assert_eq!(as_read(&subnet).len(), n_entries, "{name}");
        assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]), "{name}");
    }
}

#[test]
fn all_tools_say_the_same_of_one_fabric() {
    for names in [
        ["opensm/opensm-lfts.dump", "opensm/opensm.fdbs", "diags/dump_lfts.out"],
        ["opensm_lmc1/opensm-lfts.dump", "opensm_lmc1/opensm.fdbs", "opensm_lmc1/dump_fts-a.out"],
    ] {
        let subnet = subnet(&names);
        assert_eq!(subnet.misfits, []);
        let tables: Vec<_> = names.iter().map(|name| plainly(&text(name))).collect();
        assert_eq!((&tables[0], &tables[0]), (&tables[1], &tables[2]));
    }
}

#[test]
fn tables_of_two_states_of_a_fabric_conflict_and_the_first_holds() {
    let subnet = subnet(&["opensm/opensm-lfts.dump", "opensm_lmc1/opensm.fdbs"]);
    assert_eq!(as_read(&subnet), plainly(&text("opensm/opensm-lfts.dump")));
    let about = |misfit: &Misfit| match misfit {
        Misfit::Conflict { about, .. } => about.starts_with("forwarding table of"),
        _ => false,
    };
    assert_eq!(subnet.misfits.iter().filter(|misfit| about(misfit)).count(), 6);
}

#[test]
fn a_dump_alone_names_its_lids() {
    for name in ["opensm/opensm-lfts.dump", "diags/dump_lfts.out", "diags/ibroute.out"] {
        let subnet = subnet(&[name]);
        assert_eq!((subnet.nodes.len(), subnet.top_lid()), (22, 22), "{name}");
        let of = |lid: u16| &subnet.nodes[subnet.end_of_lid(lid).expect("a LID").node as usize];
        let named = |lid| (of(lid).kind, of(lid).guid, of(lid).description.as_str());
        assert_eq!(named(2), (Kind::Ca, 0x9803_9b03_0000_0101, "c104-004 HCA-1"), "{name}");
        assert_eq!(named(3), (Kind::Switch, LEAF0, "MF0;leaf000:MQM8700/U1"), "{name}");
        assert_eq!(named(0x16), (Kind::Ca, 0x9803_9b03_0000_00f1, "c104-003 HCA-1"), "{name}");
    }
}

#[test]
fn tables_without_names_say_at_least_which_lid_is_the_switch_itself() {
    let subnet = subnet(&["opensm/opensm.fdbs"]);
    let lids: Vec<u16> = subnet.nodes.iter().map(|node| node.lid).collect();
    assert_eq!(lids, [3, 4, 6, 8, 10, 12]);
    let leaf0 = subnet.node_of_guid(LEAF0).expect("leaf 0");
    assert_eq!(subnet.end_of_lid(3), Some(End { node: leaf0, port: 0 }));
}

#[test]
fn both_lids_of_a_port_with_a_mask_lead_to_it() {
    for name in ["opensm_lmc1/opensm-lfts.dump", "opensm_lmc1/dump_fts-a.out"] {
        let subnet = subnet(&[name]);
        let host = subnet.node_of_guid(0x9803_9b03_0000_0101).expect("c104-004");
        for lid in [4, 5] {
            assert_eq!(subnet.end_of_lid(lid), Some(End { node: host, port: 0 }), "{name}");
        }
        assert_eq!(subnet.nodes[host as usize].lmc, 1, "{name}");
        let leaf0 = subnet.node_of_guid(LEAF0).expect("leaf 0");
        // By the dump: the two LIDs of that host leave leaf 0 by two ports.
        let ports = [4, 5].map(|lid| subnet.lfts.port(leaf0 as usize, lid));
        assert_eq!(ports, [Some(8), Some(6)], "{name}");
    }
}

#[test]
fn a_lid_that_is_gone_has_no_entry() {
    for name in ["opensm_unlinked/opensm-lfts.dump", "opensm_unlinked/opensm.fdbs"] {
        let subnet = subnet(&[name]);
        let leaf0 = subnet.node_of_guid(LEAF0).expect("leaf 0") as usize;
        assert_eq!((subnet.lfts.port(leaf0, 1), subnet.lfts.port(leaf0, 2)), (Some(1), None));
        assert_eq!(subnet.unread, [], "{name}");
    }
}

#[test]
fn multicast_tables_are_kept_as_they_are() {
    let subnet = subnet(&["diags/dump_mfts.out"]);
    assert_eq!((subnet.kept.len(), subnet.nodes.len(), subnet.unread.len()), (6, 0, 0));
    let (place, name, rows) = &subnet.kept[0];
    assert_eq!((place.line, name.as_str(), rows.len()), (2, "multicast forwarding table", 4));
    assert!(rows[0].ends_with("(MF0;leaf003:MQM8700/U1):"), "{}", rows[0]);
    assert_eq!(rows[3], "0 valid mlids dumped");
}

#[test]
fn a_port_guid_that_is_not_the_node_guid_is_the_switchs_own_where_port_0_leads_to_it() {
    let dump = "Unicast lids [0-2] of switch Lid 2 guid 0x0000000000000010 ('s'):\n\
                0x0001 001 # Channel Adapter portguid 0x0000000000000021: 'h'\n\
                0x0002 000 # Switch portguid 0x0000000000000011: 's'\n2 lids dumped\n";
    let subnet = read(dump);
    let guids: Vec<u64> = subnet.nodes.iter().map(|node| node.guid).collect();
    assert_eq!(guids, [0x10, 0x21]);
    assert_eq!(subnet.misfits, []);
}

#[test]
fn entries_that_cannot_be_are_reported_with_their_lines_and_the_rest_is_read() {
    let begin = "Unicast lids [0x0-0x9] of switch Lid 9 guid 0x000000000000000a (a):\n";
    let good = "0x0001 003 : (Router portguid 0x0000000000000001: 'r')')\n";
    for (line, expected) in [
        ("0xffff 001 : (Switch portguid 0x1: 'a')", "a unicast LID, below 0xc000"),
        ("0x0001 004 : (Router portguid 0x1: 'r')", "one port for a LID"),
        ("0x0002 256 : (Switch portguid 0x1: 'a')", "a LID in hex, a port of three digits"),
        ("0x00002 001", "a LID in hex, a port of three digits"),
        ("0x0002 1", "a LID in hex, a port of three digits"),
        ("0x0002 001 : (Chan", "a LID in hex, a port of three digits"),
        ("0x0002 001 : (Gateway portguid 0x1: 'g')", "a kind, a port GUID and a name"),
        ("what is this", "a LID in hex, a port of three digits"),
        ("Unicast lids [0x0-0x9] of switch Lid 70000 guid 0xa (a):", "'... lids dumped'"),
    ] {
        let subnet = read(&format!("{begin}{good}{line}\n"));
        let first = &subnet.unread[0];
        assert_eq!(first.place.line, 3, "{line}");
        assert!(first.expected.starts_with(expected), "{line}: {}", first.expected);
        assert_eq!(as_read(&subnet)[&(0xa, 1)], 3, "{line}");
        assert_eq!(subnet.nodes[0].description, "r')", "{line}");
    }
}

#[test]
fn a_table_with_fewer_entries_than_its_last_line_counts_is_reported() {
    let whole = text("diags/ibroute.out");
    let subnet = read(&whole.replacen("0x0005 006", "", 1));
    let expected: Vec<&str> = subnet.unread.iter().map(|line| line.expected.as_str()).collect();
    assert_eq!(expected.len(), 2);
    assert_eq!(expected[1], "'21 lids dumped': so many entries are there");
}

#[test]
fn hops_that_are_not_the_fewest_or_not_known_are_entries_too() {
    let subnet = read(
        "dump_ucast_routes: Switch 0x000000000000000a\nLID    : Port : Hops : Optimal\n\
         0x0001 : 001  : 03   : No 2 hop path possible via port 7!\n\
         0x0002 : 002  : HOPS UNKNOWN\n0x0003 : UNREACHABLE\n0x0004 : 000  : 00   : yes\n\
         0x0006 : 005  : 01   : yes\n0x0007 : 256  : 01   : yes\n0x0008 : 001  : 01   : ye\n",
    );
    let expected: BTreeMap<(u64, u16), u8> =
        [(1, 1), (2, 2), (4, 0), (6, 5)].map(|(lid, port)| ((10, lid), port)).into();
    assert_eq!(as_read(&subnet), expected);
    let reported: Vec<(u32, &str)> =
        subnet.unread.iter().map(|line| (line.place.line, line.expected.as_str())).collect();
    let entry = "'0x000A : 005  : 01   : yes' or '0x000A : UNREACHABLE'";
    let in_order = "every LID in order, none left out";
    assert_eq!(reported, [(7, in_order), (8, "a port, at most 255"), (9, entry)]);
}

#[test]
fn a_file_of_tables_for_high_lids_alone_takes_bounded_room() {
    let one = |guid: u32| {
        format!("dump_ucast_routes: Switch 0x{guid:016x}\n0xBFFF : 001  : 01   : yes\n")
    };
    let text: String = (1..=5000).map(one).collect();
    let gathered = samples::gathered(&[("it", text.as_bytes())]);
    let room: usize = gathered.tables.iter().map(|table| table.ports.len()).sum();
    assert!(room < 65 << 20, "{room}");
    assert!(gathered.sources[0].n_unread > 3000);
}

#[test]
fn an_empty_dump_is_no_table_and_no_fabric() {
    let files: [(&str, &[u8]); 2] =
        [("opensm.mcfdbs", b""), ("lfts", text("opensm/opensm-lfts.dump").leak().as_bytes())];
    let subnet = Subnet::of(samples::gathered(&files));
    assert_eq!(subnet.unread[0].what, "the file is empty");
    assert_eq!((subnet.unread.len(), subnet.nodes.len(), subnet.misfits.len()), (1, 22, 0));
}

#[test]
fn carriage_returns_and_warnings_between_the_lines_change_nothing() {
    for (name, _) in SAMPLES {
        let (clean, text) = (subnet(&[name]), text(name));
        for damage in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
            let subnet = read(&damage);
            assert_eq!((&subnet.nodes, &subnet.lfts), (&clean.nodes, &clean.lfts), "{name}");
            assert_eq!(subnet.unread, [], "{name}");
        }
    }
}

#[test]
fn a_truncated_dump_gives_what_was_whole_and_says_that_it_has_no_end() {
    for (name, _) in SAMPLES {
        let (text, whole) = (text(name), plainly(&text(name)));
        for beginning in damage::beginnings(&text) {
            let subnet = read(beginning);
            let read = as_read(&subnet);
            let n_whole = plainly(&beginning[..beginning.rfind('\n').unwrap_or(0)]).len();
            assert!(read.len() >= n_whole, "{name}, {} bytes", beginning.len());
            assert!(read.iter().all(|(at, port)| whole.get(at) == Some(port)), "{name}");
            let is_reported = !subnet.unread.is_empty() || beginning.trim_end().ends_with("dumped");
            let n_tables = beginning.matches("Switch 0x").count();
            let is_first_fdb = name.ends_with("fdbs") && n_tables < 2;
            assert!(is_reported || is_first_fdb, "{name}, {} bytes", beginning.len());
        }
    }
}

#[test]
fn a_line_of_64_kib_is_one_unread_line() {
    for (name, n_entries) in SAMPLES {
        let mut lines: Vec<String> = text(name).lines().map(str::to_owned).collect();
        lines.insert(5, "0x".repeat(1 << 15));
        let subnet = read(&lines.join("\n"));
        assert_eq!((as_read(&subnet).len(), subnet.unread.len()), (n_entries, 1), "{name}");
    }
}

#[test]
fn a_dump_and_a_walk_are_one_fabric_in_either_order() {
    // A host's port has a GUID of its own: the dump knows that alone, the walk both.
    let files = [
        "small/ibnetdiscover.out",
        "opensm/opensm-lfts.dump",
        "opensm/opensm.fdbs",
        "diags/dump_lfts.out",
        "opensm_dfsssp/opensm-sl2vl.dump",
    ];
    let mut backwards = files;
    backwards.reverse();
    for files in [files, backwards] {
        let subnet = subnet(&files);
        assert_eq!((subnet.nodes.len(), &subnet.misfits[..]), (22, &[][..]), "{files:?}");
        assert_eq!(as_read(&subnet), plainly(&text("opensm/opensm-lfts.dump")), "{files:?}");
        let host = subnet.node_of_guid(0x9803_9b03_0000_0100).expect("c104-004 by its node GUID");
        assert_eq!(subnet.end_of_lid(2), Some(End { node: host, port: 1 }), "{files:?}");
        let leaf0 = subnet.node_of_guid(LEAF0).expect("leaf 0");
        assert_eq!(subnet.end_of_lid(3), Some(End { node: leaf0, port: 0 }), "{files:?}");
    }
}

#[test]
fn a_dump_of_another_time_conflicts_with_the_walk_about_lids() {
    let subnet = subnet(&["small/ibnetdiscover.out", "opensm_lmc1/opensm-lfts.dump"]);
    let about = |misfit: &Misfit| match misfit {
        Misfit::Conflict { about, .. } => about.strip_prefix("LID of ").map(str::to_owned),
        _ => None,
    };
    // With LMC 1 all 16 adapters and 6 switches have other LIDs than without.
    let reported: BTreeSet<String> = subnet.misfits.iter().filter_map(about).collect();
    assert_eq!(reported.len(), 22, "{reported:?}");
}
