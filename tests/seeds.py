"""Seeds of tests that draw their cases: a few in `make test`, all of them in `make test-all`."""

from collections.abc import Sequence

import pytest
from _pytest.mark.structures import ParameterSet


def drawn(seeds: Sequence[int], quick: int = 6) -> list[int | ParameterSet]:
    """Values for `parametrize`: the first `quick` seeds, then the others, which are slow tests."""
    others = [pytest.param(seed, marks=pytest.mark.slow) for seed in seeds[quick:]]
    return [*seeds[:quick], *others]
