"""Laws of weft's own search for NCCL's channels: no link carries more than it has."""

from collections import Counter
from itertools import pairwise

import pytest

from weft._engine import search_nccl_graphs
from weft.doctor.nccl_plan.nodes import topology_of
from weft.doctor.nccl_plan.own_search import search_graphs
from weft.doctor.nccl_plan.plan import SearchGraph
from weft.doctor.nccl_plan.search_document import Version, node_document

OLD, NEW = (2, 26, 5), (2, 28, 3)
PLATFORMS = ("azure-ndv4", "azure-ndv5")


def load_of_links(platform: str, version: Version, ring: SearchGraph, n_nodes: int) -> list[float]:
    """What the rings leave of each link, GB/s."""
    node = node_document(topology_of(platform, None), version, n_nodes)
    gpus = {one["rank"]: one["vertex"] for one in node["gpus"]}
    nets = {one["number"]: one["vertex"] for one in node["nets"]}
    paths = {(one["from"], one["to"]): one for one in node["paths"]}
    load: Counter[int] = Counter()
    for ranks, (enters, leaves) in zip(ring.gpus, ring.nets, strict=True):
        way = [gpus[rank] for rank in ranks]
        way = [nets[enters], *way, nets[leaves]] if nets else [*way, way[0]]
        for pair in pairwise(way):
            load.update(paths[pair]["links"])
    rate = ring.gb_s_inside
    return [one["gb_s"] - load[i] * rate for i, one in enumerate(node["links"])]


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("version", [OLD, NEW], ids=str)
@pytest.mark.parametrize("n_nodes", [1, 2])
def test_rings_visit_every_gpu_and_overload_no_link(
    platform: str, version: Version, n_nodes: int
) -> None:
    ring = search_graphs(topology_of(platform, None), version, n_nodes)["ring"]
    assert all(sorted(ranks) == list(range(8)) for ranks in ring.gpus)
    assert min(load_of_links(platform, version, ring, n_nodes)) > -0.01


@pytest.mark.parametrize("platform", PLATFORMS)
def test_trees_have_as_many_channels_as_rings(platform: str) -> None:
    graphs = search_graphs(topology_of(platform, None), OLD, 2)
    assert graphs["tree"].n_channels == graphs["ring"].n_channels
    assert all(enters == leaves for enters, leaves in graphs["tree"].nets)


def test_only_hopper_behind_switches_has_nvls() -> None:
    found = {name: search_graphs(topology_of(name, None), NEW, 2) for name in PLATFORMS}
    assert ["nvls" in found[name] for name in PLATFORMS] == [False, True]
    heads = [ranks[0] for ranks in found["azure-ndv5"]["nvls"].gpus]
    assert sorted(heads) == list(range(8))


def test_a_channel_leaves_by_its_own_adapter_where_crossing_is_off() -> None:
    job = topology_of("azure-ndv5", None)
    crossing = search_graphs(job, OLD, 2)["ring"]
    own = search_graphs(job, OLD, 2, cross_nic=0)["ring"]
    assert any(enters != leaves for enters, leaves in crossing.nets)
    assert all(enters == leaves for enters, leaves in own.nets)


@pytest.mark.parametrize(
    ("text", "says"), [("{", "EOF"), ('{"node": {}, "requests": []}', "missing field `version`")]
)
def test_a_document_that_is_none(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        search_nccl_graphs(text)
