"""Published rates of NvSwitches that reduce, and the twin's: a part of scripts/fidelity.py."""

import sys
from collections.abc import Iterator

from weft.bench.twin.backend import simulate
from weft.bench.twin.gpu.rails import inside_of_switched_node
from weft.catalog.libraries.nccl import nccl_constants
from weft.catalog.load import platform, published_figures
from weft.catalog.machine.platform import PublishedFigure
from weft.topology.fabric_spec import Document

NODE_DELAY_PS = 250_000
"""Of a link inside a node. Assumed."""
NVLS_REDUCTION_NS = 300
"""Of an NvSwitch. Assumed."""
NVLS_OUTSTANDING = 4096
"""Pieces of a GPU under way: 16 MiB. Assumed."""


def h100_node(share: float) -> Document:
    """Eight H100 on NvSwitches, their links at a share of what NCCL counts on."""
    made = platform("azure-ndv5")
    assert made.gpus is not None
    assert made.gpus.nvlink is not None
    nvlink = made.gpus.nvlink.model_copy(update={"value": share * made.gpus.nvlink.value})
    gpus = made.gpus.model_copy(update={"nvlink": nvlink})
    node = inside_of_switched_node(made.model_copy(update={"gpus": gpus}))
    return {**node, "links": [{**link, "delay_ps": NODE_DELAY_PS} for link in node["links"]]}


def slices_busbw_gb_s(
    algorithm: str, share: float, size_bytes: int = 256 << 20, n_nodes: int = 1
) -> float:
    """Bus bandwidth of an allreduce of nodes of eight GPUs, whose NvSwitches reduce."""
    node = h100_node(share)
    n_gpus = len(node["ranks_on"])
    n_hosts = max(2, n_nodes)
    fabric = {
        **{"generate": "fat_tree", "levels": 2, "nodes": n_hosts, "nodes_per_leaf": n_hosts},
        **{"host_bits_per_s": 400_000_000_000, "switch_bits_per_s": 400_000_000_000, "spines": 1},
        **{"host_delay_ps": 15_000, "switch_delay_ps": 50_000, "hcas_per_node": n_gpus},
    }
    document = {
        "schema": "weft.scenario/1",
        "fabric": fabric,
        "packets": {"headers": "none"},
        "host": {"regimes": [{}]},
        "node": node,
        "placement": {
            "nodes": [f"n{number:03d}" for number in range(1, n_nodes + 1)],
            "tasks_per_node": n_gpus,
        },
        "in_network": {
            **{"reduction_ns": NVLS_REDUCTION_NS, "payload_bytes": 256},
            "sat": {"payload_bytes": 4096},
            "nvls": {
                **{"payload_bytes": 4096, "reduction_ns": NVLS_REDUCTION_NS},
                "outstanding": NVLS_OUTSTANDING,
            },
        },
        "work": [{"benchmark": "allreduce", "algorithm": algorithm, "size_bytes": size_bytes}],
    }
    seconds = float(simulate(document)["duration_ps"][0]) * 1e-12
    n_ranks = n_nodes * n_gpus
    return size_bytes / seconds * 2 * (n_ranks - 1) / n_ranks / 1e9


def nvls_shares() -> tuple[float, float]:
    """NCCL's estimates of a link: all of it, and the share by NVLS on this architecture."""
    return 1.0, nccl_constants().nvls_efficiency["hopper"]


def ndv5_figure(name: str) -> PublishedFigure:
    """A published bus bandwidth of nodes of eight H100."""
    figures = published_figures()["azure-ndv5"]
    return next(figure for figure in figures if figure.id == name)


NVLS, NVLS_TREE = "af-t1-nvls", "af-t2-32"
"""One node by NVLS, four by NVLSTree."""
TREE_NODES = 4


def slices_lines() -> Iterator[str]:
    """NVLS in one node, NVLSTree and CollNet in four."""
    whole, share = nvls_shares()
    one, four = ndv5_figure(NVLS), ndv5_figure(NVLS_TREE)
    yield "### NvSwitches that reduce: nodes of eight H100"
    yield ""
    yield f"GPUs' links at NCCL's 370.8 GB/s, or x {share:g}, its factor for NVLS on this"
    yield "architecture. 48 GB/s between a GPU and its adapter, as NCCL counts PCIe. 256 MiB in"
    yield "one node, 64 MiB in four, 16 G published; delays are assumed and hardly show at these"
    yield "sizes. CollNet's number of nodes is not published (Azure/ai-infrastructure-on-azure"
    yield "a01b073), so it is no gate."
    yield ""
    yield "| algorithm | nodes | links | published GB/s | twin | error | source |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    rows = [("nvls", 1, one.value, one.source, of) for of in (whole, share)]
    rows.append(("nvls_tree", TREE_NODES, four.value, four.source, share))
    rows.append(("collnet", TREE_NODES, 450.0, "Azure's checks of H100 with SHARP", share))
    for algorithm, n_nodes, published, source, of in rows:
        size = (256 if n_nodes == 1 else 64) << 20
        twin = slices_busbw_gb_s(algorithm, of, size, n_nodes)
        cells = [algorithm, str(n_nodes), f"x {of:g}", f"{published:g}", f"{twin:.1f}"]
        yield f"| {' | '.join([*cells, f'{twin / published - 1:+.1%}', source])} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(slices_lines()) + "\n")
