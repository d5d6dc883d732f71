"""weft's own search for channels, equal to that of a version of NCCL; it wants no library."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from weft.core.errors import InputError
from weft.doctor.nccl_plan.job_topology import JobTopology
from weft.doctor.nccl_plan.plan import NcclPlan, NodePlan, SearchGraph
from weft.doctor.nccl_plan.search_document import Version, node_document
from weft.doctor.numbers import strtoll
from weft.topology.engine import engine_module, refusals

FIRST_MINOR, LAST_MINOR = (2, 26), (2, 28)
"""Versions in between have the search that tests/oracle/test_nccl_search.py holds to libraries."""
RELEASES = ("2.26.5", "2.27.3", "2.28.3")
"""One of each minor version."""
CROSS_NIC = 2
"""NCCL_CROSS_NIC where it is not set."""
_MOST_CHANNELS = 64


def own_plan(
    topology: JobTopology, version: str, *, nodes: Sequence[int], cross_nic: int = CROSS_NIC
) -> NcclPlan:
    """The graphs of a version of NCCL for jobs of all GPUs on so many equal nodes, by weft's own
    search. Raises InputError for a version that it does not know."""
    known = known_version(version)
    # NCCL looks at one node: how many others there are changes nothing.
    graphs = {
        several: search_graphs(topology, known, 2 if several else 1, cross_nic=cross_nic)
        for several in {n > 1 for n in nodes}
    }
    plans = {n: NodePlan(n, graphs[n > 1], {}) for n in nodes}
    return NcclPlan(version, len(topology.bus_ids), topology.nets, plans, is_model=True)


def cross_nic_of(text: str | None) -> int:
    """What a value of NCCL_CROSS_NIC stands for: any but 1 and 2 forbids crossing."""
    value = strtoll(text)[0] if text else CROSS_NIC
    return value if value in (1, CROSS_NIC) else 0


def known_version(text: str) -> Version:
    """A version as numbers. Raises InputError for one that the search does not know."""
    parts = text.split(".")
    if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts):
        major, minor, patch = map(int, parts)
        if FIRST_MINOR <= (major, minor) <= LAST_MINOR:
            return major, minor, patch
    first, last = (".".join(map(str, one)) for one in (FIRST_MINOR, LAST_MINOR))
    raise InputError(
        f"weft has no search of NCCL '{text}'",
        expected=f"three numbers of {first} to {last}, such as {', '.join(RELEASES)}",
        hint="weft doctor nccl-plan LIBNCCL asks a library of any other version",
    )


def search_graphs(
    topology: JobTopology, version: Version, n_nodes: int, *, cross_nic: int = CROSS_NIC
) -> Mapping[str, SearchGraph]:
    """The graphs of a job on so many nodes, in the order in which NCCL looks for them."""
    node = node_document(topology, version, n_nodes)

    def found(name: str, pattern: str, least: int, most: int) -> dict[str, SearchGraph]:
        request = {"pattern": pattern, "min_channels": least, "max_channels": most}
        job = {"node": node, "requests": [request | {"cross_nic": cross_nic}]}
        with refusals():
            (one,) = json.loads(engine_module().search_nccl_graphs(json.dumps(job)))
        return {name: _graph(name, one)}

    graphs = found("ring", "ring", 1, _MOST_CHANNELS // 2)
    n = graphs["ring"].n_channels
    graphs |= found("tree", "balanced_tree", n, n)
    if topology.has_nvls:
        graphs |= found("nvls", "nvls", 1, _MOST_CHANNELS)
    return graphs


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
        cross_nic=one["cross_nic"],
    )
