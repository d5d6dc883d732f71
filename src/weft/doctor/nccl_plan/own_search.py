"""weft's own search for channels, equal to that of a version of NCCL; it wants no library."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft._engine import search_nccl_graphs
from weft.doctor.nccl_plan.job_topology import JobTopology
from weft.doctor.nccl_plan.plan import SearchGraph
from weft.doctor.nccl_plan.search_document import Version, node_document

CROSS_NIC = 2
"""NCCL_CROSS_NIC where it is not set."""


def search_graphs(
    topology: JobTopology, version: Version, n_nodes: int, *, has_nvls: bool = False
) -> Mapping[str, SearchGraph]:
    """The graphs of a job of all GPUs on so many equal nodes."""
    node = node_document(topology, version, n_nodes)
    most = 64 if version >= (2, 19, 0) else 32
    ring = _graphs(node, [("ring", "ring", 1, most // 2)])
    n = ring["ring"].n_channels
    asked = [("tree", "balanced_tree", n, n)]
    if has_nvls:
        asked.append(("nvls", "nvls", 1, most))
    return {**ring, **_graphs(node, asked)}


def _graphs(
    node: Mapping[str, Any], asked: Sequence[tuple[str, str, int, int]]
) -> dict[str, SearchGraph]:
    requests = [
        {"pattern": word, "min_channels": least, "max_channels": most, "cross_nic": CROSS_NIC}
        for _, word, least, most in asked
    ]
    found = json.loads(search_nccl_graphs(json.dumps({"node": node, "requests": requests})))
    return {name: _graph(name, one) for (name, *_), one in zip(asked, found, strict=True)}


def _graph(name: str, one: Mapping[str, Any]) -> SearchGraph:
    return SearchGraph(
        name=name,
        n_channels=len(one["gpus"]),
        gb_s_inside=round(one["gb_s_inside"], 3),
        gb_s_between=round(one["gb_s_between"], 3),
        path_inside=one["path_inside"],
        path_between=one["path_between"],
        gpus=tuple(map(tuple, one["gpus"])),
        nets=tuple((a, b) for a, b in one["nets"]),
    )
