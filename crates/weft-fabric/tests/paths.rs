//! Walks over tables that are small enough to count by hand.

use weft_fabric::paths::{
    Choice, Net, PathError, all_to_all, bisection, credit_loop, of_pairs, shifts, survey, trace,
    trace_adaptive,
};
use weft_fabric::subnet::records::{AdaptiveRecord, Gathered, Kind, Who};
use weft_fabric::subnet::records::{CableRecord, NodeRecord, PortRecord, Sl2vlRecord, TableRecord};
use weft_fabric::subnet::{End, LinkRate, Place, Subnet};

const HERE: Place = Place { source: 0, line: 1 };
/// Hosts have the GUIDs (and LIDs) 1, 2, ...; switches 101, 102, ... with the LIDs 51, 52, ...
const SWITCHES: u64 = 100;

/// A subnet in the making.
struct Plan(Gathered);

impl Plan {
    fn new() -> Plan {
        Plan(Gathered::default())
    }

    fn host(mut self, host: u64, switch: u64, port: u8) -> Plan {
        let who = Who::Node(host);
        self.0.nodes.push(NodeRecord {
            kind: Some(Kind::Ca),
            description: Some(format!("h{host}")),
            ..NodeRecord::of(HERE, who)
        });
        let lid = Some(host as u16);
        self.0.ports.push(PortRecord { lid, ..PortRecord::of(HERE, who, 1) });
        self.cable((who, 1), (Who::Node(SWITCHES + switch), port))
    }

    fn link(self, a: (u64, u8), b: (u64, u8)) -> Plan {
        let named = |(switch, port)| (Who::Node(SWITCHES + switch), port);
        self.cable(named(a), named(b))
    }

    fn cable(mut self, a: (Who, u8), b: (Who, u8)) -> Plan {
        let rate = LinkRate::from_word("4xHDR");
        self.0.cables.push(CableRecord { place: HERE, ends: [a, b], rate });
        self
    }

    /// The table of a switch: (LID, port) pairs.
    fn table(mut self, switch: u64, entries: &[(u16, u8)]) -> Plan {
        let who = Who::Node(SWITCHES + switch);
        self.0.nodes.push(NodeRecord {
            kind: Some(Kind::Switch),
            lid: Some(50 + switch as u16),
            description: Some(format!("s{switch}")),
            ..NodeRecord::of(HERE, who)
        });
        let mut ports = vec![255; 100];
        for (lid, port) in entries {
            ports[usize::from(*lid)] = *port;
        }
        self.0.tables.push(TableRecord { place: HERE, who, ports });
        self
    }

    fn subnet(self) -> Subnet {
        let subnet = Subnet::of(self.0);
        assert_eq!(subnet.misfits, []);
        subnet
    }
}

/// Four switches in a ring with a host each on port 1; port 2 leads on, port 3 back, and everything
/// goes on.
fn ring() -> Plan {
    let mut plan = Plan::new();
    for switch in 1..=4 {
        let own: Vec<(u16, u8)> =
            (1..=4).map(|host| (host, if u64::from(host) == switch { 1 } else { 2 })).collect();
        plan = plan.host(switch, switch, 1).table(switch, &own);
    }
    (1..=4).fold(plan, |plan, switch| plan.link((switch, 2), (switch % 4 + 1, 3)))
}

/// Two leaves with two hosts each (ports 1 and 2), one spine; up by port 3.
fn tree() -> Plan {
    let mut plan = Plan::new();
    for host in 1..=4 {
        plan = plan.host(host, 1 + (host - 1) / 2, 1 + (host as u8 - 1) % 2);
    }
    plan.link((1, 3), (3, 1))
        .link((2, 3), (3, 2))
        .table(1, &[(1, 1), (2, 2), (3, 3), (4, 3)])
        .table(2, &[(1, 3), (2, 3), (3, 1), (4, 2)])
        .table(3, &[(1, 1), (2, 1), (3, 2), (4, 2)])
}

fn node(subnet: &Subnet, name: &str) -> u32 {
    subnet.nodes.iter().position(|node| node.description == name).expect("it is there") as u32
}

#[test]
fn lengths_of_a_ring_that_goes_in_one_direction() {
    let subnet = ring().subnet();
    let found = survey(&Net::new(&subnet, &subnet.lfts));
    // To the next switch 3 cables, then 4, then 5; four sources each.
    assert_eq!(found.hops.into_iter().collect::<Vec<_>>(), [(3, 4), (4, 4), (5, 4)]);
    assert_eq!((found.n_pairs, found.n_unreachable, found.n_valley_paths), (12, 0, 0));
}

/// The lanes that a ring's switches send on, for what comes from their host and from the ring.
fn with_lanes(mut plan: Plan, lane: impl Fn(u64, u8, usize) -> u8) -> Plan {
    for switch in 1..=4u64 {
        for ingress in [1, 3] {
            let lanes = std::array::from_fn(|level| lane(switch, ingress, level));
            let who = Who::Node(SWITCHES + switch);
            plan.0.sl2vl.push(Sl2vlRecord { place: HERE, who, ingress, egress: 2, lanes });
        }
    }
    plan
}

#[test]
fn a_ring_that_goes_in_one_direction_waits_in_a_circle() {
    let subnet = ring().subnet();
    let found = credit_loop(&Net::new(&subnet, &subnet.lfts), &subnet.sl2vl, 0).expect("a loop");
    assert_eq!((found.channels.len(), found.n_channels), (4, 4));
    assert!(found.channels.iter().all(|(end, lane)| end.port == 2 && *lane == 0));
}

#[test]
fn lanes_by_ingress_move_the_circle_and_what_is_dropped_breaks_it() {
    // From the ring into lane 2 at even switches; hosts begin in lane 7, which nothing waits for.
    let even = |switch: u64| if switch.is_multiple_of(2) { 2 } else { 0 };
    let lane = |switch, ingress, level| match (switch, ingress, level) {
        // On service level 1, switch 1 drops what comes from the ring.
        (1, 3, 1) => 15,
        (_, 1, _) => 7,
        _ => even(switch),
    };
    let subnet = with_lanes(ring(), lane).subnet();
    let net = Net::new(&subnet, &subnet.lfts);
    let found = credit_loop(&net, &subnet.sl2vl, 0).expect("a loop");
    let mut lanes: Vec<(u64, u8)> = (found.channels.iter())
        .map(|(end, lane)| (subnet.nodes[end.node as usize].guid - SWITCHES, *lane))
        .collect();
    lanes.sort_unstable();
    assert_eq!(lanes, [(1, 0), (2, 2), (3, 0), (4, 2)]);
    assert_eq!(found.n_channels, 4);
    assert_eq!(credit_loop(&net, &subnet.sl2vl, 1), None);
}

#[test]
fn a_tree_has_no_loop_and_its_loads_are_what_one_counts() {
    let subnet = tree().subnet();
    let net = Net::new(&subnet, &subnet.lfts);
    assert_eq!(credit_loop(&net, &subnet.sl2vl, 0), None);
    let loads = all_to_all(&net);
    // Up from each leaf and down to each: 2 sources to 2 destinations.
    let counts: Vec<(u64, u32)> = loads.iter().map(|load| (load.n_paths, load.n_lids)).collect();
    assert_eq!(counts, [(4, 2); 4]);
    let found = survey(&net);
    assert_eq!(found.hops.into_iter().collect::<Vec<_>>(), [(2, 4), (4, 8)]);
    let pairs = of_pairs(&net, &[(0, 2), (1, 3), (0, 1)]);
    let up = End { node: node(&subnet, "s1"), port: 3 };
    assert_eq!(pairs.iter().find(|load| load.end == up).expect("it is there").n_paths, 2);
}

#[test]
fn shifts_of_a_tree() {
    let subnet = tree().subnet();
    let found = shifts(&Net::new(&subnet, &subnet.lfts), 10);
    // By 1 and by 3 one host of each leaf crosses; by 2 both do.
    assert_eq!((found.shifts, found.worst), (vec![1, 2, 3], vec![1, 2, 1]));
    assert_eq!(found.fullest.map(|(shift, _)| shift), Some(2));
}

#[test]
fn half_of_a_tree_against_the_other() {
    let subnet = tree().subnet();
    let found = bisection(&Net::new(&subnet, &subnet.lfts), 3000, 7).expect("four end ports");
    // Both pairs stay on their leaves (one matching in three), or all share two cables.
    assert!(found.shares.iter().all(|share| *share == 1.0 || *share == 0.5));
    assert!((found.mean - 2.0 / 3.0).abs() < 5.0 * found.standard_error);
    assert_eq!((found.least, found.most), (0.5, 1.0));
}

#[test]
fn a_path_down_and_up_again_is_a_valley() {
    // Leaf 1 sends what is for leaf 2 by spine 4, which knows only the way over leaf 3.
    let plan = Plan::new().host(1, 1, 1).host(2, 2, 1).host(3, 3, 1);
    let plan = plan.link((1, 2), (4, 1)).link((4, 2), (3, 2)).link((3, 3), (5, 1));
    let plan = plan.link((5, 2), (2, 2));
    let plan = plan.table(1, &[(1, 1), (2, 2), (3, 2)]).table(4, &[(1, 1), (2, 2), (3, 2)]);
    let plan = plan.table(3, &[(1, 2), (2, 3), (3, 1)]).table(5, &[(1, 1), (2, 2), (3, 1)]);
    let subnet = plan.table(2, &[(1, 2), (2, 1), (3, 2)]).subnet();
    let found = survey(&Net::new(&subnet, &subnet.lfts));
    assert_eq!((found.n_unreachable, found.n_valley_paths, found.valleys.len()), (0, 2, 1));
    assert_eq!(found.valleys[0].at, node(&subnet, "s3"));
    let example = found.valleys[0].example.map(|end| subnet.nodes[end.node as usize].guid);
    assert!(example == [1, 2] || example == [2, 1]);
}

#[test]
fn a_missing_entry_and_a_circle_are_unreachable_and_named() {
    let mut plan = tree();
    plan.0.tables[0].ports[4] = 255;
    let subnet = plan.subnet();
    let found = survey(&Net::new(&subnet, &subnet.lfts));
    assert_eq!((found.n_unreachable, found.n_unreachable_lids), (2, 1));
    let missing = &found.unreachable[0];
    assert_eq!((missing.lid, missing.n_sources, missing.port), (4, 2, 0));
    assert_eq!(missing.at, node(&subnet, "s1"));
    let src = End { node: node(&subnet, "h1"), port: 1 };
    let error = trace(&subnet, &subnet.lfts, src, 4).expect_err("no entry");
    assert_eq!(error.to_string().lines().next(), Some("'s1': LID 4 goes out by no port"));
    let mut plan = tree();
    plan.0.tables[2].ports[4] = 1;
    let subnet = plan.subnet();
    let found = survey(&Net::new(&subnet, &subnet.lfts));
    // Between leaf 1 and the spine; leaf 2 still reaches its own.
    assert_eq!((found.n_unreachable, found.unreachable[0].circle.len()), (2, 2));
    let error = trace(&subnet, &subnet.lfts, src, 4).expect_err("a circle");
    assert!(matches!(error, PathError::Circle { lid: 4, .. }));
    let error = trace(&subnet, &subnet.lfts, src, 99).expect_err("no such LID");
    assert_eq!(error.to_string().lines().next(), Some("no port has LID 99"));
}

/// Two leaves with a host each, two spines; the tables use the first.
fn two_spines() -> Plan {
    let plan = Plan::new().host(1, 1, 1).host(2, 2, 1);
    let plan = plan.link((1, 2), (3, 1)).link((1, 3), (4, 1)).link((2, 2), (3, 2));
    let plan = plan.link((2, 3), (4, 2)).table(1, &[(1, 1), (2, 2)]).table(2, &[(1, 2), (2, 1)]);
    plan.table(3, &[(1, 1), (2, 2)]).table(4, &[(1, 1), (2, 2)])
}

#[test]
fn adaptive_routing_may_take_every_port_of_a_group_or_with_the_fewest_hops() {
    let mut plan = two_spines();
    let subnet = two_spines().subnet();
    let src = End { node: node(&subnet, "h1"), port: 1 };
    let choices = |subnet: &Subnet, choice: Choice<'_>| -> Vec<(u64, u8)> {
        let hops = trace_adaptive(subnet, &subnet.lfts, choice, src, 2).expect("it arrives");
        let guid = |node: u32| subnet.nodes[node as usize].guid;
        hops.iter().map(|hop| (guid(hop.egress.node), hop.egress.port)).collect()
    };
    let all = [(1, 1), (101, 2), (101, 3), (103, 2), (104, 2), (102, 1)];
    assert_eq!(choices(&subnet, Choice::FewestHops), all);
    // No groups at all: the table's own way.
    let none = choices(&subnet, Choice::Groups(&subnet.adaptive));
    assert_eq!(none, [(1, 1), (101, 2), (103, 2), (102, 1)]);
    let group = AdaptiveRecord { groups: [(7, vec![2, 3])].into(), group_of_lid: [(2, 7)].into() };
    plan.0.adaptive.push((HERE, Who::Node(101), group));
    let subnet = plan.subnet();
    assert_eq!(choices(&subnet, Choice::Groups(&subnet.adaptive)), all);
}
