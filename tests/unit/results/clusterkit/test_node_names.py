"""Folded lists of node names."""

import pytest

from weft.results.clusterkit.node_names import MAX_NAMES, node_names


def test_ranges_keep_their_leading_zeros() -> None:
    assert node_names("a,n[08-10,12],b") == (("a", "n08", "n09", "n10", "n12", "b"), 6)


def test_too_many_names_are_counted_and_not_written_out() -> None:
    assert node_names("n[0-999999999]") == ((), 10**9)
    assert node_names(f"n[1-{MAX_NAMES}],x") == ((), MAX_NAMES + 1)


@pytest.mark.parametrize(
    "text", ["n[", "n[3-1]", "n[a-b]", "n[1-2", "a b", "n[]", "n[1-]x", "²[1]"]
)
def test_nonsense_names_nothing(text: str) -> None:
    names, n_names = node_names(text)
    assert names == () or n_names == len(names)


def test_a_range_backwards_is_nonsense() -> None:
    assert node_names("n[3-1]") == ((), None)
