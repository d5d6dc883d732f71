//! Laws of NvSwitches that reduce and copy, and of the rails between nodes.

use crate::common::insides::link;
use crate::common::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use weft_sim::{CollectiveMethod, Outcome, Status};

const NV: u64 = 250_000;
const PCIE: u64 = 150_000;
const CABLE: u64 = 10_000;
const ROUTE: u64 = 200_000;
const REDUCTION: u64 = 300_000;
const PIECE: u64 = 4096;

/// `n` GPUs on `switches` NvSwitches, each on a PCIe switch with an HCA of its own.
fn node(n: u64, switches: u64, nvlink: u64, pcie: u64) -> Value {
    let (mut vertices, mut links) = (Vec::new(), Vec::new());
    vertices.push(json!({"name": "root", "kind": "root_complex"}));
    for switch in 0..switches {
        vertices.push(json!({"name": format!("nvs{switch}"), "kind": "nv_switch"}));
    }
    for gpu in 0..n {
        vertices.push(json!({"name": format!("gpu{gpu}"), "kind": "gpu"}));
        vertices.push(json!({"name": format!("pcie{gpu}"), "kind": "pcie_switch"}));
        links.push(link(&format!("gpu{gpu}"), &format!("pcie{gpu}"), pcie, PCIE));
        links.push(link(&format!("hca{gpu}"), &format!("pcie{gpu}"), pcie, PCIE));
        links.push(link("root", &format!("pcie{gpu}"), pcie, PCIE));
        for switch in 0..switches {
            links.push(link(&format!("gpu{gpu}"), &format!("nvs{switch}"), nvlink, NV));
        }
    }
    let ranks: Vec<String> = (0..n).map(|gpu| format!("gpu{gpu}")).collect();
    json!({"vertices": vertices, "links": links, "ranks_on": ranks})
}

fn model() -> Value {
    json!({"reduction_ns": REDUCTION / 1000, "payload_bytes": 256,
        "nvls": {"payload_bytes": PIECE, "reduction_ns": REDUCTION / 1000},
        "sat": {"payload_bytes": PIECE}})
}

/// An allreduce of `n` GPUs on each of `nodes` nodes, without headers and free hosts.
fn case(node: Value, n: u64, nodes: u64, rate: u64, step: Value) -> Value {
    let mut fabric = tree(2.max(nodes), 2.max(nodes), 1, rate, CABLE);
    fabric["hcas_per_node"] = json!(n);
    let case = scenario(fabric, json!([step]));
    let case = with(case, "node", node);
    let case = with(case, "switch", json!({"delay_ps": ROUTE, "buffer_bytes": 131_072}));
    let case = with(case, "packets", json!({"headers": "none"}));
    let names: Vec<String> = (1..=nodes).map(|node| format!("n{node:03}")).collect();
    let case = with(case, "placement", json!({"nodes": names, "tasks_per_node": n}));
    with(case, "in_network", model())
}

fn step(algorithm: &str, size_bytes: u64) -> Value {
    json!({"benchmark": "allreduce", "algorithm": algorithm, "size_bytes": size_bytes})
}

fn complete(case: &Value, by: CollectiveMethod) -> Outcome {
    let outcome = run(case);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert_eq!(outcome.offloads.by, [by], "{:?}", outcome.offloads.reason);
    outcome
}

/// Bytes that ports whose names contain this have sent.
fn sent(outcome: &Outcome, of: &str) -> u64 {
    let ports = outcome.ports.port_name.iter().zip(&outcome.ports.xmit_bytes);
    ports.filter(|(name, _)| name.contains(of)).map(|(_, bytes)| bytes).sum()
}

#[test]
fn a_piece_goes_up_comes_back_to_its_gpu_and_is_copied_to_all() {
    let rate = 400 * GBPS;
    for (n, switches) in [(2, 1), (5, 1), (8, 4)] {
        for size in [8, PIECE] {
            let case = case(node(n, switches, rate, rate), n, 1, rate, step("nvls", size));
            let took = complete(&case, CollectiveMethod::Nvls).rows.duration_ps[0];
            assert_eq!(took, 3 * ser(size, rate) + 4 * NV + REDUCTION, "{n} GPUs");
        }
    }
}

/// SOURCE: NVIDIA nccl-tests: S (1 + 1/n) a GPU and direction, instead of 2 S (n - 1) / n.
#[test]
fn nvls_moves_s_times_one_and_an_nth_each_direction_and_takes_as_long() {
    let rate = 400 * GBPS;
    for (n, switches) in [(2, 1), (4, 2), (8, 4)] {
        let size = 1024 * n * PIECE;
        let case = case(node(n, switches, rate / switches, rate), n, 1, rate, step("nvls", size));
        let outcome = complete(&case, CollectiveMethod::Nvls);
        let each = size + size / n;
        for gpu in 0..n {
            assert_eq!(sent(&outcome, &format!("n001/gpu{gpu}[")), each, "{n} GPUs, out of {gpu}");
        }
        assert_eq!(sent(&outcome, "n001/nvs"), n * each, "into all");
        let (took, ideal) = (outcome.rows.duration_ps[0], ser(each, rate));
        assert!(took >= ideal && took < ideal * 102 / 100, "{n} GPUs: {took} for {ideal}");
    }
}

/// Between the sum of a node and its copies the piece goes up the rail and comes back.
#[test]
fn a_piece_between_nodes_takes_the_rail_once_up_and_once_down() {
    let (nv_rate, rate, size) = (400 * GBPS, 200 * GBPS, PIECE);
    for nodes in [2, 3] {
        let case = case(node(2, 1, nv_rate, rate), 2, nodes, rate, step("collnet", size));
        let took = complete(&case, CollectiveMethod::Collnet).rows.duration_ps[0];
        let inside = 3 * ser(size, nv_rate) + 4 * NV + REDUCTION;
        // Up: a serialisation to the leaf through two relays; down the same.
        let rail = 2 * (ser(size, rate) + 2 * PCIE + CABLE) + ROUTE + REDUCTION;
        assert_eq!(took, inside + rail, "{nodes} nodes");
    }
}

/// Each HCA carries its slice once each way, however many nodes there are.
#[test]
fn rails_carry_each_slice_once_whatever_the_number_of_nodes() {
    let (nv_rate, rate) = (800 * GBPS, 200 * GBPS);
    let (n, size) = (4, 4 * 512 * PIECE);
    for nodes in [2, 4] {
        let case = case(node(n, 2, nv_rate, rate), n, nodes, rate, step("collnet", size));
        let outcome = complete(&case, CollectiveMethod::Collnet);
        for hca in 0..n {
            // Out by port 1 to the network, and by port 2 to the GPU.
            let name = format!("n002/hca{hca}[");
            assert_eq!(sent(&outcome, &name), 2 * size / n, "{nodes} nodes");
        }
        let (took, ideal) = (outcome.rows.duration_ps[0], ser(size / n, rate));
        assert!(took >= ideal && took < ideal * 105 / 100, "{nodes} nodes: {took} for {ideal}");
    }
}

/// Between its sum and the copies a segment goes to the root of its tree and comes back.
#[test]
fn a_segment_between_gpus_goes_up_a_tree_and_down_again() {
    let (nv_rate, rate, size) = (400 * GBPS, 200 * GBPS, PIECE);
    // Of two nodes one is the root; of three one is below one that is below the root.
    for (nodes, depth) in [(2, 1), (3, 2)] {
        let case = case(node(2, 1, nv_rate, rate), 2, nodes, rate, step("nvls_tree", size));
        let took = complete(&case, CollectiveMethod::NvlsTree).rows.duration_ps[0];
        let inside = 3 * ser(size, nv_rate) + 4 * NV + REDUCTION;
        let message = ser(size, rate) + 4 * PCIE + 2 * CABLE + ROUTE;
        assert_eq!(took, inside + 2 * depth * message, "{nodes} nodes");
    }
}

/// Every edge of a tree carries its half of a slice once each way; the NvSwitches of a node carry
/// what they always do.
#[test]
fn trees_of_gpus_carry_half_a_slice_an_edge_and_take_as_long_as_the_busiest_gpu() {
    let (nv_rate, rate, n) = (800 * GBPS, 200 * GBPS, 4);
    // By node of two, three and four: its edges in the first tree, and in the second.
    let edges: [&[(u64, u64)]; 3] =
        [&[(1, 1), (1, 1)], &[(1, 2), (1, 1), (2, 1)], &[(1, 1), (1, 3), (3, 1), (1, 1)]];
    for edges in edges {
        let nodes = edges.len() as u64;
        let size = n * 512 * PIECE;
        let mut step = step("nvls_tree", size);
        step["segment_bytes"] = json!(4 * PIECE);
        let mut case = case(node(n, 2, nv_rate, rate), n, nodes, rate, step);
        case["in_network"]["nvls"]["outstanding"] = json!(1024);
        let outcome = complete(&case, CollectiveMethod::NvlsTree);
        for (at, (first, second)) in edges.iter().enumerate() {
            for gpu in 0..n {
                let node = format!("n{:03}", at + 1);
                // What it sends comes from its GPU, and what it receives goes there.
                let half = size / n / 2;
                let out = sent(&outcome, &format!("{node}/hca{gpu}["));
                assert_eq!(out, 2 * (first + second) * half, "{node}, adapter {gpu}");
                let slices = sent(&outcome, &format!("{node}/gpu{gpu}["));
                assert_eq!(slices, size + size / n + (first + second) * half, "{node}, GPU {gpu}");
            }
        }
        let busiest = edges.iter().map(|(a, b)| a + b).max().expect("nodes");
        let (took, ideal) = (outcome.rows.duration_ps[0], ser(busiest * size / n / 2, rate));
        assert!(took >= ideal && took < ideal * 112 / 100, "{nodes} nodes: {took} for {ideal}");
    }
}

/// Rails that stream for others, or of which there are too many, are no matter to GPUs.
#[test]
fn trees_of_gpus_need_no_quota_of_switches() {
    let rate = 400 * GBPS;
    let mut both = case(node(2, 1, rate, rate), 2, 2, rate, step("collnet", 1 << 16));
    both["in_network"]["quota"] = json!({"trees_per_switch": 1});
    both["work"] = json!([step("collnet", 1 << 16), step("nvls_tree", 1 << 16)]);
    let outcome = run(&both);
    assert_eq!(outcome.status, Status::Complete, "{}", outcome.message);
    assert_eq!(outcome.offloads.by, [CollectiveMethod::Hosts, CollectiveMethod::NvlsTree]);
    // What a tenant was not given is there for the next: its one rail.
    both["in_network"]["quota"] = json!({"trees_per_switch": 2});
    let outcome = run(&both);
    assert_eq!(outcome.offloads.by, [CollectiveMethod::Collnet, CollectiveMethod::NvlsTree]);
}

#[test]
fn nodes_that_cannot_are_refused_and_rails_that_stream_elsewhere_fall_back() {
    let rate = 400 * GBPS;
    let good = case(node(2, 1, rate, rate), 2, 2, rate, step("collnet", 1 << 16));
    let refused = |case: &Value, what: &str| {
        let error = refusal(case);
        assert!(error.starts_with(&format!("work[0].algorithm: {what}")), "{error}");
    };
    let mut wrong = good.clone();
    wrong["node"]["ranks_on"] = json!(["gpu0", "gpu0"]);
    refused(&wrong, "two tasks of a node are on 'gpu0'");
    let mut wrong = good.clone();
    let links = wrong["node"]["links"].as_array_mut().expect("links");
    links.retain(|link| link["a"] != "gpu1" || link["b"] != "nvs0");
    wrong["node"]["links"].as_array_mut().expect("links").push(link("pcie0", "nvs0", rate, NV));
    refused(&wrong, "no NvSwitch has a link to the GPUs of all tasks");
    refused(&with(good.clone(), "work", json!([step("nvls", 8)])), "2 nodes, and NvSwitches");
    refused(&with(good.clone(), "work", json!([step("sharp", 8)])), "its trees end at HCAs");
    let one = with(good.clone(), "placement", json!({"nodes": ["n001"], "tasks_per_node": 2}));
    refused(&one, "one node, and nothing leads to another");
    refused(&with(one, "work", json!([step("nvls_tree", 8)])), "one node, and nothing leads");
    for (key, what) in [("nvls", "NvSwitches are to reduce"), ("sat", "switches are to stream")] {
        let mut wrong = good.clone();
        wrong["in_network"].as_object_mut().expect("a model").remove(key);
        refused(&wrong, what);
    }
    let mut copied = good.clone();
    copied["node"]["gpudirect"] = json!(false);
    let vertices = copied["node"]["vertices"].as_array_mut().expect("vertices");
    vertices.push(json!({"name": "ram", "kind": "memory"}));
    let links = copied["node"]["links"].as_array_mut().expect("links");
    links.push(link("ram", "root", rate, PCIE));
    refused(&copied, "HCAs do not read GPUs");
    let mut bare = good.clone();
    bare.as_object_mut().expect("a document").remove("node");
    refused(&bare, "nothing says what is inside nodes");
    let mut scarce = good;
    scarce["in_network"]["quota"] = json!({"trees_per_switch": 1});
    let outcome = run(&scarce);
    assert_eq!(outcome.offloads.by, [CollectiveMethod::Hosts]);
    assert_eq!(outcome.offloads.reason, ["switch 'leaf-01' has 1 of at most 1 trees"]);
}

fn any_case() -> impl Strategy<Value = Value> {
    let rates = prop::sample::select(vec![97 * GBPS, 200 * GBPS, 400 * GBPS]);
    let shape = (2u64..6, 1u64..4, 1u64..7);
    let cut = (1u64..200_000, 64u32..4000, 1u32..40, any::<bool>());
    let rest = (any::<bool>(), 4160u64..60_000, any::<bool>(), 0u32..800);
    (shape, rates.clone(), rates, cut, rest).prop_map(
        |((n, switches, nodes), nv, rate, (size, piece, window, multicast), rest)| {
            let (headers, buffer, adaptive, jitter) = rest;
            let trees = nodes > 1 && size % 3 > 0;
            let algorithm = match (nodes, trees) {
                (1, _) => "nvls",
                (_, true) => "nvls_tree",
                _ => "collnet",
            };
            let mut own = json!({"benchmark": "allreduce", "algorithm": algorithm,
                "size_bytes": size, "iterations": 2});
            let mut other = own.clone();
            if trees {
                own["segment_bytes"] = json!(1 + size % 9000);
                other["algorithm"] = json!("collnet");
            }
            let ring = json!({"benchmark": "allreduce", "algorithm": "ring", "size_bytes": size});
            let mut case = case(node(n, switches, nv, rate), n, nodes, rate, own.clone());
            case["work"] = json!([own, ring, other, own]);
            case["switch"]["buffer_bytes"] = json!(buffer);
            case["in_network"] = json!({"reduction_ns": 200, "payload_bytes": 100,
                "header_bytes": 12, "result": if multicast { "multicast" } else { "tree" },
                "nvls": {"payload_bytes": piece, "outstanding": window, "reduction_ns": 70},
                "sat": {"payload_bytes": 64}});
            // Segments between GPUs are messages as any other: copied, slowed, on other lanes.
            if trees && jitter % 4 == 0 {
                case["work"] = json!([own, ring, own]);
                case["node"]["gpudirect"] = json!(false);
                let vertices = case["node"]["vertices"].as_array_mut().expect("vertices");
                let named = |gpu: u64| format!("ram{gpu}");
                vertices.extend((0..n).map(|gpu| json!({"name": named(gpu), "kind": "memory"})));
                let links = case["node"]["links"].as_array_mut().expect("links");
                let near = |gpu: u64| link(&named(gpu), &format!("pcie{gpu}"), 64 * GBPS, 50_000);
                links.extend((0..n).map(near));
            }
            let laws = [json!({"annex_a10": {}}), json!({"dcqcn": {}}), json!({"rtt": {}})];
            if let Some(law) = laws.get(jitter as usize % 6) {
                case["congestion_control"] = law.clone();
            }
            if headers {
                case["packets"] = json!({});
                case["switch"]["buffer_bytes"] = json!(buffer + 100);
            }
            if adaptive {
                case["routing"]["adaptive"] = json!({"grade_bytes": 256});
            }
            case["host"]["start_jitter_ns"] = json!(jitter);
            case
        },
    )
}

/// Of a large buffer a part is enough: the time grows evenly with its size.
#[test]
fn sizes_of_slices_lie_on_a_line() {
    let cases = [("nvls", 1, 24 << 20), ("nvls_tree", 3, 64 << 20), ("collnet", 3, 24 << 20)];
    for (algorithm, nodes, size) in cases {
        let inside = node(2, 2, 400 * GBPS, 192 * GBPS);
        let whole = case(inside, 2, nodes, 200 * GBPS, step(algorithm, size));
        let part = with(whole.clone(), "steady_state", json!({"tolerance": 0.01}));
        let (whole, part) = (run(&whole), run(&part));
        let (known, told) = (whole.rows.duration_ps[0] as f64, part.rows.duration_ps[0] as f64);
        assert!(part.steady.share[0] < 0.6, "{algorithm}: {:?}", part.steady);
        let off = (told / known - 1.0).abs();
        assert!(off <= part.steady.error[0] + 1e-9, "{algorithm}: {off} {:?}", part.steady);
        assert!(part.steady.error[0] < 0.05, "{algorithm}: {:?}", part.steady);
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn slices_of_random_nodes_come_together_and_the_oracle_agrees(case in any_case()) {
        let elided = run(&case);
        prop_assert_eq!(elided.status, Status::Complete, "{}", &elided.message);
        prop_assert!(elided.offloads.by.iter().all(|by| *by != CollectiveMethod::Hosts));
        let oracle = run(&with(case.clone(), "elide", json!(false)));
        prop_assert_eq!(physics(&elided), physics(&oracle));
    }
}
