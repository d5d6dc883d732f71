//! Nodes with an inside, small and large.

use super::{GBPS, scenario, tree, with};
use serde_json::{Value, json};

const EIGHT: &str = include_str!("../fixtures/eight_gpus_eight_hcas.json");

/// Delays of the small node: NVLink, PCIe, to memory, the network's cables; of its switches.
pub(crate) const NV: u64 = 250_000;
pub(crate) const PCIE: u64 = 150_000;
pub(crate) const MEMORY: u64 = 50_000;
pub(crate) const CABLE: u64 = 10_000;
pub(crate) const ROUTE: u64 = 200_000;

pub(crate) fn link(a: &str, b: &str, bits_per_s: u64, delay_ps: u64) -> Value {
    json!({"a": a, "b": b, "bits_per_s": bits_per_s, "delay_ps": delay_ps})
}

/// Two GPUs and an HCA on a PCIe switch, memory behind a root complex, the GPUs on `n_nvs`
/// NvSwitches. PCIe runs at one rate, NVLink at another.
pub(crate) fn graph(pcie: u64, nvlink: u64, n_nvs: u64) -> Value {
    let mut vertices = vec![
        json!({"name": "mem", "kind": "memory"}),
        json!({"name": "root", "kind": "root_complex"}),
        json!({"name": "pcie", "kind": "pcie_switch"}),
    ];
    let mut links = vec![
        link("mem", "root", pcie, MEMORY),
        link("root", "pcie", pcie, PCIE),
        link("hca0", "pcie", pcie, PCIE),
    ];
    for gpu in ["gpu0", "gpu1"] {
        vertices.push(json!({"name": gpu, "kind": "gpu"}));
        links.push(link(gpu, "pcie", pcie, PCIE));
    }
    for n in 0..n_nvs {
        let name = format!("nvs{n}");
        vertices.push(json!({"name": name, "kind": "nv_switch"}));
        links.push(link("gpu0", &name, nvlink, NV));
        links.push(link("gpu1", &name, nvlink, NV));
    }
    json!({"vertices": vertices, "links": links, "ranks_on": ["gpu0", "gpu1"]})
}

/// Two such nodes on a leaf, a rank on each GPU: 0 and 1 on the first node, 2 and 3 on the second.
pub(crate) fn two_nodes(node: Value, work: Value) -> Value {
    let case = scenario(tree(2, 2, 1, 200 * GBPS, CABLE), work);
    let switch = json!({"delay_ps": ROUTE, "buffer_bytes": 131_072});
    let case = with(with(case, "node", node), "switch", switch);
    let case = with(case, "transport", json!({"acknowledge": false}));
    with(case, "placement", json!({"tasks_per_node": 2}))
}

/// The network between two HCAs of a leaf.
pub(crate) const OUTSIDE: u64 = 2 * CABLE + ROUTE;

/// The fixture of eight GPUs with other work.
pub(crate) fn eight(work: Value) -> Value {
    with(serde_json::from_str(EIGHT).expect("JSON"), "work", work)
}
