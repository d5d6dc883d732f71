//! `ibnetdiscover` and the nets of ibsim: the fabric that the tool walked through.

use crate::common::{
    damage,
    samples::{self, read},
};
use std::fs;
use weft_fabric::subnet::{End, Gathered, Kind, LinkRate, Subnet};

fn sample(name: &str) -> String {
    fs::read_to_string(samples::folder().join(name)).expect("a sample")
}

fn node<'s>(subnet: &'s Subnet, description: &str) -> (u32, &'s weft_fabric::subnet::SubnetNode) {
    let found = subnet.nodes.iter().position(|node| node.description == description);
    let index = found.unwrap_or_else(|| panic!("no node is called {description}"));
    (index as u32, &subnet.nodes[index])
}

fn rate(subnet: &Subnet, description: &str, port: u8) -> String {
    let rate = node(subnet, description).1.port(port).expect("such a port").rate;
    rate.map_or_else(|| "none".to_owned(), |rate| rate.to_string())
}

#[test]
fn a_fat_tree_of_six_switches_is_read_whole() {
    let subnet = samples::subnet(&["small/ibnetdiscover.out"]);
    assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]));
    let switches = subnet.nodes.iter().filter(|node| node.is_switch()).count();
    assert_eq!((subnet.nodes.len(), switches), (22, 6));
    // 16 hosts at four leaves, two cables from each of four leaves to each of two spines.
    assert_eq!((subnet.cables().count(), subnet.endports().count()), (16 + 16, 16));
    let (leaf, described) = node(&subnet, "MF0;leaf003:MQM8700/U1");
    assert_eq!((described.lid, described.lmc, described.ports.len()), (8, 0, 8));
    assert_eq!((described.vendor, described.device), (Some(0x2c9), Some(0xd2f0)));
    assert_eq!(described.system_guid, Some(0x506b_4b03_0000_0140));
    let host = subnet.peer(End { node: leaf, port: 4 }).expect("a host");
    assert_eq!(subnet.name(host), "c104-004 HCA-1[1]");
    let port = subnet.port(host).expect("its port");
    assert_eq!((port.guid, port.lid, port.lmc), (Some(0x9803_9b03_0000_0101), 2, 0));
    assert_eq!(subnet.end_of_lid(2), Some(host));
    let spine = subnet.peer(End { node: leaf, port: 8 }).expect("a spine");
    assert_eq!(subnet.name(spine), "MF0;spine01:MQM8700/U1[8]");
    assert_eq!(rate(&subnet, "MF0;leaf003:MQM8700/U1", 4), "2xHDR");
    assert_eq!(rate(&subnet, "MF0;leaf003:MQM8700/U1", 8), "4xHDR");
}

#[test]
fn the_path_of_the_discovery_and_numbers_of_the_speeds_change_nothing() {
    for net in ["small", "quirks"] {
        let mut plain = samples::subnet(&[&format!("{net}/ibnetdiscover.out")]);
        for option in ["-s", "-f"] {
            let mut other = samples::subnet(&[&format!("{net}/ibnetdiscover{option}.out")]);
            assert_eq!((other.unread.len(), other.misfits.len()), (0, 0), "{option}");
            for node in &mut other.nodes {
                for port in &mut node.ports {
                    let lanes = port.facts.remove("VLCap");
                    let wanted = (option == "-f" && port.peer.is_some()).then_some("4");
                    assert_eq!(lanes.as_deref(), wanted);
                }
            }
            (plain.sources, other.sources) = (Vec::new(), Vec::new());
            assert_eq!(plain, other, "{net} with {option}");
        }
    }
}

#[test]
fn adapters_of_two_ports_routers_lmc_and_unusual_descriptions() {
    let subnet = samples::subnet(&["quirks/ibnetdiscover.out"]);
    assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]));
    let (_, router) = node(&subnet, "router: gw-1");
    assert_eq!((router.kind, router.ports.len()), (Kind::Router, 2));
    assert_eq!((router.ports[0].lid, router.ports[1].lid), (44, 48));
    let (login, described) = node(&subnet, "login1; mlx5_0 'a' HCA-1");
    let guids: Vec<u64> = described.ports.iter().filter_map(|port| port.guid).collect();
    assert_eq!(guids, [0x9803_9b03_0000_0011, 0x9803_9b03_0000_0012]);
    assert_eq!((described.ports[0].lid, described.ports[1].lid), (4, 12));
    // LMC 2: four LIDs a port, and the next one is free.
    for lid in 12..16 {
        assert_eq!(subnet.end_of_lid(lid), Some(End { node: login, port: 2 }));
    }
    let (leaf, _) = node(&subnet, "MF0;leaf-1:MQM8700/U1");
    assert_eq!(subnet.end_of_lid(8), Some(End { node: leaf, port: 0 }));
    assert_eq!(subnet.end_of_lid(9), None, "a switch has no LMC here");
    let (_, gpu) = node(&subnet, "gpu (rack 3) [u7] {x} lid 9 4xSDR");
    assert_eq!(gpu.ports[0].lid, 32);
    assert_eq!(rate(&subnet, "gpu (rack 3) [u7] {x} lid 9 4xSDR", 1), "4xFDR");
    let rates = [(1, "2xHDR"), (2, "1xSDR"), (3, "4xFDR"), (7, "12xQDR"), (8, "8xEDR")];
    for (port, wanted) in rates {
        assert_eq!(rate(&subnet, "MF0;leaf-1:MQM8700/U1", port), wanted);
    }
    assert_eq!(rate(&subnet, "SW-like - name, a,b", 1), "4xFDR10");
    // Ports 4 to 6 have no cable: the file does not name them.
    let (_, leaf) = node(&subnet, "MF0;leaf-1:MQM8700/U1");
    assert!((4..=6).all(|port| leaf.port(port).is_some_and(|port| port.peer.is_none())));
}

#[test]
fn quotes_and_marks_in_descriptions_chassis_and_words_after_the_rate() {
    let text = "vendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x2c90200423e30\t\t# Chassis 1\n\
        switchguid=0x2c902004238a0(2c902004238a8)\t# Spine 1 Chip 2\n\
        Switch\t24 \"S-0002c902004238a0\"\t\t# \"a \"b\" # lid 3 lmc 1\" base port 0 lid 7 lmc 0\n\
        [3][ext 17]\t\"H-0002c90300001000\"[2](2c90300001002) \t\t# \"x\" lid 1 1xSDR\" \
        lid 9 4xQDR s=4 w=2 v=8 e=0 slot 4\n\n\
        Chassis 1 (guid 0x2c90200423e30) ports 24\n\nNon-Chassis Nodes\n\n\
        caguid=0x2c90300001000\nCa\t2 \"H-0002c90300001000\"\t\t# \"x\" lid 1 1xSDR\"\n\
        [2](2c90300001002) \t\"S-0002c902004238a0\"[3][ext 17]\t\t# lid 9 lmc 0 \
        \"a \"b\" # lid 3 lmc 1\" lid 7 4xQDR\n";
    let subnet = Subnet::of(read(text));
    assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]));
    let (index, switch) = node(&subnet, "a \"b\" # lid 3 lmc 1");
    assert_eq!((switch.guid, switch.lid), (0x0002_c902_0042_38a0, 7));
    let (_, adapter) = node(&subnet, "x\" lid 1 1xSDR");
    assert_eq!((adapter.ports[1].lid, adapter.ports.len()), (9, 2));
    assert_eq!(adapter.ports[1].peer, Some(End { node: index, port: 3 }));
    let facts = &switch.ports[2].facts;
    assert_eq!((facts["VLCap"].as_str(), facts["slot"].as_str()), ("8", "4"));
    assert_eq!(
        (facts["Label"].as_str(), adapter.ports[1].facts.contains_key("Label")),
        ("17", false)
    );
}

#[test]
fn a_cable_that_was_unplugged_is_missing_and_nothing_else() {
    let before = samples::subnet(&["small/ibnetdiscover.out"]);
    let after = samples::subnet(&["fault/nd_after_unlink.out"]);
    let name = |subnet: &Subnet| -> Vec<String> {
        let cables = subnet.cables().map(|(a, b)| format!("{} {}", subnet.name(a), subnet.name(b)));
        cables.collect()
    };
    let (before, after) = (name(&before), name(&after));
    let gone: Vec<&String> = before.iter().filter(|cable| !after.contains(cable)).collect();
    assert_eq!(gone, ["MF0;leaf000:MQM8700/U1[5] MF0;spine00:MQM8700/U1[1]"]);
    assert_eq!(after.len(), 31);
    // A spine was switched off.
    let cleared = samples::subnet(&["fault/nd_after_clear.out"]);
    assert!(!cleared.nodes.iter().any(|node| node.description.contains("spine01")));
    assert_eq!((cleared.nodes.len(), cleared.unread.len()), (21, 0));
}

#[test]
fn a_net_of_ibsim_is_the_fabric_that_the_tool_finds_in_it() {
    for (net, found) in [
        ("ibsim/names.net", "ibsim/names.ibnetdiscover.out"),
        ("small/small.net", "small/ibnetdiscover.out"),
    ] {
        let (net, found) = (samples::subnet(&[net]), samples::subnet(&[found]));
        assert_eq!((&net.unread[..], &net.misfits[..]), (&[][..], &[][..]));
        let named = |subnet: &Subnet| -> Vec<(u64, Kind, String)> {
            let nodes = subnet.nodes.iter();
            nodes.map(|node| (node.guid, node.kind, node.description.clone())).collect()
        };
        assert_eq!(named(&net), named(&found));
        assert_eq!(net.cables().collect::<Vec<_>>(), found.cables().collect::<Vec<_>>());
    }
}

#[test]
fn lines_without_sense_are_reported_with_what_was_expected() {
    let whole = sample("small/ibnetdiscover.out");
    let cases = [
        ("2xHDR", "2x???", "width and speed of the link, such as 4xHDR"),
        ("[4]\t\"H-9", "[4 \"H-9", "a port and its peer: [1](guid) \"S-...\"[2] # ..."),
        (
            "enhanced port 0",
            "port",
            "# \"description\", and of a switch: enhanced port 0 lid 1 lmc 0",
        ),
        ("Switch\t8", "Switch\t800", "an ID such as vendid=0x2c9, a node"),
        ("vendid=0x2c9", "libibumad: oops", "an ID such as vendid=0x2c9, a node"),
        ("lid 20 2x", "lid 20 4xHDR 2x", "nothing after the rate but s=, w=, v=, e="),
    ];
    for (from, to, expected) in cases {
        let line = whole.lines().position(|line| line.contains(from)).expect("it is there") + 1;
        let gathered = read(whole.replacen(from, to, 1));
        let first = &gathered.unread[0];
        assert_eq!(first.place.line as usize, line, "{to}");
        assert!(first.expected.starts_with(expected), "{to}: {}", first.expected);
    }
    // Ports whose node cannot be read belong to no other node.
    let gathered = read(whole.replacen("Switch\t8", "Switch\t800", 1));
    let reported: Vec<u32> = gathered.unread.iter().map(|unread| unread.place.line).collect();
    assert_eq!(reported, [10, 11, 12, 13, 14, 15, 16, 17, 18, 6, 59]);
}

#[test]
fn a_file_that_was_cut_off_names_the_nodes_whose_entries_are_missing() {
    let whole = sample("small/ibnetdiscover.out");
    let all = Subnet::of(read(&whole));
    let guids = |subnet: &Subnet| -> Vec<[(u64, u8); 2]> {
        let of = |end: End| (subnet.nodes[end.node as usize].guid, end.port);
        subnet.cables().map(|(a, b)| [of(a), of(b)]).collect()
    };
    let cables = guids(&all);
    for end in (1..whole.len()).step_by(97) {
        let gathered = read(&whole[..end]);
        let n_entries = gathered.nodes.iter().filter(|node| node.is_entry).count();
        let is_whole_line = whole[..end].ends_with('\n') || whole[..end].ends_with("\n#");
        assert!(n_entries == 22 || !gathered.unread.is_empty(), "cut at byte {end}");
        assert!(is_whole_line || !gathered.unread.is_empty(), "cut at byte {end}");
        let part = Subnet::of(gathered);
        assert_eq!(part.misfits, [], "cut at byte {end}");
        assert!(guids(&part).iter().all(|cable| cables.contains(cable)), "cut at byte {end}");
    }
    // After the first entry, which names four hosts and two spines.
    let cut = whole.match_indices("\n\n").nth(1).expect("an empty line").0;
    let part = read(&whole[..=cut]);
    let reported: Vec<&str> = part.unread.iter().map(|unread| &unread.what[..]).collect();
    assert_eq!(reported.len(), 6);
    assert_eq!(
        reported[0],
        "a node that is only ever named as a peer: 0x98039b03000000d0 'c104-001 HCA-1'"
    );
    let part = Subnet::of(part);
    assert_eq!((part.nodes.len(), part.cables().count()), (7, 8));
    assert_eq!(node(&part, "MF0;spine01:MQM8700/U1").1.lid, 12);
}

#[test]
fn carriage_returns_and_noise_of_libraries_change_nothing() {
    for name in ["small/ibnetdiscover.out", "quirks/ibnetdiscover.out"] {
        let (whole, text) = (read(sample(name)), sample(name));
        for damaged in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
            let mut gathered = read(&damaged);
            let lines = |gathered: &Gathered| gathered.cables.len();
            assert_eq!((gathered.unread.len(), lines(&gathered)), (0, lines(&whole)));
            gathered.sources.clone_from(&whole.sources);
            assert_eq!(Subnet::of(gathered), Subnet::of(whole.clone()));
        }
    }
}

#[test]
fn of_two_fabrics_in_a_file_the_first_is_read_and_the_second_reported() {
    let (first, second) = (sample("small/ibnetdiscover.out"), sample("quirks/ibnetdiscover.out"));
    let n_lines = first.lines().count() as u32;
    let gathered = read([first, second].concat());
    assert_eq!(gathered.unread.len(), 1);
    let reported = &gathered.unread[0];
    // The second header is the second line of the second file.
    assert_eq!(reported.place.line, n_lines + 2);
    assert!(reported.what.starts_with("a second fabric begins here"), "{}", reported.what);
    assert_eq!(Subnet::of(gathered).nodes.len(), 22);
}

#[test]
fn long_lines_and_bytes_that_are_no_text_are_reported() {
    let text = sample("small/ibnetdiscover.out");
    for (damaged, n_unread) in
        [(damage::with_a_long_line(&text), 1), (damage::with_bytes(&text), 1)]
    {
        let gathered = read(&damaged);
        assert_eq!(gathered.unread.len(), n_unread, "{:?}", gathered.unread);
        assert_eq!(Subnet::of(gathered).cables().count(), 32);
    }
}

#[test]
fn a_lid_of_zero_is_none() {
    let subnet = samples::subnet(&["small/small.net"]);
    assert_eq!((subnet.top_lid(), subnet.misfits.len()), (0, 0));
    let rates: Vec<Option<LinkRate>> =
        subnet.endports().map(|end| subnet.port(end).unwrap().rate).collect();
    assert!(rates.iter().all(|rate| rate.is_some_and(|rate| rate.to_string() == "2xHDR")));
}
