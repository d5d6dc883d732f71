import numpy as np
import pytest

from weft.stats.nodesets import CannotBeKnown, SetsRatio, ratio_for_sets_like_these
from weft.stats.ratio import Ratio, paired_ratio


def _draw(rng: np.random.Generator, n_sets: int, between: float) -> tuple[list[int], np.ndarray]:
    effects = rng.normal(np.log(1.2), between, n_sets)
    names = np.repeat(np.arange(n_sets), 4)
    return list(names), np.exp(effects[names] + rng.normal(0, 0.01, names.size))


def test_the_second_interval_covers_the_mean_of_the_population_of_sets() -> None:
    rng = np.random.default_rng(2)
    hits, first_kind = 0, 0
    for _ in range(400):
        sets, ratios = _draw(rng, 6, 0.1)
        found = ratio_for_sets_like_these(np.ones(ratios.size), ratios, sets)
        assert isinstance(found, SetsRatio)
        hits += found.low <= 1.2 <= found.high
        here = paired_ratio(np.ones(ratios.size), ratios)
        assert isinstance(here, Ratio)
        first_kind += here.low <= 1.2 <= here.high
    assert hits / 400 >= 0.93
    assert first_kind / 400 < 0.9  # the interval for these sets does not speak for others


@pytest.mark.parametrize("n_sets", [1, 4])
def test_with_fewer_than_five_sets_it_cannot_be_known(n_sets: int) -> None:
    sets, ratios = _draw(np.random.default_rng(1), n_sets, 0.1)
    found = ratio_for_sets_like_these(np.ones(ratios.size), ratios, sets)
    assert isinstance(found, CannotBeKnown)
    assert found.text.startswith("unknown for other node sets")
    assert "5 needed" in found.text


def test_every_pair_must_name_its_set() -> None:
    with pytest.raises(ValueError, match="3 pairs but 2 node sets"):
        ratio_for_sets_like_these([1, 1, 1], [1, 1, 1], [0, 1])
