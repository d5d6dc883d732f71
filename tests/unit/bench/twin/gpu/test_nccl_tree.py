"""NCCL's trees: every node below the root once, both trees complementary, bytes as the law says."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from weft.bench.twin.gpu.nccl_tree import neighbours, tree_schedule
from weft.topology.engine import engine_module
from weft.topology.fabric import Fabric


@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("n", range(1, 40))
def test_a_tree_joins_all_nodes_and_both_ends_of_an_edge_know_it(n: int, second: bool) -> None:
    found = [neighbours(n, node, second=second) for node in range(n)]
    (root,) = [node for node, (parent, _) in enumerate(found) if parent is None]
    below = Counter(child for _, children in found for child in children)
    assert below == Counter(node for node in range(n) if node != root)
    assert all(node in found[parent][1] for node, (parent, _) in enumerate(found) if node != root)
    assert all(len(children) <= 2 for _, children in found)


@pytest.mark.parametrize("n", [2, 4, 6, 8, 16, 32])
def test_who_has_others_below_in_one_tree_is_a_leaf_in_the_other(n: int) -> None:
    """NVIDIA/nccl, src/graph/trees.cc: the second tree of an even number is the first mirrored."""
    inner = [
        {node for node in range(n) if neighbours(n, node, second=second)[1]}
        for second in (False, True)
    ]
    assert not inner[0] & inner[1]


def test_the_tree_of_eight_is_the_one_that_nccl_documents() -> None:
    """src/graph/trees.cc draws it: 0 above 4, 4 above 2 and 6, 2 above 1 and 3, 6 above 5 and 7."""
    found = [neighbours(8, node, second=False) for node in range(8)]
    assert found[0] == (None, [4])
    assert found[4] == (0, [2, 6])
    assert found[2] == (4, [1, 3])
    assert found[6] == (4, [5, 7])


@pytest.mark.parametrize(("n_nodes", "per_node"), [(1, 4), (2, 1), (3, 4), (4, 2), (7, 1)])
@pytest.mark.parametrize("n_bytes", [1, 100, 1_000_003])
def test_every_edge_carries_the_buffer_once_in_each_direction(
    n_nodes: int, per_node: int, n_bytes: int
) -> None:
    text = tree_schedule(n_nodes, per_node, n_bytes, second=False, start_ns=8400)
    sent: Counter[tuple[int, int]] = Counter()
    for part in re.split(r"^rank ", text, flags=re.MULTILINE)[1:]:
        rank = int(part.split(" ", 1)[0])
        for size, peer in re.findall(r"send (\d+)b to (\d+)", part):
            sent[rank, int(peer)] += int(size)
    edges = n_nodes * per_node - 1
    assert set(sent.values()) == {n_bytes}
    assert len(sent) == 2 * edges
    assert all((b, a) in sent for a, b in sent)
    assert text.count("start: calc 8400") == n_nodes * per_node


FABRIC = {
    "generate": "fat_tree",
    "levels": 2,
    "nodes": 8,
    "nodes_per_leaf": 4,
    "spines": 2,
    "host_bits_per_s": 100_000_000_000,
    "switch_bits_per_s": 100_000_000_000,
    "host_delay_ps": 5000,
    "switch_delay_ps": 5000,
}
START_NS, OVERHEAD_NS = 8400, 300


def simulated_ps(step: dict[str, Any], n_nodes: int, *, apart: int = 1) -> int:
    """The time of one iteration of a step, a rank on every node of so many, `apart` apart."""
    nodes = Fabric.from_document(FABRIC).nodes[: n_nodes * apart : apart]
    document = {
        "schema": "weft.scenario/1",
        "fabric": FABRIC,
        "host": {
            "regimes": [{"send_overhead_ns": OVERHEAD_NS, "recv_overhead_ns": OVERHEAD_NS}],
        },
        "placement": {"nodes": list(nodes), "tasks_per_node": 1},
        "work": [{**step, "iterations": 1, "warmup": 0}],
    }
    outcome = engine_module().simulate(json.dumps(document))
    assert outcome["status"] == "complete", outcome["message"]
    (time_ps,) = outcome["duration_ps"].tolist()
    return int(time_ps)


def tree_ps(n_nodes: int, n_bytes: int, *, second: bool = False) -> int:
    text = tree_schedule(n_nodes, 1, n_bytes, second=second, start_ns=START_NS)
    return simulated_ps({"benchmark": "schedule", "format": "goal", "text": text}, n_nodes)


def round_trip_ps(n_bytes: int, *, apart: int = 1) -> int:
    return simulated_ps({"benchmark": "latency", "size_bytes": n_bytes}, 2, apart=apart)


@pytest.mark.parametrize("second", [False, True])
def test_two_ranks_exchange_a_chunk_in_the_time_of_a_ping_pong(second: bool) -> None:
    """One chunk goes up, its sum comes down."""
    assert tree_ps(2, 4096, second=second) == START_NS * 1000 + round_trip_ps(4096)


def test_a_tree_takes_a_round_trip_for_each_level() -> None:
    """Eight nodes have three levels below the root: 0 above 4, 4 above 2 and 6, 2 above 1 and 3."""
    found_ps = tree_ps(8, 1) - START_NS * 1000
    assert found_ps >= 3 * round_trip_ps(1)
    # A parent handles its two children one after the other, on the way up and on the way down.
    second_child_ps = 2 * 2 * OVERHEAD_NS * 1000
    assert found_ps <= 3 * (round_trip_ps(1, apart=4) + second_child_ps)


def test_chunks_follow_one_another_at_the_rate_of_the_link() -> None:
    """Both directions carry the buffer once, at once: about bytes / rate, not twice that."""
    n_bytes = 64 << 20
    at_rate_ps = n_bytes * 8 * 10
    assert at_rate_ps < tree_ps(2, n_bytes) < 1.1 * at_rate_ps
