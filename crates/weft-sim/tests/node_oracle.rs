//! The inside of nodes: leaving events out changes nothing, and what cannot be is refused.

use crate::common::insides::*;
use crate::common::*;
use serde_json::{Value, json};

#[test]
fn elided_and_unelided_insides_are_the_same() {
    let alltoall = json!([{"benchmark": "alltoall", "size_bytes": 30_000, "iterations": 2}]);
    let ring = json!([{"benchmark": "allreduce", "algorithm": "ring", "size_bytes": 300_000,
                       "iterations": 1}]);
    let mut cases = vec![eight(alltoall.clone()), eight(ring)];
    let mut copied = eight(alltoall.clone());
    copied["node"]["gpudirect"] = json!(false);
    copied["node"]["bounce_chunk_bytes"] = json!(8192);
    cases.push(copied.clone());
    copied["host"] = json!({"regimes": [{"protocol": "rendezvous"}], "message_gap_ns": 20});
    cases.push(copied);
    let striped = two_nodes(graph(100 * GBPS, 300 * GBPS, 3), alltoall);
    cases.extend(["voq", "input_fifo", "infinite"].map(|model| {
        with(striped.clone(), "switch", json!({"model": model, "buffer_bytes": 8192}))
    }));
    for case in cases {
        let full = run(&with(case.clone(), "elide", json!(false)));
        let elided = run(&case);
        assert_eq!(elided.message, "");
        assert_eq!(physics(&full), physics(&elided));
        assert!(elided.events < full.events);
    }
}

/// Numbers in the order of a linear congruential generator.
///
/// SOURCE: Knuth, The Art of Computer Programming 2, section 3.3.4, table 1, line 26 (MMIX).
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn of(&mut self, list: &[Value]) -> Value {
        list[self.below(list.len() as u64) as usize].clone()
    }
}

#[test]
fn elided_and_unelided_random_insides_are_the_same() {
    for seed in 1..=30 {
        let mut draws = Draws(seed);
        let (pcie, nvlink) = (50 + draws.below(300), 50 + draws.below(3000));
        let mut node = graph(pcie * GBPS, nvlink * GBPS, draws.below(4));
        for link in node["links"].as_array_mut().expect("links") {
            link["delay_ps"] = json!(draws.below(400_000));
            link["bits_per_s"] = json!((30 + draws.below(500)) * GBPS + draws.below(1000));
            if draws.below(3) == 0 {
                link["buffer_bytes"] = json!(4160 + draws.below(60_000));
            }
        }
        node["gpudirect"] = json!(draws.below(2) == 0);
        node["bounce_chunk_bytes"] = json!(4096 + draws.below(30_000));
        node["bounce_chunks"] = json!(1 + draws.below(4));
        node["ranks_on"] = draws.of(&[json!(["gpu0", "gpu1"]), json!(["gpu1", "mem"])]);
        let flows = (0..30).map(|_| {
            let src = draws.below(8);
            (src, (src + 1 + draws.below(7)) % 8, draws.below(60_000))
        });
        let case = two_nodes(node, messages(flows.collect::<Vec<_>>()));
        let case = with(case, "placement", json!({"tasks_per_node": 4}));
        let protocol = draws.of(&[json!("eager"), json!("rendezvous")]);
        let host = json!({"regimes": [{"protocol": protocol, "send_overhead_ns": draws.below(200)}],
                          "message_gap_ns": draws.below(100)});
        let models = ["voq", "input_fifo", "infinite", "shared_buffer"].map(|name| json!(name));
        let model = draws.of(&models);
        let forwarding = draws.of(&[json!("cut_through"), json!("store_and_forward")]);
        let speedup = draws.of(&[Value::Null, json!(1.0), json!(1.5)]);
        let share = if model == "shared_buffer" { json!(0.5) } else { Value::Null };
        let switch = json!({"model": model, "forwarding": forwarding, "buffer_bytes": 16_384,
                            "speedup": speedup, "output_share": share});
        let case = with(with(case, "host", host), "switch", switch);
        let case = with(case, "lanes", json!({"count": 1 + draws.below(3)}));
        let acks = json!({"acknowledge": draws.below(2) == 0, "ack_every": 1 + draws.below(4)});
        let case = with(case, "transport", acks);
        let full = run(&with(case.clone(), "elide", json!(false)));
        assert_eq!(full.message, "", "seed {seed}");
        assert_eq!(physics(&full), physics(&run(&case)), "seed {seed}");
    }
}

#[test]
fn a_graph_that_cannot_be_is_refused_with_its_place() {
    let case = || two_nodes(graph(200 * GBPS, 2400 * GBPS, 1), messages([(0, 2, 1000)]));
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut case = case();
        change(&mut case["node"]);
        refusal(&case)
    };
    let starts = |text: String, start: &str| assert!(text.starts_with(start), "{text}");
    starts(
        changed(&|node| node["links"][2]["a"] = json!("hca1")),
        "node.links[2].a: there is no vertex 'hca1' in a node",
    );
    starts(changed(&|node| node["links"][0]["bits_per_s"] = json!(0)), "node.links[0]: the rate");
    let most = u64::MAX;
    starts(
        changed(&|node| {
            node["links"][0]["bits_per_s"] = json!(most);
            node["links"][0]["delay_ps"] = json!(most);
        }),
        &format!("node.links[0]: {most} bits a second, {most} ps"),
    );
    starts(
        changed(&|node| node["links"][0]["buffer_bytes"] = json!(64)),
        "node.links[0].buffer_bytes: 64 bytes",
    );
    starts(changed(&|node| node["ranks_on"] = json!(["pcie"])), "node.ranks_on[0]: there is no");
    starts(changed(&|node| node["rank_on"] = json!([])), "node.rank_on: unknown field `rank_on`");
    starts(changed(&|node| node["links"][0]["bits_per_s"] = json!(5)), "n001/mem[1]: 5 bits a");
    starts(
        changed(&|node| node["bounce_chunk_bytes"] = json!(1)),
        "node.bounce_chunk_bytes: it is 1",
    );
    let other = with(
        case(),
        "fabric",
        json!({"schema": "weft.fabric/1",
        "nodes": [{"name": "a", "hcas": ["a/0"]}, {"name": "b", "hcas": ["b/0", "b/1"]}],
        "switches": [{"name": "s", "ports": 3}],
        "links": [{"a": "a/0[1]", "b": "s[1]", "bits_per_s": GBPS, "delay_ps": 0},
                  {"a": "b/0[1]", "b": "s[2]", "bits_per_s": GBPS, "delay_ps": 0},
                  {"a": "b/1[1]", "b": "s[3]", "bits_per_s": GBPS, "delay_ps": 0}]}),
    );
    starts(refusal(&other), "fabric.nodes[1]: node 'b' has 2 HCAs");
}
