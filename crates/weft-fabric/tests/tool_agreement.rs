//! One net as five tools describe it: the same cables, rates and LIDs; and the quirks of each.

use crate::common::{
    damage,
    samples::{self, read},
};
use std::collections::BTreeSet;
use std::fs;
use weft_fabric::subnet::{End, Kind, LogicalState, PhysicalState, Subnet};

const FILES: [&str; 5] = [
    "ibnetdiscover-p.out",
    "ibnetdiscover-l.out",
    "iblinkinfo.out",
    "iblinkinfo-l.out",
    "opensm-subnet.lst",
];

fn sample(name: &str) -> String {
    fs::read_to_string(samples::folder().join(name)).expect("a sample")
}

/// Cables as 'description[port] description[port] rate', the lesser end first.
fn cables(subnet: &Subnet) -> BTreeSet<String> {
    let cable = |(a, b): (End, End)| {
        let mut ends = [subnet.name(a), subnet.name(b)];
        ends.sort();
        let rates = [a, b].map(|end| subnet.port(end).unwrap().rate.map(|rate| rate.to_string()));
        assert_eq!(rates[0], rates[1]);
        format!("{} {} {}", ends[0], ends[1], rates[0].as_deref().unwrap_or("?"))
    };
    subnet.cables().map(cable).collect()
}

/// By LID whose it is: description, kind, and the port.
fn lids(subnet: &Subnet) -> Vec<(u16, String, Kind)> {
    let of = |lid| subnet.end_of_lid(lid).map(|end| (lid, end));
    let reported = (1..=subnet.top_lid()).filter_map(of);
    reported
        .map(|(lid, end)| (lid, subnet.name(end), subnet.nodes[end.node as usize].kind))
        .collect()
}

fn assert_whole(subnet: &Subnet, name: &str) {
    assert_eq!((&subnet.unread[..], &subnet.misfits[..]), (&[][..], &[][..]), "{name}");
}

#[test]
fn five_tools_agree_on_cables_rates_and_lids() {
    let truth = samples::subnet(&["small/ibnetdiscover.out"]);
    assert_eq!((cables(&truth).len(), lids(&truth).len()), (32, 22));
    for name in FILES {
        let subnet = samples::subnet(&[&format!("small/{name}")]);
        assert_whole(&subnet, name);
        assert_eq!(subnet.nodes.len(), 22, "{name}");
        if name == "ibnetdiscover-l.out" {
            let named = |subnet: &Subnet| -> Vec<_> {
                let nodes = subnet.nodes.iter();
                nodes.map(|n| (n.guid, n.kind, n.description.clone(), n.device)).collect()
            };
            assert_eq!(named(&subnet), named(&truth));
            continue;
        }
        assert_eq!(cables(&subnet), cables(&truth), "{name}");
        assert_eq!(lids(&subnet), lids(&truth), "{name}");
    }
}

#[test]
fn read_together_they_are_one_net_with_real_guids() {
    let truth = samples::subnet(&["small/ibnetdiscover.out"]);
    let names: Vec<String> = FILES.iter().map(|name| format!("small/{name}")).collect();
    for first in 0..names.len() {
        let mut order: Vec<&str> = names.iter().map(|name| &name[..]).collect();
        order.rotate_left(first);
        order.push("small/ibnetdiscover.out");
        let subnet = samples::subnet(&order);
        assert_whole(&subnet, order[0]);
        let guids = |subnet: &Subnet| subnet.nodes.iter().map(|node| node.guid).collect::<Vec<_>>();
        assert_eq!(guids(&subnet), guids(&truth), "{}", order[0]);
        assert_eq!((cables(&subnet), lids(&subnet)), (cables(&truth), lids(&truth)));
    }
}

#[test]
fn of_an_unusual_net_they_agree_where_they_can() {
    // The cable between the spines was unplugged after the subnet manager had written its list.
    let truth = samples::subnet(&["quirks/ibnetdiscover.out"]);
    let (all, named) = (cables(&truth), lids(&truth));
    for name in ["ibnetdiscover-p.out", "iblinkinfo.out", "iblinkinfo-l.out"] {
        let subnet = samples::subnet(&[&format!("quirks/{name}")]);
        assert_whole(&subnet, name);
        assert_eq!(cables(&subnet), all, "{name}");
    }
    let before = samples::subnet(&["quirks/opensm-subnet.lst"]);
    assert_whole(&before, "opensm-subnet.lst");
    let gone: Vec<String> = cables(&before).difference(&all).cloned().collect();
    let cable = "Infiniscale-IV   Mellanox Technologies[20] Quantum Mellanox Technologies[8] 4xSDR";
    assert_eq!(gone, [cable]);
    // Only the discovery itself knows the LMC; base LIDs are in every file.
    let base = |named: &[(u16, String, Kind)]| -> Vec<(u16, String, Kind)> {
        named.iter().filter(|(lid, _, _)| lid.is_multiple_of(4)).cloned().collect()
    };
    assert_eq!(lids(&before), base(&named));
    assert_eq!(lids(&samples::subnet(&["quirks/iblinkinfo.out"])), base(&named));
}

#[test]
fn an_adapter_of_two_ports_is_one_node_where_a_file_says_so() {
    let n_nodes = |name: &str| samples::subnet(&[name]).nodes.len();
    // Nine nodes: five hosts, two of them with two ports, three switches, a router with two ports.
    assert_eq!(n_nodes("quirks/ibnetdiscover.out"), 9);
    assert_eq!(n_nodes("quirks/iblinkinfo.out"), 9);
    assert_eq!(n_nodes("quirks/opensm-subnet.lst"), 9);
    // Where only ports have names, three of them are nodes of their own.
    assert_eq!(n_nodes("quirks/ibnetdiscover-p.out"), 12);
    let both = samples::subnet(&["quirks/ibnetdiscover-p.out", "quirks/ibnetdiscover.out"]);
    assert_eq!((both.nodes.len(), both.misfits.len()), (9, 0));
}

#[test]
fn ports_that_are_down_have_a_state_and_no_peer() {
    let subnet = samples::subnet(&["fault/iblinkinfo_after_unlink.out"]);
    assert_whole(&subnet, "after unlink");
    let down: Vec<String> = subnet
        .nodes
        .iter()
        .flat_map(|node| node.ports.iter().enumerate().map(move |(at, port)| (node, at, port)))
        .filter(|(_, _, port)| port.logical == Some(LogicalState::Down))
        .map(|(node, at, port)| {
            assert_eq!((port.physical, port.peer), (Some(PhysicalState::Polling), None));
            assert_eq!((port.rate, port.lid), (None, 0));
            format!("{}[{}]", node.description, at + 1)
        })
        .collect();
    assert_eq!(down, ["MF0;leaf000:MQM8700/U1[5]", "MF0;spine00:MQM8700/U1[1]"]);
    assert_eq!(cables(&subnet).len(), 31);
    let up = subnet.endports().next().and_then(|end| subnet.port(end)).expect("a host");
    let states = (up.logical, up.physical);
    assert_eq!(states, (Some(LogicalState::Active), Some(PhysicalState::LinkUp)));
    // The list of ports shows ports without a cable, too, at a rate that means nothing.
    let listed = samples::subnet(&["quirks/ibnetdiscover-p.out"]);
    let switch = listed.nodes.iter().find(|node| node.ports.len() == 36).expect("the large one");
    assert!(switch.ports[2..18].iter().all(|port| port.peer.is_none() && port.rate.is_none()));
}

#[test]
fn what_a_link_could_be_is_believed_up_to_four_lanes() {
    let subnet = samples::subnet(&["quirks/iblinkinfo.out"]);
    let supported = |description: &str, port: u8| {
        let node = subnet.nodes.iter().find(|node| node.description == description).expect("it");
        node.port(port).expect("a port").supported.map(|rate| rate.to_string())
    };
    // '(Could be 12X )' of a 2x link at HDR: nothing better at four lanes is claimed.
    assert_eq!(supported("login1; mlx5_0 'a' HCA-1", 1), None);
    // '(Could be 12X Could be 53.125 Gbps)' of a 4x link at EDR.
    assert_eq!(supported("login1; mlx5_0 'a' HCA-1", 2).as_deref(), Some("4xHDR"));
    // '(Could be 12X Could be 10.0 Gbps)' of a 1x link at SDR.
    assert_eq!(supported("node:02/", 1).as_deref(), Some("1xQDR"));
    let line = "CA: a:\n      0x0000000000000011      1    1[  ] ==( 1X      25.78125 Gbps \
                Active/  LinkUp)==>       2    1[  ] \"s\" (Could be 4X Could be 106.25 Gbps)\n";
    let could_be = |line: &str| Subnet::of(read(line)).nodes[0].ports[0].supported.unwrap();
    assert_eq!(could_be(line).to_string(), "4xNDR");
    let fdr10 = "Could be FDR10 (Found link at QDR but expected speed is FDR10)";
    let line = line.replace("25.78125", "10.0").replace("Could be 106.25 Gbps", fdr10);
    assert_eq!(could_be(&line).to_string(), "4xFDR10");
}

#[test]
fn where_only_switches_have_lines_their_hosts_are_nodes_too() {
    let truth = samples::subnet(&["quirks/ibnetdiscover.out"]);
    let subnet = samples::subnet(&["quirks/iblinkinfo-sw.out"]);
    assert_whole(&subnet, "--switches-only");
    assert_eq!(cables(&subnet), cables(&truth));
    // Hosts have only LIDs there, one a port: 5 + 2 and the router's two.
    let nameless = subnet.nodes.iter().filter(|node| node.guid >> 32 == 0xffff_ffff);
    assert_eq!(nameless.clone().count(), 9);
    assert!(
        nameless.clone().all(|node| node.kind == Kind::Ca && (node.guid as u16).is_multiple_of(4))
    );
    // With a file that says the GUIDs they are gone.
    let both = samples::subnet(&["quirks/iblinkinfo-sw.out", "quirks/ibnetdiscover.out"]);
    assert_whole(&both, "both");
    assert_eq!(both.nodes.len(), 9);
    let small = samples::subnet(&["small/iblinkinfo-sw.out"]);
    assert_eq!((small.nodes.len(), cables(&small).len()), (22, 32));
}

#[test]
fn peers_without_lid_and_settings_after_the_states() {
    let row = "           0    1[  ] ==( 4X        53.125 Gbps Active/  LinkUp) (HOQ:18 VL_Stall:7)\
               ==>       0    2[ 3] \"b\" ( )\n";
    let row = row.replace("1[  ]", "1[12]");
    let gathered = read(format!("Switch: 0x00000000000000a1 a:\n{row}"));
    assert_eq!(gathered.ports[0].facts, [("Label".to_owned(), "12".to_owned())]);
    assert_eq!(gathered.unread.len(), 1);
    assert_eq!(gathered.unread[0].what, "a peer without GUID and LID: 'b'");
    assert_eq!(gathered.ports[0].rate.map(|rate| rate.to_string()).as_deref(), Some("4xHDR"));
    // A line of a switch that was not introduced.
    let gathered = read(row);
    let expected = "the line of its node before that of a port, or lines as -l prints them";
    assert_eq!(gathered.unread[0].expected, expected);
}

#[test]
fn node_lists_tell_the_lids_of_switches() {
    let subnet = samples::subnet(&["quirks/ibnodes.out"]);
    assert_whole(&subnet, "ibnodes");
    let switches: Vec<(u16, usize)> = subnet
        .nodes
        .iter()
        .filter(|node| node.is_switch())
        .map(|node| (node.lid, node.ports.len()))
        .collect();
    assert_eq!(switches, [(8, 12), (16, 12), (28, 36)]);
    let described = subnet.nodes.iter().find(|node| node.ports.len() == 2).expect("a host");
    assert_eq!(described.description, "login1; mlx5_0 'a' HCA-1");
}

#[test]
fn damaged_lists_lose_nothing_in_silence() {
    for name in FILES {
        let text = sample(&format!("small/{name}"));
        let whole = Subnet::of(read(&text));
        for text in [damage::with_carriage_returns(&text), damage::with_warnings(&text)] {
            let mut again = Subnet::of(read(&text));
            again.sources.clone_from(&whole.sources);
            again.unread.clone_from(&whole.unread);
            assert_eq!(again, whole, "{name}");
        }
        for text in [damage::with_a_long_line(&text), damage::with_bytes(&text)] {
            let again = Subnet::of(read(&text));
            assert_eq!((again.unread.len(), again.unread[0].place.line), (1, 6), "{name}");
            assert_eq!(cables(&again), cables(&whole), "{name}");
        }
        for beginning in damage::beginnings(&text) {
            let gathered = read(beginning);
            // A last line may lack only its end, or have no text yet.
            let last = beginning.lines().last().unwrap_or_default().trim_end();
            let is_whole = last.is_empty() || text.lines().any(|line| line.trim_end() == last);
            assert!(is_whole || !gathered.unread.is_empty(), "{name}: {last}");
            let part = Subnet::of(gathered);
            assert!(cables(&part).len() <= cables(&whole).len());
        }
    }
}
