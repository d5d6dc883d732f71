"""Healthy fabrics of many shapes: no rule may raise an alarm."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.audit.subnet_faults import RATES, TREE

from weft.audit.audit import audit
from weft.audit.case import AuditCase
from weft.catalog.load import platform, platform_names
from weft.core.finding import Severity
from weft.topology.fabric import Fabric
from weft.topology.fabric_spec import fabric_spec
from weft.topology.subnet.subnet import Subnet

THREE = {"generate": "fat_tree", "levels": 3, **RATES}
GROUPS = {
    "generate": "dragonfly",
    "host_bits_per_s": 200_000_000_000,
    "local_bits_per_s": 200_000_000_000,
    "global_bits_per_s": 200_000_000_000,
    "host_delay_ps": 1000,
    "local_delay_ps": 1000,
    "global_delay_ps": 1000,
}


def tree(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**TREE, **changes}.items() if value is not None}


def torus(x: int, y: int, *, wrap: bool = True) -> dict[str, Any]:
    """A torus of x by y switches with a host each; without wrap-around a mesh."""
    at = [(i, j) for i in range(x) for j in range(y)]
    links = []
    for i, j in at:
        if wrap or i + 1 < x:
            links.append((f"s{i}-{j}[1]", f"s{(i + 1) % x}-{j}[2]"))
        if wrap or j + 1 < y:
            links.append((f"s{i}-{j}[3]", f"s{i}-{(j + 1) % y}[4]"))
        links.append((f"s{i}-{j}[5]", f"n{i}-{j}/hca0[1]"))
    return {
        "schema": "weft.fabric/1",
        "name": "torus",
        "nodes": [{"name": f"n{i}-{j}", "hcas": [f"n{i}-{j}/hca0"]} for i, j in at],
        "switches": [{"name": f"s{i}-{j}", "ports": 5, "level": 1} for i, j in at],
        "links": [
            {"a": a, "b": b, "bits_per_s": 200_000_000_000, "delay_ps": 1000} for a, b in links
        ],
    }


SHAPES = {
    "two levels": tree(),
    "one leaf": tree(nodes=4),
    "two leaves": tree(nodes=8),
    "a last leaf with one node": tree(nodes=41, nodes_per_leaf=8),
    "a node with four adapters": tree(nodes=30, hcas_per_node=4, spines=4, cables_per_spine=1),
    "tapered": tree(nodes=64, nodes_per_leaf=16, spines=2, cables_per_spine=1),
    "fewer below than above": tree(nodes=20, nodes_per_leaf=2, spines=4),
    "three levels": {**THREE, "radix": 8, "nodes": 128},
    "three levels, half full": {**THREE, "radix": 8, "nodes": 70},
    "three levels, one pod and a node": {**THREE, "radix": 8, "nodes": 17},
    "three levels, tapered": {**THREE, "radix": 8, "nodes": 150, "nodes_per_leaf": 5},
    "three levels of pods": {
        **THREE,
        "nodes": 96,
        "nodes_per_leaf": 8,
        "leaves_per_pod": 4,
        "spines_per_pod": 4,
        "cables_per_spine": 2,
        "cores_per_spine": 4,
        "cables_per_core": 2,
    },
    "leaves of two kinds": tree(
        nodes=None,
        nodes_per_leaf=None,
        leaves=[{"count": 6, "nodes": 8}, {"count": 2, "nodes": 4, "cables_per_spine": 1}],
    ),
    "directors of boards": {
        "generate": "directors",
        "nodes": 528,
        "nodes_per_leaf": 44,
        "directors": 6,
        "cables_per_director": 3,
        "inside": "boards",
        "board_ports": 40,
        **RATES,
    },
    "directors as one switch": {
        "generate": "directors",
        "nodes": 500,
        "nodes_per_leaf": 44,
        "directors": 4,
        "cables_per_director": 4,
        "inside": "one_switch",
        **RATES,
    },
    "rails": {
        "generate": "rails",
        "levels": 2,
        "nodes": 40,
        "hcas_per_node": 8,
        "nodes_per_unit": 20,
        "spines": 10,
        "cables_per_spine": 2,
        **RATES,
    },
    "rails of three levels": {
        "generate": "rails",
        "levels": 3,
        "nodes": 64,
        "hcas_per_node": 4,
        "nodes_per_unit": 8,
        "units_per_pod": 4,
        "spines_per_rail": 4,
        "cables_per_spine": 2,
        "cores_per_spine": 8,
        **RATES,
    },
    "dragonfly": {
        **GROUPS,
        "groups": 9,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports": 2,
    },
    "dragonfly of slow global cables": {
        **GROUPS,
        "groups": 5,
        "routers_per_group": 4,
        "nodes_per_router": 2,
        "global_ports": 1,
        "global_bits_per_s": 100_000_000_000,
    },
    "dragonfly with spines": {
        **GROUPS,
        "groups": 5,
        "routers_per_group": 4,
        "nodes_per_router": 4,
        "global_ports": 4,
        "spines_per_group": 4,
    },
    "torus": torus(4, 4),
    "mesh": torus(5, 4, wrap=False),
    "long mesh": torus(12, 2, wrap=False),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_healthy_fabric_raises_no_alarm(shape: str) -> None:
    found = audit(AuditCase(Subnet.of_fabric(SHAPES[shape])))
    notes = [finding for finding in found.findings if finding.severity is Severity.NOTE]
    assert found.findings == tuple(notes)
    assert len(notes) == (shape == "leaves of two kinds")
    judged = {rule.name for rule, ruling in found.rulings if ruling.judged}
    assert ("wrong-rail" in judged) == shape.startswith("rails")
    assert "no fault found" in found.verdict
    unknown = ("one leaf", "two leaves", "leaves of two kinds", "mesh", "long mesh")
    assert found.is_unknown == (shape in unknown)


@pytest.mark.parametrize("engine", ["minhop", "updn", "dmodk"])
@pytest.mark.parametrize("shape", ["two levels", "three levels", "fewer below than above"])
def test_a_healthy_fabric_with_tables_raises_no_alarm(
    shape: str, engine: str, tmp_path: Path
) -> None:
    path = tmp_path / "fabric.json"
    path.write_text(json.dumps(Fabric.from_document(SHAPES[shape], engine).document))
    found = audit(AuditCase(Subnet.read([str(path)])))
    assert found.findings == ()
    judged = {rule.name for rule, ruling in found.rulings if ruling.judged}
    assert {"unreachable", "valleys", "credit-loops"} <= judged


WITHOUT_ROOTS = "three levels, tapered"
"""A tree whose roots OpenSM's updn does not find by itself: a pod is left without routes."""
TREES = [
    shape
    for shape in SHAPES
    if any(word in shape for word in ("level", "leaves", "rails")) and shape != WITHOUT_ROOTS
]


@pytest.mark.parametrize("shape", TREES)
def test_updn_on_a_healthy_tree_raises_no_alarm(shape: str) -> None:
    found = audit(AuditCase(Subnet.of_fabric(SHAPES[shape]).route("updn")))
    assert [f.sentence for f in found.findings if f.severity is not Severity.NOTE] == []
    assert any(rule.name == "credit-loops" and ruling.judged for rule, ruling in found.rulings)


MACHINES = [name for name in platform_names() if platform(name).fabric is not None]


LARGE = ("frontier",)
"""Machines of thousands of switches, whatever number of nodes: an audit takes a minute."""
SIZES = [
    pytest.param(name, n_nodes, marks=[pytest.mark.slow] * (name in LARGE))
    for name in MACHINES
    for n_nodes in (4, 17, 70, 100)
]


@pytest.mark.parametrize(("name", "n_nodes"), SIZES)
def test_a_machine_of_the_catalogue_raises_no_alarm(name: str, n_nodes: int) -> None:
    machine = platform(name)
    subnet = Subnet.of_fabric(fabric_spec(machine, n_nodes, cabled=True))
    assert audit(AuditCase(subnet, platform=machine)).findings == ()
