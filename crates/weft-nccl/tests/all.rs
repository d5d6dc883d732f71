//! Laws of the search, and documents that it refuses.

use serde_json::{Value, json};
use weft_nccl::{GraphDocument, JobDocument, NcclError, search};

/// GPUs in a line of NVLinks that closes to a circle: GB/s of each link in each direction.
fn circle(n_gpus: usize, gb_s: f64) -> Value {
    let step =
        |from: usize, to: usize| json!({"from": from, "to": to, "kind": "nvlink", "gb_s": gb_s});
    let next = |gpu: usize| (gpu + 1) % n_gpus;
    let up = (0..n_gpus).map(|gpu| step(gpu, next(gpu)));
    let links: Vec<Value> = up.chain((0..n_gpus).map(|gpu| step(next(gpu), gpu))).collect();
    let path = |from: usize, to: usize| {
        let (path_type, links) = match (to + n_gpus - from) % n_gpus {
            0 => (0, vec![]),
            1 => (1, vec![from]),
            far if far == n_gpus - 1 => (1, vec![n_gpus + to]),
            _ => (5, vec![]),
        };
        json!({"from": from, "to": to, "path_type": path_type, "gb_s": gb_s, "links": links})
    };
    let pairs = (0..n_gpus).flat_map(|from| (0..n_gpus).map(move |to| (from, to)));
    let gpu = |i: usize| json!({"vertex": i, "rank": i, "sm": 80, "own_nets": []});
    json!({
        "node": {
            "version": [2, 26, 5],
            "path_types": ["LOC", "NVL", "PIX", "PXN", "PHB", "SYS", "DIS"],
            "is_amd": false,
            "vertices": vec!["gpu"; n_gpus],
            "links": links,
            "paths": pairs.map(|(from, to)| path(from, to)).collect::<Vec<_>>(),
            "gpus": (0..n_gpus).map(gpu).collect::<Vec<_>>(),
            "nets": [],
            "nvswitch": null,
        },
        "requests": [
            {"pattern": "ring", "min_channels": 1, "max_channels": 32, "cross_nic": 2},
        ],
    })
}

fn searched(job: &Value) -> Result<Vec<GraphDocument>, NcclError> {
    let job: JobDocument = serde_json::from_value(job.clone()).expect("a document of this form");
    search(&job)
}

/// Both directions of a circle are a ring each, and nothing else is.
#[test]
fn rings_of_a_circle_use_both_directions() {
    for (n_gpus, gb_s) in [(3, 40.), (4, 40.), (6, 20.), (5, 60.)] {
        let ring = &searched(&circle(n_gpus, gb_s)).unwrap()[0];
        let total = ring.gpus.len() as f64 * f64::from(ring.gb_s_inside);
        assert_eq!(total, 2. * gb_s, "{n_gpus} GPUs: {ring:?}");
        for channel in &ring.gpus {
            let turn = (channel[1] + n_gpus as u32 - channel[0]) % n_gpus as u32;
            assert!(turn == 1 || turn as usize == n_gpus - 1, "{channel:?}");
            let steps = channel.windows(2).all(|two| (two[0] + turn) % n_gpus as u32 == two[1]);
            assert!(steps, "{channel:?}");
        }
    }
}

/// Without a way around, NCCL takes the GPUs in their order.
#[test]
fn gpus_without_paths_fall_back_to_their_order() {
    let mut job = circle(4, 40.);
    for path in job["node"]["paths"].as_array_mut().unwrap() {
        if path["from"] != path["to"] {
            path["path_type"] = json!(6);
        }
    }
    let ring = &searched(&job).unwrap()[0];
    assert_eq!((&ring.gpus, ring.gb_s_inside), (&vec![vec![0, 1, 2, 3]], 0.1));
    assert_eq!(ring.path_inside, "SYS");
}

#[test]
fn documents_that_cannot_be_are_refused_with_their_place() {
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut job = circle(4, 40.);
        change(&mut job);
        searched(&job).unwrap_err().place
    };
    assert_eq!(refused(&|job| job["node"]["links"][2]["to"] = json!(9)), "node.links[2]");
    assert_eq!(refused(&|job| job["node"]["paths"][1]["links"] = json!([99])), "node.paths[1]");
    assert_eq!(refused(&|job| job["node"]["gpus"][3]["own_nets"] = json!([0])), "node.gpus[3]");
    assert_eq!(refused(&|job| job["node"]["nvswitch"] = json!(4)), "node.nvswitch");
    assert_eq!(refused(&|job| job["node"]["gpus"] = json!([])), "node");
    assert_eq!(refused(&|job| job["node"]["paths"] = json!([])), "node.paths");
    assert_eq!(
        refused(&|job| job["node"]["path_types"] = json!(vec!["LOC"; 9])),
        "node.path_types"
    );
    assert_eq!(refused(&|job| job["requests"][0]["min_channels"] = json!(33)), "requests");
}
