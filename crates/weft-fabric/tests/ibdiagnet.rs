//! ibdiagnet's files about the net of 'small', written from their documented columns: they say what
//! `ibnetdiscover` and OpenSM say of it.

use crate::common::{
    damage,
    samples::{self, read},
};
use std::collections::BTreeSet;
use std::fs;
use weft_fabric::subnet::{End, Kind, LogicalState, Misfit, PhysicalState, Subnet};

const FILES: [&str; 4] =
    ["ibdiagnet2.db_csv", "ibdiagnet2.net_dump", "ibdiagnet2.net_dump_ext", "ibdiagnet2.far"];

fn sample(name: &str) -> String {
    fs::read_to_string(samples::folder().join("ibdiagnet").join(name)).expect("a sample")
}

fn truth() -> Subnet {
    samples::subnet(&["small/ibnetdiscover.out"])
}

fn cables(subnet: &Subnet) -> BTreeSet<String> {
    let cable = |(a, b): (End, End)| {
        let mut ends = [subnet.name(a), subnet.name(b)];
        ends.sort();
        let rate = |end| subnet.port(end).unwrap().rate.map(|rate| rate.to_string());
        format!("{} {} {:?} {:?}", ends[0], ends[1], rate(a), rate(b))
    };
    subnet.cables().map(cable).collect()
}

fn lids(subnet: &Subnet) -> Vec<(u16, String)> {
    let of = |lid| subnet.end_of_lid(lid).map(|end| (lid, subnet.name(end)));
    (1..=subnet.top_lid()).filter_map(of).collect()
}

fn port(subnet: &Subnet, description: &str, number: u8) -> weft_fabric::subnet::SubnetPort {
    let node = subnet.nodes.iter().find(|node| node.description == description).expect("a node");
    node.port(number).expect("a port").clone()
}

fn assert_whole(subnet: &Subnet) {
    assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]));
}

/// A database with one section.
fn database(section: &str, columns: &str, rows: &[&str]) -> String {
    format!("START_{section}\n{columns}\n{}\nEND_{section}\n", rows.join("\n"))
}

#[test]
fn the_database_says_what_the_discovery_says() {
    let (truth, subnet) = (truth(), samples::subnet(&["ibdiagnet/ibdiagnet2.db_csv"]));
    assert_whole(&subnet);
    assert_eq!((cables(&subnet), lids(&subnet)), (cables(&truth), lids(&truth)));
    for (node, wanted) in subnet.nodes.iter().zip(&truth.nodes) {
        assert_eq!((node.guid, node.kind, node.vendor), (wanted.guid, wanted.kind, wanted.vendor));
        assert_eq!((node.device, node.system_guid), (wanted.device, wanted.system_guid));
        assert_eq!(
            (&node.description, node.ports.len()),
            (&wanted.description, wanted.ports.len())
        );
        let guids = |ports: &[weft_fabric::subnet::SubnetPort]| -> Vec<Option<u64>> {
            ports.iter().map(|port| port.guid).collect()
        };
        assert_eq!(guids(&node.ports), guids(&wanted.ports));
    }
    let host = port(&subnet, "c104-004 HCA-1", 1);
    assert_eq!(
        (host.logical, host.physical),
        (Some(LogicalState::Active), Some(PhysicalState::LinkUp))
    );
    assert_eq!(host.supported.map(|rate| rate.to_string()).as_deref(), Some("4xHDR"));
    assert_eq!(host.facts["FECActv"], "2");
}

#[test]
fn columns_are_known_by_their_names_in_any_order_and_case() {
    let text = sample("ibdiagnet2.db_csv");
    let whole = Subnet::of(read(&text));
    let turned: Vec<String> = text
        .lines()
        .map(|line| {
            if line.starts_with(['#', 'S', 'E']) && !line.contains(',') || line.is_empty() {
                return line.to_owned();
            }
            // No description here holds a comma but the cables', which are not turned.
            let mut cells: Vec<&str> = line.split(',').collect();
            if line.contains("REG") || line.contains("LengthOM5") {
                return line.to_owned();
            }
            cells.reverse();
            cells.push(if line.contains("GUID") || line.contains("Guid") { "New" } else { "7" });
            cells.join(",").replace("NodeGuid", "NODEGUID")
        })
        .collect();
    let mut subnet = Subnet::of(read(turned.join("\n") + "\n"));
    assert_whole(&subnet);
    for reading in &mut subnet.readings {
        assert_eq!(reading.counters.remove("New"), Some(7));
    }
    assert_eq!((subnet.nodes, subnet.readings), (whole.nodes, whole.readings));
}

#[test]
fn long_counters_stand_for_short_ones_that_stuck() {
    let subnet = samples::subnet(&["ibdiagnet/ibdiagnet2.db_csv"]);
    assert_eq!(subnet.readings.len(), 8);
    let of = |port: u8, name: &str| {
        let reading = subnet.readings.iter().find(|reading| reading.end.port == port);
        reading.expect("a reading").counters.get(name).copied()
    };
    // A short counter of 16 bits is full; the long one goes on.
    assert_eq!(of(6, "SymbolErrorCounter"), Some(70_000));
    assert_eq!(of(5, "LinkDownedCounter"), Some(300));
    assert_eq!(of(1, "PortXmitData"), Some(5_000_000_001));
    assert_eq!(of(1, "PortXmitWait"), Some(123_456_789_001));
    // Where the long one is 'N/A', the short one is all there is: 17 ticks a port number.
    assert_eq!((of(7, "LinkDownedCounter"), of(8, "PortXmitWait")), (Some(0), Some(8 * 17)));
    assert_eq!((of(1, "PortXmitDataExtended"), of(1, "NodeGUID")), (None, None));
    let sixth = subnet.readings.iter().find(|reading| reading.end.port == 6).expect("it");
    assert_eq!(sixth.ratios["retransmission_per_sec"], 0.5);
}

#[test]
fn cables_have_their_makers_numbers_and_unknown_sections_stay() {
    let subnet = samples::subnet(&["ibdiagnet/ibdiagnet2.db_csv"]);
    let leaf = port(&subnet, "MF0;leaf000:MQM8700/U1", 5);
    assert_eq!(leaf.facts["SN"], "MT2152VS00001");
    assert_eq!(leaf.facts["TypeDesc"], "Copper cable, unequalized");
    assert_eq!(leaf.facts["LengthCopperOrActive"], "2 m");
    assert!(!leaf.facts.contains_key("LengthSMFiber") && !leaf.facts.contains_key("Temperature"));
    assert_eq!(port(&subnet, "c101-001 HCA-1", 1).facts["Temperature"], "41C");
    let kept: Vec<(&str, usize)> =
        subnet.kept.iter().map(|(_, name, rows)| (&name[..], rows.len())).collect();
    assert_eq!(kept, [("SWITCHES", 7), ("TEMP_SENSING", 7)]);
    assert_eq!(subnet.kept[1].2[0], "NodeGUID,CurrentTemperature");
}

#[test]
fn speeds_and_widths_are_masks_of_four_bytes() {
    let speeds = [
        (1, "SDR"),
        (2, "DDR"),
        (4, "QDR"),
        (4 | 1 << 16, "FDR10"),
        (4 | 1 << 8, "FDR"),
        (2 << 8, "EDR"),
        (0x704, "HDR"),
        (2048, "NDR"),
        (1 << 24, "XDR"),
    ];
    let columns = "NodeGuid,PortNum,LinkWidthActv,LinkSpeedActv,PortState,PortPhyState";
    for (width, lanes) in [(1, "1x"), (2, "4x"), (4, "8x"), (8, "12x"), (16, "2x")] {
        for (speed, name) in speeds {
            let row = format!("0x10,1,{width},{speed},4,5");
            let gathered = read(database("PORTS", columns, &[&row]));
            let rate = gathered.ports[0].rate.map(|rate| rate.to_string());
            assert_eq!(rate, Some(format!("{lanes}{name}")));
        }
    }
    // The rate of a port that is down means nothing, and 'N/A' is none.
    let rows = ["0x10,1,2,1024,1,2", "0x10,2,N/A,N/A,N/A,N/A"];
    let gathered = read(database("PORTS", columns, &rows));
    assert_eq!((gathered.ports[0].rate, gathered.ports[1].rate), (None, None));
    assert_eq!(gathered.ports[0].logical, Some(LogicalState::Down));
    assert_eq!((gathered.ports[1].logical, gathered.unread.len()), (None, 0));
}

#[test]
fn descriptions_of_nodes_hold_commas_and_quotes_or_have_no_quotes() {
    let columns = "NodeDesc,NumPorts,NodeType,NodeGUID";
    let rows = [
        "\"a, \"b\" c\",2,1,0x10",
        "MF0;leaf01:MQM9700/U1,65,2,0x20",
        "\"\",1,3,0x30",
        "\"x\",1,4,0x40",
        "x,1,1",
    ];
    let gathered = read(database("NODES", columns, &rows));
    let reported: Vec<(u32, &str)> =
        gathered.unread.iter().map(|unread| (unread.place.line, &unread.expected[..])).collect();
    let kinds = "a NodeType: 1 adapter, 2 switch, 3 router";
    assert_eq!(reported, [(6, kinds), (7, "4 values, one a column")]);
    let subnet = Subnet::of(gathered);
    let nodes: Vec<(&str, Kind, usize)> = subnet
        .nodes
        .iter()
        .map(|node| (&node.description[..], node.kind, node.ports.len()))
        .collect();
    let wanted = [
        ("a, \"b\" c", Kind::Ca, 2),
        ("MF0;leaf01:MQM9700/U1", Kind::Switch, 65),
        ("0x0000000000000030", Kind::Router, 1),
    ];
    assert_eq!(nodes, wanted);
}

#[test]
fn sections_that_are_torn_are_reported() {
    let nodes = database("NODES", "NodeGUID,NodeType", &["0x10,1"]);
    let reported = |text: &str| -> Vec<(u32, String)> {
        let unread = read(text).unread;
        unread.iter().map(|reported| (reported.place.line, reported.what.clone())).collect()
    };
    let without_end = nodes.replace("END_NODES\n", "");
    assert_eq!(reported(&without_end), [(1, "section NODES does not end".to_owned())]);
    let next =
        database("LINKS", "NodeGuid1,PortNum1,NodeGuid2,PortNum2", &[]).replace("\n\n", "\n");
    let inside = "section LINKS begins inside of section NODES".to_owned();
    assert_eq!(reported(&(without_end + &next)), [(4, inside)]);
    let wrong = nodes.replace("END_NODES", "END_PORTS");
    let expected = [(4, "END_PORTS in section NODES"), (1, "section NODES does not end")];
    assert_eq!(reported(&wrong), expected.map(|(line, what)| (line, what.to_owned())));
    let text = format!("{nodes}0x20,1\nEND_X\n");
    assert_eq!(reported(&text), [(5, "0x20,1".to_owned()), (6, "END_X".to_owned())]);
    let second = "a second fabric begins here; it and all after it was left out".to_owned();
    assert_eq!(reported(&nodes.repeat(2)), [(5, second)]);
}

#[test]
fn the_network_dump_says_what_the_discovery_says() {
    let (truth, subnet) = (truth(), samples::subnet(&["ibdiagnet/ibdiagnet2.net_dump"]));
    assert_whole(&subnet);
    assert_eq!((cables(&subnet), lids(&subnet)), (cables(&truth), lids(&truth)));
    let leaf = port(&subnet, "MF0;leaf003:MQM8700/U1", 4);
    let facts = ["Label", "FEC", "Retran", "MTU"].map(|name| leaf.facts[name].as_str());
    assert_eq!(facts, ["1/4", "RS", "NO-RTR", "5"]);
}

#[test]
fn ports_that_are_down_and_peers_without_number_in_the_network_dump() {
    let header = "# : IB# : Sta : PhysSta : LWA : LSA : Neighbor Guid : N# : NLID : \
                  Neighbor Description";
    let text = format!(
        "\"a, b\", Mellanox, 0x10, LID 7\n{header}\n\
         1/1/1 : 1 : DOWN : POLLING : 4x : 50 : N/A : N/A : N/A : N/A\n\
         1/1/2 : 2 : ACT : LINK_UP : 1x : 200 : 0x20 : 1/9 : 8 : \"c: d\"\n\
         1/2/1 : 3 : ACT : LINK UP : 4x : FDR10 : 0x30 : 1 : 9 : \"e\"\n\
         1/2/2 : 4 : INI : TRAINING : 4x : 100 : 0x30"
    );
    let subnet = Subnet::of(read(&text));
    let reported: Vec<(u32, &str)> =
        subnet.unread.iter().map(|reported| (reported.place.line, &reported.what[..])).collect();
    let cut = "1/2/2 : 4 : INI : TRAINING : 4x : 100 : 0x30";
    assert_eq!(reported, [(6, cut), (4, "port '1/9' of 'c: d'")]);
    let down = port(&subnet, "a, b", 1);
    assert_eq!(
        (down.logical, down.physical),
        (Some(LogicalState::Down), Some(PhysicalState::Polling))
    );
    assert_eq!((down.rate, down.peer), (None, None));
    let rates = [2, 3].map(|number| port(&subnet, "a, b", number).rate.unwrap().to_string());
    assert_eq!(rates, ["1xXDR", "4xFDR10"]);
    assert_eq!(port(&subnet, "e", 1).lid, 9);
    // Between two switches the label tells the number: no number is in it.
    let text = text.replace("1/9", "1/1/2")
        + " : 1 : 1 : \"e\"\n\"c: d\", Mellanox, 0x20, LID 8\n1/1/2 : 40 : ACT : LINK_UP : 1x : \
           200 : 0x10 : 1/1/2 : 7 : \"a, b\"\n";
    let subnet = Subnet::of(read(text));
    let far = subnet.cables().map(|(a, b)| (subnet.name(a), subnet.name(b))).next();
    assert_eq!(far, Some(("a, b[2]".to_owned(), "c: d[40]".to_owned())));
}

#[test]
fn bit_error_rates_come_from_the_extended_dump() {
    let both = ["ibdiagnet/ibdiagnet2.net_dump_ext", "small/ibnetdiscover.out"];
    let subnet = samples::subnet(&both);
    assert_whole(&subnet);
    assert_eq!((cables(&subnet), subnet.readings.len()), (cables(&truth()), 64));
    let reading = subnet.readings.iter().find(|r| r.counters["Symbol Err"] > 0).expect("one");
    assert_eq!(subnet.name(reading.end), "MF0;leaf000:MQM8700/U1[6]");
    let rates = ["Raw BER", "Effective BER", "Symbol BER"].map(|name| reading.ratios[name]);
    assert_eq!((rates, reading.counters["Effective Err"]), ([1e-6, 3e-11, 4e-13], 12));
    let clean = &subnet.readings[0].ratios;
    assert_eq!(clean["Effective BER"], 15e-255);
}

#[test]
fn static_ports_are_opensms_and_groups_hold_them() {
    let names = ["ibdiagnet/ibdiagnet2.far", "ibdiagnet/ibdiagnet2.db_csv"];
    let subnet = samples::subnet(&names);
    assert_whole(&subnet);
    let opensm = samples::subnet(&["opensm/opensm-lfts.dump", "small/ibnetdiscover.out"]);
    let switches = (0..subnet.nodes.len()).filter(|node| subnet.nodes[*node].is_switch());
    for node in switches {
        for lid in 1..=22 {
            let port = subnet.lfts.port(node, lid).expect("an entry");
            assert_eq!(Some(port), opensm.lfts.port(node, lid), "node {node}, LID {lid}");
            let adaptive = &subnet.adaptive[&(node as u32)];
            let group = adaptive.group_of_lid.get(&lid);
            let ports = group.map(|group| &adaptive.groups[group]);
            // Up to any spine, down by both cables; to a host here or to itself there is one path.
            let is_leaf = subnet.nodes[node].description.contains("leaf");
            let wanted = match port {
                0 => None,
                1..=4 if is_leaf => None,
                _ if is_leaf => Some(vec![5, 6, 7, 8]),
                _ => Some(vec![(port - 1) / 2 * 2 + 1, (port - 1) / 2 * 2 + 2]),
            };
            assert_eq!(ports, wanted.as_ref(), "node {node}, LID {lid}");
        }
    }
}

#[test]
fn wrong_lines_about_adaptive_routing_are_reported() {
    let text = "Switch 0x10 'leaf'\n\nGroups Definition:\nGroup SubGroup WHBF Ports\n-----\n\
                3 0 0 5, 6\n3 1 0 7,8\n4 0 0\n5 0 0 0\n\nLFT Definition:\n\
                LID Static Port LID State Group\n-----\n1 5 Free 3\n0x2 1 Static -\n3 7 HBF 4\n\
                4 9 Free 9\n5 Free\n\nLFT Definition:\n-----\n1 2 Static 0\nSwitch 0x20\n";
    let gathered = read(text);
    let reported: Vec<(u32, &str)> =
        gathered.unread.iter().map(|reported| (reported.place.line, &reported.what[..])).collect();
    let wanted = [
        (9, "5 0 0 0"),
        (18, "5 Free"),
        (20, "LFT Definition:"),
        (1, "1 LIDs of groups without a definition: LID 4, group 9"),
        (23, "a switch without a table"),
    ];
    assert_eq!(reported, wanted);
    let record = &gathered.adaptive[0].2;
    assert_eq!((&record.groups[&3][..], &record.groups[&4][..]), (&[5, 6, 7, 8][..], &[][..]));
    assert_eq!(record.group_of_lid.clone().into_iter().collect::<Vec<_>>(), [(1, 3), (3, 4)]);
    assert_eq!(gathered.tables[0].ports, [255, 5, 1, 7, 9]);
}

#[test]
fn forwarding_tables_of_ibdiagnet_are_opensms_the_first_of_a_switch() {
    let subnet = samples::subnet(&["ibdiagnet/ibdiagnet2.fdbs", "small/ibnetdiscover.out"]);
    assert_whole(&subnet);
    let opensm = samples::subnet(&["opensm/opensm.fdbs", "small/ibnetdiscover.out"]);
    assert_eq!(subnet.lfts, opensm.lfts);
    let table = "osm_ucast_mgr_dump_ucast_routes: Switch 0x10\nLID    : Port : Hops : Optimal\n";
    let gathered = read(format!("{table}PLFT_NUM: 0\n0x0001 : 003  : 00   : yes\nPLFT_NUM: 1\n"));
    assert_eq!(gathered.tables[0].ports, [255, 3]);
    assert_eq!(gathered.unread[0].expected, "one table a switch; the first one is used");
}

#[test]
fn all_of_ibdiagnet_with_the_tools_of_infiniband_diags_is_one_net() {
    let mut names: Vec<String> = FILES.iter().map(|name| format!("ibdiagnet/{name}")).collect();
    names.extend(["small/iblinkinfo.out".to_owned(), "small/ibnetdiscover.out".to_owned()]);
    let names: Vec<&str> = names.iter().map(|name| &name[..]).collect();
    let subnet = samples::subnet(&names);
    assert_eq!(subnet.misfits, Vec::<Misfit>::new());
    assert_eq!((subnet.nodes.len(), cables(&subnet)), (22, cables(&truth())));
}

#[test]
fn damaged_files_lose_nothing_in_silence() {
    let database = sample(FILES[0]);
    for name in FILES {
        let text = sample(name);
        // The routes alone are about switches that are not described.
        let read = |text: &[u8]| match name {
            "ibdiagnet2.far" => samples::gathered(&[(name, text), ("db", database.as_bytes())]),
            _ => samples::gathered(&[(name, text)]),
        };
        let whole = Subnet::of(read(text.as_bytes()));
        for text in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
            let mut again = Subnet::of(read(text.as_bytes()));
            again.sources.clone_from(&whole.sources);
            for (kept, wanted) in again.kept.iter_mut().zip(&whole.kept) {
                kept.0 = wanted.0;
            }
            assert_eq!(again, whole, "{name}");
        }
        for text in [damage::with_a_long_line(&text), damage::with_bytes(&text)] {
            let again = Subnet::of(read(&text));
            let reported: Vec<u32> =
                again.unread.iter().map(|reported| reported.place.line).collect();
            assert_eq!(reported, [6], "{name}");
            assert_eq!(again.nodes.len(), whole.nodes.len());
        }
        for beginning in damage::beginnings(&text) {
            let gathered = read(beginning.as_bytes());
            let last = beginning.lines().last().unwrap_or_default().trim_end();
            let is_whole = last.is_empty() || text.lines().any(|line| line.trim_end() == last);
            let is_comment = last.starts_with(['#', '-', 'G', 'L']);
            assert!(is_whole || is_comment || !gathered.unread.is_empty(), "{name}: {last}");
            let in_section = last.starts_with("0x") && name.ends_with("db_csv");
            assert!(!in_section || !gathered.unread.is_empty(), "{name}: {last}");
            let _ = Subnet::of(gathered);
        }
    }
}
