//! Generated fabrics: any taper, mixed rates, directors, rails; counts worked out by hand.

use serde_json::{Value, json};
use weft_fabric::document::{Engine, FabricDocument};
use weft_fabric::generate;
use weft_fabric::units::{BitsPerSecond, Picoseconds};
use weft_fabric::{Fabric, HcaId, check, engines};

fn spec(generator: &str, more: Value) -> Value {
    let mut spec = json!({"generate": generator, "host_bits_per_s": 100, "switch_bits_per_s": 200,
        "host_delay_ps": 1, "switch_delay_ps": 2});
    for (key, value) in more.as_object().expect("an object") {
        spec[key] = value.clone();
    }
    spec
}

fn built(generator: &str, more: Value) -> (FabricDocument, Fabric) {
    let written = generate::read(spec(generator, more)).expect("a document");
    let fabric = Fabric::new(&written).expect("a fabric");
    (written, fabric)
}

fn refused(generator: &str, more: Value, beginning: &str) {
    let text = generate::read(spec(generator, more)).expect_err("refused").to_string();
    assert!(text.starts_with(beginning) && text.contains("\n  expected: "), "{text}");
}

fn count(written: &FabricDocument, part: &str) -> usize {
    written.switches.iter().filter(|switch| switch.name.contains(part)).count()
}

/// The vertex at the other end of a port, by name.
fn beyond(fabric: &Fabric, port: &str) -> String {
    let port = fabric.port_named("test", port).expect("a port");
    fabric.vertices[fabric.neighbour(port).expect("a cable").index()].name.clone()
}

fn rate(fabric: &Fabric, port: &str) -> u64 {
    fabric.ports[fabric.port_named("test", port).expect("a port").index()].rate.0
}

/// Every engine of trees has a path for every pair, and none waits for itself.
fn every_pair_is_reached(fabric: &Fabric) {
    let hcas: Vec<HcaId> = (0..fabric.n_hcas()).map(HcaId).collect();
    for engine in [Engine::Dmodk, Engine::Updn] {
        let routes = engines::compute(fabric, engine);
        check::check_routes(fabric, &routes, &hcas).expect("paths for all, none in a circle");
    }
}

#[test]
fn leaves_of_several_kinds_have_their_own_nodes_cables_and_rates() {
    let leaves = json!([{"count": 2, "nodes": 3},
        {"nodes": 1, "cables_per_spine": 2, "host_bits_per_s": 50, "switch_bits_per_s": 400}]);
    let (written, fabric) = built("fat_tree", json!({"levels": 2, "leaves": leaves, "spines": 2}));
    assert_eq!((written.nodes.len(), count(&written, "leaf"), count(&written, "spine")), (7, 3, 2));
    // 7 HCA cables; up from two leaves a cable to each of two spines, from the third two to each.
    assert_eq!(written.links.len(), 7 + 2 * 2 + 4);
    let ports: Vec<u32> = written.switches.iter().map(|switch| switch.ports).collect();
    assert_eq!(ports, [5, 5, 5, 4, 4]);
    assert_eq!(beyond(&fabric, "leaf-03[1]"), "n007/hca0");
    assert_eq!((rate(&fabric, "leaf-03[1]"), rate(&fabric, "leaf-02[1]")), (50, 100));
    assert_eq!((rate(&fabric, "leaf-03[2]"), rate(&fabric, "leaf-02[4]")), (400, 200));
    // Leaves 1 and 2 have the first two ports of a spine, leaf 3 the other two.
    for (port, leaf) in [(1, "leaf-01"), (2, "leaf-02"), (3, "leaf-03"), (4, "leaf-03")] {
        assert_eq!(beyond(&fabric, &format!("spine-02[{port}]")), leaf);
    }
    every_pair_is_reached(&fabric);
}

#[test]
fn a_three_level_tree_may_be_tapered_at_each_level() {
    let shape = json!({"levels": 3, "nodes": 20, "nodes_per_leaf": 4, "leaves_per_pod": 2,
        "spines_per_pod": 2, "cables_per_spine": 1, "cores_per_spine": 1, "cables_per_core": 2,
        "core_bits_per_s": 800, "core_delay_ps": 7});
    let (written, fabric) = built("fat_tree", shape);
    let found = (count(&written, "leaf"), count(&written, "spine"), count(&written, "core"));
    // 5 leaves are 2 pods and a half.
    assert_eq!(found, (5, 6, 2));
    assert_eq!(written.links.len(), 20 + 5 * 2 + 6 * 2);
    // A spine has 2 ports down; spines of one place share their core, two cables each.
    assert_eq!(beyond(&fabric, "spine-04[3]"), "core-02");
    assert_eq!(beyond(&fabric, "core-02[4]"), "spine-04");
    let port = fabric.port_named("test", "core-01[6]").expect("a port");
    let port = fabric.ports[port.index()];
    assert_eq!((port.rate, port.delay), (BitsPerSecond(800), Picoseconds(7)));
    every_pair_is_reached(&fabric);
}

fn directors(more: Value) -> Value {
    let mut shape = json!({"nodes": 8008, "nodes_per_leaf": 44, "directors": 6,
        "cables_per_director": 3, "inside": "boards", "board_ports": 40, "inside_delay_ps": 9});
    for (key, value) in more.as_object().expect("an object") {
        shape[key] = value.clone();
    }
    shape
}

/// 182 leaves have 546 cables to each director: 28 line boards of 20, the last of them with 6.
#[test]
fn directors_are_line_boards_below_spine_boards() {
    let (written, fabric) = built("directors", directors(json!({"assumed": ["a guess"]})));
    let found = (count(&written, "leaf"), count(&written, "line"), count(&written, "spine"));
    assert_eq!((found, written.nodes.len()), ((182, 6 * 28, 6 * 20), 8008));
    assert_eq!(written.links.len(), 8008 + 182 * 18 + 6 * 28 * 20);
    assert_eq!(beyond(&fabric, "leaf-001[45]"), "director-01/line-01");
    assert_eq!(beyond(&fabric, "leaf-001[46]"), "director-02/line-01");
    // Cables 19 and 20 of a director are leaf 7's first two, its third begins the next board.
    assert_eq!(beyond(&fabric, "director-03/line-01[20]"), "leaf-007");
    assert_eq!(beyond(&fabric, "director-03/line-02[1]"), "leaf-007");
    assert_eq!(beyond(&fabric, "director-06/line-28[6]"), "leaf-182");
    let unused = fabric.port_named("test", "director-06/line-28[7]").expect("a port");
    assert_eq!(fabric.neighbour(unused), None);
    assert_eq!(beyond(&fabric, "director-06/line-28[40]"), "director-06/spine-20");
    let inside = fabric.port_named("test", "director-06/spine-20[28]").expect("a port");
    let inside = fabric.ports[inside.index()];
    assert_eq!((inside.rate, inside.delay), (BitsPerSecond(200), Picoseconds(9)));
    assert_eq!(written.assumed.len(), 2);
    assert_eq!(written.assumed[0], "a guess");
    let guess = "the inside of the 6 directors: 28 line boards of 20 ports down and 20 up";
    assert!(written.assumed[1].starts_with(guess), "{:?}", written.assumed);
}

#[test]
fn a_director_may_be_one_switch_and_says_that_this_is_a_guess() {
    let one = json!({"inside": "one_switch", "board_ports": null, "inside_delay_ps": null});
    let (written, fabric) = built("directors", directors(one));
    assert_eq!((count(&written, "leaf"), count(&written, "director")), (182, 6));
    assert_eq!(written.links.len(), 8008 + 182 * 18);
    assert_eq!(beyond(&fabric, "director-06[546]"), "leaf-182");
    assert!(written.assumed[0].contains("taken for one switch"), "{:?}", written.assumed);
}

#[test]
fn small_directors_have_a_path_for_every_pair() {
    let small = json!({"nodes": 15, "nodes_per_leaf": 3, "directors": 2, "board_ports": 8,
        "hcas_per_node": 2, "spine_boards": 2});
    let (written, fabric) = built("directors", directors(small));
    // 5 leaves have 15 cables to a director: 4 line boards of 4, two cables to each of 2 spines.
    let again = generate::read(serde_json::to_value(&written).expect("JSON")).expect("a document");
    assert_eq!(again, written);
    every_pair_is_reached(&fabric);
}

#[test]
fn a_rail_has_the_hcas_of_one_number() {
    let names: Vec<String> = (0..8).map(|rail| format!("mlx5_ib{rail}")).collect();
    let (written, fabric) = built(
        "rails",
        json!({"levels": 2, "nodes": 44, "hcas_per_node": 8,
        "hca_names": names, "nodes_per_unit": 20, "spines": 10, "cables_per_spine": 2}),
    );
    // 3 units, the last with 4 nodes: 24 leaves of 20 ports down and 20 up.
    assert_eq!((count(&written, "leaf"), count(&written, "spine")), (24, 10));
    assert_eq!(written.links.len(), 44 * 8 + 24 * 20);
    assert_eq!(written.nodes[43].hcas[7], "n044/mlx5_ib7");
    assert_eq!(beyond(&fabric, "n044/mlx5_ib7[1]"), "rail7-leaf-03");
    assert_eq!(beyond(&fabric, "n020/mlx5_ib0[1]"), "rail0-leaf-01");
    assert_eq!(beyond(&fabric, "n021/mlx5_ib0[1]"), "rail0-leaf-02");
    // A spine has two cables from each leaf, unit by unit: 24 x 2 ports.
    assert_eq!(beyond(&fabric, "spine-10[48]"), "rail7-leaf-03");
    every_pair_is_reached(&fabric);
}

#[test]
fn rails_of_three_levels_meet_in_the_cores_alone() {
    let (written, fabric) = built(
        "rails",
        json!({"levels": 3, "nodes": 11, "hcas_per_node": 4,
        "nodes_per_unit": 2, "units_per_pod": 2, "spines_per_rail": 2, "cores_per_spine": 3}),
    );
    // 6 units of 2 nodes are 3 pods; 4 rails; 2 spines a rail and pod; 2 x 3 cores.
    let found = (count(&written, "leaf"), count(&written, "spine"), count(&written, "core"));
    assert_eq!(found, (24, 24, 6));
    assert_eq!(written.links.len(), 44 + 24 * 2 + 24 * 3);
    for number in 1..=2 {
        assert!(beyond(&fabric, &format!("rail2-spine-05[{number}]")).starts_with("rail2-leaf"));
    }
    assert_eq!(beyond(&fabric, "rail2-spine-05[3]"), "core-01");
    assert_eq!(beyond(&fabric, "rail2-spine-06[3]"), "core-04");
    // Spines of the first place, pod by pod and rail by rail.
    assert_eq!(beyond(&fabric, "core-01[12]"), "rail3-spine-05");
    every_pair_is_reached(&fabric);
}

#[test]
fn a_dragonfly_may_have_any_number_of_nodes() {
    let shape = json!({"generate": "dragonfly", "groups": 3, "routers_per_group": 2,
        "nodes_per_router": 4, "nodes": 21, "global_ports": 1, "host_bits_per_s": 1,
        "local_bits_per_s": 2, "global_bits_per_s": 3, "host_delay_ps": 0, "local_delay_ps": 0,
        "global_delay_ps": 0});
    let written = generate::read(shape.clone()).expect("a document");
    let fabric = Fabric::new(&written).expect("a fabric");
    // 24 places: the last router has one node of four.
    assert_eq!((written.nodes.len(), &written.name[..]), (21, "dragonfly-21"));
    assert_eq!(beyond(&fabric, "n021/hca0[1]"), "router-06");
    let mut more = shape;
    more["nodes"] = json!(25);
    let text = generate::read(more).expect_err("too many").to_string();
    assert!(text.starts_with("fabric.nodes: 25 nodes\n  expected: from 1 to 24"), "{text}");
}

#[test]
fn what_no_generator_can_build_is_refused_with_its_key() {
    let tree = |more: Value| {
        let mut shape = json!({"levels": 2, "spines": 2, "leaves": [{"nodes": 3}]});
        more.as_object().unwrap().iter().for_each(|(key, value)| shape[key] = value.clone());
        shape
    };
    refused("fat_tree", tree(json!({"nodes": 4})), "fabric.leaves: the leaves have 3 nodes");
    refused("fat_tree", tree(json!({"nodes_per_leaf": 4})), "fabric.leaves: both are given");
    refused("fat_tree", tree(json!({"leaves": []})), "fabric.leaves: the leaves have 0 nodes");
    refused("fat_tree", tree(json!({"leaves": null})), "fabric: 'nodes_per_leaf' is missing");
    let many = json!({"leaves": [{"nodes": 4_000_000_000u32, "count": 1_000_000}]});
    refused("fat_tree", tree(many), "fabric: about 40000000");
    refused(
        "fat_tree",
        tree(json!({"levels": 3, "spines": null, "leaves_per_pod": 2})),
        "fabric: 'spines_per_pod' is missing",
    );
    refused("fat_tree", tree(json!({"core_delay_ps": 1})), "fabric.core_delay_ps: 'core_delay_ps'");
    refused("directors", directors(json!({"board_ports": null})), "fabric: 'board_ports' is");
    refused("directors", directors(json!({"inside": "one_switch"})), "fabric.board_ports: 'board");
    refused("directors", directors(json!({"line_board_down": 40})), "fabric.line_board_down: 40");
    refused("directors", directors(json!({"spine_boards": 7})), "fabric.spine_boards: 20 ports");
    refused("directors", directors(json!({"board_ports": 30})), "fabric.board_ports: 37 line");
    refused(
        "directors",
        directors(json!({"cables_per_director": 4_000_000_000u32})),
        "fabric.cables_per_director: it is 4000000000",
    );
    let rails = |more: Value| {
        let mut shape = json!({"levels": 2, "nodes": 4, "hcas_per_node": 2, "nodes_per_unit": 2});
        more.as_object().unwrap().iter().for_each(|(key, value)| shape[key] = value.clone());
        shape
    };
    refused("rails", rails(json!({})), "fabric: 'spines' is missing");
    refused("rails", rails(json!({"spines": 2, "hca_names": ["a"]})), "fabric.hca_names: 1 names");
    refused("rails", rails(json!({"levels": 3, "spines": 2})), "fabric.spines: 'spines' has no");
    refused("rails", rails(json!({"levels": 4})), "fabric.levels: 4 levels");
    refused(
        "rails",
        rails(json!({"spines": 1_000_000, "cables_per_spine": 1_000_000})),
        "fabric: about 4000000000",
    );
}
