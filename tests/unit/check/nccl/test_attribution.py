"""Which node explains launches that went wrong."""

from itertools import combinations
from random import Random

from weft.check.nccl.attribution import PairEvent, attribution_of

NODES = [f"n{i}" for i in range(1, 9)]


def events(wrong: set[frozenset[str]], nodes: list[str] = NODES) -> list[PairEvent]:
    """Every pair once; these went wrong."""
    return [PairEvent(pair, frozenset(pair) in wrong) for pair in combinations(nodes, 2)]


def of_node(*names: str) -> set[frozenset[str]]:
    return {frozenset((a, b)) for a in names for b in NODES if a != b}


def test_nothing_wrong_accuses_nobody() -> None:
    found = attribution_of(events(set()))
    assert found.culprits == ()
    assert not found.is_common


def test_a_node_that_fails_with_everybody_is_the_only_culprit() -> None:
    found = attribution_of(events(of_node("n3")))
    assert [one.hosts for one in found.culprits] == [("n3",)]
    assert found.culprits[0].sure
    assert (found.culprits[0].n_wrong, found.culprits[0].n) == (7, 7)


def test_two_nodes_are_two_culprits_and_their_own_pair_is_none() -> None:
    found = attribution_of(events(of_node("n3", "n6")))
    assert {one.hosts for one in found.culprits} == {("n3",), ("n6",)}
    assert all(one.sure for one in found.culprits)


def test_one_failed_launch_accuses_no_node() -> None:
    found = attribution_of(events({frozenset(("n3", "n6"))}))
    (pair,) = found.culprits
    assert set(pair.hosts) == {"n3", "n6"}
    assert not pair.sure


def test_a_pair_that_fails_each_time_is_accused_as_a_pair() -> None:
    bad = frozenset(("n3", "n6"))
    found = attribution_of([*events({bad}), PairEvent(("n6", "n3"), is_wrong=True)])
    (pair,) = found.culprits
    assert set(pair.hosts) == set(bad)
    assert pair.sure


def test_a_pair_that_works_when_repeated_passed() -> None:
    bad = frozenset(("n3", "n6"))
    found = attribution_of([*events({bad}), PairEvent(("n6", "n3"), is_wrong=False)])
    assert found.culprits[0].passed
    assert not found.culprits[0].sure


def test_where_every_launch_fails_the_cause_is_common() -> None:
    every = {frozenset(pair) for pair in combinations(NODES, 2)}
    assert attribution_of(events(every)).is_common


def test_launches_that_fail_by_chance_accuse_no_node() -> None:
    """64 healthy nodes in ten partners each; one launch in sixteen fails (a launcher's limit)."""
    nodes = [f"n{i}" for i in range(64)]
    for seed in range(20):
        draws = Random(seed)
        known = [
            PairEvent((a, nodes[(i + step) % 64]), draws.random() < 1 / 16)
            for step in range(1, 6)
            for i, a in enumerate(nodes)
        ]
        assert not [
            one for one in attribution_of(known).culprits if one.sure and len(one.hosts) < 2
        ]


def test_a_node_that_fails_beside_launches_that_fail_by_chance_is_accused() -> None:
    nodes = [f"n{i}" for i in range(64)]
    draws = Random(1)
    known = [
        PairEvent((a, b), "n7" in (a, b) or draws.random() < 1 / 32)
        for step in range(1, 6)
        for a, b in ((a, nodes[(i + step) % 64]) for i, a in enumerate(nodes))
    ]
    assert {one.hosts for one in attribution_of(known).culprits if one.sure} == {("n7",)}


def test_another_adapter_that_works_repeats_no_launch() -> None:
    bad = PairEvent(("n1", "n2"), is_wrong=True, ends=("n1:3", "n2:3"))
    fine = [PairEvent(("n1", "n2"), is_wrong=False, ends=(f"n1:{i}", f"n2:{i}")) for i in range(3)]
    (pair,) = attribution_of([bad, *fine]).culprits
    assert not pair.passed


def test_of_two_nodes_none_is_accused() -> None:
    found = attribution_of([PairEvent(("n1", "n2"), is_wrong=True)] * 3)
    assert not any(one.sure for one in found.culprits)


def test_a_node_that_fails_now_and_then_needs_three_launches() -> None:
    twice = {frozenset(("n3", "n6")), frozenset(("n3", "n7"))}
    assert not attribution_of(events(twice)).culprits[0].sure
    (node,) = attribution_of(events(twice | {frozenset(("n3", "n8"))})).culprits
    assert node.hosts == ("n3",)
    assert node.sure
