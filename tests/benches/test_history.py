"""The bench of dated histories, small: a pool of two levels instead of a twin's launches."""

from collections import Counter

import numpy as np
import pytest
from benches.history import SIZES, one

LAUNCHES = np.exp(
    np.random.default_rng(7).normal(0, 0.02, (2, 50, len(SIZES)))
    + np.log([[100.0, 200.0, 300.0, 400.0], [100.0, 160.0, 210.0, 240.0]])[:, None, :]
)


def outcomes(kind: str, n: int) -> Counter[str]:
    return Counter(one(i, seed=3, kind=kind, launches=LAUNCHES)[0] for i in range(n))


def test_planted_toggles_are_dated_and_quiet_histories_are_not() -> None:
    planted = outcomes("recorded", 12)
    assert planted["right"] >= 9
    assert planted["named wrong"] == 0
    assert outcomes("quiet", 25)["false"] == 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_histories_of_each_kind() -> None:
    planted = outcomes("recorded", 1000)
    assert planted["right"] >= 900
    assert planted["named wrong"] == 0
    assert outcomes("quiet", 1000)["false"] <= 1
