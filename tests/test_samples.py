"""The scenario of docs/samples says what its page says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

engine = pytest.importorskip("weft._engine", reason="weft._engine is not built (make setup)")

SAMPLE = Path(__file__).resolve().parent.parent / "docs" / "samples" / "dead-cable.json"
INFINIBAND_BYTES = 8 + 12 + 4 + 2  # LRH, BTH, ICRC, VCRC
RETH_BYTES = 16
MTU_BYTES = 4096


@pytest.fixture(scope="module")
def scenario() -> Any:
    return json.loads(SAMPLE.read_text())


def end_ps(scenario: Any) -> int:
    outcome = engine.simulate(json.dumps(scenario))
    assert outcome["status"] == "complete"
    return int(outcome["end_ps"])


def at_best_ps(scenario: Any, n_blocks: int) -> float:
    """How long one cable carries so many blocks, each in packets of an MTU."""
    size = scenario["work"][0]["size_bytes"]
    on_the_wire = size + size // MTU_BYTES * INFINIBAND_BYTES + RETH_BYTES
    return n_blocks * on_the_wire * 8e12 / float(scenario["fabric"]["switch_bits_per_s"])


def test_the_cables_that_are_left_of_a_leaf_bind(scenario: Any) -> None:
    """Each of 4 hosts sends a block to 12 outside its leaf, over 2 of the 3 up cables."""
    bound = at_best_ps(scenario, 4 * 12 // 2)
    assert bound <= end_ps(scenario) <= 1.05 * bound


def test_static_routes_share_what_is_left_worse(scenario: Any) -> None:
    """Of 12 destinations d-mod-k gives each spine 4; one live cable takes the dead one's, too."""
    static = {**scenario, "routing": {"engine": "dmodk"}}
    bound = at_best_ps(scenario, 4 * (4 + 4))
    assert end_ps(static) >= bound > end_ps(scenario)


def test_the_busiest_ports_are_the_two_that_are_left(scenario: Any) -> None:
    outcome = engine.simulate(json.dumps(scenario))
    assert {"leaf-01[6]", "leaf-01[7]"} <= set(outcome["port_name"])
    assert len(outcome["port_name"]) == scenario["probes"]["top_ports"]
