"""Node sets over so many leaf switches."""

from collections import Counter

import pytest

from weft.cluster.slurm.leaf_spread import parse_usable, spread
from weft.core.errors import InputError

SINFO = """\
n1|idle|main*
n2|mixed|main*
n3|down*|main*
n4|idle*|main*
n5|drained|main*
n6|allocated|gpu
n1|idle|gpu
"""
LEAVES = {f"leaf{i}": [f"n{i}{j}" for j in range(4)] for i in range(4)}
LEAF_OF = {node: leaf for leaf, nodes in LEAVES.items() for node in nodes}


def test_nodes_that_can_run_jobs_of_a_partition() -> None:
    assert parse_usable(SINFO, None) == ["n1", "n2"]
    assert parse_usable(SINFO, "gpu") == ["n6", "n1"]
    with pytest.raises(InputError, match="sinfo printed 'n1'"):
        parse_usable("n1", None)


@pytest.mark.parametrize(("n_nodes", "n_leaves"), [(2, 1), (4, 2), (4, 4), (5, 2), (8, 3)])
def test_each_set_lies_evenly_on_so_many_leaves(n_nodes: int, n_leaves: int) -> None:
    sets = spread(LEAVES, n_nodes, n_leaves, 6, seed=3)
    assert len(sets) == 6
    for chosen in sets:
        assert len(set(chosen)) == n_nodes
        shares = Counter(LEAF_OF[node] for node in chosen)
        assert len(shares) == n_leaves
        assert max(shares.values()) - min(shares.values()) <= 1


def test_sets_share_no_node_as_long_as_there_are_others() -> None:
    sets = spread(LEAVES, 4, 2, 4, seed=1)
    assert len({node for chosen in sets for node in chosen}) == 16
    assert sets == spread(LEAVES, 4, 2, 4, seed=1)
    assert sets != spread(LEAVES, 4, 2, 4, seed=2)


@pytest.mark.parametrize("seed", range(8))
def test_only_so_many_leaves_as_need_it_give_one_node_more(seed: int) -> None:
    assert spread({"a": ["a1", "a2"], "b": ["b1"]}, 3, 2, 1, seed=seed) == (("a1", "a2", "b1"),)


def test_too_few_leaves_are_reported_with_those_there_are() -> None:
    small = {"leaf0": ["a", "b"], "leaf1": ["c"]}
    with pytest.raises(InputError, match="4 nodes do not lie on 2 leaves") as caught:
        spread(small, 4, 2, 1, seed=1)
    assert "leaf0: 2, leaf1: 1" in caught.value.describe()
    with pytest.raises(InputError, match="2 nodes cannot lie on 3 leaves"):
        spread(small, 2, 3, 1, seed=1)
