"""Limits of the engine: one more than each is refused, in no time; and what fits is read."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from weft.cli.limits.limits import ENGINE_ROWS
from weft.topology.engine import engine_module

engine = engine_module()
MOST = {name: most for _, most, _, _, name in ENGINE_ROWS}
DISCOVERED = Path(__file__).resolve().parents[1] / "fixtures/fabric/fault/nd_after_clear.out"
WIDEST = (1 << 16) - 1
"""Ports of a switch."""
RATE = 100_000_000_000


def fabric(n_hcas: int, switch_ports: list[int]) -> dict[str, Any]:
    """A document of one node and of switches, without a cable."""
    switches = [{"name": f"s{n}", "ports": ports} for n, ports in enumerate(switch_ports)]
    nodes = [{"name": "n0", "hcas": [f"n0/h{n}" for n in range(n_hcas)]}]
    return {"schema": "weft.fabric/1", "nodes": nodes, "switches": switches, "links": []}


def stars(n_hcas: int, n_switches: int) -> dict[str, Any]:
    """As many leaves as switches, each with the same number of HCAs."""
    document = fabric(n_hcas, [n_hcas // n_switches + 1] * n_switches)
    for n in range(n_hcas):
        at = f"s{n % n_switches}[{n // n_switches + 1}]"
        document["links"].append(
            {"a": f"n0/h{n}[1]", "b": at, "bits_per_s": RATE, "delay_ps": 5000}
        )
    return document


def tree(nodes: int, **more: Any) -> dict[str, Any]:
    """A generated fat-tree of one leaf."""
    rates = {"host_bits_per_s": RATE, "switch_bits_per_s": RATE}
    delays = {"host_delay_ps": 5000, "switch_delay_ps": 5000}
    shape = {"levels": 2, "nodes": nodes, "nodes_per_leaf": nodes, "spines": 1}
    return {"generate": "fat_tree", **shape, **rates, **delays, **more}


def scenario(**changes: Any) -> dict[str, Any]:
    return {
        "schema": "weft.scenario/1",
        "fabric": tree(2),
        "host": {"regimes": [{"send_overhead_ns": 300, "recv_overhead_ns": 300}]},
        "work": [{"benchmark": "barrier", "iterations": 1, "warmup": 0}],
        **changes,
    }


WIDE = [WIDEST] * (MOST["MAX_PORTS"] // WIDEST)
LEFT = MOST["MAX_PORTS"] - sum(WIDE)
TOO_MUCH: dict[str, tuple[dict[str, Any], int]] = {
    "ports": (fabric(1, [*WIDE, LEFT]), MOST["MAX_PORTS"]),
    "table entries": (fabric((1 << 16) + 1, [1] * (1 << 16)), MOST["MAX_TABLE_ENTRIES"]),
    "routes to leaves": (stars(11_586, 11_586), MOST["MAX_LEAF_ENTRIES"]),
    "cables": (tree(60_000, nodes_per_leaf=200, spines=6_700), MOST["MAX_LINKS"]),
}


@pytest.mark.parametrize("title", TOO_MUCH)
def test_a_fabric_too_large_is_refused(title: str) -> None:
    document, most = TOO_MUCH[title]
    text, begun = json.dumps(document), time.process_time()
    with pytest.raises(ValueError, match=f"expected: at most {most}"):
        engine.build_fabric(text)
    assert time.process_time() - begun < 10


def test_a_rank_too_many_is_refused() -> None:
    placement = {"tasks_per_node": MOST["MAX_RANKS"] // 2 + 1}
    with pytest.raises(ValueError, match=f"more than {MOST['MAX_RANKS']} ranks"):
        engine.simulate(json.dumps(scenario(placement=placement)))


def test_a_schedule_of_one_byte_too_many_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.goal"
    with path.open("wb") as file:
        file.truncate(MOST["MAX_SCHEDULE_BYTES"] + 1)
    work = {"benchmark": "schedule", "format": "goal", "path": str(path)}
    with pytest.raises(ValueError, match=f"expected: at most {MOST['MAX_SCHEDULE_BYTES']}"):
        engine.simulate(json.dumps(scenario(work=[work])))


@pytest.mark.parametrize("above", [0, 1])
def test_a_line_of_one_byte_too_many_is_cut_and_reported(tmp_path: Path, above: int) -> None:
    line = "#" * (MOST["MAX_LINE_BYTES"] + above)
    path = tmp_path / "x.ibnetdiscover"
    path.write_text(f"{DISCOVERED.read_text()}{line}\n")
    description = engine.read_subnet([str(path)]).description()
    assert ("a line that is too long; its end was cut" in description) == bool(above)
