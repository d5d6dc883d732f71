"""NCCL's trees: every node below the root once, both trees complementary, bytes as the law says."""

import re
from collections import Counter

import pytest

from weft.bench.twin.nccl_tree import neighbours, tree_schedule
from weft.topology.engine import engine_module


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


def test_the_engine_takes_it() -> None:
    assert engine_module() is not None
    text = tree_schedule(2, 2, 70_000, second=True, start_ns=0)
    assert text.startswith("num_ranks 4\nrank 0 {\nstart: calc 0\n")
    assert text.count("{") == text.count("}") == 4
