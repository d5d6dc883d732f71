"""A real fabric with the adapters that ranks use, in the ranks' order."""
# mypy: disable-error-code="no-untyped-def"

import pytest

from weft.core.errors import InputError
from weft.topology.rail_view import on_rails, rails_of

NODES = ("a", "b")


def document(*devices, of_b=None):
    """Two nodes on one switch, their adapters in this order."""
    of = {"a": devices, "b": of_b or devices}
    names = [f"{node}/{device}" for node in NODES for device in of[node]]
    return {
        "nodes": [{"name": n, "hcas": [f"{n}/{device}" for device in of[n]]} for n in NODES],
        "switches": [{"name": "s"}],
        "links": [{"a": f"{name}[1]", "b": f"s[{i}]"} for i, name in enumerate(names, 1)],
        "lfts": {"s": list(range(1, len(names) + 1))},
    }


def adapters(fabric):
    return {node["name"]: node["hcas"] for node in fabric["nodes"]}


def test_adapters_stand_in_the_order_of_the_rails_and_others_are_left_out():
    fabric = document("mlx5_0", "mlx5_1", "mlx5_2")
    narrowed = on_rails(fabric, NODES, ("mlx5_2:1", "mlx5_0"))
    assert adapters(narrowed) == {
        "a": ["a/mlx5_2", "a/mlx5_0"],
        "b": ["b/mlx5_2", "b/mlx5_0"],
    }
    port_of = {link["a"]: int(link["b"][2:-1]) for link in narrowed["links"]}
    assert set(port_of) == {"a/mlx5_0[1]", "a/mlx5_2[1]", "b/mlx5_0[1]", "b/mlx5_2[1]"}
    kept = [hca for node in narrowed["nodes"] for hca in node["hcas"]]
    assert narrowed["lfts"]["s"] == [port_of[f"{hca}[1]"] for hca in kept]
    assert adapters(fabric)["a"] == ["a/mlx5_0", "a/mlx5_1", "a/mlx5_2"]


def test_nodes_that_are_not_measured_keep_their_adapters():
    narrowed = on_rails(document("mlx5_0", "mlx5_1"), ("a",), ("mlx5_1:1",))
    assert adapters(narrowed) == {"a": ["a/mlx5_1"], "b": ["b/mlx5_0", "b/mlx5_1"]}


def test_a_port_of_an_adapter_with_two_is_reported_by_its_number():
    narrowed = on_rails(document("mlx5_0/1", "mlx5_0/2"), NODES, ("mlx5_0:2",))
    assert adapters(narrowed)["a"] == ["a/mlx5_0/2"]


@pytest.mark.parametrize("rail", ["mlx5_7:1", "mlx5_1:2", "eth0"])
def test_a_rail_that_is_no_adapter_of_a_node_is_refused(rail):
    with pytest.raises(InputError, match=f"^--rails: b has no adapter '{rail}'") as caught:
        on_rails(document("mlx5_7", "eth0", "mlx5_1/2", of_b=["mlx5_10", "mlx5_2"]), NODES, (rail,))
    assert caught.value.expected == "mlx5_2:1, mlx5_10:1"


@pytest.mark.parametrize("devices", [("hca",), ("HCA-1", "HCA-2")])
def test_a_fabric_that_names_no_devices_stays_as_it_is(devices):
    fabric = document(*devices)
    assert on_rails(fabric, NODES, ("mlx5_0:1",)) == fabric
    assert rails_of(fabric, NODES) is None


def test_rails_are_all_devices_by_number():
    fabric = document("mlx5_0", "mlx5_10", "mlx5_2")
    assert rails_of(fabric, NODES) == ("mlx5_0:1", "mlx5_2:1", "mlx5_10:1")
    assert rails_of(document("mlx5_0/2", "mlx5_0/1"), NODES) == ("mlx5_0:1", "mlx5_0:2")


def test_there_are_no_rails_where_nodes_have_one_adapter_or_others():
    assert rails_of(document("mlx5_0"), NODES) is None
    assert rails_of(document("mlx5_0", "mlx5_1", of_b=["mlx5_0", "mlx5_2"]), NODES) is None
