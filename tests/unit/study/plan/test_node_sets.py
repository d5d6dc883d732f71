import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.core.errors import InputError
from weft.study.plan.plan import choose_node_sets

NODES = tuple(f"n{i:02d}" for i in range(12))


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000))
def test_sets_are_different_of_the_size_asked_and_in_the_order_given(
    n_nodes: int, n_sets: int, seed: int
) -> None:
    if n_nodes == len(NODES):
        n_sets = 1
    sets = choose_node_sets(NODES, n_nodes, n_sets, seed=seed)
    assert len(set(sets)) == n_sets
    for chosen in sets:
        assert len(set(chosen)) == n_nodes
        assert list(chosen) == sorted(chosen)
    assert sets == choose_node_sets(NODES, n_nodes, n_sets, seed=seed)


@given(st.integers(0, 1000))
def test_sets_share_no_node_while_nodes_last(seed: int) -> None:
    sets = choose_node_sets(NODES, 3, 4, seed=seed)
    assert sorted(node for chosen in sets for node in chosen) == list(NODES)


def test_all_combinations_can_be_asked_for() -> None:
    assert len(set(choose_node_sets(NODES[:5], 2, 10, seed=1))) == 10


def test_too_few_nodes_say_how_many_are_needed() -> None:
    with pytest.raises(InputError, match="needs 13 nodes, 12 available") as error:
        choose_node_sets(NODES, 13, 1, seed=1)
    assert "--nodes" in error.value.describe()


def test_too_many_sets_say_how_many_there_are() -> None:
    with pytest.raises(InputError, match="11 different sets of 2 of 5") as error:
        choose_node_sets(NODES[:5], 2, 11, seed=1)
    assert "at most 10 sets" in error.value.describe()


def test_a_job_as_large_as_the_machine_has_one_set() -> None:
    with pytest.raises(InputError) as error:
        choose_node_sets(NODES, len(NODES), 5, seed=1)
    assert error.value.expected == "at most 1 set"


@given(st.integers(1, 12), st.integers(0, 1000))
def test_packed_sets_are_runs_of_neighbours(n_nodes: int, seed: int) -> None:
    n_sets = min(3, len(NODES) - n_nodes + 1)
    sets = choose_node_sets(NODES, n_nodes, n_sets, seed=seed, placement="packed")
    assert len(set(sets)) == n_sets
    for chosen in sets:
        first = NODES.index(chosen[0])
        assert chosen == NODES[first : first + n_nodes]
    assert choose_node_sets(NODES, n_nodes, 1, seed=seed, placement="packed")[0][0] == NODES[0]


@given(st.integers(0, 1000))
def test_sets_in_random_order_have_the_nodes_of_scattered_ones(seed: int) -> None:
    scattered = choose_node_sets(NODES, 5, 4, seed=seed)
    mixed = choose_node_sets(NODES, 5, 4, seed=seed, placement="random-order")
    assert [sorted(one) for one in mixed] == [list(one) for one in scattered]
    assert any(list(one) != sorted(one) for one in mixed)


def test_a_placement_no_one_knows_is_refused_and_too_many_packed_sets() -> None:
    with pytest.raises(InputError, match="option 'placement' is 'piled'"):
        choose_node_sets(NODES, 2, 1, seed=1, placement="piled")
    with pytest.raises(InputError, match="4 different packed sets of 10 of 12 nodes") as caught:
        choose_node_sets(NODES, 10, 4, seed=1, placement="packed")
    assert caught.value.expected == "at most 3 sets"


@given(st.integers(1, 4), st.integers(2, 6), st.integers(0, 1000))
def test_packed_sets_share_no_node_while_nodes_last(n_nodes: int, n_sets: int, seed: int) -> None:
    if n_nodes * n_sets > len(NODES):
        return
    sets = choose_node_sets(NODES, n_nodes, n_sets, seed=seed, placement="packed")
    listed = [node for chosen in sets for node in chosen]
    assert len(listed) == len(set(listed)) == n_nodes * n_sets
