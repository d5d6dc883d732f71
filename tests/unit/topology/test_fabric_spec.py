"""A platform and a number of nodes become a fabric: as the twin takes it, and as it is cabled."""

from typing import Any

import pytest

from weft.catalog.load import platform, platform_names
from weft.core.errors import InputError
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec


@pytest.mark.parametrize("n_nodes", [1, 2, 16, 100, 400, 800])
def test_a_balanced_tree_is_non_blocking_and_fits_its_switches(n_nodes: int) -> None:
    spec = fabric_spec(platform("fat-tree"), n_nodes)
    assert spec["levels"] == 2
    n_leaves = -(-n_nodes // spec["nodes_per_leaf"])
    up = spec["spines"] * spec["cables_per_spine"]
    assert up >= spec["nodes_per_leaf"]
    assert spec["nodes_per_leaf"] + up <= 40
    assert n_leaves * spec["cables_per_spine"] <= 40


def test_a_large_tree_gets_a_third_level() -> None:
    spec = fabric_spec(platform("fat-tree"), 801)
    assert (spec["levels"], spec["radix"], spec["nodes_per_leaf"]) == (3, 40, 20)
    assert "spines" not in spec


def test_ports_that_whole_nodes_leave_free_go_up() -> None:
    spec = fabric_spec(platform("azure-ndv4"), 470)
    assert (spec["levels"], spec["radix"], spec["nodes_per_leaf"]) == (3, 40, 2)


def test_ndv4_has_eight_rails_and_a_path_up_for_each() -> None:
    spec = fabric_spec(platform("azure-ndv4"), 16)
    assert spec["hcas_per_node"] == 8
    assert spec["spines"] == 8 * spec["nodes_per_leaf"]


def test_frontera_is_cabled_as_published() -> None:
    spec = fabric_spec(platform("frontera"), 100)
    assert (spec["nodes_per_leaf"], spec["spines"], spec["cables_per_spine"]) == (44, 6, 3)
    assert spec["host_bits_per_s"] == 100 * 10**9
    assert spec["switch_bits_per_s"] == 200 * 10**9


def test_more_nodes_than_a_machine_has_are_refused() -> None:
    with pytest.raises(InputError, match="platform 'frontera' has 8008 nodes, not 9000"):
        fabric_spec(platform("frontera"), 9000)


def test_no_nodes_are_refused() -> None:
    with pytest.raises(InputError, match="0 nodes"):
        fabric_spec(platform("fat-tree"), 0)


def test_a_platform_without_a_fabric_has_no_twin() -> None:
    with pytest.raises(InputError, match="platform 'this-machine' has no fabric to simulate"):
        fabric_spec(platform("this-machine"), 4)


def switches(fabric: Fabric, part: str) -> int:
    return sum(part in switch["name"] for switch in fabric.document["switches"])


def built(name: str, n_nodes: int) -> tuple[dict[str, Any], Fabric]:
    spec = fabric_spec(platform(name), n_nodes, cabled=True)
    return spec, Fabric.from_document(spec)


def test_every_platform_with_a_twin_has_a_cabling_of_any_size() -> None:
    for name in platform_names():
        document = platform(name)
        if document.has_twin:
            for n_nodes in (1, 7, 50):
                spec, fabric = built(name, n_nodes)
                assert len(fabric.nodes) == n_nodes, name
                assert len(fabric.document["nodes"][0]["hcas"]) == document.hcas_per_node
                assert all(isinstance(text, str) for text in spec["assumed"])


def test_a_platform_that_says_no_more_is_cabled_as_its_twin() -> None:
    spec = fabric_spec(platform("azure-hbv3"), 100, cabled=True)
    assumed = spec.pop("assumed")
    assert spec == fabric_spec(platform("azure-hbv3"), 100)
    assert any(text.startswith("radix = 40 ports: 40-port HDR switches") for text in assumed)


def test_frontera_has_directors_of_assumed_boards_and_a_twin_of_six_switches() -> None:
    spec, fabric = built("frontera", 8008)
    # 182 leaves; 182 x 3 cables to a director are 28 line boards of 20, with 20 spine boards.
    assert (switches(fabric, "leaf"), switches(fabric, "line")) == (182, 6 * 28)
    assert switches(fabric, "spine") == 6 * 20
    assert any("not published" in text for text in spec["assumed"])
    assert any("28 line boards of 20" in text for text in fabric.document["assumed"])
    assert fabric_spec(platform("frontera"), 8008)["generate"] == "fat_tree"
    with pytest.raises(InputError, match="8008 nodes, not 8009"):
        fabric_spec(platform("frontera"), 8009, cabled=True)


@pytest.mark.parametrize(
    ("name", "n_nodes", "leaves", "spines", "cores"),
    [
        # 5 units of 20 nodes are 40 leaves, as many as a spine of 40 ports joins.
        ("azure-ndv4", 100, 40, 20, 0),
        # 6 units take three levels: one pod, 20 spines a rail, 20 x 20 cores.
        ("azure-ndv4", 101, 48, 160, 400),
        ("azure-ndv5", 256, 64, 32, 0),
    ],
)
def test_adapters_of_gpu_nodes_go_by_rails(
    name: str, n_nodes: int, leaves: int, spines: int, cores: int
) -> None:
    spec, fabric = built(name, n_nodes)
    found = tuple(switches(fabric, part) for part in ("leaf", "spine", "core"))
    assert found == (leaves, spines, cores)
    assert fabric.document["nodes"][0]["hcas"][7] == "n001/mlx5_ib7"
    ends = {link["a"]: link["b"] for link in fabric.document["links"]}
    assert ends["n001/mlx5_ib7[1]"] == "rail7-leaf-01[1]"
    assert "how Azure cables rails is not published" in spec["assumed"][0]


def test_more_nodes_than_three_levels_of_rails_hold_are_refused() -> None:
    # 40 ports of a core are 5 pods of 8 rails, of 20 units of 20 nodes each.
    assert fabric_spec(platform("azure-ndv4"), 2000, cabled=True)["levels"] == 3
    with pytest.raises(InputError, match="has 2000 nodes, not 2001"):
        fabric_spec(platform("azure-ndv4"), 2001, cabled=True)


@pytest.mark.parametrize("name", ["frontera", "azure-ndv4"])
def test_packets_go_up_and_then_down(name: str) -> None:
    _, fabric = built(name, 500)
    pairs = [("n001", node) for node in ("n002", "n021", "n045", "n300", "n500")]
    # From leaf to leaf there are at most two switches up and two down between.
    assert all(len(path) <= 6 for path in fabric.paths(pairs))
