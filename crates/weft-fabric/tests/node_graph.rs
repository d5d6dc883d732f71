//! The inside of nodes: paths, rails, what is refused with its place.

use serde_json::{Value, json};
use weft_fabric::document::FabricDocument;
use weft_fabric::node::check_inside;
use weft_fabric::node::document::NodeGraphDocument;
use weft_fabric::units::{BitsPerSecond, Picoseconds};
use weft_fabric::{Fabric, InnerId, NodeGraph, NodeId, generate};

/// Two PCIe switches under a root complex with memory; on each a pair of GPUs and of HCAs; the
/// GPUs on two NvSwitches.
fn graph() -> Value {
    let vertex = |name: &str, kind: &str| json!({"name": name, "kind": kind});
    let link = |a: &str, b: &str, bits_per_s: u64| {
        let delay_ps = 1000;
        json!({"a": a, "b": b, "bits_per_s": bits_per_s, "delay_ps": delay_ps})
    };
    let mut vertices = vec![vertex("mem", "memory"), vertex("root", "root_complex")];
    let mut links = vec![link("mem", "root", 900)];
    for n in 0..2 {
        vertices.push(vertex(&format!("nvs{n}"), "nv_switch"));
        vertices.push(vertex(&format!("pcie{n}"), "pcie_switch"));
        links.push(link("root", &format!("pcie{n}"), 200));
    }
    for n in 0..4 {
        let (gpu, pcie) = (format!("gpu{n}"), format!("pcie{}", n / 2));
        vertices.push(vertex(&gpu, "gpu"));
        links.push(link(&gpu, &pcie, 200));
        links.push(link(&format!("hca{n}"), &pcie, 200));
        links.push(link(&gpu, "nvs0", 600));
        links.push(link(&gpu, "nvs1", 600));
    }
    json!({"vertices": vertices, "links": links, "ranks_on": ["gpu0", "gpu1", "gpu2", "gpu3"]})
}

fn read(graph: &Value) -> Result<NodeGraph, weft_fabric::FabricError> {
    let document: NodeGraphDocument = serde_json::from_value(graph.clone()).expect("a document");
    NodeGraph::new(&document, 4)
}

fn with(mut graph: Value, key: &str, value: Value) -> Value {
    graph[key] = value;
    graph
}

fn refusal(graph: &Value) -> String {
    let text = read(graph).expect_err("a graph that cannot be").to_string();
    assert!(text.contains("\n  expected: "), "{text}");
    text
}

fn named(graph: &NodeGraph, name: &str) -> InnerId {
    let at = graph.vertices.iter().position(|vertex| vertex.name == name);
    InnerId(at.expect("a vertex of that name") as u32)
}

/// The vertices crossed from one to another.
fn path(graph: &NodeGraph, from: &str, to: &str) -> Vec<String> {
    let (mut at, to) = (named(graph, from), named(graph, to));
    let mut names = vec![from.to_owned()];
    while at != to {
        let vertex = &graph.vertices[at.index()];
        let local = graph.next_local(at, to) - vertex.first_local();
        at = vertex.ports[local as usize].peer;
        names.push(graph.vertices[at.index()].name.clone());
        assert!(names.len() <= graph.vertices.len(), "a path ends");
    }
    names
}

#[test]
fn paths_prefer_rate_and_then_fewer_links() {
    let graph = read(&graph()).expect("a graph");
    let (gpu0, gpu1) = (named(&graph, "gpu0"), named(&graph, "gpu1"));
    // Over PCIe it is as many links; over NVLink the rate is higher, and both switches serve.
    assert!(path(&graph, "gpu0", "gpu1")[1].starts_with("nvs"));
    assert_eq!(graph.equal_locals(gpu0, gpu1).count(), 2);
    assert_eq!(path(&graph, "gpu0", "hca1"), ["gpu0", "pcie0", "hca1"]);
    assert_eq!(path(&graph, "gpu3", "hca0"), ["gpu3", "pcie1", "root", "pcie0", "hca0"]);
    assert_eq!(path(&graph, "hca2", "mem"), ["hca2", "pcie1", "root", "mem"]);
    assert_eq!(path(&graph, "hca2", "gpu1"), ["hca2", "pcie1", "root", "pcie0", "gpu1"]);
}

#[test]
fn tasks_take_turns_among_their_nearest_hcas() {
    let near = read(&graph()).expect("a graph");
    let rails: Vec<u32> = (0..4).map(|task| near.rail_of_task(task).0).collect();
    assert_eq!(rails, [0, 1, 2, 3]);
    let reversed = with(graph(), "ranks_on", json!(["gpu3", "gpu2"]));
    let rails: Vec<u32> =
        (0..4).map(|task| read(&reversed).expect("a graph").rail_of_task(task).0).collect();
    assert_eq!(rails, [2, 3, 2, 3], "gpu3 and gpu2 both have hca2 and hca3 next to them");
    let turned = read(&with(reversed, "rail", json!("round_robin"))).expect("a graph");
    assert_eq!(
        (0..6).map(|task| turned.rail_of_task(task).0).collect::<Vec<_>>(),
        [0, 1, 2, 3, 0, 1]
    );
}

#[test]
fn without_gpudirect_a_gpu_has_a_memory() {
    let graph = with(graph(), "gpudirect", json!(false));
    let read = read(&graph).expect("a graph");
    assert_eq!(read.bounce[named(&read, "gpu2").index()], Some(named(&read, "mem")));
    assert_eq!(read.bounce[named(&read, "mem").index()], None);
}

fn one_leaf(nodes: u64, hcas_per_node: u64) -> FabricDocument {
    let spec = json!({"generate": "fat_tree", "levels": 2, "nodes": nodes,
        "hcas_per_node": hcas_per_node, "nodes_per_leaf": nodes, "spines": 1,
        "host_bits_per_s": 100, "switch_bits_per_s": 100,
        "host_delay_ps": 1, "switch_delay_ps": 1});
    generate::read(spec).expect("a document")
}

#[test]
fn every_node_gets_the_inside() {
    let written = one_leaf(3, 4);
    let plain = Fabric::new(&written).expect("a fabric");
    let graph = read(&graph()).expect("a graph");
    let (n_ports, n_inner) = (graph.n_ports(), graph.n_inner());
    let fabric = Fabric::with_nodes(&written, Some(graph)).expect("a fabric");
    assert_eq!(fabric.vertices.len(), plain.vertices.len() + 3 * n_inner as usize);
    assert_eq!(fabric.ports.len() as u64, plain.ports.len() as u64 + 3 * n_ports);
    assert_eq!((fabric.n_hcas(), fabric.n_switches()), (plain.n_hcas(), plain.n_switches()));
    for vertex in (0..fabric.vertices.len() as u32).map(weft_fabric::VertexId) {
        let inner = fabric.place_in_node(vertex);
        assert_eq!(inner.is_none(), fabric.switch(vertex).is_some());
        if let Some((node, inner)) = inner {
            assert_eq!(fabric.inner_vertex(node, inner), vertex);
        }
    }
    // gpu1's first link is to its PCIe switch.
    let port = fabric.port_named("test", "n002/gpu1[1]").expect("a GPU's port");
    assert_eq!(fabric.ports[port.index()].rate, BitsPerSecond(200));
    assert_eq!(fabric.ports[port.index()].delay, Picoseconds(1000));
    let peer = fabric.neighbour(port).expect("a PCIe switch");
    assert_eq!(fabric.vertices[peer.index()].name, "n002/pcie0");
    assert_eq!(fabric.place_in_node(peer).map(|(node, _)| node), Some(NodeId(1)));
    for port in 0..fabric.ports.len() {
        let Some(peer) = fabric.ports[port].peer else { continue };
        assert_eq!(fabric.ports[peer.index()].peer.map(|p| p.index()), Some(port), "mutual");
    }
    // Routes of the network do not notice.
    let engine = weft_fabric::document::Engine::Minhop;
    let of = |fabric: &Fabric| weft_fabric::engines::compute(fabric, engine).to_lfts(fabric);
    assert_eq!(of(&fabric), of(&plain));
}

#[test]
fn nodes_with_other_numbers_of_hcas_are_refused() {
    let written = one_leaf(2, 3);
    let refused = Fabric::with_nodes(&written, Some(read(&graph()).expect("a graph")));
    let text = refused.expect_err("three HCAs, not four").to_string();
    assert!(text.starts_with("fabric.nodes[0]: node 'n001' has 3 HCAs"), "{text}");
}

#[test]
fn paths_inside_a_node_are_free_of_credit_loops_or_refused() {
    for tasks in 1..9 {
        check_inside(&read(&graph()).expect("a graph"), tasks).expect("a tree of PCIe");
    }
    // Three switches in a ring, each a GPU and an HCA: shortest paths of three over a ring of five
    // wait in a circle, those of three do not.
    let ring = |n: usize| {
        let mut vertices = Vec::new();
        let mut links = vec![
            json!({"a": "hca0", "b": "s0", "bits_per_s": 9, "delay_ps": 0}),
            json!({"a": "hca1", "b": "s0", "bits_per_s": 9, "delay_ps": 0}),
            json!({"a": "hca2", "b": "s0", "bits_per_s": 9, "delay_ps": 0}),
            json!({"a": "hca3", "b": "s0", "bits_per_s": 9, "delay_ps": 0}),
        ];
        let mut ranks_on = Vec::new();
        for at in 0..n {
            vertices.push(json!({"name": format!("s{at}"), "kind": "nv_switch"}));
            vertices.push(json!({"name": format!("g{at}"), "kind": "gpu"}));
            let (a, b) = (format!("s{at}"), format!("s{}", (at + 1) % n));
            links.push(json!({"a": a, "b": b, "bits_per_s": 9, "delay_ps": 0}));
            links.push(json!({"a": a, "b": format!("g{at}"), "bits_per_s": 9, "delay_ps": 0}));
            ranks_on.push(format!("g{at}"));
        }
        json!({"vertices": vertices, "links": links, "ranks_on": ranks_on})
    };
    check_inside(&read(&ring(3)).expect("a graph"), 3).expect("every way is one link of the ring");
    let text = check_inside(&read(&ring(5)).expect("a graph"), 5).expect_err("a ring").to_string();
    assert!(text.starts_with("routing: credit loop over "), "{text}");
    check_inside(&read(&ring(5)).expect("a graph"), 1).expect("one task has no ring");
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let changed = |list: &str, index: usize, key: &str, value: Value| {
        let mut graph = graph();
        graph[list][index][key] = value;
        refusal(&graph)
    };
    let starts = |text: String, start: &str| assert!(text.starts_with(start), "{text}");
    let ranks_on = |names: Value| refusal(&with(graph(), "ranks_on", names));
    starts(changed("links", 3, "a", json!("gpu9")), "node.links[3].a: there is no vertex 'gpu9'");
    starts(changed("links", 5, "b", json!("hca4")), "node.links[5].b: there is no vertex 'hca4'");
    starts(changed("links", 2, "bits_per_s", json!(0)), "node.links[2]: the rate is zero");
    starts(
        changed("links", 2, "delay_ps", json!(2_000_000_000_000u64)),
        "node.links[2]: 200 bits a second, 2000000000000 ps",
    );
    starts(changed("links", 0, "b", json!("mem")), "node.links[0]: 'mem' is linked to itself");
    starts(changed("vertices", 1, "name", json!("mem")), "node.vertices[1]: a second vertex 'mem'");
    starts(changed("vertices", 1, "name", json!("hca3")), "node.vertices[1]: a second vertex");
    starts(
        changed("vertices", 0, "name", json!("a[1]")),
        "node.vertices[0]: 'a[1]' is not a valid name",
    );
    starts(ranks_on(json!([])), "node.ranks_on: it is empty");
    starts(ranks_on(json!(["gpu0", "x"])), "node.ranks_on[1]: there is no GPU or memory 'x'");
    starts(ranks_on(json!(["pcie0"])), "node.ranks_on[0]: there is no GPU or memory 'pcie0'");
    starts(ranks_on(json!(["hca0"])), "node.ranks_on[0]: there is no GPU or memory 'hca0'");
    let bounce = with(graph(), "bounce", json!("gpu0"));
    starts(refusal(&bounce), "node.bounce: there is no memory 'gpu0'");
    let chunk = with(graph(), "bounce_chunk_bytes", json!(0));
    starts(refusal(&chunk), "node.bounce_chunk_bytes: it is 0");
    let chunks = with(graph(), "bounce_chunks", json!(0));
    starts(refusal(&chunks), "node.bounce_chunks: it is 0");
    let many: Vec<Value> =
        (0..300).map(|n| json!({"name": format!("v{n}"), "kind": "pcie_switch"})).collect();
    starts(refusal(&with(graph(), "vertices", json!(many))), "node.vertices: 300 vertices");
    let link = graph()["links"][0].clone();
    let links = with(graph(), "links", json!(vec![link; 5000]));
    starts(refusal(&links), "node.links: 5000 links");
}

#[test]
fn a_vertex_without_paths_is_refused() {
    let mut lonely = graph();
    let more = json!({"name": "gpu4", "kind": "gpu"});
    lonely["vertices"].as_array_mut().expect("a list").push(more);
    assert!(refusal(&lonely).starts_with("node.links: 'gpu4' has no link"));
    let mut cut = graph();
    // hca1's only link now leads to a GPU, which nothing passes through.
    let at = cut["links"].as_array().expect("a list").iter().position(|l| l["a"] == "hca1");
    cut["links"][at.expect("hca1 has a link")]["b"] = json!("gpu1");
    assert!(refusal(&cut).starts_with("node.links: no path leads from 'mem' to 'hca1'"));
    let no_memory = json!({"vertices": [{"name": "gpu0", "kind": "gpu"},
            {"name": "p", "kind": "pcie_switch"}],
        "links": (0..4).map(|n| json!({"a": format!("hca{n}"), "b": "p", "bits_per_s": 1,
            "delay_ps": 0})).chain([json!({"a": "gpu0", "b": "p", "bits_per_s": 1,
            "delay_ps": 0})]).collect::<Vec<_>>(),
        "ranks_on": ["gpu0"], "gpudirect": false});
    assert!(
        refusal(&no_memory).starts_with("node.gpudirect: without GPUDirect there is no memory")
    );
}

#[test]
fn a_circle_through_the_network_is_refused() {
    // Two sockets, each an HCA and a GPU. What comes in over hca0 for the GPU across goes over the
    // link between the sockets, and so does what the GPU of the first sends out over hca1.
    let link = |a: &str, b: &str| json!({"a": a, "b": b, "bits_per_s": 9, "delay_ps": 0});
    let vertex = |name: &str, kind: &str| json!({"name": name, "kind": kind});
    let graph = |ranks_on: [&str; 2]| {
        let document = json!({"rail": "round_robin", "ranks_on": ranks_on,
            "vertices": [vertex("s0", "root_complex"), vertex("s1", "root_complex"),
                vertex("g0", "gpu"), vertex("g1", "gpu")],
            "links": [link("hca0", "s0"), link("hca1", "s1"), link("g0", "s0"), link("g1", "s1"),
                link("s0", "s1")]});
        let document: NodeGraphDocument = serde_json::from_value(document).expect("a document");
        NodeGraph::new(&document, 2).expect("a graph")
    };
    let text = check_inside(&graph(["g1", "g0"]), 2).expect_err("out, round and in").to_string();
    assert!(text.starts_with("routing: credit loop over "), "{text}");
    assert!(text.contains("the network"), "{text}");
    // A task alone sends over hca0 only, and nothing comes in over hca1.
    check_inside(&graph(["g0", "g1"]), 1).expect("one socket");
}
