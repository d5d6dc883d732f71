"""Oversubscription by arithmetic."""

import pytest

from weft.catalog.load import platform
from weft.expect.taper import taper


def test_frontera_tends_to_its_published_eleven_to_nine() -> None:
    frontera = platform("frontera")
    whole = taper(frontera, 8008)
    assert whole == pytest.approx(11 / 9, rel=0.01)
    assert whole < frontera.facts["oversubscription"].value


@pytest.mark.parametrize("n_nodes", [1, 2, 44])
def test_nodes_of_one_leaf_do_not_feel_it(n_nodes: int) -> None:
    assert taper(platform("frontera"), n_nodes) == 1


def test_a_balanced_tree_has_none() -> None:
    assert taper(platform("fat-tree"), 5000) == 1
