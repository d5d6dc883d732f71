"""Which node explains launches that went wrong."""

from itertools import combinations

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


def test_of_two_nodes_none_is_accused() -> None:
    found = attribution_of([PairEvent(("n1", "n2"), is_wrong=True)] * 3)
    assert not any(one.sure for one in found.culprits)


def test_a_node_that_fails_now_and_then_needs_three_launches() -> None:
    twice = {frozenset(("n3", "n6")), frozenset(("n3", "n7"))}
    assert not attribution_of(events(twice)).culprits[0].sure
    (node,) = attribution_of(events(twice | {frozenset(("n3", "n8"))})).culprits
    assert node.hosts == ("n3",)
    assert node.sure
