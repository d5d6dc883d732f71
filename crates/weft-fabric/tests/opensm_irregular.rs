//! OpenSM's engines on whatever files may say: LIDs out of range or twice, cables in circles; and
//! ftree on trees that are none.

use crate::common::subnets::{Plan, path};
use proptest::prelude::*;
use weft_fabric::opensm::{OpensmEngine, Options, route};
use weft_fabric::subnet::records::{CableRecord, Gathered, NodeRecord, PortRecord, Who};
use weft_fabric::subnet::{End, Kind, LogicalState, Place, Subnet};

const PLACE: Place = Place { source: 0, line: 1 };

fn any_lid() -> impl Strategy<Value = u16> {
    let odd = prop_oneof![Just(0), Just(0xbffe), Just(0xbfff), Just(0xc000), Just(0xffff)];
    prop_oneof![24 => 1u16..40, 1 => odd]
}

fn any_node() -> impl Strategy<Value = (Kind, u16, bool)> {
    let kind = prop_oneof![4 => Just(Kind::Switch), 3 => Just(Kind::Ca), 1 => Just(Kind::Router)];
    (kind, any_lid(), prop::bool::weighted(0.05))
}

fn any_subnet() -> impl Strategy<Value = Subnet> {
    let ends = || (1u64..10, 1u8..7);
    let cables = prop::collection::vec((ends(), ends()), 0..25);
    let lmc = prop_oneof![3 => Just(0), 1 => 0u8..9];
    (prop::collection::vec(any_node(), 9), cables, lmc).prop_map(|(nodes, cables, lmc)| {
        let mut gathered = Gathered::default();
        for (guid, (kind, lid, is_down)) in (1..).zip(nodes) {
            let mut node = NodeRecord::of(PLACE, Who::Node(guid));
            (node.kind, node.n_ports) = (Some(kind), Some(6));
            if kind == Kind::Switch {
                (node.lid, node.lmc) = (Some(lid), Some(lmc));
            }
            gathered.nodes.push(node);
            for number in (1..7).filter(|_| kind != Kind::Switch || is_down) {
                let mut port = PortRecord::of(PLACE, Who::Node(guid), number);
                (port.lid, port.lmc) = (Some(lid.saturating_add(number.into())), Some(lmc));
                port.logical = is_down.then_some(LogicalState::Down);
                gathered.ports.push(port);
            }
        }
        for ends in cables {
            let ends = [ends.0, ends.1].map(|(guid, port)| (Who::Node(guid), port));
            gathered.cables.push(CableRecord { place: PLACE, ends, rate: None });
        }
        Subnet::of(gathered)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn no_subnet_is_too_damaged_and_every_entry_leads_somewhere(
        subnet in any_subnet(), roots in prop::collection::vec(1u64..10, 0..3)
    ) {
        let options = Options { roots };
        for engine in OpensmEngine::ALL {
            let Ok(routed) = route(&subnet, engine, &options) else { continue };
            for (node, there) in subnet.nodes.iter().enumerate() {
                for (lid, port) in (0..).zip(routed.lfts.row(node).unwrap_or_default()) {
                    match routed.lfts.port(node, lid) {
                        None => prop_assert_eq!(*port, 255),
                        Some(0) => prop_assert_eq!(there.lid, lid),
                        Some(port) => {
                            let end = End { node: node as u32, port };
                            prop_assert!(lid > 0 && subnet.peer(end).is_some());
                        }
                    }
                }
            }
        }
    }
}

/// Three levels of four switches, adapters on the lowest, cables between any of neighbouring levels
/// and of one level; at least one up from every switch.
fn any_layers() -> impl Strategy<Value = Plan> {
    let ups = prop::collection::vec(0usize..4, 8);
    let steep = prop::collection::vec((0usize..8, 0usize..4), 0..20);
    let level = prop::collection::vec((0usize..12, 0usize..4), 0..6);
    (ups, steep, level, prop::collection::vec(1usize..4, 4), any::<u64>()).prop_map(
        |(ups, steep, level, lowest, seed)| {
            let up = |(at, to): (usize, usize)| (4 + at, at / 4 * 4 + to);
            let mut cables: Vec<(usize, usize)> = ups.into_iter().enumerate().map(up).collect();
            cables.extend(steep.into_iter().map(up));
            cables.extend(level.into_iter().map(|(at, to)| (at, at / 4 * 4 + to)));
            cables.retain(|(a, b)| a != b);
            let adapters = [vec![0; 8], lowest].concat();
            Plan { cables, adapters, seed, lmc: 0 }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn ftree_of_given_roots_leads_to_the_end_wherever_it_has_an_entry(plan in any_layers()) {
        let subnet = plan.subnet();
        let options = Options { roots: (0..4).map(|root| plan.guid(root)).collect() };
        let routed = route(&subnet, OpensmEngine::Ftree, &options).expect("adapters at one level");
        for from in routed.ranks.keys().copied() {
            for lid in 1..=subnet.top_lid() {
                if routed.lfts.port(from as usize, lid).is_some() {
                    prop_assert!(path(&subnet, &routed.lfts, from, lid).is_some());
                }
            }
        }
        prop_assert_eq!(&routed, &route(&subnet, OpensmEngine::Ftree, &options).unwrap());
    }
}
